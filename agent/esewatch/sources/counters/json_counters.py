"""Counters as lines of JSON: `counters --format json`, and Telegraf's win_perf_counters.

Telegraf is read as far as it is exact (docs/shippers.md). At each refresh of its counters, every
minute by default, it formats a rate over one second only. So rates are read from `UseRawValues`,
whose field `..._Raw` is the running count behind a rate, and levels as they are formatted. Source:
Telegraf, plugins/inputs/win_perf_counters (`Gather`, `sanitizedChars`) and its serializer `json`.
"""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Annotated

import msgspec

from esewatch.ese.counters.counter_feeds import (
    FREE_MEGABYTES,
    VOLUMES,
    OwnInstances,
    feed_of,
    kind_of,
)
from esewatch.ese.counters.counter_names import unknown_counters
from esewatch.model import Kind, Reading, Record
from esewatch.sources.counters.exporter_map import FORMATTED, PREFIX, Shown, metric_name, read_map
from esewatch.sources.files.decoder import Fed

_COUNTERS = re.compile(rb'\s*\{(?=[^\n]*"(?:counter|objectname)"\s*:)')
_RAW = "_Raw"
_MOST_TOLD = 1000
_FIRST = 1e8
"""No time of Telegraf is less, in seconds. The next unit begins at a thousand times as much."""


class _Own(msgspec.Struct):
    time: Annotated[datetime, msgspec.Meta(tz=True)]
    object: str
    counter: str
    kind: Kind
    value: float | None = None
    raw: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None
    computer: str = ""
    instance: str = ""


class _Tags(msgspec.Struct):
    objectname: str
    instance: str = ""
    source: str = ""
    """The computer that was asked; `host` is the one that Telegraf runs on."""
    host: str = ""


class _Telegraf(msgspec.Struct):
    fields: dict[str, object]
    tags: _Tags
    timestamp: Annotated[int, msgspec.Meta(ge=int(_FIRST))]


_own = msgspec.json.Decoder(_Own)
_telegraf = msgspec.json.Decoder(_Telegraf)


def is_counters(head: bytes) -> bool:
    """Does a text that begins with `head` have counters in one of these forms?"""
    return _COUNTERS.match(head) is not None


class JsonCounters:
    """Decoder of such lines: of those that feed a metric. Each stands for itself. `computer`: for
    lines that name none."""

    def __init__(self, computer: str = "") -> None:
        self._computer = computer
        self._own = OwnInstances()
        self._told: set[str] = set()
        """Objects whose unknown counters were reported."""

    def feed(self, data: bytes, *, final: bool) -> Fed:
        """See `Decoder.feed`."""
        fed = Fed(consumed=len(data))
        at = 0
        for line in data.splitlines(keepends=True):
            try:
                for found in self._found(line) if line.strip() else ():
                    if isinstance(found, Reading):
                        self._own.add(found.computer, found.instance)
                        fed.records.append(found)
                    else:
                        fed.unreadable.append((at, found))
            except (ValueError, OverflowError, RecursionError) as error:
                fed.unreadable.append((at, str(error)))
            at += len(line)
        fed.records = [each for each in fed.records if not self._is_replaced(each)]
        return fed

    def _is_replaced(self, record: Record) -> bool:
        return isinstance(record, Reading) and self._own.replace(
            record.computer, record.instance, record.feed
        )

    def _found(self, line: bytes) -> Iterator[Reading | str]:
        """Readings, and what is wrong with others. Raises ValueError for a whole line."""
        if b'"objectname"' in line:
            yield from self._of_telegraf(line)
            return
        own = _own.decode(line)
        value = own.value
        if value is None:
            if own.kind != "total" or own.raw is None:
                raise ValueError("has neither a value nor a raw running total")
            value = float(own.raw)
        elif not math.isfinite(value):
            raise ValueError(f"{own.counter}: is not a number")
        feed = feed_of(own.object, own.instance, own.counter)
        kind = kind_of(own.object, own.counter)
        if feed is not None and own.kind in {kind, "total" if kind == "rate" else kind}:
            yield Reading(
                time=own.time.timestamp(),
                computer=self._named(own.computer),
                object=own.object,
                counter=own.counter,
                instance=own.instance,
                value=value,
                kind=own.kind,
                feed=feed,
                raw=own.raw,
            )

    def _of_telegraf(self, line: bytes) -> Iterator[Reading | str]:
        metric = _telegraf.decode(line)
        tags, time = metric.tags, float(metric.timestamp)
        computer = self._named(tags.source or tags.host)
        while time >= _FIRST * 1000:
            time /= 1000
        if tags.objectname not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(tags.objectname)
            yield from unknown_counters((tags.objectname, _counter(each)) for each in metric.fields)
        for field, value in metric.fields.items():
            shown = _shown(tags.objectname, field) or _free_space(tags.objectname, field)
            feed = shown.feed({"instance": tags.instance}) if shown else None
            if shown is None or feed is None:
                continue
            number = float(value) if isinstance(value, int | float) else math.nan
            if not math.isfinite(number) or (shown.kind == "total" and number < 0):
                yield f"{field}: is not a number that this counter can have"
            elif shown.counts and not field.endswith(_RAW):
                yield f"{field}: a rate that may be of one second only: set UseRawValues for it"
            else:
                yield Reading(
                    time=time,
                    computer=computer,
                    object=shown.object,
                    counter=shown.counter,
                    instance=tags.instance,
                    value=number,
                    kind=shown.kind,
                    feed=feed,
                )

    def _named(self, computer: str) -> str:
        if not (computer or self._computer):
            raise ValueError("names no computer")
        return computer or self._computer

    def save(self) -> bytes:
        """Nothing: no line needs another."""
        return b""


@cache
def _map() -> Mapping[str, Shown]:
    return read_map({})


def _shown(object_name: str, field: str) -> Shown | None:
    """The counter of a field, None where its value is none of ours or meaningless.

    Telegraf keeps the letters of a name but for ` `, `%`, `/sec` and `\\`, so that the name of the
    exporter's metric, which keeps less, can be made of it.
    """
    counter = field.removesuffix(_RAW).replace("_persec", "/sec")
    raw = _map().get(metric_name(PREFIX, object_name, counter))
    if field.endswith(_RAW) or (raw is not None and raw.counts):
        return raw
    return _map().get(metric_name(FORMATTED, object_name, counter))


def _counter(field: str) -> str:
    """The name of a field's counter, as far as Telegraf kept it."""
    counter = field.removesuffix(_RAW).replace("_persec", "/sec")
    return counter.replace("_", " ").replace("Percent", "%")


def _free_space(object_name: str, field: str) -> Shown | None:
    """The free space of a volume, which the exporter shows in bytes."""
    counter = field.removesuffix(_RAW).replace("_", " ")
    if (object_name.lower(), counter.lower()) != (VOLUMES.lower(), FREE_MEGABYTES.lower()):
        return None
    return Shown(VOLUMES, FREE_MEGABYTES, "level")
