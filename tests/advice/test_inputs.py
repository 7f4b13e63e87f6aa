"""Incomplete logs get no other advice than whole ones: the same, or less, and what is missing."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.advice.inputs import (
    DAY,
    HOUR,
    WEEK,
    Case,
    Logs,
    Row,
    Told,
    told,
    write,
    write_counters,
    write_evtx,
)
from tests.advice.test_articles import WORKER, text
from tests.advice.test_articles import write_events as write_article

ACTIONS = ("shrink", "keep", "grow", "insufficient_evidence")
YEAR = timedelta(days=365)
Cut = Callable[[Case], Logs]

MISSING_WORDS = (
    "were not both sampled",
    "No start or end of online defragmentation",
    "Advice needs",
    "too few pages freed to tell",
)
"""What advice says that is less than whole logs give."""


def lost(weeks: float, *, events: bool = False, counters: bool = False, days: float = 7) -> Cut:
    """A week of one or both logs, so many weeks before the end."""

    def cut(case: Case) -> Logs:
        begin = case.days_ago(7 * weeks)
        return case.logs.without(
            begin, begin + timedelta(days=days), events=events, counters=counters
        )

    return cut


def stopped(days: float, *, events: bool = False, counters: bool = False) -> Cut:
    """One of the logs ends so many days before the other."""

    def cut(case: Case) -> Logs:
        return case.logs.without(
            case.days_ago(days), case.end + DAY, events=events, counters=counters
        )

    return cut


def began(days: float, *, events: bool = False, counters: bool = False) -> Cut:
    """One of the logs reaches back for so many days only."""

    def cut(case: Case) -> Logs:
        return case.logs.without(
            case.logs.events[0].time - DAY, case.days_ago(days), events=events, counters=counters
        )

    return cut


def jumped(by: timedelta, *, days: float = 10.0, events: bool = True, counters: bool = True) -> Cut:
    """The clock is set so many days before the end, and stays as it is."""

    def cut(case: Case) -> Logs:
        return case.logs.moved(by, case.days_ago(days), events=events, counters=counters)

    return cut


def hopped(by: timedelta, *, events: bool = True, counters: bool = True) -> Cut:
    """The clock is wrong for one night."""

    def cut(case: Case) -> Logs:
        since = case.days_ago(10)
        return case.logs.moved(by, since, events=events, counters=counters, until=since + DAY)

    return cut


CUTS: dict[str, Cut] = {
    "events only": lambda case: case.logs._replace(rows=[]),
    "no counters last week": lost(1, counters=True),
    "no counters the week before": lost(2, counters=True),
    "no counters three weeks ago": lost(3, counters=True),
    "no events last week": lost(1, events=True),
    "no events the week before": lost(2, events=True),
    "no events for ten days": lost(2, events=True, days=10),
    "no events three weeks ago": lost(3, events=True),
    "neither last week": lost(1, events=True, counters=True),
    "neither the week before": lost(2, events=True, counters=True),
    "events end before": stopped(17, events=True),
    "counters end before": stopped(17, counters=True),
    "counters end long before": stopped(36, counters=True),
    "counters begin later": began(16, counters=True),
    "events begin later": began(16, events=True),
    "an hour forward": jumped(HOUR),
    "an hour back": jumped(-HOUR),
    "an hour forward in the counters": jumped(HOUR, events=False),
    "an hour back in the counters": jumped(-HOUR, events=False),
    "an hour forward in the events": jumped(HOUR, counters=False),
    "an hour back in the events": jumped(-HOUR, counters=False),
    "a year forward in the counters": jumped(YEAR, events=False),
    "a year back in the counters": jumped(-YEAR, events=False),
    "a year forward in the events": jumped(YEAR, counters=False),
    "a year back in the events": jumped(-YEAR, counters=False),
    "a year forward for a night": hopped(YEAR),
    "a year forward for a night in the counters": hopped(YEAR, events=False),
    "a year back for a night": hopped(-YEAR),
    "an hour back for a night": hopped(-HOUR),
}


def read(case: Case, logs: Logs, folder: Path) -> Told:
    return told(case.configuration, write(folder, logs))


def check_no_contradiction(case: Case, found: Told) -> None:
    """The advice is that of the whole logs, or less for a reason that is said."""
    advice = found.advice
    assert found.status in (0, 1)
    assert advice["action"] in {case.action, "keep", "insufficient_evidence"}
    if case.action == "insufficient_evidence":
        assert advice["action"] == case.action
    if advice["action"] != case.action:
        reasons = " ".join(advice["reasons"])
        assert any(words in reasons for words in MISSING_WORDS), reasons
    if advice["action"] == "insufficient_evidence":
        assert "recommended_seconds" not in advice
        assert advice["confidence"] == 0


@pytest.mark.parametrize("action", ACTIONS)
def test_whole_logs_get_the_right_advice(
    cases: dict[str, Case], tmp_path: Path, action: str
) -> None:
    case = cases[action]
    advice = read(case, case.logs, tmp_path).advice

    assert advice["action"] == action
    assert advice["evidence"]["ratio"] == pytest.approx(case.ratio(case.logs), rel=0.01)
    assert advice["evidence"]["counter_coverage"] == 1
    assert "online_scan" in advice["verified"]
    assert advice["findings"] == []


OF_LITTLE = list(CUTS)[::4]
"""Cuts of logs that are too short already, in each run."""


@pytest.mark.parametrize(
    ("cut", "action"),
    [
        *((cut, "shrink") for cut in CUTS),
        *((cut, "insufficient_evidence") for cut in OF_LITTLE),
        *(
            pytest.param(cut, action, marks=pytest.mark.slow)
            for cut in CUTS
            for action in ("keep", "grow", "insufficient_evidence")
            if action != "insufficient_evidence" or cut not in OF_LITTLE
        ),
    ],
)
def test_incomplete_logs_do_not_contradict_whole_ones(
    cases: dict[str, Case], tmp_path: Path, cut: str, action: str
) -> None:
    case = cases[action]

    logs = CUTS[cut](case)
    if logs.events:
        check_no_contradiction(case, read(case, logs, tmp_path))


@pytest.mark.parametrize("action", ["shrink", "keep", "grow"])
@pytest.mark.parametrize("weeks", [1, 2, 3])
def test_the_ratio_over_a_week_without_samples_is_that_of_the_rest(
    cases: dict[str, Case], tmp_path: Path, action: str, weeks: int
) -> None:
    case = cases[action]
    logs = lost(weeks, counters=True)(case)
    gap = case.defrag_share(case.days_ago(7 * weeks), case.days_ago(7 * (weeks - 1)))
    advice = read(case, logs, tmp_path).advice

    assert 0.1 < gap < 0.4
    assert advice["evidence"]["ratio"] == pytest.approx(case.ratio(logs), rel=0.02)
    assert advice["evidence"]["counter_coverage"] == pytest.approx(1 - gap, abs=0.02)
    assert advice["action"] == "insufficient_evidence"
    assert "needs counters for 90%" in " ".join(advice["reasons"])


@pytest.mark.parametrize("action", ["shrink", "keep", "grow"])
def test_a_process_that_starts_again_changes_neither_ratio_nor_advice(
    cases: dict[str, Case], tmp_path: Path, action: str
) -> None:
    """Its totals begin at nothing, and its first sample has no rate."""
    case = cases[action]
    logs, restarts = case.logs, [case.days_ago(days) + 14 * HOUR for days in (3, 9, 15, 20)]
    rows, scanned = [], 0.0
    for row in logs.rows:
        if restarts and row.time >= restarts[0]:
            restarts, scanned = restarts[1:], float(row.cells[2])
            row = Row(row.time, (" ", " ", "0"))
        else:
            row = row._replace(cells=(*row.cells[:2], f"{float(row.cells[2]) - scanned}"))
        rows.append(row)
    advice = read(case, logs._replace(rows=rows), tmp_path).advice

    assert restarts == []
    assert advice["action"] == action
    assert advice["evidence"]["ratio"] == pytest.approx(case.ratio(logs), rel=0.03)


@pytest.mark.parametrize("action", ACTIONS)
def test_of_counters_alone_it_is_said_that_no_event_names_a_database(
    cases: dict[str, Case], tmp_path: Path, action: str
) -> None:
    case = cases[action]
    found = read(case, case.logs._replace(events=[]), tmp_path)

    assert (found.status, found.out) == (2, "")
    no_advice, not_judged = found.error.splitlines()
    assert no_advice == (
        "esewatch: no advice for priv1 (lab): there are only counters, and no event names a"
        " database"
    )
    assert not_judged.startswith("esewatch: not judged: no event that was read names an ESE")


@pytest.mark.parametrize("action", ["shrink", "keep", "grow"])
@pytest.mark.parametrize("weeks", [1, 2, 3])
def test_records_that_are_missing_by_their_numbers_are_told_and_no_proof_is_denied(
    cases: dict[str, Case], tmp_path: Path, action: str, weeks: int
) -> None:
    case = cases[action]
    logs = lost(weeks, events=True)(case)
    folder = write_evtx(tmp_path / "log.evtx", logs.events)
    write_counters(tmp_path / "counters.csv", logs)
    found = told(case.configuration, [str(folder)])

    check_no_contradiction(case, found)
    names = [each["finding"] for each in found.advice["findings"]]
    # What was scanned after the gap is proof enough.
    assert names == (["unknown_since"] if weeks == 1 else [])
    if weeks < 3:
        assert "earlier events are missing" in found.words
    if weeks == 1:
        assert "events were not read between" in found.words


@pytest.mark.parametrize("action", ["shrink", "keep", "grow"])
def test_a_database_whose_scans_fell_into_a_gap_is_unknown_and_not_unverified(
    cases: dict[str, Case], tmp_path: Path, action: str
) -> None:
    case = cases[action]
    scans = {717, 719, 721, 725}
    kept = [
        event
        for event in lost(1, events=True, days=6)(case).events
        if event.system["EventID"] not in scans
    ]
    folder = write_evtx(tmp_path / "log.evtx", kept)
    write_counters(tmp_path / "counters.csv", case.logs)
    advice = told(case.configuration, [str(folder)]).advice

    assert "verified" not in advice
    assert [each["finding"] for each in advice["findings"]] == ["unknown_since"]


@pytest.mark.parametrize("action", ["shrink", "keep"])
def test_a_pass_is_not_late_for_the_time_in_which_nothing_is_known_to_have_run(
    cases: dict[str, Case], tmp_path: Path, action: str
) -> None:
    case = cases[action]
    since = case.days_ago(16)
    ends = {701, 703}
    logs = case.logs.without(since, since + 1.5 * WEEK, counters=False)
    logs = logs._replace(
        events=[
            event
            for event in logs.events
            if event.time < since or event.system["EventID"] not in ends
        ]
    )
    advice = read(case, logs, tmp_path).advice

    assert advice["action"] in {action, "keep"}
    assert not any("has not completed a pass" in reason for reason in advice["reasons"])


@pytest.mark.parametrize("action", ["shrink", "keep", "grow"])
def test_samples_of_a_later_time_than_the_events_do_not_make_them_late(
    cases: dict[str, Case], tmp_path: Path, action: str
) -> None:
    case = cases[action]
    found = read(case, stopped(12, events=True)(case), tmp_path)

    assert f"{case.days_ago(12):%Y-%m-%d}" in found.error
    assert found.advice["findings"] == []
    assert found.advice["action"] == action


@pytest.mark.parametrize(("day", "is_late"), [(20, False), (36, True)])
def test_a_scan_of_two_terabytes_at_a_megabyte_a_second_is_late_after_a_month(
    tmp_path: Path, day: int, is_late: bool
) -> None:
    """The pass before it took 2,000,000 s, which the engine's own events tell."""
    active, took = (*WORKER, "e:\\DB01\\DB01.edb"), 2_000_000.0
    date = text(0.0, "%-m/%-d/%Y")
    done = (date, f"{took:.0f}", str(2_000_000_000_000 // 32768))
    lines = [
        (0.0, 736, active),
        (took - 1.0, 737, (*active, *done)),
        (took, 736, active),
        (took + day * DAY.total_seconds(), 744, (*active, date, "1", "1")),
    ]
    write_article(tmp_path / "events.jsonl", lines)
    found = told(None, [str(tmp_path / "events.jsonl")], "--format", "json", "--date-order", "mdy")

    assert found.advice["action"] == "not_applicable"
    assert ("To verify it sooner" in found.words) == is_late
    assert "34.7 days" in found.words
    names = [each["finding"] for each in found.advice["findings"]]
    assert names == (["verification_overdue"] if is_late else [])
