"""The fields of a record under the many names collectors, tools and languages give them."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from esewatch.model import Level

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
        "winlogprovidername", "winlogsourcename", "providername", "sourcename", "eventsource",
        "eventprovider", "source", "provider", "quelle", "fuente", "origen", "origine", "origem",
        "fonte",
    ),
    "event_id": (
        "winlogeventid", "eventid", "eventcode", "eventidid", "winlogeventidentifierid", "id",
        "instanceid", "eventidentifier", "ereignisid", "iddelévénement", "iddelevento",
        "iddoevento", "identificaçãodoevento", "idevento",
    ),
    "time": (
        "timecreated", "eventtime", "systemtime", "timegenerated", "timestamp", "dateandtime",
        "time", "date", "timewritten", "timereceived", "datum", "datumunduhrzeit", "fecha",
    ),
    "computer": (
        "winlogcomputername", "computername", "machinename", "computer", "hostname", "host",
        "ordinateur", "equipo", "computador",
    ),
    "channel": (
        "winlogchannel", "winloglogname", "channel", "logname", "eventlog", "logfile", "log",
        "protokollname", "nomdujournal", "nombrederegistro", "nomeregistro", "nomedolog",
    ),
    "record_id": (
        "winlogrecordid", "winlogrecordnumber", "eventrecordid", "recordid", "recordnumber",
        "index",
    ),
    "level": (
        "leveldisplayname", "leveltext", "winloglevel", "level", "entrytype", "loglevel",
        "eventtype", "type", "severity", "ebene", "niveau", "nivel", "livello", "nível",
    ),
    "message": (
        "message", "renderedmessage", "rendereddescription", "fullmessage", "description",
        "renderinginfomessage", "eventmessage", "msg", "shortmessage", "beschreibung",
        "descripción", "descrizione", "descrição",
    ),
}  # fmt: skip

FIELD_OF = {name: field for field, names in _NAMES.items() for name in names}
"""Field of each known column, key or label, in the spelling of `plain`."""


def plain(name: str) -> str:
    """A column name, key or label without case, spaces and punctuation."""
    return _kept_plain(name) if len(name) <= _LONGEST_KEPT else _plain(name)


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


_kept_plain = lru_cache(maxsize=2048)(_plain)


def _text(value: object) -> object:
    return value if isinstance(value, str) else None


def _text_or_number(value: object) -> object:
    return value if isinstance(value, str | int | float) else None


def _condensed(value: object) -> int | None:
    """The event id within an id that has its qualifiers and severity too."""
    number = integer(value)
    return None if number is None else number & 0xFFFF


def _level(value: object) -> str | None:
    text = str(value) if isinstance(value, str | int) else ""
    return text if level_of(text) else None


def _entry_type(value: object) -> str | None:
    """The type that PowerShell numbers in its own way."""
    return _level({"1": "error", "2": "warning"}.get(str(value), value))


_USABLE: Mapping[str, Callable[[object], object]] = {
    "event_id": integer,
    "record_id": integer,
    "level": _level,
    "time": _text_or_number,
    "instanceid": _condensed,
    "eventidentifier": _condensed,
    "entrytype": _entry_type,
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
