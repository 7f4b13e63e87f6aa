"""`Get-MailboxDatabase | ConvertTo-Json` to the windows and databases of a configuration.

Sources: Set-MailboxDatabase (MaintenanceSchedule, BackgroundDatabaseMaintenance) and
Add-MailboxDatabaseCopy ("all copies of a database must use the same path"). Through a remote shell
most values are text; on the server itself they are objects, which `-Depth` cuts short. A schedule
is `StartDay.Hour:Minute [AM/PM]-EndDay.Hour:Minute [AM/PM]`, days by name, by their first letters
or 0 to 6 from Sunday. Local objects have StartDay, StartHour, StartMinute and the same of End.
"""

import datetime
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import yaml

from esefiles.base.units import show_duration
from esewatch.config import DAYS, CopyOf, DatabaseRule, Day, Settings, Window
from esewatch.config.files import dump
from esewatch.config.tree import quote
from esewatch.config.units import parse_text, parse_zone
from esewatch.model import ConfigError

_DAY = 24 * 60
_WEEK = 7 * _DAY
_SHORTEST = 15
_FROM_SUNDAY: tuple[Day, ...] = (DAYS[6], *DAYS[:6])
_TIME = r"([A-Za-z]{3,9}|[0-6])\.(\d{1,2}):(\d{2})(?::00)?(?: ?(AM|PM))?"
_INTERVAL = re.compile(rf"(?<![\w.]){_TIME} ?- ?{_TIME}(?!\w)", re.IGNORECASE | re.ASCII)
_SEPARATORS = " \t\r\n,;{}"
_TYPE_TEXT = re.compile(r"(?:System|Microsoft)\.[\w.`\[\]]+")
_MAX_INTERVALS = 672

_Span = tuple[int, int]
"""Start in minutes from Sunday 00:00, and end, which may be in the next week."""


class ScheduleError(ValueError): ...


class ScheduleSlot(NamedTuple):
    """A window that opens at `start` (minutes from midnight) for `minutes` on `days`."""

    start: int
    minutes: int
    days: tuple[Day, ...]

    @property
    def name(self) -> str:
        """`nightly-0100-4h`, with the days where it is not all of them."""
        clock = f"{self.start // 60:02}{self.start % 60:02}"
        days = () if len(self.days) == 7 else self.days
        return "-".join(("nightly", clock, show_duration(self.minutes * 60), *days))

    @property
    def clock(self) -> datetime.time:
        return datetime.time(*divmod(self.start, 60))


def openings(schedule: object) -> list[ScheduleSlot]:
    """The windows of a schedule as ConvertTo-Json shows it, the one open longest a week first.

    Empty for "Never". Intervals that touch are one; one longer than a day is cut into days.
    Raises ScheduleError.
    """
    days: dict[tuple[int, int], set[Day]] = {}
    for start, end in _merged(_spans(schedule)):
        for piece in range(start, end, _DAY):
            minutes = min(_DAY, end - piece)
            key = (piece % _DAY, minutes)
            days.setdefault(key, set()).add(_FROM_SUNDAY[piece // _DAY % 7])
    found = [
        ScheduleSlot(start, minutes, tuple(day for day in DAYS if day in on))
        for (start, minutes), on in days.items()
        if minutes >= _SHORTEST
    ]
    return sorted(found, key=lambda one: (-one.minutes * len(one.days), -one.minutes, one.start))


def _spans(schedule: object) -> list[_Span]:
    match schedule:
        case None | "":
            return []
        case str():
            return list(_from_text(schedule))
        case list():
            if len(schedule) > _MAX_INTERVALS:
                raise ScheduleError(f"more than {_MAX_INTERVALS} intervals")
            return [span for item in schedule for span in _from_item(item)]
        case dict() if "StartDay" in schedule:
            return [_from_object(schedule)]
        case dict():
            for name in ("value", "Intervals"):
                if isinstance(inner := schedule.get(name), list | str):
                    return _spans(inner)
    raise ScheduleError("no intervals in it")


def _from_item(item: object) -> Iterator[_Span]:
    if isinstance(item, str):
        yield from _from_text(item)
    elif isinstance(item, dict):
        yield _from_object(item)
    else:
        raise ScheduleError("an interval that is neither text nor an object")


def _from_text(text: str) -> Iterator[_Span]:
    plain = text.strip(_SEPARATORS)
    if plain.lower() == "always":
        yield 0, _WEEK
        return
    if plain.lower() in ("never", ""):
        return
    if _TYPE_TEXT.fullmatch(plain):
        raise ScheduleError(f"only the type {plain[:60]}: repeat with ConvertTo-Json -Depth 4")
    at = 0
    for found in _INTERVAL.finditer(text):
        _refuse(text[at : found.start()])
        at = found.end()
        yield _span(_moment(*found.groups()[:4]), _moment(*found.groups()[4:]))
    _refuse(text[at:])


def _refuse(rest: str) -> None:
    if rest := rest.strip(_SEPARATORS):
        raise ScheduleError(f"{rest[:40]!a} is not an interval like Sun.1:00 AM-Sun.5:00 AM")


def _moment(day: str, hour: str, minute: str, half: str | None) -> int:
    number = int(hour)
    if half:
        if not 1 <= number <= 12:
            raise ScheduleError(f"no time: {hour}:{minute} {half}")
        number = number % 12 + 12 * (half.lower() == "pm")
    return _minute_of_week(day, number, int(minute))


def _from_object(item: Mapping[str, object]) -> _Span:
    ends = [
        [item.get(f"{end}{part}") for part in ("Day", "Hour", "Minute")] for end in ("Start", "End")
    ]
    start, end = (_minute_of_week(*parts) for parts in ends)
    return _span(start, end)


def _minute_of_week(day: object, hour: object, minute: object) -> int:
    """The day may be a number from Sunday, as an enumeration is in JSON, or its name."""
    name = str(day).lower()
    index = next((i for i, known in enumerate(_FROM_SUNDAY) if name.startswith(known)), None)
    if name.isascii() and name.isdigit() and len(name) == 1 and int(name) < 7:
        index = int(name)
    if index is None or not isinstance(hour, int) or not isinstance(minute, int):
        raise ScheduleError(f"no day and time: {ascii(f'{day} {hour}:{minute}')[:60]}")
    if not (0 <= hour < 24 and 0 <= minute < 60):
        raise ScheduleError(f"no time: {ascii(f'{hour}:{minute}')[:60]}")
    return index * _DAY + hour * 60 + minute


def _span(start: int, end: int) -> _Span:
    """One that ends where it starts is the whole week."""
    return start, end if end > start else end + _WEEK


def _merged(spans: list[_Span]) -> list[_Span]:
    """The spans without overlap, in order; none is longer than the week."""
    joined: list[_Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    while len(joined) > 1 and joined[-1][1] >= joined[0][0] + _WEEK:
        _, end = joined.pop(0)
        joined[-1] = (joined[-1][0], max(joined[-1][1], end + _WEEK))
    return [(start, min(end, start + _WEEK)) for start, end in joined]


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
    Raises ConfigError when the zone is unknown, the text is no JSON or has no database."""
    if timezone is not None:
        try:
            parse_zone(timezone)
        except ValueError:
            allowed = "a time zone such as Europe/Berlin"
            raise ConfigError(f"timezone: found {quote(timezone)}, allowed: {allowed}") from None
    imported = Imported()
    databases = []
    remarks = imported.remarks
    for number, item in enumerate(_items(text), 1):
        if not isinstance(item, dict):
            remarks.append(f"item {number}: left out: not an object")
            continue
        if (database := _database(item, number, remarks)) is None:
            continue
        databases.append(database)
        title = quote(database.name)
        try:
            slot = _opening(item, title, remarks)
        except ScheduleError as error:
            remarks.append(f"{title}: no window: {error}")
            continue
        database.window = slot.name
        imported.windows[slot.name] = Window(
            start=slot.clock,
            duration=slot.minutes * 60.0,
            days=list(slot.days),
            timezone=timezone or "UTC",
        )
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


def _database(item: Mapping[str, object], number: int, remarks: list[str]) -> _Database | None:
    name = _named(item.get("Name"))
    title = quote(name) if name else f"item {number}"
    path = _PREFIX.sub(
        lambda found: "\\\\" if found[0].upper().endswith("UNC\\") else "",
        _named(item.get("EdbFilePath"), "PathName"),
        count=1,
    )
    if not path:
        remarks.append(f"{title}: left out: no EdbFilePath")
        return None
    if not _usable(path) or not _PATH.fullmatch(path):
        remarks.append(f"{title}: left out: {quote(path)} is not the path of a file")
        return None
    return _Database(name if _usable(name) else "", path, _servers(item, title, remarks))


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
    Directory paths (`corp.example/Configuration/...`) have spaces themselves: not read."""
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


def _opening(item: Mapping[str, object], title: str, remarks: list[str]) -> ScheduleSlot:
    """The window of a database; of several the one that is open longest in a week. Raises
    ScheduleError where it has none."""
    if str(item.get("BackgroundDatabaseMaintenance")).lower() == "true":
        raise ScheduleError("background maintenance runs all the time")
    if _major(item.get("AdminDisplayVersion")) >= _NO_SCHEDULE_SINCE:
        raise ScheduleError("Exchange 2013 and later ignore the schedule")
    if "MaintenanceSchedule" not in item:
        raise ScheduleError("no MaintenanceSchedule")
    try:
        found = openings(item["MaintenanceSchedule"])
    except ScheduleError as error:
        raise ScheduleError(f"MaintenanceSchedule: {error}") from None
    if not found:
        raise ScheduleError("the schedule is empty or under 15 minutes")
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


def _rules(databases: list[_Database], remarks: list[str]) -> list[DatabaseRule]:
    """One rule a database and server: on another computer its path is that of another database. Of
    rules for the same path those that hold on every computer come last: the first match wins."""
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
