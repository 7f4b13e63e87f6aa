"""One row of counters: many readings of one time, made as a whole."""

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

from esewatch.model import Feed, Kind, Reading

Labels = tuple[str, str, str, str, Kind, Feed | None]
"""Computer, object, counter, instance, kind and feed of a reading."""
Parts = tuple[Sequence[Any], ...]
"""The labels of all readings: all computers, all objects, ..."""


def parts_of(labels: Iterable[Labels]) -> Parts:
    """The same, part by part."""
    return tuple(zip(*labels, strict=True)) or ((),) * 6


def readings(
    time: float, parts: Parts, values: Sequence[float], raws: Iterable[int | None] = repeat(None)
) -> list[Reading]:
    """The readings of these values; each part is as long as they are."""
    computers, objects, counters, instances, kinds, feeds = parts
    return list(
        map(
            Reading,
            repeat(time), computers, objects, counters, instances, values, kinds, feeds, raws,
        )
    )  # fmt: skip
