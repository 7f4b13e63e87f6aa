"""Records of the runs of eseutil: the result of one run for one database, and its time."""

import re
from typing import NamedTuple

from esefiles.base.names import printable
from esewatch.ese.programs.eseutil import ChecksumRun, EseutilRun, HeaderDump
from esewatch.fold.identity.identity import database_label
from esewatch.fold.state.state import UNLOCATED
from esewatch.model import CopyChecked, HeaderSeen, PageFault


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
    read before. Where several pages of a fault are counted and not named, one entry without
    a page number stands for them.
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
            bad_pages=_bad_pages(run.result),
        )  # fmt: skip
    return None


def bad_count(check: ChecksumRun) -> int:
    return sum(check.counted.values())


def _bad_pages(check: ChecksumRun) -> tuple[tuple[int, PageFault], ...]:
    unnamed: list[tuple[int, PageFault]] = [
        (UNLOCATED, fault)
        for fault, count in check.counted.items()
        if count > sum(named == fault for _, named in check.named)
    ]
    return (*check.named, *unnamed)


def complaints(run: EseutilRun, whose: Whose) -> list[str]:
    """Reasons why a run has no result or only a part of it; empty when all of it is understood."""
    if not run.database:
        return []
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
    if run.result is not None and database_label(whose.name(run.database)) is None:
        found.append(
            f"{run.database} is the snapshot of an unknown database: "
            "name that with `as` in the configuration"
        )
    return found
