"""Plans as JSON: what is left out has a default, what is unknown is an error."""

import msgspec
import pytest

from esewatch.engine.plan import DAY, DatabasePlan, MailPlan, Plan


def test_a_plan_may_be_as_short_as_the_name_of_a_database() -> None:
    plan = msgspec.json.decode(b'{"databases": [{"name": "a"}]}', type=Plan)
    assert plan == Plan(databases=[DatabasePlan(name="a")])
    assert plan.databases[0].window.period == DAY


def test_a_plan_comes_back_from_json_as_it_was() -> None:
    plan = Plan(databases=[DatabasePlan(name="a", mail=MailPlan(kept=7.5, body=300))])
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


@pytest.mark.parametrize(
    "wrong",
    [
        b'{"databases": [{"name": "a", "mail": {"delivered": 5}}]}',
        b'{"databases": [{"name": "a", "pages": "many"}]}',
        b'{"databases": [{}]}',
        b'{"databases": [], "faults": [{"at": 1, "database": "a", "kind": "burn"}]}',
        b"{}",
    ],
)
def test_what_is_no_plan_is_an_error(wrong: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(wrong, type=Plan)
