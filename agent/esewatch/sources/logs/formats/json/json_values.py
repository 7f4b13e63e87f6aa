"""The events in one JSON value, whichever collector wrote it.

`_SHAPES` are the ways to write one event as an object, `_WRAPPERS` the keys that hold
events as objects, lists or text; text may be JSON or XML itself.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import unescape

import msgspec

from esewatch.sources.logs.formats.fields import Found, gather, integer, plain
from esewatch.sources.logs.formats.json.json_otlp import plain_body, record_time
from esewatch.sources.logs.formats.xml_events import found_in

_WRAPPERS = (
    "_source",
    "_raw",
    "data",
    "result",
    "record",
    "body",
    "log",
    "event",
    "message",
    "value",
    "Events",
    "events",
    "records",
    "results",
    "hits",
    "items",
    "metrics",
    "line",
    "streams",
    "values",
    "resourceLogs",
    "scopeLogs",
    "instrumentationLibraryLogs",
    "logRecords",
)
NESTED = {
    "winlog": "winlog",
    "event": "event",
    "host": "host",
    "log": "log",
    "provider": "provider",
    "eventid": "eventid",
    "renderinginfo": "renderinginfo",
}
_DEPTH = 12
"""An event of the OTLP lies eight levels deep, counting lists."""
POSITIONAL = re.compile(r"(?:winlog)?(?:eventdata)?(?:param|string|data)(\d{1,3})")
_PARAMS = tuple(f"param{number}" for number in range(1, 257))
_WORDS = frozenset({str})
_XML = re.compile(r"\s*<(?:\?xml|Event[\s>])")
_SECONDS = re.compile(r"\d{1,10}(?:\.\d{1,9})?", re.ASCII)
_SPLUNK = (("event", "time"), ("_raw", "_time"))
"""Text of an event and its time: of the HTTP Event Collector, and of a search's result."""
STRING_KEYS = (
    "stringinserts",
    "insertionstrings",
    "replacementstrings",
    "strings",
    "properties",
    "eventdata",
    "winlogeventdata",
    "eventdataxml",
)


def events_in(value: object, depth: int = _DEPTH) -> Iterator[Found]:
    """The fields of each event in a decoded JSON value; wrappers, lists and texts are opened."""
    if isinstance(value, list):
        for item in value:
            if depth:
                yield from events_in(item, depth - 1)
    elif isinstance(value, str):
        if value.lstrip()[:1] == "{":
            yield from events_in(_decoded(value), depth - 1 if depth else 0)
        elif _XML.match(value):
            yield _of_xml(value)
    elif isinstance(value, dict):
        yield from _of_object(value, depth)


def _of_object(value: Mapping[str, object], depth: int) -> Iterator[Found]:
    for shape in _SHAPES:
        if (found := shape(value)) is not None:
            yield found
            return
    if not depth:
        return
    body = plain_body(value)
    for found in events_in(body, depth - 1):
        found.time = found.time or record_time(value)
        yield found
    for name in _WRAPPERS:
        if name in value and (name != "body" or body is None):
            yield from events_in(value[name], depth - 1)


def _decoded(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def _of_xml(text: str) -> Found:
    """An `<Event>` element as text (`raw: true` of the OpenTelemetry Collector)."""
    start = max(0, text.find("<Event"))
    try:
        return found_in(text[start:].rstrip().encode("utf-8", "replace"))
    except ValueError as error:
        return Found(broken=f"not a readable <Event> element: {error}")


def _xml_with_message(value: Mapping[str, object]) -> Found | None:
    """`System` as XML text of the whole event, `Message` and `StringInserts` beside it.

    Source: Fluent Bit, `plugins/in_winevtlog/pack.c` (`Render_Event_As_XML`).
    """
    system = value.get("System")
    if not isinstance(system, str) or not _XML.match(system):
        return None
    found = _of_xml(system)
    found.message = found.message or _word(value.get("Message"))
    found.strings = found.strings or strings_in(value.get("StringInserts"))
    return found


def _text_with_strings(value: Mapping[str, object]) -> Found | None:
    """`log` as lines `ProviderName=ESE`, the message last; `StringInserts` beside it.

    Source: Fluent Bit, `plugins/in_winevtlog/pack.c` (`Render_Event_As_Text`).
    """
    return _event_of_lines(value.get("log"), StringInserts=value.get("StringInserts"))


def _splunk_event(value: Mapping[str, object]) -> Found | None:
    """Lines `SourceName=ESE` behind one with a local time, the message last, or fields.

    The time is beside them.
    Source: Splunk, "Monitor Windows event log data" (`renderXml=false`).
    """
    for text, time in _SPLUNK:
        found = _event_of_lines(value.get(text))
        if found is not None:
            found.time = _epoch(value.get(time)) or found.time
            return found
    fields = value.get("event")
    if not isinstance(fields, dict) or "sourcetype" not in value:
        return None
    return _flat_event({"time": _epoch(value.get("time")), "host": value.get("host"), **fields})


def _epoch(value: object) -> object:
    """The collector takes its seconds as text, too."""
    return float(value) if isinstance(value, str) and _SECONDS.fullmatch(value) else value


def _event_of_lines(text: object, **more: object) -> Found | None:
    if not isinstance(text, str):
        return None
    head, is_event, message = text.replace("\r\n", "\n").partition("\nMessage=")
    if not is_event:
        return None
    first, *lines = head.split("\n")
    if "=" in first:
        lines.append(first)
    else:
        more["Date"] = first
    fields: dict[str, object] = {
        name: item for name, _, item in (line.partition("=") for line in lines)
    }
    return _flat_event({**fields, "Message": message, **more})


def _telegraf_event(value: Mapping[str, object]) -> Found | None:
    """Fields and tags of the plugin `win_eventlog`, which fields are which is a setting there.

    Source: Telegraf, `plugins/inputs/win_eventlog/README.md`.
    """
    fields, tags = value.get("fields"), value.get("tags")
    if not isinstance(fields, dict) or not isinstance(tags, dict):
        return None
    return _flat_event({**fields, **tags})


def _tree_event(value: Mapping[str, object]) -> Found | None:
    """`Event/System`, or `System` alone."""
    for holder in (value.get("Event"), value):
        if isinstance(holder, dict) and isinstance(holder.get("System"), dict):
            return _windows_event(holder)
    return None


def _flat_event(value: Mapping[str, object]) -> Found | None:
    """Fields side by side under any of their known names."""
    values = _flat(value)
    found = gather(values)
    # A number alone is that of a wrapper (`_id`), and the event is within it.
    if (found.event_id is not None) + bool(found.provider) + bool(found.message) < 2:
        return None
    found.strings = _strings_of(values)
    return found


_SHAPES: tuple[Callable[[Mapping[str, object]], Found | None], ...] = (
    _xml_with_message,
    _text_with_strings,
    _splunk_event,
    _telegraf_event,
    _tree_event,
    _flat_event,
)


def _flat(value: Mapping[str, object]) -> dict[str, object]:
    """Keys in plain spelling; the known nested objects are taken one level up."""
    values: dict[str, object] = {}
    for key, item in value.items():
        name = plain(key)
        if isinstance(item, dict) and name in NESTED:
            for inner, deep in item.items():
                deeper = NESTED[name] + plain(inner)
                values.setdefault(deeper, _scalar(deep, deeper))
        else:
            values.setdefault(name, _scalar(item, name))
    return values


def _scalar(item: object, name: str) -> object:
    """PowerShell writes some values as `{"value": ..., "DisplayHint": ...}`."""
    if isinstance(item, dict) and name not in STRING_KEYS:
        for key in ("value", "Value", "name", "Name"):
            if key in item:
                return item[key]
    return item


def _windows_event(event: Mapping[str, object]) -> Found:
    """`Event/System` as evtx_dump writes it, attributes inside or beside the elements."""
    system = event.get("System")
    system = system if isinstance(system, dict) else {}
    rendering = event.get("RenderingInfo")
    rendering = rendering if isinstance(rendering, dict) else {}
    return Found(
        provider=_attribute(system, "Provider", "Name"),
        event_id=integer(_text_of(system.get("EventID"))),
        time=_attribute(system, "TimeCreated", "SystemTime"),
        computer=_word(_text_of(system.get("Computer"))),
        channel=_word(_text_of(system.get("Channel"))),
        record_id=integer(_text_of(system.get("EventRecordID"))),
        level=_word(_text_of(system.get("Level"))) or _word(_text_of(rendering.get("Level"))),
        strings=strings_in(event.get("EventData")) or tuple(_innermost(event.get("UserData"))),
        message=_word(_text_of(rendering.get("Message"))) or _word(event.get("Message")),
    )


_DEEPEST = 16
"""Elements within each other in `UserData`, as in a log of Windows."""


def _innermost(value: object, depth: int = 0) -> Iterator[str]:
    """The texts of the innermost elements of `UserData`."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, item in value.items():
            if key not in ("#attributes", "xmlns"):
                yield from _innermost(item, depth + 1)
    elif value is not None:
        yield _word(value)


def _attribute(system: Mapping[str, object], element: str, name: str) -> str:
    for holder in (system.get(element), system.get(f"{element}_attributes")):
        if isinstance(holder, dict):
            inner = holder.get("#attributes")
            for values in (inner, holder):
                if isinstance(values, dict):
                    for key in (name, f"@{name}"):
                        if isinstance(values.get(key), str):
                            return str(values[key])
    plain_value = system.get(element)
    return plain_value if isinstance(plain_value, str) else ""


def _text_of(value: object) -> object:
    if isinstance(value, dict):
        return value.get("#text", value.get("Value", ""))
    return value


def _word(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)


def _strings_of(values: Mapping[str, object]) -> tuple[str, ...]:
    for name in STRING_KEYS:
        if strings := strings_in(values.get(name)):
            return strings
    return numbered(values)


def strings_in(data: object) -> tuple[str, ...]:
    """Positional strings of `EventData`, `Properties` or a list, in their order."""
    if isinstance(data, dict):
        if tuple(data) == _PARAMS[: len(data)] and _WORDS.issuperset(map(type, data.values())):
            return tuple(data.values())
        for key in ("Data", "data"):
            if key in data:
                inner = data[key]
                if isinstance(inner, dict) and "#text" in inner:
                    inner = inner["#text"]
                return strings_in(inner if isinstance(inner, list) else [inner])
        return numbered({plain(key): item for key, item in data.items()})
    if isinstance(data, list):
        return tuple(_item(item) for item in data)
    if isinstance(data, str):
        return tuple(_data_elements(data))
    return ()


def _data_elements(text: str) -> Iterable[str]:
    """The texts of the `<Data>` elements that stand side by side in `text`."""
    plain, _, rest = text.rpartition("</Data>")
    texts = plain[len("<Data>") :].split("</Data><Data>")
    whole = plain.startswith("<Data>") and plain.count("<") == 2 * len(texts) - 1
    if not whole or "<Data" in rest:
        return _each_element(text)
    return map(unescape, texts) if "&" in plain else texts


def _each_element(text: str) -> Iterator[str]:
    at = 0
    while (start := text.find("<Data", at)) >= 0 and (opened := text.find(">", start)) >= 0:
        at = opened + 1
        if text[opened - 1] == "/":
            yield ""
        elif (end := text.find("</Data>", at)) >= 0:
            yield unescape(text[at:end])
            at = end
        else:
            return


def _item(item: object) -> str:
    """One string; `{"": text}` and `{name: text}` are of the OpenTelemetry Collector."""
    if isinstance(item, dict):
        known = next((item[key] for key in ("Value", "value", "#text", "") if key in item), "")
        item = next(iter(item.values())) if len(item) == 1 else known
    return _word(item)


def numbered(values: Mapping[str, object]) -> tuple[str, ...]:
    """The values of keys `param1` ... `paramN` in order; one that is missing was empty."""
    by_number: dict[int, str] = {}
    for name, item in values.items():
        if (match := POSITIONAL.fullmatch(name)) and 0 < int(match[1]) <= 256:
            by_number[int(match[1])] = _word(item)
    return tuple(by_number.get(number, "") for number in range(1, max(by_number, default=0) + 1))
