"""Parts of `check` beyond pages and logs: flush map, trailer, with --deep the structure."""

import argparse
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from esewatch.cli.inputs.reader import progress_bar
from esewatch.cli.scan.scan_run import complain
from esewatch.names import visible
from esewatch.scan.lost_writes import LostWrites, lost_writes_beside
from esewatch.scan.open_errors import why_not_read
from esewatch.scan.pace import Pace
from esewatch.scan.recovery.backup_trailer import BackupTrailer, trailer_of
from esewatch.scan.results import FileResult
from esewatch.scan.structure.structure_check import STOPPED, Structure, check_structure

LISTED_ERRORS = 20
"""Errors of the structure that are printed as text; JSON has those that were kept."""


class Beyond(NamedTuple):
    """Findings of one database. None: not checked."""

    structure: Structure | None = None
    lost: LostWrites | None = None
    trailer: BackupTrailer | None = None


class Deep:
    """The checks of all databases; `begin` is called first, `of` in the threads of the scan."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._deadline = None if options.max_time is None else time.monotonic() + options.max_time
        self._stop = threading.Event()

    def begin(self, stop: threading.Event) -> None:
        """`stop` ends what is going on."""
        self._stop = stop

    def of(self, result: FileResult) -> Beyond:
        """Check a database whose pages were all read; one that was not is left for --resume."""
        if result.ended != "complete":
            return Beyond()
        try:
            path, header = result.path, result.header
            trailer = trailer_of(header, path) if header is not None else None
            return Beyond(self._structure(path), self._lost_writes(path), trailer)
        except OSError as error:
            complain(why_not_read(str(error.filename or result.path), error))
            return Beyond(Structure(checked=False, reason=STOPPED) if self._options.deep else None)

    def _pace(self) -> Pace:
        options = self._options
        return Pace(
            throttle=options.throttle_ms / 1000,
            rate=options.rate,
            deadline=self._deadline,
            stop=self._stop,
        )

    def _structure(self, path: str) -> Structure | None:
        if not self._options.deep:
            return None
        with progress_bar(
            desc=f"structure of {visible(Path(path).name)}",
            unit="B",
            unit_scale=True,
            unit_divisor=1024,
        ) as bar:

            def reached(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            return check_structure(path, pace=self._pace(), progress=reached)

    def _lost_writes(self, path: str) -> LostWrites | None:
        only_proofs = not self._options.deep
        return lost_writes_beside(path, pace=self._pace(), only_proofs=only_proofs)


def beyond_object(beyond: Beyond) -> dict[str, Any]:
    """The keys of these checks in `check --format json`."""
    structure, lost = beyond.structure, beyond.lost
    of_structure: dict[str, Any] = {"checked": False, "errors": []}
    if structure is not None:
        of_structure = {
            "checked": structure.checked,
            "errors": [
                {"page_number": error.page_number, "kind": error.kind, "sentence": error.sentence}
                for error in structure.errors
            ],
            "unlisted": structure.unlisted,
            "reason": structure.reason,
            "remarks": structure.remarks,
            "lost_pages": structure.lost_pages,
        }
    found: dict[str, Any] = {
        "lost_writes": [] if lost is None else lost.pages,
        "structure": of_structure,
    }
    if lost is not None:
        found["flush_map"] = {
            "state": lost.state, "reason": lost.reason,
            "compared": lost.compared, "undecided": lost.undecided,
        }  # fmt: skip
    return found


def beyond_lines(beyond: Beyond) -> list[str]:
    """Lines of text about these checks."""
    structure, lost, lines = beyond.structure, beyond.lost, list[str]()
    if lost is not None:
        if lost.pages:
            lines.append(f"  lost writes: pages {', '.join(map(str, lost.pages[:LISTED_ERRORS]))}")
        elif lost.state == "compared":
            lines.append(f"  flush map: {lost.compared:,} pages compared, no lost write")
        if lost.reason:
            lines.append(f"  note: {lost.reason}")
    if structure is None:
        return lines
    number = len(structure.errors) + structure.unlisted
    errors = f"{number:,} {'error' if number == 1 else 'errors'}"
    if structure.checked:
        lines.append(f"  structure: {len(structure.trees):,} trees, {errors}")
        if structure.lost_pages:
            lines.append(
                f"  note: the space of {structure.lost_pages:,} pages is lost until the database is"
                " compacted"
            )
    else:
        lines.append(f"  structure: {errors}. {structure.reason}")
    lines += [f"    {visible(error.sentence)}" for error in structure.errors[:LISTED_ERRORS]]
    if number > LISTED_ERRORS:
        lines.append(f"    and {number - LISTED_ERRORS:,} more")
    lines += [f"  note: {visible(remark)}" for remark in structure.remarks[:LISTED_ERRORS]]
    if len(structure.remarks) > LISTED_ERRORS:
        lines.append(f"  note: and {len(structure.remarks) - LISTED_ERRORS:,} more notes")
    return lines
