"""Checksum scans of one or two databases on a LUN, on modelled drives."""

from collections.abc import Sequence
from typing import Any, Final

from eselab.lab import readings
from eselab.lab.bench import Bench, Load
from eselab.lab.frame import Comparison, Experiment, Findings, ResultRow, Signal, compared, ratio
from eselab.lab.readings import Scan

PAGE: Final = 8192
PAGES: Final = 8_000
DRIVES: Final[dict[str, Any]] = {"model": "sas-10k-2006", "spindles": 8, "write_cache": 256 << 20}
"""Of a LUN of any experiment: drives of the engine's data sheets behind a controller's cache."""

READ: Final = 327_680
"""Bytes of a read of a scan."""
OUTSTANDING: Final = 3
"""Reads of a scan that are under way at once, as the published rows have it (`_in_flight`)."""
STREAM_SECONDS: Final = 30.0
_APART: Final = 1 << 37
"""Bytes from the begin of one database to that of the other."""
_OFFSET, _LENGTH, _SECONDS = 60.0, 240.0, 360.0
_PUBLISHED: Final = {"pages": (30_000.0, 8_200.0), "MB": (250.0, 67.0), "latency": (3.5, 7.2)}
_KIND: Final = "modelled disk"


def plan(luns: Sequence[str], pages: int) -> dict[str, Any]:
    """A database on each of the LUNs named, which may be the same one; no pauses in the scan."""
    return {
        "databases": [
            {
                "name": f"priv{number}",
                "page_size": PAGE,
                "pages": pages,
                "device": lun,
                "window": {"offset": _OFFSET, "length": _LENGTH},
                "defrag_pause": _LENGTH,
                "scan_throttle": 0.0,
            }
            for number, lun in enumerate(luns, 1)
        ],
        "devices": [{"name": lun, "disks": DRIVES} for lun in dict.fromkeys(luns)],
        "sample": 1.0,
    }


class Measured:
    """The scans of a run, together."""

    def __init__(self, scans: Sequence[Scan], latency: float | None) -> None:
        """`latency`: milliseconds of a read."""
        self.latency = latency
        self.pages: float | None = None
        """A second, the sum."""
        self.each: float | None = None
        """A second, the mean of the databases."""
        if scans:
            span = max(scan.end for scan in scans) - min(scan.begin for scan in scans)
            self.pages = sum(scan.pages for scan in scans) / span
            rates = [scan.pages / (scan.end - scan.begin) for scan in scans]
            self.each = sum(rates) / len(rates)


def measured(bench: Bench, name: str, luns: Sequence[str], pages: int) -> Measured:
    """Scan a database of so many pages on each of the LUNs named, all at the same time.

    Raises LabError, OSError.
    """
    run = bench.engine(name, plan(luns, pages), _SECONDS)
    busy = [
        sample
        for sample in readings.samples(run.readings())
        if sample.get(readings.SCANNED, 0.0) > 0
    ]
    latency = readings.latency(busy, readings.DATABASE_READ_LATENCY, readings.DATABASE_READS)
    return Measured(readings.scans(run.events()), latency)


def streams(bench: Bench, name: str, scans: int, seconds: float, **workload: Any) -> list[Load]:
    """So many scans on one LUN, without databases. `workload`: more words of `engine disks`."""
    plan = {
        "lun": DRIVES,
        "workloads": [
            {
                "name": f"scan{number}",
                "bytes": READ,
                "offset": number * _APART,
                "span": _APART,
                "seconds": seconds,
                **workload,
            }
            for number in range(scans)
        ],
    }
    return list(bench.disks(name, plan).values())


def run(bench: Bench, pages: int = PAGES, seconds: float = STREAM_SECONDS) -> Findings:
    """See EXPERIMENT. `pages`: of a database; `seconds`: of the scans without one."""
    one = measured(bench, "one", ["lun7"], pages)
    two = measured(bench, "two", ["lun7", "lun7"], pages)
    apart = measured(bench, "apart", ["lun7", "lun8"], pages)
    alone, both = (
        streams(bench, name, scans, seconds, outstanding=OUTSTANDING)
        for name, scans in (("stream", 1), ("streams", 2))
    )
    rows = [
        *_rows("one database", one.pages, one.latency, 0),
        *_rows("two on one LUN, sum of both", two.pages, two.latency, 1),
        *_rows("two on one LUN, each", two.each, two.latency, 1),
        *_rows("two on two LUNs, sum of both", apart.pages, apart.latency, None),
        *_stream_rows(f"one, {OUTSTANDING} reads outstanding", alone, 0),
        *_stream_rows(f"each of two on one LUN, {OUTSTANDING} reads outstanding", both, 1),
    ]
    return Findings(
        rows=rows,
        comparisons=[*_comparisons(one, two), *_of_streams(alone, both)],
        remarks=[_in_flight()],
    )


def _rows(case: str, pages: float | None, latency: float | None, at: int | None) -> list[ResultRow]:
    figures = (
        ("pages read", "pages/s", "pages", pages),
        ("read", "MB/s", "MB", None if pages is None else pages * PAGE / 1e6),
        ("read latency", "ms", "latency", latency),
    )
    return [
        ResultRow(
            quantity=quantity,
            case=case,
            unit=unit,
            kind=_KIND,
            published=None if at is None else _PUBLISHED[key][at],
            ours=ours,
        )
        for quantity, unit, key, ours in figures
    ]


def _stream_rows(case: str, loads: Sequence[Load], at: int) -> list[ResultRow]:
    _, *rows = _rows(case, _rate(loads) / PAGE, _latency(loads), at)
    return rows


def _rate(loads: Sequence[Load]) -> float:
    """Bytes a second of one of them, on average."""
    return sum(each.bytes_per_second for each in loads) / len(loads)


def _latency(loads: Sequence[Load]) -> float:
    """Milliseconds of a read."""
    return sum(each.latency_mean for each in loads) / len(loads) * 1e3


def _of_streams(alone: Sequence[Load], both: Sequence[Load]) -> list[Comparison]:
    (fast, shared), (quick, slow) = _PUBLISHED["MB"], _PUBLISHED["latency"]
    why = "two scans together lose another share of what one does alone"
    return [
        compared(
            f"MB/s of one, by each of two: {OUTSTANDING} reads outstanding",
            _KIND, fast / shared, _rate(alone) / _rate(both), why=why,
        ),
        compared(
            f"read latency of two, by that of one: {OUTSTANDING} reads outstanding",
            _KIND, slow / quick, _latency(both) / _latency(alone), why=why,
        ),
    ]  # fmt: skip


def _comparisons(one: Measured, two: Measured) -> list[Comparison]:
    alone, together = _PUBLISHED["MB"]
    quick, slow = _PUBLISHED["latency"]
    return [
        compared(
            "MB/s of one, by the sum of two (second row read as the sum)",
            _KIND, alone / together, ratio(one.pages, two.pages),
            why="two scans together lose another share of what one does alone",
        ),
        compared(
            "MB/s of one, by each of two (second row read as one of them)",
            _KIND, alone / together, ratio(one.pages, two.each),
            why="two scans together lose another share of what one does alone",
        ),
        compared(
            "read latency of two, by that of one",
            _KIND, slow / quick, ratio(two.latency, one.latency),
            why="the published single scan had several outstanding reads, which already wait for"
                " each other; the engine's scan has one, which waits for nothing",
        ),
    ]  # fmt: skip


def _in_flight() -> str:
    """Little's law on the published rows: bytes under way = rate x latency."""
    reads = [
        rate * 1e6 * latency / 1e3 / READ
        for rate, latency in zip(_PUBLISHED["MB"], _PUBLISHED["latency"], strict=True)
    ]
    return (
        f"By its rate and latency the published single scan had {reads[0]:.1f} outstanding reads"
        f" of 320 KB; in the second row it is {reads[1]:.1f} if that is the sum,"
        f" {2 * reads[1]:.1f} if it is one of two. The engine has one for each scan, the streams"
        f" without a database have {OUTSTANDING}."
    )


EXPERIMENT: Final = Experiment(
    name="checksum-parallel",
    article="P1",
    question="What does it cost to checksum two databases on one LUN at the same time?",
    setup=[
        f"Databases of {PAGES:,} pages of 8 KB on a LUN of 8 modelled drives of 10,000 rpm with"
        " 256 MiB of write cache, read 320 KB at a time without pauses.",
        "MB are millions of bytes. Rates are pages seen divided by the time between events 717"
        " and 721; latency is the counter of database reads during the scan.",
        "The published second row does not say whether it is one database or the sum of both:"
        " each interpretation has a line.",
    ],
    steps=5,
    run=run,
    signals=[
        Signal(side="good", case="one database"),
        Signal(side="bad", case="two on one LUN", alerts=("EseScansCollide",)),
        Signal(side="good", case="two on two LUNs"),
    ],
)
