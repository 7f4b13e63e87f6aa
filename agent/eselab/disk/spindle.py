"""One disk drive: how long the head, the platter and the buffer take for a request.

The platter turns without end, so where it stands follows from the time alone, and the same
requests at the same times take the same time. Places are given in tracks: `x` is the number of
the track and, behind the point, how far round it a byte lies; under a head that stays with
the data x grows by one in each revolution.
"""

from bisect import bisect_right
from itertools import accumulate
from typing import Final, NamedTuple

import msgspec

from eselab.base.plan import ModelName

ZONES: Final = 16
SEGMENTS: Final = 16
"""Of the buffer: each holds one run of bytes that was read, and is its share of it long."""
QUEUE_DEPTH: Final = 32
"""Requests that a drive sees at once and takes in its own order: the limit of NCQ."""

_ROUNDING: Final = 1e-6
"""Seconds: epoch times have a resolution of 0.24 µs."""


class Seek(NamedTuple):
    """Seconds of a seek: to the next track, mean of all, from edge to edge; without rotation."""

    track: float
    average: float
    full: float

    def seconds(self, distance: float) -> float:
        """Of a seek over this share of all tracks: track + b√distance + c·distance.

        b and c follow from the mean over all pairs of places (√: 8/15, distance: 1/3).
        """
        average, full = self.average - self.track, self.full - self.track
        root = 5 * (average - full / 3)
        return float(self.track + root * distance**0.5 + (full - root) * distance)


class DiskModel(msgspec.Struct, frozen=True, kw_only=True):
    """A drive by its data sheet. Bytes, seconds, bytes a second."""

    capacity: int
    rpm: float
    read: Seek
    write: Seek
    outer: float
    """Sustained rate of the outer tracks."""
    inner: float
    overhead: float
    """Of the drive's controller, for each command."""
    interface: float
    buffer: int


MODELS: Final[dict[ModelName, DiskModel]] = {
    "sas-10k-2006": DiskModel(
        capacity=73_400_000_000,
        rpm=10_000,
        read=Seek(0.0002, 0.0040, 0.0081),
        write=Seek(0.0006, 0.0044, 0.0086),
        outer=69.3e6,
        inner=46.6e6,
        overhead=0.0002,
        interface=300e6,
        buffer=8 << 20,
    ),
    "sas-15k-2006": DiskModel(
        capacity=146_800_000_000,
        rpm=15_000,
        read=Seek(0.0002, 0.0035, 0.0070),
        write=Seek(0.0004, 0.0040, 0.0080),
        outer=125e6,
        inner=73e6,
        overhead=0.0002,
        interface=300e6,
        buffer=16 << 20,
    ),
    "sata-7k2-2006": DiskModel(
        capacity=500_100_000_000,
        rpm=7200,
        read=Seek(0.0010, 0.0085, 0.0170),
        write=Seek(0.0011, 0.0095, 0.0190),
        outer=64.8e6,
        inner=31.0e6,
        overhead=0.0002,
        interface=300e6,
        buffer=16 << 20,
    ),
}
"""Drives of 2005 to 2007.

sas-10k-2006: Seagate Savvio ST973401SS, product manual 100350598 rev. D, page 11: capacity,
rpm, seeks without overhead and overhead. Its rates follow from there: 4 × 51,052 tracks have
359,400 bytes on average, the zones are as 506 to 753 Mbit/s, and a single-track seek goes
with each track. Interface 3 Gbit/s. The buffer is the size that is widely published.

sas-15k-2006: Seagate Cheetah 15K.5 ST3146855SS, product manual, page 18: rates, interface, rpm.
Average and track seeks and the buffer are those widely published. Assumed: a full seek is
twice the average, as above; the overhead is that above.

sata-7k2-2006: Hitachi Deskstar E7K500 HDS725050KLA360, specification, page 17: rates,
interface. Capacity, average read seek, and buffer: Tech Report, review of the 7K500. The
average write seek is the 7K1000.C's, the single-track seeks are the 7K320's (specifications of
the same maker). Assumed: as for the one before.
"""


class _Surface:
    """Place of the bytes: zones of as many tracks each, the outer ones with more bytes a track."""

    def __init__(self, model: DiskModel) -> None:
        turn = 60 / model.rpm
        step = (model.outer - model.inner) / (ZONES - 1)
        self._track_bytes = [(model.outer - zone * step) * turn for zone in range(ZONES)]
        self._zone_tracks = model.capacity / sum(self._track_bytes)
        ends = accumulate(size * self._zone_tracks for size in self._track_bytes)
        self._begins = [0.0, *ends][:ZONES]
        self.tracks = ZONES * self._zone_tracks

    def place(self, offset: int) -> float:
        """x of a byte."""
        zone = bisect_right(self._begins, offset) - 1
        within = (offset - self._begins[zone]) / self._track_bytes[zone]
        return zone * self._zone_tracks + within

    def offset(self, x: float) -> int:
        """The byte at x, rounded down."""
        zone = min(int(x / self._zone_tracks), ZONES - 1)
        within = (x - zone * self._zone_tracks) * self._track_bytes[zone]
        return int(self._begins[zone] + within)


class _Segment:
    """A run of bytes in the buffer; `limit` is how far reading ahead may go."""

    __slots__ = ("begin", "end", "limit")

    def __init__(self, begin: int, end: int, limit: int) -> None:
        self.begin, self.end, self.limit = begin, end, limit


class Spindle:
    """One drive at work, on one request at a time; it reads ahead where nothing else is asked.

    `phase`: where the platter stands at time 0, 0 to 1.
    """

    def __init__(self, model: DiskModel, *, phase: float = 0.0) -> None:
        self._model = model
        self._phase = phase
        self._turn = 60 / model.rpm
        self._surface = _Surface(model)
        self._segment_bytes = model.buffer // SEGMENTS
        self._segments: list[_Segment] = []
        """The one used last is the last."""
        self._stream: _Segment | None = None
        """Into which the head reads, or did before it came to the limit."""
        self._from = (0.0, 0.0)
        """(time, x) of the last place at which it began to transfer."""
        self._head = 0.0
        self._end = (0.0, 0)
        """(time, byte) at which the last transfer ended that was asked for."""
        self.free_at = 0.0

    @property
    def position(self) -> int:
        """The byte over which the head stands."""
        return self._surface.offset(self._head)

    def advance(self, at: float) -> None:
        """Read ahead up to this time. For `positioning`; `serve` does it itself."""
        segment = self._stream
        if segment is None or segment.end >= segment.limit:
            return
        since, x = self._from
        reached = x + max(0.0, at - since) / self._turn
        segment.end = max(segment.end, min(self._surface.offset(reached), segment.limit))
        segment.begin = max(segment.begin, segment.end - self._segment_bytes)
        self._head = self._surface.place(segment.end)

    def positioning(self, at: float, begin: int, end: int, *, write: bool) -> float:
        """Seconds until a request that began now would be over its first byte. Changes nothing."""
        if not write:
            held = self._held(begin)
            if held is not None and (end <= held.end or self._is_streaming(held)):
                return 0.0
            begin = begin if held is None else held.end
        elif begin == self._end[1] and at <= self._end[0] + _ROUNDING:
            return 0.0
        return self._over(at, self._surface.place(begin), write=write) - at

    def serve(self, at: float, arrived: float, begin: int, end: int, *, write: bool) -> float:
        """Do a request that arrived by `at`, when the drive is free; when it is done.

        The overhead of one that waited was spent while it did.
        """
        self.advance(at)
        ready = max(at, arrived + self._model.overhead)
        if write:
            done = self._write(ready, begin, end)
        else:
            done = max(self._read(ready, begin, end), ready + (end - begin) / self._model.interface)
        self.free_at = done
        return done

    def _read(self, ready: float, begin: int, end: int) -> float:
        held = self._held(begin)
        limit = min(end + self._segment_bytes, self._model.capacity)
        if held is not None:
            self._segments.remove(held)
            self._segments.append(held)
            streaming = self._is_streaming(held)
            if streaming or end <= held.end:
                if held is self._stream:
                    self._extend(held, limit, ready, streaming=streaming)
                if end <= held.end:
                    return ready
                held.end = end
                since, x = self._from
                return self._transferred(since, x, end)
            begin = held.end
        else:
            held = _Segment(begin, begin, limit)
            self._segments = [*self._segments[1 - SEGMENTS :], held]
        x = self._surface.place(begin)
        over = self._over(ready, x, write=False)
        done = self._transferred(over, x, end)
        held.end, held.limit, self._stream = end, limit, held
        self._from = (over, x)
        return done

    def _extend(self, held: _Segment, limit: int, ready: float, *, streaming: bool) -> None:
        """The host took bytes, so there is room to read on."""
        if limit <= held.limit:
            return
        if not streaming:
            x = self._surface.place(held.end)
            self._from = (ready + self._rotation(ready, x), x)
        held.limit = limit

    def _write(self, ready: float, begin: int, end: int) -> float:
        x = self._surface.place(begin)
        last, byte = self._end
        if begin == byte and ready <= last + _ROUNDING:
            over = last
        else:
            over = self._over(ready, x, write=True)
        self._stream = None
        self._segments = [held for held in self._segments if held.end <= begin or end <= held.begin]
        return self._transferred(over, x, end)

    def _transferred(self, over: float, x: float, end: int) -> float:
        """The transfer from x on that began at `over` ends: when, and the head is there."""
        self._head = self._surface.place(end)
        done = over + (self._head - x) * self._turn
        self._end = (done, end)
        return done

    def _over(self, ready: float, x: float, *, write: bool) -> float:
        distance = abs(x - self._head)
        if distance >= 1:
            seek = self._model.write if write else self._model.read
            ready += seek.seconds(min(1.0, distance / self._surface.tracks))
        return ready + self._rotation(ready, x)

    def _rotation(self, at: float, x: float) -> float:
        return (x - self._phase - at / self._turn) % 1.0 * self._turn

    def _held(self, begin: int) -> _Segment | None:
        """The segment with this byte, or that ends before it."""
        for segment in reversed(self._segments):
            if segment.begin <= begin <= segment.end:
                return segment
        return None

    def _is_streaming(self, segment: _Segment) -> bool:
        return segment is self._stream and segment.end < segment.limit
