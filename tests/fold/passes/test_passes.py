import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.fold.passes import passes
from esewatch.fold.passes.passes import MAX_TRANSITIONS, SLACK, TRANSITIONS
from esewatch.fold.passes.transitions import ROW_BYTES, count
from esewatch.model import Batch, Event
from tests.support.records import DATABASE, DAY, EPOCH, HOUR, event, folder_of, the_database, views

COMPLETE_703 = {
    "pages_freed": 42794,
    "seconds": 124919,
    "invocations": 7,
    "days": 4,
    "completions": 14,
}


def the_703_pass() -> list[Event]:
    """Start, six interruptions and resumptions, completion: the article's 703."""
    records = [event(700, 0)]
    for night in range(6):
        records.append(event(704, night * DAY / 2 + 4 * HOUR))
        records.append(event(702, night * DAY / 2 + 12 * HOUR))
    return [*records, event(703, 4 * DAY, fields=COMPLETE_703)]


def test_a_pass_runs_from_start_through_interruptions_to_completion() -> None:
    view = views(folder_of(the_703_pass()))["defrag"]
    assert (view.started, view.completed, view.interrupted, view.failed) == (1, 1, 6, 0)
    (done,) = view.passes
    assert done.started == EPOCH
    assert done.ended == EPOCH + 4 * DAY
    assert done.work_seconds == 124919
    assert done.wall_seconds is None
    assert (done.invocations, done.pages_freed, done.interruptions) == (7, 42794, 6)
    assert view.current is None


@given(st.randoms(use_true_random=False))
def test_the_order_of_arrival_makes_no_difference(rng: random.Random) -> None:
    records = [*the_703_pass(), event(717, 5 * DAY), event(725, 5.1 * DAY)]
    shuffled = rng.sample(records, len(records))
    expected, found = views(folder_of(records)), views(folder_of(shuffled))
    assert found["defrag"] == expected["defrag"]
    assert found["checksum"] == expected["checksum"]


def test_a_start_and_an_end_of_the_same_second_are_one_pass_in_any_order() -> None:
    for records in ([event(700, 0), event(701, 0)], [event(701, 0), event(700, 0)]):
        view = views(folder_of(records))["defrag"]
        assert view.current is None
        assert view.passes[0].started == EPOCH


def test_a_resume_opens_a_pass_of_unknown_start_only_when_none_is_open() -> None:
    view = views(folder_of([event(719, 0), event(725, HOUR), event(719, DAY)]))["checksum"]
    assert view.started == 1
    assert view.interrupted == 1
    assert view.current is not None
    assert view.current.started is None
    assert view.last_started is None


def test_722_completes_zeroing_and_checksum_with_one_start() -> None:
    summary = {"seconds": 369, "invocations": 1, "days": 1, "pages_seen": 5850768}
    found = views(folder_of([event(718, 0), event(722, HOUR, fields=summary)]))
    assert found["zeroing"].completed == found["checksum"].completed == 1
    assert found["checksum"].passes[0].started == EPOCH
    assert found["zeroing"].passes[0].pages_seen == 5850768


def test_wall_clock_and_work_seconds_are_never_mixed() -> None:
    seconds = {"seconds": 7200}
    found = views(folder_of([event(737, 3 * HOUR, fields=seconds)]))["checksum"]
    done = found.passes[0]
    assert done.wall_seconds == 7200
    assert done.work_seconds is None
    assert done.started == EPOCH + HOUR


@pytest.mark.parametrize("replays", ["R", "U"])
def test_a_detach_that_is_replayed_interrupts_nothing(replays: str) -> None:
    scan = [event(736, 0), event(327, HOUR, instance_state=replays)]
    assert views(folder_of(scan))["checksum"].interrupted == 0
    scan[1] = event(327, HOUR, instance_state="D")
    assert views(folder_of(scan))["checksum"].interrupted == 1


@pytest.mark.parametrize("stop", [103, 104, 327])
def test_a_stop_or_detach_interrupts_what_is_open(stop: int) -> None:
    database = DATABASE if stop == 327 else ""
    folder = folder_of([event(700, 0), event(stop, HOUR, database=database)])
    view = views(folder)["defrag"]
    assert view.interrupted == 1
    assert view.current is not None
    assert view.current.interrupted


def test_a_stop_after_an_interruption_is_not_a_second_one() -> None:
    view = views(folder_of([event(700, 0), event(704, HOUR), event(103, 2 * HOUR, database="")]))
    assert view["defrag"].interrupted == 1


def test_a_failure_is_counted_and_the_pass_stays_open() -> None:
    view = views(folder_of([event(700, 0), event(705, HOUR), event(702, DAY)]))["defrag"]
    assert (view.started, view.failed) == (1, 1)
    assert view.current is not None
    assert not view.current.interrupted


def test_a_pass_unheard_of_for_seven_days_is_not_running() -> None:
    current = views(folder_of([event(736, 0), event(744, DAY)]))["checksum"]
    assert current.running(EPOCH + 8 * DAY)
    assert not current.running(EPOCH + 8 * DAY + 1)
    assert current.current is not None


def test_an_incomplete_scan_is_no_completion() -> None:
    view = views(folder_of([event(717, 0), event(746, DAY)]))["checksum"]
    assert view.completed == 0
    assert view.passes[0].outcome == "partial"


def test_a_new_start_abandons_the_open_pass() -> None:
    view = views(folder_of([event(700, 0), event(700, DAY)]))["defrag"]
    assert view.started == 2
    assert view.passes[0].outcome == "abandoned"


def test_counts_stay_exact_when_old_transitions_leave() -> None:
    nights = 400
    records = []
    for night in range(nights):
        records.append(event(700, night * DAY))
        records.append(event(704, night * DAY + HOUR))
        records.append(event(702, night * DAY + 2 * HOUR))
        records.append(event(703, night * DAY + 3 * HOUR, fields=COMPLETE_703))
    folder = folder_of(records)
    view = views(folder)["defrag"]
    assert 0 <= count(the_database(folder).transitions) - MAX_TRANSITIONS <= SLACK
    assert (view.started, view.completed, view.interrupted) == (nights, nights, nights)
    assert len(the_database(folder).old_passes) == 64
    assert 64 < len(view.passes) <= 64 + (MAX_TRANSITIONS + SLACK) // 4
    assert the_database(folder).reported_pages_freed == nights * 42794


def test_a_stop_that_was_folded_in_is_not_folded_in_again() -> None:
    records = [event(700, 0)]
    for night in range(700):
        records.append(event(702, night * DAY))
        records.append(event(704 if night % 7 else 103, night * DAY + HOUR))
    folder = folder_of(records)
    assert the_database(folder).evicted_until > EPOCH
    assert views(folder)["defrag"].interrupted == 700


def test_each_of_500_nights_that_a_stop_ended_counts_as_interrupted() -> None:
    records = [event(700, 0)]
    for night in range(500):
        records += [event(702, night * DAY), event(103, night * DAY + HOUR)]
    assert views(folder_of(records))["defrag"].interrupted == 500


@pytest.mark.parametrize("seed", range(30))
def test_what_is_kept_and_what_left_make_the_same_passes(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    # Many share a time: what stands at the end of those that left may stand among the kept too.
    times = sorted(chance.randrange(60) for _ in range(200))
    kinds = (700, 702, 703, 704, 718, 720, 722, 327, 103, 104)
    records = [event(chance.choice(kinds), time, at + 1) for at, time in enumerate(times)]
    expected = views(folder_of(records))
    monkeypatch.setattr(passes, "MAX_TRANSITIONS", 7)
    monkeypatch.setattr(passes, "MOST_BYTES", 9 * ROW_BYTES)
    folder = folder_of(records)
    assert the_database(folder).evicted_until > EPOCH
    assert views(folder) == expected


def test_a_completion_older_than_all_that_is_kept_still_counts() -> None:
    records = [event(700 + index % 2, DAY + index * HOUR) for index in range(600)]
    folder = folder_of([*records, event(701, 0)])
    assert views(folder)["defrag"].completed == 301


@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(TRANSITIONS)), st.integers(min_value=0, max_value=1_000_000)
        ),
        max_size=60,
    )
)
def test_counters_never_fall_while_records_arrive(found: list[tuple[int, int]]) -> None:
    folder = folder_of([event(326, 0)])
    before = dict.fromkeys(views(folder), (0, 0, 0, 0))
    source = next(iter(folder.state.sources))
    for event_id, time in found:
        folder.fold(source, Batch(records=[event(event_id, time)]))
        for task, view in views(folder).items():
            now = (view.started, view.completed, view.interrupted, view.failed)
            assert all(new >= old for new, old in zip(now, before[task], strict=True))
            before[task] = now


def test_the_last_failure_and_the_last_word_of_lateness_are_known_by_task() -> None:
    records = [
        event(700, 0),
        event(705, HOUR),
        event(717, 2 * HOUR),
        event(723, 3 * HOUR),
        event(733, 4 * HOUR),
        event(745, 5 * HOUR),
    ]
    for ordered in (records, records[::-1]):
        found = views(folder_of(ordered))
        assert (found["defrag"].last_failed, found["defrag"].last_late) == (EPOCH + HOUR, None)
        assert found["checksum"].last_failed == EPOCH + 3 * HOUR
        assert found["checksum"].last_late == EPOCH + 5 * HOUR
        assert (found["zeroing"].last_failed, found["zeroing"].last_late) == (None, None)


def test_a_late_completion_is_lateness_and_one_in_time_is_none() -> None:
    late, in_time = folder_of([event(735, DAY)]), folder_of([event(737, DAY)])

    assert views(late)["checksum"].last_late == EPOCH + DAY
    assert views(in_time)["checksum"].last_late is None


def test_what_failed_and_was_late_is_known_after_its_transitions_have_left() -> None:
    nights = MAX_TRANSITIONS + SLACK
    young = [event(700, DAY + n * HOUR, n + 10) for n in range(nights)]
    folder = folder_of([event(705, 0, 1), event(733, 0, 2), *young])
    assert the_database(folder).evicted_until > EPOCH
    assert views(folder)["defrag"].last_failed == EPOCH
    assert views(folder)["checksum"].last_late == EPOCH

    folder.fold("logs", Batch(records=[event(705, HOUR, 3), event(745, -HOUR)]))
    assert views(folder)["defrag"].last_failed == EPOCH + HOUR
    assert views(folder)["checksum"].last_late == EPOCH
