"""Verdicts: what ends them is an event or a person, never a date (semantics.md 5a and 7)."""

from pathlib import Path

import pytest

from tests.hard_histories import MONDAY, Copy, judged, numbered, old_store
from tests.oracle.history import DAY, HOUR, Logged

OLD = old_store()
VERIFIED = (OLD.scan_start(MONDAY), OLD.checksum_end(MONDAY + DAY, MONDAY))
FAILED = MONDAY + 2 * DAY
OFFSET = "81920 (0x14000)"
LOG = r"F:\SG01\E00.log"


def verdict(folder: Path, *events: Logged, until: float, of: Copy = OLD) -> str:
    """That of a healthy copy with these events, whose log goes on at night."""
    nights = [OLD.defrag_stop(MONDAY + turn * DAY) for turn in range(2, int(until) + 1)]
    # Another program is no sign of the instance, and shows what time it is.
    clock = Copy(OLD.computer, r"C:\other\other.db", "other", "other", "ESENT")
    end = clock.log(MONDAY + until * DAY, 326, "1", clock.database)
    silent = not any(each.event_id in {532, 533} for each in events)
    return judged(folder, numbered([*VERIFIED, *events, *nights * silent, end])).of(of).verdict


def error(event_id: int) -> Logged:
    return OLD.log(FAILED + HOUR, event_id, "-1808", level="error")


@pytest.mark.parametrize("event_id", [104, 413, 429, 454, 455, 465, 492, 494])
def test_writes_are_at_risk_however_long_ago_they_failed(tmp_path: Path, event_id: int) -> None:
    assert verdict(tmp_path, error(event_id), until=13.9) == "writes_at_risk"


@pytest.mark.parametrize("event_id", [413, 429, 454, 465, 492])
@pytest.mark.parametrize("end", [105, 302, 304, 326])
def test_writes_are_at_risk_until_the_instance_writes_again(
    tmp_path: Path, event_id: int, end: int
) -> None:
    strings = ("1", OLD.database) if end == 326 else ("0",)
    came_up = OLD.log(FAILED + 2 * HOUR, end, *strings)
    assert verdict(tmp_path, error(event_id), came_up, until=3) == "ok"


def hung(time: float = FAILED, seconds: int = 36, event_id: int = 532) -> Logged:
    file = OLD.database
    return OLD.log(time, event_id, file, OFFSET, "8192", str(seconds), level="warning")


def done(
    event_id: int, seconds: float, *, offset: str = OFFSET, file: str = OLD.database
) -> Logged:
    """A request that took so long ended 100 seconds after the report."""
    of_error = ("-1022", "1117", "The request could not be performed")
    strings = (*of_error, f"{seconds:.3f}") if event_id in {481, 482} else (f"{seconds:.0f}",)
    return OLD.log(FAILED + 100, event_id, file, offset, "8192", *strings, level="warning")


@pytest.mark.parametrize(
    ("events", "until", "expected"),
    [
        ((), 2.5, "writes_at_risk"),
        ((), 9, "writes_at_risk"),
        ((done(507, 150),), 2.5, "ok"),
        ((done(509, 136),), 2.5, "ok"),
        ((done(481, 150.5),), 2.5, "look"),
        ((done(507, 20),), 2.5, "writes_at_risk"),
        ((done(507, 150, offset="90112 (0x16000)"),), 2.5, "writes_at_risk"),
        ((done(507, 150, file=LOG),), 2.5, "writes_at_risk"),
        ((OLD.log(FAILED + HOUR, 105, "0"),), 2.5, "ok"),
        ((OLD.defrag_stop(FAILED + 3 * HOUR),), 2.5, "writes_at_risk"),
        ((OLD.defrag_stop(FAILED + 3 * HOUR),), 3.1, "ok"),
        ((OLD.defrag_stop(FAILED + 60),), 3.1, "writes_at_risk"),
        ((OLD.defrag_stop(FAILED + 3 * HOUR), hung(FAILED + DAY / 2)), 3.1, "writes_at_risk"),
    ],
)
def test_writes_are_at_risk_until_a_request_that_hung_has_ended(
    tmp_path: Path, events: tuple[Logged, ...], until: float, expected: str
) -> None:
    assert verdict(tmp_path, hung(), *events, until=until) == expected


def test_a_log_file_that_hangs_puts_the_databases_of_its_instance_at_risk(tmp_path: Path) -> None:
    log = OLD.log(FAILED, 533, LOG, OFFSET, "8192", "36", level="warning")
    assert verdict(tmp_path, log, until=2.5) == "writes_at_risk"
    ended = done(508, 150, file=LOG.lower())
    assert verdict(tmp_path, log, ended, until=2.5) == "ok"


def test_a_request_that_ended_is_over_in_whatever_order_the_logs_are_read(tmp_path: Path) -> None:
    def brief(time: float, *events: Logged) -> list[Logged]:
        return [OLD.defrag_stop(time), *events]

    for first, second in ((hung(), done(507, 150)), (done(507, 150), hung())):
        events = [*VERIFIED, *brief(FAILED - HOUR, first), *brief(FAILED - HOUR / 2, second)]
        assert judged(tmp_path, events).of(OLD).verdict == "ok"


def backed_up(copy: Copy) -> list[Logged]:
    """A streaming backup that read the whole file without an error."""
    return [
        copy.log(MONDAY, 210),
        copy.log(MONDAY + 60, 220, copy.database, "10 Mb"),
        copy.log(MONDAY + 120, 221, copy.database),
        copy.log(MONDAY + 180, 213),
    ]


@pytest.mark.parametrize("days", [1, 60])
def test_what_a_streaming_backup_verified_is_ok_whatever_its_program(
    tmp_path: Path, days: int
) -> None:
    other = Copy("APP01", r"D:\data\other.edb", "other", "program", "ESENT", brief=True)
    end = other.log(MONDAY + days * DAY, 326, "1", other.database)
    said = judged(tmp_path, numbered([*backed_up(other), end])).of(other)
    assert (set(said.verified), said.verdict) == ({"streaming_backup"}, "ok")
    unproven = judged(tmp_path, numbered([end])).of(other)
    assert (set(unproven.verified), unproven.verdict) == (set(), "unproven")


@pytest.mark.parametrize(
    ("event_id", "expected"), [(705, "look"), (723, "look"), (724, "look"), (7777, "ok")]
)
def test_a_failed_pass_asks_for_a_look_and_an_error_that_nobody_knows_does_not(
    tmp_path: Path, event_id: int, expected: str
) -> None:
    failed = OLD.log(FAILED + HOUR, event_id, OLD.database, "-1032", level="error")
    assert verdict(tmp_path, failed, until=3) == expected


WINDOW = """
windows:
  nightly: {start: '01:00', duration: 4h}
databases:
  - {match: '*', window: nightly}
"""


def model(folder: Path, copy: Copy, *events: Logged) -> str:
    return judged(folder, numbered([*events]), WINDOW).of(copy).model


def test_a_store_of_2013_whose_scan_runs_has_no_window_though_one_is_configured(
    tmp_path: Path,
) -> None:
    new, passive = Copy(), Copy("EX02.corp.example")
    worker = Copy(process="Microsoft.Exchange.Store.Worker")
    of_2010 = Copy(process="Information Store")
    end = new.maintenance_end(MONDAY + DAY, MONDAY)
    assert model(tmp_path, new, new.maintenance_start(MONDAY), end) == "background"
    assert model(tmp_path, passive, passive.scan_start(MONDAY)) == "background"
    assert model(tmp_path, of_2010, of_2010.maintenance_start(MONDAY)) == "background"
    assert model(tmp_path, worker, worker.maintenance_start(MONDAY)) == "background"
    assert model(tmp_path, worker, worker.defrag_start(MONDAY)) == "window"
    assert model(tmp_path, of_2010, of_2010.defrag_start(MONDAY)) == "window"
    assert model(tmp_path, OLD, OLD.scan_start(MONDAY)) == "window"
