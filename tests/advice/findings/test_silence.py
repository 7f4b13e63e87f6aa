"""What is not heard is not healthy (semantics.md 5a)."""

from collections.abc import Sequence
from typing import Any

import pytest

from esewatch.advice.advise import advise
from esewatch.advice.findings.silence import hearings
from esewatch.config import (
    Policy,
    Retired,
    Settings,
    WindowsLog,
)
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import Channel, State
from esewatch.model import Batch, Event, Heard, Record
from tests.support.decoding import event_from_strings
from tests.support.records import DAY, EPOCH, event

BEGIN = EPOCH
SOURCE = "log"
DEFAULT = Settings()


def folded(
    others: Sequence[float] = (),
    events: Sequence[Event] = (),
    first: float = 0.0,
    **changes: Any,
) -> State:
    """A store whose last event is of day 30, with records of other providers at these days."""
    known: list[Record] = [
        event(700, first, 1, channel="Application", **changes),
        event(704, 30 * DAY, 2, channel="Application", **changes),
        *events,
    ]
    folder = Folder(State(), Settings())
    folder.open_source(SOURCE, BEGIN)
    times = tuple(BEGIN + day * DAY for day in others)
    heard = [Heard(known[0].computer, "Application", times)] if times else []
    folder.fold(SOURCE, Batch(records=known, heard=heard, caught_up=True))
    return folder.state


def daily(until: float = 40.0) -> list[float]:
    return [day / 2 for day in range(int(2 * until) + 1)]


def silent_after(state: State, settings: Settings = DEFAULT) -> float:
    (found,) = hearings(state, settings, BEGIN + 400 * DAY).values()
    return found.silent_after / DAY


def severity(state: State) -> str:
    (found,) = hearings(state, Settings(), BEGIN + 400 * DAY).values()
    assert found.is_silent
    return found.finding.severity


WEEKEND = [day for day in daily() if not 20 < day < 22.5]
LONG_AGO = [day for day in daily() if not 2 < day < 9]
START = event(102, 22.5 * DAY + 600, 3, channel="Application")


@pytest.mark.parametrize(
    ("state", "days", "told"),
    [
        (folded(daily()), 2, "warning"),
        (folded(WEEKEND), 7.5, "warning"),
        (folded([day for day in daily() if not 10 < day < 25]), 14, "warning"),
        # Before the 28 days; across a start of the machine.
        (folded(LONG_AGO), 2, "warning"),
        (folded(WEEKEND, [START]), 2, "warning"),
        (folded(), 14, "info"),
        (folded([36, 37, 38, 40]), 14, "info"),
    ],
    ids=["half days", "a weekend", "most", "long ago", "off", "ESE only", "few"],
)
def test_a_computer_is_silent_after_three_times_its_longest_pause(
    state: State, days: float, told: str
) -> None:
    assert silent_after(state) == pytest.approx(days)
    assert severity(state) == told


def test_the_configuration_decides_how_long() -> None:
    assert silent_after(folded(daily()), Settings(policy=Policy(silent_after=5 * DAY))) == 5


@pytest.mark.parametrize(("after", "silent"), [(1.9, False), (2.1, True)])
def test_its_databases_are_not_heard_from_then_on(after: float, silent: bool) -> None:
    (found,) = advise(folded(daily()), Settings(), BEGIN + (40 + after) * DAY)
    names = [each.finding for each in found.findings]
    assert ("not_heard" in names) is silent
    if silent:
        assert all(each.p50 is None for each in found.forecasts)
        (told,) = [each for each in found.findings if each.finding == "not_heard"]
        assert "nothing was read of its computer since 2007-" in told.sentence


def test_samples_and_other_logs_are_a_clock_and_no_hearing() -> None:
    state = folded(daily())
    folder = Folder(state, Settings())
    folder.fold(SOURCE, Batch(heard=[Heard("EX01", "System", (BEGIN + 60 * DAY,))], caught_up=True))
    (found,) = hearings(state, Settings(), BEGIN + 60 * DAY).values()
    assert found.last == BEGIN + 40 * DAY
    assert found.is_silent


@pytest.mark.parametrize(
    ("more", "days", "stopped"),
    [
        ([], 2, False),
        ([103], 2, True),
        ([103, 102], 2, False),
    ],
)
def test_a_clean_stop_may_be_a_restart_that_hangs(
    more: Sequence[int], days: float, stopped: bool
) -> None:
    stops = [
        event(each, (40 + number / 100) * DAY, 10 + number, channel="Application")
        for number, each in enumerate(more)
    ]
    state = folded(daily(), stops)
    (found,) = hearings(state, Settings(), BEGIN + 90 * DAY).values()
    assert (found.silent_after, found.stopped) == (days * DAY, stopped)
    assert found.is_silent
    assert ("after a clean stop" in found.finding.sentence) == stopped


@pytest.mark.parametrize(
    ("told", "days", "stopped"),
    [
        ([(1074, ["x", "EX01", "", "0x0", "power off", "", "admin"])], 14, False),
        ([(1074, ["x", "EX01", "", "0x0", "Herunterfahren", "", "admin"]), (6006, [])], 14, True),
        ([(1074, ["x", "EX01", "", "0x0", "restart", "", "admin"]), (6006, [])], 2, True),
        ([(6006, [])], 2, True),
        ([(1074, ["x", "EX01", "", "0x0", "shutdown", "", "admin"]), (6005, [])], 2, False),
    ],
    ids=["off", "off in German", "restart", "6006 alone", "up again"],
)
def test_a_computer_that_is_shut_down_is_not_silent_for_two_weeks(
    told: Sequence[tuple[int, list[str]]], days: float, stopped: bool
) -> None:
    events = []
    for number, (event_id, strings) in enumerate(told):
        provider = "User32" if event_id == 1074 else "EventLog"
        found = event_from_strings(
            provider=provider, event_id=event_id, strings=strings, channel="System",
            time=EPOCH + 40 * DAY + 60 + number, computer="EX01", record_id=5 + number,
        )  # fmt: skip
        events += [found] if found is not None else []
    (heard,) = hearings(folded(daily(), events), Settings(), BEGIN + 90 * DAY).values()
    # It is counted from the shutdown on.
    assert heard.silent_after == pytest.approx(days * DAY, abs=60)
    assert heard.stopped == stopped


def test_a_retired_computer_is_no_finding() -> None:
    settings = Settings(computers={"EX01.corp.example": Retired()})
    assert hearings(folded(daily(), computer="EX01"), settings, BEGIN + 90 * DAY) == {}


def test_a_source_that_is_behind_says_nothing_of_silence() -> None:
    state = folded(daily())
    state.sources[SOURCE].caught_up = False
    assert hearings(state, Settings(), BEGIN + 90 * DAY) == {}


def test_what_is_read_on_the_computer_itself_is_heard_while_it_can_be_read() -> None:
    settings = Settings(sources=[WindowsLog(type="windows_log", name=SOURCE)])
    state = folded(daily())
    (found,) = hearings(state, settings, BEGIN + 90 * DAY).values()
    assert not found.is_silent


def test_logs_that_were_read_at_once_are_measured_against_each_other() -> None:
    state = folded(daily())
    for days, silent in ((41, False), (43, True)):
        state.clocks = {"ex01": BEGIN + days * DAY}
        (found,) = hearings(state, Settings(), BEGIN + 40 * DAY).values()
        assert found.is_silent is silent


def test_an_observed_database_asks_for_nothing() -> None:
    state = folded(daily(), process="svchost", provider="ESENT", database="c:\\app\\x.edb",
                   ese_instance="app")  # fmt: skip
    for entry in state.databases.values():
        entry.maintenance_seen = False
    assert hearings(state, Settings(), BEGIN + 90 * DAY) == {}


def test_each_database_is_judged_by_the_log_that_its_events_come_by() -> None:
    """A directory logs to a log of its own; the other one of the computer does not stand for it."""
    directory: dict[str, Any] = {
        "channel": "Directory Service", "provider": "NTDS ISAM", "process": "NTDS",
        "ese_instance": "NTDSA", "database": "c:\\windows\\ntds\\ntds.dit",
    }  # fmt: skip
    state = folded(daily(), [event(701, 20 * DAY, 9, **directory)])
    found = {each.model: each for each in advise(state, Settings(), BEGIN + 41 * DAY)}
    silent = {
        model: "not_heard" in [each.finding for each in one.findings]
        for model, one in found.items()
    }
    assert silent == {"window": False, "garbage_collection": True}


def test_a_shutdown_is_heard_in_its_log_before_the_engine_or_behind_it() -> None:
    off = event_from_strings(
        provider="User32", event_id=1074, strings=["x", "EX01", "", "0x0", "shutdown", "", "admin"],
        channel="System", time=BEGIN + 41 * DAY, computer="EX01",
    )  # fmt: skip
    assert off is not None
    engine = event(700, 0.0, 1, channel="Application")
    logs: list[Channel] = []
    orders: tuple[list[Record], ...] = ([off, engine], [engine, off])
    for records in orders:
        folder = Folder(State(), Settings())
        folder.open_source(SOURCE, BEGIN)
        folder.fold(SOURCE, Batch(records=records, caught_up=True))
        logs.append(folder.state.channels["ex01", "system"])
    assert logs[0] == logs[1]
    assert logs[0].others == off.time
