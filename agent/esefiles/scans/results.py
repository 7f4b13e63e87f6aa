"""Results of a scan: bad pages, counts, position, how it ended."""

import math
import os
from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from typing import Literal

import msgspec

from esefiles.pages.header import Header

MAX_LISTED = 1000
"""Bad pages of one file that are listed; more are counted only."""

Kind = Literal["checksum", "correctable", "wrong_page", "truncated", "unreadable"]

Ended = Literal["complete", "time", "stopped", "failed", "lost", "temporary", "foreign"]
"""`complete`: every page up to the end of the file was read or tried; `time`: the time was up;
`stopped`: a stop was requested; `failed`: the file cannot be scanned (`reason` says why); `lost`:
it is called like a database, and nothing in it is one (empty, zeros, random bytes); `temporary`: a
temporary database, of which the engine verifies no page; `foreign`: it is called like a database,
and of another known format."""


_STEPS = 20
"""Classes for each factor of e: a percentile is right within 2.5 %."""

_SHORTEST = 1e-7


class ScannedBadPage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One bad page. `offset` in bytes; `block` and `bit` as in `ese.checksum.Diagnosis`."""

    page_number: int
    offset: int
    kind: Kind
    block: int | None = None
    bit: int | None = None
    """The flipped bit of a correctable page, counted within the page, LSB first."""
    bits: tuple[int, ...] = ()
    """All of them where a large page has more than one."""
    written_as: int | None = None
    """Of a wrong page: the number under which it was actually written."""


FileState = tuple[int, int, int]
"""Number (inode), time of the last change in nanoseconds, and bytes of a file: another file in its
place, or one that was written to, has others. The device is left out: it has another number when
it is mounted again."""


def file_state(status: os.stat_result) -> FileState:
    return status.st_ino, status.st_mtime_ns, status.st_size


class Counts(msgspec.Struct, kw_only=True):
    """Counts up to a place in the file. Pages are those behind header and shadow."""

    pages_seen: int = 0
    """Whole pages read, whatever the result; blank ones too, unreadable ones not."""
    bad_checksums: int = 0
    """Uncorrectable pages; `correctable` and `wrong_page_number` are not included."""
    correctable: int = 0
    wrong_page_number: int = 0
    uninitialized_pages: int = 0
    unread_bytes: int = 0
    """Bytes that could not be read (I/O errors)."""
    truncated: int = 0
    """1 when the file ends within a page, or before the last page that it must have."""
    bytes: int = 0
    """Bytes read of the file by this pass, header and shadow included."""
    seconds: float = 0.0
    """Seconds of work, over all interruptions."""
    listed: list[ScannedBadPage] = msgspec.field(default_factory=list)
    """The first MAX_LISTED bad pages in the order of the file."""
    unlisted: int = 0
    """Bad pages beyond the limit of `listed`."""

    def bad(self) -> int:
        """Bad pages of every kind, listed or not."""
        return len(self.listed) + self.unlisted


class Place(msgspec.Struct, kw_only=True):
    """The position of a pass over one database: enough for another process to continue exactly.
    `signature` (hex) and `page_size` are the header's: another database starts over."""

    path: str
    offset: int
    """The next byte to read, a multiple of the page size."""
    size: int
    """Bytes of the file when this was written."""
    signature: str
    page_size: int
    began: float
    """Epoch seconds of the start of the pass."""
    taken: float
    """Epoch seconds of the oldest content that the pass has read (semantics.md 3)."""
    counts: Counts
    file_state: FileState = (0, 0, 0)
    """That of the file when the pass began; zeros in a position of an earlier version."""
    mixed: bool = False
    """The pass went on where the file was no more as it had been."""


def why_not_one_state(place: Place) -> str:
    """Reason why what a pass has read up to now is no one state of its file, empty where it is."""
    if place.mixed:
        return "between two parts of the pass it was replaced or written to"
    try:
        now = file_state(os.stat(place.path))  # noqa: PTH116 - a name is bytes
    except FileNotFoundError:
        return "it was deleted or renamed meanwhile"
    except OSError as error:
        return f"its state cannot be read again: {error.strerror}"
    if now[0] != place.file_state[0]:
        return "another file took its place meanwhile"
    return "" if now == place.file_state else "it was written to meanwhile"


class Latency(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Seconds that one read took."""

    p50: float
    p99: float


class Latencies:
    """Counts seconds in classes of equal ratio."""

    def __init__(self) -> None:
        self._classes: Counter[int] = Counter()

    def add(self, seconds: float) -> None:
        self._classes[round(math.log(max(seconds, _SHORTEST)) * _STEPS)] += 1

    def percentiles(self) -> Latency | None:
        """Median and 99th percentile; None without a read."""
        if not self._classes:
            return None
        return Latency(p50=self._at(0.5), p99=self._at(0.99))

    def _at(self, share: float) -> float:
        ordered = sorted(self._classes)
        counted = list(accumulate(self._classes[at] for at in ordered))
        return math.exp(ordered[bisect_left(counted, share * counted[-1])] / _STEPS)


Outcome = Literal["restorable", "replay_needed", "loss", "backup_set", "not_restorable", "unknown"]
"""`restorable`: mounts as it is; `replay_needed`: all logs that it takes are there and good;
`loss`: mounts only without some logs; `backup_set`: a restore from its backup set is needed;
`unknown`: it cannot be said, or should not be relied on."""


class RequiredLogs(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Generations that a replay needs, and what is wrong with them."""

    first: int = 0
    last: int = 0
    committed: int = 0
    missing: list[int] = []
    """Of `first` to `committed`."""
    bad: list[int] = []


class Verdict(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Verdict on a mount of a copy. `reasons`: sentences, what decided first."""

    outcome: Outcome
    reasons: list[str]
    required: RequiredLogs = RequiredLogs()
    confirmed: list[int] = []
    """Known bad pages whose last write reached the disk, as the flush map says."""


class MissingPages(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Pages that the database must have and that the file lacks."""

    first: int
    last: int = 0
    """Number of the last page of the database; 0: not known."""
    how: Literal["ends", "ends within", "ends within header", "blank"] = "ends"
    """The file ends before the first one, within it or within header and shadow; or it is there
    and blank."""

    def number(self) -> int:
        """Number of missing pages; 0: not known."""
        return max(0, self.last - self.first + 1)

    def sentence(self) -> str:
        """A sentence on the end of the file and on its last page, without a full stop."""
        if self.how == "blank":
            return f"Page {self.first} is blank, and it leads to the rest of the database"
        ends = f"The file ends at page {self.first - 1}"
        if self.how == "ends within":
            ends = f"The file ends within page {self.first}"
        elif self.how == "ends within header":
            ends = "The file ends within its header"
        elif self.first == 1:
            ends = "The file ends behind its header"
        if self.last < self.first:
            return ends if self.how == "ends within" else f"{ends}, before the end of the database"
        return f"{ends}, and the database has {self.last:,} pages"


class FileResult(msgspec.Struct, kw_only=True):
    """The result of the scan of one file. `header` None: it is no database that can be scanned."""

    path: str
    ended: Ended
    reason: str = ""
    """One sentence, where it did not end `complete`: what, where, what to do."""
    header: Header | None = None
    place: Place | None = None
    """The position; of a complete pass the end of the file."""
    latency: Latency | None = None
    """Latency of the reads of this run, not of the earlier runs that it continues."""
    direct: bool = False
    """Every read went past the page cache; else cached pages were not read from the disk."""
    device: str = ""
    missing: MissingPages | None = None
    """Of a complete pass: what the file lacks. Among the bad pages it is one `truncated` page."""
    verdict: Verdict | None = None
    """Verdict on a mount of the copy, where that was requested."""
    remarks: list[str] = msgspec.field(default_factory=list)
    """Sentences for a person: the file grew, its shadow header is bad, …"""

    def why_lost(self) -> str:
        """Two sentences on a file that ended `lost`."""
        why = self.reason.removeprefix(f"{self.path}: ")
        why = why.removeprefix("not an ESE database").removeprefix(": ")
        if why:
            return f"{why[0].upper()}{why[1:]}: nothing of a database is in it. Take another copy."
        return "Nothing of a database is in it: is it encrypted? Take another copy."


class ScanStep(msgspec.Struct, kw_only=True):
    """A piece of a scan. `found` are bad pages, `good` known bad ones that now read good. The first
    step of a scan has the `header`, the last one the `result`."""

    place: Place | None = None
    """None where no place in the file was reached."""
    found: list[ScannedBadPage] = msgspec.field(default_factory=list)
    good: list[int] = msgspec.field(default_factory=list)
    header: Header | None = None
    result: FileResult | None = None
