import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from esewatch.config import Settings, SqlserverLogs
from esewatch.expose.metrics.families import families
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.model import Batch, Event, Source, SourceError, Unreadable
from esewatch.sources.detect_input import kind_of
from esewatch.sources.registry import build_source
from tests.sources.followed import open_input
from tests.support.processor import processor_seconds
from tests.support.records import EPOCH, checkdb
from tests.support.samples import sample

HEAD = """\
2014-11-20 00:00:01.12 Server      Microsoft SQL Server 2014 - 12.0.2000.8 (X64)
\tFeb 20 2014 20:04:26
\tEnterprise Edition (64-bit) on Windows NT 6.3

2014-11-20 00:00:01.13 Server      UTC adjustment: 1:00
2014-11-20 00:00:01.13 Server      (c) Microsoft Corporation.
2014-11-20 00:00:01.14 Server      Logging SQL Server messages in file 'D:\\SQL\\MSSQL12.PROD\\MSSQL\\Log\\ERRORLOG'.
2014-11-20 00:00:02.00 spid7s      CHECKDB for database 'master' finished without errors on 2014-11-16 01:00:03.417 (local time). This is an informational message only; no user action is required.
"""  # noqa: E501 - lines of a log
AT = 1416488400.0
"""2014-11-20T13:00:00Z."""


def line(clock: str, database: str = "Sales", options: str = "", errors: int = 0) -> str:
    return (
        f"2014-11-20 {clock} spid53      DBCC CHECKDB ({database}){options} executed by D\\u found "
        f"{errors} errors and repaired 0 errors. Elapsed time: 0 hours 12 minutes 34 seconds.  "
        "Internal database snapshot has split point LSN = 00000026:0000089d:0001 and first LSN = "
        "00000026:0000089c:0001.\n"
    )


def write(path: Path, text: str, encoding: str = "utf-16") -> Path:
    path.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    return path


_made: list[Source] = []


@pytest.fixture(autouse=True)
def _close_sources() -> Iterator[None]:
    yield
    while _made:
        _made.pop().close()


def source(*paths: Path, **changes: Any) -> Source:
    told = {"computer": "SQL01", **changes}
    entry = SqlserverLogs(
        type="sqlserver_errorlog", name="log", paths=list(map(str, paths)), **told
    )
    return kept(build_source(entry, Settings()))


def kept(made: Source) -> Source:
    """The source, which is closed when the test is over."""
    _made.append(made)
    return made


def all_of(source: Source, *, final: bool = True) -> tuple[list[Event], list[Unreadable]]:
    batches = list(source.poll(final=final))
    records = [record for batch in batches for record in batch.records]
    assert all(isinstance(record, Event) for record in records)
    return (
        [record for record in records if isinstance(record, Event)],
        [piece for batch in batches for piece in batch.unreadable],
    )


def exposed(batches: Iterator[Batch], settings: Settings | None = None) -> dict[str, float]:
    """The `sqlserver_*` samples of what a source hands out."""
    folder = Folder(State(), settings or Settings())
    folder.open_source("log", AT)
    for batch in batches:
        folder.fold("log", batch, AT + 86400)
    return {
        f"{sample.name.removeprefix('sqlserver_')} {' '.join(sample.labels.values())}": sample.value
        for family in families(folder.state, folder.settings, AT)
        for sample in family.samples
        if sample.name.startswith("sqlserver_")
    }


def test_a_check_becomes_the_exact_metrics(tmp_path: Path) -> None:
    text = HEAD + line("14:00:00.50") + line("15:00:00.50", options=" WITH physical_only", errors=3)
    found = exposed(source(write(tmp_path / "ERRORLOG", text)).poll(final=True))

    assert found == {
        "database_first_seen_timestamp_seconds sql01 prod\\sales": AT + 0.5,
        "checkdb_errors_total sql01 prod\\sales false": 0,
        "checkdb_errors_total sql01 prod\\sales true": 3,
        "checkdb_last_completion_timestamp_seconds sql01 prod\\sales false": AT + 0.5,
        "checkdb_last_completion_timestamp_seconds sql01 prod\\sales true": AT + 3600.5,
        "checkdb_last_duration_seconds sql01 prod\\sales false": 754,
        "checkdb_last_duration_seconds sql01 prod\\sales true": 754,
        "checkdb_last_errors sql01 prod\\sales false": 0,
        "checkdb_last_errors sql01 prod\\sales true": 3,
    }


def test_one_that_was_broken_off_is_told_and_completes_nothing(tmp_path: Path) -> None:
    text = HEAD + (
        "2014-11-20 14:00:00.00 spid53      DBCC CHECKDB (Sales) executed by sa terminated "
        "abnormally due to error state 6. Elapsed time: 0 hours 1 minutes 5 seconds.\n"
    )

    assert exposed(source(write(tmp_path / "ERRORLOG", text)).poll(final=True)) == {
        "database_first_seen_timestamp_seconds sql01 prod\\sales": AT,
        "checkdb_errors_total sql01 prod\\sales false": 0,
        "checkdb_errors_total sql01 prod\\sales true": 0,
        "checkdb_last_abort_timestamp_seconds sql01 prod\\sales false": AT,
    }


@pytest.mark.parametrize(
    "text",
    [
        HEAD,
        line("14:00:00.50", options=" WITH estimateonly"),
        line("14:00:00.50").replace("CHECKDB", "CHECKTABLE"),
        line("14:00:00.50").replace("CHECKDB", "CHECKALLOC"),
        "2014-11-20 14:00:00.00 spid53      Error: 824, Severity: 24, State: 2.\n"
        "2014-11-20 14:00:00.00 spid53      SQL Server detected a logical consistency-based I/O "
        "error. Complete a full database consistency check (DBCC CHECKDB).\n",
        "",
    ],
)
def test_what_checks_no_whole_database_is_passed_over(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "ERRORLOG", text)

    assert exposed(source(path).poll(final=True)) == {}
    assert all_of(source(path))[1] == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8", "utf-8-sig"])
def test_a_log_is_read_in_each_encoding(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path / "ERRORLOG", HEAD + line("14:00:00.50", "Größe"), encoding)
    (event,), unreadable = all_of(source(path))

    assert (event.provider, event.database, event.time) == ("MSSQL$PROD", "Größe", AT + 0.5)
    assert (event.event_id, event.computer, event.companion) == (8957, "SQL01", True)
    assert unreadable == []


ZONES: list[tuple[str, dict[str, str], float]] = [
    ("UTC adjustment: 1:00", {}, -3600),
    ("UTC adjustment: -5:00", {}, 5 * 3600),
    ("Anpassung an UTC: +5:30", {}, -5.5 * 3600),
    ("UTC adjustment: 99:00", {}, 0),
    ("no such line", {}, 0),
    ("UTC adjustment: 1:00", {"timezone": "America/New_York"}, 5 * 3600),
]


@pytest.mark.parametrize(("told", "options", "shift"), ZONES)
def test_times_are_local_in_the_zone_that_is_configured_or_told(
    tmp_path: Path, told: str, options: dict[str, str], shift: float
) -> None:
    text = HEAD.replace("UTC adjustment: 1:00", told) + line("13:00:00.00")
    ((event,), _) = all_of(source(write(tmp_path / "ERRORLOG", text), **options))

    assert event.time == AT + shift


@pytest.mark.parametrize(
    ("clock", "date_order"),
    [
        ("11/20/2014 13:00:00,spid53,Unbekannt,", None),
        ("20.11.2014 13:00:00\tspid53\t", None),
        ("2014/11/20 13:00:00 spid53 ", None),
        ("2014-11-20T13:00:00.000Z spid53 ", None),
        ("11/20/2014 1:00:00 PM,spid53,", "mdy"),
    ],
)
def test_lines_of_an_export_have_other_times(
    tmp_path: Path, clock: str, date_order: str | None
) -> None:
    text = clock + line("x").partition("spid53      ")[2]
    path = write(tmp_path / "export.txt", text, "utf-8")
    ((event,), unreadable) = all_of(source(path, date_order=date_order))

    assert (event.time, unreadable) == (AT, [])


@pytest.mark.parametrize(
    ("path", "options", "provider"),
    [
        ("MSSQL12.PROD", {}, "MSSQL$PROD"),
        ("MSSQL10_50.PROD", {}, "MSSQL$PROD"),
        ("MSSQL12.MSSQLSERVER", {}, "MSSQLSERVER"),
        ("MSSQL.1", {}, "MSSQLSERVER"),
        ("MSSQL.1", {"instance": "old"}, "MSSQL$old"),
        ("MSSQL12.PROD", {"instance": "mssqlserver"}, "MSSQLSERVER"),
    ],
)
def test_the_instance_is_the_configured_one_or_in_the_path_of_the_log(
    tmp_path: Path, path: str, options: dict[str, str], provider: str
) -> None:
    text = HEAD.replace("MSSQL12.PROD", path) + line("13:00:00.00")
    ((event,), _) = all_of(source(write(tmp_path / "ERRORLOG", text), **options))

    assert event.provider == provider


def test_a_line_that_is_written_in_two_pieces_is_read_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "ERRORLOG"
    whole = (HEAD + line("14:00:00.50")).replace("\n", "\r\n").encode("utf-16")
    path.write_bytes(whole[:-201])
    log = source(path)

    assert all_of(log, final=False) == ([], [])
    path.write_bytes(whole)
    events, unreadable = all_of(log, final=False)
    assert ([event.database for event in events], unreadable) == (["Sales"], [])
    assert all_of(log, final=False) == ([], [])
    log.close()


def test_a_rotated_log_is_not_read_twice_and_nothing_is_left_out(tmp_path: Path) -> None:
    current = write(tmp_path / "ERRORLOG", HEAD + line("14:00:00.00"))
    log = source(tmp_path / "ERRORLOG*")
    assert len(all_of(log, final=False)[0]) == 1
    with current.open("ab") as file:
        file.write(line("14:30:00.00").replace("\n", "\r\n").encode("utf-16-le"))
    current.rename(tmp_path / "ERRORLOG.1")
    write(current, HEAD.replace("00:00:01", "14:40:01") + line("15:00:00.00"))

    assert [event.time for event in all_of(log, final=False)[0]] == [AT + 1800, AT + 3600]
    log.close()


def test_after_a_restart_it_goes_on_with_what_the_head_told(tmp_path: Path) -> None:
    path = write(tmp_path / "ERRORLOG", HEAD + line("14:00:00.00"))
    first = source(path)
    positions = {
        key: value
        for batch in first.poll()
        for key, value in batch.positions.items()
        if value is not None
    }
    first.close()
    with path.open("ab") as file:
        file.write(line("15:00:00.00").replace("\n", "\r\n").encode("utf-16-le"))
    again = source(path)
    again.restore(positions)

    ((event,), _) = all_of(again)
    assert (event.provider, event.time) == ("MSSQL$PROD", AT + 3600)


def test_a_check_that_the_event_log_tells_too_is_counted_once(tmp_path: Path) -> None:
    path = write(tmp_path / "ERRORLOG", HEAD + line("14:00:00.50", errors=3))
    fields = {**checkdb(0, 3).fields, "seconds": 754}
    told = checkdb(AT + 1 - EPOCH, provider="MSSQL$PROD", channel="Application", fields=fields)
    batches = [*source(path).poll(final=True), Batch(records=[told])]

    assert exposed(iter(batches))["checkdb_errors_total sql01 prod\\sales false"] == 3


def test_damage_is_one_line_each_and_the_rest_goes_on(tmp_path: Path) -> None:
    text = (
        HEAD
        + "DBCC CHECKDB (a) executed by u found 0 errors and repaired 0 errors. Elapsed time\n"
        + "2014-13-45 99:00:00.00 spid1 "
        + line("x").partition("spid53      ")[2]
        + "2014-11-20 14:00:00.00 spid53      DBCC CHECKDB (a) what is this 7\n"
        + line("14:00:00.00")
    )
    events, unreadable = all_of(source(write(tmp_path / "ERRORLOG", text)))

    assert [event.database for event in events] == ["Sales"]
    assert [(piece.place, piece.reason) for piece in unreadable] == [
        ("line 9", "a check without a time"),
        ("line 10", "the time '2014-13-45 99:00:00.00' cannot be read"),
        ("line 11", "the result of a check that cannot be read"),
    ]


def test_a_huge_log_and_a_huge_line_are_read_past(tmp_path: Path) -> None:
    noise = "2014-11-20 14:00:00.00 Logon       Login failed for user 'x'. DBCC CHECKD\n" * 40_000
    long = "2014-11-20 14:00:00.00 spid53      DBCC CHECKDB (" + "(a) executed by " * 400_000 + "\n"
    path = write(tmp_path / "ERRORLOG", HEAD + noise + long + line("14:00:00.00"))
    events, unreadable = all_of(source(path))

    assert [event.time for event in events] == [AT]
    assert len(unreadable) <= 1


@pytest.mark.parametrize(
    "piece", ["DBCC CHECKDB (", "DBCC CHECKDB (a) ", ")", "(a) WITH a, ", ") executed by x "]
)
def test_hostile_lines_are_read_in_a_moment(tmp_path: Path, piece: str) -> None:
    one = "2014-11-20 14:00:00.00 spid53      DBCC CHECKDB (" + piece * (8000 // len(piece)) + "\n"
    path = write(tmp_path / "ERRORLOG", HEAD + one * 50 + line("14:00:00.00"))
    found: list[object] = []

    assert processor_seconds(lambda: found.extend(all_of(source(path))[0])) < 5
    assert len(found) == 1


def test_random_bytes_are_no_checks(tmp_path: Path) -> None:
    path = tmp_path / "ERRORLOG"
    path.write_bytes(bytes(range(256)) * 400 + "DBCC CHECKDB (".encode("utf-16-le") + b"\xd8" * 99)

    assert all_of(source(path))[0] == []


def test_a_check_from_the_future_is_not_believed(tmp_path: Path) -> None:
    text = HEAD + line("14:00:00.00").replace("2014-", "2094-")
    folder = Folder(State(), Settings())
    folder.open_source("log", 1.8e9)
    for batch in source(write(tmp_path / "ERRORLOG", text)).poll(final=True):
        folder.fold("log", batch, 1.8e9)

    assert folder.state.sql_databases == {}
    assert folder.state.sources["log"].implausible == 1


def test_a_log_needs_the_name_of_the_computer_and_a_known_zone(tmp_path: Path) -> None:
    path = write(tmp_path / "ERRORLOG", HEAD)
    with pytest.raises(SourceError, match="--computer"):
        open_input(str(path))
    with pytest.raises(SourceError, match="Europe/Nowhere"):
        source(path, timezone="Europe/Nowhere")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
def test_a_log_is_known_by_its_lines(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path / "a.txt", HEAD + line("14:00:00.00"), encoding)

    assert kind_of(str(path)) == "sqlserver_errorlog"
    packed = tmp_path / "b"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert kind_of(str(packed)) == "sqlserver_errorlog"
    assert len(all_of(kept(open_input(str(packed), computer="a", companions=True)))[0]) == 1
    assert all_of(kept(open_input(str(packed), computer="a")))[0] == []
    other = write(tmp_path / "c", "2014-11-20 14:00:00 ESE 703 x\n", "utf-8")
    assert kind_of(str(other)) == "event_stream"


def test_the_configuration_makes_the_source(tmp_path: Path) -> None:
    path = write(tmp_path / "ERRORLOG", HEAD + line("13:00:00.00"))
    entry = SqlserverLogs(
        type="sqlserver_errorlog",
        name="sql",
        computer="sql01",
        paths=[str(path)],
        instance="other",
        timezone="UTC",
    )
    ((event,), _) = all_of(kept(build_source(entry, Settings())))

    assert (event.provider, event.computer, event.time) == ("MSSQL$other", "sql01", AT)


def test_real_lines_become_the_exact_metrics(tmp_path: Path) -> None:
    path = tmp_path / "ERRORLOG"
    path.write_bytes(sample("other/sql-errorlog-checkdb.txt").read_bytes())
    found = exposed(source(path).poll(final=True))

    assert found == {
        "database_first_seen_timestamp_seconds sql01 mydb": 1270073226.34,
        "checkdb_errors_total sql01 mydb false": 15,
        "checkdb_errors_total sql01 mydb true": 0,
        "checkdb_last_completion_timestamp_seconds sql01 mydb false": 1270073226.34,
        "checkdb_last_duration_seconds sql01 mydb false": 0,
        "checkdb_last_errors sql01 mydb false": 15,
        "database_first_seen_timestamp_seconds sql01 productiondata": 1157132191.8,
        "checkdb_errors_total sql01 productiondata false": 0,
        "checkdb_errors_total sql01 productiondata true": 0,
        "checkdb_last_completion_timestamp_seconds sql01 productiondata false": 1157132191.8,
        "checkdb_last_duration_seconds sql01 productiondata false": 199,
        "checkdb_last_errors sql01 productiondata false": 0,
    }
