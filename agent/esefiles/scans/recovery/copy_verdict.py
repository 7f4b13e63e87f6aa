"""The verdict on one copy: from its pages and logs, its structure and its flush map."""

from collections.abc import Callable, Sequence

import msgspec

from esefiles.scans.lost_writes import LostWrites, lost_writes_beside
from esefiles.scans.open_errors import why_not_read
from esefiles.scans.pace import Pace
from esefiles.scans.recovery.backup_trailer import BackupTrailer, trailer_of
from esefiles.scans.recovery.log_folder import LogSeries
from esefiles.scans.recovery.log_verification import LogCheck, LogVerifier
from esefiles.scans.recovery.verdict import judge
from esefiles.scans.results import FileResult, Verdict
from esefiles.scans.structure.structure_check import STOPPED, Structure, check_structure


class CopyResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one database. None: not checked."""

    file: FileResult
    """Its pages; `ended` says how far they were read."""
    verdict: Verdict | None = None
    """None: there is none, as the path cannot be used, it is no database, or nothing was read."""
    series: LogSeries | None = None
    """The logs that it needs; None where it needs none, or none are here."""
    logs: dict[int, LogCheck] = {}
    """Their checks, by generation."""
    structure: Structure | None = None
    lost: LostWrites | None = None
    """Writes that were lost, as the flush map beside it shows."""


def check_copy(
    file: FileResult,
    verifier: LogVerifier,
    pace: Pace,
    *,
    deep: bool,
    wanted: Sequence[int] = (),
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> CopyResult:
    """Judge a file that was scanned. `pace` is asked before what is read, and may end it. `deep`:
    the structure, too; its `progress` is bytes done of all. `wanted` are pages that the flush map
    may confirm. One that was not read to its end is left for the scan that goes on."""
    if file.ended == "lost":
        verdict = Verdict(outcome="not_restorable", reasons=[file.why_lost()])
        return CopyResult(file=file, verdict=verdict)
    path, header = file.path, file.header
    if header is None or file.ended in ("failed", "temporary"):
        return CopyResult(file=file)
    logs = verifier.of(header, path)
    structure: Structure | None = None
    lost: LostWrites | None = None
    trailer: BackupTrailer | None = None
    unread = ""
    if file.ended == "complete":
        try:
            trailer = trailer_of(header, path)
            structure = check_structure(path, pace=pace, progress=progress) if deep else None
            lost = lost_writes_beside(path, pace=pace, only_proofs=not deep, wanted=wanted)
        except OSError as error:
            unread = f"{why_not_read(str(error.filename or path), error)}."
            structure = Structure(checked=False, reason=STOPPED) if deep else None
    verdict = judge(
        header, file, logs.series, logs.checks,
        structure=structure, lost=lost, trailer=trailer, unsearched=logs.unsearched, unread=unread,
    )  # fmt: skip
    verdict = msgspec.structs.replace(verdict, confirmed=lost.confirmed if lost else [])
    return CopyResult(
        file=file, verdict=verdict, series=logs.series, logs=logs.checks, structure=structure,
        lost=lost,
    )  # fmt: skip
