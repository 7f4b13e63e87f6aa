"""Suspect pages: torn reads are separated from bad pages, and bad pages are identified."""

import re

from esefiles.pages.checksum import Diagnosis, diagnose
from esefiles.pages.kernels import classify
from esefiles.pages.layout import BLANK, GOOD, SUSPECT, PageClass, offset_of
from esefiles.scans.pace import Pace
from esefiles.scans.reading.reading import DatabaseFile
from esefiles.scans.results import ScannedBadPage

MAX_READS = 16
"""Reads of one page whose content changes each time, before it is taken as it is."""

PAUSE_SECONDS = 0.02
"""A write that was met half done ends meanwhile."""

MAX_PAUSES = 100
"""For bad pages of one scan: a file of foreign bytes must not be waited for at each page."""

_RUN = re.compile(bytes([SUSPECT]) + b"{1,256}")
"""Consecutive suspect pages that are read again at once."""

_RELATIONS = slice(16, 28)
"""Previous and next page and object id in the page header: hardly two pages share them."""

Verdict = ScannedBadPage | PageClass
"""GOOD or BLANK, or what is wrong."""


class Suspects:
    """Judges the pages of one file that did not verify."""

    def __init__(self, file: DatabaseFile, page_size: int, pace: Pace) -> None:
        self.size = 0
        """End of the file: set it before the first page is judged."""
        self._file = file
        self._page_size = page_size
        self._pace = pace
        self._pauses = MAX_PAUSES

    def judged(
        self, number: int, data: memoryview | bytes, classes: bytes
    ) -> tuple[bytes, list[ScannedBadPage]]:
        """The classes of the pages of `data` from page `number` on, and which of them are bad.

        Suspect pages are read again past the cache: one is bad when the same bytes come twice,
        or others each time. Those found good or blank have that class then. Fewer classes than
        pages: the file ends before the next page now, or the scan is over.
        """
        final, bad = bytearray(classes), []
        for run in _RUN.finditer(classes):
            first, end = run.span()
            pages = bytes(data[first * self._page_size : end * self._page_size])
            verdicts = self._judge(number + first, pages)
            for at, verdict in enumerate(verdicts, start=first):
                if isinstance(verdict, ScannedBadPage):
                    bad.append(verdict)
                else:
                    final[at] = verdict
            if len(verdicts) < end - first:
                return bytes(final[: first + len(verdicts)]), bad
        return bytes(final), bad

    def _judge(self, number: int, pages: bytes) -> list[Verdict]:
        pauses = self._pauses
        if not self._wait():
            return []
        again = self._read(number, len(pages))
        verdicts: list[Verdict] = []
        for start in range(0, len(pages), self._page_size):
            end = start + self._page_size
            second = None if again is None else again[start:end]
            verdict = self._settle(number + len(verdicts), pages[start:end], second)
            if verdict is None:
                break
            verdicts.append(verdict)
        if not all(isinstance(verdict, ScannedBadPage) for verdict in verdicts):
            # A live database has torn reads as long as it is scanned.
            self._pauses = pauses
        return verdicts

    def _settle(self, number: int, page: bytes, second: bytes | None) -> Verdict | None:
        for _ in range(MAX_READS):
            # A second read that fails takes nothing back of what the first one saw.
            if second is None or second == page:
                break
            if len(second) < self._page_size:
                return None
            kind = classify(second, self._page_size, number)[0]
            if kind != SUSPECT:
                return GOOD if kind == GOOD else BLANK
            page = second
            if not self._wait():
                return None
            second = self._read(number, self._page_size)
        return self._named(number, page)

    def _wait(self) -> bool:
        if self._pauses == 0:
            return not self._pace.over()
        self._pauses -= 1
        return self._pace.sleep(PAUSE_SECONDS)

    def _read(self, number: int, length: int) -> bytes | None:
        try:
            return self._file.read(offset_of(number, self._page_size), length)
        except OSError:
            return None

    def _named(self, number: int, page: bytes) -> Verdict:
        offset = offset_of(number, self._page_size)
        found = diagnose(page, number, last=offset + self._page_size == self.size)
        if found.fault is None:
            return GOOD
        if found.maybe_flipped and not self._was_misplaced(number, page, found):
            found = Diagnosis(fault="checksum")
        return ScannedBadPage(
            page_number=number,
            offset=offset,
            kind=found.fault or "checksum",
            block=found.block,
            bit=found.bits[0] if found.bits else None,
            bits=found.bits if len(found.bits) > 1 else (),
            written_as=found.written_as,
        )

    def _was_misplaced(self, number: int, page: bytes, found: Diagnosis) -> bool:
        """True if the page belongs to the number it seems to have, and is not damaged itself.

        It must be one of this file. Numbers that differ in several bits are hardly so by
        chance. Those that differ in one bit are judged by what stands in the other place:
        an older or newer form of the page, or the page it was swapped with.
        """
        other = found.written_as or 0
        if other < 1 or offset_of(other + 1, self._page_size) > self.size:
            return False
        if (number ^ other).bit_count() > 1:
            return True
        there = self._read(other, self._page_size)
        if there is None or len(there) < self._page_size or not any(there):
            return False
        if classify(there, self._page_size, other)[0] == SUSPECT:
            return diagnose(there, other).written_as == number
        return there[_RELATIONS] == page[_RELATIONS]
