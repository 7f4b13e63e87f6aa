"""The fields of a record under the many names collectors, tools and languages give them."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from esewatch.ese.raw_event import RawEvent
from esewatch.model import Level

Words = Mapping[str, tuple[str, ...]]
"""Field -> its words. `type` is the level of Windows 2000 to 2003, which begins a record, `clock`
the time of day apart from the date, `other` are words that are not read."""

WORDS: Mapping[str, Words] = {
    "en": {
        "provider": ("Event Source", "Source", "Source Name", "Event Provider", "Provider Name"),
        "event_id": ("Event ID", "EventID", "Event Code", "Event Identifier", "Event Number", "ID"),
        "time": ("Date and Time", "Event Time", "Time Generated", "Time Created", "Date"),
        "clock": ("Time",),
        "computer": (
            "Logging Computer", "Computer", "Computer Name", "Machine Name", "Machine", "Host",
        ),
        "channel": ("Log Name", "Event Log", "Log"),
        "record_id": ("Record Number", "Event Record ID", "Record ID"),
        "type": ("Event Type",),
        "level": ("Level", "Type", "Severity", "Entry Type"),
        "message": ("Event Description", "Description", "Message", "Event String"),
        "other": (
            "Event Category", "Task Category", "Category", "User Name", "Username", "User",
            "Keywords", "Opcode", "Operational Code", "Agent Time", "Event",
        ),
    },
    "de": {
        "provider": ("Ereignisquelle", "Quelle"),
        "event_id": ("Ereigniskennung", "Ereignis-ID"),
        "time": ("Datum und Uhrzeit", "Datum"),
        "clock": ("Uhrzeit", "Zeit"),
        "computer": ("Computer",),
        "channel": ("Protokollname", "Protokoll"),
        "type": ("Ereignistyp",),
        "level": ("Ebene",),
        "message": ("Beschreibung",),
        "other": ("Ereigniskategorie", "Aufgabenkategorie", "Benutzer"),
    },
    "fr": {
        "provider": ("Source de l'événement", "Source de l’événement", "Source"),
        "event_id": ("ID de l'événement", "ID de l’événement", "ID d'événement", "ID d’événement"),
        "time": ("Date et heure", "Date"),
        "clock": ("Heure",),
        "computer": ("Ordinateur",),
        "channel": ("Nom du journal", "Journal"),
        "type": ("Type de l'événement", "Type de l’événement"),
        "level": ("Niveau",),
        "message": ("Description",),
        "other": (
            "Catégorie de l'événement", "Catégorie de l’événement", "Catégorie de la tâche",
            "Utilisateur",
        ),
    },
    "it": {
        "provider": ("Origine evento", "Origine"),
        "event_id": ("ID evento",),
        "time": ("Data e ora", "Data"),
        "clock": ("Ora",),
        "computer": ("Computer",),
        "channel": ("Nome registro", "Registro"),
        "type": ("Tipo evento",),
        "level": ("Livello",),
        "message": ("Descrizione",),
        "other": ("Categoria evento", "Categoria attività", "Utente"),
    },
    "es": {
        "provider": ("Origen del suceso", "Origen del evento", "Origen"),
        "event_id": ("Id. suceso", "Id. del suceso", "Id. del evento", "Id. de evento"),
        "time": ("Fecha y hora", "Fecha"),
        "clock": ("Hora",),
        "computer": ("Equipo",),
        "channel": ("Nombre de registro", "Registro"),
        "type": ("Tipo de suceso", "Tipo de evento"),
        "level": ("Nivel",),
        "message": ("Descripción",),
        "other": (
            "Categoría del suceso", "Categoría del evento", "Categoría de la tarea", "Usuario",
        ),
    },
    "pt": {
        "provider": ("Origem do Evento", "Fonte do Evento", "Origem", "Fonte"),
        "event_id": ("ID do Evento", "Identificação do Evento", "ID de evento"),
        "time": ("Data e hora", "Data"),
        "clock": ("Hora",),
        "computer": ("Computador",),
        "channel": ("Nome do Log", "Log"),
        "type": ("Tipo de Evento",),
        "level": ("Nível",),
        "message": ("Descrição",),
        "other": ("Categoria do Evento", "Categoria da Tarefa", "Usuário", "Utilizador"),
    },
    "ja": {
        "provider": ("イベント ソース", "ソース"),
        "event_id": ("イベント ID",),
        "time": ("日付と時刻", "日付"),
        "clock": ("時刻",),
        "computer": ("コンピュータ", "コンピューター"),
        "channel": ("ログの名前",),
        "type": ("イベントの種類",),
        "level": ("レベル",),
        "message": ("説明",),
        "other": ("イベント カテゴリ", "タスクのカテゴリ", "ユーザー"),
    },
    "ko": {
        "provider": ("이벤트 원본", "원본"),
        "event_id": ("이벤트 ID",),
        "time": ("날짜",),
        "clock": ("시간",),
        "computer": ("컴퓨터",),
        "type": ("이벤트 유형", "이벤트 형식"),
        "level": ("수준",),
        "message": ("설명",),
        "other": ("이벤트 범주", "작업 범주", "사용자"),
    },
    "zh": {
        "provider": ("事件来源", "来源"),
        "event_id": ("事件 ID",),
        "time": ("日期和时间", "日期"),
        "clock": ("时间",),
        "computer": ("计算机",),
        "channel": ("日志名称",),
        "type": ("事件类型",),
        "level": ("级别",),
        "message": ("描述", "说明"),
        "other": ("事件类别", "事件种类", "任务类别", "用户"),
    },
    "zh-Hant": {
        "provider": ("事件來源", "來源"),
        "event_id": ("事件識別碼",),
        "time": ("日期和時間", "日期"),
        "clock": ("時間",),
        "computer": ("電腦",),
        "channel": ("記錄檔名稱",),
        "type": ("事件類型",),
        "level": ("等級",),
        "message": ("描述",),
        "other": ("事件類別", "工作類別", "使用者"),
    },
    "tr": {
        "provider": ("Kaynak",),
        "event_id": ("Olay Kimliği",),
        "level": ("Düzey",),
    },
    "sv": {
        "provider": ("Källa",),
        "event_id": ("Händelse-ID",),
        "level": ("Nivå",),
    },
}  # fmt: skip


def words_of(*fields: str) -> tuple[str, ...]:
    """The words of these fields in all languages, each once."""
    found = (word for words in WORDS.values() for field in fields for word in words.get(field, ()))
    return tuple(dict.fromkeys(found))


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


def _condensed(value: object) -> int | None:
    """The event id within an id that has its qualifiers and severity too."""
    return None if (number := integer(value)) is None else number & 0xFFFF


def event_number(value: object) -> int | None:
    """An event id, which dcdiag prints with its severity, in hexadecimal."""
    if isinstance(value, str) and (found := _HEX.fullmatch(value.strip())):
        return int(found[1], 16) & 0xFFFF
    return integer(value)


def _utc(value: object) -> object:
    """A time whose column says that it is UTC."""
    return f"{value} UTC" if isinstance(value, str) and value[-1:] not in "ZzC" else value


def _level(value: object) -> Level | None:
    return level_of(str(value)) if isinstance(value, str | int) else None


def _entry_type(value: object) -> Level | None:
    """The type, which PowerShell, WMI and Windows 2003 number in their own way."""
    return _level({"1": "error", "2": "warning", "3": "information"}.get(str(value), value))


_USABLE: Mapping[str, Callable[[object], object]] = {
    "event_id": event_number,
    "timegeneratedutc": _utc,
    "timecreatedutc": _utc,
    "record_id": integer,
    "level": _level,
    "time": lambda value: value if isinstance(value, str | int | float) else None,
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


def gather(values: Mapping[str, object]) -> RawEvent:
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
    return RawEvent(**chosen)
