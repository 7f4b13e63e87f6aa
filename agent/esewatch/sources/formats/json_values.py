"""The fields of one JSON object that tells an event, whichever collector wrote it."""

import re
from collections.abc import Iterator, Mapping
from html import unescape

import msgspec

from esewatch.sources.formats.fields import Found, gather, integer, plain

_WRAPPERS = (
    "_source",
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
)
_NESTED = {
    "winlog": "winlog",
    "event": "event",
    "host": "host",
    "log": "log",
    "provider": "provider",
    "eventid": "eventid",
    "renderinginfo": "renderinginfo",
}
_DEPTH = 4
_POSITIONAL = re.compile(r"(?:winlog)?(?:eventdata)?(?:param|string)(\d{1,3})")
_DATA_ELEMENT = re.compile(r"<Data\b[^>]*?(?:/>|>(.*?)</Data>)", re.DOTALL)
_STRING_KEYS = (
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
    """What each event in a decoded JSON value says; wrappers and lists are opened."""
    if isinstance(value, str):
        value = _decoded(value)
    if isinstance(value, list):
        for item in value:
            if depth and isinstance(item, dict | list):
                yield from events_in(item, depth - 1)
    if not isinstance(value, dict):
        return
    found = _event(value)
    if found is not None:
        yield found
        return
    for name in _WRAPPERS:
        inner = value.get(name)
        if depth and (isinstance(inner, dict | list) or _is_json(inner)):
            yield from events_in(inner, depth - 1)


def _is_json(value: object) -> bool:
    return isinstance(value, str) and value.lstrip()[:1] == "{"


def _decoded(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def _event(value: Mapping[str, object]) -> Found | None:
    root = value.get("Event")
    for holder in (root, value):
        if isinstance(holder, dict) and isinstance(holder.get("System"), dict):
            return _windows_event(holder)
    values = _flat(value)
    found = gather(values)
    if found.event_id is None and not (found.provider and found.message):
        return None
    found.strings = _strings_of(values)
    return found


def _flat(value: Mapping[str, object]) -> dict[str, object]:
    """Keys in plain spelling; the known nested objects are taken one level up."""
    values: dict[str, object] = {}
    for key, item in value.items():
        name = plain(key)
        if isinstance(item, dict) and name in _NESTED:
            for inner, deep in item.items():
                deeper = _NESTED[name] + plain(inner)
                values.setdefault(deeper, _scalar(deep, deeper))
        else:
            values.setdefault(name, _scalar(item, name))
    return values


def _scalar(item: object, name: str) -> object:
    """PowerShell writes some values as `{"value": ..., "DisplayHint": ...}`."""
    if isinstance(item, dict) and name not in _STRING_KEYS:
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
        strings=_strings(event.get("EventData")),
        message=_word(_text_of(rendering.get("Message"))) or _word(event.get("Message")),
    )


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
    for name in _STRING_KEYS:
        if strings := _strings(values.get(name)):
            return strings
    return numbered(values)


def _strings(data: object) -> tuple[str, ...]:
    """Positional strings of `EventData`, `Properties` or a list, in their order."""
    if isinstance(data, dict):
        for key in ("Data", "data"):
            if key in data:
                inner = data[key]
                if isinstance(inner, dict) and "#text" in inner:
                    inner = inner["#text"]
                return _strings(inner if isinstance(inner, list) else [inner])
        return numbered({plain(key): item for key, item in data.items()})
    if isinstance(data, list):
        return tuple(_item(item) for item in data)
    if isinstance(data, str):
        return tuple(unescape(text) for text in _DATA_ELEMENT.findall(data))
    return ()


def _item(item: object) -> str:
    if isinstance(item, dict):
        item = next((item[key] for key in ("Value", "value", "#text", "") if key in item), "")
    return _word(item)


def numbered(values: Mapping[str, object]) -> tuple[str, ...]:
    """The values of keys `param1` ... `paramN` in order; one that is missing was empty."""
    by_number: dict[int, str] = {}
    for name, item in values.items():
        if (match := _POSITIONAL.fullmatch(name)) and 0 < int(match[1]) <= 256:
            by_number[int(match[1])] = _word(item)
    return tuple(by_number.get(number, "") for number in range(1, max(by_number, default=0) + 1))
