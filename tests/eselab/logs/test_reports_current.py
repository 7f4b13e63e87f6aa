"""Each event of a current engine has the parameters that the agent's catalogue expects."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eselab.base.plan import Role
from eselab.base.programs import PROGRAMS, Generation
from eselab.logs.reports import Reports
from eselab.logs.reports_current import (
    BackgroundSummary,
    CurrentReports,
    PassiveReports,
    TreeSummary,
    date_and_time,
    reports_of,
)
from esewatch.config import Settings
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.model import Event
from tests.eselab.logging_engine import START, Logs, path_of, trouble
from tests.eselab.logs.test_event_log import read
from tests.oracle.compare import differences
from tests.oracle.history import History, Logged
from tests.oracle.product import told
from tests.oracle.reading import read as oracle

DAY = 86400.0
COMPARED = frozenset({"known", "known_bad", "verified", "totals", "role"})
"""What is said of active and passive events at random on one copy."""
SUMMARY = BackgroundSummary(
    started=START - 8.5 * DAY,
    ended=START,
    pages_seen=5850768,
    run_pages=5850000,
    run_bad=2,
    free_bytes=7_000_999,
    record_pages=1000,
)

WORKER = PROGRAMS["exchange", "current"].process


def current(logs: Logs, folder: Path, kind: type[Reports] = PassiveReports) -> PassiveReports:
    """Reports of a current engine in place of those of `db1`."""
    found = kind(
        logs.events,
        logs.clock,
        process=WORKER,
        instance="db1",
        database=path_of(folder, "db1"),
        number=0,
    )
    assert isinstance(found, PassiveReports)
    return found


def reported(folder: Path, report: Callable[[PassiveReports], None]) -> tuple[Event, int]:
    """The event as the agent reads it, and its category."""
    logs = Logs(folder, instances=1)
    report(current(logs, folder))
    logs.close()
    (event,) = read(folder)
    line = msgspec.json.decode((folder / "events.jsonl").read_bytes())
    return event, line["Event"]["System"]["Task"]


PASS = {"pass_started": "6/8/2007 1:20:00 AM", "seconds": 734400, "pages_seen": 5850768}
RUN = {"run_pages": 5850000, "run_bad_checksums": 2}
SPACE = {
    "record_page_free_bytes": 7000,
    "record_pages": 1000,
    "lv_page_free_bytes": 0,
    "lv_pages": 0,
}
TREE = TreeSummary(table="Msg", started=START, pages_visited=2079, pages_freed=45)
FIELDS: list[tuple[int, Callable[[PassiveReports], None], dict[str, Any]]] = [
    (717, lambda r: r.scan_begun(), {}),
    (719, lambda r: r.scan_resumed(START - 5 * DAY), {"pass_started": "6/11/2007", "days": 1}),
    (
        728,
        lambda r: r.tree_defragmented(TREE),
        {
            "table": "Msg",
            "index": "Msg",
            "pass_started": "6/16/2007",
            "pages_visited": 2079,
            "pages_freed": 45,
            "partial_merges": 0,
            "pages_moved": 0,
        },
    ),
    (
        732,
        lambda r: r.checksum_completed(SUMMARY),
        {**PASS, **RUN, "run_bad_checksums": 0, "days": 8},
    ),
    (
        733,
        lambda r: r.checksum_late(START - 7.5 * DAY),
        {"pass_started": "6/9/2007", "seconds": 648000, "days": 7},
    ),
    (734, lambda r: r.maintenance_not_begun(-1018), {"error": -1018}),
    (
        735,
        lambda r: r.maintenance_completed(SUMMARY, late=True),
        {**PASS, **RUN, **SPACE, "days": 8, "threshold_days": 7},
    ),
    (736, lambda r: r.maintenance_begun(), {}),
    (737, lambda r: r.maintenance_completed(SUMMARY, late=False), {**PASS, **RUN, **SPACE}),
    (
        738,
        lambda r: r.maintenance_resumed(START - 5 * DAY, 4711),
        {"pass_started": "6/11/2007", "days": 1, "resume_page": 4711},
    ),
    (
        744,
        lambda r: r.maintenance_running(START - 12.5 * 3600, 99),
        {"pass_started": "6/16/2007", "hours": 12, "pages_seen": 99},
    ),
    (
        745,
        lambda r: r.checksum_aborted(77, START - DAY, 12),
        {
            "stopped_page": 77,
            "last_completed": "6/15/2007 1:20:00 PM",
            "run_pages": 12,
            "run_bad_checksums": 0,
        },
    ),
]


@pytest.mark.parametrize(("event_id", "report", "fields"), FIELDS, ids=[str(x[0]) for x in FIELDS])
def test_the_agent_reads_every_parameter(
    tmp_path: Path,
    event_id: int,
    report: Callable[[PassiveReports], None],
    fields: dict[str, Any],
) -> None:
    event, task = reported(tmp_path, report)
    assert (event.event_id, task) == (event_id, 10)
    assert event.level == CATALOGUE[event_id].level
    assert {name: event.fields.get(name) for name in fields} == fields
    assert len(event.strings) == 3 + len(CATALOGUE[event_id].params)


def test_a_scan_that_was_never_completed_has_a_dash_for_that(tmp_path: Path) -> None:
    event, _ = reported(tmp_path, lambda reports: reports.checksum_aborted(1, 0.0, 0))
    assert event.strings[4:] == ("1", "-", "0, 0")


@pytest.mark.parametrize(("role", "letters"), [("active", "PPRRDDT"), ("passive", "PPRRRRT")])
def test_the_process_string_names_the_state_of_the_instance(
    tmp_path: Path, role: Role, letters: str
) -> None:
    logs = Logs(tmp_path, instances=1)
    made = reports_of("current", role)
    assert issubclass(made, CurrentReports)
    reports = made(logs.events, logs.clock, process=WORKER, instance="db1", database="/d", number=0)
    reports.instance_starting()
    reports.page_error(trouble(random.Random(1)))
    reports.recovery_begun()
    reports.recovery_done()
    reports.instance_started(0.1)
    reports.database_attached(0.1)
    reports.instance_stopped()
    logs.close()
    events = read(tmp_path)
    assert "".join(event.instance_state for event in events) == letters
    assert {event.process for event in events} == {WORKER}
    assert events[0].strings[1] == "4242,P,0,00.01.0000.000"


@pytest.mark.parametrize("role", ["active", "passive"])
def test_an_engine_of_2007_has_none_of_these_events(role: Role) -> None:
    generation: Generation = "2007"
    assert reports_of(generation, role) is Reports


def test_a_time_is_told_as_in_the_united_states() -> None:
    midnight = 13_682 * DAY
    told = [date_and_time(midnight + hours * 3600 + 65) for hours in (0, 1, 12, 23)]
    assert told == [
        "6/18/2007 12:01:05 AM",
        "6/18/2007 1:01:05 AM",
        "6/18/2007 12:01:05 PM",
        "6/18/2007 11:01:05 PM",
    ]


def work(logs: Logs, reports: PassiveReports, chance: random.Random) -> None:
    """Some time passes, and something is reported."""
    logs.clock.time += chance.uniform(0.1, 20_000)
    now = logs.clock.time

    def complete() -> None:
        begun = now
        chance.choice((reports.maintenance_begun, reports.scan_begun))()
        logs.clock.time += chance.uniform(1, 9999)
        if chance.random() < 0.3:
            reports.page_error(trouble(chance))
        logs.clock.time += 1.0
        summary = msgspec.structs.replace(
            SUMMARY, started=begun, ended=logs.clock.time, run_bad=chance.choice((0, 0, 0, 3))
        )
        chance.choice(
            (
                lambda: reports.maintenance_completed(summary, late=chance.random() < 0.5),
                # The scan of a passive copy counts no bad page in its summary.
                lambda: reports.checksum_completed(msgspec.structs.replace(summary, run_bad=0)),
            )
        )()

    chance.choice(
        (
            reports.maintenance_begun,
            lambda: reports.maintenance_resumed(now - DAY, 5),
            lambda: reports.checksum_aborted(5, 0.0, 4),
            lambda: reports.maintenance_not_begun(-1018),
            lambda: reports.tree_defragmented(TREE),
            lambda: reports.page_error(trouble(chance)),
            complete,
            complete,
            lambda: reports.database_detached(0.3),
            reports.instance_stopped,
        )
    )()
    if logs.truth.state.databases[path_of_reports(reports)].checksum.open:
        chance.choice(
            (
                lambda: reports.maintenance_running(now, 7),
                lambda: reports.checksum_late(now - 9 * DAY),
                lambda: None,
            )
        )()


def path_of_reports(reports: Reports) -> str:
    return reports._database


@pytest.mark.parametrize("seed", range(8))
def test_the_agent_says_of_random_events_what_the_oracle_reads_in_them(
    tmp_path: Path, seed: int
) -> None:
    chance, logs = random.Random(seed), Logs(tmp_path, instances=1)
    reports = current(logs, tmp_path)
    logs.sample()
    reports.instance_starting()
    reports.instance_started(0.2)
    reports.database_attached(0.4)
    for _ in range(120):
        work(logs, reports, chance)
        logs.sample()
    logs.close()
    history = History(tuple(map(as_logged, read(tmp_path))), now=logs.clock.time)
    wanted, got = oracle(history), told(history, Settings())
    found = [each for each in differences(wanted, got) if each.what in COMPARED]
    assert found == []
    assert wanted.keys() == got.keys() != set()
    assert len(logs.truth.state.events) > 12


def as_logged(event: Event) -> Logged:
    """The record as the oracle takes it."""
    assert event.time is not None
    return Logged(
        time=event.time,
        computer=event.computer,
        channel=event.channel,
        provider=event.provider,
        event_id=event.event_id,
        record_id=event.record_id,
        strings=tuple(event.strings),
    )
