"""Databases with as much behind them as the state keeps: what advice is made of at its dearest.

Each is a store of Exchange 2007 with an instance of its own and a window every night. Online
defragmentation works in it for two nights a pass, a scan follows, and a backup runs at noon.
"""

import datetime
from typing import Final

from esewatch.config import DatabaseRule, Settings, Window
from esewatch.fold.instances.backups import MAX_EVENTS
from esewatch.fold.passes.passes import MAX_TRANSITIONS
from esewatch.fold.passes.transitions import pack
from esewatch.fold.state import rollups
from esewatch.fold.state.state import (
    BackupEvent,
    CounterState,
    Database,
    Instance,
    State,
    Transition,
)

DAY: Final = 86400.0
HOUR: Final = 3600.0
DATABASES_A_SERVER: Final = 10
EVENTS_A_NIGHT: Final = 4
EVENTS_A_BACKUP: Final = 4

SETTINGS: Final = Settings(
    windows={"nightly": Window(start=datetime.time(1), duration=4 * HOUR)},
    databases=[DatabaseRule(match="*", window="nightly")],
)


def full_state(databases: int, now: float) -> State:
    """The state of `databases` databases whose last night ended before `now` (epoch seconds)."""
    state = State()
    midnight = now // DAY * DAY
    for number in range(databases):
        computer = f"ex{number // DATABASES_A_SERVER:03}"
        name = f"DB{number:04}"
        instance = _instance(computer, name, midnight, number)
        database = _database(computer, name, midnight, number)
        state.instances[computer, name.lower()] = instance
        state.databases[computer, database.database] = database
    return state


def _instance(computer: str, name: str, midnight: float, number: int) -> Instance:
    totals = dict.fromkeys(rollups.FIELDS, 0.0)
    days = bytearray()
    for ago in range(rollups.MAX_DAYS - 1, -1, -1):
        for series, field in rollups.FIELDS.items():
            amount = 1e6 + 1e3 * ((ago + number) % 29)
            amount = amount if series != rollups.PAGES_FREED else amount / (60 + number % 80)
            rollups.add(days, midnight - ago * DAY + 2 * HOUR, field, amount)
            totals[series] += amount
    counter = "msexchange database ==> instances|online defrag pages {}/sec|"
    return Instance(
        computer=computer,
        ese_instance=name,
        process="MSExchangeIS",
        named_by_event=True,
        counters={
            f"{counter.format(what)}{name.lower()}": CounterState(midnight + 5 * HOUR, 0.0)
            for what in ("read", "freed")
        },
        totals=totals,
        days=days,
        sampled_since=midnight - rollups.MAX_DAYS * DAY,
        backup_events=_backups(_path(name), midnight),
    )


def _backups(path: str, midnight: float) -> list[BackupEvent]:
    found = []
    for ago in range(MAX_EVENTS // EVENTS_A_BACKUP, 0, -1):
        noon = midnight - ago * DAY + 12 * HOUR
        record = 10**6 - ago * EVENTS_A_BACKUP
        for place, event in enumerate((210, 220, 221, 213)):
            file = path if event in (220, 221) else ""
            found.append(BackupEvent(noon + place * 600.0, record + place, event, file, 4 * 10**10))
    return found


def _database(computer: str, name: str, midnight: float, number: int) -> Database:
    path = _path(name)
    sizes = bytearray()
    for ago in range(rollups.MAX_DAYS - 1, -1, -1):
        rollups.set_size(sizes, midnight - ago * DAY, 4.5e10 - 4e6 * ago)
    nights = range(MAX_TRANSITIONS // EVENTS_A_NIGHT, 0, -1)
    return Database(
        computer=computer,
        database=path,
        path=path,
        ese_instance=name,
        process="MSExchangeIS",
        provider="ESE",
        generation="2007",
        first_seen=midnight - rollups.MAX_DAYS * DAY,
        last_seen=midnight - 19 * HOUR,
        maintenance_seen=True,
        size_bytes=4.5e10,
        sizes=sizes,
        page_size=8192,
        transitions=pack(
            [each for ago in nights for each in _night(ago, midnight - ago * DAY, number)]
        ),
    )


def _night(ago: int, midnight: float, number: int) -> list[Transition]:
    """A pass begins every other night, the next one resumes and completes it."""
    begin = midnight + HOUR
    stop = begin + 2 * HOUR + 60.0 * ((ago + number) % 7)
    told: dict[str, int | float] = {"seconds": 14_400 + ago % 11 * 60, "invocations": 2, "days": 2}
    defrag = (702, 703) if (ago + number) % 2 else (700, 704)
    scan: dict[str, int | float] = {"seconds": 1260, "invocations": 1, "pages_seen": 5_493_164}
    events: list[tuple[float, int, dict[str, int | float]]] = [
        (begin, defrag[0], {}),
        (stop, defrag[1], told if defrag[1] == 703 else {}),
        (stop + 1, 717, {}),
        (stop + 1261, 721, {**scan, "bad_checksums": 0}),
    ]
    record = 10**7 - ago * EVENTS_A_NIGHT
    return [
        Transition(time, record + place, event, fields)
        for place, (time, event, fields) in enumerate(events)
    ]


def _path(name: str) -> str:
    return f"e:\\{name.lower()}\\{name.lower()}.edb"
