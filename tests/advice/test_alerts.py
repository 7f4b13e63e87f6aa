"""Alerts that carry findings have each severity that these may have."""

import pytest

from esewatch.advice.alerts import ALWAYS, ENDS, HELD, SEVERITIES, Name, held, severities
from esewatch.advice.base.finding import damage_findings
from esewatch.advice.checkdb import CHECK_FINDINGS
from esewatch.advice.findings.details import OF_ENGINE, capped, of_engine
from esewatch.fold.state.state import Damage, DamageKind, EngineErrorKind
from tests.support.records import EPOCH


@pytest.mark.parametrize("kind", OF_ENGINE)
@pytest.mark.parametrize("tier", ["watched", "observed"])
@pytest.mark.parametrize("errors", [1, 2])
def test_errors_of_an_instance_have_a_severity_of_the_table(
    kind: EngineErrorKind, tier: str, errors: int
) -> None:
    (told,) = capped(of_engine({kind: errors}), tier)  # type: ignore[arg-type]
    assert told.severity in severities(told.finding)


@pytest.mark.parametrize("kind", ["divergence", "suspect", "logical", "logical_nonfatal"])
def test_damage_has_a_severity_of_the_table(kind: DamageKind) -> None:
    (found,) = damage_findings({kind: Damage(1, [EPOCH], [1])})
    assert found.severity in severities(found.finding)


def test_what_has_one_severity_is_held_and_states_the_end_of_that_one_alone() -> None:
    names: set[Name] = {*held("database"), *held("ese_instance")}
    ends = {each for of in ENDS.values() for each in of}
    assert ALWAYS.keys() <= names
    assert {name: ALWAYS[name] for name in CHECK_FINDINGS if name in ALWAYS}.items() <= (
        CHECK_FINDINGS.items()
    )
    assert {f"{name} {each}" for name in names for each in severities(name)} == ends
    assert {*SEVERITIES} == {"critical", "warning"}
    assert all(rules for rules in HELD.values())
