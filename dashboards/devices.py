"""Devices: who shares one, who worked on it when, and what it carries."""

from dashboards.alerted import against, drawn
from dashboards.backups import NO_BACKUP
from dashboards.by_device import (
    AT_ONCE,
    AT_WORK,
    PLACED,
    SCANNED_AT_ONCE,
    SHARED_BY,
    by_device,
    copies,
    of_databases,
    of_instances,
    on_devices,
)
from dashboards.links import runbook, to_database, to_device, to_instance, to_status_page
from dashboards.parts import (
    BLUE,
    COMPUTER,
    COUNT,
    DATABASE,
    DEVICE,
    GREY,
    ON_DATABASE,
    ON_DEVICE,
    ORANGE,
    SKY,
    VERMILION,
    WARNING,
    Panel,
    Query,
    Words,
    config,
    finish,
    lines,
    mappings,
    number,
    states,
)
from dashboards.tables import Column, rows

NO_DEVICE = "No device is known: set devices in the configuration or read the disks"
NO_DISKS = "No source reads the disks of these computers"
PATH = "{{computer}} {{database}}"
OF_INSTANCE = "{{computer}} {{ese_instance}}"
ON_DISK = "{{computer}} {{device}}"
TASKS = {
    "0": ("idle", GREY),
    "1": ("defragmentation", SKY),
    "2": ("scan", BLUE),
}


def now() -> list[Panel]:
    """Do databases stand in each other's way now?"""
    shared = f"max by (job, computer, device) ({SHARED_BY} > bool 1)"
    collide = of_databases(f'(ese_finding{{{DATABASE},finding="scans_collide"}} > 0)')
    numbers = (
        ("Shared devices", "Devices that hold several databases.", f"sum({shared})", NO_DEVICE),
        (
            "Scanned at once",
            "Databases that are scanned now at the same time as another one on their device.",
            copies(SCANNED_AT_ONCE),
            NO_DEVICE,
        ),
        (
            "Scans that collide",
            "Databases whose latest scan overlapped with that of another one on the same disks.",
            f"{copies(collide)} or 0 * count({PLACED})",
            "No database matches the selection",
        ),
        (
            "Backups at work",
            "Databases that are being backed up now.",
            copies(of_databases(f"ese_backup_running{{{DATABASE}}}")),
            NO_BACKUP,
        ),
    )
    colours = (((None, BLUE),), WARNING, WARNING, ((None, BLUE),))
    return [
        finish(
            number(*steps),
            Words(title, sentence, "short", empty),
            [Query(expression, "number")],
            instant=True,
        )
        for (title, sentence, expression, empty), steps in zip(numbers, colours, strict=True)
    ]


def devices() -> list[Panel]:
    """Who shares a device, and who worked on it when?"""
    fields = "__data.fields"
    several = mappings({"1": ("several scans on the device", VERMILION)})
    at_once = [config("mappings", several)]
    share = f"{PLACED} * on ({ON_DEVICE}) group_left () {SHARED_BY}"
    finding = f'max by ({ON_DATABASE}) (ese_finding{{{DATABASE},finding="scans_collide"}} > 0)'
    return [
        rows(
            Words(
                "Databases by device",
                "The databases on each device, those that share a device with the most others"
                " first.",
                "short",
                NO_DEVICE,
            ),
            {"device": "Device", "computer": "Computer", "database": "Database"},
            [
                Column("Databases on it", share),
                Column("At work now", AT_WORK, values=TASKS),
                Column(
                    "Latest scan",
                    f"{PLACED} * on ({ON_DATABASE}) group_left () {finding}",
                    values={"1": ("collided", ORANGE)},
                    links=[runbook("EseScansCollide", fields)],
                ),
            ],
            hidden=("job", "instance"),
            links={
                "Device": [to_device(fields)],
                "Database": [to_database(fields), to_status_page(fields)],
            },
            widths={"Database": 400},
            height=10,
        ),
        finish(
            states(TASKS, span=24, height=12).override_by_query("B", at_once),
            Words(
                "Scans and defragmentation by device",
                "Scans and defragmentation of each database, sorted by device, and when several"
                " databases of a device were scanned at once.",
                "short",
                "No database with a pass matches the selection",
            ),
            [
                Query(by_device(AT_WORK), "{{computer}} {{device}} {{database}}"),
                Query(f"{AT_ONCE} > 0", "{{computer}} {{device}} at once"),
            ],
            [
                to_database(),
                to_status_page(),
                to_device(),
                runbook("EseScansCollide"),
            ],
        ),
    ]


def throughput() -> list[Panel]:
    """Is a scan as fast as it used to be, and what do the devices carry?"""
    days = f"ese_instance:ese_maintenance_pages_read_per_scan_second:ratio_rate1d{{{COMPUTER}}}"
    latest = f"last_over_time({days}[7d])"
    usual = f"quantile_over_time(0.5, {days}[28d])"
    ratio = of_instances(f"({latest} / {usual})")
    slow = [to_instance(), runbook("EseScansCollide")]
    return [
        against(
            Words(
                "Scan throughput",
                "Pages a second while a scan ran, on the latest day with one, and dashed their"
                " median of 28 days; all databases of an instance together.",
                "count:pages/s",
                "No scan within 7 days, or no counters of it",
            ),
            [Query(of_instances(latest), OF_INSTANCE)],
            [Query(of_instances(usual), f"{OF_INSTANCE} usual")],
            slow,
        ),
        against(
            Words(
                "Scan throughput against its own history",
                "The latest day with a scan as a part of the median of 28 days; below the dashed"
                " line something else uses the disks.",
                "percentunit",
                "No history of scans yet",
            ),
            [Query(ratio, OF_INSTANCE)],
            [drawn("scanThroughput", latest, "slow")],
            slow,
        ),
        *device_panels(),
    ]


def device_panels() -> list[Panel]:
    """What the devices carry, and how long it takes."""

    def both(title: str, sentence: str, unit: str, read: str, write: str) -> Panel:
        panel: Panel = finish(
            lines(),
            Words(title, sentence, unit, NO_DISKS),
            [Query(read, f"{ON_DISK} read"), Query(write, f"{ON_DISK} written")],
            [to_device()],
        )
        return panel

    def rate(metric: str) -> str:
        return f"rate({metric}{{{DEVICE}}}[$__rate_interval])"

    known = f'ese_known_bad_pages{{{DATABASE},kind="corrected"}}'
    corrected = on_devices(f"max by ({ON_DATABASE}) ({known})")
    return [
        both(
            "Device throughput",
            "Bytes a second that each device read and wrote, for any program.",
            "Bps",
            rate("ese_device_read_bytes_total"),
            rate("ese_device_write_bytes_total"),
        ),
        both(
            "Device latency",
            "How long reads and writes of each device took on average.",
            "s",
            f"{rate('ese_device_read_seconds_total')} / ({rate('ese_device_reads_total')} > 0)",
            f"{rate('ese_device_write_seconds_total')} / ({rate('ese_device_writes_total')} > 0)",
        ),
        finish(
            lines(),
            Words(
                "Corrected pages",
                "Pages of the databases of each device with a single-bit error, which the engine"
                " corrects when it reads them, and which stand: a rise by several in a day is a"
                " failing disk, but for unknown, which is all databases without a known device.",
                COUNT,
                "No corrected page was ever seen",
            ),
            [Query(f"sum by ({ON_DEVICE}) ({corrected})", ON_DISK)],
            [to_device(), runbook("EseCorrectedPage")],
        ),
    ]
