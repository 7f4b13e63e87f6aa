"""The timeline of a database: what happened to its pages and its window, newest first."""

import pytest

from esewatch.expose.pages.database_page import MAX_MOMENTS, database_timeline
from esewatch.fold.state.database_state import BadPage, Damage, Database
from tests.expose.examples import DAY, NOW


def database(*bad: BadPage, **fields: object) -> Database:
    made = Database(computer="ex01", database="e:\\a.edb", first_seen=NOW - 30 * DAY, last_seen=NOW)
    made.bad_pages = list(bad)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def said(
    made: Database, verified: dict[str, float] | None = None, restored: float = 0
) -> list[str]:
    return [each.what for each in database_timeline(made, verified or {}, restored, [], NOW)]


def test_a_page_that_was_bad_patched_and_verified_has_three_moments_newest_first() -> None:
    made = database(
        BadPage(4711, "uncorrectable", NOW - 3 * DAY, NOW - 3 * DAY),
        good_ranges=[(4711, 4711, NOW - 2 * DAY)],
        patched_last=NOW - 2 * DAY,
    )
    assert said(made, {"online_scan": NOW - DAY}) == [
        "Every page was verified by online scan.",
        "Page 4711 was repaired.",
        "Page 4711 was first reported: checksum, not correctable.",
    ]


def test_pages_that_one_scan_found_are_one_row_with_their_numbers() -> None:
    bad = [BadPage(page, "lost_flush", NOW - DAY + page, NOW) for page in (17, 40, 41, 42)]
    later = BadPage(99, "lost_flush", NOW - 60, NOW)
    assert said(database(*bad, later)) == [
        "Page 99 was first reported: an old version, as a write was lost.",
        "4 pages 17, 40-42 were first reported: an old version, as a write was lost.",
    ]


def test_a_page_that_was_read_good_is_told_only_when_it_was_bad() -> None:
    bad = BadPage(5, "no_data", NOW - 2 * DAY, NOW - 2 * DAY)
    made = database(bad, good_ranges=[(5, 5, NOW - DAY), (700, 700, NOW - DAY)])
    assert said(made)[0] == "Page 5 was read good, repaired or acknowledged."


def test_restores_acknowledgements_indexes_and_damage_are_told() -> None:
    made = database(
        acknowledged=NOW - 1,
        index_rebuilt=NOW - 2,
        damage={"logical": Damage(2, [NOW - 9, NOW - 4], [447])},
    )
    assert said(made, restored=NOW - 3) == [
        "The last damage or error up to here was acknowledged.",
        "An index was rebuilt.",
        "The database was restored from a backup.",
        "Report of logical corruption (the last of 2 reports of logical corruption).",
    ]


@pytest.mark.parametrize("time", [NOW + 1, 0.0])
def test_what_is_not_known_or_still_to_come_is_not_told(time: float) -> None:
    assert said(database(acknowledged=time), restored=time) == []


def test_the_last_moments_of_many_are_kept() -> None:
    bad = [BadPage(page, "no_data", NOW - page * DAY, NOW) for page in range(1, 100)]
    rows = database_timeline(database(*bad), {}, 0, [(NOW, "The window changed.")], NOW)
    assert len(rows) == MAX_MOMENTS
    assert rows[0].what == "The window changed."
    assert rows[1].what.startswith("Page 1 was")
