"""A background scan that was switched off: nothing shows it but its silence."""

from typing import Any

import pytest

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import Finding
from esewatch.advice.findings.maintenance import switched_off
from esewatch.advice.judgement import Judgement
from esewatch.config import DatabaseRule, Settings, Window
from esewatch.config.units import parse_clock
from esewatch.fold.state.rollups import Day, day_of
from esewatch.model import Record
from tests.advice.histories import DAY, HOUR, NOON, store
from tests.support.records import EPOCH, event, folder_of

WORKER: dict[str, Any] = {"process": "Microsoft.Exchange.Store.Worker", "ese_instance": "MDB06"}


def silent(ago: float, **changes: Any) -> Finding | None:
    """What is said of a database whose scan was last heard of so many days before NOON."""
    given: dict[str, Any] = {
        "model": "background",
        "window": None,
        "days": [],
        "process": WORKER["process"],
        "first_seen": NOON - 400 * DAY,
        "scan_told": NOON - ago * DAY,
        **changes,
    }
    return switched_off(store(**given), NOON)


def test_a_scan_that_was_not_heard_of_for_45_days_may_be_switched_off() -> None:
    found = silent(45)

    assert found is not None and found.finding == "scan_off"
    assert (
        "no scan for 45 days of uptime (the last one was at 2007-05-17 12:00 UTC" in found.sentence
    )
    assert "Get-MailboxDatabase | fl Name,BackgroundDatabaseMaintenance" in found.sentence
    assert silent(44.9) is None


def test_one_that_was_never_heard_of_counts_from_the_first_record() -> None:
    found = silent(0, scan_told=None)

    assert found is not None and "for 400 days of uptime (none is known before)" in found.sentence
    assert silent(0, scan_told=None, first_seen=NOON - 44 * DAY) is None
    assert silent(0, scan_told=None, first_seen=0.0) is None


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"off": [(NOON - 50 * DAY, NOON - 40 * DAY)]}, id="it was off"),
        pytest.param({"event_gaps": [(NOON - 50 * DAY, NOON - 30 * DAY, 9)]}, id="lost events"),
        pytest.param({"tier": "observed"}, id="observed"),
        pytest.param({"model": "window", "process": "MSExchangeIS"}, id="Exchange 2007"),
        pytest.param({"model": "garbage_collection", "process": "NTDS"}, id="a directory"),
        pytest.param(
            {"days": [Day(day_of(NOON) - 3, 0.0, 0.0, 0.0, 9.0, 0.0)]}, id="counters tell of it"
        ),
    ],
)
def test_nothing_is_said_where_it_need_not_be_so(changes: dict[str, Any]) -> None:
    assert silent(54) is not None
    assert silent(54, **changes) is None


def test_what_it_reads_for_others_or_for_itself_long_ago_is_no_sign() -> None:
    old = [Day(day_of(NOON) - 60, 0.0, 0.0, 0.0, 9.0, 0.0)]
    assert silent(54, days=old) is not None


def test_the_size_of_the_database_and_its_window_make_no_difference() -> None:
    for size in (None, 1e9, 1e13):
        assert silent(50, size_bytes=size) is not None
    assert silent(50, model="window", window=Window(start=parse_clock("01:00"), duration=HOUR))


def worked(days: int, **more: Any) -> list[Record]:
    """A store that starts and is backed up each night, and nothing else."""
    jobs = [
        event(event_id, day * DAY + at, database="", **WORKER)
        for day in range(days)
        for event_id, at in ((2005, 100), (2006, 160))
    ]
    return [event(102, 0, database="", **WORKER), event(326, 1, **{**WORKER, **more}), *jobs]


def advised(records: list[Record], days: float, settings: Settings | None = None) -> Judgement:
    state = folder_of(records, settings=settings).state
    (one,) = advise(state, settings or Settings(), EPOCH + days * DAY)
    return one


def test_exchange_2013_with_scanning_switched_off_for_400_days_is_told() -> None:
    one = advised(worked(400), 400)

    assert one.model == "background"
    assert [each.finding for each in one.findings] == ["never_verified", "scan_off"]
    early = advised(worked(400), 44)
    assert [each.finding for each in early.findings] == ["never_verified"]


def test_any_event_of_a_scan_is_a_sign_of_it() -> None:
    for event_id in (717, 719, 732, 733, 735, 736, 737, 738, 744, 745, 746, 747):
        told = event(event_id, 370 * DAY, **WORKER)
        found = advised([*worked(400), told], 400).findings
        assert "scan_off" not in [each.finding for each in found]
    of_defragmentation = advised([*worked(400), event(701, 370 * DAY, **WORKER)], 400)
    assert "scan_off" in [each.finding for each in of_defragmentation.findings]


@pytest.mark.parametrize(
    "stop",
    [event(103, 60 * DAY, database="", **WORKER), event(327, 60 * DAY, **WORKER)],
    ids=["instance", "database"],
)
def test_a_stop_in_an_open_pass_is_no_sign_of_a_scan(stop: Record) -> None:
    start = event(102, 60 * DAY + 60, database="", **WORKER)
    scan = event(736, 50 * DAY, **WORKER)
    found = advised([*worked(400), scan, stop, start], 96).findings
    assert "scan_off" in [each.finding for each in found]


def test_a_source_that_is_behind_may_have_told_of_a_scan() -> None:
    state = folder_of(worked(400), caught_up=False).state
    (one,) = advise(state, Settings(), EPOCH + 400 * DAY)
    assert "scan_off" not in [each.finding for each in one.findings]


def test_a_database_that_need_not_be_watched_has_no_finding() -> None:
    observing = Settings(databases=[DatabaseRule(match="*", tier="observed")])
    assert advised(worked(400), 400, observing).findings == ()
