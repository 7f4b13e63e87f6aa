"""Events written as XML: Event Viewer, `wevtutil qe /f:xml`, `.ToXml()`, evtx_dump.

Each `<Event>` element is cut out and parsed by itself, so a document type with its
entities is never seen by the parser, and roots may follow each other as they like.
"""

import html
import re
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.sax.saxutils import unescape

from esewatch.ese.raw_event import RawEvent
from esewatch.sources.files.decoder import Fed
from esewatch.sources.logs.formats.event_builder import RECORD_LIMIT, Harvest, LogDecoder, Maker
from esewatch.sources.logs.formats.fields import gather, integer, level_of, plain
from esewatch.sources.logs.formats.prefilter import hit_between

OPEN = re.compile(rb"<Event(?=[\s>])|&lt;Event(?=\s|&gt;)")
_OPEN_ANY = re.compile(OPEN.pattern + rb"|<Obj(?:ect)?(?=\s)")
"""With the objects of Export-Clixml and ConvertTo-Xml, which lie within each other."""
_OBJECT = re.compile(rb"<(/?)Obj(?:ect)?(?=[\s>])[^>]*?(/?)>")
_OBJECT_ENDS = (b"</Obj>", b"</Object>")
_SPELT = re.compile(r"_x([0-9A-Fa-f]{4})_")
_OPEN_PLAIN = re.compile(rb"<Event(?=[\s>])")
CLOSE, _CLOSE_ESCAPED = b"</Event>", b"&lt;/Event&gt;"
_QUOTED = re.compile(rb"[ \t]*(?:[>|][ \t]?)+(?:[-+][ \t]*(?=<))?")
_QUOTES = re.compile(rb"^" + _QUOTED.pattern, re.MULTILINE)
"""A mail quotes each line, and the viewer's tree has a dash before what can be folded."""
_DASHED = re.compile(rb"^[ \t]*[-+][ \t]*(?=<)", re.MULTILINE)
_BACKSLASH = re.compile(rb"\\([\\\"/])")
_ESCAPED_LINE_ENDS = re.compile(rb"_x000D__x000A_|<br ?/?>")
"""As Export-Clixml and pages write them."""
_ILLEGAL = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|&#0*(?:[0-8]|1[124-9]|2\d|3[01]);|&#x0*(?:[0-8bcef]|1[0-9a-f]);",
    re.IGNORECASE,
)
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()
_ENDLESS = "the <Event> element does not end within 1 MiB"
_CUT = "the <Event> element has no end: the file ends or another one begins within it"
_ITEMS = re.compile(r"<string>(.*?)</string>\n?", re.DOTALL)
"""python-evtx writes all strings of an event into one `Data`."""
_DECLARATION = re.compile(rb"<!(?!\[CDATA\[|--)")
_TIME = re.compile(rb"<TimeCreated\s+SystemTime=(['\"])([^'\"<>]{1,64})\1")
_COMPUTER = re.compile(rb"<Computer>([^<]{0,512})</Computer>")
_CHANNEL = re.compile(rb"<Channel>([^<]{0,512})</Channel>")


class XmlEvents(LogDecoder):
    """Decoder of `<Event>` elements, each of which stands for itself."""

    def feed(self, data: bytes, *, final: bool) -> Fed:
        harvest = Harvest()
        hits = self._needles.hits(data)
        consumed = len(data)
        behind = self._state.taken
        for start, end in elements(data, self._state.taken):
            self._tell_between(data, hits, behind, start, harvest)
            behind = end
            closed = data.endswith((CLOSE, _CLOSE_ESCAPED, *_OBJECT_ENDS), start, end)
            if end == len(data) and not closed and not final and end - start <= RECORD_LIMIT:
                consumed = start
            elif not closed:
                if hit_between(hits, start, end):
                    harvest.complain(start, _ENDLESS if end - start > RECORD_LIMIT else _CUT)
            elif hit_between(hits, start, end):
                self._maker.foreign, said = False, harvest.said
                add_element(data[start:end], start, self._maker, harvest)
                self._maker.tell_unread(data[start:end], start, harvest, said)
            else:
                self._maker.hear(head_of(data[start:end]), harvest)
        if consumed == len(data):
            self._tell_between(data, hits, behind, consumed, harvest)
        fed, self._state.taken = harvest.fed(data, consumed)
        return fed

    def _tell_between(
        self, data: bytes, hits: list[int], start: int, end: int, harvest: Harvest
    ) -> None:
        """Complain of what names ESE between two elements."""
        if hit_between(hits, start, end):
            self._maker.foreign = False
            self._maker.tell_unread(data[start:end], start, harvest, harvest.said)


def elements(data: bytes, at: int) -> Iterator[tuple[int, int]]:
    """Start and end of each `<Event>` element; one that is not closed ends at the next."""
    while (found := _OPEN_ANY.search(data, at)) is not None:
        start = found.start()
        at = element_end(data, start, len(data))
        if at < 0:
            is_object = data.startswith(b"<Obj", start)
            following = None if is_object else OPEN.search(data, found.end())
            at = following.start() if following else len(data)
        yield start, at


def element_end(data: bytes, start: int, limit: int) -> int:
    """End of the element that begins at `start`; -1 if another one begins, or `limit` comes,
    first."""
    if data.startswith(b"<Obj", start):
        return _object_end(data, start, limit)
    escaped = data.startswith(b"&", start)
    following = (OPEN if escaped else _OPEN_PLAIN).search(data, start + 1, limit)
    close = _CLOSE_ESCAPED if escaped else CLOSE
    end = data.find(close, start, following.start() if following else limit)
    return end + len(close) if end >= 0 else -1


def _object_end(data: bytes, start: int, limit: int) -> int:
    depth = 0
    for tag in _OBJECT.finditer(data, start, min(limit, start + RECORD_LIMIT)):
        depth += 0 if tag[2] else -1 if tag[1] else 1
        if not depth:
            return tag.end()
    return -1


def add_element(
    element: bytes,
    offset: int,
    maker: Maker,
    harvest: Harvest,
    *,
    message: str = "",
    before: bytes = b"",
) -> bool:
    """Add the event of one whole element to the harvest. False when its provider is not wanted.
    `before` is what stands before it on its line."""
    try:
        found = found_in(_bare(element, before))
    except ValueError as error:
        reason = str(error)
        harvest.complain(
            offset, reason if reason == _ENDLESS else f"not a readable <Event> element: {reason}"
        )
        return False
    found.message = found.message or message
    return maker.add(found, offset, harvest)


def _bare(element: bytes, before: bytes) -> bytes:
    """The element without what a mail, a page, a table or the viewer's tree added to it."""
    if _QUOTED.match(before):
        element = _QUOTES.sub(b"", element)
    elif before.rstrip().endswith((b"-", b"+")):
        element = _DASHED.sub(b"", element)
    if b'=""' in element:
        element = element.replace(b'""', b'"')
    if b'=\\"' in element:
        element = _BACKSLASH.sub(rb"\1", element)
    if element.startswith(b"&"):
        text = element.replace(b"&nbsp;", b" ").decode("utf-8", "replace")
        element = _ESCAPED_LINE_ENDS.sub(b"\n", html.unescape(text).encode())
    return element


def head_of(element: bytes) -> RawEvent:
    """Computer, channel and time of an element, without parsing it."""
    found = _TIME.search(element)
    time = found[2].decode("ascii", "replace") if found else ""
    return RawEvent(time=time, computer=_text(_COMPUTER, element), channel=_text(_CHANNEL, element))


def _text(pattern: re.Pattern[bytes], element: bytes) -> str:
    found = pattern.search(element)
    return unescape(found[1].decode("utf-8", "replace").strip()) if found else ""


def found_in(element: bytes) -> RawEvent:
    """The fields of one `<Event>` element in UTF-8. Raises ValueError."""
    if len(element) > RECORD_LIMIT:
        raise ValueError(_ENDLESS)
    if _DECLARATION.search(element):
        raise ValueError("a declaration within it")
    text = _ILLEGAL.sub(_REPLACEMENT, element).decode("utf-8", "replace")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from None
    if element.startswith(b"<Obj"):
        return _of_object(root)
    found = RawEvent()
    for section in root:
        name = _local(section)
        if name == "System":
            _read_system(section, found)
        elif name == "EventData":
            data = [_string(item) for item in section if _local(item) == "Data"]
            found.strings = tuple(each for text in data for each in _ITEMS.findall(text) or [text])
        elif name == "UserData" and not found.strings:
            inner = (item for item in section.iter() if item is not section and not len(item))
            found.strings = tuple(map(_string, inner))
        elif name == "RenderingInfo":
            for item in section:
                if _local(item) == "Message":
                    found.message = (item.text or "").strip()
    return found


def _of_object(root: ElementTree.Element) -> RawEvent:
    """An event object of PowerShell: properties with their names, and its strings in a list."""
    values: dict[str, object] = {}
    strings: tuple[str, ...] = ()
    holders = [root, *(each for each in root if _local(each) in ("Props", "MS"))]
    for item in (item for holder in holders for item in holder):
        name = plain(item.get("N") or item.get("Name") or "")
        if not len(item):
            values.setdefault(name, _spelt(item.text))
        elif name in ("properties", "replacementstrings"):
            inner = [each for each in item.iter() if each is not item and not len(each)]
            named = [each for each in inner if "Value" in (each.get("N"), each.get("Name"))]
            texts = named or [each for each in inner if _local(each) in ("S", "Property")]
            strings = tuple(_spelt(each.text) for each in texts)
    found = gather(values)
    if not any(text.startswith("System.Diagnostics.") for text in strings):
        found.strings = strings
    return found


def _spelt(text: str | None) -> str:
    """A text in which Export-Clixml spells control characters (`_x000A_`)."""
    return _SPELT.sub(lambda found: chr(int(found[1], 16)), text or "").replace("\r\n", "\n")


def _read_system(system: ElementTree.Element, found: RawEvent) -> None:
    for item in system:
        text = (item.text or "").strip()
        match _local(item):
            case "Provider":
                found.provider = item.get("Name") or item.get("EventSourceName") or ""
            case "EventID":
                found.event_id = integer(text)
            case "TimeCreated":
                found.time = item.get("SystemTime")
            case "EventRecordID":
                found.record_id = integer(text)
            case "Computer":
                found.computer = text
            case "Channel":
                found.channel = text
            case "Level":
                found.level = level_of(text)


def _string(item: ElementTree.Element) -> str:
    """The text of a `Data` element; nothing but a line break and indent is layout."""
    text = item.text or ""
    return "" if "\n" in text and not text.strip() else text


def _local(element: ElementTree.Element) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
