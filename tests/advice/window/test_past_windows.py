from esewatch.advice.history.history import History
from esewatch.advice.window.past_windows import Used, openings_used, restarts
from esewatch.fold.instances.backups import Backup
from esewatch.fold.passes.runs import Run
from tests.advice.histories import DAY, HOUR, NOON, nightly_runs, one_pass, opening, store, window


def used(history: History, nights: int = 3) -> list[Used]:
    return openings_used(history, history.defrag_runs, NOON - nights * DAY, NOON)


def test_each_opening_says_what_was_done_in_it() -> None:
    backup = Backup("full", opening(1) - HOUR, opening(1) + HOUR, {}, verifying=True)
    scans = [Run(opening(2) + HOUR, opening(2) + 3 * HOUR)]
    history = store(defrag_runs=nightly_runs(2), scan_runs=scans, backups=[backup])

    found = used(history)

    assert [(each.start, each.end) for each in found] == [
        (opening(n), opening(n) + 4 * HOUR) for n in (2, 1, 0)
    ]
    assert [each.ran for each in found] == [False, True, True]
    assert [each.scanned for each in found] == [2 * HOUR, 0, 0]
    assert [each.backup for each in found] == [0, HOUR, 0]


def test_runs_that_stop_beside_the_end_tell_of_another_window() -> None:
    early, late = nightly_runs(3, 3), nightly_runs(3, 5)
    finished = [one_pass(run.start, run.end) for run in early]

    assert [each.off for each in used(store(defrag_runs=early))] == [-HOUR] * 3
    assert [each.off for each in used(store(defrag_runs=late))] == [HOUR] * 3
    assert [each.off for each in used(store(defrag_runs=nightly_runs(3, 4.15)))] == [0] * 3
    done = store(defrag_runs=early, defrag_passes=finished)
    assert [each.off for each in used(done)] == [None] * 3


def test_only_two_openings_in_a_row_tell_of_another_window() -> None:
    once = [*nightly_runs(1, 3, ago=2), *nightly_runs(2)]
    unlike = [*nightly_runs(1, 1, ago=2), *nightly_runs(1, 3, ago=1), *nightly_runs(1)]
    twice = [*nightly_runs(2, 3, ago=2), *nightly_runs(2)]

    assert restarts(used(store(defrag_runs=once))) == {}
    assert restarts(used(store(defrag_runs=unlike))) == {}
    assert restarts(used(store(defrag_runs=twice), nights=4)) == {opening(2) + 4 * HOUR: -HOUR}
    assert restarts(used(store(defrag_runs=nightly_runs(8, 3)), nights=8)) == {}


def test_two_nights_that_end_early_among_others_are_no_other_window_but_three_are() -> None:
    def runs(early: int, hours: float) -> list[Run]:
        return [
            *nightly_runs(4, ago=early + 2),
            *nightly_runs(early, hours, ago=2),
            *nightly_runs(2),
        ]

    for hours in (3, 3.75):
        assert restarts(used(store(defrag_runs=runs(2, hours)), nights=8)) == {}
    assert max(restarts(used(store(defrag_runs=runs(3, 3)), nights=9))) == opening(2) + 4 * HOUR


def test_a_stop_of_the_instance_shows_nothing_of_the_window() -> None:
    runs = nightly_runs(5, 3)
    stops = [(run.end, run.end + 2 * HOUR) for run in runs if run.end is not None]
    rebooted = used(store(defrag_runs=runs, off=stops), nights=5)
    assert [each.off for each in rebooted] == [None] * 5
    assert restarts(rebooted) == {}
    by_day = [(low + 6 * HOUR, high + 6 * HOUR) for low, high in stops]
    assert [each.off for each in used(store(defrag_runs=runs, off=by_day))] == [-HOUR] * 3


def test_less_than_half_an_hour_at_the_end_is_the_window() -> None:
    before = [*nightly_runs(6, 3.75, ago=2), *nightly_runs(2)]
    for runs in (before, nightly_runs(8, 3.75)):
        assert restarts(used(store(defrag_runs=runs), nights=8)) == {}
    longer = used(store(defrag_runs=nightly_runs(8, 4.25)), nights=8)
    assert len(restarts(longer)) == 7


def test_where_a_scan_follows_defragmentation_has_the_first_half_of_the_window() -> None:
    halves, whole = nightly_runs(3, 2), nightly_runs(3, 4)
    scans = [Run(run.end, run.start + 4 * HOUR) for run in halves if run.end]
    after = [Run(run.end, run.start + 8 * HOUR) for run in whole if run.end]

    kept = used(store(defrag_runs=halves, scan_runs=scans))
    longer = used(store(defrag_runs=whole, scan_runs=after))

    assert [each.off for each in kept] == [0] * 3
    assert restarts(kept) == {}
    assert [each.off for each in longer] == [2 * HOUR] * 3
    assert len(restarts(longer)) == 2


def test_a_longer_window_before_shows_though_every_other_night_completed_a_pass() -> None:
    runs = [
        Run(opening(n), opening(n) + hours * HOUR) for n, hours in ((4, 6), (3, 2), (2, 6), (1, 2))
    ]
    finished = [one_pass(opening(n + 1), opening(n) + 2 * HOUR) for n in (3, 1)]

    found = used(store(defrag_runs=runs, defrag_passes=finished), nights=5)

    assert [each.off for each in found] == [2 * HOUR, None, 2 * HOUR, None, None]
    assert restarts(found) == {opening(2) + 6 * HOUR: 2 * HOUR}


def test_defragmentation_at_quite_other_hours_is_told_too() -> None:
    by_day = [Run(run.start + 12 * HOUR, run.end + 12 * HOUR) for run in nightly_runs(4) if run.end]

    found = used(store(defrag_runs=by_day), nights=5)

    assert not any(each.ran for each in found)
    assert len(restarts(found)) == 3


def test_an_opening_that_began_beside_its_hours_is_moved_to_where_it_was() -> None:
    early = [Run(run.start - HOUR, run.end - HOUR) for run in nightly_runs(3) if run.end]

    found = used(store(defrag_runs=early))

    assert [(each.start, each.end) for each in found] == [(run.start, run.end) for run in early]
    assert [(each.ran, each.off, each.share) for each in found] == [(True, 0.0, 1.0)] * 3
    assert restarts(found) == {}


def test_an_opening_that_began_early_and_ended_with_its_pass_is_moved_too() -> None:
    early = [Run(run.start - HOUR, run.start - HOUR / 2) for run in nightly_runs(3)]
    finished = [one_pass(run.start, run.end) for run in early]

    found = used(store(defrag_runs=early, defrag_passes=finished))

    assert [each.start for each in found] == [run.start for run in early]
    assert [(each.ran, each.off) for each in found] == [(True, None)] * 3


def test_halves_of_an_opening_are_moved_with_it() -> None:
    early = [Run(run.start - HOUR, run.start + HOUR) for run in nightly_runs(3)]
    scans = [Run(run.end, run.start + 4 * HOUR) for run in early if run.end]

    found = used(store(defrag_runs=early, scan_runs=scans))

    assert [each.off for each in found] == [0.0] * 3
    assert [each.scanned for each in found] == [2 * HOUR] * 3


def test_an_opening_of_a_server_whose_clock_keeps_summer_time_stays_whole() -> None:
    """The configured zone is that of the server: nothing has to be moved."""
    berlin = window(timezone="Europe/Berlin")
    now = 1_175_428_800.0  # 2007-04-01 12:00 UTC, a week after the change
    starts = [now - 13 * HOUR - n * DAY + (HOUR if n >= 7 else 0) for n in reversed(range(14))]
    history = store(window=berlin, defrag_runs=[Run(each, each + 4 * HOUR) for each in starts])

    found = openings_used(history, history.defrag_runs, now - 14 * DAY, now)

    assert [each.start for each in found] == starts
    assert {each.off for each in found} == {0.0}


def test_a_window_that_lasts_all_day_has_an_opening_each_day() -> None:
    history = store(window=window(24), defrag_runs=nightly_runs(3, 23))

    assert len(used(history)) == 3


def test_no_window_and_times_beyond_the_calendar_have_no_openings() -> None:
    assert used(store(window=None)) == []
    assert openings_used(store(), [], -1e15, NOON) == []
    assert openings_used(store(), [], NOON, 1e15) == []


def test_a_pass_that_ends_early_leaves_the_rest_of_its_time_unused() -> None:
    runs = [*nightly_runs(1, 4, ago=2), *nightly_runs(1, 1, ago=1)]

    assert [each.share for each in used(store(defrag_runs=runs))] == [1.0, 0.25, 0.0]


def test_a_pass_that_completes_just_when_the_window_ends_tells_nothing_of_it() -> None:
    runs = nightly_runs(2, 4)
    finished = [one_pass(run.start, run.end) for run in runs]

    found = used(store(defrag_runs=runs, defrag_passes=finished), nights=2)

    assert [each.off for each in found] == [None, None]


def test_a_run_shorter_than_the_seconds_of_its_log_ran_all_the_same() -> None:
    at_once = [Run(opening(n), opening(n)) for n in (2, 1, 0)]

    assert [each.ran for each in used(store(defrag_runs=at_once))] == [True, True, True]
