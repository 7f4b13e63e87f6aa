"""The fields of a record under the many names collectors, tools and languages give them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from esewatch.model import Level

_LEVELS: dict[str, Level] = {
    "0": "information",
    "1": "critical",
    "2": "error",
    "3": "warning",
    "4": "information",
    "5": "verbose",
    "info": "information",
    "informational": "information",
    "notice": "information",
    "warn": "warning",
    "err": "error",
    "debug": "verbose",
    "auditsuccess": "information",
    "successaudit": "information",
    "informationen": "information",
    "warnung": "warning",
    "fehler": "error",
    "kritisch": "critical",
    "informations": "information",
    "avertissement": "warning",
    "erreur": "error",
    "critique": "critical",
    "información": "information",
    "advertencia": "warning",
    "crítico": "critical",
    "informazioni": "information",
    "avviso": "warning",
    "errore": "error",
    "critico": "critical",
    "informações": "information",
    "aviso": "warning",
    "erro": "error",
    "critical": "critical",
    "error": "error",
    "warning": "warning",
    "information": "information",
    "verbose": "verbose",
}
_SPELT = {
    spelt: level
    for name, level in _LEVELS.items()
    for spelt in (name, name.upper(), name.capitalize())
}


_LONGEST_KEPT = 64


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


_NAMES: Mapping[str, tuple[str, ...]] = {
    "provider": (
        "winlogprovidername",
        "winlogsourcename",
        "providername",
        "sourcename",
        "eventsource",
        "eventprovider",
        "source",
        "provider",
        "quelle",
        "fuente",
        "origen",
        "origine",
        "origem",
        "fonte",
    ),
    "event_id": (
        "winlogeventid",
        "eventid",
        "eventcode",
        "eventidid",
        "winlogeventidentifierid",
        "id",
        "instanceid",
        "eventidentifier",
        "ereignisid",
        "iddelévénement",
        "iddelevento",
        "iddoevento",
        "identificaçãodoevento",
        "idevento",
    ),
    "time": (
        "timecreated",
        "eventtime",
        "systemtime",
        "timegenerated",
        "timestamp",
        "dateandtime",
        "time",
        "date",
        "timewritten",
        "timereceived",
        "datum",
        "datumunduhrzeit",
        "fecha",
    ),
    "computer": (
        "winlogcomputername",
        "computername",
        "machinename",
        "computer",
        "hostname",
        "host",
        "ordinateur",
        "equipo",
        "computador",
    ),
    "channel": (
        "winlogchannel",
        "winloglogname",
        "channel",
        "logname",
        "eventlog",
        "logfile",
        "log",
        "protokollname",
        "nomdujournal",
        "nombrederegistro",
        "nomeregistro",
        "nomedolog",
    ),
    "record_id": (
        "winlogrecordid",
        "winlogrecordnumber",
        "eventrecordid",
        "recordid",
        "recordnumber",
        "index",
    ),
    "level": (
        "leveldisplayname",
        "leveltext",
        "winloglevel",
        "level",
        "entrytype",
        "loglevel",
        "eventtype",
        "type",
        "severity",
        "ebene",
        "niveau",
        "nivel",
        "livello",
        "nível",
    ),
    "message": (
        "message",
        "renderedmessage",
        "rendereddescription",
        "fullmessage",
        "description",
        "renderinginfomessage",
        "eventmessage",
        "msg",
        "shortmessage",
        "beschreibung",
        "descripción",
        "descrizione",
        "descrição",
    ),
}

FIELD_OF = {name: field for field, names in _NAMES.items() for name in names}
"""Field of each known column, key or label, in the spelling of `plain`."""

RANK = {name: rank for names in _NAMES.values() for rank, name in enumerate(names)}
"""Rank of each of several names of one field: the lower one goes first."""

CONDENSED = {"instanceid", "eventidentifier"}


def plain(name: str) -> str:
    """A column name, key or label without case, spaces and punctuation."""
    return _kept_plain(name) if len(name) <= _LONGEST_KEPT else _plain(name)


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


_kept_plain = lru_cache(maxsize=2048)(_plain)


def gather(values: Mapping[str, object]) -> Found:
    """The fields among `values`, whose keys are in the spelling of `plain`.

    Of several names of a field the better known one with a usable value is taken.
    """
    chosen: dict[str, tuple[int, Any]] = {}
    for name, value in values.items():
        field = FIELD_OF.get(name)
        if field is None:
            continue
        usable = _usable(name, field, value)
        if usable is None or usable == "":
            continue
        if field not in chosen or RANK[name] < chosen[field][0]:
            chosen[field] = (RANK[name], usable)
    return Found(**{field: value for field, (_, value) in chosen.items()})


def usable_level(name: str, value: object) -> str | None:
    """The level under this name as text; None when it is none."""
    text = str(value) if isinstance(value, str | int) else ""
    if name == "entrytype":
        text = {"1": "error", "2": "warning"}.get(text, text)
    return text if level_of(text) else None


def _usable(name: str, field: str, value: object) -> object:
    if field in ("event_id", "record_id"):
        number = integer(value)
        if number is not None and name in CONDENSED:
            return number & 0xFFFF
        return number
    if field == "time":
        return value if isinstance(value, str | int | float) else None
    if field == "level":
        return usable_level(name, value)
    return value if isinstance(value, str) else None
