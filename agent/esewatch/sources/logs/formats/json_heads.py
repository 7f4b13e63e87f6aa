"""The times of JSON events of other providers, without decoding them whole.

Where the computer, the channel and the time stand in a line is learnt from a line that was decoded.
The lines like it are decoded as far as these fields.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from esewatch.ese.raw_event import RawEvent
from esewatch.sources.files.record_times import CLOSE, Log
from esewatch.sources.logs.formats.event_builder import Harvest, Maker
from esewatch.sources.logs.formats.fields import FIELD_OF, RANK, plain
from esewatch.sources.logs.formats.json_values import events_in, log_records

_MAX_SHAPES = 8
_MAX_FOREIGN = 256
_DEEPEST = 5

Path = tuple[str, ...]


class _Shape(NamedTuple):
    """The lines of one collector: how they are decoded, and what takes the fields out of a line."""

    lines: Callable[[bytes], list[Any]]
    line: Callable[[bytes], Any]
    names: Callable[[Any], tuple[object, object]]
    time: Callable[[Any], object]


class JsonHeads:
    def __init__(self, maker: Maker) -> None:
        self._maker = maker
        self._shapes: list[_Shape] = []
        self._foreign: set[Path] = set()
        """The keys of objects that are no events."""

    def hear(self, lines: Sequence[bytes], harvest: Harvest) -> None:
        rest = [line for line in lines if len(line) > 2]
        for shape in self._shapes:
            if rest:
                rest = self._like(shape, rest, harvest)
        for line in rest:
            self._learn(line, harvest)

    def hear_one(self, line: bytes, harvest: Harvest) -> tuple[Log, float] | None:
        """Note the time of an object of a known shape; returns its log and time."""
        for shape in self._shapes:
            row = _one(shape, line)
            computer, channel = shape.names(row)
            if isinstance(computer, str) and isinstance(channel, str):
                time = self._maker.hear_at(computer, channel, shape.time(row), harvest)
                if time is not None:
                    return (computer or self._maker.options.computer, channel), time
        return None

    def _like(self, shape: _Shape, lines: list[bytes], harvest: Harvest) -> list[bytes]:
        """Take the lines of this shape; returns the others."""
        rows = _decoded(shape, lines)
        times = list(map(shape.time, rows))
        others: list[bytes] = []
        if "" in times:
            others = [line for line, time in zip(lines, times, strict=True) if time == ""]
            rows = [row for row, time in zip(rows, times, strict=True) if time != ""]
            times = [time for time in times if time != ""]
        if times:
            self._note(list(map(shape.names, rows)), times, harvest)
        return others

    def _note(self, names: list[tuple[object, object]], times: list[Any], harvest: Harvest) -> None:
        pairs = list(zip(names, times, strict=True))
        if self._are_close(times):
            # Of each log, its last record, and the first.
            pairs = [*dict(pairs).items(), *dict(reversed(pairs)).items()]
        for (computer, channel), time in pairs:
            if isinstance(computer, str) and isinstance(channel, str):
                self._maker.hear_at(computer, channel, time, harvest)

    def _are_close(self, times: list[Any]) -> bool:
        """True if all are within two hours, in whatever order; False where that is not clear."""
        try:
            ends = [min(times), max(times)]
        except TypeError:
            return False
        if isinstance(ends[0], str) and not (ends[0][:4].isdigit() and ends[1][:4].isdigit()):
            return False
        read = [self._maker.times.quick(end) for end in ends]
        return None not in read and 0 <= (read[1] or 0) - (read[0] or 0) <= CLOSE

    def _learn(self, line: bytes, harvest: Harvest) -> None:
        try:
            value = msgspec.json.decode(line.rstrip(b" \t\r,]"))
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return
        keys = tuple(value) if isinstance(value, dict) else ()
        if keys in self._foreign:
            return
        told = [each for record in log_records(value) for each in events_in(record)]
        for found in told:
            self._maker.hear(found, harvest)
        if not told and len(self._foreign) < _MAX_FOREIGN:
            self._foreign.add(keys)
        if len(told) == 1 and len(self._shapes) < _MAX_SHAPES:
            shape = _shape(value, told[0])
            if shape is not None:
                self._shapes.append(shape)


def _decoded(shape: _Shape, lines: list[bytes]) -> list[Any]:
    for text in (b"\n".join(lines), b"\n".join(line.rstrip(b" \t\r,]") for line in lines)):
        try:
            rows = shape.lines(text)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            continue
        if len(rows) == len(lines):
            return rows
    return [_one(shape, line) for line in lines]


def _one(shape: _Shape, line: bytes) -> Any:
    try:
        return shape.line(line.rstrip(b" \t\r,]"))
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return shape.line(b"{}")


def _shape(value: Mapping[str, object], found: RawEvent) -> _Shape | None:
    """The way to the fields of `found` in values like this one; None where that is unclear."""
    leaves = list(_leaves(value))
    paths = {
        field: _path_of(leaves, field, wanted)
        for field, wanted in (
            ("computer", found.computer),
            ("channel", found.channel),
            ("time", found.time),
        )
    }
    if not all(
        (
            paths["time"],
            paths["computer"] or not found.computer,
            paths["channel"] or not found.channel,
        )
    ):
        return None
    try:
        kind, place = _struct([path for path in paths.values() if path])
    except ValueError:
        return None  # a key with quotes
    nothing = "nothing"
    decoder = msgspec.json.Decoder(kind)
    return _Shape(
        decoder.decode_lines,
        decoder.decode,
        attrgetter(*(place.get(paths[field], nothing) for field in ("computer", "channel"))),
        attrgetter(place[paths["time"]]),
    )


def _leaves(value: Mapping[str, object], path: Path = ()) -> Iterator[tuple[Path, object]]:
    for key, item in value.items():
        if isinstance(item, dict):
            if len(path) < _DEEPEST:
                yield from _leaves(item, (*path, key))
        else:
            yield (*path, key), item


def _path_of(leaves: Sequence[tuple[Path, object]], field: str, wanted: object) -> Path:
    """The place of this value under the best known name of the field; empty if there is none."""
    if not wanted:
        return ()
    best: tuple[int, Path] | None = None
    for path, item in leaves:
        if item == wanted:
            names = (plain(path[-1]), plain("".join(path[-2:])))
            ranks = [RANK[name] for name in names if FIELD_OF.get(name) == field]
            if ranks and (best is None or (min(ranks), path) < best):
                best = min(ranks), path
    return best[1] if best else ()


def _struct(paths: Sequence[Path]) -> tuple[type[msgspec.Struct], dict[Path, str]]:
    """A type that decodes these places alone, and the attribute of each."""
    names: dict[str, str] = {}
    fields: list[Any] = []
    places: dict[Path, str] = {}
    for number, key in enumerate(dict.fromkeys(path[0] for path in paths)):
        name = f"f{number}"
        names[name] = key
        inner = [path[1:] for path in paths if path[0] == key and len(path) > 1]
        if inner:
            kind, below = _struct(inner)
            fields.append((name, kind, msgspec.field(default_factory=kind)))
            places |= {(key, *rest): f"{name}.{place}" for rest, place in below.items()}
        else:
            fields.append((name, Any, ""))
            places[key,] = name
    fields.append(("nothing", Any, ""))
    names["nothing"] = "(nothing)"
    return msgspec.defstruct("Head", fields, rename=names, gc=False), places
