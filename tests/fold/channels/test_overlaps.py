"""Records that several inputs have count once: the largest count of one input, never the sum."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from esewatch.config import Settings
from esewatch.fold.channels import overlaps
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.journal import Journal
from esewatch.model import Batch, Event
from tests.support.records import DAY, HOUR, event, the_database, views

SETTINGS = Settings()


def folded(*inputs: tuple[str, Sequence[Event]], folder: Folder | None = None) -> Folder:
    """A folder that has taken in these records of one source, by file, in this order."""
    if folder is None:
        folder = Folder(State(), SETTINGS)
        folder.open_source("logs", 0.0)
    batch = Batch(caught_up=True)
    for name, records in inputs:
        batch.inputs.append((len(batch.records), overlaps.input_of(name)))
        batch.records += records
    folder.fold("logs", batch)
    return folder


def counts(folder: Folder) -> Mapping[int, int]:
    return folder.state.hosts["ex01"].events["ESE"]


def nights(first: int, last: int) -> list[Event]:
    """A pass a night, as a CSV has it: without record numbers."""
    return [
        each
        for night in range(first, last)
        for each in (
            event(700, night * DAY),
            event(701, night * DAY + HOUR, fields={"seconds": 3600, "pages_freed": night}),
        )
    ]


def numbered(events: Sequence[Event], first: int = 1) -> list[Event]:
    """The same records as an EVTX has them."""
    return [
        event(
            each.event_id,
            (each.time or 0.0) - event(0, 0).time + 0.4,  # type: ignore[operator]
            number,
            fields=each.fields,
        )
        for number, each in enumerate(events, first)
    ]


ALL, EARLY, LATE = nights(0, 9), nights(0, 5), nights(3, 9)


@pytest.mark.parametrize(
    "inputs",
    list(itertools.permutations([("a", EARLY), ("b", LATE), ("c", ALL)])),
    ids=lambda each: "".join(name for name, _ in each),
)
def test_overlapping_exports_count_once_in_any_order(
    inputs: Sequence[tuple[str, Sequence[Event]]],
) -> None:
    folder = folded(*inputs)
    assert counts(folder) == {700: 9, 701: 9}
    assert views(folder)["defrag"].completed == 9
    assert the_database(folder).reported_pages_freed == sum(range(9))


@pytest.mark.parametrize("order", [1, -1])
def test_an_archive_with_numbers_and_an_export_without_them_count_once(order: int) -> None:
    inputs = [("log.evtx", numbered(ALL)), ("log.csv", LATE)]
    assert counts(folded(*inputs[::order])) == {700: 9, 701: 9}


def bad(page: int, time: float = 0.0, **changes: object) -> Event:
    return event(474, time, fields={"page_number": page, "offset": page * 8192, **changes})


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ([bad(5), bad(5)], [bad(5)], 2),  # two readers, or a retry
        ([bad(5)], [bad(5), bad(5), bad(5)], 3),
        ([bad(5), bad(5)], [], 2),
        ([bad(5)], [bad(6)], 2),
        ([bad(5, 10.6)], [bad(5, 11.0)], 1),  # rounded
        ([bad(5, 10.6)], [bad(5, 10.0)], 1),  # cut off
        ([bad(5, 10.6), bad(5, 11.2)], [bad(5, 11.0), bad(5, 11.0)], 2),
        ([bad(5, 10.0)], [bad(5, 12.0)], 2),
        ([bad(5, size=8192)], [bad(5)], 1),  # what both show is equal
        ([bad(5, size=8192)], [bad(6)], 2),
        ([bad(5)], [event(474, 0.0)], 1),
        ([bad(5)], [event(474, 0.0, ese_instance="", process="")], 1),
        ([bad(5)], [event(474, 0.0, database="F:\\other.edb")], 2),
        ([bad(5)], [event(474, 0.0, ese_instance="SG07")], 2),
        ([bad(5)], [event(475, 0.0, fields=bad(5).fields)], 2),
        ([bad(5, DAY / 2 - 0.3)], [bad(5, DAY / 2 + 0.3)], 1),  # at midnight
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_equal_records_are_counted_as_the_input_with_most_of_them_has_them(
    one: list[Event], other: list[Event], count: int, order: int
) -> None:
    inputs = [("one", one), ("other", other)][::order]
    assert sum(counts(folded(*inputs)).values()) == count


def test_records_with_different_numbers_of_one_log_are_different() -> None:
    files = [("one.xml", [event(474, 0.0, 7)]), ("other.xml", [event(474, 0.0, 8)])]
    assert counts(folded(*files)) == {474: 2}
    assert counts(folded(*files, ("text", [event(474, 0.0)]))) == {474: 2}


def test_an_input_that_goes_on_is_known_after_a_restart(tmp_path: Path) -> None:
    folder = folded(("a", EARLY))
    journal = Journal(tmp_path / "journal.db")
    assert journal.commit(folder.state, folder.changed, {}) == {}
    journal.close()
    journal = Journal(tmp_path / "journal.db")
    again = Folder(journal.load()[0], SETTINGS)
    journal.close()
    assert again.state.recent == folder.state.recent
    assert counts(folded(("b", ALL), folder=again)) == {700: 9, 701: 9}


def test_what_is_remembered_is_bounded_and_the_forgotten_counts_again() -> None:
    days = overlaps.MAX_DAYS + 6
    flood = overlaps.MAX_RECORDS + 10
    records = [*nights(0, days), *[bad(page, days * DAY) for page in range(flood)]]
    folder = folded(("a", records))
    kept = folder.state.recent["ex01"]
    assert len(kept) == overlaps.MAX_DAYS
    assert max(map(len, kept.values())) <= overlaps.MAX_RECORDS * overlaps._SIZE
    rows = [key for key in folder.changed if key[0] == "recent"]
    assert len(rows) > days  # those that went are deleted from the journal
    again = counts(folded(("b", records), folder=folder))
    assert again == {700: days + 7, 701: days + 7, 474: flood + 10}


def test_a_computer_that_goes_takes_its_records_along() -> None:
    folder = folded(("a", [event(103, 0.0, database="")]))
    folder.settings = Settings(max_databases=1)
    folder.computers.reconfigure(folder.settings)
    others = [event(103, 0.0, database="", computer=f"EX{n:02}") for n in range(2, 5)]
    folder = folded(("a", others), folder=folder)
    del folder.state.instances[("ex01", "sg06")]
    folder.expire(event(0, 30 * DAY).time or 0.0)
    assert set(folder.state.recent) == set(folder.state.hosts)
    assert "ex01" not in folder.state.recent


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_exports_the_one_counts_that_shows_more(order: int) -> None:
    start = event(717, 0.0)
    numbers = {"pages_seen": 100, "bad_checksums": 0, "days": 1}
    foreign = [start, event(721, HOUR)]
    known = [start, event(721, HOUR + 0.4, 9, fields=numbers)]
    folder = folded(*[("text", foreign), ("log.evtx", known)][::order])
    done = views(folder)["checksum"].last_completed
    assert done is not None
    assert (done.pages_seen, done.bad_checksums) == (100, 0)
    assert views(folder)["checksum"].completed == 1
    assert the_database(folder).pages_seen == {"checksum": 100}


def test_an_error_whose_page_another_export_names_has_that_page() -> None:
    folder = folded(("text", [event(474, 0.0)]), ("log.csv", [bad(5)]))
    assert 5 in {each.page for each in the_database(folder).bad_pages}
    assert the_database(folder).page_errors == {"checksum": 1}
