"""The sides of the experiments that run no engine of their own, as computers that an agent watches.

What an experiment finds or plans is put into files and pages as other programs write them. Where
its own figures are not those of the side, it is told here and in the case.
"""

import datetime
from collections.abc import Iterator
from pathlib import Path

from esewatch.config import DatabaseRule, Settings
from esewatch.lab import backup_buffered, checkdb_luns, checksum_parallel, readings, scan_kindness
from esewatch.lab.bench import Bench
from esewatch.lab.frame import Findings
from esewatch.model import Record
from esewatch.sources.exporter import ExporterSource
from esewatch.sources.ntbackup_log import ntbackup_log_source
from esewatch.sources.scrape import Target
from esewatch.sources.sqlserver_errorlog import sqlserver_errorlog_source
from tests.e2e.harness import wait_for
from tests.lab import signals_records as made
from tests.lab.signals_sides import BEGIN, DAYS, STEP, Side, watched
from tests.rules.quality.month import DAY, HOUR, Month
from tests.support.metrics_server import metrics_server, says
from tests.support.ntbackup_text import AFTER, BEFORE, job

SCRAPED = 60
"""Seconds between two samples where a rule looks at the rates of five minutes."""
CHECK_HOUR, LOOKED = 1.0, 6.0
"""Of a night: when a check begins, and until when the disks are looked at."""
BESIDE = (10.0, 14.0)
"""From and to, hours of a day, in which the case goes on."""


def kindnesses(folder: Path) -> Iterator[Side]:
    """The reads of users of each case and their mean latency, for four hours of a day."""
    findings = scan_kindness.run(Bench(folder / "disks", 1, lambda: None), seconds=2.0)
    opened = folder / "opened"
    made.ran(opened, checksum_parallel.plan(["lun7"], 100), BEGIN, 1.0 / DAY)
    header = [
        made.rows(opened)[0][0],
        *(
            rf"\\lab\MSExchange Database ==> Instances(engine/priv1)\{counter}"
            for counter in (readings.DATABASE_READS, readings.DATABASE_READ_LATENCY)
        ),
    ]
    for number, signal in enumerate(scan_kindness.EXPERIMENT.signals):
        computer = f"users{number}"
        cells = [
            repr(_ours(findings, what, signal.case))
            for what in ("users' reads", "users' read latency")
        ]
        begin, end = (BEGIN + DAY + hour * HOUR for hour in BESIDE)
        rows = [header, *made.repeated([["", *cells]], begin, end, STEP)]
        found = made.opening(opened) + made.counted(folder / f"{computer}.csv", rows)
        rule = DatabaseRule(match="*.edb", window="nightly")
        month = made.of_store(found, {"priv1": f"{computer}-db"}, computer)
        yield Side(
            scan_kindness.EXPERIMENT.name,
            signal.case,
            [Month(computer, signal.case, month, watched([rule]))],
        )


def _ours(findings: Findings, quantity: str, case: str) -> float:
    (found,) = (row.ours for row in findings.rows if (row.quantity, row.case) == (quantity, case))
    assert isinstance(found, float)
    return found


def buffered(folder: Path) -> Iterator[Side]:
    """The published job of either manner on three days, as NTBACKUP logs it.

    A real copy fills no cache here, and so does not slow down.
    """
    for computer, case, figures in (
        ("tape1", "buffered as published", BEFORE),
        ("tape2", "direct as published", AFTER),
    ):
        days = [
            datetime.datetime.fromtimestamp(BEGIN + day * DAY + 8 * HOUR, datetime.UTC)
            for day in range(DAYS)
        ]
        path = folder / f"{computer}.log"
        text = "".join(job(figures, day) for day in days)
        path.write_bytes(text.replace("\n", "\r\n").encode("utf-16"))
        found = made.read(ntbackup_log_source("log", [str(path)], computer=computer))
        yield Side(
            backup_buffered.EXPERIMENT.name, case, [Month(computer, case, found, Settings())]
        )


def checks(folder: Path, pages: int = 4000) -> Iterator[Side]:
    """A check in each night, as long as the experiment's plan of reads takes.

    Its disks are read as that plan says: so many at a time as are busy.
    """
    findings = checkdb_luns.run(Bench(folder / "lun", 1, lambda: None), pages)
    for number, signal in enumerate(checkdb_luns.EXPERIMENT.signals):
        computer = f"sql{number}"
        seconds = _ours(findings, "time", signal.case) * HOUR
        busy = round(_ours(findings, "LUNs busy", signal.case))
        page = _page(seconds, busy)
        found = _scraped(computer, page) + _checked(folder / f"{computer}.log", computer, seconds)
        devices = [str(device) for device in range(checkdb_luns.FILES)]
        rule = DatabaseRule(match="sales", devices=devices)
        month = Month(computer, signal.case, found, Settings(databases=[rule]))
        yield Side(checkdb_luns.EXPERIMENT.name, signal.case, [month], step=SCRAPED)


def _page(seconds: float, busy: int) -> str:
    """What an exporter says of the disks at each time, in one page: samples have their times."""
    each = seconds * busy / checkdb_luns.FILES
    metric = "windows_physical_disk_read_bytes_total"
    lines = [f"# TYPE {metric} counter"]
    for device in range(checkdb_luns.FILES):
        begin = CHECK_HOUR * HOUR + device // busy * each
        for night in range(DAYS):
            for time in range(0, int(LOOKED * HOUR), SCRAPED):
                done = night + min(max((time - begin) / each, 0.0), 1.0)
                when = (BEGIN + night * DAY + time) * 1000
                value = done * checkdb_luns.SIZE
                lines.append(f'{metric}{{disk="{device}"}} {value:.0f} {when:.0f}')
    return "\n".join(lines) + "\n"


def _scraped(computer: str, page: str) -> list[Record]:
    """The records that the agent makes of a page of an exporter."""
    found: list[Record] = []
    with metrics_server() as server:
        server.answer(says(page))
        source = ExporterSource(
            computer, Target(server.url, 10.0), interval=3600.0, computer=computer
        )

        def heard() -> bool:
            for batch in source.poll():
                assert batch.unreadable == []
                found.extend(batch.records)
            return bool(found)

        wait_for("the page was scraped", heard, 20.0)
        source.close()
    return found


def _checked(path: Path, computer: str, seconds: float) -> list[Record]:
    """The results of the checks, as SQL Server logs them."""
    hours, rest = divmod(int(seconds), 3600)
    lines = []
    for day in range(DAYS):
        end = datetime.datetime.fromtimestamp(
            BEGIN + day * DAY + CHECK_HOUR * HOUR + seconds, datetime.UTC
        )
        lines.append(
            f"{end:%Y-%m-%d %H:%M:%S}.00 spid53      DBCC CHECKDB (Sales) executed by sa found 0"
            f" errors and repaired 0 errors. Elapsed time: {hours} hours {rest // 60} minutes"
            f" {rest % 60} seconds.\r\n"
        )
    path.write_bytes("".join(lines).encode("utf-16"))
    return made.read(sqlserver_errorlog_source("log", [str(path)], computer=computer))
