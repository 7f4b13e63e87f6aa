"""Companion events: what other providers log about ESE databases, their copies and checks.

A closed list (semantics.md 4), a part for each family of providers. To add an event, add a
row to a part: `exchange`, `directory`, `windows`, or here.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from esewatch.ese.companions import directory, exchange, windows
from esewatch.ese.companions.companion_row import Companion, CompanionFound, CompanionText, Envelope
from esewatch.ese.programs.checkdb import ABORTED, COMPLETED, check_in_strings, check_in_text
from esewatch.model import Event

__all__ = ["COMPANIONS", "PROVIDER_PATTERNS", "PROVIDER_WORDS", "Envelope", "companion_event"]

PROVIDER_WORDS = (
    "MSExchangeIS", exchange.REPLICATION, exchange.AVAILABILITY, exchange.FAILURES,
    "ExchangeStoreDb", "ActiveDirectory_DomainService", "NTDS", "ADAM", "MSSQLSERVER", "MSSQL$",
    windows.SHUTDOWN, windows.SHUTDOWN.title(), windows.LOG,
)  # fmt: skip
"""One of these stands in the name of every provider of a companion: for cheap filters."""

PROVIDER_PATTERNS = (
    r"MSExchangeIS(?: \w+ Store)?", re.escape(exchange.REPLICATION),
    re.escape(exchange.AVAILABILITY), re.escape(exchange.FAILURES),
    r"(?:Microsoft-Windows-)?ActiveDirectory_DomainService", r"NTDS [A-Z]\w+",
    r"ADAM (?:\[[^\]\n]{1,256}\] )?[A-Z]\w+", r"MSSQLSERVER", r"MSSQL\$\w+",
    windows.SHUTDOWN, windows.LOG,
)  # fmt: skip
"""Patterns of the providers' names, for lines of text without columns; without case."""

SQL_SERVER = "MSSQLSERVER"

_LONGEST = 8_192


def _checkdb(told: CompanionText) -> CompanionFound:
    """8957 and 5235: a DBCC check that ended, or that was aborted."""
    found = check_in_text(told.text) if told.text else check_in_strings(told.strings)
    return CompanionFound("", found.database if found else "", found.fields if found else {})


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
    windows.SHUTDOWN: lambda name: name == "user32",
    windows.LOG: lambda name: name == "eventlog",
    SQL_SERVER: lambda name: name == "mssqlserver" or name.startswith("mssql$"),
}
"""The providers of the rows: is this name, in lower case, one of them?"""


def _by_id() -> Mapping[int | None, tuple[Companion, ...]]:
    rows: dict[int | None, tuple[Companion, ...]] = {}
    for row in (*exchange.ROWS, *directory.ROWS, *windows.ROWS, *_CHECKS):
        before = rows.get(row.event_id, ())
        if any(row.provider == other.provider for other in before):
            raise ValueError(f"event {row.event_id} of {row.provider} has two rows")
        rows[row.event_id] = (*before, row)
    return MappingProxyType(rows)


COMPANIONS: Mapping[int | None, tuple[Companion, ...]] = _by_id()
"""Event id -> its rows, one a provider; None -> the rows that are recognised by their words."""


def companion_event(envelope: Envelope, strings: tuple[str, ...], text: str) -> Event | None:
    """The companion event in these strings or in this rendered text; None if it is none.

    Fields: `free_bytes`, `size_bytes`, `database_name`, `limit_seconds`; `state` and what goes
    with it (`server`, `copy`, `reason`, `error`, `file`, `log_file`, `operation`,
    `internal_id`, `limit_days`, `adam_instance`); those of 8957 and 5235 are in
    `checkdb.Check`; `power` of Windows (off, stopped, up). A text that was needed to tell the event
    stays in its strings.
    """
    event_id = envelope.event_id
    if event_id is None:
        return None
    name = envelope.provider.strip().lower()
    rows = [row for row in COMPANIONS.get(event_id, ()) if _IS_PROVIDER[row.provider](name)]
    rows = rows or [row for row in COMPANIONS[None] if _IS_PROVIDER[row.provider](name)]
    if not rows:
        return None
    shown = tuple(string for string in strings if len(string) <= _LONGEST)
    found = rows[0].decode(CompanionText(envelope, shown, text[:_LONGEST]))
    return _event(envelope, rows[0], found, strings, text) if found is not None else None


def _event(
    envelope: Envelope, row: Companion, found: CompanionFound, strings: tuple[str, ...], text: str
) -> Event:
    fields = found.fields
    if row.state:
        fields["state"] = row.state
    if instance := directory.adam_instance(envelope.provider):
        fields["adam_instance"] = instance
    if row.by_words and not strings:
        strings = (text[:_LONGEST],)
    return Event(
        event_id=envelope.event_id or 0, provider=envelope.provider, time=envelope.time,
        computer=envelope.computer, channel=envelope.channel, record_id=envelope.record_id,
        level=envelope.level or row.level, ese_instance=found.ese_instance, database=found.database,
        fields=fields, strings=strings, companion=True,
    )  # fmt: skip
