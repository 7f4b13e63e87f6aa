"""Months of Exchange 2007, made by the engine that comes along, in virtual time.

The engine makes no backups: they are added, each evening. It calls itself `engine`; here it is
the store of a server, under names that no other month has.
"""

import datetime
import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

from eselab.base.clock import VirtualClock
from eselab.base.plan import DatabasePlan, DevicePlan, FaultPlan, MailPlan, Plan, WindowPlan
from eselab.machine.machine import Machine
from esewatch.config import DatabaseRule, Policy, Settings, Window
from esewatch.model import Event, Feed, Reading, Record
from esewatch.sources.counters.perfmon_csv import perfmon_csv_source
from esewatch.sources.logs.event_stream import event_stream_source
from tests.rules.quality.month import DAYS, END, HOUR, START, Month, at
from tests.support.made_once import value_made_once

OPENS = 1
"""The hour at which a window opens."""
WINDOW = 3 * HOUR
SAMPLE = 300.0
LEAST_PAGES = 700
"""Of the policy: databases of some megabytes are whole when that much is read."""
BACKUP_HOUR = 21.0
BACKUP_BYTES = 40 << 30
BACKUP_SECONDS = 2 * HOUR
DOWN = 4 * HOUR
"""For so long an engine that was shut down is not started again."""


class World(NamedTuple):
    """What a machine is made of."""

    seed: int
    scan: bool = True
    window: float = WINDOW
    databases: int = 1
    faults: tuple[FaultPlan, ...] = ()
    stops: tuple[float, ...] = ()
    """Times (epoch seconds) at which the engine is shut down; it is started again DOWN later."""
    scan_ends: float = END
    """When (epoch seconds) the scan is switched off."""
    device: bool = False
    """All databases on one slow disk."""


def names(world: World) -> list[str]:
    """Of the databases in the plan."""
    return [f"db{number}" for number in range(world.databases)]


def plan_of(world: World) -> Plan:
    """A pass of online defragmentation takes three to four windows of WINDOW."""
    chance = random.Random(world.seed)
    databases = []
    for name in names(world):
        pages = chance.randint(700, 900)
        half = WINDOW / 2 if world.scan else WINDOW
        databases.append(
            DatabasePlan(
                name=name,
                page_size=4096,
                pages=pages,
                cache_pages=pages // 20,
                window=WindowPlan(offset=OPENS * HOUR, length=world.window),
                mail=MailPlan(mailboxes=10, kept=chance.uniform(230, 270), body=300),
                defrag_pause=3.0 * half / pages,
                scan=world.scan,
                scan_throttle=60.0,
                device="shared" if world.device else "",
            )
        )
    devices = [DevicePlan(name="shared", seek=0.008, rate=2e6)] if world.device else []
    return Plan(databases=databases, devices=devices, faults=list(world.faults), sample=SAMPLE)


@lru_cache(maxsize=4)
def made(world: World) -> tuple[Record, ...]:
    """The records of the month of that world, as the agent reads its logs.

    Several test files need the same: the workers of a test run share them.
    """
    return value_made_once(f"records of {world}", lambda: _made(world))


def _made(world: World) -> tuple[Record, ...]:
    with TemporaryDirectory() as folder:
        run(Path(folder) / "run", world)
        found: list[Record] = []
        for source in (
            event_stream_source("events", [f"{folder}/run/events.jsonl"]),
            perfmon_csv_source("counters", [f"{folder}/run/counters.csv"]),
        ):
            for batch in source.poll(final=True):
                assert batch.unreadable == []
                found += batch.records
            source.close()
    fed = (Event, Reading)
    return tuple(
        record
        for record in found
        if isinstance(record, fed) and (isinstance(record, Event) or record.feed is not None)
    )


def run(folder: Path, world: World) -> None:
    """The engine's month in `folder`."""
    begin = START
    for until in sorted({*world.stops, world.scan_ends, END}):
        plan = plan_of(world)
        if begin > START:
            plan = msgspec.structs.replace(plan, faults=[])
        if begin >= world.scan_ends:
            off = [msgspec.structs.replace(each, scan=False) for each in plan.databases]
            plan = msgspec.structs.replace(plan, databases=off)
        clock = VirtualClock(begin)
        machine = Machine(folder, plan, clock=clock, seed=world.seed, computer="lab")
        machine.open()
        machine.run(until)
        machine.close()
        begin = until + (DOWN if until in world.stops else 0.0)


def exchange(computer: str, world: World, *, snapshots: bool = False) -> Month:
    """The month of that world on a server of its own, with backups.

    `snapshots`: they are shadow copies, which verify nothing, and not streamed.
    """
    called = {name: f"{computer}-{name}" for name in names(world)}
    records = [of_server(record, called, computer) for record in made(world)]
    made_by = shadow_copies if snapshots else backups
    records += made_by(computer, list(called.values()))
    window = Window(start=datetime.time(OPENS), duration=world.window)
    rule = DatabaseRule(
        match="*.edb", window="night", device=f"{computer}-lun" if world.device else None
    )
    return Month(
        computer=computer,
        kind="Exchange 2007" + (", scan on" if world.scan else ", scan off"),
        records=records,
        settings=Settings(
            windows={"night": window},
            databases=[rule],
            policy=Policy(min_pages_read=LEAST_PAGES),
        ),
    )


def of_server(record: Record, called: dict[str, str], computer: str) -> Record:
    """The record as of the store of another server, its instances by their new names."""
    if isinstance(record, Event):
        name = called.get(record.ese_instance, record.ese_instance)
        return msgspec.structs.replace(
            record,
            computer=computer,
            process="MSExchangeIS",
            ese_instance=name,
            database=path_of(name) if record.database else "",
        )
    assert isinstance(record, Reading)
    feed = record.feed
    assert isinstance(feed, Feed)
    return msgspec.structs.replace(
        record,
        computer=computer,
        feed=msgspec.structs.replace(feed, name=called.get(feed.name, feed.name)),
    )


def path_of(instance: str) -> str:
    """Path of the database of an instance."""
    return f"E:\\{instance}\\{instance}.edb"


def store_event(
    event_id: int,
    time: float,
    computer: str,
    instance: str,
    *,
    database: bool = True,
    **fields: float,
) -> Event:
    """An event of the store, as the catalogue reads it."""
    return Event(
        event_id=event_id,
        provider="ESE",
        time=time,
        computer=computer,
        channel="Application",
        process="MSExchangeIS",
        ese_instance=instance,
        database=path_of(instance) if database else "",
        fields=dict(fields),
    )


def backups(
    computer: str,
    instances: Sequence[str],
    *,
    hour: float = BACKUP_HOUR,
    seconds: float = BACKUP_SECONDS,
    days: Sequence[int] = range(DAYS),
) -> list[Record]:
    """A streaming backup of each instance on each of these days."""
    return [
        event
        for day in days
        for instance in instances
        for event in _backup(computer, instance, at(day, hour), seconds)
    ]


def _backup(computer: str, instance: str, begin: float, seconds: float) -> Iterator[Event]:
    yield store_event(210, begin, computer, instance, database=False)
    yield store_event(220, begin + 60.0, computer, instance, bytes=BACKUP_BYTES)
    yield store_event(221, begin + seconds - 60.0, computer, instance)
    yield store_event(213, begin + seconds, computer, instance, database=False)


def shadow_copies(computer: str, instances: Sequence[str]) -> list[Record]:
    """A shadow copy of each instance each evening."""
    return [
        store_event(event_id, at(day, BACKUP_HOUR) + after, computer, instance, database=False)
        for day in range(DAYS)
        for instance in instances
        for event_id, after in ((2005, 0.0), (2006, 900.0))
    ]


def without(month: Month, begin: float, end: float, ids: frozenset[int]) -> None:
    """Take events of these ids between two times out of a month."""
    month.records = [
        record
        for record in month.records
        if not (
            isinstance(record, Event)
            and record.event_id in ids
            and begin <= (record.time or 0.0) < end
        )
    ]
