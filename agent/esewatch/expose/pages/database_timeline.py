"""Events of the pages and the window of one database, newest first."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from esewatch.advice.base.finding import DAMAGE_WORDS, counted
from esewatch.expose.formatting import BAD_KINDS, VERIFIERS
from esewatch.fold.databases.databases import is_dated
from esewatch.fold.databases.integrity import ALL_PAGES
from esewatch.fold.state.database_state import BadPage, Damage, DamageKind, Database
from esewatch.fold.state.state import UNLOCATED

MAX_MOMENTS = 40
MAX_NAMED = 20
"""Runs of page numbers in one row."""
TOGETHER = 600.0
"""Bad pages of one kind within this time are one row."""


class TimelineEntry(NamedTuple):
    """One row: when, and what happened, as a sentence."""

    time: float
    what: str


def database_timeline(
    database: Database,
    verified: Mapping[str, float],
    restored: float,
    window: Iterable[tuple[float, str]],
    now: float,
) -> tuple[TimelineEntry, ...]:
    """The last moments up to `now`. `verified`: by verifier; `restored`: from a backup, 0 never."""
    if not is_dated(database):
        return ()
    found = [
        *_bad(database.bad_pages),
        *_good(database),
        *(
            TimelineEntry(time, f"Every page was verified by {VERIFIERS.get(by, by)}.")
            for by, time in verified.items()
        ),
        *_damaged(database.damage),
        TimelineEntry(database.acknowledged, "A person acknowledged all damage and all errors."),
        TimelineEntry(database.index_rebuilt, "An index was rebuilt."),
        TimelineEntry(restored, "The database was restored from a backup."),
        *(TimelineEntry(time, what) for time, what in window),
    ]
    past = (each for each in found if 0 < each.time <= now)
    return tuple(sorted(past, reverse=True)[:MAX_MOMENTS])


def _bad(pages: Sequence[BadPage]) -> Iterator[TimelineEntry]:
    for kind, found in groupby(sorted(pages, key=lambda bad: (bad.kind, bad.first)), _kind):
        together: list[BadPage] = []
        for bad in found:
            if together and bad.first - together[0].first > TOGETHER:
                yield _found_bad(kind, together)
                together = []
            together.append(bad)
        yield _found_bad(kind, together)


def _kind(bad: BadPage) -> str:
    return bad.kind


def _found_bad(kind: str, pages: Sequence[BadPage]) -> TimelineEntry:
    located = sorted({bad.page for bad in pages if bad.page != UNLOCATED})
    count = sum(bad.pages for bad in pages)
    named = f" {_runs(located)}" if located else ""
    pages_word = f"Page{named}" if count == 1 else f"{counted(count, 'page')}{named}"
    verb = "was" if count == 1 else "were"
    return TimelineEntry(pages[0].first, f"{pages_word} {verb} first reported: {BAD_KINDS[kind]}.")


def _good(database: Database) -> Iterator[TimelineEntry]:
    """Only of pages that were bad: a page that is read good is no news."""
    bad = {each.page for each in database.bad_pages}
    by_time: dict[float, set[int]] = {}
    read = [each for each in database.checksums_good if each[:2] != ALL_PAGES]
    for first, last, time in (*database.good_ranges, *read):
        pages = {page for page in bad if first <= page <= last}
        if pages or time == database.patched_last:
            by_time.setdefault(time, set()).update(pages or {first})
    for time, pages in by_time.items():
        word = "Page" if len(pages) == 1 else "Pages"
        verb = "was" if len(pages) == 1 else "were"
        how = "repaired" if time == database.patched_last else "read good, repaired or acknowledged"
        yield TimelineEntry(time, f"{word} {_runs(sorted(pages))} {verb} {how}.")


def _damaged(damage: Mapping[DamageKind, Damage]) -> Iterator[TimelineEntry]:
    for kind, each in damage.items():
        if each.times:
            one, many = DAMAGE_WORDS[kind]
            more = f" (the last of {counted(each.count, one, many)})" if each.count > 1 else ""
            yield TimelineEntry(each.times[-1], f"{one[0].upper()}{one[1:]}{more}.")


def _runs(pages: Sequence[int]) -> str:
    """`17, 40-45` of sorted numbers."""
    runs: list[tuple[int, int]] = []
    for page in pages:
        if runs and page == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], page)
        else:
            runs.append((page, page))
    said = [str(low) if low == high else f"{low}-{high}" for low, high in runs[:MAX_NAMED]]
    return ", ".join(said) + (" and others" if len(runs) > MAX_NAMED else "")
