"""Months with one fault each, and the alert that it is to raise.

Flipped bits, torn and lost writes, windows, restarts and shared disks are real ones of the engine.
What it cannot do (errors of the system, a full disk, a backup in the window, slow storage, hidden
counters) is written into the records of a healthy month of it.
"""

import random
from collections.abc import Callable

import msgspec

from eselab.base.plan import FaultKind, FaultPlan
from esewatch.model import Reading, Record
from tests.rules.quality.built import background
from tests.rules.quality.engine_made import (
    OPENS,
    WINDOW,
    World,
    backups,
    exchange,
    store_event,
    without,
)
from tests.rules.quality.month import DAY, DAYS, END, HOUR, MINUTE, START, Expected, Month, at

MAINTAINING = frozenset({700, 701, 702, 703, 704, 717, 719, 721, 725})
BACKING_UP = frozenset({210, 213, 220, 221})
FAULT_DAY = 12
PAGE_FAULT_DAY = 20
"""Later: a bad page that nobody deals with for two weeks keeps passes from completing."""
PAGE_FAULTS: dict[FaultKind, tuple[str, str, str]] = {
    "flip_one": ("a flipped bit", "EseCorrectedPage", "warning"),
    "flip_two": ("two flipped bits", "EseKnownBadPage", "critical"),
    "tear": ("a torn page", "EseKnownBadPage", "critical"),
    "lose": ("a lost write", "EseKnownBadPage", "critical"),
}
"""The fault in words, its alert and severity."""


def _page(computer: str, seed: int, kind: FaultKind) -> Month:
    """A page goes bad by day: the scan of the next night reads it."""
    chance = random.Random(f"{seed} {kind}")
    begin = PAGE_FAULT_DAY * DAY + chance.uniform(6.0, 20.0) * HOUR
    plan = FaultPlan(at=begin, database="db0", kind=kind)
    month = exchange(computer, World(seed, faults=(plan,)))
    month.fault, alert, severity = PAGE_FAULTS[kind]
    # What is asked of the next write happens within a day, what lies there is scanned in the next.
    month.expected = Expected(alert, severity, START + begin, 2 * DAY)
    return month


def flipped_bit(computer: str, seed: int) -> Month:
    """One that can be corrected."""
    return _page(computer, seed, "flip_one")


def flipped_bits(computer: str, seed: int) -> Month:
    """Two in a page: beyond correction."""
    return _page(computer, seed, "flip_two")


def torn_page(computer: str, seed: int) -> Month:
    """Only the first sectors of a page reached the disk."""
    return _page(computer, seed, "tear")


def lost_write(computer: str, seed: int) -> Month:
    """A write that was confirmed and never made."""
    return _page(computer, seed, "lose")


def short_window(computer: str, seed: int) -> Month:
    """So short that no pass completes in two weeks."""
    month = exchange(computer, World(seed, window=WINDOW / 8))
    month.fault = "a window that is too short"
    month.expected = Expected("EseDefragIncomplete", "warning", START, 16 * DAY)
    return month


def long_window(computer: str, seed: int) -> Month:
    """So long that a pass completes every night."""
    month = exchange(computer, World(seed, window=4 * WINDOW))
    month.fault = "a window that is too long"
    month.expected = Expected("EseWindowAdviceChanged", "info", START, 21 * DAY)
    return month


def colliding_scans(computer: str, seed: int) -> Month:
    """Two databases whose scans share a disk and a window."""
    month = exchange(computer, World(seed, databases=2, device=True))
    month.fault = "two scans at once on one disk"
    month.expected = Expected("EseScansCollide", "info", START, 8 * DAY)
    return month


def stopped_scan(computer: str, seed: int) -> Month:
    """The scan was switched off; backups are snapshots, which verify nothing."""
    month = exchange(computer, World(seed, scan_ends=at(FAULT_DAY)), snapshots=True)
    month.fault = "a scan that was switched off"
    month.expected = Expected("EseVerificationOverdue", "warning", at(FAULT_DAY), 9 * DAY)
    return month


def never_scanned(computer: str, seed: int) -> Month:
    """No scan at all; backups are snapshots."""
    month = exchange(computer, World(seed, scan=False), snapshots=True)
    month.fault = "never verified"
    month.expected = Expected("EseVerificationOverdue", "warning", START, 8 * DAY)
    return month


def slow_background_scan(computer: str, seed: int) -> Month:
    """A background scan that becomes four times as slow as it was."""
    month = background(computer, seed, slow_from=FAULT_DAY)
    month.fault = "a background scan that falls behind"
    # The pass under way is not slow yet.
    month.expected = Expected("EseVerificationAtRisk", "warning", at(FAULT_DAY), 12 * DAY)
    return month


def failing_reads(computer: str, seed: int) -> Month:
    """The system refused reads."""
    month = exchange(computer, World(seed))
    chance = random.Random(seed)
    begin = at(FAULT_DAY, chance.uniform(0.0, 24.0))
    month.records += [
        store_event(481, begin + 20.0 * number, computer, f"{computer}-db0") for number in range(3)
    ]
    month.fault = "reads that fail"
    month.expected = Expected("EseIoError", "critical", begin + 20.0, MINUTE)
    return month


def full_log_disk(computer: str, seed: int) -> Month:
    """It filled up over an hour."""
    month = exchange(computer, World(seed))
    begin = at(FAULT_DAY, random.Random(seed).uniform(0.0, 20.0))
    instance = f"{computer}-db0"
    month.records += [
        *(
            store_event(428, begin + 900.0 * part, computer, instance, database=False)
            for part in range(4)
        ),
        store_event(413, begin + HOUR, computer, instance, database=False),
    ]
    month.fault = "a full log disk"
    month.expected = Expected("EseDiskFull", "critical", begin + HOUR, MINUTE)
    return month


def nightly_restarts(computer: str, seed: int) -> Month:
    """The engine is shut down each night in the middle of its window."""
    stops = tuple(at(day, OPENS + 0.75) for day in range(FAULT_DAY, FAULT_DAY + 7))
    month = exchange(computer, World(seed, stops=stops))
    month.fault = "an engine that is shut down in its window"
    month.expected = Expected("EseMaintenanceStopsEarly", "warning", stops[0], 4 * DAY)
    return month


def backup_in_window(computer: str, seed: int) -> Month:
    """Moved into the window: maintenance stops as it begins."""
    month = exchange(computer, World(seed))
    instance = f"{computer}-db0"
    without(month, at(FAULT_DAY), END, BACKING_UP)
    days = range(FAULT_DAY, DAYS)
    begins = OPENS + 0.5
    month.records += backups(computer, [instance], hour=begins, days=days)
    for day in days:
        stop = at(day, begins)
        without(month, stop, at(day, OPENS) + WINDOW + HOUR, MAINTAINING)
        month.records.append(store_event(704, stop + 1.0, computer, instance))
    month.fault = "a backup in the window"
    month.expected = Expected("EseMaintenanceStopsEarly", "warning", at(FAULT_DAY), 4 * DAY)
    return month


def missing_backup(computer: str, seed: int) -> Month:
    """The backup job stopped."""
    month = exchange(computer, World(seed))
    without(month, at(FAULT_DAY + 4), END, BACKING_UP)
    month.fault = "backups that stopped"
    month.expected = Expected("EseBackupMissing", "warning", at(FAULT_DAY + 4), 2 * DAY)
    return month


def hidden_counters(computer: str, seed: int) -> Month:
    """Show Advanced Counters was switched off: the counters of defragmentation are gone."""
    month = exchange(computer, World(seed))
    begin = at(FAULT_DAY)
    month.records = [
        record
        for record in month.records
        if not (isinstance(record, Reading) and record.time > begin and "Defrag" in record.counter)
    ]
    month.own = {"esewatch_perf_object_present": [(START, 1.0), (begin, 0.0)]}
    month.fault = "counters that are hidden"
    month.expected = Expected("EsewatchUnreadableInput", "info", begin, DAY + 10 * MINUTE)
    return month


def slow_reads(computer: str, seed: int) -> Month:
    """45 ms a read at 60 reads a second, over a working day."""
    month = exchange(computer, World(seed))
    begin, end = at(FAULT_DAY, 9.0), at(FAULT_DAY, 17.0)
    found = [record for record in month.records if isinstance(record, Reading)]
    latency = next(each for each in found if each.counter == "I/O Database Reads Average Latency")
    changed: list[Record] = []
    for record in month.records:
        if isinstance(record, Reading) and begin < record.time <= end:
            if record.counter == latency.counter:
                continue
            if record.counter == "I/O Database Reads/sec":
                changed += [
                    msgspec.structs.replace(record, value=60.0),
                    msgspec.structs.replace(latency, time=record.time, value=45.0),
                ]
                continue
        changed.append(record)
    month.records = changed
    month.fault = "reads that take 45 ms"
    month.expected = Expected("EseLatencyHigh", "warning", begin, 45 * MINUTE)
    return month


def dead_agent(computer: str, seed: int) -> Month:
    """Prometheus cannot scrape it for half a day."""
    month = exchange(computer, World(seed))
    begin = at(FAULT_DAY, random.Random(seed).uniform(0.0, 20.0))
    month.own = {"up": [(START, 1.0), (begin, 0.0), (begin + 12 * HOUR, 1.0)]}
    month.fault = "an agent that is down"
    month.expected = Expected("EsewatchDown", "warning", begin, 20 * MINUTE)
    return month


FAULTS: tuple[Callable[[str, int], Month], ...] = (
    flipped_bit,
    torn_page,
    lost_write,
    short_window,
    long_window,
    colliding_scans,
    stopped_scan,
    never_scanned,
    failing_reads,
    full_log_disk,
    nightly_restarts,
    backup_in_window,
    missing_backup,
    hidden_counters,
    slow_reads,
    flipped_bits,
    slow_background_scan,
    dead_agent,
)
"""All kinds."""
