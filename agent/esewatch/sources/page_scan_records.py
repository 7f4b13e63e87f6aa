"""What the scanning process tells, as records of the fold."""

from typing import Final

from esewatch.ese.header import Header
from esewatch.fold.state import UNLOCATED
from esewatch.model import CopyChecked, HeaderSeen, PageFault, PagesScanned
from esewatch.scan.results import BadPage, Counts, Kind, Place, Step

FAULTS: Final[dict[Kind, PageFault]] = {
    "checksum": "uncorrectable",
    "correctable": "corrected",
    "wrong_page": "wrong_page",
    "truncated": "uncorrectable",
    "unreadable": "uncorrectable",
}
_STATES: Final = {"clean": "clean shutdown", "dirty": "dirty shutdown"}


def is_same_pass(before: Place | None, place: Place) -> bool:
    """Whether `place` is one of the pass that stood at `before`."""
    return (
        before is not None
        and before.began == place.began
        and before.signature == place.signature
        and before.offset <= place.offset
    )


def pages_scanned(
    computer: str, database: str, before: Place | None, step: Step, *, taken: float, now: float
) -> PagesScanned | None:
    """The increments since `before`, None where there is nothing to tell.

    `before` is where the same pass stood, None where it had not begun. `now` is when it was
    read, `taken` what known pages that were read again show: their step has no place.
    """
    old = before.counts if before is not None else Counts()
    new = step.place.counts if step.place is not None else old
    piece = PagesScanned(
        time=step.place.taken if step.place is not None else taken,
        computer=computer,
        database=database,
        read=now,
        pages=new.pages_seen - old.pages_seen,
        bytes=new.bytes - old.bytes,
        bad=new.bad() - old.bad(),
        found=_faults(step.found),
        good=tuple(step.good),
    )
    return piece if piece.pages or piece.bytes or piece.bad or piece.found or piece.good else None


def copy_checked(computer: str, database: str, place: Place, header: Header | None) -> CopyChecked:
    """What a pass that came to the end of the file proves.

    A header that is damaged in both its copies is a bad page without a number.
    """
    counts = place.counts
    lost = header is not None and not (header.header_ok or header.shadow_header_ok)
    bad_pages = _faults(counts.listed)
    return CopyChecked(
        time=place.taken,
        computer=computer,
        database=database,
        by="page_scan",
        complete=True,
        pages_seen=counts.pages_seen,
        bad=counts.bad() + lost,
        uninitialized=counts.uninitialized_pages,
        size_bytes=place.size,
        bad_pages=(*bad_pages, (UNLOCATED, "uncorrectable")) if lost else bad_pages,
    )


def header_seen(
    computer: str, database: str, header: Header, size: int | None, time: float
) -> HeaderSeen:
    """What the header of a file says, as of `time`."""
    return HeaderSeen(
        time=time,
        computer=computer,
        database=database,
        page_size=header.page_size,
        size_bytes=size,
        state=_STATES.get(header.state, header.state),
        bad_checksums=header.bad_checksums.count,
        corrected=header.corrected.count,
        correction_failed=header.correction_failed.count,
    )


def _faults(pages: list[BadPage]) -> tuple[tuple[int, PageFault], ...]:
    return tuple((page.page_number, FAULTS[page.kind]) for page in pages)
