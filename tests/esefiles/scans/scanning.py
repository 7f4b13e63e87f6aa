"""Scans of tests: all steps at once, or up to a place."""

from collections.abc import Callable, Sequence
from pathlib import Path

from esefiles.scans.pace import Pace
from esefiles.scans.results import Counts, FileResult, Place, ScannedBadPage, ScanStep
from esefiles.scans.verify.file_scan import ScanOptions, scan_file


class Scanned:
    """What the steps of one scan said."""

    def __init__(self, steps: list[ScanStep]) -> None:
        assert [step.result is None for step in steps] == [True] * (len(steps) - 1) + [False]
        self.steps = steps
        result = steps[-1].result
        assert result is not None
        self.result: FileResult = result
        self.found: list[ScannedBadPage] = [page for step in steps for page in step.found]
        self.good: list[int] = [number for step in steps for number in step.good]

    @property
    def place(self) -> Place:
        assert self.result.place is not None
        return self.result.place

    @property
    def counts(self) -> Counts:
        return self.place.counts

    @property
    def kinds(self) -> dict[int, str]:
        """Page number -> kind, of the bad pages that are listed."""
        return {page.page_number: page.kind for page in self.counts.listed}


def scan(
    path: Path | str,
    *,
    read_size: int | None = None,
    pace: Pace | None = None,
    place: Place | None = None,
    taken: float | None = None,
    known_bad: Sequence[int] = (),
    clock: Callable[[], float] = lambda: 1000.0,
) -> Scanned:
    steps = scan_file(
        str(path),
        ScanOptions(read_size=read_size),
        pace or Pace(),
        place=place,
        taken=taken,
        known_bad=known_bad,
        clock=clock,
    )
    return Scanned(list(steps))
