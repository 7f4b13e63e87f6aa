"""The job and the progress messages of the process that scans for the daemon: JSON, one a line."""

from typing import Literal

import msgspec

from esefiles.scans.results import Place, ScanStep
from esefiles.scans.verify.file_scan import ScanOptions

Check = Literal["pages", "recovery", "deep"]
"""Depth of the check of a copy: its pages; also whether it would mount; also its structure."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One file to scan. Its order and its device are for the plan to decide."""

    path: str
    size: int
    verified: float | None = None
    """Epoch seconds of the last proof that the database is good; None: never."""
    place: Place | None = None
    """The position of an earlier pass."""
    taken: float | None = None
    """Epoch seconds of the content, where it is that of a copy. None: it is read live."""
    known_bad: tuple[int, ...] = ()
    """Pages to read first."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The whole job of one process. It comes as one line; the end of the input ends the process."""

    tasks: tuple[Task, ...]
    options: ScanOptions
    check: Check = "pages"
    logs: tuple[str, ...] = ()
    """Folders with transaction logs, beside those of the copies."""
    pools: dict[str, list[str]] = {}
    deadline: float | None = None


class News(msgspec.Struct, frozen=True, kw_only=True):
    """A message: the scan of `path` begins (no `step`), or advances by a step."""

    path: str
    step: ScanStep | None = None
