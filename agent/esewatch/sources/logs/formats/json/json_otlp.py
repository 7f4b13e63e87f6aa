"""Log records of the OpenTelemetry protocol in its JSON encoding, as plain values.

Sources: opentelemetry-proto, `examples/logs.json` and `common.proto` (AnyValue); the file
exporter of the collector writes one object of `resourceLogs` a line.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, UnsetType

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


_SKIPPED = msgspec.Raw()


class _AnyValue(msgspec.Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """One value, in the order in which `_plain` looks for its kind."""

    string_value: str | UnsetType = UNSET
    int_value: str | int | UnsetType = UNSET
    double_value: int | float | UnsetType = UNSET
    bool_value: bool | UnsetType = UNSET
    bytes_value: str | UnsetType = UNSET
    kvlist_value: _Pairs | UnsetType = UNSET
    array_value: _Items | UnsetType = UNSET


class _Pair(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    key: str
    value: _AnyValue


class _Pairs(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    values: list[_Pair]


class _Items(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    values: list[_AnyValue]


class _LogRecord(msgspec.Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """A record with the fields of the protocol alone: none of them but its body is an event."""

    body: _AnyValue
    time_unix_nano: msgspec.Raw = _SKIPPED
    observed_time_unix_nano: msgspec.Raw = _SKIPPED
    severity_number: msgspec.Raw = _SKIPPED
    severity_text: msgspec.Raw = _SKIPPED
    attributes: msgspec.Raw = _SKIPPED
    dropped_attributes_count: msgspec.Raw = _SKIPPED
    flags: msgspec.Raw = _SKIPPED
    trace_id: msgspec.Raw = _SKIPPED
    span_id: msgspec.Raw = _SKIPPED
    event_name: msgspec.Raw = _SKIPPED


class _ScopeLogs(msgspec.Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    log_records: list[msgspec.Raw]
    scope: msgspec.Raw = _SKIPPED
    schema_url: msgspec.Raw = _SKIPPED


class _ResourceLogs(msgspec.Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    scope_logs: list[_ScopeLogs]
    resource: msgspec.Raw = _SKIPPED
    schema_url: msgspec.Raw = _SKIPPED


class _Exported(msgspec.Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    resource_logs: list[_ResourceLogs]


_decode_line = msgspec.json.Decoder(_Exported).decode
_decode_record = msgspec.json.Decoder(_LogRecord).decode


def records_in(line: bytes) -> list[msgspec.Raw]:
    """The log records of one exported object. Raises a ValueError where it has anything else."""
    return [
        record
        for resource in _decode_line(line).resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
    ]


def body_in(record: msgspec.Raw) -> bytes | None:
    """Result of `plain_body` for a record, as JSON; None where it is no object."""
    try:
        body = _decode_record(record).body
    except msgspec.ValidationError:
        return None
    if body.kvlist_value is UNSET:
        return None
    return msgspec.json.encode(_plain_of(body, _DEPTH))


def _plain_of(value: _AnyValue, depth: int) -> object:
    """The same as `_plain`."""
    if not depth:
        return None
    found: object
    if (
        (found := value.string_value) is not UNSET
        or (found := value.int_value) is not UNSET
        or (found := value.double_value) is not UNSET
        or (found := value.bool_value) is not UNSET
        or (found := value.bytes_value) is not UNSET
    ):
        return found
    if isinstance(value.kvlist_value, _Pairs):
        pairs = value.kvlist_value.values
        return {pair.key: _plain_of(pair.value, depth - 1) for pair in pairs}
    if isinstance(value.array_value, _Items):
        return [_plain_of(item, depth - 1) for item in value.array_value.values]
    return None
