"""Passes that failed, are late, or will be (semantics.md 5 and 7).

These are the records' half of the cases that `tests/rules/moved_cases.yml` lists.
"""

import datetime
from collections.abc import Sequence
from typing import Any

import pytest

from esewatch.advice.advise import judge
from esewatch.advice.base.finding import Finding, FindingName
from esewatch.advice.findings.details import Around, of_database
from esewatch.advice.findings.maintenance import LatePasses, late_passes
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.history.history import History, as_copy
from esewatch.advice.history.ledger import ledgers
from esewatch.config import DatabaseRule, Policy, Settings, Window
from esewatch.fold.state.state import Database
from esewatch.model import Event
from tests.advice.histories import DAY as OF_HISTORY
from tests.advice.histories import NOON, nightly_runs, one_pass, opening, store
from tests.support.records import DAY, HOUR, LABEL, event
from tests.support.stated import Step, ack, assert_stated, restarted

MINUTE = 60.0
KNOWN = event(700, 0)
ERROR, RISK, INCOMPLETE = (
    f"{name} warning" for name in ("maintenance_error", "verification_at_risk", "defrag_incomplete")
)
STORE = "Microsoft.Exchange.Store.Worker"
NIGHTLY = Settings(
    windows={"night": Window(start=datetime.time(1), duration=4 * HOUR)},
    databases=[DatabaseRule(match="*", window="night")],
)
SUMMARY = {"seconds": 60, "days": 1, "pages_seen": 5000, "bad_checksums": 0}


def scanned(time: float) -> list[Step]:
    return [event(717, time - MINUTE), event(721, time, fields=SUMMARY)]


def background(event_id: int, time: float, **fields: float) -> Event:
    return event(event_id, time, process=STORE, fields=fields)


def nights(first: int, last: int) -> list[Step]:
    """Defragmentation in each night, from one to the other, that is never done."""
    made: list[Step] = []
    for day in range(first, last):
        made += [event(702 if day else 700, day * DAY), event(704, day * DAY + 4 * HOUR)]
    return made


def test_a_failed_pass_is_told_until_its_task_completes_and_another_task_does_not_end_it() -> None:
    done = event(701, 9 * HOUR, fields={"seconds": 60, "invocations": 1})
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (HOUR, [event(705, HOUR)], {LABEL: ERROR}),
        (2 * HOUR, scanned(2 * HOUR), {LABEL: ERROR}),
        (5 * HOUR, [restarted], {LABEL: ERROR}),
        (9 * HOUR, [event(700, 8 * HOUR), done], {}),
        of=["maintenance_error"],
    )


@pytest.mark.parametrize("failure", [723, 734])
def test_a_scan_that_failed_and_never_completed_is_told_until_it_does(failure: int) -> None:
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (HOUR, [event(717, HOUR - MINUTE), event(failure, HOUR)], {LABEL: ERROR}),
        (3 * HOUR, scanned(3 * HOUR), {}),
        of=["maintenance_error"],
    )


def test_a_failed_zeroing_that_was_switched_off_ends_by_ack() -> None:
    failed = [event(718, HOUR - MINUTE), event(724, HOUR)]
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (HOUR, failed, {LABEL: ERROR}),
        (30 * DAY, [], {LABEL: ERROR}),
        (30 * DAY + HOUR, [ack()], {}),
        of=["maintenance_error"],
    )


def test_a_pass_that_never_failed_or_completed_after_its_failure_is_well() -> None:
    assert_stated((2 * HOUR, scanned(2 * HOUR), {}), of=["maintenance_error"])
    after = [event(717, HOUR - MINUTE), event(723, HOUR), *scanned(2 * HOUR)]
    assert_stated((3 * HOUR, after, {}), of=["maintenance_error"])


def test_a_failed_pass_of_what_is_only_observed_is_not_told() -> None:
    observed = Settings(databases=[DatabaseRule(match="*", tier="observed")])
    assert_stated(
        (2 * HOUR, [KNOWN, event(705, HOUR)], {}), settings=observed, of=["maintenance_error"]
    )


def test_defragmentation_past_its_deadline_is_told_until_it_completes() -> None:
    done = event(701, 15 * DAY + HOUR, fields={"seconds": 60, "invocations": 15})
    assert_stated(
        (13 * DAY, nights(0, 13), {}),
        (14 * DAY + HOUR, nights(13, 15), {LABEL: INCOMPLETE}),
        (15 * DAY, [restarted], {LABEL: INCOMPLETE}),
        (15 * DAY + 2 * HOUR, [event(702, 15 * DAY), done], {}),
        settings=NIGHTLY,
        of=["defrag_incomplete"],
    )


def test_defragmentation_of_a_store_that_scans_in_the_background_has_no_deadline() -> None:
    goes_on = [background(736, day * DAY) for day in (1, 12, 20)]
    assert_stated((21 * DAY, [*nights(0, 1), *goes_on], {}), of=["defrag_incomplete"])


def test_an_aborted_scan_is_at_risk_until_it_goes_on() -> None:
    begun = [background(717, DAY), background(719, 15 * DAY)]
    assert_stated(
        (15 * DAY + MINUTE, begun, {}),
        (16 * DAY, [background(745, 16 * DAY - HOUR)], {LABEL: RISK}),
        (17 * DAY, [background(719, 17 * DAY - HOUR)], {}),
        of=["verification_at_risk"],
    )


LATE = LatePasses(scan=True)
DEFRAG = LatePasses(defrag=True)


def late(
    defrag: float | None = None, scan: float | None = None, p90: float | None = None, **changes: Any
) -> LatePasses:
    """As of NOON, by deadlines and p90 in days after it."""

    def at(days: float | None) -> float | None:
        return None if days is None else NOON + days * OF_HISTORY

    progress: float | None = changes.pop("progress", 0.5)
    passes: Sequence[Any] = changes.pop("passes", [one_pass(NOON - 5 * OF_HISTORY, None)])
    forecasts = (
        Forecast(task="defrag", deadline=at(defrag), p90=at(changes.pop("defrag_p90", None))),
        Forecast(task="checksum", deadline=at(scan), p90=at(p90), progress=progress),
    )
    return late_passes(store(checksum_passes=passes, **changes), forecasts, NOON)


@pytest.mark.parametrize("model", ["window", "background"])
def test_a_p90_after_the_deadline_is_a_risk_of_a_scan(model: str) -> None:
    assert late(scan=3, p90=4, model=model) == LatePasses(scan_at_risk=True)
    assert late(scan=3, p90=3, model=model) == LatePasses()
    assert late(p90=4, model=model) == LatePasses()
    assert late(scan=3, model=model) == LatePasses()


def test_the_p90_of_defragmentation_is_no_risk_of_a_scan() -> None:
    assert late(scan=3, defrag=3, defrag_p90=4) == LatePasses()


@pytest.mark.parametrize("model", ["garbage_collection", "application"])
def test_a_directory_and_an_application_have_no_pass_that_is_late(model: str) -> None:
    assert late(defrag=-1, scan=-1, p90=1, model=model) == LatePasses()
    assert late(defrag=-1, scan=-1, p90=1) == LatePasses(True, True, True)


def test_the_first_tenth_of_a_scan_shows_little() -> None:
    assert late(scan=3, p90=4, progress=0.0999) == LatePasses()
    assert late(scan=3, p90=4, progress=0.1) == LatePasses(scan_at_risk=True)
    assert late(scan=3, p90=4, progress=None) == LatePasses(scan_at_risk=True)


def test_a_scan_under_way_that_is_past_its_deadline_is_late() -> None:
    assert late(scan=-0.01) == LATE
    assert late(scan=0) == LatePasses()
    ended = [one_pass(NOON - 5 * OF_HISTORY, NOON - OF_HISTORY)]
    assert late(scan=-0.01, passes=ended) == LatePasses()
    assert late(scan=-0.01, passes=[]) == LatePasses()


def test_defragmentation_past_its_deadline_is_late_whatever_the_scan() -> None:
    assert late(defrag=-0.01) == DEFRAG
    assert late(defrag=-0.01, passes=[]) == DEFRAG
    assert late(defrag=0) == LatePasses()
    assert late(scan=-1, defrag=1) == LATE


@pytest.mark.parametrize(
    "known", [{"first_seen": NOON - 14 * OF_HISTORY + 1}, {"first_seen": 0.0}, {"tier": "observed"}]
)
def test_what_is_new_or_only_observed_is_not_late(known: dict[str, Any]) -> None:
    assert late(defrag=-1, scan=-1, p90=1, **known) == LatePasses()
    long = {"first_seen": NOON - 14 * OF_HISTORY}
    assert late(defrag=-1, scan=-1, p90=1, **long) == LatePasses(True, True, True)


def test_a_stop_that_is_no_abort_is_no_risk() -> None:
    stopped = one_pass(NOON - 5 * OF_HISTORY, None, interrupted=True, last_event=NOON - HOUR)
    assert late(scan=9, passes=[stopped]) == LatePasses()
    assert late(scan=9, passes=[stopped], aborted=NOON - DAY) == LatePasses()
    assert late(scan=9, passes=[stopped], aborted=NOON - HOUR) == LatePasses(scan_at_risk=True)


def details(of: LatePasses, *names: FindingName) -> list[str]:
    history = store()
    (ledger,) = ledgers([as_copy(history, Policy())], NOON)
    database = Database(computer=history.computer, database=history.database)
    told = [Finding(name, "so it is") for name in names]
    around = Around(database, None, ledger, failing=False, late=of, findings=told)
    return [each.finding for each in of_database(history, around, NOON)]


@pytest.mark.parametrize("told", ["never_verified", "verification_overdue", "unknown_since"])
def test_a_late_scan_is_told_once(told: FindingName) -> None:
    assert details(LATE) == ["verification_at_risk"]
    assert details(LATE, told) == []
    assert details(LATE, "cache_small", "scans_collide") == ["verification_at_risk"]
    assert details(LatePasses(scan_at_risk=True), told) == ["verification_at_risk"]


def test_a_scan_that_stands_still_is_at_risk() -> None:
    assert details(LatePasses(), "scan_stalled") == ["verification_at_risk"]
    assert details(LatePasses(), "scan_stalled", "verification_overdue") == ["verification_at_risk"]
    assert details(LatePasses(), "scan_off") == []


@pytest.mark.parametrize("told", ["unknown_since", "backup_overlaps"])
def test_what_another_finding_explains_is_no_incomplete_defragmentation(told: FindingName) -> None:
    assert details(DEFRAG) == ["defrag_incomplete"]
    assert details(DEFRAG, told) == []
    assert details(DEFRAG, "stops_early", "verification_overdue") == ["defrag_incomplete"]


def scanning() -> History:
    """Its scan takes 8 hours in windows of 4, and was at work for half an hour of the last two."""
    ends = [NOON - (5 * n + 5) * OF_HISTORY for n in reversed(range(9))]
    given: dict[str, Any] = {"task": "checksum", "work_seconds": 8 * HOUR}
    done = [one_pass(end - OF_HISTORY, end, **given) for end in ends]
    running = one_pass(
        opening(2), None, task="checksum", start_seen=True, last_event=opening(0) + HOUR / 2
    )
    runs = [*nightly_runs(40, 4, ago=3), *nightly_runs(2, 0.5)]
    return store(checksum_passes=[*done, running], scan_runs=runs)


@pytest.mark.parametrize(("within", "at_risk"), [(3, True), (60, False), (40, False)])
@pytest.mark.parametrize("silent", [3, 6, 20, 200])
def test_while_nothing_is_heard_a_scan_is_at_risk_as_it_was(
    within: int, at_risk: bool, silent: int
) -> None:
    of, policy = scanning(), Policy(verify_within=within * OF_HISTORY)
    before = judge(of, policy, NOON, NOON).late
    assert before.scan_at_risk == at_risk
    assert judge(of, policy, NOON + silent * OF_HISTORY, NOON).late == before
