"""Log records of the OpenTelemetry protocol in its JSON encoding, as plain values.

Sources: opentelemetry-proto, `examples/logs.json` and `common.proto` (AnyValue); the file
exporter of the collector writes one object of `resourceLogs` a line.
"""

from collections.abc import Mapping

from esewatch.sources.logs.formats.fields import integer

_SCALARS = ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue")
_DEPTH = 8


def plain_body(record: Mapping[str, object]) -> object:
    """The body of a log record as text, mapping or list; None when it has none."""
    body = record.get("body")
    return _plain(body, _DEPTH) if isinstance(body, dict) else None


def record_time(record: Mapping[str, object]) -> float | None:
    """Epoch seconds of `timeUnixNano`: nanoseconds as text or number, 0 when unknown.

    `observedTimeUnixNano` is when the collector saw the event, which is no time of the event.
    """
    nanoseconds = integer(record.get("timeUnixNano"))
    return nanoseconds // 1000 / 1e6 if nanoseconds else None


def _plain(value: object, depth: int) -> object:
    """An AnyValue without its wrapping; what is nested too deep or is none is None."""
    if not isinstance(value, dict) or not depth:
        return None
    for name in _SCALARS:
        if name in value:
            return value[name]
    if "kvlistValue" in value:
        pairs = [pair for pair in _values(value["kvlistValue"]) if isinstance(pair, dict)]
        named = ((pair.get("key"), pair.get("value")) for pair in pairs)
        return {key: _plain(item, depth - 1) for key, item in named if isinstance(key, str)}
    if "arrayValue" in value:
        return [_plain(item, depth - 1) for item in _values(value["arrayValue"])]
    return None


def _values(holder: object) -> list[object]:
    values = holder.get("values") if isinstance(holder, dict) else None
    return values if isinstance(values, list) else []
