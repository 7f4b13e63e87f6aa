"""A LUN: a stripe over drives, with the queue of each, and a write-back cache before them.

It has no clock. Requests are handed in with the times at which they arrive, and it tells when
they are done, in the order of time; who answers one with the next hands that in before asking on.
"""

import heapq
import math
from bisect import insort
from collections import deque
from typing import Final, Literal

import msgspec

from eselab.base.plan import LINK, ModelName
from eselab.disk.spindle import MODELS, QUEUE_DEPTH, Spindle
from eselab.disk.write_cache import LINE, WriteCache, lines_of

_GOLDEN: Final = 0.6180339887498949
"""Of a turn from one drive to the next: they are not in step."""
_INTERVALS: Final = 64


class Link:
    """Carries the bytes of requests, as fast as its rate allows; they may come in any order."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._taken: list[tuple[float, float]] = []
        """(begin, end) of the latest times that it was busy, apart and ascending."""

    def carry(self, earliest: float, ready: float, length: int) -> float:
        """Time at which the last of `length` bytes is over. Of them the last one comes at `ready`.

        None is carried before `earliest`.
        """
        seconds = length / self._rate
        begin = max(earliest, ready - seconds)
        for taken, free in self._taken:
            if begin + seconds <= taken:
                break
            begin = max(begin, free)
        insort(self._taken, (begin, begin + seconds))
        if len(self._taken) > _INTERVALS:
            # Joined: what lies between the two oldest is too long ago to matter.
            (first, _), (_, last), *others = self._taken
            self._taken = [(first, last), *others]
        # Not a rounding later than it is there: who answers at once is in time for the drive then.
        return ready if begin == ready - seconds else begin + seconds


class _Request(msgspec.Struct, eq=False):
    ticket: int
    at: float
    offset: int
    length: int
    write: bool
    step: Literal["arrive", "land", "leave"] = "arrive"
    """Next step: a write lands at the controller when the link has carried it."""
    parts: int = 0
    """Of it that are not done."""
    lines: list[tuple[int, int]] = []
    """(drive, line) for which there was no room in the cache yet, the next one last."""


class _Part(msgspec.Struct, eq=False):
    """The part of a request for one drive: bytes of that."""

    at: float
    number: int
    begin: int
    end: int
    request: _Request
    passed: int = 0
    """The number of times that a later one was taken before it."""


class _Destaged(msgspec.Struct, eq=False):
    run: range


class _Drive:
    """A spindle and its queue."""

    def __init__(self, spindle: Spindle) -> None:
        self.spindle = spindle
        self.waiting: list[_Part] = []
        """By arrival."""
        self.destaged_last = False

    def next(self, at: float) -> _Part:
        """Take the part that the head comes to first, of those that the drive sees.

        One that was passed over as often as the queue is long goes first.
        """
        seen = self.waiting[:QUEUE_DEPTH]
        if seen[0].passed < QUEUE_DEPTH and len(seen) > 1:
            self.spindle.advance(at)
            best = min(seen, key=lambda part: (self._positioning(at, part), part.number))
        else:
            best = seen[0]
        for part in seen[: seen.index(best)]:
            part.passed += 1
        self.waiting.remove(best)
        return best

    def _positioning(self, at: float, part: _Part) -> float:
        return self.spindle.positioning(at, part.begin, part.end, write=part.request.write)


_Event = _Request | _Part | _Destaged
"""Event that is done or comes: the next step of a request, a part of one, a run of the cache."""


class Lun:
    """Requests by offset on a LUN of `spindles` drives, `stripe` bytes on each in turn.

    `write_cache`: bytes, 0 none. `link`: bytes a second to the host. Reads are not cached but in
    the drives. Drives have no write cache of their own: a write is done when it is on the
    platter, or in the cache of the controller.
    """

    def __init__(
        self,
        model: ModelName,
        *,
        spindles: int = 1,
        stripe: int = 65536,
        write_cache: int = 0,
        link: float = LINK,
    ) -> None:
        """ValueError: `stripe` is not a multiple of 4096, or there are no spindles."""
        if stripe < LINE or stripe % LINE or spindles < 1:
            raise ValueError(f"no LUN has {spindles} spindles with stripes of {stripe} bytes")
        drive = MODELS[model]
        self.capacity = drive.capacity // stripe * stripe * spindles
        """Bytes."""
        self._stripe = stripe
        self._overhead = drive.overhead
        self._drives = [
            _Drive(Spindle(drive, phase=number * _GOLDEN % 1)) for number in range(spindles)
        ]
        self._cache = WriteCache(write_cache, spindles)
        self._no_room: deque[_Request] = deque()
        self._link = Link(link)
        self._events: list[tuple[float, int, _Event]] = []
        self._numbers = 0
        self._tickets = 0
        self._open = 0

    def submit(self, at: float, offset: int, length: int, *, write: bool = False) -> int:
        """A request arrives at `at`, which may be later than all so far. A ticket, from 1 on.

        ValueError: it is not within the LUN, or `at` is no time.
        """
        if not math.isfinite(at):
            raise ValueError(f"no request arrives at {at}")
        if not 0 <= offset <= offset + length <= self.capacity:
            raise ValueError(f"{length} bytes at {offset} are not within {self.capacity}")
        self._tickets += 1
        self._open += 1
        self._push(at, _Request(self._tickets, at, offset, length, write))
        return self._tickets

    def next_done(self) -> tuple[int, float] | None:
        """(ticket, time) of the request that is done next, None where none is left.

        Tickets come in the order of time, as long as no request arrives before the last of
        these times; drives go on from where they are then.
        """
        while self._open:
            turn = min(
                ((time, number) for number in range(len(self._drives))
                 if (time := self._turn(number)) is not None),
                default=None,
            )  # fmt: skip
            if turn is not None and (not self._events or turn[0] < self._events[0][0]):
                self._dispatch(*turn)
                continue
            time, _, event = heapq.heappop(self._events)
            if isinstance(event, _Destaged):
                self._cache.written(event.run)
                self._admit(time)
            elif isinstance(event, _Part):
                self._part_done(time, event.request)
            elif event.step == "leave":
                self._open -= 1
                return event.ticket, time
            else:
                self._come(time, event)
        return None

    def _push(self, time: float, event: _Event) -> None:
        self._numbers += 1
        heapq.heappush(self._events, (time, self._numbers, event))

    def _leave(self, time: float, request: _Request) -> None:
        request.step = "leave"
        self._push(time, request)

    def _come(self, time: float, request: _Request) -> None:
        """A request arrives, or the bytes of a write are there."""
        if request.write and request.step == "arrive":
            request.step = "land"
            self._push(self._link.carry(time, time, request.length), request)
        elif request.write and self._cache.limit:
            request.lines = [
                (drive, line)
                for drive, begin, end in self._ranges(request)
                for line in lines_of(begin, end)
            ][::-1]
            self._no_room.append(request)
            self._admit(time)
        else:
            self._queue(time, request)

    def _queue(self, time: float, request: _Request) -> None:
        """Ask the drives for all of it that is not in the cache."""
        for number, begin, end in self._ranges(request):
            if not request.write and self._cache.has(number, lines_of(begin, end)):
                continue
            request.parts += 1
            self._numbers += 1
            part = _Part(time, self._numbers, begin, end, request)
            insort(self._drives[number].waiting, part, key=lambda part: (part.at, part.number))
        if not request.parts:
            request.parts = 1
            self._part_done(time + self._overhead, request)

    def _part_done(self, time: float, request: _Request) -> None:
        request.parts -= 1
        if not request.parts:
            if not request.write:
                time = self._link.carry(request.at, time, request.length)
            self._leave(time, request)

    def _admit(self, time: float) -> None:
        """Writes go into the cache one after the other, each as far as there is room."""
        while self._no_room:
            request = self._no_room[0]
            while request.lines:
                if not self._cache.put(time, *request.lines[-1]):
                    return
                request.lines.pop()
            self._no_room.popleft()
            self._leave(time + self._overhead, request)

    def _ranges(self, request: _Request) -> list[tuple[int, int, int]]:
        """(drive, begin, end): on each drive the stripes of a request lie side by side."""
        stripe, count = self._stripe, len(self._drives)
        at, end = request.offset, request.offset + request.length
        found: dict[int, tuple[int, int]] = {}
        while at < end:
            number = at // stripe
            until = min(end, (number + 1) * stripe)
            begin = number // count * stripe + at % stripe
            first = found.get(number % count, (begin, begin))[0]
            found[number % count] = (first, begin + until - at)
            at = until
        return [(drive, begin, end) for drive, (begin, end) in found.items()]

    def _turn(self, number: int) -> float | None:
        """The next time at which a drive can start something, None: there is nothing."""
        drive = self._drives[number]
        times = [part.at for part in drive.waiting[:1]]
        since = self._cache.since(number)
        if since is not None:
            times.append(since)
        return max(drive.spindle.free_at, min(times)) if times else None

    def _dispatch(self, time: float, number: int) -> None:
        """A drive takes up what is next: the cache has its turn where nobody waits for the drive.

        When the cache is crowded they take turns.
        """
        drive = self._drives[number]
        since = self._cache.since(number)
        asked = bool(drive.waiting) and drive.waiting[0].at <= time
        crowded = self._cache.is_crowded and not drive.destaged_last
        drive.destaged_last = since is not None and since <= time and (crowded or not asked)
        if drive.destaged_last:
            self._destage(time, number)
            return
        part = drive.next(time)
        write = part.request.write
        done = drive.spindle.serve(time, part.at, part.begin, part.end, write=write)
        self._push(done, part)

    def _destage(self, time: float, number: int) -> None:
        spindle = self._drives[number].spindle
        spindle.advance(time)
        run = min(
            self._cache.runs(number, spindle.position),
            key=lambda run: spindle.positioning(
                time, run.start * LINE, run.stop * LINE, write=True
            ),
        )
        self._cache.take(number, run)
        # The controller hands the next one in while the drive is still at work.
        waited = time - self._overhead
        done = spindle.serve(time, waited, run.start * LINE, run.stop * LINE, write=True)
        self._push(done, _Destaged(run))
