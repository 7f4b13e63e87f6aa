"""esefiles: files of the ESE engine, verified without it: pages, headers, logs, structure.

    import esefiles

    for result in esefiles.scan(["/snapshots/ex01"]):
        print(result.path, result.ended, result.place and result.place.counts.bad())

    for copy in esefiles.check(["/snapshots/ex01"], logs=["/snapshots/logs"]):
        print(copy.file.path, copy.verdict and copy.verdict.outcome)

    print(esefiles.header("/snapshots/ex01/priv06.edb").content.state)

The commands `scan`, `check` and `header` print what these three find. Files are opened for reading
only. Everything else in here may change.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from esefiles.copy_check import check
    from esefiles.file_header import FileHeader, HeaderError, header
    from esefiles.page_scan import RunOptions, Watcher, scan
    from esefiles.scans.recovery.copy_verdict import CopyResult
    from esefiles.scans.results import FileResult, Verdict
    from esefiles.scans.verify.file_scan import ScanOptions

__all__ = (
    "CopyResult", "FileHeader", "FileResult", "HeaderError", "RunOptions", "ScanOptions", "Verdict",
    "Watcher", "check", "header", "scan",
)  # fmt: skip

__version__ = "0.1.0"
"""Of the wheel, and so of its other packages, too."""

_PLACES = {
    "copy_check": ("check",),
    "file_header": ("FileHeader", "HeaderError", "header"),
    "page_scan": ("RunOptions", "Watcher", "scan"),
    "scans.recovery.copy_verdict": ("CopyResult",),
    "scans.results": ("FileResult", "Verdict"),
    "scans.verify.file_scan": ("ScanOptions",),
}


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: who needs a name of `base` does not pay for all."""
    for place, names in _PLACES.items():
        if name in names:
            return getattr(importlib.import_module(f"esefiles.{place}"), name)
    raise AttributeError(f"module 'esefiles' has no attribute {name!r}")
