"""Events in plain text: log lines, labelled blocks, console tables, pasted XML and JSON.

Only lines near a hit of the prefilter are examined. A record depends on the lines around it alone,
never on where a feed began.
"""

import re
from collections.abc import Sequence
from itertools import chain
from typing import Literal, NamedTuple

import msgspec

from esewatch.ese.events.from_text import TextFrame
from esewatch.ese.raw_event import RawEvent
from esewatch.sources.files.decoder import Fed
from esewatch.sources.files.record_times import KnownLogs, Log
from esewatch.sources.logs.formats import blocks
from esewatch.sources.logs.formats.event_builder import (
    RECORD_LIMIT,
    DecoderState,
    Harvest,
    LogDecoder,
    Maker,
)
from esewatch.sources.logs.formats.fields import FIELD_OF, level_of
from esewatch.sources.logs.formats.json_values import events_in
from esewatch.sources.logs.formats.lines import LineReader, is_undescribed, records_in, undone
from esewatch.sources.logs.formats.prefilter import Prefilter, hit_between
from esewatch.sources.logs.formats.tables import DASHES, Table, read_table
from esewatch.sources.logs.formats.xml_events import OPEN, add_element, element_end, head_of

_ANCHORS = re.compile(
    rb"\n(?=[ \tEIP-])[ \t]*(?:Event ID:|EventID |Ereignis-ID:|ID de l|ID evento:|ID do Evento:"
    rb"|Identifica|Id\. del evento:|InstanceId |ProviderName[: ]|-{2,}[ \t])"
)
"""Lines that show the meaning of those near them: labels of events, dashes of tables."""

_ELEMENT = re.compile(rb"<(?=Event[\s>])")
"""One character is found far faster than a word."""
_ESCAPED_ELEMENT = re.compile(rb"&lt;Event(?=\s|&gt;)")
_STARTS = re.compile(
    rb"[\s<\[(\"'>]{0,4}(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\.?[T ,]+\d{1,2}[:.]\d\d|\d{8}T\d{4}"
    rb"|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d|\d{1,3}>|\{|<Event[ >]"
    rb"|(?:Information|Warning|Error|Critical|Verbose|INFO|WARN|WARNING|ERROR|DEBUG)[\t ,:|\]]+\d)"
)
_HEAD = re.compile(rb"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)([^)\n]{1,300})\) ")
_LINE = re.compile(_HEAD.pattern + rb"([^\r\n]+)(?<!\")\r?\n(?=\d{4}-\d\d-\d\d[ T]\d\d:\d\d)")
"""A dated line with a process and a text, before another dated line."""
_DIGIT = re.compile(rb"\d")
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_ZONED = re.compile(r"(?:Z|UTC|GMT|[+-]\d\d:?\d\d|\A\d{10,19}(?:\.\d+)?)\Z")
_KEPT_FRAMES = 4096
_BACK_LINES = 16
_WRAPPED_LINES = 64
_BLOCK_LINES = 400
_RECORD_BYTES = 1 << 17
_LONG_LINE = 1 << 16
_LONGEST_ANCHOR = 256
_NEWLINE = b"\n"[0]
_HEARD = re.compile(
    rb"(?:<\d{1,3}>(?:1 )?)?[\"'\[(]?((\d{4}-\d\d-\d\d[ T]\d\d|[A-Z][a-z]{2} [ \d]\d \d\d)"
    rb":\d\d:\d\d[^\s\]\",;|]*)[\s\]\",;|]+([^\s\]\",;:|]+)"
)
"""The time of a line, its hour, and the word behind it."""
_BLANK = (b"", b" ", b"\t", b"\r")

Kind = Literal["skip", "dashes", "heading", "xml", "json", "row", "block", "line", "unread"]


class TextPiece(NamedTuple):
    """A stretch of the data that is one record; `open` if more of it may follow."""

    kind: Kind
    start: int
    end: int
    open: bool = False


class TextEvents(LogDecoder):
    def __init__(
        self,
        maker: Maker,
        needles: Prefilter,
        state: DecoderState | None = None,
        logs: KnownLogs | None = None,
    ) -> None:
        super().__init__(maker, needles, state or DecoderState("text"), logs)
        self._frames: dict[bytes, TextFrame | None] = {}
        """By the heading of a line, to its process."""
        self._lines = LineReader(maker.options.providers, companions=maker.options.companions)
        self._barren = (0, 0, 0, 0)
        """From where to where the data has labelled lines that give no event, how many they are,
        and how many a header may have."""

    def feed(self, data: bytes, *, final: bool) -> Fed:
        harvest = Harvest()
        self._barren = (0, 0, 0, 0)
        at = known = self._known_lines(data, self._state.taken, harvest)
        consumed = -1
        anchors = _anchors(data, at)
        hits = self._hits = self._needles.hits_behind(data, at)
        for hit in sorted([*hits, *anchors]):
            if hit < at:
                continue
            start = _line_start(data, at, hit)
            if (end := self._known_lines(data, start, harvest)) > start:
                at = end
                continue
            piece = self._piece(data, at, hit, told=hit not in anchors, final=final)
            if piece.open and not final:
                consumed = piece.start
                break
            self._maker.foreign, said = False, harvest.said
            if piece.kind != "unread":
                self._read(data, at, piece, harvest)
            if harvest.said == said and piece.kind not in ("dashes", "heading"):
                self._maker.tell_unread(data[piece.start : piece.end], piece.start, harvest, said)
            at = piece.end
        if consumed < 0:
            consumed = len(data) if final else self._settled(data, at)
        self._hear(data, hits, known, consumed, harvest)
        fed, self._state.taken = harvest.fed(data, consumed)
        return fed

    def _hear(self, data: bytes, hits: Sequence[int], known: int, end: int, fed: Harvest) -> None:
        """Note the times of the lines of other providers, of those up to `end`. All up to `known`
        are events; `hits` are those of the needles behind it."""
        self._logs.learn(fed.records)
        default = self._maker.options.computer
        unnamed = default.encode("utf-8", "replace") in self._logs.names

        def hear(begin: int, end: int) -> tuple[Log, float] | None:
            if begin < known or hit_between(hits, begin, end):
                return None
            line = data[begin : min(end, begin + _LONGEST_ANCHOR)]
            head = _HEARD.match(line)
            if head is not None and head[3] in self._logs.names:
                time, host = _text(head[1]), _text(head[3])
            else:
                time, host = self._lines.origin(_text(line))
                if unnamed and host.encode("utf-8", "replace") not in self._logs.names:
                    host = default  # the word is no computer
            told = self._maker.hear_at(host, "", time, fed)
            return None if told is None else ((host, ""), told)

        if self._logs.are_heard(data, self._state.taken, end, hear):
            return
        lines: dict[tuple[bytes, bytes], list[int]] = {}
        at = self._state.taken
        for line in data[at:end].split(b"\n"):
            head = _HEARD.match(line)
            if head is not None and not level_of(_text(head[3])):
                key = head[2], head[3]
                lines.setdefault(key, [at])[1:] = [at]
            elif line[:1] not in _BLANK and (head is not None or _STARTS.match(line)):
                lines[line, b""] = [at]
            at += len(line) + 1
        for at in chain.from_iterable(lines.values()):
            hear(at, _line_end(data, at))

    def _known_lines(self, data: bytes, at: int, harvest: Harvest) -> int:
        """Take the lines from `at` on that are like lines read before; returns where they end."""
        if self._state.table is not None or (at and data[at - 1] != _NEWLINE):
            return at
        while (line := _LINE.match(data, at)) is not None:
            time, head, rest = line.groups()
            key, frac = _heading(head)
            frame = self._frames.get(key)
            event = frame and self._maker.in_frame(frame, _text(time + frac), _text(rest))
            if not event:
                break
            harvest.records.append(event)
            at = line.end()
        return at

    def _learn(self, content: bytes) -> None:
        """Learn the heading of a line that was read: what it says whatever text follows it."""
        line = _HEAD.match(content)
        if line is None or (key := _heading(line[2])[0]) in self._frames:
            return
        if len(self._frames) >= _KEPT_FRAMES:
            self._frames.clear()
        read = self._lines.read(_text(line[0]))
        time = _text(line[1] + _heading(line[2])[1])
        certain = read is not None and read[1] and read[0].time == time
        self._frames[key] = self._maker.frame_of(read[0]) if read and certain else None

    def _piece(self, data: bytes, at: int, hit: int, *, told: bool, final: bool) -> TextPiece:
        """The record that the hit is in. Never reads before `at`, the end of the record before.
        `told` says that the line is known to have a needle."""
        start, table = _line_start(data, at, hit), self._state.table
        # Decided without a copy of the line, which may have very many elements.
        if OPEN.match(data, hit) and data.find(b'{"', start, hit) < 0:
            return _element(data, hit)
        end = _line_end(data, hit)
        line = data[start:end]
        # Most lines begin with a date: no dashes, no label, no rule does.
        dated = line[:1].isdigit()
        if not dated and DASHES.fullmatch(line):
            return TextPiece("dashes", start, end)
        if line.rstrip().endswith(b"}") and b'{"' in line:
            return TextPiece("json", start, end)
        if table and (piece := self._row_piece(data, at, start, end, table)) is not None:
            return piece
        text = "" if dated else _text(line)
        label = None if dated else blocks.label_of(text)
        if label is not None or blocks.continues(text):
            first = _block_start(data, at, start)
            if not self._are_barren(data, first) and (
                block := _block_piece(data, first, final=final)
            ):
                return block
            if label is not None and label.name == "providername" and label.value:
                return TextPiece("heading", start, end)
        if b"Event" in line and (opened := OPEN.search(line, hit - start)) is not None:
            return _element(data, start + opened.start())
        ruled = label is None and blocks.is_separator(text[:80])
        if len(line) > _LONG_LINE or ruled or not (told or self._needles.any_in(line)):
            return TextPiece("skip", start, end)
        piece = self._line_piece(data, start, end)
        named = label is not None and FIELD_OF.get(label.name) not in (None, "message")
        if named and piece.end == end and not _DIGIT.search(line):
            return piece._replace(kind="unread")
        return piece

    def _are_barren(self, data: bytes, start: int) -> bool:
        """True if as many labelled lines from `start` on as a header may have give no event. Each
        is looked at once, however many of them follow each other."""
        begun, end, count, most = self._barren
        if not begun <= start < end:
            begun, end, count, most = start, start, 0, 2 * _BACK_LINES
        count -= data.count(b"\n", begun, start)
        while count < most:
            following = _line_end(data, end)
            text = _text(data[end:following])
            if following >= len(data) or not blocks.is_barren(text):
                break
            end, count = following, count + 1
            most = 2 * _WRAPPED_LINES if blocks.continues(text) else most
        self._barren = (start, end, count, most)
        return count >= most

    def _row_piece(
        self, data: bytes, at: int, start: int, end: int, table: Table
    ) -> TextPiece | None:
        first = start
        for _ in range(_WRAPPED_LINES):
            line = _text(data[first : _line_end(data, first)])
            if table.row(line) is not None:
                break
            if first <= at or not table.continues(line):
                return None
            first = _line_start(data, at, first - 1)
        else:
            return None
        end = stop = _line_end(data, first)
        for _ in range(_WRAPPED_LINES):
            if end >= len(data):
                return TextPiece("row", first, stop, open=True)
            following = _line_end(data, end)
            line = _text(data[end:following])
            if not table.continues(line):
                break
            end = following
            stop = end if line.strip() else stop
        return TextPiece("row", first, stop)

    def _line_piece(self, data: bytes, start: int, end: int) -> TextPiece:
        """A log line and the lines behind it that do not begin something of their own."""
        stop = end
        for _ in range(_WRAPPED_LINES):
            if stop >= len(data):
                return TextPiece("line", start, stop, open=True)
            following = _line_end(data, stop)
            if hit_between(self._hits, stop, following) or _STARTS.match(data, stop, following):
                break
            line = data[stop:following]
            if not line.strip() and not is_undescribed(_text(data[start:end])):
                break
            ended = self._needles.any_in(line) or blocks.ends_block(_text(line), "")
            ended = ended or (b"Event" in line and OPEN.search(line) is not None)
            if ended or following - start > _RECORD_BYTES:
                break
            stop = following
        return TextPiece("line", start, stop)

    def _read(self, data: bytes, at: int, piece: TextPiece, harvest: Harvest) -> None:
        content = data[piece.start : piece.end]
        text = _text(content)
        match piece.kind:
            case "line":
                text = blocks.unquoted(text)
                if records := records_in(text, self._maker.options.providers):
                    self._take_records(text, records, piece.start, harvest)
                elif (read := self._lines.read(undone(text))) is not None:
                    self._maker.add(read[0], piece.start, harvest, certain=read[1])
                    self._learn(content)
            case "dashes":
                header = _line_start(data, at, max(piece.start - 1, at))
                self._state.table = read_table(
                    _text(data[header : piece.start]), text, self._state.heading
                )
                self._state.heading = "" if self._state.table else self._state.heading
            case "heading":
                label = blocks.label_of(text)
                self._state.heading = label.value if label else ""
            case "xml":
                if self._needles.any_in(content):
                    before = data[_line_start(data, at, piece.start) : piece.start]
                    add_element(content, piece.start, self._maker, harvest, before=before)
                else:
                    self._maker.hear(head_of(content), harvest)
            case "json":
                self._take_json(text, piece.start, harvest)
            case "row":
                self._take_row(text, piece.start, harvest)
            case "block":
                if self._needles.any_in(content):
                    self._take_block(content, piece.start, harvest)
                elif (found := blocks.read_block(text)) is not None:
                    self._maker.hear(found, harvest)

    def _take_records(
        self, text: str, records: Sequence[RawEvent], offset: int, harvest: Harvest
    ) -> None:
        """Take records with named fields; what they lack is in the header of the line."""
        time, host = self._lines.origin(text)
        for found in records:
            if not found.time or (_ZONED.search(time) and not _ZONED.search(str(found.time))):
                found.time = time or found.time
            found.computer = found.computer or host
            self._maker.add(found, offset, harvest)

    def _take_json(self, text: str, offset: int, harvest: Harvest) -> None:
        try:
            value = msgspec.json.decode(text[text.index('{"') :].strip())
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            harvest.complain(offset, "not valid JSON")
            return
        for found in events_in(value):
            self._maker.add(found, offset, harvest)

    def _take_row(self, text: str, offset: int, harvest: Harvest) -> None:
        first, _, rest = text.partition("\n")
        found = self._state.table.row(first.rstrip("\r")) if self._state.table else None
        if found is None:
            return
        wrapped = " ".join(line.strip() for line in rest.splitlines() if line.strip())
        found.message = f"{found.message} {wrapped}".strip()
        timeless = found.time is None
        if self._maker.add(found, offset, harvest) and timeless:
            self._maker.remark(offset, "a table without times: the times are unknown", harvest)

    def _take_block(self, content: bytes, offset: int, harvest: Harvest) -> None:
        found = blocks.read_block(_text(content))
        if found is None:
            return
        opened = OPEN.search(content)
        end = element_end(content, opened.start(), len(content)) if opened else -1
        if opened and end >= 0:
            element = content[opened.start() : end]
            if add_element(element, offset, self._maker, harvest, message=found.message):
                return
        self._maker.add(found, offset, harvest)

    def _settled(self, data: bytes, at: int) -> int:
        """The offset up to which following text cannot change what was read. Labelled lines and a
        table's header at the end may belong to the next record."""
        start = len(data)
        for _ in range(_BACK_LINES):
            if start <= at:
                break
            before = _line_start(data, at, start - 1)
            line = data[before:start]
            text = _text(line)
            if len(line) > _LONG_LINE or not (
                blocks.label_of(text) or b"Message" in line or blocks.is_date(text)
            ):
                break
            start = before
        return min(start, self._open_row(data, at))

    def _open_row(self, data: bytes, at: int) -> int:
        """Start of the table row at the end of the data, to which further lines may belong."""
        start, table = len(data), self._state.table
        for _ in range(_WRAPPED_LINES):
            if table is None or start <= at:
                break
            start = _line_start(data, at, start - 1)
            line = _text(data[start : _line_end(data, start)])
            if table.row(line) is not None:
                return start
            if not table.continues(line):
                break
        return len(data)


def _heading(head: bytes) -> tuple[bytes, bytes]:
    """The heading of a line behind its second, and what is a part of its time of it."""
    if head[:1] == b" ":
        return head, b""
    fraction, _, rest = head.partition(b" ")
    return fraction.translate(_DIGITS) + b" " + rest, fraction


def _anchors(data: bytes, at: int) -> set[int]:
    """Offsets in lines that show the meaning of those near them, and of XML elements."""
    found = {match.end() - 1 for match in _ANCHORS.finditer(data, at)}
    found |= {match.start() for match in _ELEMENT.finditer(data, at)}
    found |= {match.start() for match in _ESCAPED_ELEMENT.finditer(data, at)}
    if first := _ANCHORS.match(b"\n" + data[:_LONGEST_ANCHOR]):
        found.add(first.end() - 2)
    return found


def _element(data: bytes, start: int) -> TextPiece:
    """A pasted `<Event>` element; of one that does not end the first line is passed over."""
    limit = min(len(data), start + RECORD_LIMIT)
    end = element_end(data, start, limit)
    if end >= 0:
        return TextPiece("xml", start, end)
    is_open = OPEN.search(data, start + 1, limit) is None and len(data) - start < RECORD_LIMIT
    return TextPiece("skip", start, _line_end(data, start), open=is_open)


def _block_piece(data: bytes, start: int, *, final: bool) -> TextPiece | None:
    """The block of labelled lines that begins here; None when it is no block of an event."""
    end = start
    lines: list[str] = []
    labels = 0
    while end < len(data) and labels < 2 * _BACK_LINES and len(lines) < 2 * _WRAPPED_LINES:
        following = _line_end(data, end)
        lines.append(_text(data[end:following]).rstrip("\r\n"))
        end = following
        if blocks.continues(lines[-1]):
            continue
        if blocks.label_of(lines[-1]) is None and len(lines) > 1:
            break
        labels += 1
    header = blocks.read_header(lines)
    if header is None:
        undecided = end >= len(data) and not final and all(map(blocks.label_of, lines))
        return TextPiece("block", start, end, open=True) if undecided else None
    end = start
    for _ in range(header.lines):
        end = _line_end(data, end)
    for _ in range(_BLOCK_LINES):
        if end >= len(data):
            return TextPiece("block", start, end, open=True)
        following = _line_end(data, end)
        content = data[end:following]
        begins = blocks.ends_block(_text(content), header.first) or _STARTS.match(content.lstrip())
        if begins and not OPEN.match(content.lstrip()):
            break
        if following - start > _RECORD_BYTES:
            break
        end = following
    return TextPiece("block", start, end)


def _block_start(data: bytes, at: int, line: int) -> int:
    """The first of the labelled lines, wrapped or not, that end with this one."""
    start = line
    labels = 0
    for _ in range(_WRAPPED_LINES):
        if start <= at or labels == _BACK_LINES:
            break
        before = _line_start(data, at, start - 1)
        text = _text(data[before:start])
        if not blocks.continues(text):
            if blocks.label_of(text) is None:
                return before if blocks.is_date(text) else start
            labels += 1
        start = before
    return start


def _line_start(data: bytes, at: int, offset: int) -> int:
    return data.rfind(b"\n", at, offset) + 1 or at


def _line_end(data: bytes, offset: int) -> int:
    return data.find(b"\n", offset) + 1 or len(data)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
