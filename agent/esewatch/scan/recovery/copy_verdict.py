"""The verdict on a copy whose pages were read, by what stands beside it and by its structure."""

from collections.abc import Sequence
from pathlib import Path

from esewatch.scan.lost_writes import lost_writes_beside
from esewatch.scan.open_errors import why_not_opened
from esewatch.scan.pace import Pace
from esewatch.scan.recovery.backup_trailer import trailer_of
from esewatch.scan.recovery.log_folder import LogFolders
from esewatch.scan.recovery.log_verification import LogVerifier
from esewatch.scan.recovery.verdict import judge
from esewatch.scan.results import FileResult, Verdict
from esewatch.scan.structure.structure_check import check_structure


def verdict_of(
    result: FileResult, pace: Pace, *, deep: bool, folders: Sequence[str] = ()
) -> Verdict | None:
    """None: there is no header. `pace` is asked before what is read, and may end it.

    The flush map beside the copy is always compared; `deep` checks the structure, too. Logs are
    looked for beside the copy and in `folders`.
    """
    if result.header is None:
        return None
    path = result.path
    found = LogFolders([str(Path(path).parent), *folders])
    for why in found.unsearched.values():
        return Verdict(outcome="unknown", reasons=[f"{why}."])
    try:
        logs = LogVerifier(found, read=pace.wait).of(result.header, path)
        structure = check_structure(path, pace=pace) if deep else None
        lost = lost_writes_beside(path, pace=pace, only_proofs=not deep)
        trailer = trailer_of(result.header, path)
    except OSError as error:
        return Verdict(
            outcome="unknown", reasons=[f"{why_not_opened(str(error.filename or path), error)}."]
        )
    return judge(
        result.header, result, logs.series, logs.checks,
        structure=structure, lost=lost, trailer=trailer,
    )  # fmt: skip
