"""The verdict on a copy whose pages were read, by the logs that stand beside it."""

from collections.abc import Callable
from pathlib import Path

from esewatch.scan.open_errors import why_not_opened
from esewatch.scan.recovery.log_folder import LogFolders
from esewatch.scan.recovery.log_verification import LogVerifier
from esewatch.scan.recovery.verdict import judge
from esewatch.scan.results import FileResult, Verdict


def verdict_of(result: FileResult, read: Callable[[int], bool]) -> Verdict | None:
    """None: there is no header. `read` is told of bytes that were read; false from it ends it."""
    if result.header is None:
        return None
    folder = str(Path(result.path).parent)
    try:
        verifier = LogVerifier(LogFolders([folder]), read=read)
    except OSError as error:
        return Verdict(outcome="unknown", reasons=[f"{why_not_opened(folder, error)}."])
    logs = verifier.of(result.header, result.path)
    return judge(result.header, result, logs.series, logs.checks)
