"""What a pass over a file found so far, and where it stands."""

import time
from copy import copy

import msgspec

from esewatch.ese.page import BLANK
from esewatch.scan.results import MAX_LISTED, BadPage, Place


class Tally:
    """Counts the pages of one file in their order. `place` is where it begins."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._counts = copy(place.counts)
        self._began = time.monotonic() - place.counts.seconds
        self.offset = place.offset
        """The next byte to read."""
        self.size = place.size
        """Bytes of the file."""

    def pages(self, classes: bytes) -> None:
        """Whole pages that were read, with what they are: BLANK, or anything else."""
        size = len(classes) * self._place.page_size
        self._counts.pages_seen += len(classes)
        self._counts.uninitialized_pages += classes.count(BLANK)
        self._counts.bytes += size
        self.offset += size

    def unread(self, size: int) -> None:
        """Bytes that could not be read."""
        self._counts.unread_bytes += size
        self.offset += size

    def bad(self, page: BadPage) -> None:
        """A bad page of any kind; also `pages` or `unread` must be told of it."""
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
        """Where it stands now; does not change any more."""
        counts = copy(self._counts)
        counts.seconds = time.monotonic() - self._began
        return msgspec.structs.replace(
            self._place, offset=self.offset, size=self.size, counts=counts
        )
