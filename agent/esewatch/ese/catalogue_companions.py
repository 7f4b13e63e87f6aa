"""Companion events: what other providers log about the maintenance of ESE databases.

A closed list (semantics.md 4): MSExchangeIS 1221 (white space after online defragmentation)
and 9871 (maintenance overlap); Active Directory 1646 (white space) and 3027 (limit of one
defragmentation run); SQL Server 8957 (end of DBCC CHECKDB) and 5235 (one that was broken off).
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from esewatch.ese.checkdb import ABORTED, COMPLETED, check_in_strings, check_in_text
from esewatch.ese.strings import GROUPS, Fields, parse_int
from esewatch.model import Event, Level

_AD_PROVIDERS = frozenset(
    {"activedirectory_domainservice", "microsoft-windows-activedirectory_domainservice"}
)
PROVIDER_WORDS = (
    "MSExchangeIS",
    "ActiveDirectory_DomainService",
    "NTDS",
    "ADAM",
    "MSSQLSERVER",
    "MSSQL$",
)
"""One of these stands in the name of every provider of a companion: for cheap filters."""

_MEBIBYTE = 2**20
_LONGEST = 8_192
_NUMBER = rf"\d{{1,12}}(?:{GROUPS}\d{{3}})*(?:[.,]\d{{1,6}})?(?!\d)"
_QUOTED = re.compile(r"[\"'“«](.{1,512}?)[\"'”»](?=[\s.,;]|$)", re.DOTALL)
_FREE = re.compile(rf"({_NUMBER})\s+(?:megabytes|mb)\b", re.IGNORECASE)
_MEGABYTES = re.compile(rf"\(\s*(?:megabytes|mb)\s*\)\s*:\s*({_NUMBER})", re.IGNORECASE)
_DURATION = re.compile(r"seconds\s*:\s*(\d{1,9})", re.IGNORECASE)
_OVERLAP = re.compile(r"overlap for database\s+(.{1,512}?)\.(?:\s|$)", re.IGNORECASE | re.DOTALL)


class Envelope(NamedTuple):
    """What surrounds the strings or the text of a logged event; see `model.Event`."""

    provider: str
    event_id: int | None
    time: float | None
    computer: str
    channel: str
    record_id: int | None
    level: Level | None


class _Found(NamedTuple):
    """What a companion says: instance and database as named there, fields."""

    ese_instance: str
    database: str
    fields: Fields


Decoder = Callable[[tuple[str, ...], str], _Found]


def _bytes_of(megabytes: str) -> int | None:
    """Bytes of a number of megabytes, perhaps with a fraction; three digits make a group."""
    text = megabytes.strip()
    whole = parse_int(text) if "." not in text else None
    if whole is not None:
        return whole * _MEBIBYTE if 0 <= whole < 2**40 else None
    number = text.replace(",", "" if "." in text else ".")
    try:
        return round(float(number) * _MEBIBYTE) if re.fullmatch(r"[\d.]+", number) else None
    except ValueError:
        return None


def _white_space(strings: tuple[str, ...], text: str) -> _Found:
    """1221: `Storage Group\\Store` has n megabytes of free space."""
    name, size = "", None
    for string in strings:
        found = _bytes_of(string)
        if found is not None and size is None:
            size = found
        elif found is None and not name:
            name = string.strip().strip('"')
    if match := _QUOTED.search(text):
        name = " ".join(match[1].split())
    if match := _FREE.search(text):
        size = _bytes_of(match[1])
    return _named(name, {} if size is None else {"free_bytes": size})


def _named(name: str, fields: Fields) -> _Found:
    """A store by its name: the storage group before the backslash is the ESE instance."""
    if 0 < len(name) <= 512:
        fields["database_name"] = name
    group, separator, _ = name.partition("\\")
    return _Found(group if separator else "", "", fields)


def _overlap(strings: tuple[str, ...], text: str) -> _Found:
    """9871: the maintenance windows of a database overlap."""
    name = next((string.strip().strip('"') for string in strings if string.strip()), "")
    if match := _OVERLAP.search(text) or _QUOTED.search(text):
        name = " ".join(match[1].split()).strip("'\"")
    return _named(name, {})


def _directory_space(strings: tuple[str, ...], text: str) -> _Found:
    """1646: free and allocated megabytes of the directory database."""
    numbers = list(strings) or _MEGABYTES.findall(text)
    fields: Fields = {}
    for name, number in zip(("free_bytes", "size_bytes"), numbers, strict=False):
        if (size := _bytes_of(number)) is not None:
            fields[name] = size
    return _Found("", "", fields)


def _defrag_limit(strings: tuple[str, ...], text: str) -> _Found:
    """3027: online defragmentation was started for at most so many seconds."""
    match = _DURATION.search(text)
    seconds = parse_int(strings[0] if strings else match[1] if match else "")
    return _Found("", "", {"limit_seconds": seconds} if seconds is not None else {})


def _checkdb(strings: tuple[str, ...], text: str) -> _Found:
    """8957 and 5235: a DBCC check that ended, or that was broken off."""
    found = check_in_text(text) if text else check_in_strings(strings)
    return _Found("", found.database, found.fields) if found is not None else _Found("", "", {})


def _is_exchange(provider: str) -> bool:
    return provider.startswith("msexchangeis")


def _is_directory(provider: str) -> bool:
    return provider in _AD_PROVIDERS or (
        provider.startswith(("ntds ", "adam ")) and not provider.endswith("isam")
    )


def _is_sql_server(provider: str) -> bool:
    return provider == "mssqlserver" or provider.startswith("mssql$")


COMPANIONS: dict[int, tuple[Callable[[str], bool], Decoder]] = {
    1221: (_is_exchange, _white_space),
    9871: (_is_exchange, _overlap),
    1646: (_is_directory, _directory_space),
    3027: (_is_directory, _defrag_limit),
    COMPLETED: (_is_sql_server, _checkdb),
    ABORTED: (_is_sql_server, _checkdb),
}
"""Event id -> (is the provider the right one, how to decode)."""


def companion_event(envelope: Envelope, strings: tuple[str, ...], text: str) -> Event | None:
    """The companion event in these strings or in this rendered text; None if it is none.

    Fields: `free_bytes`, `size_bytes`, `database_name`, `limit_seconds`; those of
    8957 and 5235 are in `checkdb.Check`.
    """
    event_id = envelope.event_id
    found = COMPANIONS.get(event_id) if event_id is not None else None
    if event_id is None or found is None or not found[0](envelope.provider.strip().lower()):
        return None
    shown = tuple(string for string in strings if len(string) <= _LONGEST)
    ese_instance, database, fields = found[1](shown, text[:_LONGEST])
    return Event(
        event_id=event_id,
        provider=envelope.provider,
        time=envelope.time,
        computer=envelope.computer,
        channel=envelope.channel,
        record_id=envelope.record_id,
        level=envelope.level or ("warning" if event_id == 9871 else "information"),
        ese_instance=ese_instance,
        database=database,
        fields=fields,
        strings=strings,
        companion=True,
    )
