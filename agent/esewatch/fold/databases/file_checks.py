"""Facts about a database from its file: checks of all pages, and headers.

The order of arrival makes no difference: times never go back (semantics.md 3).
"""

from collections.abc import Iterable

from esewatch.fold.databases.bad_pages import (
    latch_found,
    mark_checksums_good,
    mark_good,
)
from esewatch.fold.databases.databases import MOST, meet, note_created, resize
from esewatch.fold.databases.integrity import ALL_PAGES, HISTORY_SECONDS
from esewatch.fold.identity.identity import is_snapshot
from esewatch.fold.state.state import UNLOCATED, CopyVerdict, Database, SourceState
from esewatch.model import CopyChecked, HeaderSeen, PageFault, PagesScanned

MOST_REASON = 500
MAX_SIGNATURES = 8

OfCopy = CopyChecked | HeaderSeen | PagesScanned


def is_bad(record: OfCopy) -> bool:
    if isinstance(record, CopyChecked):
        return bool(record.bad or record.bad_pages)
    return isinstance(record, PagesScanned) and bool(record.bad or record.found)


def fold(entry: Database, record: OfCopy, source: SourceState) -> None:
    if not entry.path and not is_snapshot(record.database):
        entry.path = record.database
    if isinstance(record, HeaderSeen):
        _header(entry, record)
    elif isinstance(record, PagesScanned):
        _piece(entry, record)
    else:
        old = record.time < source.opened - HISTORY_SECONDS
        _check(entry, record, history=source.baseline and old)
    meet(entry, record.time)


def _check(entry: Database, checked: CopyChecked, *, history: bool) -> None:
    """Latch the bad pages of a copy, or clear all errors up to its time. A copy that was not read
    to its end proves nothing, but its bad pages are bad."""
    if checked.size_bytes is not None and checked.time >= entry.last_seen:
        resize(entry, float(checked.size_bytes), checked.time)
    if checked.verdict:
        _judge(entry, checked)
    for page in checked.confirmed:
        mark_good(entry, page, page, checked.time)
    if is_bad(checked):
        _latch(entry, checked, history=history)
    elif checked.complete:
        known = entry.verified.get(checked.by, 0.0)
        entry.verified[checked.by] = max(known, checked.time)
        mark_checksums_good(entry, *ALL_PAGES, checked.time)


def _judge(entry: Database, checked: CopyChecked) -> None:
    """Keep the verdict on the newest copy; of two of one time the worse one."""
    told = CopyVerdict(checked.time, checked.verdict, checked.verdict_reason[:MOST_REASON])
    known = entry.copy_verdict
    if known is None or _rank(told) >= _rank(known):
        entry.copy_verdict = told
    if told.is_restorable():
        entry.restorable_last = max(entry.restorable_last, checked.time)


def _rank(verdict: CopyVerdict) -> tuple[float, bool, str, str]:
    return verdict.time, verdict.is_restorable() is not True, verdict.outcome, verdict.reason


def _latch(entry: Database, checked: CopyChecked, *, history: bool) -> None:
    found = set(checked.bad_pages)
    _latch_all(entry, found, checked.time, history=history)
    counts = dict(checked.unnamed)
    unnamed = checked.bad - len(found) - sum(counts.values())
    if unnamed > 0 and not any(page == UNLOCATED for page, _ in found):
        counts["uncorrectable"] = counts.get("uncorrectable", 0) + unnamed
    for kind, count in counts.items():
        # The same finding read again changes nothing, so the larger number holds.
        known, last = entry.bad_pages_overflow.get(kind, (0, 0.0))
        entry.bad_pages_overflow[kind] = max(known, count), max(last, checked.time)


def _piece(entry: Database, piece: PagesScanned) -> None:
    """Fold the check of a piece: good as of the copy's content, bad as of the reading. A bad page
    that a scan finds is there now, however old the copy: it is never history."""
    scanned = entry.page_scan
    for what, count in (("pages", piece.pages), ("bytes", piece.bytes), ("bad_pages", piece.bad)):
        scanned[what] = min(scanned.get(what, 0) + count, MOST)
    for page in piece.good:
        mark_checksums_good(entry, page, page, piece.time)
    _latch_all(entry, piece.found, max(piece.time, piece.read), history=False)


def _latch_all(
    entry: Database, found: Iterable[tuple[int, PageFault]], time: float, *, history: bool
) -> None:
    for page, fault in sorted(found):
        latch_found(entry, page, fault, time, "history" if history else "")


def _header(entry: Database, seen: HeaderSeen) -> None:
    """Keep the newest counters; a header without counters changes none."""
    if seen.signature:
        known = entry.signatures
        known[seen.signature] = min(seen.time, known.get(seen.signature, seen.time))
        if len(known) > MAX_SIGNATURES:
            del known[min(known, key=lambda each: known[each])]
        note_created(entry)
    newest = seen.time >= entry.header_time
    if seen.page_size is not None and (newest or entry.page_size is None):
        entry.page_size = seen.page_size
    if seen.size_bytes is not None and (newest or entry.size_bytes is None):
        resize(entry, float(seen.size_bytes), seen.time)
    counters = (seen.bad_checksums, seen.corrected, seen.correction_failed)
    if newest and any(counter is not None for counter in counters):
        entry.header_time = seen.time
        entry.header_bad_checksums = seen.bad_checksums
        entry.header_corrected = seen.corrected
        entry.header_correction_failed = seen.correction_failed
