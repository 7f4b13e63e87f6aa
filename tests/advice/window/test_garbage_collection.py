"""Online defragmentation of a directory and of DFSR: when it is overdue, in uptime."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import Finding
from esewatch.advice.history.history import History
from esewatch.advice.judgement import Judgement
from esewatch.advice.window.window import allowed_seconds, overdue_defrag
from esewatch.config import Settings
from esewatch.fold.passes.runs import torn_runs
from esewatch.fold.state.state import Pass, Transition
from esewatch.model import PagesScanned, Record
from tests.advice.histories import DAY, HOUR, NOON, one_pass, store
from tests.support.records import EPOCH, event, folder_of

NTDS: dict[str, Any] = {
    "computer": "DC01",
    "channel": "Directory Service",
    "provider": "NTDS ISAM",
    "process": "NTDS",
    "ese_instance": "NTDSA",
    "database": "C:\\Windows\\NTDS\\ntds.dit",
}
LDS: dict[str, Any] = {
    **NTDS,
    "provider": "ADAM [partners] ISAM",
    "ese_instance": "ADAM_partners",
    "process": "DSAMAIN",
    "database": "D:\\LDS\\adamntds.dit",
}


def directory(*ended: float, **changes: Any) -> History:
    """Completed so many hours before NOON."""
    done = [one_pass(NOON - ago * HOUR, NOON - ago * HOUR, invocations=1) for ago in ended]
    given: dict[str, Any] = {
        "database": "c:\\windows\\ntds\\ntds.dit",
        "model": "garbage_collection",
        "window": None,
        "defrag_passes": done,
        **changes,
    }
    return store(**given)


def dfsr(*days: float, **changes: Any) -> History:
    ended = [ago * 24 for ago in days]
    return directory(
        *ended, **{"database": "d:\\system volume information\\dfsr\\dfsr.db"} | changes
    )


def test_three_cycles_without_a_completion_are_overdue() -> None:
    found = overdue_defrag(directory(61, 49, 37), NOON)

    assert found is not None and found.finding == "defrag_overdue"
    assert "37 h of uptime (last at 2007-06-29 23:00 UTC)" in found.sentence
    assert "the limit is 36 h" in found.sentence
    assert overdue_defrag(directory(60, 48, 36), NOON) is None


def test_a_machine_that_was_off_is_not_late_when_it_starts() -> None:
    off = [(NOON - 20 * DAY, NOON - 60)]

    assert overdue_defrag(directory(20 * 24 + 6, off=off), NOON) is None
    assert overdue_defrag(directory(20 * 24 + 36, off=off), NOON) is not None


def test_one_that_never_completed_is_overdue_where_its_log_would_tell() -> None:
    never = overdue_defrag(directory(started=NOON - 3 * DAY), NOON)

    assert never is not None and "no completion is known" in never.sentence
    assert overdue_defrag(directory(), NOON) is None


def test_three_cycles_in_a_row_that_were_interrupted_or_resumed_are_overdue() -> None:
    found = overdue_defrag(directory(6, defrag_torn=3), NOON)

    assert found is not None and "in each of the last 3 cycles" in found.sentence
    assert overdue_defrag(directory(6, defrag_torn=2), NOON) is None


@pytest.mark.parametrize(
    ("ids", "torn"),
    [
        ((700, 701, 700, 701), 0),
        ((700, 704, 702, 704, 702, 703), 3),
        ((700, 704, 702, 703, 700, 701), 0),
        ((702, 701), 1),
        ((700, 705, 704, 705), 3),
        ((700, 702, 702, 702), 2),
    ],
)
def test_a_cycle_is_a_run(ids: tuple[int, ...], torn: int) -> None:
    rows = [Transition(hour * HOUR, hour, event_id) for hour, event_id in enumerate(ids)]
    assert torn_runs(rows, ()) == torn


def test_a_stop_breaks_a_run_off_and_a_completion_tells_of_the_runs_before() -> None:
    started = Transition(0.0, 1, 700)
    done = Transition(9 * HOUR, 2, 703, {"invocations": 4})

    assert torn_runs([started], [HOUR, 2 * HOUR]) == 1
    assert torn_runs([started, Transition(2 * HOUR, 3, 702)], [HOUR, 3 * HOUR]) == 2
    assert torn_runs([done], []) == 4
    assert torn_runs([started, done], []) == 1
    assert torn_runs([Transition(0.0, 1, 703, {"invocations": math.inf})], []) == 1001


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"first_seen": NOON - 13 * DAY}, id="known for 13 days"),
        pytest.param({"first_seen": 0.0}, id="not known since when"),
        pytest.param({"tier": "observed"}, id="observed"),
        pytest.param({"model": "background"}, id="another model"),
        pytest.param({"event_gaps": [(NOON - 36 * HOUR, NOON - 30 * HOUR, 9)]}, id="lost events"),
    ],
)
def test_nothing_is_said_where_it_is_not_known(changes: dict[str, Any]) -> None:
    assert overdue_defrag(directory(40), NOON) is not None
    assert overdue_defrag(directory(40, **changes), NOON) is None


def test_the_history_of_dfsr_decides_when_it_is_overdue() -> None:
    weekly = [2.5 + 7 * n for n in reversed(range(4))]

    assert allowed_seconds(dfsr(*weekly)) == 21 * DAY
    assert overdue_defrag(dfsr(*weekly), NOON) is None
    late = overdue_defrag(dfsr(*(18.6 + each for each in weekly)), NOON)
    assert late is not None and "the limit is 21 days" in late.sentence
    quick = dfsr(2.1, 2.0, 1.9, process="DFSRs", database="d:\\x.db")
    assert allowed_seconds(quick) == 36 * HOUR


def test_without_a_history_nothing_is_said_of_dfsr() -> None:
    assert allowed_seconds(dfsr(30)) is None
    assert overdue_defrag(dfsr(30), NOON) is None
    assert overdue_defrag(dfsr(started=NOON - DAY), NOON) is None


def cycles(of: dict[str, Any], days: float) -> list[Record]:
    """A cycle every 12 hours for so many days after EPOCH."""
    return [
        event(event_id, half * DAY / 2 + at, **of)
        for half in range(int(2 * days))
        for event_id, at in ((700, 0), (701, 1))
    ]


def advised(records: list[Record], days: float) -> Judgement:
    (one,) = advise(folder_of(records).state, Settings(), EPOCH + days * DAY)
    return one


def findings(advice: Judgement) -> list[str]:
    return [each.finding for each in advice.findings]


@pytest.mark.parametrize("of", [NTDS, LDS], ids=["AD DS", "AD LDS"])
def test_a_directory_is_judged_by_its_log(of: dict[str, Any]) -> None:
    healthy = advised(cycles(of, 30), 30)
    assert (healthy.model, findings(healthy)) == ("garbage_collection", [])
    assert healthy.verdict == "unproven"
    hung = advised(cycles(of, 30), 31.1)
    assert (findings(hung), hung.verdict) == (["defrag_overdue"], "look")
    assert hung.window.rule == "no_completion"


def test_a_domain_controller_that_was_off_for_a_month_has_no_finding_when_it_starts() -> None:
    down, up = 30 * DAY - 60, 60 * DAY
    stopped, started = event(103, down, **NTDS), event(102, up, **NTDS)

    back = advised([*cycles(NTDS, 30), stopped, started], 60.001)

    assert findings(back) == []
    assert findings(advised([*cycles(NTDS, 30), stopped, started], 62)) == ["defrag_overdue"]


def test_a_source_that_is_behind_may_have_told_of_a_completion() -> None:
    state = folder_of(cycles(NTDS, 30), caught_up=False).state
    (one,) = advise(state, Settings(), EPOCH + 40 * DAY)
    assert (findings(one), one.verdict) == ([], "blind")


ANY = st.floats(allow_nan=True, allow_infinity=True)
PASSES = st.builds(
    one_pass,
    st.none() | ANY,
    st.none() | ANY,
    interruptions=st.integers(0, 4),
    invocations=st.none() | st.integers(-1, 9),
)


@given(st.lists(PASSES, max_size=4), ANY, ANY, st.lists(st.tuples(ANY, ANY), max_size=2))
def test_no_figure_raises(
    passes: list[Pass], now: float, first_seen: float, off: list[tuple[float, float]]
) -> None:
    for database in ("c:\\ntds.dit", "d:\\dfsr.db"):
        damaged = directory(database=database, defrag_passes=passes, first_seen=first_seen, off=off)
        found = overdue_defrag(damaged, now)
        assert found is None or isinstance(found, Finding)


def test_the_deadline_of_a_pass_is_that_of_the_finding() -> None:
    last = EPOCH + 59 * DAY / 2 + 1
    assert advised(cycles(NTDS, 30), 30).forecasts[0].deadline == pytest.approx(last + 36 * HOUR)


def test_a_directory_whose_log_is_not_read_is_not_late() -> None:
    """A page scan, or an event of another log, names the database; its own log is not read."""
    read = PagesScanned(
        time=EPOCH, computer="dc01", database="c:\\windows\\ntds\\ntds.dit", pages=9, bytes=73728
    )
    for days, rule in ((3, "cycles"), (20, "unknown")):
        one = advised([read], days)
        assert (one.model, one.window.rule) == ("garbage_collection", rule)
        assert findings(one) == []
        assert "not completed" not in " ".join(one.window.reasons)
