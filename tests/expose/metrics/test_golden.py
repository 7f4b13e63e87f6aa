"""One state with every family, against the kept exposition.

`ESEWATCH_REWRITE_GOLDEN=1` writes the files anew; look at the difference before you keep it.
"""

import datetime
import math
import os
import subprocess
from pathlib import Path

import pytest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse_text

from esewatch.advice.advise import advise
from esewatch.advice.findings.details import of_instances
from esewatch.config import DatabaseRule, LogFiles, Policy, Settings, Window
from esewatch.daemon.agent_health import AgentHealth
from esewatch.expose.metrics.advice_families import advice_families
from esewatch.expose.metrics.families import families
from esewatch.expose.metrics.metric_catalogue import CATALOGUE
from esewatch.expose.metrics.snapshot import Snapshot, commit_histogram, own_families
from esewatch.fold.passes.transitions import pack
from esewatch.fold.state import rollups
from esewatch.fold.state.checkdb_results import Checks, SqlDatabase
from esewatch.fold.state.state import (
    BackupEvent,
    BackupSet,
    BackupTotals,
    BadPage,
    Channel,
    CopyVerdict,
    CounterState,
    Damage,
    Database,
    Device,
    Host,
    Instance,
    Level,
    SourceState,
    State,
    Transition,
    series,
)
from tests.support.patience import PATIENCE
from tests.support.tools import require

GOLDEN = Path(__file__).parents[2] / "golden"
REWRITE = "ESEWATCH_REWRITE_GOLDEN"
OPENMETRICS = "application/openmetrics-text"

NOW = 1_182_500_000.0  # 2007-06-22
HOUR = 3600.0
DAY = 24 * HOUR
PRIV = r"e:\mdb06\priv06.edb"

SETTINGS = Settings(
    windows={"morning": Window(start=datetime.time(7), duration=6 * HOUR)},
    databases=[
        DatabaseRule(
            match=r"*\priv06.edb",
            name="priv06",
            window="morning",
            mailboxes=800,
            storage="das",
            log_path=r"L:\SG06",
        ),
        DatabaseRule(
            match="/mnt/copies/*",
            policy={
                "backup_within": math.inf,
                "restorable_within": math.inf,
                "min_pages_read": 5000,
                "ratio_high": 90.0,
                "ratio_low": 40.0,
            },
        ),
        DatabaseRule(match=r"prod\sales", devices=["lun1", "lun2"]),
    ],
    policy=Policy(min_windows=1, version_buckets=16384),
    sources=[
        LogFiles(type="evtx", name="evtx-1", paths=["ex.evtx"]),
        LogFiles(type="perfmon_csv", name="perfmon_csv-1", paths=["ex.csv"]),
    ],
)


class _Web:
    successful = True
    taken_up = NOW - DAY


def _summary(seconds: int, bad: int = 0, days: int = 1) -> dict[str, int | float]:
    return {
        "seconds": seconds,
        "invocations": 2,
        "days": days,
        "pages_seen": 5850768,
        "bad_checksums": bad,
    }


def _exchange() -> Database:
    """An Exchange 2007 store in its window, with a bad page and an older one."""
    return Database(
        computer="ex01",
        database=PRIV,
        path=r"E:\MDB06\priv06.edb",
        page_size=8192,
        header_bad_checksums=1,
        header_corrected=2,
        header_correction_failed=0,
        ese_instance="SG06",
        process="MSExchangeIS",
        provider="ESE",
        generation="2007",
        role="active",
        maintenance_seen=True,
        first_seen=NOW - 90 * DAY,
        last_seen=NOW - HOUR,
        size_bytes=47929491456.0,
        free_bytes=1048576.0,
        transitions=pack(
            [
                Transition(NOW - 6 * DAY, 1, 700),
                Transition(NOW - 6 * DAY + 4 * HOUR, 2, 704),
                Transition(NOW - 5 * DAY, 3, 702),
                Transition(
                    NOW - 5 * DAY + HOUR,
                    4,
                    703,
                    {"seconds": 18000, "invocations": 2, "days": 2, "pages_freed": 42794},
                ),
                Transition(NOW - 4 * DAY, 5, 718),
                Transition(NOW - 3 * DAY, 6, 722, _summary(7200, days=2)),
                Transition(NOW - 2 * DAY, 7, 723),
                Transition(NOW - HOUR, 8, 700),
            ]
        ),
        pages_seen={"checksum": 5850768, "zeroing": 5850768},
        bad_checksums={"checksum": 0, "zeroing": 0},
        reported_pages_freed=42794,
        zeroing_pages={"unchanged": 5000000, "uninitialized": 72682},
        damage={
            "logical_nonfatal": Damage(1, [NOW - 3 * DAY], [447]),
            "index": Damage(2, [NOW - 9 * DAY, NOW - 8 * DAY], [613]),
        },
        index_rebuilt=NOW - 7 * DAY,
        page_errors={"checksum": 2},
        page_error_last={"checksum": NOW - DAY},
        bad_pages=[
            BadPage(page=17, kind="uncorrectable", first=NOW - DAY, last=NOW - DAY),
            BadPage(
                page=4711, kind="uncorrectable", first=NOW - DAY, last=NOW - DAY, age="history"
            ),
        ],
        patched_last=NOW - 12 * HOUR,
        verified={"external": NOW - 60 * DAY, "page_scan": NOW - 30 * DAY},
        page_scan={"pages": 5850768, "bytes": 47929507840, "bad_pages": 0},
        copy_verdict=CopyVerdict(NOW - 2 * DAY, "not_restorable", "Log 11 is missing."),
        restorable_last=NOW - 9 * DAY,
        slow_io={"read": 13},
        slow_io_last_seconds={"read": 61.0},
        slow_io_last={"read": NOW - 3 * HOUR},
        hung_io={"write": 1},
        hung_io_last={"write": NOW - DAY},
    )


def _current() -> Database:
    """A copy of a current engine that scans in the background, its name full of traps."""
    label = '/mnt/copies/größe "2"/new.edb'
    return Database(
        computer="ex02",
        database=label,
        path=label,
        process="Microsoft.Exchange.Store.Worker",
        provider="ESE",
        generation="current",
        role="passive",
        maintenance_seen=True,
        first_seen=NOW - 40 * DAY,
        transitions=pack(
            [
                Transition(NOW - 9 * DAY, 1, 717),
                Transition(NOW - 3 * DAY, 3, 733),
                Transition(
                    NOW - 2 * DAY, 2, 732, {"seconds": 604800, "days": 7, "run_bad_checksums": 0}
                ),
            ]
        ),
        index_pages_visited=1000,
        index_pages_freed=10,
    )


def _observed() -> Database:
    label = r"c:\programdata\app\app.edb"
    return Database(
        computer="ex01",
        database=label,
        path=label,
        process="app",
        provider="ESENT",
        first_seen=NOW - DAY,
        page_errors={"lost_flush": 1},
        page_error_last={"lost_flush": NOW - DAY},
        bad_pages=[BadPage(page=3, kind="lost_flush", first=NOW - DAY, last=NOW - DAY)],
    )


def _level(value: float) -> Level:
    return Level(value, NOW - 15, 15)


def _device() -> Device:
    totals = {
        "read_seconds": 120.5,
        "write_seconds": 33.25,
        "read_bytes": 47929491456.0,
        "write_bytes": 1234567890.0,
        "reads": 5850768.0,
        "writes": 72682.0,
    }
    return Device(
        computer="ex01",
        device="naa.600508b1001c",
        totals={f"ese_device_{name}_total": value for name, value in totals.items()},
    )


def _days() -> bytearray:
    rows = bytearray()
    for night in (6, 5):
        rollups.add(rows, NOW - night * DAY, "pages_read", 900_000.0)
        rollups.add(rows, NOW - night * DAY, "pages_freed", 6_000.0)
    return rows


def _instance() -> Instance:
    return Instance(
        computer="ex01",
        ese_instance="SG06",
        counters={
            f"x|online defrag pages {what}/sec|": CounterState(last_time=NOW, last_value=1.0)
            for what in ("read", "freed")
        },
        gap_seconds=3600.0,
        errors={"io": (2, NOW - DAY), "version_store": (1, NOW - HOUR)},
        error_times={"io": [NOW - 2 * DAY, NOW - DAY]},
        backup_sets={"ntbackup": BackupTotals(48e9, HOUR, NOW - 7 * HOUR)},
        days=_days(),
        sampled_since=NOW - 90 * DAY,
        totals={
            "ese_defrag_pages_read_total": 5990000.0,
            "ese_defrag_pages_freed_total": 42800.0,
            "ese_defrag_log_bytes_total": 1234567890.0,
            "ese_maintenance_pages_read_total": 5850768.0,
            "ese_maintenance_pages_zeroed_total": 72682.0,
            "ese_maintenance_bad_checksums_total": 2.0,
            series("ese_database_io_total", ("read", "attached")): 812345.0,
            series("ese_database_io_total", ("read", "all")): 812345.0,
            series("ese_log_io_total", ("write",)): 4711.0,
            "ese_log_generations_total": 990.0,
            "ese_log_record_stalls_total": 3.0,
        },
        levels={
            series("ese_io_latency_seconds", ("database", "read", "attached")): _level(0.0034),
            series("ese_io_latency_seconds", ("log", "write", "attached")): _level(0.001),
            "ese_checkpoint_depth_logs": _level(20.0),
            "ese_checkpoint_depth_target_ratio": _level(1.25),
            "ese_version_buckets_allocated": _level(4.0),
            "ese_log_threads_waiting": _level(0.0),
            "ese_copy_queue_logs": _level(1.0),
            "ese_replay_queue_logs": _level(2.0),
        },
        backup_events=[
            BackupEvent(NOW - 8 * DAY, 1, 210),
            BackupEvent(NOW - 8 * DAY + 60, 2, 220, PRIV, 47929491456),
            BackupEvent(NOW - 8 * DAY + 2 * HOUR, 3, 221, PRIV),
            BackupEvent(NOW - 8 * DAY + 3 * HOUR, 4, 213),
        ],
    )


def _backup_sets() -> list[BackupSet]:
    """A job of two storage groups of an hour each, the second at half the throughput."""
    begin = NOW - 8 * HOUR
    return [
        BackupSet(begin + HOUR, begin, "sg06", "ntbackup", 48e9, HOUR, "job"),
        BackupSet(begin + 2 * HOUR, begin + HOUR, "sg07", "ntbackup", 24e9, HOUR, "job"),
    ]


def _sql_database() -> SqlDatabase:
    """A database of a named instance: a full check left errors, a physical one was aborted."""
    return SqlDatabase(
        computer="sql01",
        database="prod\\sales",
        first_seen=NOW - 60 * DAY,
        last_seen=NOW - DAY,
        full=Checks(errors=17.0, completed=NOW - 3 * DAY, seconds=7020.0, left=15.0),
        physical=Checks(completed=NOW - 2 * DAY, seconds=1800.0, aborted=NOW - DAY),
    )


def golden_state() -> State:
    """A state in which every metric of the catalogue has a value."""
    databases = (_exchange(), _current(), _observed())
    log = SourceState(
        name="evtx-1",
        up=True,
        caught_up=True,
        records=1000,
        unreadable=1,
        missed=2,
        duplicates=3,
        last_record=NOW - 60,
        backlog_bytes=4096,
        computers=["ex01", "ex02"],
        oldest=NOW - 30 * DAY,
        implausible=1,
        rebuilt=(NOW - 90 * DAY, NOW - 60),
    )
    counters = SourceState(name="perfmon_csv-1", up=True, computers=["ex01"], partitions=(12, 5))
    host = Host(
        computer="ex01",
        events={"ESE": {703: 1, 474: 2}, "ESENT": {530: 1}},
        counters_present={"Online Defrag Pages Read/sec": True, "Log Threads Waiting": False},
        levels={
            series("ese_cache_size_bytes", ("Information Store",)): _level(20.0 * 2**30),
            "exchange_rpc_latency_seconds": _level(0.012),
            "ese_host_processor_ratio": _level(0.075),
            series("ese_volume_free_bytes", ("l:",)): _level(12.5 * 2**30),
        },
        volumes={"e:": "naa.600508b1001c"},
        backup_sets=_backup_sets(),
    )
    return State(
        sources={log.name: log, counters.name: counters},
        hosts={"ex01": host},
        channels={("ex01", ""): Channel(computer="ex01", channel="", stretches=[(NOW, NOW)])},
        instances={("ex01", "sg06"): _instance()},
        devices={("ex01", "naa.600508b1001c"): _device()},
        databases={(each.computer, each.database): each for each in databases},
        sql_databases={("sql01", "prod\\sales"): _sql_database()},
        databases_dropped=1,
    )


def _fake_proc(root: Path) -> str:
    """A proc file system with one process, so that the figures are the same everywhere."""
    process = root / "self"
    (process / "fd").mkdir(parents=True)
    (process / "fd" / "0").touch()
    (root / "stat").write_text("btime 1182400000\n")
    fields = ["S", *["0"] * 10, "200", "100", *["0"] * 6, "5000", "104857600", "0"]
    (process / "stat").write_text(f"1 (esewatch) {' '.join(fields)}\n")
    (process / "limits").write_text("Max open files            1024     4096     files\n")
    return str(root)


@pytest.fixture(name="snapshot")
def _snapshot(tmp_path: Path) -> Snapshot:
    commits = commit_histogram()
    for seconds in (0.003, 0.004, 0.2):
        commits.observe(seconds)
    own = own_families(
        commits,
        version="1.2.3",
        python_version="3.11.2",
        kernel="compiled",
        proc=_fake_proc(tmp_path),
    )
    health = AgentHealth(NOW, _Web())
    health.external_url = "https://esewatch.corp.example:19703"
    figures = health.families(NOW, journal_set_aside=NOW - 2 * DAY)
    state = golden_state()
    details = of_instances(state, SETTINGS, NOW)
    advised = advice_families(advise(state, SETTINGS, NOW), details, state)
    return Snapshot.of([*families(golden_state(), SETTINGS, NOW), *advised, *own, *figures])


@pytest.mark.parametrize(
    ("name", "accept"), [("exposition.prom", ""), ("exposition.openmetrics", OPENMETRICS)]
)
def test_the_exposition_is_the_golden_one(snapshot: Snapshot, name: str, accept: str) -> None:
    body = snapshot.render(accept)[0]
    if os.environ.get(REWRITE):
        (GOLDEN / name).write_bytes(body)

    assert body.decode("utf-8").splitlines() == (
        (GOLDEN / name).read_text(encoding="utf-8").splitlines()
    )


def _golden(name: str) -> list[Metric]:
    text = (GOLDEN / name).read_text(encoding="utf-8")
    parse = parse_openmetrics if name.endswith("openmetrics") else parse_text
    return list(parse(text))


@pytest.mark.parametrize("name", ["exposition.prom", "exposition.openmetrics"])
def test_every_metric_of_the_catalogue_is_in_the_golden_exposition(name: str) -> None:
    there = {(metric.name, metric.type) for metric in _golden(name)}

    assert there == {(row.family, row.type) for row in CATALOGUE.values()}


@pytest.mark.parametrize("name", ["exposition.prom", "exposition.openmetrics"])
def test_no_sample_has_a_name_or_label_outside_the_catalogue(name: str) -> None:
    rows = {row.family: row for row in CATALOGUE.values()}
    for metric in _golden(name):
        row = rows[metric.name]
        assert metric.documentation == row.help
        for sample in metric.samples:
            bucket = {"le"} if sample.name.endswith("_bucket") else set()
            # A finding is of a database or of an instance.
            either = {"database", "ese_instance"} if row.name == "ese_finding" else set[str]()
            assert sample.labels.keys() | either == {*row.labels} | bucket
            assert sample.timestamp is None
            suffixes = ("_bucket", "_sum", "_count") if row.type == "histogram" else ("",)
            assert sample.name in {row.name + suffix for suffix in suffixes}


def test_openmetrics_tells_the_unit() -> None:
    units = {metric.name: metric.unit for metric in _golden("exposition.openmetrics")}

    assert units == {row.family: row.unit for row in CATALOGUE.values()}


def test_promtool_finds_nothing_to_say(snapshot: Snapshot) -> None:
    done = subprocess.run(
        [require("promtool"), "check", "metrics"],
        input=snapshot.render()[0],
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
