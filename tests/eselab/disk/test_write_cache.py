"""What waits in the cache of a controller, and how much of it there is."""

from eselab.disk.write_cache import LINE, WriteCache, lines_of


def filled(*lines: int, size: int = 100) -> WriteCache:
    cache = WriteCache(size * LINE, 2)
    for line in lines:
        cache.put(1.0, 0, line)
    return cache


def test_bytes_lie_in_all_lines_that_they_touch() -> None:
    assert lines_of(0, LINE) == range(1)
    assert lines_of(LINE - 1, LINE + 1) == range(2)
    assert lines_of(512, 1024) == range(1)


def test_a_full_cache_takes_a_line_that_it_has_and_no_other() -> None:
    cache = filled(7, 9, size=2)
    assert cache.put(2.0, 0, 7)
    assert not cache.put(2.0, 0, 8)
    assert not cache.put(2.0, 1, 7)


def test_there_is_room_when_a_run_is_written_and_not_while_it_is_on_its_way() -> None:
    cache = filled(7, 8, size=2)
    cache.take(0, range(7, 9))
    assert not cache.put(2.0, 0, 9)
    cache.written(range(7, 9))
    assert cache.put(2.0, 0, 9)


def test_a_line_that_is_on_its_way_is_written_once_more_when_it_changes() -> None:
    cache = filled(7)
    cache.take(0, range(7, 8))
    assert not cache.has(0, range(7, 8))
    assert cache.put(3.0, 0, 7)
    assert cache.runs(0, 0) == [range(7, 8)]
    assert cache.since(0) == 3.0


def test_only_what_waits_whole_can_be_read() -> None:
    cache = filled(3, 4, 6)
    assert cache.has(0, range(3, 5))
    assert not cache.has(0, range(3, 7))
    assert not cache.has(1, range(3, 5))


def test_runs_begin_behind_the_head_and_go_round() -> None:
    cache = filled(1, 2, 10, 11, 12, 50)
    assert cache.runs(0, 11 * LINE) == [range(11, 13), range(50, 51), range(1, 3), range(10, 11)]
    assert cache.runs(1, 0) == []


def test_runs_are_bounded_in_length_and_number() -> None:
    cache = filled(*range(200), size=300)
    assert [len(run) for run in cache.runs(0, 0)] == [64, 64, 64, 8]
    cache = filled(*range(0, 60, 2))
    assert len(cache.runs(0, 0)) == 8


def test_each_drive_has_something_to_write_since_its_first_line_came() -> None:
    cache = filled(5)
    cache.put(4.0, 0, 6)
    cache.put(9.0, 1, 6)
    assert (cache.since(0), cache.since(1)) == (1.0, 9.0)
    cache.take(0, range(5, 7))
    assert cache.since(0) is None


def test_a_cache_is_crowded_from_three_quarters_on() -> None:
    assert not filled(*range(74)).is_crowded
    assert filled(*range(75)).is_crowded
