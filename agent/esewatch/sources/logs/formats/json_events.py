"""Events written as JSON: one object a line, pretty-printed, concatenated, or in arrays."""

import json
import re
from bisect import bisect_left
from datetime import UTC, datetime
from itertools import chain
from typing import Annotated

import msgspec

from esewatch.ese.events.from_strings import event_from_strings, logged_process
from esewatch.ese.providers import ESE_PROVIDERS, is_ese_provider
from esewatch.ese.raw_event import RawEvent
from esewatch.model import Event, Level, Stage, Task
from esewatch.sources.files.decoder import Fed
from esewatch.sources.files.record_times import KnownLogs, Log
from esewatch.sources.logs.formats.event_builder import (
    RECORD_LIMIT,
    DecoderState,
    Harvest,
    LogDecoder,
    Maker,
)
from esewatch.sources.logs.formats.json_heads import JsonHeads
from esewatch.sources.logs.formats.json_values import (
    events_in,
    log_records,
    named_values,
    texts_in,
)
from esewatch.sources.logs.formats.prefilter import Prefilter, hit_between
from esewatch.sources.logs.formats.text_events import TextEvents

_START = re.compile(rb"^[ \t\[,\]}]*(?=\{)", re.MULTILINE)
_NEXT = re.compile(
    rb'(?:[ \t\r\n\[,\]}:]|"(?:[^"\\\r\n]|\\.)*+"|-?\d[\d.eE+-]*+|true|false|null)*+(?=\{)'
)
"""Text between two objects: ends of lists, and the other members of a wrapper."""
_WRAPPER = re.compile(
    rb'(?:\{\s*"(?:value|events|records|results|hits|items|logs|data)"\s*:\s*)+\[\s*(?=\{)',
    re.IGNORECASE,
)
_OTLP = re.compile(
    rb'\{\s*"(?:(?:resourceLogs|scopeLogs|instrumentationLibraryLogs)"\s*:\s*\['
    rb'|(?:resource|scope|instrumentationLibrary)"\s*:\s*\{)'
)
"""The text before the records of an OTLP line, which may be many and far over the limit."""
_LOG_RECORDS = re.compile(rb'"logRecords"\s*:\s*\[\s*(?=\{)')
_OTLP_HEAD = 1 << 14
"""Longest resource and scope before the records."""
_OTHER_LINE_ENDS = (b"}\r\n", b"},\n", b"},\r\n")
_CERTAIN = tuple(f'"{name}"'.encode() for name in ESE_PROVIDERS if "*" not in name)
"""Pieces of JSON that are hits of the prefilter for sure."""
_SIZES = (4096, 65536, RECORD_LIMIT)
_Number = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class OwnLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A line that `esewatch events --format json` prints."""

    event_id: Annotated[int, msgspec.Meta(ge=0, le=0xFFFFFFFF)]
    provider: str
    time: datetime | None = None
    computer: str = ""
    channel: str = ""
    record_id: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None
    level: Level | None = None
    process: str = ""
    instance_state: str = ""
    engine_version: str = ""
    ese_instance: str = ""
    database: str = ""
    task: Task | None = None
    stage: Stage | None = None
    fields: dict[str, _Number | float | str] = {}
    strings: tuple[str, ...] = ()
    companion: bool = False


_OWN_KEYS = frozenset(OwnLine.__struct_fields__)
_decode = msgspec.json.Decoder(OwnLine).decode


def own_line(line: bytes) -> OwnLine | None:
    """Content of a line in esewatch's own form (contract, `events --format json`), else None."""
    try:
        return _checked(_decode(line))
    except (msgspec.DecodeError, UnicodeError, RecursionError, OverflowError):
        return None


def own_object(value: object) -> OwnLine | None:
    """The same of a line that is decoded already."""
    if not isinstance(value, dict) or not {"event_id", "provider"} <= value.keys() <= _OWN_KEYS:
        return None
    try:
        msgspec.json.encode(value)  # half a character raises
        return _checked(msgspec.convert(value, OwnLine))
    except (msgspec.ValidationError, OverflowError, UnicodeError):
        return None


def _checked(line: OwnLine) -> OwnLine | None:
    return line if line.time is None or line.time.tzinfo is not None else None


class BrokenError(ValueError):
    """The object can never become valid, whatever follows."""


class JsonEvents(LogDecoder):
    def __init__(
        self,
        maker: Maker,
        needles: Prefilter,
        state: DecoderState | None = None,
        logs: KnownLogs | None = None,
    ) -> None:
        super().__init__(maker, needles, state or DecoderState("json"), logs)
        self._own = False
        """The last event was in esewatch's own form."""
        self._heads = JsonHeads(maker)
        self._passed: list[tuple[int, int]] = []
        """Begin and end of lines of other providers."""

    def feed(self, data: bytes, *, final: bool) -> Fed:
        harvest = Harvest()
        self._passed.clear()
        consumed = self._read(data, harvest, final=final)
        self._hear(data, harvest)
        fed, self._state.taken = harvest.fed(data, consumed)
        return fed

    def _hear(self, data: bytes, harvest: Harvest) -> None:
        """Note the times of the lines that were passed over."""
        self._logs.learn(harvest.records)

        def hear(start: int, stop: int) -> tuple[Log, float] | None:
            line = data[start:stop]
            return None if self._has_hit(line) else self._heads.hear_one(line, harvest)

        if not self._passed:
            return
        begin, end = self._passed[0][0], self._passed[-1][1]
        if not self._logs.are_heard(data, begin, end, hear):
            lines = [line for start, end in self._passed for line in data[start:end].split(b"\n")]
            self._heads.hear(lines, harvest)

    def _read(self, data: bytes, harvest: Harvest, *, final: bool) -> int:
        at = self._state.taken
        if not at and self._state.broken_at is None:
            at = self._whole_lines(data, harvest)
            if at and at + 1 == len(data):
                return len(data)
        hits = self._needles.hits_behind(data, at)
        consumed = len(data)
        while (start := self._next_start(data, at, hits, harvest)) is not None:
            end = self._line_object(data, start, hits, harvest)
            if end is None:
                start = _first_record(data, start)
                end = self._long_object(data, start, hits, harvest, final=final)
            if end is None:
                consumed = start
                break
            at = end
        return consumed

    def _whole_lines(self, data: bytes, harvest: Harvest) -> int:
        """Take lines from the first on, each of them one object with an event, as far as they go.
        So a log of nothing but events is not searched beforehand for places where one may be."""
        at = taken = passed = 0
        for line in data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]:
            if not _is_object(line):
                break
            if self._has_hit(line):
                if not self._take_line(line, at, harvest):
                    break
                taken += 1
            elif passed <= taken // 8 and is_passed(line.rstrip(b" \t\r,]")):
                passed += 1
                self._passed.append((at, at + len(line)))
            else:
                break
            at += len(line) + 1
        return max(0, at - 1)

    def take_object(self, line: bytes, harvest: Harvest) -> bool:
        """Take the event of a file that is this line alone; False when it is no plain object."""
        if not _is_object(line):
            return False
        self._maker.begin(line.decode("utf-8", "replace"))
        return self._take_line(line, 0, harvest)

    def _has_hit(self, line: bytes) -> bool:
        return any(piece in line for piece in _CERTAIN) or self._needles.any_in(line)

    def _take_line(self, line: bytes, at: int, harvest: Harvest) -> bool:
        if self._own and (own := own_line(line)) is not None:
            self._add_own(own, harvest)
            return True
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return False
        self._take(value, line, at, harvest)
        return True

    def _next_start(self, data: bytes, at: int, hits: list[int], harvest: Harvest) -> int | None:
        """Offset of the next `{` that opens a record; foreign one-line objects are passed over, and
        what else stands there is read as text."""
        if self._state.broken_at is None:
            at = self._pass_lines(data, at, hits)
            found = _NEXT.match(data, at)
            if found is None:
                found = _START.search(data, at)
                end = found.start() if found else len(data)
                if hit_between(hits, at, end):
                    fed = TextEvents(self._maker, self._needles).feed(data[at:end], final=True)
                    harvest.take_stretch(fed, at)
        else:
            starts = _START.finditer(data, at)
            found = next((s for s in starts if s.end() - s.start() <= self._state.broken_at), None)
        if found is None:
            return None
        self._state.broken_at = None
        wrapper = _WRAPPER.match(data, found.end())
        return wrapper.end() if wrapper else found.end()

    def _pass_lines(self, data: bytes, at: int, hits: list[int]) -> int:
        """Behind the lines before the next hit, if each of them holds one whole object."""
        index = bisect_left(hits, at)
        limit = hits[index] if index < len(hits) else len(data)
        start = 0 if at == 0 else data.find(b"\n", at, limit) + 1
        end = data.rfind(b"\n", start, limit) + 1
        if (at and not start) or end <= start or data[at:start].strip(b" \t\r\n,]"):
            return at
        lines = data.count(b"\n", start, end)
        opened = data.count(b"\n{", start, end - 1) + data.startswith(b"{", start)
        if lines != opened:
            return at
        closed = data.count(b"}\n", start, end)
        if lines != closed:
            closed += sum(data.count(mark, start, end) for mark in _OTHER_LINE_ENDS)
        # Half an event may end in a brace, too.
        whole = lines == closed and data.count(b"{", start, end) == data.count(b"}", start, end)
        if whole:
            self._passed.append((start, end))
        return end if whole else at

    def _line_object(
        self, data: bytes, start: int, hits: list[int], harvest: Harvest
    ) -> int | None:
        """Take an object that fills the rest of its line; None when it does not."""
        # Within a list on one line the rest of the line is other objects, not worth a look.
        if data[max(0, start - 2) : start].rstrip(b" \t").endswith((b"[", b",")):
            return None
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        text = data[start:end].rstrip(b" \t\r,]")
        if end - start > RECORD_LIMIT or not text.endswith(b"}"):
            return None
        if not hit_between(hits, start, end) and is_passed(text):
            self._passed.append((start, end))
            return end
        return end if self._take_line(text, start, harvest) else None

    def _long_object(
        self, data: bytes, start: int, hits: list[int], harvest: Harvest, *, final: bool
    ) -> int | None:
        """Take an object of any layout; None when its end is not there yet."""
        try:
            value, length = _whole_object(data, start)
        except BrokenError as error:
            harvest.complain(start, f"not valid JSON: {error}")
            return self._give_up(data, start)
        if length is None:
            if not final and len(data) - start <= RECORD_LIMIT:
                return None
            harvest.complain(start, "the JSON object does not end")
            return self._give_up(data, start)
        if hit_between(hits, start, start + length):
            self._take(value, data[start : start + length], start, harvest)
        else:
            for found in chain.from_iterable(map(events_in, log_records(value))):
                self._maker.hear(found, harvest)
        return start + length

    def _give_up(self, data: bytes, start: int) -> int:
        """Behind the line of a broken object: what is indented deeper is a part of it."""
        self._state.broken_at = start - (data.rfind(b"\n", 0, start) + 1)
        return data.find(b"\n", start) + 1 or len(data)

    def _take(self, value: object, text: bytes, start: int, harvest: Harvest) -> None:
        own = own_object(value)
        self._own = own is not None
        if own is not None:
            self._add_own(own, harvest)
            return
        for record in log_records(value):
            self._maker.foreign, said = False, harvest.said
            for found in events_in(record):
                self._maker.add(found, start, harvest)
            if harvest.said == said and not self._maker.foreign:
                self._take_texts(record, start, harvest)
            if harvest.said == said:
                shown = text if record is value else _as_text(record)
                self._maker.tell_unread(shown, start, harvest, said)

    def _take_texts(self, record: object, start: int, harvest: Harvest) -> None:
        """Take the events in the texts of an object of another form, each a text log of its own."""
        beside = None
        for text in texts_in(record):
            data = text.encode("utf-8", "replace")
            if not self._needles.any_in(data):
                continue
            beside = beside or named_values(record)
            beside.channel = "" if beside.channel == text else beside.channel
            fed = TextEvents(self._maker, self._needles).feed(data, final=True)
            harvest.take(fed, start, self._maker.completed_by(beside))

    def _add_own(self, line: OwnLine, harvest: Harvest) -> None:
        """Add an event that was read back whole to the harvest, if its provider is wanted."""
        options = self._maker.options
        ours = is_ese_provider(line.provider, options.providers)
        if not ours:
            raw = RawEvent(line.provider, line.event_id, strings=line.strings)
            if not options.companions or event_from_strings(raw, options.providers) is None:
                return
        state, version = line.instance_state, line.engine_version
        if ours and not (state and version):
            logged = logged_process(line.provider, line.event_id, line.strings, options.providers)
            state, version = state or logged[0], version or logged[1]
        time = None if line.time is None else (line.time - _EPOCH).total_seconds()
        harvest.records.append(
            Event(
                line.event_id, line.provider, time, line.computer or options.computer,
                line.channel, line.record_id, line.level, line.process, state, version,
                line.ese_instance, line.database, line.task, line.stage, line.fields, line.strings,
                not ours,
            )
        )  # fmt: skip


def _is_object(line: bytes) -> bool:
    """False where it may be many objects, or a part of one."""
    return line[:2] == b'{"' and len(line) <= RECORD_LIMIT and not _WRAPPER.match(line)


def _first_record(data: bytes, start: int) -> int:
    """Offset of the first record of an OTLP object that opens at `start`, else `start` itself."""
    if not _OTLP.match(data, start):
        return start
    # A scope may have no records: those of the next object are not its own.
    end = data.find(b"\n{", start, start + _OTLP_HEAD)
    at = data.find(b'"logRecords"', start, end if end >= 0 else start + _OTLP_HEAD)
    records = _LOG_RECORDS.match(data, at) if at >= 0 else None
    return records.end() if records else start


def _as_text(record: object) -> bytes:
    """Of one nested too deep, nothing but that it may name ESE."""
    try:
        return json.dumps(record).encode()
    except RecursionError:
        return b'"ESE",'


def is_passed(text: bytes) -> bool:
    """True if a line without a hit is left undecoded: an object ends where the line does."""
    return text.endswith(b"}") and text.count(b"{") == text.count(b"}")


def _whole_object(data: bytes, start: int) -> tuple[object, int | None]:
    """The object at `start` and its length in bytes; (None, None) when the data ends within it."""
    decoder = json.JSONDecoder()
    for size in _SIZES:
        text = data[start : start + size].decode("utf-8", "surrogateescape")
        try:
            value, end = decoder.raw_decode(text)
        except json.JSONDecodeError as error:
            if _breaks(text, error):
                raise BrokenError(error.msg) from None
        except (RecursionError, ValueError):
            raise BrokenError("nested too deep or a number too long") from None
        else:
            return value, len(text[:end].encode("utf-8", "surrogateescape"))
        if start + size >= len(data):
            break
    return None, None


def _breaks(text: str, error: json.JSONDecodeError) -> bool:
    """Is the fault in the text itself, or only that the text ends too early?"""
    rest = text[error.pos :]
    if error.msg.startswith("Unterminated string"):
        return "\n" in rest
    return len(rest.strip()) > 8
