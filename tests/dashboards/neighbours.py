"""Months of SQL Server and of NTBACKUP, their logs written as text and read by the real sources."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from esewatch.config import DatabaseRule, NtbackupLogs, Settings, SqlserverLogs
from esewatch.model import Feed, Reading, Record, Source
from esewatch.sources.registry import build_source
from tests.rules.quality.month import DAY, DAYS, END, HOUR, MINUTE, Month, at
from tests.support.ntbackup_text import AFTER, BEFORE, job

SAMPLE = 5 * MINUTE
CHECK_HOURS = 4
CHECKED = at(DAYS - 2, 1.0)
"""When the last full check of `sales` begins."""
READ_RATE = 90e6
"""Bytes a second that one device gives while a check reads it."""


def read_all(source: Source) -> list[Record]:
    """All records of a source. Fails where a piece is unreadable."""
    try:
        batches = list(source.poll(final=True))
    finally:
        source.close()
    assert [piece for batch in batches for piece in batch.unreadable] == []
    records = [record for batch in batches for record in batch.records]
    assert records, "the source has nothing to tell"
    return records


def _check(time: float, database: str, result: str, hours: float, options: str = "") -> str:
    when = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S.00")
    minutes = round(hours * 60)
    return (
        f"{when} spid53      DBCC CHECKDB ({database}){options} executed by D\\u {result}. "
        f"Elapsed time: {minutes // 60} hours {minutes % 60} minutes 0 seconds.\n"
    )


def _errorlog() -> str:
    """`sales`: nightly by its pages, full once a week; `archive`: damaged four weeks ago."""
    none, some = (f"found {errors} errors and repaired 0 errors" for errors in (0, 3))
    by_pages = " WITH physical_only"
    lines = [_check(at(2, 5.0), "archive", some, 0.5)]
    for day in range(1, DAYS):
        if day % 7 == 0:
            lines.append(_check(at(day, 1.0 + CHECK_HOURS), "sales", none, CHECK_HOURS))
        else:
            found = some if day == DAYS - 4 else none
            lines.append(_check(at(day, 2.0), "sales", found, 1.0, by_pages))
    lines.append(
        _check(at(DAYS - 1, 6.0), "sales", "terminated abnormally due to error state 6", 0.2)
    )
    return "".join(lines)


def _reads(computer: str, devices: tuple[str, ...]) -> Iterator[Record]:
    """Bytes read of each device: while the last full check runs one after the other is busy."""
    turns = dict.fromkeys(devices, 0.0)
    begin = CHECKED - DAY
    for number in range(int((END - begin) / SAMPLE)):
        time = begin + number * SAMPLE
        into = time - CHECKED
        if 0 <= into < CHECK_HOURS * HOUR:
            turns[devices[int(into // (30 * MINUTE)) % len(devices)]] += READ_RATE * SAMPLE
        for device, total in turns.items():
            metric = "ese_device_read_bytes_total"
            yield Reading(
                time=time,
                computer=computer,
                object="disk",
                counter=metric,
                instance=device,
                value=total,
                kind="total",
                feed=Feed(metric=metric, owner="device", name=device, wraps=False),
            )


def sql_server(computer: str) -> Month:
    """One database that is checked and read device by device; one that is not, and damaged."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "ERRORLOG")
        file.write_text(_errorlog(), "utf-16")
        entry = SqlserverLogs(
            type="sqlserver_errorlog", computer=computer, paths=[str(file)], timezone="UTC"
        )
        records = read_all(build_source(entry, Settings()))
    devices = (f"{computer}-lun1", f"{computer}-lun2")
    records += _reads(computer, devices)
    settings = Settings(databases=[DatabaseRule(match="sales", devices=list(devices))])
    return Month(computer, "SQL Server", records, settings)


def ntbackup(computer: str) -> Month:
    """A job of four storage groups each night, which slows from set to set on all but the last."""
    nights = range(DAYS - 7, DAYS)
    with TemporaryDirectory() as folder:
        for night in nights:
            begin = datetime.fromtimestamp(at(night), UTC) + timedelta(hours=1)
            text = job(AFTER if night == nights[-1] else BEFORE, begin)
            Path(folder, f"backup{night:02}.log").write_text(text, "utf-16")
        paths = [f"{folder}/backup*.log"]
        entry = NtbackupLogs(type="ntbackup_log", computer=computer, paths=paths, timezone="UTC")
        records = read_all(build_source(entry, Settings()))
    return Month(computer, "NTBACKUP", records)
