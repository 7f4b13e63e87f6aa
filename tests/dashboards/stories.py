"""Months with stories: something to see on every panel of every dashboard.

Most are months of tests/rules/quality, with what the engine that makes them does not say itself
(devices, cache, processor, slow requests ...) written into their records.
"""

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from eselab.base.plan import FaultKind, FaultPlan
from esewatch.config import CopyOf, DatabaseRule
from esewatch.ese.counters.counter_feeds import feed_of, kind_of
from esewatch.model import Event, Feed, HeaderSeen, PagesScanned, Reading, Record
from tests.dashboards.neighbours import ntbackup, sql_server
from tests.rules.quality.built import background, controller, search
from tests.rules.quality.engine_made import (
    BACKUP_HOUR,
    OPENS,
    World,
    exchange,
    path_of,
    store_event,
)
from tests.rules.quality.faults import (
    FAULT_DAY,
    backup_in_window,
    colliding_scans,
    failing_reads,
    full_log_disk,
    hidden_counters,
    long_window,
    never_scanned,
    short_window,
)
from tests.rules.quality.month import DAY, DAYS, END, HOUR, MINUTE, START, Month, at
from tests.rules.quality.replaying import SOURCE, healthy

SEED = 1
LIVE = "live"
"""The story of an agent that is scraped just now: it is no month."""
SAMPLE = 5 * MINUTE
SINCE = END - 8 * DAY
"""From here on there are samples: each day more takes seconds."""
INSTANCES = "MSExchange Database ==> Instances"
PROCESS = "MSExchange Database"


class Story(NamedTuple):
    """A month, and when somebody looks at it."""

    name: str
    month: Month
    looked_at: float
    """Epoch seconds."""

    @property
    def computers(self) -> tuple[str, ...]:
        """Labels of the computers in it."""
        found = {str(getattr(record, "computer", "")) for record in self.month.records}
        found.add(self.month.computer)
        return tuple(sorted(name.split(".")[0].lower() for name in found if name))


Place = tuple[str, str, str]
"""Object, counter and instance of a performance counter."""


def reading(time: float, computer: str, place: Place, value: float) -> Reading:
    """One value of a performance counter that feeds a metric."""
    object_name, counter, instance = place
    feed = feed_of(object_name, instance, counter)
    assert feed is not None, f"{object_name}({instance})\\{counter} feeds nothing"
    return Reading(
        time=time,
        computer=computer,
        object=object_name,
        counter=counter,
        instance=instance,
        value=value,
        kind=kind_of(object_name, counter),
        feed=feed,
    )


def sampled(
    computer: str, values: Mapping[Place, float], begin: float, end: float
) -> Iterator[Record]:
    """Counters by their values, which swing a little, each SAMPLE."""
    for number in range(int((end - begin) / SAMPLE)):
        time = begin + number * SAMPLE
        for place, value in values.items():
            yield reading(time, computer, place, value * (1.0 + (number % 12) / 12))


def event(event_id: int, time: float, computer: str, **fields: float | str) -> Event:
    """An event of the store about the first database of a computer."""
    made = store_event(event_id, time, computer, f"{computer}-db0")
    return msgspec.structs.replace(made, fields=dict(fields))


def ruled(month: Month, **settings: object) -> Month:
    """With more settings for all its databases."""
    rules = month.settings.databases or [DatabaseRule(match="*")]
    month.settings = msgspec.structs.replace(
        month.settings, databases=[msgspec.structs.replace(each, **settings) for each in rules]
    )
    return month


def of_host(computer: str) -> dict[Place, float]:
    """Counters of the computer and of its first instance that the engine has not."""
    instance = f"store/{computer}-db0"
    return {
        (PROCESS, "Database Cache Size (MB)", "Information Store"): 900.0,
        ("LogicalDisk", "Free Megabytes", "L:"): 20_000.0,
        ("Processor", "% Processor Time", "_Total"): 20.0,
        ("MSExchangeIS", "RPC Averaged Latency", ""): 5.0,
        (INSTANCES, "Version Buckets Allocated", instance): 40.0,
        (INSTANCES, "Log Record Stalls/sec", instance): 0.5,
        (INSTANCES, "Log Threads Waiting", instance): 2.0,
        (INSTANCES, "Online Maintenance (DB Scan) Pages Zeroed/sec", instance): 3.0,
        (INSTANCES, "Log Checkpoint Depth as a % of Target", instance): 60.0,
    }


def steady(computer: str) -> Month:
    """A healthy store: cache, header, processor and RPC."""
    month = ruled(
        exchange(computer, World(SEED)), mailboxes=200, storage="das", log_path="L:\\logs"
    )
    month.records += sampled(computer, of_host(computer), END - 2 * DAY, END)
    month.records += [
        HeaderSeen(
            time=at(DAYS - 3),
            computer=computer,
            database=path_of(f"{computer}-db0"),
            page_size=4096,
            size_bytes=800 * 4096,
            bad_checksums=2,
            corrected=1,
            correction_failed=1,
        ),
        event(722, at(DAYS - 9), computer, seconds=7200, pages_seen=800, bad_checksums=0,
              invocations=1, days=1, pages_unchanged=600, uninitialized_pages=10),
        event(722, at(DAYS - 5), computer, seconds=7200, pages_seen=800, bad_checksums=0,
              invocations=1, days=1, pages_unchanged=600, uninitialized_pages=10),
        event(705, at(DAYS - 4), computer, error=-1022),
        msgspec.structs.replace(
            event(
                1221,
                at(DAYS - 2),
                computer,
                free_bytes=3 << 20,
                database_name=f"{computer}-db0",
            ),
            companion=True,
        ),
    ]  # fmt: skip
    month.records += [
        PagesScanned(
            time=at(DAYS - 2) + 60.0 * minute,
            computer=computer,
            database=path_of(f"{computer}-db0"),
            read=60.0 * minute,
            pages=40 * minute,
            bytes=40 * 4096 * minute,
        )
        for minute in range(1, 21)
    ]
    return month


def bad_pages(computer: str) -> Month:
    """Flipped bits, one of which can be corrected, a lost write, a table that is inconsistent."""
    kinds: tuple[FaultKind, ...] = ("flip_two", "flip_one", "lose")
    faults = tuple(
        FaultPlan(at=(DAYS - 8 + day) * DAY + 8 * HOUR, database="db0", kind=kind)
        for day, kind in enumerate(kinds)
    )
    month = exchange(computer, World(SEED, faults=faults))
    month.records.append(event(448, at(DAYS - 2), computer))
    return month


def at_risk(computer: str) -> Month:
    """A full log disk, and a version store near its limit."""
    month = full_log_disk(computer, SEED)
    policy = msgspec.structs.replace(month.settings.policy, version_buckets=16384)
    month.settings = msgspec.structs.replace(month.settings, policy=policy)
    buckets = {(INSTANCES, "Version Buckets Allocated", f"store/{computer}-db0"): 12000.0}
    month.records += sampled(computer, buckets, at(FAULT_DAY - 1), at(FAULT_DAY + 1))
    return month


def devices(computer: str) -> Month:
    """Two scans at once on one disk, whose counters are read."""
    month = colliding_scans(computer, SEED)
    each = {
        "ese_device_read_seconds_total": 0.4,
        "ese_device_write_seconds_total": 0.1,
        "ese_device_read_bytes_total": 2e6,
        "ese_device_write_bytes_total": 5e5,
        "ese_device_reads_total": 40.0,
        "ese_device_writes_total": 10.0,
    }
    samples = int((END - START) / SAMPLE)
    month.records += [
        Reading(
            time=START + number * SAMPLE,
            computer=computer,
            object="disk",
            counter=metric,
            instance=f"{computer}-lun",
            value=number * SAMPLE * rate,
            kind="total",
            feed=Feed(metric=metric, owner="device", name=f"{computer}-lun", wraps=False),
        )
        for number in range(samples)
        for metric, rate in each.items()
    ]
    return month


def slow(computer: str) -> Month:
    """Slow and hung requests, reads that fail and reads that take 45 ms."""
    month = failing_reads(computer, SEED)
    days = [FAULT_DAY - 2 + 0.1 * number for number in range(20)]
    for number, day in enumerate(days):
        kind = (("read", 507), ("write", 508), ("read", 509))[number % 3]
        more = {"suppressed": 12} if kind[1] == 509 else {}
        month.records.append(
            event(kind[1], at(day), computer, operation=kind[0], seconds=20 + number, **more)
        )
    month.records += [event(533, at(FAULT_DAY), computer, operation="write", seconds=64)]
    instance = f"store/{computer}-db0"
    latency = {
        (INSTANCES, "I/O Database Reads Average Latency", instance): 45.0,
        (INSTANCES, "I/O Database Reads/sec", instance): 60.0,
    }
    month.records += sampled(computer, latency, at(FAULT_DAY - 1), at(FAULT_DAY + 1))
    return month


def copies(computer: str) -> Month:
    """Two copies of one database of Exchange 2013 or later, the other one passive."""
    month = background(computer, SEED)
    passive = f"{computer}2"
    instance = f"{computer}-db"
    path = f"F:\\{instance}\\{instance}.edb"
    month.records += background(passive, SEED + 1, passive=True, named=computer).records
    for name, phase, ios in ((computer, "Attached", 20.0), (passive, "Recovery", 60.0)):
        counters = {
            (INSTANCES, f"I/O Database {what} ({phase})/sec", instance): ios
            for what in ("Reads", "Writes")
        } | {
            (INSTANCES, f"I/O Database {what} ({phase}) Average Latency", instance): 8.0
            for what in ("Reads", "Writes")
        }
        counters[INSTANCES, "I/O Log Writes Average Latency", instance] = 2.0
        of_process = {
            (object_name, counter, f"Microsoft.Exchange.Store.Worker/{where}"): value
            for (object_name, counter, where), value in counters.items()
        }
        if name == passive:
            of_process |= {
                ("MSExchange Replication", "CopyQueueLength", instance): 1.0,
                ("MSExchange Replication", "ReplayQueueLength", instance): 30.0,
            }
        month.records += sampled(name, of_process, END - 7 * DAY, END)
        month.records += [
            Event(
                event_id=728, provider="ESE", time=at(DAYS - 2), computer=name,
                process="Microsoft.Exchange.Store.Worker", ese_instance=instance, database=path,
                fields={"pages_visited": 1000, "pages_freed": 10},
            )
        ]  # fmt: skip
    both = [CopyOf(computer=name, database=path) for name in (computer, passive)]
    month.settings = msgspec.structs.replace(
        month.settings,
        databases=[
            DatabaseRule(match="*", computer=here, copies=[other])
            for here, other in ((computer, both[1]), (passive, both[0]))
        ],
    )
    return month


def blind(computer: str) -> Month:
    """A source that is down, with records missed, unreadable ones and a journal set aside."""
    month = search(computer, SEED)
    begin = at(DAYS - 1)
    stopped = [(START, 1.0), (begin, 0.0)]
    lost = [(START, 0.0), (begin, 7.0)]
    source = f'{{source="{SOURCE}"}}'
    month.own = {
        "esewatch_host_caught_up": stopped,
        "esewatch_host_up": stopped,
        "esewatch_source_up": stopped,
        "esewatch_source_caught_up": stopped,
        "esewatch_source_unreadable_total": lost,
        "esewatch_source_missed_records_total": lost,
        "esewatch_source_unrebuilt_from_timestamp_seconds": [(begin, begin - DAY)],
        "esewatch_source_unrebuilt_until_timestamp_seconds": [(begin, begin)],
        "esewatch_journal_set_aside_timestamp_seconds": [(begin, begin)],
        "esewatch_databases_dropped_total": lost,
        f"esewatch_source_backlog_bytes{source}": lost,
        f"esewatch_source_duplicates_total{source}": lost,
        f"esewatch_source_implausible_times_total{source}": lost,
        "esewatch_journal_commit_failures_total{}": lost,
    }
    return month


def gone(computer: str) -> Month:
    """An agent that cannot be scraped any more; it had no metrics but its own."""
    month = Month(computer, "an agent", [])
    begin = END - 6 * HOUR
    ended = {
        name: [*course[-1:], (begin, math.nan)]
        for (name, _), course in healthy(month).items()
        if course and course[-1][0] < begin
    }
    month.own = {**ended, "up": [(START, 1.0), (begin, 0.0)]}
    return month


def events(computer: str) -> Month:
    """A failover, a window of another length, an agent that was started again, a source of which no
    computer is known, and a backup that is too old."""
    month = Month(computer, "an agent", [])
    then = END - 2 * DAY
    copy = f'computer="{computer}",database="/db.edb"'
    info = f'ese_database_info{{{copy},database_name="db",ese_instance="db",tier="watched",role='
    month.own = {
        f'{info}"passive"}}': [(START, 1.0), (then, math.nan)],
        f'{info}"active"}}': [(then, 1.0)],
        f"ese_window_configured_seconds{{{copy}}}": [(START, 4 * HOUR), (then, 3 * HOUR)],
        "process_start_time_seconds{}": [(START, START), (then, then)],
        "esewatch_source_up": [(START, 1.0), (then, 0.0)],
        "esewatch_source_computers": [(START, 0.0)],
        f'ese_backup_last_completion_timestamp_seconds{{{copy},kind="full"}}': [(START, START)],
        f'ese_finding{{{copy},finding="backup_missing",severity="warning"}}': [(START, 1.0)],
    }
    return month


def at_end(month: Month, day: float) -> Month:
    """What happened until `day`, some whole days later, so that it ends with the others."""
    later = (DAYS - day) * DAY
    moved: list[Record] = []
    for record in month.records:
        time = getattr(record, "time", None)
        if time is not None and time + later <= END:
            moved.append(msgspec.structs.replace(record, time=time + later))
    month.records = moved
    return month


def stories() -> list[Story]:
    """All of them, each month under an agent of its own; months of one world follow each other."""
    as_ever = steady("steady")
    night, evening = at(DAYS - 1, OPENS + 0.05), at(DAYS - 1, BACKUP_HOUR + 1.0)
    return [
        Story("steady", as_ever, END),
        Story("night", as_ever, night),
        Story("evening", as_ever, evening),
        Story("at risk", at_end(at_risk("at-risk"), FAULT_DAY + 1), at(DAYS - 1, 4.0)),
        Story("hidden counters", hidden_counters("hidden", SEED), END),
        Story("overlap", backup_in_window("overlap", SEED), at(DAYS - 1, OPENS + 1.0)),
        Story("slow", at_end(slow("slow"), FAULT_DAY + 1), END),
        Story("quiet", long_window("quiet", SEED), END),
        Story("busy", short_window("busy", SEED), END),
        Story("bad pages", bad_pages("bad-pages"), END),
        Story("never verified", never_scanned("unverified", SEED), END),
        Story("one disk", devices("one-disk"), at(DAYS - 1, OPENS + 1.58)),
        Story("copies", copies("mbx"), END),
        Story("controller", controller("dc", SEED), END),
        Story("sql server", sql_server("sql"), END),
        Story("ntbackup", ntbackup("tape"), END),
        Story("blind", blind("blind"), END),
        Story("gone", gone("gone"), END),
        Story("events", events("events"), END),
    ]
