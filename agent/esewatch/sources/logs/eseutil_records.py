"""Records of the runs of eseutil: the result of one run for one database, and its time."""

import re
from collections import Counter
from typing import NamedTuple

from esefiles.base.names import printable
from esewatch.ese.programs.eseutil import ChecksumRun, EseutilRun, HeaderDump
from esewatch.fold.identity.identity import database_label
from esewatch.model import CopyChecked, HeaderSeen, PageFault

_TEMPORARY = re.compile(r"[\\/]te?mp[\\/]", re.IGNORECASE)
"""Databases there are left out (semantics.md 1, `*\\Temp\\*`)."""


class Whose(NamedTuple):
    """The owner of the databases in a source. `database`, where it is not empty, overrules the
    paths in the text; `{name}` in it is the file name of the copy."""

    computer: str
    database: str

    def name(self, path: str) -> str:
        """The database that the file at `path` is or stands for."""
        named = self.database.replace("{name}", re.split(r"[\\/]", path)[-1]) or path
        return printable(named)


def record_of(run: EseutilRun, whose: Whose, end: float) -> CopyChecked | HeaderSeen | None:
    """The record of a run that ended at `end` (epoch seconds); None when it has none.

    A check has the time of its start: a page that went bad while it ran may have been
    read before.
    """
    name = whose.name(run.database)
    if isinstance(run.result, HeaderDump):
        return HeaderSeen(
            time=end, computer=whose.computer, database=name, page_size=run.result.page_size,
            state=run.result.state, bad_checksums=run.result.bad_checksums,
            corrected=run.result.corrected, correction_failed=run.result.correction_failed,
        )  # fmt: skip
    if isinstance(run.result, ChecksumRun):
        return CopyChecked(
            time=max(0.0, end - (run.seconds or 0.0)), computer=whose.computer, database=name,
            by="external", complete=run.result.complete, pages_seen=run.result.pages_seen,
            bad=bad_count(run.result), uninitialized=run.result.uninitialized,
            bad_pages=run.result.named, unnamed=_unnamed(run.result),
        )  # fmt: skip
    return None


def bad_count(check: ChecksumRun) -> int:
    return sum(check.counted.values())


def _unnamed(check: ChecksumRun) -> dict[PageFault, int]:
    """By fault, the pages that are counted and not named."""
    named = Counter(fault for _, fault in check.named)
    left = {fault: count - named[fault] for fault, count in check.counted.items()}
    return {fault: count for fault, count in left.items() if count > 0}


def complaints(run: EseutilRun, whose: Whose) -> list[str]:
    """Reasons why a run has no result or only a part of it; empty when all of it is understood."""
    if not run.database or run.note:
        return [f"{run.note}: {run.closing}" if run.closing else run.note] if run.note else []
    found = []
    if run.outcome in {"cut", "open"}:
        found.append("this run of eseutil does not end")
    elif isinstance(run.result, ChecksumRun) and run.result.unread:
        found.append(f"{run.result.unread} reads failed: {run.closing}")
    elif isinstance(run.result, ChecksumRun):
        if not run.result.complete and not run.result.counted:
            found.append(f"not a check of all pages: {run.closing}")
    elif run.outcome == "failed":
        found.append(run.closing)
    if run.result is not None and (what := _why_nobodys(whose.name(run.database))):
        found.append(f"{run.database} {what}: name that with `as` in the configuration")
    return found


def _why_nobodys(database: str) -> str:
    if database_label(database) is None:
        return "is the snapshot of an unknown database"
    if _TEMPORARY.search(database):
        return "is below a temporary folder, so that what it is a copy of is not known"
    return ""
