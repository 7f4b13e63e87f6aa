"""The key tables of docs/configuration.md, made of the structs of `settings`.

Keys, what they take and their defaults are those of the structs; what a key means is prose, and
stays in the page.
"""

import re
import types
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from esewatch.config import (
    BasicAuth,
    CopyOf,
    DatabaseRule,
    Disks,
    EseutilLogs,
    Exporter,
    Kafka,
    LogFiles,
    NtbackupLogs,
    PageScan,
    Policy,
    Settings,
    SqlserverLogs,
    Window,
    WindowsCounters,
    WindowsLog,
)
from esewatch.config.units import Scalar

TABLES: Final[dict[str, type[msgspec.Struct]]] = {
    "The whole file": Settings,
    "evtx, event_stream, perfmon_csv, perfmon_blg": LogFiles,
    "eseutil_log": EseutilLogs,
    "sqlserver_errorlog": SqlserverLogs,
    "ntbackup_log": NtbackupLogs,
    "prometheus": Exporter,
    "basic_auth": BasicAuth,
    "disks": Disks,
    "windows_log": WindowsLog,
    "windows_counters": WindowsCounters,
    "page_scan": PageScan,
    "kafka": Kafka,
    "windows": Window,
    "databases": DatabaseRule,
    "copies": CopyOf,
    "policy": Policy,
}
"""Heading of the page -> the struct whose keys are below it."""
_HEAD: Final = "| key | allowed | default | meaning |\n| --- | --- | --- | --- |\n"


def written_anew(page: str) -> str:
    """The page with its tables as the structs are; a key without a meaning so far has none.

    ValueError: a heading or its table is not there.
    """
    for heading, struct in TABLES.items():
        place = rf"^#+ {re.escape(heading)}\n(?:(?![#|]).*\n)*((?:\|.*\n)+)"
        found = re.search(place, page, re.MULTILINE)
        if found is None:
            raise ValueError(f"no table below the heading {heading}")
        table = _table(struct, _meanings(found[1]))
        page = page[: found.start(1)] + table + page[found.end(1) :]
    return page


def _meanings(table: str) -> dict[str, str]:
    rows = [re.split(r"(?<!\\)\|", line) for line in table.splitlines()[2:]]
    return {row[1].strip(" `"): row[4].strip() for row in rows}


def _table(struct: type[msgspec.Struct], meanings: dict[str, str]) -> str:
    hints = get_type_hints(struct, include_extras=True)
    rows = []
    for field in msgspec.structs.fields(struct):
        name, hint = field.encode_name, hints[field.name]
        cells = (f"`{name}`", _allowed(hint), _default(field, hint), meanings.get(name, ""))
        rows.append(f"| {' | '.join(cells)} |\n")
    return _HEAD + "".join(rows)


def _allowed(hint: Any) -> str:
    """What a key takes, in the words of error messages."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _allowed(args[0])
    if origin is Annotated:
        return args[1].allowed if isinstance(args[1], Scalar) else "a mapping"
    if origin is Literal:
        return ", ".join(args)
    if origin is list:
        return f"a list of: {_allowed(args[0])}"
    if origin is dict:
        return f"a mapping to: {_allowed(args[1])}"
    return "a mapping"


def _default(field: msgspec.structs.FieldInfo, hint: Any) -> str:
    """A default as one writes it; a dash where there is none to write."""
    if field.required:
        return "required"
    value = field.default
    if value is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    if value in (None, "", [], {}) or isinstance(value, msgspec.Struct):
        return "–"
    if isinstance(value, list):
        return f"`{', '.join(value)}`"
    kind = get_args(hint)[1] if get_origin(hint) is Annotated else None
    return f"`{kind.show(value) if isinstance(kind, Scalar) else value}`"
