from datetime import UTC, datetime

import pytest

from esewatch.advice.advise import advise
from esewatch.config import Settings
from esewatch.fold.databases.integrity import known_bad_pages
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import SourceState, State
from esewatch.model import Batch, CopyChecked, Coverage, Event, Feed, Reading, Record
from tests.support.records import DATABASE, DAY, HOUR, LABEL, views


def at(*parts: int) -> float:
    return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[misc, arg-type]


NOW = at(2026, 11, 1)
FUTURE = at(2100, 1, 1)


def event(event_id: int, time: float, record_id: int | None = None, **fields: int) -> Event:
    return Event(
        event_id=event_id,
        provider="ESE",
        time=time,
        computer="EX01",
        channel="Application",
        record_id=record_id,
        ese_instance="SG06",
        database=DATABASE,
        fields={**fields},
    )


def reading(time: float, value: float) -> Reading:
    feed = Feed(metric="ese_defrag_pages_read_total", name="SG06")
    return Reading(
        time=time, computer="EX01", object="o", counter="c", instance="i",
        value=value, kind="total", feed=feed,
    )  # fmt: skip


def fold(*records: Record, now: float = NOW) -> Folder:
    folder = Folder(State(), Settings())
    folder.open_source("logs", now)
    folder.fold("logs", Batch(records=list(records), caught_up=True), now)
    return folder


def source(folder: Folder) -> SourceState:
    return folder.state.sources["logs"]


def test_an_event_of_the_future_is_counted_and_has_no_time() -> None:
    folder = fold(event(700, NOW - HOUR, 1), event(703, FUTURE, 2), event(704, NOW, 3))
    assert source(folder).implausible == 1
    assert source(folder).records == 3
    assert source(folder).last_record == NOW
    assert folder.state.hosts["ex01"].events == {"ESE": {700: 1, 703: 1, 704: 1}}
    entry = folder.state.databases["ex01", LABEL]
    assert (views(folder)["defrag"].started, views(folder)["defrag"].completed) == (1, 0)
    assert entry.last_seen == NOW
    assert [epoch.max_time for epoch in folder.state.channels["ex01", "application"].epochs] == [
        NOW
    ]


def test_a_record_of_the_future_that_comes_again_is_a_duplicate() -> None:
    folder = fold(event(700, NOW, 1), event(703, FUTURE, 2), event(703, FUTURE, 2))
    assert source(folder).duplicates == 1
    assert folder.state.hosts["ex01"].events == {"ESE": {700: 1, 703: 1}}


def test_a_bad_page_of_the_future_is_still_a_bad_page() -> None:
    folder = fold(event(700, NOW - HOUR), event(474, FUTURE, page_number=17))
    (bad,) = folder.state.databases["ex01", LABEL].bad_pages
    assert (bad.page, bad.last, bad.history) == (17, NOW, False)


@pytest.mark.parametrize("time", [at(1601, 1, 1), at(1969, 12, 31), 0.0, at(1970, 12, 31)])
def test_a_bad_page_of_no_time_is_still_a_bad_page(time: float) -> None:
    folder = fold(event(700, NOW - HOUR), event(474, time, page_number=17))
    entry = folder.state.databases["ex01", LABEL]
    (bad,) = entry.bad_pages
    assert (bad.page, bad.last, bad.history) == (17, NOW, False)
    assert known_bad_pages(entry, views(folder)) == [bad]
    assert source(folder).implausible == 1


def test_damage_of_no_time_needs_a_person() -> None:
    folder = fold(event(700, NOW - HOUR), event(448, 0.0))
    (advice,) = advise(folder.state, Settings(), NOW)
    assert [each.finding for each in advice.findings][:2] == ["investigate", "logical_damage"]


def test_a_reading_and_a_range_of_the_future_are_left_out_and_counted() -> None:
    folder = fold(
        reading(NOW - 60, 10),
        reading(FUTURE, 1000),
        reading(NOW, 30),
        Coverage(
            computer="EX01", channel="Application", first=1, last=9,
            first_time=FUTURE, last_time=FUTURE,
        ),
    )  # fmt: skip
    assert source(folder).implausible == 2
    assert folder.state.channels == {}
    (instance,) = folder.state.instances.values()
    assert instance.totals == {"ese_defrag_pages_read_total": 20.0}


def test_no_record_is_missing_from_a_range_whose_last_one_is_of_the_future() -> None:
    """It was read: only its time is wrong."""
    ranges = [
        Coverage(
            computer="EX01", channel="Application", first=first, last=first + 8,
            first_time=time, last_time=last,
        )
        for first, time, last in ((1, NOW, NOW), (10, NOW, FUTURE), (19, NOW, NOW))
    ]  # fmt: skip
    folder = fold(*ranges)
    assert source(folder).missed == 0
    (channel,) = folder.state.channels.values()
    assert (channel.gaps, channel.epochs[0].max_time) == ([], NOW)


@pytest.mark.parametrize("time", [float("nan"), float("inf"), NOW + DAY + 1])
def test_what_is_no_time_or_more_than_a_day_ahead_is_not_believed(time: float) -> None:
    assert source(fold(event(700, time))).implausible == 1


@pytest.mark.parametrize("time", [NOW + DAY, at(1971, 1, 2), at(1980, 1, 1)])
def test_up_to_a_day_ahead_and_any_past_is_believed(time: float) -> None:
    assert source(fold(event(700, time))).implausible == 0


@pytest.mark.parametrize("now", [0.0, at(1970, 1, 2), at(2025, 12, 31)])
def test_a_clock_that_is_obviously_wrong_judges_nobody(now: float) -> None:
    assert source(fold(event(700, NOW), now=now)).implausible == 0
    assert source(fold(event(700, NOW), now=now)).last_record == NOW


def test_samples_count_again_when_the_clock_of_the_agent_was_years_ahead() -> None:
    folder = fold(reading(FUTURE, 100), now=FUTURE)
    for at, value in ((NOW, 110), (NOW + 15, 115)):
        folder.fold("logs", Batch(records=[reading(at, value)], caught_up=True), at)
    (instance,) = folder.state.instances.values()
    assert instance.totals == {"ese_defrag_pages_read_total": 15.0}
    assert (source(folder).last_record, source(folder).implausible) == (NOW + 15, 0)


def test_the_oldest_and_the_latest_record_are_known() -> None:
    folder = fold(event(700, NOW - DAY), event(704, NOW - 3 * DAY), reading(NOW, 1))
    assert (source(folder).oldest, source(folder).last_record) == (NOW - 3 * DAY, NOW)


def coverage(first: int, last: int, first_time: float, last_time: float) -> Coverage:
    return Coverage(
        computer="EX01", channel="Application", first=first, last=last,
        first_time=first_time, last_time=last_time,
    )  # fmt: skip


@pytest.mark.parametrize("back", [HOUR, 5 * HOUR, 3650 * DAY])
def test_a_server_whose_clock_is_set_back_for_a_while_loses_and_doubles_nothing(
    back: float,
) -> None:
    times = [
        NOW - DAY + number * 60 - (back if 100 <= number < 200 else 0.0) for number in range(300)
    ]
    records: list[Record] = []
    for start in range(0, 300, 50):
        ids = range(start, start + 50)
        records += [event(704, times[number], number + 1) for number in ids]
        records.append(coverage(start + 1, start + 50, times[start], times[start + 49]))
    folder = fold(*records, *records)
    assert folder.state.hosts["ex01"].events == {"ESE": {704: 300}}
    assert source(folder).duplicates == 300
    assert source(folder).missed == 0


def test_a_real_hole_is_still_missed() -> None:
    folder = fold(
        event(704, NOW - 60, 1), coverage(1, 50, NOW - 60, NOW - 50),
        event(704, NOW - 10, 100), coverage(100, 120, NOW - 10, NOW),
    )  # fmt: skip
    assert source(folder).missed == 49


def test_an_hour_that_comes_twice_in_autumn_is_counted_twice() -> None:
    hour = [NOW - DAY + minute * 60 for minute in range(60)]
    folder = fold(*(event(704, time, number + 1) for number, time in enumerate(hour + hour)))
    assert folder.state.hosts["ex01"].events == {"ESE": {704: 120}}
    assert source(folder).missed == 0


def test_a_log_that_is_cleared_while_its_clock_is_ahead_loses_nothing() -> None:
    ahead = [event(704, NOW - DAY, 0)]
    ahead += [event(704, NOW + 20 * HOUR + number, number) for number in range(1, 11)]
    cleared = [event(704, NOW + number, number) for number in range(1, 11)]
    later = [event(704, NOW + 21 * HOUR + number, number) for number in range(1, 11)]
    folder = fold(*ahead, *cleared, *later)
    assert source(folder).duplicates == 0
    assert folder.state.hosts["ex01"].events == {"ESE": {704: 31}}


def test_bad_pages_found_first_by_a_clock_that_is_years_ahead_are_history() -> None:
    folder = fold(event(474, NOW, page_number=17), now=FUTURE)
    (bad,) = folder.state.databases["ex01", LABEL].bad_pages
    assert bad.history


def test_the_newest_life_of_a_log_is_kept_when_many_older_ones_are_found() -> None:
    lives = [event(704, NOW - life * DAY, 1) for life in range(1, 40)]
    folder = fold(event(704, NOW, 1), *lives, event(704, NOW, 1))
    assert source(folder).duplicates == 1


def test_a_copy_checked_in_the_future_proves_nothing_good_and_its_bad_pages_are_bad() -> None:
    checked = CopyChecked(
        time=FUTURE, computer="EX01", database=DATABASE, by="external", complete=True,
        pages_seen=100, bad=1, bad_pages=((17, "uncorrectable"),),
    )  # fmt: skip
    folder = fold(event(700, NOW - HOUR), checked)
    entry = folder.state.databases["ex01", LABEL]
    assert [(bad.page, bad.last) for bad in entry.bad_pages] == [(17, NOW)]
    assert entry.verified == {}
    assert source(folder).implausible == 1
