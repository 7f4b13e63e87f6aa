"""What `Get-MailboxDatabase | ConvertTo-Json` says, as windows and database rules."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.config import DAYS, CopyOf, DatabaseRule, Settings, Window, rule_for
from esewatch.config.exchange import Imported, ScheduleError, from_exchange, openings
from esewatch.config.files import load
from esewatch.model import ConfigError

EXAMPLES = Path(__file__).parent / "exchange"
DAILY = [
    f"{day}.1:00 AM-{day}.5:00 AM" for day in ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
]
PATH = "E:\\MDB06\\priv06.edb"
ODD_PATH = "C:\\Program Files\\First [x] {1}\\'a' #1.edb"
NO_PATHS = [
    "E:\\*.edb",
    "E:\\pri?.edb",
    "a.edb",
    "E:\\a\nb.edb",
    "Microsoft.X",
    "",
    7,
    None,
    {},
    [],
]


def database(**changes: Any) -> dict[str, Any]:
    """A database on one server with a nightly window; `...` takes a property away."""
    whole = {
        "Name": "MDB06",
        "EdbFilePath": PATH,
        "Server": "EX01",
        "BackgroundDatabaseMaintenance": False,
        "MaintenanceSchedule": DAILY,
        **changes,
    }
    return {key: value for key, value in whole.items() if value is not ...}


def imported(*databases: object, timezone: str | None = "Europe/Berlin") -> Imported:
    return from_exchange(json.dumps(list(databases)), timezone)


def only(**changes: Any) -> tuple[DatabaseRule, Imported]:
    """The rule of one database that needs no more than one."""
    found = imported(database(**changes))
    (rule,) = found.databases
    return rule, found


def names(schedule: object) -> list[str]:
    return [opening.name for opening in openings(schedule)]


def settings_of(found: Imported, folder: Path) -> Settings:
    """The settings of a file with a source and what was imported."""
    file = folder / "esewatch.yml"
    source = "sources:\n  - {type: evtx, path: /logs/*.evtx}\n"
    file.write_text(source + found.text(), encoding="utf-8")
    return load(file)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_what_is_made_of_an_example_is_a_valid_configuration(path: Path, tmp_path: Path) -> None:
    found = from_exchange(path.read_text(encoding="utf-8"), "Europe/Berlin")

    settings = settings_of(found, tmp_path)

    assert len(settings.sources) == 1
    assert settings.windows == found.windows
    assert settings.databases == found.databases


def test_a_list_of_texts_gives_windows_that_databases_share() -> None:
    found = from_exchange((EXAMPLES / "remote-2010.json").read_text(encoding="utf-8"), "UTC")

    assert found.windows == {
        "nightly-0100-4h": Window(start=datetime.time(1), duration=14400.0),
        "nightly-2300-4h-mon-tue": Window(
            start=datetime.time(23), duration=14400.0, days=["mon", "tue"]
        ),
    }
    by_name = {(rule.name, rule.computer): rule for rule in found.databases}
    assert by_name["MDB06", "ex01"].copies == [CopyOf(computer="ex02", database=PATH)]
    assert by_name["MDB06", "ex02"].copies == [CopyOf(computer="ex01", database=PATH)]
    assert [
        by_name[key].window for key in (("MDB06", "ex02"), ("MDB07", "ex01"), ("MDB08", "ex01"))
    ] == [
        "nightly-0100-4h",
        "nightly-0100-4h",
        None,
    ]
    assert len(found.remarks) == 3
    assert "7.00:00:00" in found.remarks[0]
    assert "background maintenance" in found.remarks[1]
    assert "nightly-1200-1h-sat" in found.remarks[2]


def test_objects_of_a_local_shell_mean_the_same_as_texts() -> None:
    found = from_exchange((EXAMPLES / "local-2010.json").read_text(encoding="utf-8"), "UTC")

    assert found.windows == {
        "nightly-2230-7h30m": Window(start=datetime.time(22, 30), duration=27000.0)
    }
    assert [(rule.match, rule.computer) for rule in found.databases] == [
        (PATH, "ex01"),
        (PATH, "ex02"),
    ]


def test_one_database_alone_is_an_object() -> None:
    one = from_exchange(json.dumps(database()), "UTC")
    wrapped = from_exchange(json.dumps({"value": [database()], "Count": 1}), "UTC")

    assert one.databases == wrapped.databases == imported(database()).databases
    # On another server this path is that of another database.
    assert one.databases == [
        DatabaseRule(match=PATH, computer="ex01", window="nightly-0100-4h", name="MDB06")
    ]


def test_the_windows_are_in_the_zone_that_is_given_else_in_utc_with_a_remark() -> None:
    found = imported(database(), timezone=None)

    assert found.windows["nightly-0100-4h"].timezone == "UTC"
    assert [remark for remark in found.remarks if "--timezone" in remark] == found.remarks != []
    assert imported(database()).windows["nightly-0100-4h"].timezone == "Europe/Berlin"
    assert imported(database()).remarks == []
    assert imported(database(MaintenanceSchedule="Never"), timezone=None).windows == {}


def test_a_zone_that_is_not_known_is_refused() -> None:
    with pytest.raises(ConfigError, match="Mars/Olympus"):
        imported(database(), timezone="Mars/Olympus")


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (DAILY, ["nightly-0100-4h"]),
        (" ".join(DAILY), ["nightly-0100-4h"]),
        ("{" + ", ".join(DAILY) + "}", ["nightly-0100-4h"]),
        ({"value": DAILY, "Count": 7}, ["nightly-0100-4h"]),
        ({"Mode": 1, "Intervals": DAILY}, ["nightly-0100-4h"]),
        ("Always", ["nightly-0000-1d"]),
        ("Sun.12:00 AM-Sun.12:00 AM", ["nightly-0000-1d"]),
        ("Never", []),
        (None, []),
        ([], []),
        ("6.22:00-6.22:15", ["nightly-2200-15m-sat"]),
        ("6.22:00-6.22:14", []),
        ("Sun.11:30 PM-Mon.1:30 AM", ["nightly-2330-2h-sun"]),
        ("Sat.11:30 PM-Sun.1:30 AM", ["nightly-2330-2h-sat"]),
        (["Sat.10:00 PM-Sun.12:00 AM", "Sun.0:00-Sun.2:00"], ["nightly-2200-4h-sat"]),
        ("Monday.4:30 AM-Monday.5:30 AM,Wednesday.4:30 AM-Wednesday.5:30 AM",
         ["nightly-0430-1h-mon-wed"]),
        ("Sun.1:15 AM-Monday.23:00", ["nightly-0115-1d-sun", "nightly-0115-21h45m-mon"]),
        (["Sun.12:30 AM-Sun.12:00 PM"], ["nightly-0030-11h30m-sun"]),
    ],
)  # fmt: skip
def test_a_schedule_is_grouped_by_start_and_length(schedule: object, expected: list[str]) -> None:
    assert names(schedule) == expected


@pytest.mark.parametrize(
    "schedule",
    [
        "Microsoft.Exchange.Data.Schedule",
        ["Microsoft.Exchange.Data.ScheduleInterval"],
        "So.1:00-So.5:00",
        "Sun.25:00-Sun.26:00",
        "Sun.13:00 PM-Sun.14:00 PM",
        "Sun.1:00 AM-Sun.5:00 AM, and then some",
        [[]],
        [7],
        [{"StartDay": 7, "StartHour": 1, "StartMinute": 0}],
        [{"StartDay": 0, "StartHour": "1", "StartMinute": 0}],
        [{}],
        {"Mode": 1},
        True,
        ["Sun.1:00 AM-Sun.5:00 AM"] * 10_000,
    ],
)
def test_a_schedule_that_cannot_be_read_is_no_window_and_a_remark(schedule: object) -> None:
    with pytest.raises(ScheduleError):
        openings(schedule)

    rule, found = only(MaintenanceSchedule=schedule)

    assert (rule.window, found.windows) == (None, {})
    assert len(found.remarks) == 1
    assert '"MDB06": no window' in found.remarks[0]


def test_a_schedule_cut_short_by_depth_names_the_remedy() -> None:
    _, found = only(MaintenanceSchedule="Microsoft.Exchange.Data.Schedule")

    assert "-Depth 4" in found.remarks[0]


def test_of_several_windows_the_one_open_longest_in_a_week_is_taken() -> None:
    noon = [f"{day}.12:00-{day}.13:00" for day in range(7)]
    weekend = ["Sat.0:00-Sat.8:00", "Sun.0:00-Sun.8:00"]
    weekdays = DAILY[1:6]

    assert names(DAILY + noon) == ["nightly-0100-4h", "nightly-1200-1h"]
    assert names(weekdays + weekend)[0] == "nightly-0100-4h-mon-tue-wed-thu-fri"
    rule, found = only(MaintenanceSchedule=DAILY + noon)
    assert rule.window == "nightly-0100-4h"
    assert list(found.windows) == ["nightly-0100-4h"]
    assert "nightly-1200-1h" in found.remarks[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"BackgroundDatabaseMaintenance": True},
        {"BackgroundDatabaseMaintenance": "True"},
        {"AdminDisplayVersion": "Version 15.1 (Build 2507.6)"},
        {"AdminDisplayVersion": {"Major": 15, "Minor": 2}},
        {"MaintenanceSchedule": "Never"},
        {"MaintenanceSchedule": ...},
    ],
)
def test_a_database_without_scheduled_maintenance_has_no_window_and_a_remark(
    changes: dict[str, Any],
) -> None:
    rule, found = only(**changes)

    assert (rule.match, rule.window, found.windows) == (PATH, None, {})
    assert len(found.remarks) == 1
    assert "window:" not in found.text()


@pytest.mark.parametrize(
    ("path", "match"),
    [
        ({"PathName": PATH, "IsUnc": False}, PATH),
        ("\\\\?\\E:\\MDB06\\priv06.edb", PATH),
        ("\\\\?\\UNC\\nas\\share\\a.edb", "\\\\nas\\share\\a.edb"),
        (ODD_PATH, ODD_PATH),
    ],
)
def test_the_path_of_a_database_matches_itself(path: object, match: str, tmp_path: Path) -> None:
    rule, found = only(EdbFilePath=path)

    assert rule.match == match
    assert rule_for(settings_of(found, tmp_path), "ex01", match.lower()) == rule


@pytest.mark.parametrize("path", NO_PATHS)
def test_what_is_no_path_or_would_match_others_is_left_out_with_a_remark(path: object) -> None:
    found = imported(database(EdbFilePath=path), database(Name="B", EdbFilePath="E:\\b.edb"))

    assert [rule.name for rule in found.databases] == ["B"]
    assert '"MDB06": left out' in found.remarks[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"Servers": ["EX01", "EX02"]},
        {"Servers": [{"Name": "EX01"}, {"Name": "ex02"}]},
        {"Servers": "EX01 EX02"},
        {"Servers": {"value": ["EX01", "EX02"], "Count": 2}},
        {"DatabaseCopies": ["MDB 06\\EX01", "MDB 06\\EX02"]},
        {"DatabaseCopies": "MDB 06\\EX01 MDB 06\\EX02"},
        {"DatabaseCopies": [{"HostServerName": "EX01"}, {"HostServer": {"Name": "EX02"}}]},
        {"MountedOnServer": "ex02.corp.example"},
        {"ReplayLagTimes": ["[EX02, 00:00:00]"]},
        {"ReplayLagTimes": [{"Key": {"Name": "EX02"}, "Value": "00:00:00"}]},
    ],
)
def test_a_database_with_copies_has_a_rule_for_each_server(changes: dict[str, Any]) -> None:
    found = imported(database(**changes))

    assert [
        (rule.computer, [copy.computer for copy in rule.copies]) for rule in found.databases
    ] == [
        ("ex01", ["ex02"]),
        ("ex02", ["ex01"]),
    ]
    assert {rule.match for rule in found.databases} == {PATH}
    assert found.remarks == []


def test_the_same_path_on_two_servers_is_told_apart_by_the_computer() -> None:
    nowhere = database(Name="C", Server=...)
    other = database(Name="OTHER", Server="EX02", EdbFilePath=PATH.upper())

    found = imported(nowhere, database(), other)

    assert [(rule.name, rule.computer, rule.copies) for rule in found.databases] == [
        ("MDB06", "ex01", []),
        ("OTHER", "ex02", []),
        ("C", None, []),
    ]
    assert len(found.remarks) == 2
    assert all('"C"' in remark for remark in found.remarks)


@pytest.mark.parametrize("server", ["Microsoft.Exchange.Data.X", "a b", "*", "x" * 70, 7, {}, ...])
def test_a_server_that_is_no_name_is_none(server: object) -> None:
    rule, found = only(Server=server)

    assert rule.computer is None
    assert "names no server" in found.remarks[0]


@pytest.mark.parametrize("text", ["", "{", "[1", "nonsense", "[" * 100_000, "1" * 5000])
def test_what_is_no_json_is_one_error(text: str) -> None:
    with pytest.raises(ConfigError, match="JSON"):
        from_exchange(text, "UTC")


@pytest.mark.parametrize("text", ["[]", "7", "null", '"x"', "{}", "[[], 7, {}]"])
def test_json_without_a_database_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match="no mailbox database"):
        from_exchange(text, "UTC")


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=12)
VALUES = st.recursive(
    SCALARS | st.sampled_from(["EX01", PATH, "Sun.1:00 AM-Sun.5:00 AM", "Always", "[EX02, 1]"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["Name", "value", "PathName", "Key", "Value", "Ticks", "StartDay"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(changes=st.dictionaries(st.sampled_from([*database(), "Servers", "DatabaseCopies",
       "ReplayLagTimes", "AdminDisplayVersion", "MountedOnServer"]), VALUES))  # fmt: skip
def test_no_value_of_a_property_does_harm(
    changes: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    sound = database(Name="SOUND", EdbFilePath="E:\\sound.edb")

    found = imported(database(**changes), sound)

    assert found.databases[-1].name == "SOUND"
    assert all("\n" not in remark for remark in found.remarks)
    settings = settings_of(found, tmp_path_factory.getbasetemp())
    assert settings.databases == found.databases
    assert settings.windows == found.windows


INTERVALS = st.tuples(st.integers(0, 671), st.integers(1, 672))


@given(st.lists(INTERVALS, max_size=8))
def test_windows_are_open_exactly_when_the_schedule_is(quarters: list[tuple[int, int]]) -> None:
    wanted = {(start + n) % 672 for start, length in quarters for n in range(length)}
    texts = [
        f"{start // 96}.{start % 96 // 4}:{start % 4 * 15:02}-"
        f"{end // 96}.{end % 96 // 4}:{end % 4 * 15:02}"
        for start, end in ((start, (start + length) % 672) for start, length in quarters)
    ]

    shown = {
        ((DAYS.index(day) + 1) % 7 * 96 + opening.start // 15 + n) % 672
        for opening in openings(texts)
        for day in opening.days
        for n in range(opening.minutes // 15)
    }

    assert shown == wanted
