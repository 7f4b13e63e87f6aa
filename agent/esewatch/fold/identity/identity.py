"""Identity of databases: labels, tiers, names, roles and origins (semantics.md 1)."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from fnmatch import translate
from functools import lru_cache
from typing import Literal

from esewatch.config import Settings, rule_for
from esewatch.ese.volumes import volume_of
from esewatch.fold.identity.owners import EXCHANGE, has_been_in, instance_label, named_times
from esewatch.fold.state.damage import CORRUPTION
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import START, Database, State, Transition

Tier = Literal["watched", "observed", "ignored"]

MAX_PATH = 1024
"""A longer path is damage; as a label it would be repeated in every series."""

_PREFIX = re.compile(r"^(?:\\\\[?.]\\(?:UNC\\)?)", re.IGNORECASE)
_DRIVE_OR_UNC = re.compile(r"^(?:[A-Za-z]:[\\/]|[\\/]{2})")
_SEPARATORS = re.compile(r"[\\/]+")
_DOTS = re.compile(r"(?:\\\.)+(?=\\)")
_SNAP_VOLUME = re.compile(r"^[a-z]:\\\$snap_[^\\]*_volume([a-z])\$\\(.*)$", re.IGNORECASE)
_SNAPSHOT = re.compile(r"harddiskvolumeshadowcopy|\\\$snap_|(?:^|\\)snapshots\\", re.IGNORECASE)

_IGNORED = tuple(
    re.compile(translate(pattern), re.IGNORECASE)
    for pattern in (
        "*\\Temp\\*",
        "*/Temp/*",
        "*\\tmp.edb",
        "tmp.edb",
        "*\\WebCache\\*",
        "*\\WebCacheV*.dat",
        "*\\SRUDB.dat",
        "*\\{S-1-5-*}.edb",
        "*\\S-1-5-*.edb",
    )
)
_WATCHED_FILES = tuple(
    re.compile(translate(pattern), re.IGNORECASE)
    for pattern in (
        "*ntds.dit",
        "*adamntds.dit",
        "*\\CertLog\\*.edb",
        "*\\CertSrv\\*.edb",
        "*\\dhcp.mdb",
        "*\\wins.mdb",
        "*\\dfsr.db",
        "*\\DFSR\\*.db",
    )
)
_EXCHANGE_ENGINE = "ESE"
_REPLICATION = "msexchangerepl"
"""Exchange's replication service: the copy of CCR and LCR is known by it."""


def full_name(name: str, settings: Settings) -> str:
    """A computer's name whole: the alias if one is configured, lower case."""
    aliases = {key.lower(): value for key, value in settings.aliases.items()}
    lowered = name.strip().lower().rstrip(".")
    return aliases.get(lowered, lowered).lower()


def computer_label(name: str, settings: Settings) -> str:
    """Label of a computer: the alias if one is configured, lower case, first DNS label.
    `computer_label: fqdn` keeps the whole name. An address is not cut."""
    lowered = full_name(name, settings)
    if settings.computer_label == "fqdn" or re.fullmatch(r"[\d.]+|.*:.*", lowered):
        return lowered
    return lowered.split(".", 1)[0]


@lru_cache(maxsize=4096)
def database_label(path: str) -> str | None:
    r"""Label of a database file, None for a snapshot whose origin the path does not show.

    `\\?\` and `\\.\` are stripped; lower case and single backslashes where there is a drive letter
    or a UNC root, POSIX paths unchanged.
    """
    stripped = _plain(path)
    snap = _SNAP_VOLUME.match(stripped)
    if snap:
        return f"{snap.group(1)}:\\{snap.group(2)}".lower()
    if _SNAPSHOT.search(stripped):
        return None
    if _DRIVE_OR_UNC.match(stripped):
        return stripped.lower()
    return stripped


def _plain(path: str) -> str:
    r"""The path without `\\?\` and `\\.\`; where it has a drive or UNC root single backslashes,
    and no component that is a dot."""
    stripped = path.strip()
    if not _DRIVE_OR_UNC.match(stripped):
        return stripped
    root = "\\" if stripped[0] in "\\/" else ""
    plain = root + _SEPARATORS.sub(r"\\", stripped)
    prefix = _PREFIX.match(plain)
    rest = _DOTS.sub("", plain[prefix.end() :] if prefix else plain)
    is_unc = prefix is not None and prefix.group().upper().endswith("UNC\\")
    return f"\\\\{rest}" if is_unc else rest


def label_kept(path: str, *, bad: bool) -> str | None:
    """Label under which the facts of the path are kept, None for nowhere. A snapshot of an unknown
    origin is no known copy, but its bad page is kept."""
    if len(path) > MAX_PATH:
        return None
    label = database_label(path)
    return path if label is None and bad else label


@lru_cache(maxsize=4096)
def is_snapshot(path: str) -> bool:
    """True if the path leads into a shadow copy or snapshot, mapped to its origin or not."""
    return _SNAPSHOT.search(_plain(path)) is not None


def is_configured(computer: str, database: str, settings: Settings) -> bool:
    return rule_for(settings, computer, database) is not None


def is_ignored(computer: str, label: str, settings: Settings) -> bool:
    return _is_ignored(label) and not is_configured(computer, label, settings)


@lru_cache(maxsize=4096)
def _is_ignored(label: str) -> bool:
    return any(pattern.match(label) for pattern in _IGNORED)


def tier(database: Database, settings: Settings) -> Tier:
    """The tier of a database; the configuration decides first."""
    rule = rule_for(settings, database.computer, database.database)
    if rule is not None:
        return rule.tier or "watched"
    if not _is_ignored(database.database):
        asked_for = database.maintenance_seen or bool(database.page_scan)
        return _tier(database.database, database.process.lower(), asked_for)
    # Whatever the file is for, its disk is not sound.
    corrupt = (
        database.page_errors
        or database.failures
        or not CORRUPTION.isdisjoint({*database.damage, *database.damage_of_active})
    )
    bad = corrupt or database.page_scan.get("bad_pages") or database.bad_pages
    return "observed" if bad else "ignored"


@lru_cache(maxsize=4096)
def _tier(label: str, process: str, asked_for: bool) -> Tier:
    if (
        asked_for
        or process.startswith(EXCHANGE)
        or any(pattern.match(label) for pattern in _WATCHED_FILES)
    ):
        return "watched"
    return "observed"


def database_name(database: Database, settings: Settings) -> str:
    """Name that copies share: configuration, else the instance's name, else the file's stem."""
    rule = rule_for(settings, database.computer, database.database)
    if rule is not None and rule.name:
        return rule.name
    if database.ese_instance:
        return database.ese_instance
    return re.split(r"[\\/]", database.database)[-1].rsplit(".", 1)[0]


ACTIVE_FAMILY = frozenset({735, 736, 737, 738, 744})
PASSIVE_FAMILY = frozenset({717, 719, 732, 733, 745, 746, 747})
"""Of a current engine: the scan of a copy that replays logs (ese-facts 1.5)."""
SKIPPED = 747
"""An event that comes with a resume, which shows the role."""
OF_BOTH_GENERATIONS = frozenset({717, 719})
"""The scan of Exchange 2007 logs these too, which shows no role."""


_FAMILY = dict.fromkeys(ACTIVE_FAMILY, "active") | dict.fromkeys(
    PASSIVE_FAMILY - {SKIPPED}, "passive"
)


def family(event_id: int) -> str:
    """active or passive: the role whose scan this event belongs to, empty where it shows
    neither."""
    return _FAMILY.get(event_id, "")


def role_changes(database: Database, transitions: Iterable[Transition]) -> list[float]:
    """Times at which the copy changed its role: its events changed family, or a failover.
    `transitions` are sorted. A database of Exchange 2007 logs one family only."""
    changes = list(database.failovers)
    role = database.evicted_role
    for each in transitions:
        if new := family(each.event_id):
            if role and new != role:
                changes.append(each.time)
            role = new
    return sorted(changes)


def role_at(transitions: Iterable[Transition], time: float) -> str:
    """The role that the events up to `time` show, empty without any; `transitions` are sorted."""
    role = ""
    for each in transitions:
        if each.time > time:
            break
        role = family(each.event_id) or role
    return role


def role_of(database: Database, settings: Settings) -> str:
    """active or passive: as its scan shows, else as configured, else empty (semantics.md 1). Beyond
    that the letter D of Exchange is taken as a hint: R is logged by every start."""
    current = database.generation == "current" or database.role_event not in OF_BOTH_GENERATIONS
    if database.role and current:
        return database.role
    if database.process.lower().startswith(_REPLICATION):
        return "passive"
    rule = rule_for(settings, database.computer, database.database)
    configured = (rule.role if rule is not None else None) or ""
    at_run_time = database.provider.upper() == _EXCHANGE_ENGINE and database.letter == "D"
    return configured or ("active" if at_run_time else "")


def device_of(database: Database, volumes: Mapping[str, str], settings: Settings) -> str | None:
    """Device that a database lies on; None when it is not known (never a guess).

    The configuration decides, else the volume whose path is the longest beginning of the
    database's (`volumes`: mount point or drive -> device, of the database's computer).
    """
    rule = rule_for(settings, database.computer, database.database)
    if rule is not None and rule.device is not None:
        return rule.device
    mount = volume_of(database.database, volumes)
    return volumes[mount] if mount is not None else None


def origins(state: State, settings: Settings) -> dict[DatabaseKey, Database]:
    """Of each snapshot that names no origin, the only watched database whose path ends as its does;
    of others none. As `moved`, from what is known of all: order of arrival makes no difference."""
    shadows = [each for each in state.databases.values() if is_snapshot(each.database)]
    if not shadows:
        return {}
    names = {(each.computer, _file_name(each)) for each in shadows}
    files: dict[tuple[str, str], list[Database]] = defaultdict(list)
    for each in state.databases.values():
        key = (each.computer, _file_name(each))
        if key in names and not is_snapshot(each.database) and tier(each, settings) == "watched":
            files[key].append(each)
    found = {}
    for shadow in shadows:
        path = shadow.database.lower()
        fitting = [
            each
            for each in files.get((shadow.computer, _file_name(shadow)), ())
            if (tail := each.database.partition(":")[2]) and path.endswith(tail)
        ]
        if len(fitting) == 1:
            found[shadow.computer, shadow.database] = fitting[0]
    return found


def moved(state: State) -> dict[DatabaseKey, list[tuple[float, Database]]]:
    """By database, those that it was before, and until when: its instance attached it under the
    same file name at another path, after it had detached the old one or stopped."""
    names: Mapping[tuple[str, str], list[Database]] = defaultdict(list)
    for each in state.databases.values():
        if each.attached:
            names[each.computer, _file_name(each)].append(each)
    found: dict[DatabaseKey, list[tuple[float, Database]]] = defaultdict(list)
    old_ones = (each for each in state.databases.values() if not is_snapshot(each.database))
    for old in old_ones:
        others = names.get((old.computer, _file_name(old)), ())
        heirs = [
            (at, new.database)
            for new in others
            if new is not old and (at := _attached_after(state, old, new)) is not None
        ]
        if heirs:
            at, label = min(heirs)
            found[old.computer, label].append((at, old))
    return found


def _attached_after(state: State, old: Database, new: Database) -> float | None:
    """The time at which the instance of `old` attached it as `new`."""
    name = instance_label(new)
    if not name or not has_been_in(old, new.computer, name):
        return None
    _, last = named_times(old)
    instance = state.instances.get((new.computer, name.lower()))
    starts = instance.times_of({START}) if instance is not None else []
    place = bisect_right(starts, last)
    left = [old.detached] if old.detached else []
    left += starts[place : place + 1]
    for since in sorted(left):
        place = bisect_right(new.attached, since)
        if place == len(new.attached):
            continue
        at = new.attached[place]
        if not any(since < each < at for each in old.attached):
            return at
    return None


def _file_name(entry: Database) -> str:
    return entry.database.replace("\\", "/").rpartition("/")[2].lower()
