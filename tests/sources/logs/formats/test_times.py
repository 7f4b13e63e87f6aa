"""Times as they stand in event texts."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.sources.logs.formats.times import (
    Times,
    TimesState,
    UnknownTimeError,
    leading_time,
)
from tests.sources.logs.formats.reading import epoch
from tests.support.each import of_each

MORNING = epoch("2025-11-13T07:40:40")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-11-13T07:40:40Z", MORNING),
        ("2025-11-13 07:40:40", MORNING),
        ("2025-11-13T08:40:40+01:00", MORNING),
        ("2025-11-13T08:40:40.000+0100", MORNING),
        ("2025-11-13 08:40:40 +0100", MORNING),
        ("2025-11-13T07:40:40Z UTC", MORNING),
        ("11/13/2025 7:40:40 AM", MORNING),
        ("11/13/2025 7:40:40\u202fAM", MORNING),
        ("\u200e11/\u200e13/\u200e2025 7:40:40 AM", MORNING),
        ("13.11.2025 07:40:40", MORNING),
        ("13/11/2025 07:40:40", MORNING),
        ("13-Nov-25 07:40:40", MORNING),
        ("Thu Nov 13 07:40:40 2025", MORNING),
        ("November 13, 2025 7:40:40 AM", MORNING),
        ("2025/11/13 上午 7:40:40", MORNING),
        ("/Date(1763019640000)/", MORNING),
        ("20251113084040.000000+060", MORNING),
        ("12/31/2025 12:00:01 AM", epoch("2025-12-31T00:00:01")),
        ("12/31/2025 12:00:01 PM", epoch("2025-12-31T12:00:01")),
        (1763019640, MORNING),
        (1763019640000, MORNING),
    ],
)
def test_a_time_is_read_in_any_of_the_usual_forms(text: object, expected: float) -> None:
    assert Times().read(text) == expected


@pytest.mark.parametrize("digits", range(1, 10))
def test_a_fraction_says_the_same_behind_a_point_and_a_comma(digits: int) -> None:
    point, comma = (f"2021-03-31T23:54:06{mark}{'449834719'[:digits]}Z" for mark in ".,")
    assert Times().read(point) == Times().read(comma)


def test_the_seventh_digit_of_a_fraction_is_dropped() -> None:
    assert Times().read("2021-03-31T23:54:06.4498347Z") == epoch("2021-03-31T23:54:06.449834")


@pytest.mark.parametrize(
    "text",
    [
        "13/13/2025 07:40:40",
        "2025-02-30T00:00:00Z",
        "7:40:40",
        "soon",
        "",
        True,
        None,
        12,
        [1],
        1e300,
        "0001-01-01T00:00:00Z",
        "0001-01-01 00:00:00",
        "2025-01-01 24:00:00",
        "2025-02-30 00:00:00",
        "1/1/0001 12:00:00 AM",
        "01.01.0001 00:00:00",
    ],
)
def test_a_time_that_cannot_be_told_is_no_time(text: object) -> None:
    with pytest.raises(UnknownTimeError):
        Times().read(text)


def test_a_date_without_a_year_says_so() -> None:
    with pytest.raises(UnknownTimeError, match="no year"):
        Times().read("Nov 13 06:40")


def test_slashes_are_month_first_until_a_date_proves_the_other_order() -> None:
    times = Times()
    assert times.read("05/06/2025 00:00:00") == epoch("2025-05-06")
    assert times.read("13/06/2025 00:00:00") == epoch("2025-06-13")
    assert times.read("05/06/2025 00:00:00") == epoch("2025-06-05")
    assert any("set date_order" in note for note in times.notes)


def test_the_first_block_decides_the_order_for_the_whole_file() -> None:
    times = Times()
    times.learn("05/06/2025 00:00:00 a\n06/06/2025 00:00:00 b\n13/06/2025 00:00:00 c\n")
    assert times.read("05/06/2025 00:00:00") == epoch("2025-06-05")
    assert times.notes == []


def test_the_configured_order_is_never_overruled() -> None:
    times = Times(date_order="dmy")
    times.learn("11/13/2025 7:40:40 AM")
    assert times.read("05/06/2025 00:00:00") == epoch("2025-06-05")
    with pytest.raises(UnknownTimeError):
        times.read("11/13/2025 7:40:40 AM")


def test_a_naive_time_is_taken_in_the_configured_zone() -> None:
    times = Times("Europe/Berlin")
    assert times.read("2025-07-01 12:00:00") == epoch("2025-07-01T10:00:00")
    assert times.read("2025-07-01T12:00:00Z") == epoch("2025-07-01T12:00:00")


def test_the_hour_that_comes_twice_is_told_by_the_order_of_the_file() -> None:
    rising = Times("Europe/Berlin")
    local = ["01:30", "02:10", "02:50", "02:10", "02:50", "03:10"]
    utc = [rising.read(f"2025-10-26 {clock}:00") for clock in local]
    expected = ["2025-10-25T23:30", "2025-10-26T00:10", "2025-10-26T00:50"]
    expected += ["2025-10-26T01:10", "2025-10-26T01:50", "2025-10-26T02:10"]
    assert utc == [epoch(text) for text in expected]
    falling = Times("Europe/Berlin")
    falling.read("2025-10-26 04:00:00")
    assert [falling.read(f"2025-10-26 {clock}:00") for clock in reversed(local)] == utc[::-1]


@pytest.mark.parametrize("falls", [False, True])
@pytest.mark.parametrize(
    "local",
    [
        ["01:30:00", "02:10:05", "02:10:04", "02:50:00", "02:10:00", "02:50:00", "03:10:00"],
        ["01:30:00", "02:10:00", "02:50:00", "02:10:05", "02:10:04", "02:50:00", "03:10:00"],
        ["01:59:58", "01:59:57", "02:00:01", "02:50:00", "02:10:00", "02:50:00", "03:10:00"],
        ["01:59:58", "02:00:01", "02:50:00", "02:10:00", "02:59:58", "03:00:05", "03:00:01"],
    ],
)
def test_a_line_out_of_order_begins_no_second_hour(local: list[str], *, falls: bool) -> None:
    if falls:
        local = local[::-1]
    times = Times("Europe/Berlin")
    times.read("2025-10-26 04:00:00" if falls else "2025-10-26 01:00:00")
    found = [times.read(f"2025-10-26 {clock}") for clock in local]
    steps = [later - before for before, later in pairwise(found[::-1] if falls else found)]
    assert (min(steps) >= -4, sum(steps) > 4200) == (True, True)


def test_where_the_clocks_go_back_by_half_an_hour_a_smaller_step_decides() -> None:
    times = Times("Australia/Lord_Howe")
    local = ["01:10", "01:40", "01:55", "01:35", "01:55", "02:05"]
    found = [times.read(f"2025-04-06 {clock}:00") for clock in local]
    assert [later - before for before, later in pairwise(found)] == [1800, 900, 600, 1200, 600]


def test_a_line_is_parted_behind_its_time() -> None:
    assert leading_time("11/13/2025 7:40:40 AM ESENT") == ("11/13/2025 7:40:40 AM", " ESENT")
    assert leading_time("3 pages seen") == ("", "3 pages seen")


@pytest.mark.parametrize("rest", ["", " EX01 ESE", " app17 ESE", " 7", " [x]"])
@of_each(["", ".5", ",123", " PM", "Z", " Z", "+02:00", " -0500", " GMT"])
def test_all_that_belongs_to_a_time_is_taken_with_it(behind: str, rest: str) -> None:
    time = f"2025-11-13 07:40:40{behind}"
    assert leading_time(time + rest) == (time, rest)


@given(st.text(max_size=60))
def test_no_text_raises_anything_but_the_one_error(text: str) -> None:
    try:
        assert isinstance(Times("Europe/Berlin").read(text), float)
    except UnknownTimeError as error:
        assert str(error)


def _made_up(rng: random.Random) -> str:
    """An ISO time, often a wrong one, some with letters changed, added and left out."""
    year, month, day = rng.choice((1969, 1970, 2024, 9999)), rng.randint(1, 12), rng.randint(1, 31)
    clock = f"{rng.randint(0, 24):02}:{rng.randint(0, 60):02}:{rng.randint(0, 60):02}"
    whole = f"{year}-{month:02}-{day:02}{rng.choice('TT ')}{clock}.{rng.randrange(10**9):09}"
    zone = rng.choice(("Z", "Z", "Z", "", "+0100", "-05:30", " +0200", " -1945", "+20:00"))
    letters = [*whole[: rng.choice((19, 19, 21, 22, 26, 27, 29))], *zone]
    for _ in range(rng.choice((0, 0, 1, 2, 3))):
        at = rng.randrange(len(letters))
        letters[at : at + rng.randrange(2)] = rng.choice((*"0123456789TZ:.,-+ W/ap٣", ""))
    return "".join(letters)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_the_short_way_for_iso_times_reads_them_as_the_long_one_does(zone: str | None) -> None:
    rng = random.Random(1601)
    short, different = 0, []
    for text in (_made_up(rng) for _ in range(40_000)):
        times = Times(zone)
        found = times.quick(text)
        if found is None:
            continue
        short += 1
        try:
            expected = times.read(text)
        except UnknownTimeError:
            expected = None
        if found != expected or times.state != TimesState():
            different.append((text, found, expected))

    assert different == []
    assert short > 5_000


@pytest.mark.parametrize("value", [None, True, 1767323045, 1767323045.0, "", "Z", "12:00Z"])
def test_what_is_no_iso_time_is_left_to_the_long_way(value: object) -> None:
    assert Times().quick(value) is None


def test_a_local_time_is_left_to_the_long_way_where_a_zone_is_configured() -> None:
    assert Times("Europe/Berlin").quick("2025-11-13 07:40:40") is None
    assert Times().quick("2025-11-13 07:40:40") == MORNING


def test_dates_with_dashes_or_dots_have_the_day_first_and_tell_nothing_of_slashes() -> None:
    times = Times()
    times.learn("1/5/2026 3:12:45 PM the pass started on 04.01.2026 10:00:00")
    assert times.read("05.01.2026 00:00:00") == epoch("2026-01-05")
    assert times.read("1/5/2026 00:00:00") == epoch("2026-01-05")
    assert times.read("05-01-2026 00:00:00") == epoch("2026-01-05")
    assert times.read("01-20-2026 00:00:00") == epoch("2026-01-20")
    assert times.read("05-01-2026 00:00:00") == epoch("2026-05-01")


@pytest.mark.parametrize("text", ["5/1/2569 00:00:00", "1404/10/15 00:00:00", "1601-01-01 00:00"])
def test_a_year_of_another_calendar_is_no_time(text: str) -> None:
    with pytest.raises(UnknownTimeError, match="cannot be read"):
        Times().read(text)


@pytest.mark.parametrize(
    ("mark", "hour"),
    [("μμ", 15), ("πμ", 3), ("du.", 15), ("de.", 3), ("CH", 15), ("SA", 3), ("em", 15), ("fm", 3)],
)
def test_halves_of_the_day_are_known_in_other_languages(mark: str, hour: int) -> None:
    assert Times().read(f"1/5/2026 3:12:45 {mark}") == epoch(f"2026-01-05T{hour:02}:12:45")


def test_a_computer_that_begins_like_a_half_of_the_day_is_one() -> None:
    for name in ("AMSTERDAM01", "pm-server", "de.corp.example", "SA-DC01"):
        assert leading_time(f"1/5/2026 3:12:45 {name}")[1].strip() == name
