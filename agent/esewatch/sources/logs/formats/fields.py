"""The fields of a record under the many names collectors, tools and languages give them."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from esewatch.model import Level
from esewatch.sources.logs.formats.words import words_of

_LEVELS: dict[str, Level] = {
    "0": "information", "1": "critical", "2": "error", "3": "warning", "4": "information",
    "5": "verbose", "info": "information", "informational": "information", "notice": "information",
    "warn": "warning", "err": "error", "debug": "verbose", "auditsuccess": "information",
    "successaudit": "information", "informationen": "information", "warnung": "warning",
    "fehler": "error", "kritisch": "critical", "informations": "information",
    "avertissement": "warning", "erreur": "error", "critique": "critical",
    "información": "information", "advertencia": "warning", "crítico": "critical",
    "informazioni": "information", "avviso": "warning", "errore": "error", "critico": "critical",
    "informações": "information", "aviso": "warning", "erro": "error", "critical": "critical",
    "error": "error", "warning": "warning", "information": "information", "verbose": "verbose",
}  # fmt: skip
_SPELT = {
    spelt: level
    for name, level in _LEVELS.items()
    for spelt in (name, name.upper(), name.capitalize())
}


_LONGEST_KEPT = 64
_HEX = re.compile(r"0x([0-9a-fA-F]{1,8})")


class Found(msgspec.Struct, gc=False):
    """The fields of one record as they stand in the input; empty means not there."""

    provider: str = ""
    event_id: int | None = None
    time: object = None
    """A string or number to be read by `Times`, or None."""
    computer: str = ""
    channel: str = ""
    record_id: int | None = None
    level: str = ""
    strings: tuple[str, ...] = ()
    message: str = ""
    broken: str = ""
    """Reason why the event cannot be read; the other fields are empty then."""


def level_of(text: str) -> Level | None:
    """Level of its name or number as Windows, PowerShell and collectors write it."""
    return _SPELT.get(text) or _LEVELS.get(text.strip().lower().replace(" ", ""))


def integer(value: object) -> int | None:
    """A whole number that may stand as text; None when it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 0 <= value < 1 << 63 else None
    if isinstance(value, str):
        text = value.strip().replace(",", "")
        if text.isascii() and text.isdigit() and len(text) <= 20:
            return integer(int(text))
    return None


_COLLECTORS: Mapping[str, tuple[str, ...]] = {
    "provider": (
        "winlogprovidername", "winlogsourcename", "providername", "sourcename", "eventsource",
        "eventsourcename", "eventprovider", "source", "provider",
    ),
    "event_id": (
        "winlogeventid", "eventid", "eventcode", "eventidid", "winlogeventidentifierid",
        "externalid", "id", "instanceid", "eventidentifier",
    ),
    "time": (
        "timecreated", "eventtime", "systemtime", "eventtimestamp", "timegenerated",
        "timegeneratedutc", "timecreatedutc", "rt", "devtime", "localtime", "timestamp",
        "datetime", "dateandtime", "time", "date", "timewritten", "timereceived",
    ),
    "computer": (
        "winlogcomputername", "computername", "machinename", "dhost", "computer", "hostname",
        "resource", "host", "hostidentifier",
    ),
    "channel": (
        "winlogchannel", "winloglogname", "channel", "logname", "eventlog", "logfile",
        "agentlogfile", "log",
    ),
    "record_id": (
        "winlogrecordid", "winlogrecordnumber", "eventrecordid", "recordid", "recordnumber",
        "index",
    ),
    "level": (
        "leveldisplayname", "eventlevelname", "leveltext", "winloglevel", "level", "entrytype",
        "loglevel", "severityvalue", "eventtype", "type", "severity",
    ),
    "message": (
        "message", "renderedmessage", "rendereddescription", "fullmessage", "description",
        "renderinginfomessage", "eventmessage", "msg", "shortmessage",
    ),
}  # fmt: skip


def plain(name: str) -> str:
    """A column name, key or label without case, spaces and punctuation."""
    return _kept_plain(name) if len(name) <= _LONGEST_KEPT else _plain(name)


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


_kept_plain = lru_cache(maxsize=2048)(_plain)

_DATED = {
    **{plain(word): "date" for word in words_of("time")},
    **{plain(word): "time" for word in words_of("clock")},
}
_IN_WORDS = {"time": (), "level": ("type", "level")}
_NAMES: Mapping[str, tuple[str, ...]] = {
    field: tuple(dict.fromkeys((*names, *map(plain, words_of(*_IN_WORDS.get(field, (field,)))))))
    for field, names in _COLLECTORS.items()
}
FIELD_OF = {name: field for field, names in _NAMES.items() for name in names}
"""Field of each known column, key or label, in the spelling of `plain`."""


def labelled(name: str) -> str:
    """The plain spelling of a label or column. A word for the date or the time of day, which may be
    a key of anything in JSON, becomes `date` or `time`."""
    name = plain(name)
    return name if name in RANK else _DATED.get(name, name)


def _text(value: object) -> object:
    return value if isinstance(value, str) else None


def _text_or_number(value: object) -> object:
    return value if isinstance(value, str | int | float) else None


def _condensed(value: object) -> int | None:
    """The event id within an id that has its qualifiers and severity too."""
    number = integer(value)
    return None if number is None else number & 0xFFFF


def event_number(value: object) -> int | None:
    """An event id, which dcdiag prints with its severity, in hexadecimal."""
    if isinstance(value, str) and (found := _HEX.fullmatch(value.strip())):
        return int(found[1], 16) & 0xFFFF
    return integer(value)


def _utc(value: object) -> object:
    """A time whose column says that it is UTC."""
    return f"{value} UTC" if isinstance(value, str) and value[-1:] not in "ZzC" else value


def _level(value: object) -> str | None:
    text = str(value) if isinstance(value, str | int) else ""
    return text if level_of(text) else None


def _entry_type(value: object) -> str | None:
    """The type, which PowerShell, WMI and Windows 2003 number in their own way."""
    return _level({"1": "error", "2": "warning", "3": "information"}.get(str(value), value))


_USABLE: Mapping[str, Callable[[object], object]] = {
    "event_id": event_number,
    "timegeneratedutc": _utc,
    "timecreatedutc": _utc,
    "record_id": integer,
    "level": _level,
    "time": _text_or_number,
    "instanceid": _condensed,
    "eventidentifier": _condensed,
    "entrytype": _entry_type,
    "eventtype": _entry_type,
}
"""By name, else by field: the value as it can be used, or None. Any other is text."""
_PLACES = {
    name: (field, rank, _USABLE.get(name) or _USABLE.get(field) or _text)
    for field, names in _NAMES.items()
    for rank, name in enumerate(names)
}
_LAST = len(_PLACES)
RANK = {name: rank for name, (_, rank, _) in _PLACES.items()}
"""Rank of each of several names of one field: the lower one goes first."""


def gather(values: Mapping[str, object]) -> Found:
    """The fields among `values`, whose keys are in the spelling of `plain`. Of several names of a
    field the better known one with a usable value is taken."""
    chosen: dict[str, Any] = {}
    ranks: dict[str, int] = {}
    for name, value in values.items():
        if (place := _PLACES.get(name)) is None:
            continue
        field, rank, usable = place
        if rank < ranks.get(field, _LAST) and (found := usable(value)) is not None and found != "":
            chosen[field], ranks[field] = found, rank
    return Found(**chosen)
