"""Streams of requests on a LUN of modelled drives, and how long these take.

`engine disks` reads a LoadPlan as JSON. Times are seconds, sizes bytes. Unknown keys are errors,
and so are values that make no sense.
"""

import math
import random
from array import array
from collections import Counter
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from eselab.base.plan import Bytes, DisksPlan, Name
from eselab.disk.device import lun_of

MOST_REQUESTS: Final = 1_000_000
"""Of a run."""
MOST_OUTSTANDING: Final = 4096
"""Of all workloads together."""

Count = Annotated[int, Meta(ge=1, le=MOST_REQUESTS)]
Seconds = Annotated[float, Meta(gt=0.0, le=3600.0)]


class LoadError(Exception):
    """A plan does not go with its LUN, or asks for too much: says why."""


class WorkloadPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stream that hands in a request when one of its own is done. All begin at time 0."""

    name: Name
    operation: Literal["read", "write", "update"] = "read"
    """`update`: what was read is written then, as the threads of a database or a copy do."""
    bytes: Annotated[int, Meta(ge=512, le=1 << 20)]
    """Of a request."""
    pattern: Literal["sequential", "random"] = "sequential"
    offset: Bytes = 0
    span: Bytes | None = None
    """Within these bytes from `offset` on, at multiples of `bytes`; then from the begin again.
    None: to the end of the LUN."""
    to: Bytes | None = None
    """Of an `update`: it writes into as many bytes from here on, in the same order. None: where it
    read."""
    outstanding: Annotated[int, Meta(ge=1, le=MOST_OUTSTANDING)] = 1
    """Requests that are under way at once."""
    pause: Annotated[float, Meta(ge=0.0, le=3600.0)] = 0.0
    """After each `batch`, when all of that are done."""
    batch: Count | None = None
    """None: as many as are under way at once."""
    count: Count | None = None
    """It ends after this many requests."""
    seconds: Seconds | None = None
    """From then on it submits none; those in progress are still completed."""

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if (self.count is None) == (self.seconds is None):
            raise ValueError(f"workload {self.name} needs one of count and seconds")
        if self.batch is not None and not self.pause:
            raise ValueError(f"workload {self.name}: batch needs a pause after it")
        if self.to is not None and self.operation != "update":
            raise ValueError(f"workload {self.name}: only an update has a place to write to")


class LoadPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A LUN and the workloads that run on it at the same time."""

    lun: DisksPlan = DisksPlan()
    workloads: Annotated[list[WorkloadPlan], Meta(min_length=1, max_length=64)]

    def __post_init__(self) -> None:
        """Raises ValueError."""
        for name, number in Counter(each.name for each in self.workloads).items():
            if number > 1:
                raise ValueError(f"workloads: {number} of them have the name {name}")
        outstanding = sum(each.outstanding for each in self.workloads)
        if outstanding > MOST_OUTSTANDING:
            raise ValueError(
                f"workloads: {outstanding} requests at once are more than {MOST_OUTSTANDING}"
            )


class Figures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    requests: int
    seconds: float
    """Until the last request was done."""
    bytes_per_second: float
    latency_mean: float
    latency_p50: float
    """The least latency that half of the requests did not exceed."""
    latency_p99: float
    latency_max: float
    latency_read: float | None = None
    """The mean of the reads of an `update`; None: another operation."""


class _UnderWay(NamedTuple):
    stream: "_Stream"
    since: float
    offset: int
    write: bool


class _Stream:
    """A workload in progress."""

    def __init__(self, plan: WorkloadPlan, capacity: int, seed: int) -> None:
        """Raises LoadError."""
        span = max(0, capacity - plan.offset) if plan.span is None else plan.span
        begins = (plan.offset, plan.offset if plan.to is None else plan.to)
        if max(begins) + span > capacity or span < plan.bytes:
            raise LoadError(
                f"workload {plan.name}: {plan.bytes} bytes in a span of {span} from {max(begins)}"
                f" on are not within the {capacity} bytes of the LUN"
            )
        self.plan = plan
        self._shift = begins[1] - begins[0]
        self._places = span // plan.bytes
        self._chance = random.Random(f"{seed} {plan.name}")
        self._given = 0
        self._under_way = 0
        self._batch = plan.batch or plan.outstanding
        self._batched = 0
        self._latencies = array("d")
        self._read = 0.0
        self._last = 0.0

    def due(self, at: float) -> tuple[float, int]:
        """Arrival of the next requests, now or after a pause, and their number, which may be 0."""
        plan = self.plan
        count = plan.outstanding - self._under_way
        if plan.pause:
            if self._batched == self._batch:
                if self._under_way:
                    return at, 0
                at += plan.pause
                self._batched = 0
            count = min(count, self._batch - self._batched)
        if plan.count is not None:
            count = min(count, plan.count - self._given)
        if plan.seconds is not None and at >= plan.seconds:
            count = 0
        self._under_way += count
        self._batched += count
        return at, count

    def offset(self) -> int:
        """Offset of the next request."""
        if self.plan.pattern == "random":
            place = self._chance.randrange(self._places)
        else:
            place = self._given % self._places
        self._given += 1
        return self.plan.offset + place * self.plan.bytes

    def done(self, request: _UnderWay, at: float) -> _UnderWay | None:
        """A request is done; the one that follows from it, that writes what was read."""
        self._latencies.append(at - request.since)
        self._last = at
        if self.plan.operation == "update" and not request.write:
            self._read += at - request.since
            return _UnderWay(self, at, request.offset + self._shift, write=True)
        self._under_way -= 1
        return None

    def figures(self) -> Figures:
        """Of all of it."""
        ordered = sorted(self._latencies)
        count = len(ordered)
        return Figures(
            name=self.plan.name,
            requests=count,
            seconds=self._last,
            bytes_per_second=count * self.plan.bytes / self._last,
            latency_mean=math.fsum(ordered) / count,
            latency_p50=_quantile(ordered, 50),
            latency_p99=_quantile(ordered, 99),
            latency_max=ordered[-1],
            # Each place is read once and written once.
            latency_read=2 * self._read / count if self.plan.operation == "update" else None,
        )


def run_load(plan: LoadPlan, seed: int) -> list[Figures]:
    """Do all workloads to their ends. The same seed gives the same figures. Raises LoadError."""
    lun = lun_of(plan.lun)
    streams = [_Stream(each, lun.capacity, seed) for each in plan.workloads]
    under_way: dict[int, _UnderWay] = {}

    def submit(request: _UnderWay) -> None:
        stream, at, offset, write = request
        ticket = lun.submit(at, offset, stream.plan.bytes, write=write)
        if ticket > MOST_REQUESTS:
            raise LoadError(f"after {at:g} s these are more than {MOST_REQUESTS} requests")
        under_way[ticket] = request

    def hand_in(stream: _Stream, now: float) -> None:
        at, count = stream.due(now)
        for _ in range(count):
            submit(_UnderWay(stream, at, stream.offset(), stream.plan.operation == "write"))

    for stream in streams:
        hand_in(stream, 0.0)
    while (answer := lun.next_done()) is not None:
        ticket, at = answer
        request = under_way.pop(ticket)
        if (following := request.stream.done(request, at)) is not None:
            submit(following)
        else:
            hand_in(request.stream, at)
    return [stream.figures() for stream in streams]


def _quantile(ordered: list[float], percent: int) -> float:
    """The nearest rank."""
    return ordered[-(-len(ordered) * percent // 100) - 1]
