"""`Get-MailboxDatabase | ConvertTo-Json` to the windows and databases of a configuration.

Sources: Set-MailboxDatabase (MaintenanceSchedule, BackgroundDatabaseMaintenance) and
Add-MailboxDatabaseCopy ("all copies of a database must use the same path"). Through a remote
shell most values are text; on the server itself they are objects, which `-Depth` cuts short.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import yaml

from esewatch.config.exchange_schedule import ScheduleError, ScheduleSlot, openings
from esewatch.config.files import dump
from esewatch.config.settings import CopyOf, DatabaseRule, Settings, Window
from esewatch.config.tree import quote
from esewatch.config.units import parse_text, parse_zone
from esewatch.model import ConfigError

_PATH = re.compile(r"(?:[A-Za-z]:\\|\\\\[^\\]+\\)[^<>\"|?*/]+")
_PREFIX = re.compile(r"\\\\[?.]\\(?:UNC\\)?", re.IGNORECASE)
_LAG = re.compile(r"\[?([^,\]]+), ?([\d.:]+)\]?")
_MAJOR = re.compile(r"(?:Version )?(\d{1,3})\.")
_TYPE_NAME = re.compile(r"(?:Microsoft\.Exchange|System)\.")
_NO_SCHEDULE_SINCE = 15
"""Exchange 2013: the schedule can be set and is ignored (Set-MailboxDatabase)."""
_MAX_SERVERS = 16
"""Members of a database availability group."""


class Imported(msgspec.Struct, kw_only=True):
    """Settings read. `remarks`: a sentence for each decision and each value that is not known."""

    windows: dict[str, Window] = {}
    databases: list[DatabaseRule] = []
    remarks: list[str] = []

    def text(self) -> str:
        """`windows:` and `databases:` as YAML, to be put into a configuration file."""
        whole = yaml.safe_load(dump(Settings(windows=self.windows, databases=self.databases)))
        kept = {key: whole[key] for key in ("windows", "databases") if key in whole}
        return yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=120)


class _Database(msgspec.Struct):
    name: str
    path: str
    servers: list[str]
    window: str | None = None


def from_exchange(text: str, timezone: str | None) -> Imported:
    """The windows and database rules of the JSON in `text`; times are in `timezone`, else UTC.

    Raises ConfigError when the zone is unknown, the text is no JSON or has no database.
    """
    if timezone is not None:
        try:
            parse_zone(timezone)
        except ValueError:
            allowed = "a time zone such as Europe/Berlin"
            raise ConfigError(f"timezone: found {quote(timezone)}, allowed: {allowed}") from None
    imported = Imported()
    databases = []
    for number, item in enumerate(_items(text), 1):
        database = _database(item, number, imported.remarks)
        if database is not None:
            opening = _opening(item, database.name, imported.remarks)
            database.window = _add_window(imported, opening, timezone or "UTC")
            databases.append(database)
    if not databases:
        raise ConfigError(
            "it has no mailbox database: objects with Name and EdbFilePath are expected"
        )
    if imported.windows and timezone is None:
        imported.remarks.append(
            "the windows are in UTC: name the time zone of the servers with --timezone"
        )
    imported.databases = _rules(databases, imported.remarks)
    return imported


def _items(text: str) -> list[object]:
    """The databases; one alone is an object and no list (ConvertTo-Json)."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"line {error.lineno}: not JSON: {error.msg}") from None
    except (RecursionError, ValueError):
        raise ConfigError("not JSON: nested too deep or a number too long") from None
    if isinstance(value, dict) and isinstance(value.get("value"), list):
        value = value["value"]
    return value if isinstance(value, list) else [value]


def _database(item: object, number: int, remarks: list[str]) -> _Database | None:
    if not isinstance(item, dict):
        remarks.append(f"item {number}: left out: not an object")
        return None
    name = _named(item.get("Name"))
    title = quote(name) if name else f"item {number}"
    path = _PREFIX.sub(_kept_unc, _named(item.get("EdbFilePath"), "PathName"), count=1)
    if not path:
        remarks.append(f"{title}: left out: no EdbFilePath")
        return None
    if not _usable(path) or not _PATH.fullmatch(path):
        remarks.append(f"{title}: left out: {quote(path)} is not the path of a file")
        return None
    return _Database(name if _usable(name) else "", path, _servers(item, title, remarks))


def _kept_unc(prefix: re.Match[str]) -> str:
    return "\\\\" if prefix[0].upper().endswith("UNC\\") else ""


def _named(value: object, key: str = "Name") -> str:
    """Text, or the text that stands under `key` in an object."""
    inner = value.get(key) if isinstance(value, dict) else value
    return inner.strip() if isinstance(inner, str) else ""


def _usable(text: str) -> bool:
    try:
        parse_text(text)
    except ValueError:
        return False
    return True


def _servers(item: Mapping[str, object], title: str, remarks: list[str]) -> list[str]:
    """Labels of the computers that hold a copy: first part of the name, lower case."""
    named = [_named(server) for server in _listed(item.get("Servers"))]
    named += [_copy_server(copy) for copy in _listed(item.get("DatabaseCopies"))]
    named += [_named(item.get(key)) for key in ("Server", "ServerName", "MountedOnServer")]
    for server, lag in _lags(item.get("ReplayLagTimes")):
        named.append(server)
        if lag.strip("0.:"):
            remarks.append(
                f"{title}: its copy on {quote(server)} replays {quote(lag)} late, "
                "which a configuration cannot say"
            )
    labels = [name.split(".")[0].lower() for name in named if not _TYPE_NAME.match(name)]
    found = list(dict.fromkeys(filter(re.compile(r"[\w-]{1,63}").fullmatch, labels)))
    if not found:
        remarks.append(f"{title}: it names no server: its rule holds on every computer")
    elif len(found) > _MAX_SERVERS:
        remarks.append(f"{title}: {len(found)} servers, only {_MAX_SERVERS} are taken")
    return found[:_MAX_SERVERS]


def _listed(value: object) -> list[object]:
    """A list; text is a list that was cut short by `-Depth`, its items separated by spaces.

    Directory paths (`corp.example/Configuration/...`) have spaces themselves: not read.
    """
    if isinstance(value, dict):
        value = value.get("value", [value])
    if isinstance(value, str):
        return [] if "/" in value else list(value.strip("{}").replace(",", " ").split())
    return value if isinstance(value, list) else []


def _copy_server(copy: object) -> str:
    """Server of a copy: its HostServerName, or the end of its identity `DB1\\EX01`."""
    if isinstance(copy, dict):
        return _named(copy.get("HostServerName")) or _named(copy.get("HostServer"))
    return copy.rpartition("\\")[2] if isinstance(copy, str) and "\\" in copy else ""


def _lags(value: object) -> Iterator[tuple[str, str]]:
    """(server, time span) of entries `[EX02, 7.00:00:00]` or objects with Key and Value."""
    if isinstance(value, str):
        value = re.findall(r"\[[^\]]*\]", value)
    for entry in value if isinstance(value, list) else []:
        if isinstance(entry, str) and (found := _LAG.fullmatch(entry.strip())):
            yield found[1].strip(), found[2]
        elif isinstance(entry, dict) and (server := _named(entry.get("Key"))):
            lag = entry.get("Value")
            ticks = lag.get("Ticks") if isinstance(lag, dict) else None
            seconds = ticks // 10_000_000 if isinstance(ticks, int) else 0
            yield server, _named(lag) or (f"{seconds} s" if seconds else "")


def _opening(item: object, name: str, remarks: list[str]) -> ScheduleSlot | None:
    """The window of a database; of several the one that is open longest in a week."""
    if not isinstance(item, dict):
        return None
    title = quote(name)
    if str(item.get("BackgroundDatabaseMaintenance")).lower() == "true":
        remarks.append(f"{title}: no window: background maintenance runs all the time")
        return None
    if _major(item.get("AdminDisplayVersion")) >= _NO_SCHEDULE_SINCE:
        remarks.append(f"{title}: no window: Exchange 2013 and later ignore the schedule")
        return None
    if "MaintenanceSchedule" not in item:
        remarks.append(f"{title}: no window: no MaintenanceSchedule")
        return None
    try:
        found = openings(item["MaintenanceSchedule"])
    except ScheduleError as error:
        remarks.append(f"{title}: no window: MaintenanceSchedule: {error}")
        return None
    if not found:
        remarks.append(f"{title}: no window: the schedule is empty or under 15 minutes")
        return None
    if others := ", ".join(other.name for other in found[1:6]):
        more = ", ..." if len(found) > 6 else ""
        remarks.append(f"{title}: several windows: {found[0].name} is taken, not {others}{more}")
    return found[0]


def _major(version: object) -> int:
    """15 of `Version 15.1 (Build 2507.6)` or of an object with Major; 0 when unknown."""
    if isinstance(version, dict):
        major = version.get("Major")
        return major if isinstance(major, int) else 0
    found = _MAJOR.match(version) if isinstance(version, str) else None
    return int(found[1]) if found else 0


def _add_window(imported: Imported, opening: ScheduleSlot | None, timezone: str) -> str | None:
    if opening is None:
        return None
    imported.windows[opening.name] = Window(
        start=opening.clock,
        duration=opening.minutes * 60.0,
        days=list(opening.days),
        timezone=timezone,
    )
    return opening.name


def _rules(databases: list[_Database], remarks: list[str]) -> list[DatabaseRule]:
    """One rule a database and server: on another computer its path is that of another database.

    Of rules for the same path those that hold on every computer come last: the first match wins.
    """
    paths = Counter(database.path.lower() for database in databases)
    rules: list[DatabaseRule] = []
    for database in databases:
        shared = paths[database.path.lower()] > 1
        if shared and not database.servers:
            remarks.append(f"{quote(database.name)}: its path is that of another database too")
        rules += _rules_of(database)
    return sorted(rules, key=lambda rule: not rule.computer and paths[rule.match.lower()] > 1)


def _rules_of(database: _Database) -> Iterator[DatabaseRule]:
    """A rule for each of its servers; without any one that holds on every computer."""
    servers = database.servers
    computers: Sequence[str | None] = servers or (None,)
    for server in computers:
        others = [other for other in servers if other != server]
        yield DatabaseRule(
            match=database.path,
            computer=server,
            window=database.window,
            name=database.name or None,
            copies=[CopyOf(computer=other, database=database.path) for other in others],
        )
