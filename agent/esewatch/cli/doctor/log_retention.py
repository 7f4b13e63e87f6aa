"""Retention of an event log: from its files, against the longest pass that it must hold."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from esefiles.base.units import size
from esewatch.advice.base.time_at_work import DAY
from esewatch.cli.doctor.source_files import matching
from esewatch.config import LogFiles, Settings
from esewatch.expose.formatting import duration
from esewatch.expose.pages.problems.problem import Problem
from esewatch.fold.identity.identity import computer_label
from esewatch.fold.passes.passes import views_in
from esewatch.fold.state.state import State
from esewatch.model import Coverage
from esewatch.sources.evtx.chunks import (
    CHUNK_BYTES,
    CHUNK_HEADER_BYTES,
    CHUNK_MAGIC,
    chunk_count,
    chunk_offset,
    examine,
)
from esewatch.sources.evtx.evtx_records import ChunkDecoder
from esewatch.sources.files.raw_file import RawFile, open_raw, read_at
from esewatch.sources.kind import EventOptions

MOST_FILES = 100
"""Files of a source whose length is measured: the youngest."""
LEAST_SPAN = 3600.0
"""A log of less says nothing about how much a day writes."""
STEP = 64 << 10
"""Sizes of event logs are multiples of it (wevtutil sl /?)."""

_PLAIN = re.compile(r"[\w ./()-]{1,255}")
"""Characters of a log's name. It comes from a file, so no other may go into a command."""

Channel = tuple[str, str]
"""(computer label, name of the log)."""


class Length(msgspec.Struct):
    first: int
    """Lowest record id: above 1 the log has wrapped."""
    start: float
    end: float
    bytes: int
    span: float
    """Seconds that the files cover, one by one."""
    source: str


def lengths(entry: LogFiles, settings: Settings) -> dict[Channel, Length]:
    """Of each log in the files of a source of EVTX. Files that cannot be read are left out."""
    found: dict[Channel, Length] = {}
    for path in matching(entry)[-MOST_FILES:]:
        try:
            raw = open_raw(path)
        except OSError:
            continue
        try:
            told = _length(raw, entry, settings)
        except OSError:
            continue
        finally:
            raw.close()
        if told is not None:
            key, length = told
            found[key] = _both(found[key], length) if key in found else length
    return found


def _both(one: Length, other: Length) -> Length:
    return Length(
        first=min(one.first, other.first),
        start=min(one.start, other.start),
        end=max(one.end, other.end),
        bytes=one.bytes + other.bytes,
        span=one.span + other.span,
        source=one.source,
    )


def _length(raw: RawFile, entry: LogFiles, settings: Settings) -> tuple[Channel, Length] | None:
    if raw.compressed:
        return None
    chunks: list[tuple[int, int, int]] = []
    for number in range(chunk_count(raw.stat().st_size)):
        header = read_at(raw, chunk_offset(number), CHUNK_HEADER_BYTES)
        if header.startswith(CHUNK_MAGIC):
            first, last = (int.from_bytes(header[at : at + 8], "little") for at in (24, 32))
            if 0 < first <= last < 1 << 63:
                chunks.append((first, last, number))
    if not chunks:
        return None
    oldest = _coverage(raw, min(chunks)[2], entry)
    newest = _coverage(raw, max(chunks, key=lambda each: each[1])[2], entry)
    if oldest is None or newest is None:
        return None
    seconds = newest.last_time - oldest.first_time
    return (computer_label(oldest.computer, settings), oldest.channel), Length(
        first=oldest.first,
        start=oldest.first_time,
        end=newest.last_time,
        bytes=len(chunks) * CHUNK_BYTES,
        span=max(0.0, seconds),
        source=entry.name,
    )


def _coverage(raw: RawFile, number: int, entry: LogFiles) -> Coverage | None:
    chunk = examine(read_at(raw, chunk_offset(number), CHUNK_BYTES))
    if chunk is None:
        return None
    return ChunkDecoder(EventOptions(computer=entry.computer or "")).decode(chunk).coverage


def longest_passes(state: State) -> dict[str, float]:
    """By computer: seconds from start to end of its longest pass that is known."""
    found: dict[str, float] = {}
    for database in state.databases.values():
        for view in views_in(state, database).values():
            for each in [*view.passes, *([view.current] if view.current else [])]:
                if each.started is not None and each.outcome in ("completed", "open"):
                    # What was not heard of any more may have ended long ago.
                    took = (each.ended or each.last_event) - each.started
                    found[database.computer] = max(took, found.get(database.computer, 0.0))
    return found


def short_logs(
    known: Mapping[Channel, Length], longest: Mapping[str, float], state: State
) -> Iterator[Problem]:
    for (computer, name), length in sorted(known.items()):
        wanted = 2 * longest.get(computer, 0.0)
        held = length.end - length.start
        if length.first <= 1 or not wanted or held >= wanted or length.span < LEAST_SPAN:
            continue
        a_day = length.bytes / length.span * DAY
        needed = math.ceil(a_day * wanted / DAY / STEP) * STEP
        read = _read_without_a_gap(state, (computer, name))
        yield Problem(
            problem="log_short",
            source=length.source,
            computer=computer,
            sentence=f"the log {name} goes back {duration(held)}; two of the longest passes took "
            f"{duration(wanted)}. It grows by {size(a_day)} a day and needs {size(needed)}"
            + (": what was read before it wrapped is kept" if read >= wanted else ""),
            command=f'wevtutil sl "{name}" /ms:{needed} /rt:false'
            if _PLAIN.fullmatch(name)
            else "",
            needs_person=read < wanted,
        )


def _read_without_a_gap(state: State, key: Channel) -> float:
    """Seconds up to its last record of which no record is missing."""
    channel = state.channels.get((key[0], key[1].lower()))
    if channel is None or not channel.epochs:
        return 0.0
    newest = channel.epochs[-1]
    gaps: Iterable[float] = (gap[1] for gap in channel.gaps)
    return newest.max_time - max([newest.start, *gaps])
