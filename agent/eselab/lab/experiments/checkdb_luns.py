"""Eight files read as their plan says: by drive letter one after another, by device all at once."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from eselab.lab.bench import Bench
from eselab.lab.experiments.checksum_parallel import PAGE, measured
from eselab.lab.frame import Comparison, Experiment, Findings, ResultRow, Span, compared, ratio

FILES: Final = 8
SIZE: Final = 350_000_000_000
PATH_RATE: Final = 800e6
"""Bytes a second that the published SAN allows to all LUNs together."""
PAGES: Final = 8_000

_HOUR: Final = 3600.0
_SERIAL: Final = 4.0
_LETTERS: Final = 2 + 7 / 60
_FLAGGED: Final = 1 + 57 / 60
"""Published hours: one letter (over), a letter for each LUN, trace flag 2562."""
_KIND: Final = "modelled disk"


class Course:
    """Lanes at work, all from the same moment on: until when, and how many LUNs are busy."""

    def __init__(self, lanes: Sequence[Sequence[int]], rate: float) -> None:
        """`lanes`: bytes of the files of each, one behind the other.

        `rate`: bytes a second of a LUN alone; together they have PATH_RATE, in equal parts.
        """
        left = [[float(size) for size in lane] for lane in lanes]
        self.seconds = 0.0
        used = 0.0
        while active := [files for files in left if files]:
            each = min(rate, PATH_RATE / len(active))
            step = min(files[0] for files in active) / each
            self.seconds += step
            used += step * len(active)
            for files in active:
                files[0] -= step * each
                # What is left of a file that ends now is less than a byte, for rounding.
                if files[0] < 1:
                    files.pop(0)
        self.busy = used / self.seconds
        """LUNs at work, the mean."""


def run(bench: Bench, pages: int = PAGES) -> Findings:
    """See EXPERIMENT. `pages`: of the database with which the rate of a LUN is measured."""
    scanned = measured(bench, "lun", ["lun1"], pages).pages
    rate = None if scanned is None else scanned * PAGE
    letter, device = (lanes(by_device=by_device) for by_device in (False, True))
    slow, quick = (None if rate is None else Course(lanes, rate) for lanes in (letter, device))
    return Findings(
        rows=_rows(slow, quick, rate),
        comparisons=[_compared(slow, quick)],
        remarks=[
            f"{len(letter)} lane of {len(letter[0])} files by letter,"
            f" {len(device)} lanes of {len(device[0])} by device.",
            "CHECKDB does more than read: the published runs stayed under 400 MB/s where a"
            " backup had over 700. Here the files are only read, so it takes fewer hours.",
        ],
    )


def lanes(*, by_device: bool) -> list[list[int]]:
    """Sizes of the files of each lane, for volumes that are mounted below one letter.

    As the page scan plans them: a lane for each device, with the files on it.
    """
    devices = Counter(f"lun{at}" if by_device else "e:" for at in range(1, FILES + 1))
    return [[SIZE] * files for files in devices.values()]


def _rows(slow: Course | None, quick: Course | None, rate: float | None) -> list[ResultRow]:
    cases: tuple[tuple[str, Course | None, Span, float], ...] = (
        ("planned by letter", slow, Span(least=_SERIAL), 1.0),
        ("planned by device", quick, Span(least=_FLAGGED, most=_LETTERS), float(FILES)),
    )
    rows = []
    for case, course, hours, busy in cases:
        ours = None if course is None else course.seconds / _HOUR
        used = None if course is None else course.busy
        rows += [
            ResultRow(quantity="time", case=case, unit="h", kind=_KIND, published=hours, ours=ours),
            ResultRow(
                quantity="LUNs busy", case=case, unit="at a time", kind=_KIND,
                published=busy if course is slow else None, ours=used,
            ),
        ]  # fmt: skip
    read = None if rate is None else rate / 1e6
    rows.append(
        ResultRow(quantity="read from a LUN", case="alone", unit="MB/s", kind=_KIND, ours=read)
    )
    return rows


def _compared(slow: Course | None, quick: Course | None) -> Comparison:
    found = None if slow is None or quick is None else ratio(slow.seconds, quick.seconds)
    return compared(
        "time by letter, by time by device",
        _KIND,
        Span(least=_SERIAL / _LETTERS, most=_SERIAL / _FLAGGED),
        found,
        why="how much is won depends on how many LUNs fill the path to the host, and CHECKDB"
        " has limits of its own",
    )


EXPERIMENT: Final = Experiment(
    name="checkdb-luns",
    article="P5",
    question="What does it cost to plan reads by drive letter when each file has its own LUN?",
    setup=[
        f"{FILES} files of 350 GB on {FILES} LUNs that are mounted below one letter: the files"
        " of a lane one after the other, the lanes in parallel, by the plan of the page scan.",
        "The rate of a LUN is that of a checksum scan on 8 modelled drives of 10,000 rpm. The"
        " path to the host is the published one: 800 MB/s for all LUNs. This divided by the rate"
        " of a LUN is the maximum gain of a plan.",
        "The published 4 hours are a lower bound.",
    ],
    steps=1,
    run=run,
)
