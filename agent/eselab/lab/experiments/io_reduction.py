"""Database requests of a mailbox: more cache, a deeper checkpoint, larger pages."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec

from eselab.lab import readings
from eselab.lab.bench import DAY, Bench
from eselab.lab.experiments.passive_io import MORNING
from eselab.lab.frame import (
    Comparison,
    Experiment,
    Findings,
    ResultRow,
    compared,
    not_decided,
    ratio,
    told,
)

DAYS: Final = 160
WARM: Final = 80
"""Days until requests are counted: until then a large cache fills."""
BYTES: Final = 24 << 20
"""Of the database."""
USERS: Final = 4000
"""Of the article's server: cache and checkpoint depth here are a part in so many of its own."""

_KEPT: Final = 1000.0
"""Days. A step of the workload then logs about as much as the smallest depth has room for: with
more, each step would be written as a whole, whatever the depth."""
_BODY: Final = 600
"""Mean bytes of a message: the longest fits into a quarter of a page of either size."""
_SMALL, _LARGE = 900 << 20, 20 << 30
_DEPTH: Final = 20 << 20
"""Of a storage group."""
_KIND: Final = "engine-counted"
_NAME: Final = "priv1"
_MOST: Final = 0.9
"""Of the requests that a step saves: it is said to save these alone."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One of the article's servers."""

    name: str
    iops: float
    """Published, per user."""
    cache: int
    """Bytes."""
    depth: int
    """Bytes, of all storage groups."""
    page_size: int
    saves: str
    """Published: of which requests there are fewer than in the step before; empty: not reported."""
    why: str
    absent: str = ""
    """Reason for which the step cannot show here what it showed there."""


STEPS: Final = (
    Step(
        name="small cache", iops=1.0, cache=_SMALL, depth=4 * _DEPTH, page_size=4096,
        saves="", why="",
    ),
    Step(
        name="large cache", iops=0.54, cache=_LARGE, depth=4 * _DEPTH, page_size=4096,
        saves="reads",
        why="this workload reads and writes in other shares than the article's users",
    ),
    Step(
        name="deeper checkpoint", iops=0.43, cache=_LARGE, depth=28 * _DEPTH, page_size=4096,
        saves="writes",
        why="this workload comes back to a page that was changed sooner or later than the"
        " article's users",
    ),
    Step(
        name="pages of 8 KB", iops=0.27, cache=_LARGE, depth=28 * _DEPTH, page_size=8192,
        saves="", why="",
        absent="no message here is longer than a quarter of a page of 4 KB, as the engine keeps it"
            " in one record: it takes no fewer pages of 8 KB. The engine logs a whole page the"
            " first time it changes, so checkpoint depth and cache hold half as many of them",
    ),
)  # fmt: skip


def plan(step: Step, size: int) -> dict[str, Any]:
    """A database of so many bytes with one mailbox, without nightly maintenance."""
    return {
        "databases": [
            {
                "name": _NAME,
                "page_size": step.page_size,
                "pages": size // step.page_size,
                "cache_pages": step.cache // USERS // step.page_size,
                "checkpoint_depth": step.depth // USERS,
                "scan": False,
                "window": {"offset": 0.0, "length": 0.01},
                "mail": {"mailboxes": 1, "kept": _KEPT, "body": _BODY},
            }
        ],
        "sample": 600.0,
    }


def run(bench: Bench, size: int = BYTES, days: int = DAYS, warm: int = WARM) -> Findings:
    """See EXPERIMENT. `size`: bytes of the database; `days`: of virtual time; `warm`: of those."""
    found = [_counted(bench, step, size, days, warm) for step in STEPS]
    return Findings(rows=_rows(found), comparisons=_comparisons(found))


def _counted(bench: Bench, step: Step, size: int, days: int, warm: int) -> readings.Requests:
    """Requests a day."""
    made = bench.engine(step.name.replace(" ", "-"), plan(step, size), days * DAY).readings()
    begin = min((each.time for each in made), default=0.0) + warm * DAY
    found = readings.requests(made, _NAME, begin=begin, morning=MORNING)
    return readings.Requests(found.reads / (days - warm), found.writes / (days - warm))


def _rows(found: Sequence[readings.Requests]) -> list[ResultRow]:
    rows = []
    for step, each in zip(STEPS, found, strict=True):
        figures: Mapping[str, tuple[str, float | None, float | None]] = {
            "requests of a mailbox, by those of the first step": (
                "times", step.iops, ratio(each.total, found[0].total),
            ),
            "reads": ("1/day", None, each.reads),
            "writes": ("1/day", None, each.writes),
        }  # fmt: skip
        rows += [
            ResultRow(
                quantity=quantity, case=step.name, unit=unit, kind=_KIND,
                published=published, ours=ours,
            )
            for quantity, (unit, published, ours) in figures.items()
        ]  # fmt: skip
    return rows


def _comparisons(found: Sequence[readings.Requests]) -> list[Comparison]:
    comparisons = []
    for (earlier, before), (step, each) in pairwise(zip(STEPS, found, strict=True)):
        fewer = compared(
            f"requests of the step before, by those with {step.name}",
            _KIND, earlier.iops / step.iops, ratio(before.total, each.total), why=step.why,
        )  # fmt: skip
        comparisons.append(not_decided(fewer, step.absent) if step.absent else fewer)
        if step.saves:
            comparisons.append(
                told(f"{step.name}: it saves", _KIND, step.saves, saved(before, each), why=step.why)
            )
    return comparisons


def saved(before: readings.Requests, after: readings.Requests) -> str:
    """Requests that make _MOST of those that are gone, else both; or `nothing`."""
    reads, writes = before.reads - after.reads, before.writes - after.writes
    if reads + writes <= 0:
        return "nothing"
    share = reads / (reads + writes)
    return "reads" if share >= _MOST else "writes" if share <= 1 - _MOST else "reads and writes"


EXPERIMENT: Final = Experiment(
    name="io-reduction",
    article="P3",
    question="Which requests of a mailbox do more cache, more checkpoint depth and larger pages"
    " save?",
    setup=[
        f"One mailbox in {BYTES >> 20} MiB. Cache and checkpoint depth are those of the"
        f" article's server with {USERS:,} users, divided by {USERS:,}: 900 MB of cache, then 20"
        " GB; 20 MB of depth for each of 4 storage groups, then for each of 28; pages of 4 KB,"
        " then of 8.",
        "Requests are reads and writes of the database file between 06:00 and 24:00, after"
        f" {WARM} days of {DAYS}, without nightly maintenance. Published are 1.0, 0.54, 0.43 and"
        " 0.27 a second and user.",
        "The size of the article's mailboxes is not known. Messages come and go so slowly here"
        " that half an hour fills about the smallest depth with logs. If they are kept 300 days"
        " and not 1,000, the results are 1, 0.64, 0.38 and 0.37.",
        "Each step is compared with the one before it. It is said to save reads, or writes, where"
        " these are nine tenths of the saved requests. The article does not say which of them pages"
        " of 8 KB save.",
    ],
    steps=len(STEPS),
    run=run,
)
