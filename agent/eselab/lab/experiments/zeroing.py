"""Page zeroing in the checksum scan: its rates, and the logs that it makes."""

from collections.abc import Sequence
from statistics import mean
from typing import Any, Final

import msgspec

from eselab.lab import readings
from eselab.lab.agent import Event, Reading
from eselab.lab.bench import DAY, Bench, Load
from eselab.lab.experiments.checksum_parallel import DRIVES, PAGE, READ, STREAM_SECONDS, streams
from eselab.lab.frame import (
    Comparison,
    Experiment,
    Findings,
    ResultRow,
    Signal,
    Span,
    compared,
    ratio,
)
from eselab.lab.readings import GENERATION, ZEROING

PAGES: Final = 4000
NIGHTS: Final = 4

_KEPT: Final = 40.0
"""Days. Of a database of PAGES, about as many pages change between two passes as in event 722."""
_UNCHANGED: Final = 100 * 4_379_723 / 5_850_768
"""Percent of the pages that a later pass passed over, of event 722 in the article."""
_GENERATION: Final = 1 << 20
"""Bytes of a log of the engine."""
_HOUR: Final = 3600.0
_SAMPLE: Final = 15.0
_QUANTITIES: Final = (
    ("pages zeroed", "pages/s", 8100.0, 6800.0),
    ("read", "MB/s", 68.0, 65.0),
    ("written", "MB/s", 66.0, 50.0),
    ("read latency", "ms", 3.4, 7.2),
)
"""Published with one database and with two."""
_OTHER: Final = "two scans together lose another share of what one does alone"
_MORE: Final = (
    "in this reading, two published scans together did more than one alone; here they do less"
)
_CACHED: Final = (
    "a stream waits for its own write before it reads on, and the drives rest meanwhile: two of"
    " them together do more than one"
)
_FIRST: Final = Span(least=2.0, most=5.0)
_DISK: Final = "modelled disk"
_COUNTED: Final = "engine-counted"


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """First passes of the databases of a run, in the order of _QUANTITIES."""

    total: Sequence[float | None]
    """The sum of all databases; the latency is their mean."""
    each: Sequence[float | None]
    """The mean of the databases."""


class Logs(msgspec.Struct, frozen=True, kw_only=True):
    """MB of log that one database made; None: there was no such pass."""

    first: float | None
    later: float | None
    """Of a later pass, the mean."""
    defrag: float | None
    """Of online defragmentation in a night, the mean."""
    unchanged: float | None
    """Percent of the pages that the last pass passed over."""


def plan(databases: int, pages: int) -> dict[str, Any]:
    """So many databases on one LUN, with half a window of four hours for zeroing."""
    return {
        "databases": [
            {
                "name": f"priv{number}",
                "page_size": PAGE,
                "pages": pages,
                "cache_pages": pages // 20,
                "device": "lun7",
                "window": {"offset": _HOUR, "length": 4 * _HOUR},
                "mail": {"kept": _KEPT},
                "defrag_pause": 1.67 * _HOUR / pages,
                "scan_throttle": 0.0,
                "zero": True,
            }
            for number in range(1, databases + 1)
        ],
        "devices": [{"name": "lun7", "disks": DRIVES}],
        "sample": _SAMPLE,
    }


def run(
    bench: Bench, pages: int = PAGES, nights: int = NIGHTS, seconds: float = STREAM_SECONDS
) -> Findings:
    """See EXPERIMENT. `pages`: of a database; `nights`: of the run of one database.

    `seconds`: of virtual time, of each stream.
    """
    alone = bench.engine("one", plan(1, pages), nights * DAY)
    counted, told = alone.readings(), alone.events()
    scans = readings.scans(told, ZEROING)
    one, logs = _rates(scans[:1], counted), _logs(scans, counted, nights, _unchanged(told))
    together = bench.engine("two", plan(2, pages), 6 * _HOUR)
    two = _rates(readings.scans(together.events(), ZEROING), together.readings())
    stream, both = (
        _streamed(streams(bench, name, scans, seconds, operation="update"))
        for name, scans in (("stream", 1), ("streams", 2))
    )
    rows = [
        ResultRow(
            quantity=quantity, case=case, unit=unit, kind=_DISK, published=shown[at], ours=ours
        )
        for case, at, found in (
            ("one database", 0, one.total),
            ("two, sum of both", 1, two.total),
            ("two, each", 1, two.each),
            ("one stream", 0, stream.each),
            ("each of two streams", 1, both.each),
        )
        for (quantity, unit, *shown), ours in zip(_QUANTITIES, found, strict=True)
    ]
    rows += [
        ResultRow(quantity="logs", case=case, unit="MB", kind=_COUNTED, ours=ours)
        for case, ours in (
            ("first pass", logs.first),
            ("later pass", logs.later),
            ("online defragmentation in a night", logs.defrag),
        )
    ]
    rows.append(
        ResultRow(
            quantity="pages unchanged since the pass before", case="later pass", unit="%",
            kind=_COUNTED, published=_UNCHANGED, ours=logs.unchanged,
        )
    )  # fmt: skip
    return Findings(
        rows=rows, comparisons=[*_of_rates(one, two), *_of_streams(stream, both), *_of_logs(logs)]
    )


def _unchanged(events: Sequence[Event]) -> float | None:
    """Percent, of the third pass or a later one: the second examines what the first one changed."""
    last = [event.fields for event in events if event.event_id == ZEROING[-1]][2:][-1:]
    for fields in last:
        unchanged, seen = fields.get("pages_unchanged"), fields.get("pages_seen")
        if isinstance(unchanged, int) and isinstance(seen, int):
            return 100 * unchanged / seen
    return None


def _streamed(loads: Sequence[Load]) -> Rates:
    """Half of what a stream does are reads."""
    rate = mean(load.bytes_per_second for load in loads) / 2
    latency = mean(load.latency_read or 0.0 for load in loads) * 1e3
    each = [rate / PAGE, rate / 1e6, rate / 1e6, latency]
    return Rates(total=[*(value * len(loads) for value in each[:-1]), latency], each=each)


def _rates(scans: Sequence[readings.Scan], counted: Sequence[Reading]) -> Rates:
    """Pages are written before the pass completes, so what was zeroed was written by then."""
    each = []
    for scan in scans:
        seconds = scan.end - scan.begin
        rate = readings.points(counted, scan.instance, readings.ZEROED)
        zeroed = readings.summed(rate, scan.begin, scan.end) / seconds
        each.append((zeroed, scan.pages * PAGE / seconds / 1e6, zeroed * PAGE / 1e6))
    busy = [sample for sample in readings.samples(counted) if sample.get(readings.ZEROED, 0.0) > 0]
    latency = readings.latency(busy, readings.DATABASE_READ_LATENCY, readings.DATABASE_READS)
    columns = list(zip(*each, strict=True)) or [()] * 3
    return Rates(
        total=[*(sum(column) if column else None for column in columns), latency],
        each=[*(mean(column) if column else None for column in columns), latency],
    )


def _logs(
    scans: Sequence[readings.Scan], counted: Sequence[Reading], nights: int, unchanged: float | None
) -> Logs:
    if not scans:
        return Logs(first=None, later=None, defrag=None, unchanged=None)
    instance = scans[0].instance
    generations = readings.points(counted, instance, GENERATION)
    made = [readings.grown(generations, scan.begin, scan.end) * _GENERATION / 1e6 for scan in scans]
    rate = readings.points(counted, instance, readings.DEFRAG_LOG_BYTES)
    defrag = readings.summed(rate, rate[0].time, rate[-1].time) / nights / 1e6 if rate else None
    later = mean(made[1:]) if made[1:] else None
    return Logs(first=made[0], later=later, defrag=defrag, unchanged=unchanged)


def _of_rates(one: Rates, two: Rates) -> list[Comparison]:
    found = []
    for at, (quantity, unit, alone, both) in enumerate(_QUANTITIES[:-1]):
        for reading, of, why in (
            ("the sum of two", two.total, _OTHER),
            ("each of two", two.each, _MORE),
        ):
            found.append(
                compared(
                    f"{quantity}, {unit} of one, by {reading}",
                    _DISK, alone / both, ratio(one.total[at], of[at]),
                    why=why,
                )
            )  # fmt: skip
    *_, alone, both = _QUANTITIES[-1]
    found.append(
        compared(
            "read latency of two, by that of one", _DISK, both / alone,
            ratio(two.total[-1], one.total[-1]),
            why="the engine completes a request before it considers the next, and one step of a"
                " database can write much that the other's reads wait for",
        )
    )  # fmt: skip
    return found


def _of_streams(one: Rates, two: Rates) -> list[Comparison]:
    """Reads alone: a stream writes as much as it reads."""
    (_, _, alone, both), (_, _, quick, slow) = _QUANTITIES[1], _QUANTITIES[-1]
    return [
        *(
            compared(
                f"read, MB/s of one, by {reading}: streams", _DISK, alone / both,
                ratio(one.each[1], of[1]), why=_CACHED,
            )
            for reading, of in (("the sum of two", two.total), ("each of two", two.each))
        ),
        compared(
            "read latency of two, by that of one: streams", _DISK, slow / quick,
            ratio(two.each[-1], one.each[-1]), why=_CACHED,
        ),
    ]  # fmt: skip


def _of_logs(logs: Logs) -> list[Comparison]:
    return [
        compared(
            "logs of the first pass, by those of a later one", _COUNTED, _FIRST,
            ratio(logs.first, logs.later),
            why="the first pass has something to zero in nearly every page, a later one in few",
        ),
        compared(
            "logs of a later pass, by those of online defragmentation in a night", _COUNTED, 1.0,
            ratio(logs.later, logs.defrag),
            why="a zeroed page is logged as a whole here, where a published log had 2,500 to 10,000"
                " pages, and after a day far more pages have something to zero than defragmentation"
                " frees",
        ),
    ]  # fmt: skip


EXPERIMENT: Final = Experiment(
    name="zeroing",
    article="P1",
    question="What does page zeroing cost, alone and for two databases on one LUN?",
    setup=[
        f"Databases of {PAGES:,} pages of 8 KB on a LUN of 8 modelled drives of 10,000 rpm with"
        f" 256 MiB of write cache, one database for {NIGHTS} nights, then two for one night."
        " Rates are of the first pass, divided by the time between events 718 and 722; MB are"
        " millions of bytes.",
        "The published second row does not say whether it is one database or the sum of both.",
        "Streams without a database do the same on the same LUN, one for"
        f" {STREAM_SECONDS:g} s, then two: one read of {READ >> 10} KB is outstanding, and is"
        " written back before the next one. By their rate and latency the published scans had 0.7"
        " outstanding reads alone, and together 1.4 if the second row is the sum.",
        f"Messages are kept {_KEPT:g} days, so that about as many pages change between two passes"
        " as in the article's event 722.",
        "Logs are counted in generations of 1 MiB while the pass runs; those of online"
        " defragmentation by its counter of log bytes.",
    ],
    steps=4,
    run=run,
    signals=[
        Signal(side="good", case="one database"),
        Signal(side="bad", case="two on one LUN", alerts=("EseScansCollide",)),
    ],
)
