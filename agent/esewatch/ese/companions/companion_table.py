"""Companion events: what other providers log about ESE databases, their copies and checks.

A closed list (semantics.md 4), a part for each family of providers. To add an event, add a
row to a part: `exchange`, `directory`, or here (Windows itself, SQL Server).

1074 of Windows has the process, the computer, reasons, and in `%5` a word of the language of
Windows for what was asked for; the rendered text ends a line with it.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from esewatch.ese.companions import directory, exchange
from esewatch.ese.companions.companion_row import Companion, CompanionFound, CompanionText
from esewatch.ese.programs.checkdb import ABORTED, COMPLETED, check_in_strings, check_in_text
from esewatch.ese.raw_event import RawEvent
from esewatch.model import Event

SHUTDOWN, LOG = "USER32", "EventLog"

_OFF = frozenset({
    "power off", "shutdown", "shut down", "poweroff",
    "ausschalten", "herunterfahren", "arrêt", "arrêter", "mise hors tension", "éteindre",
    "apagar", "apagado", "desligar", "desligamento", "encerrar", "encerramento",
    "arresto", "arresta", "spegnimento", "spegni", "afsluiten", "uitschakelen",
    "stäng av", "avstängning", "slå av", "luk computeren", "sluk", "sammuta",
    "wyłącz", "wyłączenie", "zamknięcie", "zamknij", "vypnutí", "vypnout", "leállítás",
    "kikapcsolás", "kapat", "kapatma", "gücü kapat", "выключение", "завершение работы",
    "отключение питания", "シャットダウン", "電源オフ", "电源关闭", "关机", "关闭电源", "關機",
    "關閉電源", "시스템 종료", "전원 끄기",
})  # fmt: skip
"""Words for a shutdown or power off, of the languages of Windows; any other word is a restart."""
_TYPE = 4
_LABELLED = re.compile(r"[:\uff1a][ \t\u00a0]*([^:\n\r]{2,40}?)[ \t.]*$", re.MULTILINE)


def _shutdown(told: CompanionText) -> CompanionFound | None:
    words = told.strings[_TYPE : _TYPE + 1] if len(told.strings) > _TYPE else ()
    for word in words or _LABELLED.findall(told.words):
        if " ".join(word.lower().split()) in _OFF:
            return CompanionFound({"power": "off"})
    return None


_REBOOTS = (
    "https://learn.microsoft.com/en-us/troubleshoot/windows-server/performance/"
    "troubleshoot-unexpected-reboots-system-event-logs"
)

_WINDOWS: tuple[Companion, ...] = (
    Companion(1074, SHUTDOWN, "information", "the computer is shut down, not only restarted",
        _REBOOTS, _shutdown, by_words=True),
    Companion(6005, LOG, "information", "the computer came up: its event log service started",
        _REBOOTS, lambda _: CompanionFound({"power": "up"})),
    Companion(6006, LOG, "information", "the event log service stopped, as before a restart too",
        _REBOOTS, lambda _: CompanionFound({"power": "stopped"})),
)  # fmt: skip


PROVIDER_WORDS = (
    "MSExchangeIS", exchange.REPLICATION, exchange.AVAILABILITY, exchange.FAILURES,
    "ExchangeStoreDb", "ActiveDirectory_DomainService", "NTDS", "ADAM", "MSSQLSERVER", "MSSQL$",
    SHUTDOWN, SHUTDOWN.title(), LOG,
)  # fmt: skip
"""One of these stands in the name of every provider of a companion: for cheap filters."""

PROVIDER_PATTERNS = (
    r"MSExchangeIS(?: \w+ Store)?", re.escape(exchange.REPLICATION),
    re.escape(exchange.AVAILABILITY), re.escape(exchange.FAILURES),
    r"(?:Microsoft-Windows-)?ActiveDirectory_DomainService", r"NTDS [A-Z]\w+",
    r"ADAM (?:\[[^\]\n]{1,256}\] )?[A-Z]\w+", r"MSSQLSERVER", r"MSSQL\$\w+",
    SHUTDOWN, LOG,
)  # fmt: skip
"""Patterns of the providers' names, for lines of text without columns; without case."""

SQL_SERVER = "MSSQLSERVER"

_LONGEST = 8_192


def _checkdb(told: CompanionText) -> CompanionFound:
    """8957 and 5235: a DBCC check that ended, or that was aborted."""
    found = check_in_text(told.text) if told.text else check_in_strings(told.strings)
    return CompanionFound(found.fields, "", found.database) if found else CompanionFound({})


_CHECKS = (
    Companion(COMPLETED, SQL_SERVER, "information", "the end of DBCC CHECKDB", "seen in a log",
        _checkdb),
    Companion(ABORTED, SQL_SERVER, "information", "a DBCC CHECKDB that was aborted",
        "seen in a log", _checkdb),
)  # fmt: skip

_IS_PROVIDER: Mapping[str, Callable[[str], bool]] = {
    exchange.STORE: lambda name: name.startswith("msexchangeis"),
    exchange.REPLICATION: lambda name: name == "msexchangerepl",
    exchange.AVAILABILITY: lambda name: name == "microsoft-exchange-highavailability",
    exchange.FAILURES: lambda name: name == "exchangestoredb",
    directory.DIRECTORY: directory.is_directory,
    SHUTDOWN: lambda name: name == "user32",
    LOG: lambda name: name == "eventlog",
    SQL_SERVER: lambda name: name == "mssqlserver" or name.startswith("mssql$"),
}
"""The providers of the rows: is this name, in lower case, one of them?"""


def _by_id() -> Mapping[int | None, tuple[Companion, ...]]:
    rows: dict[int | None, tuple[Companion, ...]] = {}
    for row in (*exchange.ROWS, *directory.ROWS, *_WINDOWS, *_CHECKS):
        before = rows.get(row.event_id, ())
        if any(row.provider == other.provider for other in before):
            raise ValueError(f"event {row.event_id} of {row.provider} has two rows")
        rows[row.event_id] = (*before, row)
    return MappingProxyType(rows)


COMPANIONS: Mapping[int | None, tuple[Companion, ...]] = _by_id()
"""Event id -> its rows, one a provider; None -> the rows that are recognised by their words."""


def companion_event(raw: RawEvent, strings: tuple[str, ...], text: str) -> Event | None:
    """The companion event in these strings of `raw` or in this text of it; None if it is none.

    Fields: `free_bytes`, `size_bytes`, `database_name`, `limit_seconds`; `state` and what goes
    with it (`server`, `copy`, `reason`, `error`, `file`, `log_file`, `operation`,
    `internal_id`, `limit_days`, `adam_instance`); those of 8957 and 5235 are in
    `checkdb.Check`; `power` of Windows (off, stopped, up). A text that was needed to tell the event
    stays in its strings.
    """
    if raw.event_id is None:
        return None
    name = raw.provider.strip().lower()
    rows = [row for row in COMPANIONS.get(raw.event_id, ()) if _IS_PROVIDER[row.provider](name)]
    rows = rows or [row for row in COMPANIONS[None] if _IS_PROVIDER[row.provider](name)]
    if not rows:
        return None
    shown = tuple(string for string in strings if len(string) <= _LONGEST)
    row = rows[0]
    found = row.decode(CompanionText(raw.computer, shown, text[:_LONGEST]))
    if found is None:
        return None
    fields = found.fields
    if row.state:
        fields["state"] = row.state
    if instance := directory.adam_instance(raw.provider):
        fields["adam_instance"] = instance
    if row.by_words and not strings:
        strings = (text[:_LONGEST],)
    return Event(
        event_id=raw.event_id, provider=raw.provider, time=raw.time, computer=raw.computer,
        channel=raw.channel, record_id=raw.record_id, level=raw.level or row.level,
        ese_instance=found.ese_instance, database=found.database,
        fields=fields, strings=strings, companion=True,
    )  # fmt: skip
