"""Which zones have an hour twice, by what the header of a perfmon log calls them."""

import itertools
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from esewatch.model import Reading
from esewatch.sources.counters.pdh_clock import ClockState, PdhClock
from esewatch.sources.counters.perfmon_csv import PerfmonDecoder, perfmon_csv_source
from tests.sources.followed import Journal

UTC_ZONES = [
    "(Coordinated Universal Time)(0)",
    "(UTC)(0)",
    "(UTC+00:00)(0)",
    "(UTC-11)(660)",
    "(Koordinierte Weltzeit)(0)",
    "(Temps universel coordonné)(0)",
    "(協定世界時)(0)",
]
AFTER_A_GAP = ["06/21/2007 03:00:00", "06/21/2007 04:00:00", "06/21/2007 04:00:00.500"]
SET_BACK = ["06/21/2007 04:00:00", "06/21/2007 03:10:00"]
AUTUMN = [
    f"10/28/2007 {hour}:{minute}:00" for hour in ("01", "01", "02") for minute in ("00", "20", "40")
]


def log_head(zone: str) -> str:
    return f'"(PDH-CSV 4.0) {zone}","\\\\EX01\\Processor(_Total)\\% Idle Time"\r\n'


def times(zone: str, rows: list[str]) -> list[float]:
    """Epoch seconds of rows that begin so."""
    decoder = PerfmonDecoder(b"", computer="", zone=None, ese_only=False)
    text = log_head(zone) + "".join(f'"{at}","1"\r\n' for at in rows)
    fed = decoder.feed(text.encode(), final=True)
    return [record.time for record in fed.records if isinstance(record, Reading)]


@pytest.mark.parametrize("zone", UTC_ZONES)
@pytest.mark.parametrize("rows", [AFTER_A_GAP, SET_BACK])
def test_a_log_in_utc_has_no_hour_twice(zone: str, rows: list[str]) -> None:
    found = times(zone, rows)
    local = [datetime.strptime(f"{at}.0"[:21], "%m/%d/%Y %H:%M:%S.%f") for at in rows]
    assert [b - a for a, b in itertools.pairwise(found)] == [
        (b - a).total_seconds() for a, b in itertools.pairwise(local)
    ]


@pytest.mark.parametrize(
    "zone", ["(GMT Daylight Time)(-60)", "(Azores Daylight Time)(0)", "(GMT Standard Time)(0)"]
)
def test_a_zone_of_another_name_has_an_hour_twice_even_at_offset_0(zone: str) -> None:
    assert {b - a for a, b in itertools.pairwise(times(zone, AUTUMN))} == {1200}


def test_a_clock_that_is_set_back_by_day_is_no_end_of_summer_time() -> None:
    first = datetime(2007, 6, 21, 14)
    rows = [first + timedelta(seconds=15 * n) for n in range(8)]
    rows += [each - timedelta(minutes=40) for each in rows]
    found = times("(GMT Daylight Time)(-60)", [f"{at:%m/%d/%Y %H:%M:%S}" for at in rows])
    assert found == [(at.replace(tzinfo=UTC) - timedelta(hours=1)).timestamp() for at in rows]


@pytest.mark.parametrize("ahead", [1200, 2400, 3000])
@pytest.mark.parametrize("zone", [None, ZoneInfo("Europe/Berlin")])
def test_one_row_of_a_clock_ahead_is_no_end_of_summer_time(
    ahead: int, zone: ZoneInfo | None
) -> None:
    clock, begin = PdhClock(zone, ClockState()), datetime(2025, 10, 26, 2, 0)
    clock.header(-7200, is_utc=False, fresh=True)
    rows = [0, 15, 30, 45 + ahead, 60, 75]
    found = [clock.at(begin + timedelta(seconds=row)) for row in rows]
    assert found == [begin.replace(tzinfo=UTC).timestamp() - 7200 + row for row in rows]


@pytest.mark.parametrize("minutes", [1, 20, 30, 45, 60])
def test_the_end_of_summer_time_is_seen_at_any_usual_interval(minutes: int) -> None:
    clock, begin = PdhClock(None, ClockState()), datetime(2025, 10, 26, 0, 0)
    clock.header(-7200, is_utc=False, fresh=True)
    after = range(0, 400, minutes)
    local = [minute if minute < 180 else minute - 60 for minute in after]
    found = [clock.at(begin + timedelta(minutes=minute)) for minute in local]
    assert found == [begin.replace(tzinfo=UTC).timestamp() - 7200 + minute * 60 for minute in after]


def test_a_header_without_a_name_may_be_of_any_zone() -> None:
    assert {b - a for a, b in itertools.pairwise(times("(0)", AUTUMN))} == {1200}


def test_a_log_in_utc_is_known_as_such_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(log_head("(UTC)(0)"))
    journal, found = Journal(), list[float]()
    for at in AFTER_A_GAP:
        with path.open("a") as file:
            file.write(f'"{at}","1"\r\n')
        following = perfmon_csv_source("perf", [str(path)])
        following.restore(journal.positions)
        for batch in following.poll():
            journal.commit(batch)
            found += [record.time for record in batch.records if isinstance(record, Reading)]
        following.close()
    assert [b - a for a, b in itertools.pairwise(found)] == [3600, 0.5]
