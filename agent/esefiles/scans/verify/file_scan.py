"""The scan of one database file: every page, from where an earlier scan of it stopped."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Final, Literal

import msgspec

from esefiles.base.database_names import is_called_database, is_called_temporary
from esefiles.pages.header import Header, NotDatabase
from esefiles.pages.kernels import classify
from esefiles.pages.layout import BLANK, GOOD, HEADER_PAGES, number_at, offset_of
from esefiles.scans.open_errors import is_gone, why_not_opened, why_not_read
from esefiles.scans.pace import Pace
from esefiles.scans.reading.direct import ALIGNMENT
from esefiles.scans.reading.header_reading import read_header
from esefiles.scans.reading.reading import DatabaseFile
from esefiles.scans.results import (
    MAX_LISTED,
    Counts,
    Ended,
    FileResult,
    Kind,
    Latencies,
    MissingPages,
    Place,
    ScannedBadPage,
    ScanStep,
    file_state,
)
from esefiles.scans.verify.owned_pages import missing_pages
from esefiles.scans.verify.stream import RATED_READ_SIZE, READ_SIZE, THROTTLED_READ_SIZE, stream
from esefiles.scans.verify.suspect_pages import PAUSE_SECONDS, Suspects


class Tally:
    """Counts the pages of one file in their order. `place` is where it begins."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._counts = copy(place.counts)
        self._began = time.monotonic() - place.counts.seconds
        self.offset = place.offset
        """The next byte to read."""
        self.size = place.size

    def pages(self, classes: bytes) -> None:
        """Whole pages that were read, with what they are: BLANK, or anything else."""
        size = len(classes) * self._place.page_size
        self._counts.pages_seen += len(classes)
        self._counts.uninitialized_pages += classes.count(BLANK)
        self._counts.bytes += size
        self.offset += size

    def unread(self, size: int) -> None:
        self._counts.unread_bytes += size
        self.offset += size

    def bad(self, page: ScannedBadPage) -> None:
        """A bad page of any kind; call `pages` or `unread` for it, too."""
        counts = self._counts
        match page.kind:
            case "checksum":
                counts.bad_checksums += 1
            case "correctable":
                counts.correctable += 1
            case "wrong_page":
                counts.wrong_page_number += 1
            case "truncated":
                counts.truncated += 1
        if len(counts.listed) < MAX_LISTED:
            # A new list: places that were handed out keep theirs.
            counts.listed = [*counts.listed, page]
        else:
            counts.unlisted += 1

    def place(self) -> Place:
        """Its present place; does not change any more."""
        counts = copy(self._counts)
        counts.seconds = time.monotonic() - self._began
        return msgspec.structs.replace(
            self._place, offset=self.offset, size=self.size, counts=counts
        )


MAX_LOOKS = 16
"""Number of times that the end of a file that changes size is checked again."""


LOOK_SECONDS = 1.0
"""Interval of the looks whether the file is still the one that was begun."""


class ScanOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options for reading a file. `read_size` in bytes, `throttle` in seconds, `rate` in bytes/s.

    `read_size` None: that of `stream`, smaller when throttled or at a low rate; it is rounded
    down to whole pages.
    """

    read_size: int | None = None
    throttle: float = 0.0
    rate: float | None = None
    buffered: bool = False
    """Through the page cache: what the system remembers is checked, not the disk."""

    def pace(self, deadline: float | None, stop: threading.Event) -> Pace:
        """One for a lane. `deadline`: time.monotonic(), as Pace takes it."""
        return Pace(throttle=self.throttle, rate=self.rate, deadline=deadline, stop=stop)


def scan_file(
    path: str,
    options: ScanOptions,
    pace: Pace,
    *,
    place: Place | None = None,
    taken: float | None = None,
    known_bad: Sequence[int] = (),
    expected: bool = False,
    clock: Callable[[], float] = time.time,
) -> Iterator[ScanStep]:
    """Verify the pages of `path`; the last step has the result. Raises nothing.

    `place`: goes on there where it is one of this database, else starts over and says so.
    `taken`: epoch seconds of what the file shows (see Place), default now. `known_bad`: numbers
    of pages that are read first; what they are is told in a step without place, and not again.
    `expected`: the file is to be a database whatever it is called (see Ended, `lost`). Each step's
    place is enough to go on from exactly. `clock` is time.time.
    """
    try:
        file = DatabaseFile(path, buffered=options.buffered)
    except (OSError, ValueError) as error:
        yield ScanStep(
            result=FileResult(path=path, ended="failed", reason=why_not_opened(path, error))
        )
        return
    try:
        header = read_header(file, sleep=pace.sleep)
        if (not_scanned := _not_scanned(path, header, expected=expected)) is not None:
            yield ScanStep(result=not_scanned)
            return
        assert isinstance(header, Header)
        began = clock()
        scan = _Scan(file, header, options, pace)
        scan.begin(place, began, began if taken is None else taken)
        yield from scan.steps(known_bad)
    except OSError as error:
        reason = why_not_read(path, error)
        yield ScanStep(result=FileResult(path=path, ended="failed", reason=reason))
    finally:
        file.close()


TEMPORARY: Final = "a temporary database: the engine verifies none of its pages, so none is checked"


def _not_scanned(path: str, header: Header | NotDatabase, *, expected: bool) -> FileResult | None:
    """The result of a file of which no page can be verified."""
    if isinstance(header, NotDatabase):
        is_new, is_read, reason = False, False, header.reason
    else:
        is_new = header.state == "just_created"
        is_read, reason = header.header_ok or header.shadow_header_ok, ""
    if is_called_temporary(path) and (is_new or not is_read):
        return FileResult(path=path, ended="temporary", reason=f"{path}: {TEMPORARY}")
    if not isinstance(header, NotDatabase):
        return None
    is_lost = not header.named and (expected or is_called_database(path))
    return FileResult(path=path, ended="lost" if is_lost else "failed", reason=f"{path}: {reason}")


def signature_of(header: Header) -> str:
    """Signature of this database: random number and time of creation, hex and ISO."""
    created = header.signature.created
    return f"{header.signature.random}-{created.isoformat() if created else ''}"


class _Scan:
    def __init__(
        self, file: DatabaseFile, header: Header, options: ScanOptions, pace: Pace
    ) -> None:
        self._file = file
        self._header = header
        self._pace = pace
        self._page_size = header.page_size
        self._read_size = _whole(options, self._page_size)
        self._suspects = Suspects(file, self._page_size, pace)
        self._size = self._end = 0
        self._latencies = Latencies()
        self._remarks = [header.remark] if header.remark else []
        self._told: set[int] = set()
        self._failed = ""
        self._looks = 0
        self._next_look = time.monotonic() + LOOK_SECONDS

    def begin(self, place: Place | None, began: float, taken: float) -> None:
        """Take up `place`, or begin at the first page. Raises OSError."""
        self._measured(self._file.size())
        first = HEADER_PAGES * self._page_size
        fresh = Place(
            path=self._file.path,
            offset=first,
            size=self._size,
            signature=signature_of(self._header),
            page_size=self._page_size,
            began=began,
            taken=taken,
            counts=Counts(bytes=min(first, self._size)),
            file_state=self._file.state(),
        )
        why = "" if place is None else _unfit(place, fresh, self._end)
        if why:
            self._remarks.append(f"restarted: {why}")
        if place is None or why:
            self._tally = Tally(fresh)
        else:
            place = msgspec.structs.replace(
                place,
                path=fresh.path,
                taken=min(place.taken, taken),
                size=self._size,
                mixed=place.mixed or place.file_state != fresh.file_state,
            )
            self._tally = Tally(place)

    def steps(self, known_bad: Sequence[int]) -> Iterator[ScanStep]:
        """The header, known pages, all from the place on, and the result."""
        yield ScanStep(place=self._tally.place(), header=self._header)
        yield from self._known(known_bad)
        ended: Ended | None = None
        while ended is None:
            yield from self._pages()
            ended = self._how_it_ended()
        yield self._last(ended)

    def _how_it_ended(self) -> Ended | None:
        """After all that could be read from the place on. None: there is more to read now."""
        if self._failed or self._is_lost():
            return "failed"
        if self._tally.offset >= self._end:
            if self._went_on():
                return None
            return "failed" if self._is_another() else "complete"
        if over := self._pace.over():
            return over
        self._looks += 1
        if self._looks > MAX_LOOKS:
            self._failed = f"{self._file.path}: reads end before the end of the file"
            return "failed"
        return None

    def _is_lost(self) -> bool:
        """True if the file was deleted, replaced or cut; `_failed` says so then."""
        why, path = "", self._file.path
        try:
            inode, _, size = file_state(os.stat(path))  # noqa: PTH116 - a name is bytes
        except OSError:
            why = "it was deleted or renamed while it was read"
        else:
            if inode != self._file.state()[0]:
                why = "another file took its place while it was read"
            elif size < self._end:
                if self._is_another():
                    return True
                why = f"it shrank from {self._size} to {size} bytes while it was read"
        self._failed = f"{path}: {why}" if why else ""
        return bool(why)

    def _is_another(self) -> bool:
        """True if something else was written over this database; `_failed` says so then."""
        if self._file.state() == self._tally.place().file_state:
            return False
        header = read_header(self._file, sleep=self._pace.sleep)
        if not isinstance(header, NotDatabase) and (
            (signature_of(header), header.page_size)
            == (signature_of(self._header), self._page_size)
        ):
            return False
        what = "another file was written over it while it was read"
        if isinstance(header, NotDatabase):
            what = f"it was changed while it was read: {header.reason}"
        self._failed = f"{self._file.path}: {what}"
        return True

    def _went_on(self) -> bool:
        """At the end of what was known of the file: whether its last page is whole meanwhile."""
        while self._end < self._size and self._looks < MAX_LOOKS:
            self._looks += 1
            self._pace.sleep(PAUSE_SECONDS)
            size = self._file.size()
            if size >= self._end + self._page_size:
                self._measured(self._end + self._page_size)
                return True
            if size == self._size:
                break
            self._measured(size)
        grown = self._file.size()
        if grown > self._size:
            self._remarks.append(
                f"the file grew from {self._size} to {grown} bytes while it was read:"
                " what was added was not read"
            )
        return False

    def _measured(self, size: int) -> None:
        self._size = self._suspects.size = size
        self._end = size - size % self._page_size

    def _pages(self) -> Iterator[ScanStep]:
        """Read on from the place, as far as it goes without looking at the file's end again."""
        start = self._tally.offset
        pieces = stream(
            self._file,
            start,
            max(start, self._end),
            page_size=self._page_size,
            pace=self._pace,
            read_size=self._read_size,
        )
        for piece in pieces:
            if piece.error is None:
                self._latencies.add(piece.seconds)
                yield self._taken(piece.data, piece.classes)
            else:
                yield from self._salvaged(piece.offset, piece.length, piece.error)
            if self._tally.offset < piece.offset + piece.length:
                break
            if (now := time.monotonic()) >= self._next_look:
                self._next_look = now + LOOK_SECONDS
                if self._is_lost():
                    break

    def _taken(self, data: memoryview | bytes, classes: bytes) -> ScanStep:
        """The whole pages of `data` from the place on, as many as can be judged now."""
        classes, found = self._suspects.judged(
            number_at(self._tally.offset, self._page_size), data, classes
        )
        self._tally.pages(classes)
        return self._step(found)

    def _step(self, found: Sequence[ScannedBadPage]) -> ScanStep:
        for page in found:
            self._tally.bad(page)
        new = [page for page in found if page.page_number not in self._told]
        return ScanStep(place=self._tally.place(), found=new)

    def _salvaged(self, offset: int, length: int, error: OSError) -> Iterator[ScanStep]:
        unit = max(self._page_size, ALIGNMENT)
        for start in range(offset, offset + length, unit):
            if is_gone(error):
                self._failed = why_not_read(self._file.path, error)
            if self._failed or self._pace.over():
                return
            size = min(unit, offset + length - start)
            first = number_at(start, self._page_size)
            try:
                data = self._file.read(start, size)
            except OSError as again:
                error = again
                if not is_gone(error):
                    self._tally.unread(size)
                    yield self._step(
                        [
                            self._bad(first + at, "unreadable")
                            for at in range(size // self._page_size)
                        ]
                    )
            else:
                yield self._taken(data, classify(data, self._page_size, first))
                if self._tally.offset < start + size:
                    return

    def _bad(self, number: int, kind: Kind) -> ScannedBadPage:
        return ScannedBadPage(
            page_number=number, offset=offset_of(number, self._page_size), kind=kind
        )

    def _known(self, numbers: Sequence[int]) -> Iterator[ScanStep]:
        """State of the known bad pages now. One that is blank is neither good nor bad."""
        for number in numbers:
            offset = offset_of(number, self._page_size)
            if number < 1 or offset + self._page_size > self._end or number in self._told:
                continue
            if not self._pace.wait(self._page_size):
                return
            try:
                data = self._file.read(offset, self._page_size)
            except OSError as error:
                if is_gone(error):
                    raise
                self._told.add(number)
                yield ScanStep(found=[self._bad(number, "unreadable")])
                continue
            classes, found = self._suspects.judged(
                number, data, classify(data, self._page_size, number)
            )
            if found:
                self._told.add(number)
                yield ScanStep(found=found)
            elif classes == bytes([GOOD]):
                yield ScanStep(good=[number])

    def _last(self, ended: Ended) -> ScanStep:
        """The step with the result; a file that was cut has the page in it that is missing."""
        missing = self._missing() if ended == "complete" else None
        found = [] if missing is None else [self._bad(missing.first, "truncated")]
        self._tally.size = self._size
        step = self._step(found)
        at = f"at {self._tally.offset} of {self._size} bytes"
        reasons = {
            "complete": "",
            "time": f"the time was up {at}",
            "stopped": f"stopped {at}",
            "failed": self._failed,
        }
        step.result = FileResult(
            path=self._file.path,
            ended=ended,
            reason=reasons[ended],
            header=self._header,
            place=step.place,
            latency=self._latencies.percentiles(),
            direct=self._file.direct,
            missing=missing,
            remarks=self._remarks,
        )
        return step

    def _missing(self) -> MissingPages | None:
        """The page that the file ends within, and those that it must have and has not. A dirty
        database may lack pages until its logs are replayed."""
        behind = max(1, number_at(self._end, self._page_size))
        missing = None
        if self._header.state == "clean":
            missing = missing_pages(self._file, self._page_size, behind)
        if self._end < self._size or self._end <= HEADER_PAGES * self._page_size:
            last = missing.last if missing else 0
            return MissingPages(first=behind, last=last, how=self._how_it_is_cut())
        return missing

    def _how_it_is_cut(self) -> Literal["ends", "ends within", "ends within header"]:
        if self._size < HEADER_PAGES * self._page_size:
            return "ends within header"
        return "ends within" if self._end < self._size else "ends"


def _whole(options: ScanOptions, page_size: int) -> int:
    """The read size in whole pages, and in whole blocks of a disk."""
    size = options.read_size or (THROTTLED_READ_SIZE if options.throttle else READ_SIZE)
    if options.rate and not options.read_size:
        # Several reads a second, so that little is lost when it is killed.
        limit = THROTTLED_READ_SIZE if options.throttle else RATED_READ_SIZE
        size = min(limit, int(options.rate / 4))
    unit = max(page_size, ALIGNMENT)
    return max(unit, size - size % unit)


def _unfit(place: Place, fresh: Place, end: int) -> str:
    if (place.signature, place.page_size) != (fresh.signature, fresh.page_size):
        return "the position is that of another database"
    if place.offset > end:
        return f"the file ends before the position, byte {place.offset}"
    if place.offset < fresh.offset or place.offset % place.page_size:
        return f"the position, byte {place.offset}, is not the start of a page of this file"
    return ""
