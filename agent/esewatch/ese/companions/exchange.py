r"""Companions of Exchange: its store, its replication service and its Active Manager.

A copy is named `database\server` from 2010 on, and `server\storage group` in 2007, where the
server is that of the cluster. The copy's own server logs it, so the computer of the event
decides. Strings are read by position only where their order is published.
"""

import re

from esewatch.ese.companions.companion_row import (
    LONGEST_NAME,
    Companion,
    CompanionFound,
    CompanionText,
    State,
    bytes_of,
    nothing_more,
    put_name,
    put_text,
)
from esewatch.ese.strings import GROUPS, Fields, parse_int
from esewatch.model import Level

STORE = "MSExchangeIS"
REPLICATION = "MSExchangeRepl"
AVAILABILITY = "Microsoft-Exchange-HighAvailability"
FAILURES = "ExchangeStoreDB"

_NETBIOS = 15
_NUMBER = rf"\d{{1,12}}(?:{GROUPS}\d{{3}})*(?:[.,]\d{{1,6}})?(?!\d)"
_QUOTED = re.compile(r"[\"'“«](.{1,512}?)[\"'”»](?=[\s.,;]|$)", re.DOTALL)
_FREE = re.compile(rf"({_NUMBER})\s+(?:megabytes|mb)\b", re.IGNORECASE)
_OVERLAP = re.compile(r"overlap for database\s+(.{1,512}?)\.(?:\s|$)", re.IGNORECASE | re.DOTALL)
_FAILED_DATABASE = re.compile(r"(?:database|copy of)\s+'([^'\n]{1,512})'", re.IGNORECASE)
_FAILED_OVER = "a successful failover restored service"
_SUSPENDED = "the passive database copy has been suspended"
_CODE = re.compile(r"-?\d{1,10}")


def named(name: str, fields: Fields) -> CompanionFound:
    """A store by its name: the storage group before the backslash is the ESE instance."""
    if 0 < len(name) <= LONGEST_NAME:
        fields["database_name"] = name
    group, separator, _ = name.partition("\\")
    return CompanionFound(fields, group if separator else "")


def _white_space(told: CompanionText) -> CompanionFound:
    """1221: `Storage Group\\Store` has n megabytes of free space."""
    name, size = "", None
    for string in told.strings:
        found = bytes_of(string)
        if found is not None and size is None:
            size = found
        elif found is None and not name:
            name = string.strip().strip('"')
    if match := _QUOTED.search(told.text):
        name = " ".join(match[1].split())
    if match := _FREE.search(told.text):
        size = bytes_of(match[1])
    return named(name, {} if size is None else {"free_bytes": size})


def _overlap(told: CompanionText) -> CompanionFound:
    """9871: the maintenance windows of a database overlap."""
    name = next((string.strip().strip('"') for string in told.strings if string.strip()), "")
    if match := _OVERLAP.search(told.text) or _QUOTED.search(told.text):
        name = " ".join(match[1].split()).strip("'\"")
    return named(name, {})


class _Message:
    """Reads the strings of a published message of the replication service, or its words. `pattern`
    has a group for each of `names` in the order of the words; `names` stand in the order of the
    strings. `copy` is the copy; `error` a number, else no field."""

    def __init__(self, names: tuple[str, ...], pattern: str) -> None:
        self._names = names
        self._pattern = re.compile(" ".join(pattern.split()), re.IGNORECASE | re.DOTALL)

    def __call__(self, told: CompanionText) -> CompanionFound:
        values: dict[str, str] = {}
        if told.text:
            if match := self._pattern.search(" ".join(told.text.split())):
                values = {name: value or "" for name, value in match.groupdict().items()}
        else:
            values = dict(zip(self._names, told.strings, strict=False))
        fields: Fields = {}
        for name, value in values.items():
            if name == "error":
                if _CODE.fullmatch(value.strip()) and (code := parse_int(value)) is not None:
                    fields[name] = code
            elif name == "reason":
                put_text(fields, name, value)
            elif name != "copy":
                put_name(fields, name, value)
        return _of_copy(values.get("copy", ""), told.computer, fields)


def _of_copy(copy: str, computer: str, fields: Fields) -> CompanionFound:
    """The names in that of a copy; the computer of the event shows which half is the server."""
    copy = copy.strip().strip("'\"")
    first, separator, second = copy.partition("\\")
    if not separator:
        put_name(fields, "database_name", copy)
    elif _same_server(second, computer):
        put_name(fields, "database_name", first)
        put_name(fields, "server", second)
    else:
        put_name(fields, "copy", copy)
    return CompanionFound(fields)


def _of_storage_group(copy: str, computer: str, fields: Fields) -> CompanionFound:
    """The same for an event of 2007: a name that is no copy of this server is a storage group."""
    found = _of_copy(copy, computer, fields)
    server, separator, group = str(found.fields.pop("copy", "")).partition("\\")
    if not separator:
        return found
    put_name(fields, "server", server)
    put_name(fields, "database_name", group)
    return CompanionFound(fields, group[:LONGEST_NAME])


def _same_server(name: str, computer: str) -> bool:
    """True if two names are of one server; one may be cut to the length of NetBIOS."""
    ours, theirs = (part.partition(".")[0].strip().casefold() for part in (name, computer))
    return bool(ours) and ours[:_NETBIOS] == theirs[:_NETBIOS]


_REASON = r"(?P<reason>.{1,8192}?)\.?$"
_STORAGE_GROUP = re.compile(
    r"re-?seed of the passive node for (?P<copy>.{1,512}?)\. The specific error code returned "
    rf"is:\s*{_REASON}",
    re.IGNORECASE | re.DOTALL,
)


def _storage_group(told: CompanionText) -> CompanionFound:
    """2058: `%1` is the storage group, `%2` the error."""
    copy, reason = (*told.strings, "", "")[:2]
    if match := _STORAGE_GROUP.search(" ".join(told.text.split())):
        copy, reason = match["copy"], match["reason"]
    fields: Fields = {}
    put_text(fields, "reason", reason)
    return _of_storage_group(copy, told.computer, fields)


def _move(told: CompanionText) -> CompanionFound:
    """306 to 308: the first value is the id of the operation; the order of others is not known."""
    fields: Fields = {}
    if len(told.strings) > 1:
        put_name(fields, "operation", told.strings[0])
    return CompanionFound(fields)


def _failed_store(told: CompanionText) -> CompanionFound:
    """126: the database that was dismounted, from the text."""
    fields: Fields = {}
    if match := _FAILED_DATABASE.search(told.words):
        put_name(fields, "database_name", match[1])
    return CompanionFound(fields)


def _by_words(told: CompanionText) -> CompanionFound | None:
    """Any other id of the failures: the outcome stands in its last sentence."""
    words = " ".join(told.words.split()).casefold()
    state = "failover" if _FAILED_OVER in words else "suspended" if _SUSPENDED in words else ""
    found = _failed_store(told)
    found.fields["state"] = state
    return found if state else None


_RESEED = "MailboxDatabaseReseedUsingSpares.ps1 in the folder Scripts of Exchange"
_OVER = "https://learn.microsoft.com/en-us/exchange/high-availability/manage-ha/monitor-dags"
"""The page describes CollectOverMetrics.ps1 in the folder Scripts; the script has the ids."""
_COPY = r"(?P<copy>.{1,512}?)"


def _replication(
    event_id: int,
    says: str,
    names: tuple[str, ...],
    pattern: str,
    *,
    state: State = "failed",
    level: Level = "error",
) -> Companion:
    """A row of the replication service whose message the reseed script of Exchange quotes."""
    decode = _Message(names, pattern)
    return Companion(event_id, REPLICATION, level, says, _RESEED, decode, state)


ROWS: tuple[Companion, ...] = (
    Companion(1221, STORE, "information", "white space after online defragmentation",
        "https://mskb.pkisolutions.com/kb/186291", _white_space),
    Companion(9871, STORE, "warning", "maintenance windows overlap",
        "https://www.mindwatering.com/SupportRef.nsf/AllByCat/954170D1EA6FF64D852576100051A0A7",
        _overlap),
    Companion(2058, REPLICATION, "error", "2007: the passive copy could not be brought in line",
        "https://intelligentsystemsmonitoring.com/tag/event-2058/", _storage_group, "failed"),
    _replication(2059, "a log file is missing on the active copy, replication is blocked",
        ("copy", "log_file"), rf"log file (?P<log_file>.{{1,512}}?) for {_COPY} is missing"),
    _replication(2070, "logs and database of the copy failed the check at start",
        ("copy", "reason"),
        rf"logs and database for {_COPY} on startup\. "
        rf"(?:The specific error code returned is|Error):\s*{_REASON}"),
    Companion(2093, REPLICATION, "warning", "2007: mounted by force after a failover or a move",
        "https://technet.microsoft.com/en-us/library/bb218874(v=exchg.80).aspx", nothing_more,
        "failover"),
    _replication(2097, "an error of ESE in the copy", ("copy", "reason", "error"),
        rf"\(ESE\) exception in database '?{_COPY}'?\. The ESE exception is "
        r"(?P<reason>.{1,8192}?)(?: \((?P<error>-?\d{1,10})\))?\.?$"),
    _replication(2101, "the copy cannot be started, and not only for a while", ("copy", "reason"),
        rf"replication instance for {_COPY}\. The error is not transient.{{1,200}}? returned is:"
        rf"\s*{_REASON}"),
    _replication(2106, "no database after replay", ("copy", "file"),
        rf"Database: '{_COPY}'\. File Path: '(?P<file>.{{1,512}}?)'"),
    _replication(3145, "resynchronising failed, a full reseed is required", ("copy", "reason"),
        rf"seeding (?:on|of) database {_COPY} encountered an error and a full reseed is required\. "
        rf"Reason:\s*{_REASON}"),
    _replication(3147, "resynchronising was not begun, the copy must be reseeded",
        ("copy", "reason"),
        rf"seeding of database {_COPY} was not initiated.{{1,200}}? Error:\s*{_REASON}"),
    _replication(4025, "a seeding failed before it began", ("copy", "reason"),
        rf"database '{_COPY}' encountered an error while running prerequisite checks\. The error "
        rf"that occurred was:\s*{_REASON}", state="seeding_failed"),
    _replication(4026, "a seeding failed", ("copy", "reason"),
        rf"database '{_COPY}' encountered an error during seeding\. The error that occurred was:"
        rf"\s*{_REASON}", state="seeding_failed"),
    _replication(4027, "a seeding was cancelled", ("copy",),
        rf"database '{_COPY}' has been cancelled", state="seeding_failed", level="warning"),
    _replication(4057, "replay failed", ("copy", "reason"),
        rf"in log replay for database '{_COPY}'\. The exception is:\s*{_REASON}"),
    _replication(4083, "a seeding failed otherwise", ("copy", "reason"),
        rf"database '{_COPY}' encountered another error\. The error that occurred was:\s*{_REASON}",
        state="seeding_failed"),
    Companion(306, AVAILABILITY, "information", "a move of the active copy begins", _OVER, _move,
        "failover_started"),
    Companion(307, AVAILABILITY, "error", "a move of the active copy failed", _OVER, _move,
        "failover_failed"),
    Companion(308, AVAILABILITY, "information", "the active copy was moved", _OVER, _move,
        "failover"),
    Companion(126, FAILURES, "error", "a database was dismounted, another copy took over",
        "https://support.microsoft.com/kb/3095369", _failed_store, "failover"),
    Companion(
        None, FAILURES, "error", "what became of a failure: failover, or copy suspended",
        "https://learn.microsoft.com/en-us/answers/questions/1854830/exchange-2016-daglogfile-problem",
        _by_words, by_words=True,
    ),
)  # fmt: skip
