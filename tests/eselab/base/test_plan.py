"""Plans as JSON: what is left out has a default, what makes no sense is an error in one line."""

from typing import Any

import msgspec
import pytest

from eselab.base.plan import (
    DAY,
    CopyPlan,
    DatabasePlan,
    DisksPlan,
    FaultPlan,
    MailPlan,
    Plan,
    WindowPlan,
)
from eselab.base.profiles import PROFILES


def read(text: bytes) -> Plan:
    return msgspec.json.decode(text, type=Plan)


def plan_of(**database: Any) -> bytes:
    """A plan of one database, with these keys beside its name."""
    return msgspec.json.encode({"databases": [{"name": "a", **database}]})


def test_a_plan_may_be_as_short_as_the_name_of_a_database() -> None:
    plan = read(b'{"databases": [{"name": "a"}]}')
    assert plan == Plan(databases=[DatabasePlan(name="a")])
    assert plan.databases[0].window.period == DAY


def test_a_plan_comes_back_from_json_as_it_was() -> None:
    plan = Plan(databases=[DatabasePlan(name="a", mail=MailPlan(kept=7.5, body=300))])
    assert read(msgspec.json.encode(plan)) == plan


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_the_plans_that_are_built_in_can_be_given_as_json(name: str) -> None:
    plan = PROFILES[name]()
    assert read(msgspec.json.encode(plan)) == plan


@pytest.mark.parametrize(
    "wrong",
    [
        b'{"databases": [{"name": "a", "mail": {"delivered": 5}}]}',
        b'{"databases": [{"name": "a", "pages": "many"}]}',
        b'{"databases": [{}]}',
        b'{"databases": [{"name": "a"}], "faults": [{"at": 1, "database": "a", "kind": "burn"}]}',
        b'{"databases": []}',
        b"{}",
    ],
)
def test_what_is_no_plan_is_an_error(wrong: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(wrong)


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"page_size": 5000}, "$.databases[0]"),
        ({"page_size": 65536}, "$.databases[0]"),
        ({"pages": 0}, "$.databases[0].pages"),
        ({"pages": 10**12}, "$.databases[0].pages"),
        ({"cache_pages": 1}, "$.databases[0].cache_pages"),
        ({"checkpoint_depth": -1}, "$.databases[0].checkpoint_depth"),
        ({"defrag_pause": -0.1}, "$.databases[0].defrag_pause"),
        ({"scan_throttle": 1e300}, "$.databases[0].scan_throttle"),
        ({"scan_pace": 0}, "$.databases[0].scan_pace"),
        ({"generation": "2010"}, "$.databases[0].generation"),
        ({"generation": "current", "role": "witness"}, "$.databases[0].role"),
        ({"generation": "current", "zero": True}, "$.databases[0]"),
        ({"role": "passive"}, "$.databases[0]"),
        ({"window": {"length": 0}}, "$.databases[0].window.length"),
        ({"window": {"length": 90_000}}, "$.databases[0].window"),
        ({"window": {"period": 0}}, "$.databases[0].window.period"),
        ({"window": {"offset": -1}}, "$.databases[0].window.offset"),
        ({"mail": {"mailboxes": 0}}, "$.databases[0].mail.mailboxes"),
        ({"mail": {"kept": 0}}, "$.databases[0].mail.kept"),
        ({"mail": {"moved": 1.1}}, "$.databases[0].mail.moved"),
        ({"mail": {"deleted": -1}}, "$.databases[0].mail.deleted"),
        ({"mail": {"read": -1}}, "$.databases[0].mail.read"),
        ({"mail": {"body": 0}}, "$.databases[0].mail.body"),
    ],
)
def test_a_value_that_makes_no_sense_is_named_with_its_place(
    wrong: dict[str, Any], place: str
) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        read(plan_of(**wrong))
    message = str(raised.value)
    assert message.endswith(f"at `{place}`")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("key", "value"),
    [("sample", 0), ("sample", 601), ("slow", 0), ("slow", -1)],
)
def test_a_value_of_the_whole_plan_has_bounds_too(key: str, value: float) -> None:
    with pytest.raises(msgspec.ValidationError, match=rf"at `\$\.{key}`"):
        read(msgspec.json.encode({"databases": [{"name": "a"}], key: value}))


@pytest.mark.parametrize("number", [b"1e999", b"NaN", b"Infinity", b"-1e999"])
def test_a_number_that_is_not_finite_is_an_error(number: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        read(b'{"databases": [{"name": "a"}], "sample": ' + number + b"}")


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a/b", "a\\b", "a\n", "\0", "a.new", "events.jsonl", " a", "a ", "_Total",
     "a(b)", 'a"b', "a,b", "-a", "ä", "x" * 65],
)  # fmt: skip
def test_a_name_that_is_no_folder_or_no_instance_of_a_counter_is_an_error(name: str) -> None:
    for text in (
        {"databases": [{"name": name}]},
        {"databases": [{"name": "a"}], "devices": [{"name": name}]},
    ):
        with pytest.raises(msgspec.ValidationError, match=r"name`$"):
            read(msgspec.json.encode(text))


def test_names_have_letters_digits_dashes_and_spaces_within() -> None:
    names = ["a", "Mailbox Database 1", "priv-2_x", "0", "x" * 64]
    assert Plan(databases=[DatabasePlan(name=name) for name in names]) == read(
        msgspec.json.encode({"databases": [{"name": name} for name in names]})
    )


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"databases": [{"name": "a"}, {"name": "A"}]}, "databases: 2 of them have the name a"),
        (
            {"databases": [{"name": "a"}], "devices": [{"name": "d"}, {"name": "d"}]},
            "devices: 2 of them have the name d",
        ),
        (
            {"databases": [{"name": "a", "device": "x"}], "devices": [{"name": "d"}]},
            "database a: there is no device x",
        ),
        (
            {"databases": [{"name": "a"}], "faults": [{"at": 1, "database": "b", "kind": "kill"}]},
            "fault 0: there is no database b",
        ),
    ],
)
def test_names_are_known_and_of_one_thing(plan: dict[str, Any], said: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=said):
        read(msgspec.json.encode(plan))


@pytest.mark.parametrize(
    ("key", "value"),
    [("at", -1), ("page", 0), ("seconds", 0), ("count", 0), ("at", 1e300), ("count", 10**9)],
)
def test_a_fault_has_bounds(key: str, value: float) -> None:
    fault = {"at": 1, "database": "a", "kind": "slow", key: value}
    text = msgspec.json.encode({"databases": [{"name": "a"}], "faults": [fault]})
    with pytest.raises(msgspec.ValidationError, match=rf"at `\$\.faults\[0\]\.{key}`"):
        read(text)


def test_a_plan_that_is_made_in_python_is_checked_for_what_goes_together() -> None:
    with pytest.raises(ValueError, match="over the period"):
        WindowPlan(period=10.0, length=11.0)
    with pytest.raises(ValueError, match="zero needs scan"):
        DatabasePlan(name="a", scan=False, zero=True)
    fault = FaultPlan(at=1.0, database="b", kind="kill")
    with pytest.raises(ValueError, match="there is no database b"):
        Plan(databases=[DatabasePlan(name="a")], faults=[fault])


def test_a_device_of_modelled_drives_has_defaults_too() -> None:
    plan = read(b'{"databases": [{"name": "a"}], "devices": [{"name": "d", "disks": {}}]}')
    assert plan.devices[0].disks == DisksPlan(
        model="sas-10k-2006", spindles=8, stripe=65536, write_cache=0, link=400e6
    )


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"disks": {"model": "ssd"}}, "disks.model"),
        ({"disks": {"spindles": 0}}, "disks.spindles"),
        ({"disks": {"spindles": 1000}}, "disks.spindles"),
        ({"disks": {"stripe": 5000}}, "disks.stripe"),
        ({"disks": {"write_cache": -1}}, "disks.write_cache"),
        ({"disks": {"write_cache": 1 << 40}}, "disks.write_cache"),
        ({"disks": {"link": 0}}, "disks.link"),
        ({"disks": {}, "seek": 0.01}, "devices[0]"),
        ({"disks": {}, "rate": 1e6}, "devices[0]"),
    ],
)
def test_drives_that_cannot_be_are_an_error(wrong: dict[str, Any], place: str) -> None:
    text = {"databases": [{"name": "a"}], "devices": [{"name": "d", **wrong}]}
    with pytest.raises(msgspec.ValidationError) as raised:
        read(msgspec.json.encode(text))
    assert str(raised.value).endswith(f"{place}`")


def test_all_databases_of_a_process_are_of_one_generation() -> None:
    both = [{"name": "a"}, {"name": "b", "generation": "current"}]
    with pytest.raises(msgspec.ValidationError, match="two generations"):
        read(msgspec.json.encode({"databases": both}))


def test_a_copy_needs_the_name_of_its_computer_alone() -> None:
    (copy,) = read(plan_of(copies=[{"computer": "EX02"}])).databases[0].copies
    assert (copy.cache, copy.cache_pages, copy.batch, copy.batch_logs) == ("keep", None, 60.0, 1)
    assert (copy.scan, copy.scan_pace) == (False, None)


@pytest.mark.parametrize(
    ("copies", "place"),
    [
        ([{}], "missing required field `computer`"),
        ([{"computer": "EX 02"}], "matching regex"),
        ([{"computer": "../x"}], "matching regex"),
        ([{"computer": "EX02", "cache": "lose"}], "Invalid enum value 'lose'"),
        ([{"computer": "EX02", "cache_pages": 0}], ">= 4"),
        ([{"computer": "EX02", "batch": 0.0}], ">= 0.01"),
        ([{"computer": "EX02", "batch_logs": 0}], ">= 1"),
        ([{"computer": "EX02", "scan_pace": 0}], ">= 0.001"),
        ([{"computer": "EX02", "scan": True}], "scan of a copy is of generation current"),
        ([{"computer": f"EX0{number}"} for number in range(5)], "length <= 4"),
        ([{"computer": "EX02", "device": "lun9"}], "database a: there is no device lun9"),
        ([{"computer": "EX02"}, {"computer": "ex02"}], "2 of them have the name ex02"),
        ([{"computer": "A"}], "databases and computers: 2 of them have the name a"),
    ],
)
def test_a_copy_that_cannot_be_is_an_error_in_one_line(
    copies: list[dict[str, Any]], place: str
) -> None:
    with pytest.raises(msgspec.ValidationError, match=place):
        read(plan_of(copies=copies))


def test_two_databases_may_have_copies_on_one_computer() -> None:
    copies = [CopyPlan(computer="EX02")]
    plan = Plan(
        databases=[
            DatabasePlan(name="a", copies=[*copies, CopyPlan(computer="EX03")]),
            DatabasePlan(name="b", copies=copies),
        ]
    )
    assert plan.computers == ["EX02", "EX03"]
