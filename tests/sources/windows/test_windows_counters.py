"""Counters of Windows through a running typeperf: rows, clock, ends, failures."""

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.ese.counters.counter_feeds import paths
from esewatch.ese.counters.counter_names import LANGUAGES
from esewatch.model import CountersSeen, Reading, SourceError
from esewatch.sources.process import Child
from esewatch.sources.windows import windows_counters
from esewatch.sources.windows.windows_counters import WindowsCountersSource, _Table, minutes_west
from tests.sources.windows_programs import CLOSING, TYPEPERF, Clock, Keeper, program

OBJECT = r"\\EX01\MSExchange Database ==> Instances(Information Store/SG06)"
READ = rf"{OBJECT}\Online Defrag Pages Read/sec"
FREED = rf"{OBJECT}\Online Defrag Pages Freed/sec"
CPU = r"\\EX01\Processor(_Total)\% Processor Time"
_made: list[WindowsCountersSource] = []


@pytest.fixture(autouse=True)
def _closing() -> Iterator[None]:
    yield
    while _made:
        _made.pop().close()


def table(*columns: str, first: str = "(PDH-CSV 4.0)") -> str:
    """The header as typeperf writes it to its output: an empty line before, no time zone."""
    return "\n" + ",".join(f'"{cell}"' for cell in (first, *columns)) + "\n"


def row(second: int, *cells: str) -> str:
    time = f"06/21/2007 03:14:{second:02}.123"
    return ",".join(f'"{cell}"' for cell in (time, *cells)) + "\n"


def script(home: Path, *parts: str) -> None:
    (home / "script").write_text("".join(parts), encoding="utf-8")


def source(home: Path, *counters: str, **settings: Any) -> WindowsCountersSource:
    settings = {"interval": 1.0, "program": program(home, TYPEPERF), "west": lambda: 0, **settings}
    made = WindowsCountersSource("perf", counters, **settings)
    _made.append(made)
    return made


def starts(home: Path) -> int:
    return len((home / "runs").read_text().splitlines())


def readings(keeper: Keeper) -> list[Reading]:
    return [record for record in keeper.records if isinstance(record, Reading)]


def instant(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def test_a_row_becomes_readings_as_it_is_written(tmp_path: Path) -> None:
    script(tmp_path, table(READ, FREED), row(15, "812.4", "8.000000"), "wait\n")
    keeper = Keeper()
    keeper.until(source(tmp_path), lambda: keeper.values)
    assert [value for _, _, value in keeper.values] == [812.4, 8.0]
    first = readings(keeper)[0]
    assert (first.computer, first.kind) == ("EX01", "rate")
    assert first.time == instant("2007-06-21T03:14:15.123")
    assert first.feed is not None
    assert first.feed.metric == "ese_defrag_pages_read_total"
    assert keeper.caught_up
    assert keeper.positions == {}


@pytest.mark.parametrize("west", [-120, 300, -330])
def test_times_are_those_of_this_machine(tmp_path: Path, west: int) -> None:
    script(tmp_path, table(READ), row(15, "1"), "wait\n")
    keeper = Keeper()
    keeper.until(source(tmp_path, west=lambda: west), lambda: keeper.values)
    expected = instant("2007-06-21T03:14:15.123") + west * 60
    assert readings(keeper)[0].time == expected


def test_a_zone_in_the_header_stands(tmp_path: Path) -> None:
    head = table(READ, first="(PDH-CSV 4.0) (W. Europe Daylight Time)(-120)")
    script(tmp_path, head, row(15, "1"), "wait\n")
    keeper = Keeper()
    keeper.until(source(tmp_path, west=lambda: 60), lambda: keeper.values)
    assert readings(keeper)[0].time == instant("2007-06-21T01:14:15.123")


def test_the_local_time_of_this_machine_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "CET-1")
    time.tzset()
    try:
        assert minutes_west() == -60
    finally:
        monkeypatch.undo()
        time.tzset()


def test_when_daylight_saving_time_changes_the_program_is_started_anew(tmp_path: Path) -> None:
    script(tmp_path, table(READ), row(15, "1"), "wait\n")
    zone = [-60]
    keeper = Keeper()
    made = source(tmp_path, west=lambda: zone[0])
    keeper.until(made, lambda: keeper.values)
    zone[0] = -120
    keeper.until(made, lambda: len(keeper.values) > 1)
    first, second = (reading.time for reading in readings(keeper))
    assert first - second == 3600
    assert starts(tmp_path) == 2
    assert keeper.errors == []


def test_a_counter_without_a_value_is_no_sample(tmp_path: Path) -> None:
    script(tmp_path, table(READ, FREED), row(15, "-1", " "), row(30, "1", "-1"), "wait\n")
    keeper = Keeper()
    keeper.until(source(tmp_path), lambda: keeper.values)
    assert keeper.values == [("Information Store/SG06", "Online Defrag Pages Read/sec", 1.0)]
    assert keeper.told == []


def test_a_row_with_more_values_than_counters_is_left_out_and_told_once(tmp_path: Path) -> None:
    bad = row(15, "1", "-1", "7")
    script(tmp_path, table(READ, FREED), bad, bad, row(30, "1", "2"), "wait\n")
    keeper = Keeper()
    keeper.until(source(tmp_path), lambda: keeper.values)
    assert [value for _, _, value in keeper.values] == [1.0, 2.0]
    assert keeper.told == [
        "typeperf: a row does not have as many cells as the header: such rows are left out"
    ]


def test_the_counters_found_tell_hidden_ones_from_zero(tmp_path: Path) -> None:
    plain = rf"{OBJECT}\Database Maintenance Pages Read/sec"
    script(tmp_path, table(plain), row(15, "1"), "wait\n")
    keeper = Keeper()
    keeper.until(source(tmp_path), lambda: keeper.values)
    [seen] = [record for record in keeper.records if isinstance(record, CountersSeen)]
    assert seen.present == {"Online Defrag": False, "Database Maintenance": True}


def test_counters_that_feed_no_metric_are_left_out(tmp_path: Path) -> None:
    script(tmp_path, table(CPU, r"\\EX01\Memory\Available MBytes"), row(15, "40", "1"), "wait\n")
    keeper = Keeper()
    keeper.until(source(tmp_path), lambda: keeper.values)
    assert keeper.values == [("_Total", "% Processor Time", 40.0)]


def test_after_its_samples_the_program_is_started_anew_and_its_closing_words_ignored(
    tmp_path: Path,
) -> None:
    script(tmp_path, table(READ), row(15, "1"), CLOSING)
    clock = Clock()
    keeper = Keeper()
    made = source(tmp_path, clock=clock, interval=15.0)
    keeper.until(made, lambda: keeper.values and made._child is None)
    for _ in range(5):
        keeper.take(made)
        assert made._child is None
    clock.now += 15
    keeper.until(made, lambda: len(keeper.values) == 2)
    assert starts(tmp_path) == 2
    assert (keeper.errors, keeper.told) == ([], [])
    assert keeper.caught_up


def test_interval_and_number_of_samples_are_asked_for(tmp_path: Path) -> None:
    script(tmp_path, "exit 0\n")
    for interval, expected in (
        (15.0, "-f\tCSV\t-si\t15\t-sc\t240"),
        (1.0, "-f\tCSV\t-si\t1\t-sc\t3600"),
        (3600.0, "-f\tCSV\t-si\t3600\t-sc\t4"),
        (1.4, "-f\tCSV\t-si\t1\t-sc\t3600"),
    ):
        keeper = Keeper()
        keeper.until(source(tmp_path, r"\A\B", interval=interval), lambda: keeper.errors)  # noqa: B023
        last = (tmp_path / "runs").read_text().splitlines()[-1]
        assert last == "\\A\\B\t" + expected


def test_no_valid_counters_is_one_line_and_no_busy_loop(tmp_path: Path) -> None:
    script(tmp_path, "Error: No valid counters.\nexit 1\n")
    clock = Clock()
    keeper = Keeper()
    made = source(tmp_path, clock=clock, interval=15.0)
    for count, wait in ((1, 30), (2, 60), (3, 120)):
        keeper.until(made, lambda: keeper.errors and made._child is None)
        for _ in range(5):
            keeper.take(made)
            assert made._child is None
        assert starts(tmp_path) == count
        clock.now += wait - 1
        keeper.take(made)
        assert made._child is None
        clock.now += 1
        keeper.until(made, lambda: starts(tmp_path) > count)  # noqa: B023
    assert set(keeper.errors) == {
        "typeperf: Error: No valid counters. (exit status 1); no counter was found: where Windows "
        "is in another language than those of docs/inputs.md, name them in `counters` "
        "(typeperf -q lists them)"
    }
    assert not keeper.caught_up


def test_where_no_english_name_is_found_the_next_language_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def child(program: Sequence[str], arguments: list[str]) -> Child:
        asked.append(arguments)
        return Child(program, arguments)

    monkeypatch.setattr(windows_counters, "Child", child)
    script(tmp_path, "Error: No valid counters.\nexit 1\n")
    clock = Clock()
    keeper = Keeper()
    made = source(tmp_path, clock=clock)
    for count in range(1, len(LANGUAGES) + 2):
        keeper.until(made, lambda: len(asked) == count and made._child is None)  # noqa: B023
        clock.now += 1000
    english, german, *_, again = asked
    assert set(paths()) < set(english)
    assert r"\Datenbank ==> Instanzen(*)\Wartende Protokollthreads" in german
    assert again == english


def test_the_error_lasts_until_there_is_a_sample(tmp_path: Path) -> None:
    script(tmp_path, "Error: No valid counters.\nexit 1\n")
    clock = Clock()
    keeper = Keeper()
    made = source(tmp_path, clock=clock)
    keeper.until(made, lambda: keeper.errors)
    script(tmp_path, table(READ), row(15, "1"), "wait\n")
    clock.now += 1000
    keeper.until(made, lambda: keeper.values)
    keeper.errors.clear()
    keeper.take(made)
    assert keeper.errors == []


def test_a_program_that_falls_silent_is_ended_and_told(tmp_path: Path) -> None:
    script(tmp_path, table(READ), row(15, "1"), "wait\n")
    clock = Clock()
    keeper = Keeper()
    made = source(tmp_path, clock=clock, interval=30.0)
    keeper.until(made, lambda: keeper.values)
    clock.now += 119
    keeper.take(made)
    assert keeper.errors == []
    clock.now += 2
    keeper.take(made)
    assert keeper.errors == ["typeperf: no sample for 120 s; it was ended"]
    assert made._child is None
    assert not keeper.caught_up


def test_an_endless_line_is_an_error_of_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows_counters, "_LONGEST_LINE", 10_000)
    script(tmp_path, '"' + "x" * 20_000 + "\nwait\n")
    (tmp_path / "script").write_text("x" * 20_000 + "\nwait\n")
    keeper = Keeper()
    made = source(tmp_path, clock=Clock())
    made._table.feed(b"y" * 9_999)
    with pytest.raises(SourceError, match="a line does not end"):
        made._table.feed(b"y" * 9_999)
    assert keeper.records == []


def test_garbage_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    odd = '"yesterday","1"\n'
    script(tmp_path, '"before","1"\n', table(READ), odd, row(15, "x"), row(30, "3"), "wait\n")
    keeper = Keeper()
    keeper.until(source(tmp_path), lambda: keeper.values)
    assert [value for _, _, value in keeper.values] == [3.0]
    assert [reason.split(":")[1].strip() for reason in keeper.told] == [
        "a row does not have as many cells as the header",
        "no time at the start of the row",
        "column 2 is not a number",
    ]


LINES = st.sampled_from(
    [
        table(READ, FREED).encode(),
        table(READ)[:40].encode() + b"\n",
        row(1, "1", "2").encode(),
        row(2, "-1", "x").encode(),
        row(3, "1")[:-3].encode(),
        b'"',
        b"\xff\xfe\0\n",
        b"\r\n",
        CLOSING.encode(),
    ]
)


@given(st.lists(LINES, max_size=12), st.integers(1, 200))
def test_no_output_whatever_breaks_the_reading_and_pieces_make_no_difference(
    lines: list[bytes], step: int
) -> None:
    raw = b"".join(lines)
    whole, pieces = _Table("", 0), _Table("", 0)
    records, reasons = whole.feed(raw)
    got = [pieces.feed(raw[at : at + step]) for at in range(0, len(raw), step)]
    assert [record for part, _ in got for record in part] == records
    assert {reason for _, part in got for reason in part} == set(reasons)
    assert whole.rows == pieces.rows


def test_without_typeperf_the_first_poll_says_so_in_one_line() -> None:
    made = WindowsCountersSource("perf", program=("no-typeperf",))
    keeper = Keeper()
    keeper.take(made)
    assert keeper.errors == [
        "no-typeperf: no such program: it is a part of Windows, and only there"
    ]


@pytest.mark.timeout(60)
def test_a_poll_does_not_wait_for_the_program(tmp_path: Path) -> None:
    script(tmp_path, "wait\n")
    made = source(tmp_path)
    [batch] = list(made.poll())
    assert (batch.records, batch.caught_up) == ([], False)


def test_an_option_in_the_place_of_a_counter_is_refused() -> None:
    with pytest.raises(SourceError, match="perf: '-o' is not a counter path"):
        WindowsCountersSource("perf", ["-o"])


def test_the_default_counters_fit_into_a_command_line_of_windows() -> None:
    assert all(sum(len(path) + 3 for path in paths(each)) < 32_000 for each in LANGUAGES)
