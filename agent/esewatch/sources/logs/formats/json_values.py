"""The events in one JSON value, whichever collector wrote it.

`_SHAPES` are the ways to write one event as an object, `_WRAPPERS` the keys that hold
events as objects, lists or text; text may be JSON or XML itself.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from html import unescape
from itertools import chain

import msgspec

from esewatch.ese.raw_event import RawEvent
from esewatch.sources.logs.formats.fields import FIELD_OF, gather, integer, level_of, plain
from esewatch.sources.logs.formats.xml_events import found_in

_EXPORTED = ("resourceLogs", "scopeLogs", "instrumentationLibraryLogs", "logRecords")
_WRAPPERS = (
    "_source", "_raw", "data", "win", "columns", "result", "record", "body", "log", "event",
    "message", "value",
    "Events", "events", "records", "results", "hits", "items", "metrics", "line", "streams",
    "values", *_EXPORTED,
)  # fmt: skip
_NESTED = frozenset({"winlog", "event", "host", "log", "provider", "eventid", "renderinginfo"})
_LONGEST_KEPT = 64
_DEPTH = 12
"""An event of the OTLP lies eight levels deep, counting lists."""
_POSITIONAL = re.compile(r"(?:winlog)?(?:eventdata)?(?:param|string|data)(\d{1,3})")
_DIGITS = frozenset("0123456789")
_PARAMS = tuple(f"param{number}" for number in range(1, 257))
_WORDS = frozenset({str})
_JSON = ("{", "[")
_DATA = re.compile(r"<Data(?=[\s>/])")
_XML = re.compile(r"\s*<(?:\?xml|Event[\s>])|\s*&lt;Event(?:\s|&gt;)")
_OTLP_SCALARS = ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue")
_OTLP_DEPTH = 8
_SECONDS = re.compile(r"\d{1,10}(?:\.\d{1,9})?", re.ASCII)
_SPLUNK = (("event", "time"), ("_raw", "_time"))
"""Text of an event and its time: of the HTTP Event Collector, and of a search's result."""
_STRING_KEYS = (
    "stringinserts", "insertionstrings", "replacementstrings", "strings", "properties", "eventdata",
    "winlogeventdata", "eventdataxml", "payload", "parameterxml", "data",
)  # fmt: skip


def events_in(value: object, depth: int = _DEPTH) -> Iterator[RawEvent]:
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


def log_records(value: object, depth: int = 3) -> Iterator[object]:
    """Each log record of an exported OTLP object; any other value itself."""
    lists = [value[name] for name in _EXPORTED if name in value] if isinstance(value, dict) else []
    if not lists or not depth:
        yield value
        return
    for item in chain.from_iterable(each for each in lists if isinstance(each, list)):
        yield from log_records(item, depth - 1)


def _of_object(value: Mapping[str, object], depth: int) -> Iterator[RawEvent]:
    for key, shape in _SHAPES:
        if key in value and (found := shape(value)) is not None:
            yield found
            return
    if (event := _flat_event(value)) is not None:
        yield event
        return
    if not depth:
        return
    # opentelemetry-proto, `examples/logs.json` and `common.proto` (AnyValue); the file exporter of
    # the collector writes one object of `resourceLogs` a line.
    body = value.get("body")
    body = _any_value(body, _OTLP_DEPTH) if isinstance(body, dict) else None
    for found in events_in(body, depth - 1):
        # `observedTimeUnixNano` is when the collector saw the event, which is no time of the event.
        nanoseconds = integer(value.get("timeUnixNano"))
        found.time = found.time or (nanoseconds // 1000 / 1e6 if nanoseconds else None)
        yield found
    for name in _WRAPPERS:
        if name in value and (name != "body" or body is None):
            yield from events_in(value[name], depth - 1)


def _any_value(value: object, depth: int) -> object:
    """An AnyValue without its wrapping; what is nested too deep or is none is None."""
    if not isinstance(value, dict) or not depth:
        return None
    for name in _OTLP_SCALARS:
        if name in value:
            return value[name]
    if "kvlistValue" in value:
        pairs = [pair for pair in _any_values(value["kvlistValue"]) if isinstance(pair, dict)]
        named = ((pair.get("key"), pair.get("value")) for pair in pairs)
        return {key: _any_value(item, depth - 1) for key, item in named if isinstance(key, str)}
    if "arrayValue" in value:
        return [_any_value(item, depth - 1) for item in _any_values(value["arrayValue"])]
    return None


def _any_values(holder: object) -> list[object]:
    values = holder.get("values") if isinstance(holder, dict) else None
    return values if isinstance(values, list) else []


def _decoded(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def _of_xml(text: str) -> RawEvent:
    """An `<Event>` element as text (`raw: true` of the OpenTelemetry Collector)."""
    start = max(0, text.find("<Event"))
    try:
        return found_in(text[start:].rstrip().encode("utf-8", "replace"))
    except ValueError as error:
        return RawEvent(broken=f"not a readable <Event> element: {error}")


def _xml_with_message(value: Mapping[str, object]) -> RawEvent | None:
    """`System` as XML text of the whole event, `Message` and `StringInserts` beside it. Source:
    Fluent Bit, `plugins/in_winevtlog/pack.c` (`Render_Event_As_XML`)."""
    system = value.get("System")
    if not isinstance(system, str) or not _XML.match(system):
        return None
    found = _of_xml(system)
    found.message = found.message or _word(value.get("Message"))
    found.strings = found.strings or strings_in(value.get("StringInserts"))
    return found


def _splunk_event(value: Mapping[str, object]) -> RawEvent | None:
    """Lines `SourceName=ESE` behind one with a local time, the message last, or fields. The time is
    beside them. Source: Splunk, "Monitor Windows event log data" (`renderXml=false`)."""
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


def _event_of_lines(text: object, **more: object) -> RawEvent | None:
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


def _telegraf_event(value: Mapping[str, object]) -> RawEvent | None:
    """Fields and tags of the plugin `win_eventlog`, which fields are which is a setting there.
    Source: Telegraf, `plugins/inputs/win_eventlog/README.md`."""
    fields, tags = value.get("fields"), value.get("tags")
    if not isinstance(fields, dict) or not isinstance(tags, dict):
        return None
    return _flat_event({**fields, **tags})


def _tree_event(value: Mapping[str, object]) -> RawEvent | None:
    """`Event/System`, or `System` alone."""
    for holder in (value.get("Event"), value):
        if isinstance(holder, dict) and isinstance(holder.get("System"), dict):
            return _windows_event(holder)
    return None


def _wazuh_event(value: Mapping[str, object]) -> RawEvent | None:
    """`system` with its fields, `eventdata` beside it. Source: Wazuh, "Windows event channel"."""
    system = value.get("system")
    if not isinstance(system, dict):
        return None
    found = _flat_event({**system, "eventdata": value.get("eventdata")})
    if found is not None:
        found.message = found.message.strip().strip('"')
    return found


def texts_in(value: object, depth: int = _DEPTH) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth:
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_in(item, depth - 1)


def named_values(value: object) -> RawEvent:
    """The fields beside a text that is an event of its own."""
    return gather(_flat(value)) if isinstance(value, dict) else RawEvent()


def _flat_event(value: Mapping[str, object]) -> RawEvent | None:
    values = _flat(value)
    found = gather(values)
    # A number alone is that of a wrapper (`_id`), and the event is within it.
    if (found.event_id is not None) + bool(found.provider) + bool(found.message) < 2:
        return None
    found.strings = strings_of(values)
    return found


_SHAPES: tuple[tuple[str, Callable[[Mapping[str, object]], RawEvent | None]], ...] = (
    ("System", _xml_with_message),
    # Lines `ProviderName=ESE`, the message last; `StringInserts` beside them. Source: Fluent Bit,
    # `plugins/in_winevtlog/pack.c` (`Render_Event_As_Text`).
    ("log", lambda value: _event_of_lines(value["log"], StringInserts=value.get("StringInserts"))),
    ("event", _splunk_event),
    ("_raw", _splunk_event),
    ("fields", _telegraf_event),
    ("Event", _tree_event),
    ("System", _tree_event),
    ("system", _wazuh_event),
)
"""A key of the object, and how it is read then. Any other object is one of fields side by side."""


def _flat(value: Mapping[str, object]) -> dict[str, object]:
    """The items that may say something of an event, their keys in plain spelling. Those of the
    known nested objects are taken one level up."""
    values: dict[str, object] = {}
    for key, item in value.items():
        name = _kept_wanted(key) if len(key) <= _LONGEST_KEPT else _wanted(key)
        if name in _NESTED and isinstance(item, dict):
            for inner, deep in item.items():
                whole = key + inner
                deeper = _kept_wanted(whole) if len(whole) <= _LONGEST_KEPT else _wanted(whole)
                if deeper:
                    values.setdefault(deeper, _scalar(deep, deeper))
        elif name:
            values.setdefault(name, _scalar(item, name) if isinstance(item, dict) else item)
    return values


def _wanted(key: str) -> str:
    """The plain spelling of a key; empty where nothing reads it."""
    name = plain(key)
    is_read = name in FIELD_OF or name in _STRING_KEYS or name in _NESTED
    return name if is_read or _POSITIONAL.fullmatch(name) else ""


_kept_wanted = lru_cache(maxsize=2048)(_wanted)


def _scalar(item: object, name: str) -> object:
    """PowerShell writes some values as `{"value": ..., "DisplayHint": ...}`."""
    if isinstance(item, dict) and name not in _STRING_KEYS:
        for key in ("value", "Value", "name", "Name"):
            if key in item:
                return item[key]
    return item


def _windows_event(event: Mapping[str, object]) -> RawEvent:
    """`Event/System` as evtx_dump writes it, attributes inside or beside the elements."""
    system = event.get("System")
    system = system if isinstance(system, dict) else {}
    rendering = event.get("RenderingInfo")
    rendering = rendering if isinstance(rendering, dict) else {}
    return RawEvent(
        provider=_attribute(system, "Provider", "Name"),
        event_id=integer(_text_of(system.get("EventID"))),
        time=_attribute(system, "TimeCreated", "SystemTime"),
        computer=_word(_text_of(system.get("Computer"))),
        channel=_word(_text_of(system.get("Channel"))),
        record_id=integer(_text_of(system.get("EventRecordID"))),
        level=level_of(
            _word(_text_of(system.get("Level"))) or _word(_text_of(rendering.get("Level")))
        ),
        strings=strings_in(event.get("EventData")) or tuple(_innermost(event.get("UserData"))),
        message=_word(_text_of(rendering.get("Message"))) or _word(event.get("Message")),
    )


_DEEPEST = 16
"""Elements within each other in `UserData`, as in a log of Windows."""


def _innermost(value: object, depth: int = 0) -> Iterator[str]:
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
                        if isinstance(values.get(key), str | float):  # seconds: Velociraptor
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


def strings_in(data: object) -> tuple[str, ...]:
    """Positional strings of `EventData`, `Properties` or a list, in their order."""
    if isinstance(data, dict):
        if isinstance(whole := data.get("EventData"), dict | list | str):
            return strings_in(whole)
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
        return tuple(data) if _WORDS.issuperset(map(type, data)) else tuple(map(_item, data))
    if isinstance(data, str):
        if data.lstrip()[:1] in _JSON:
            return strings_in(_decoded(data))
        return tuple(_data_elements(data.replace("Param>", "Data>")))
    return ()


def strings_of(values: Mapping[str, object]) -> tuple[str, ...]:
    told = (strings_in(values[name]) for name in _STRING_KEYS if name in values)
    return next(filter(None, told), ()) or numbered(values)


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
    while (data := _DATA.search(text, at)) and (opened := text.find(">", data.end())) >= 0:
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
        if (
            name[-1:] in _DIGITS
            and (match := _POSITIONAL.fullmatch(name))
            and 0 < int(match[1]) <= 256
        ):
            by_number[int(match[1])] = _word(item)
    return tuple(by_number.get(number, "") for number in range(1, max(by_number, default=0) + 1))
