"""What is counted of a day or a week: the first of a series that begins with it is among it."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.dashboards.boards import Span, interpolated, loaded, panels
from tests.dashboards.query_check import check_promtool

AGENT = 'job="esewatch",instance="a:19703"'
COPY = rf'{AGENT},computer="ex01",database="e:\\db.edb"'
GROUP = f'{AGENT},computer="ex01",ese_instance="SG01"'
BACKUP = f'{COPY},kind="full"'
SET = f'{GROUP},kind="full"'
FULL = f'{COPY},physical_only="false"'
DAY = 86400
AT = 21 * DAY
"""Time of the last sample; the question is asked a little later."""
SINCE = 20 * DAY + 12 * 3600
"""The first time that something happened, half a day before."""
SPAN = Span(AT - DAY, AT, 3600, 60)
ERRORS = f"sqlserver_checkdb_errors_total{{{FULL}}}"
CHECKED = f"sqlserver_checkdb_last_completion_timestamp_seconds{{{FULL}}}"
ZEROED = f'ese_zeroing_pages_total{{{COPY},kind="records"}}'
COMPLETED = f'ese_pass_last_completion_timestamp_seconds{{{COPY},task="zeroing"}}'
DAMAGED = f'ese_page_error_events_total{{{COPY},kind="checksum"}}'
DAMAGED_LAST = f'ese_page_error_last_timestamp_seconds{{{COPY},kind="checksum"}}'
SLOW = f'ese_slow_io_reports_total{{{COPY},operation="read"}}'
SLOW_LAST = f'ese_slow_io_last_timestamp_seconds{{{COPY},operation="read"}}'
HUNG = f'ese_hung_io_reports_total{{{COPY},operation="read"}}'
HUNG_LAST = f'ese_hung_io_last_timestamp_seconds{{{COPY},operation="read"}}'
FAILED = f'ese_engine_errors_total{{{GROUP},kind="disk_full"}}'
FAILED_LAST = f'ese_engine_error_last_timestamp_seconds{{{GROUP},kind="disk_full"}}'
ENDED = f"ese_backup_last_completion_timestamp_seconds{{{BACKUP}}}"
SET_ENDED = f"ese_backup_set_last_completion_timestamp_seconds{{{SET}}}"
OF_BACKUP = {
    f"ese_backup_bytes_total{{{BACKUP}}}": 900,
    f"ese_backup_seconds_total{{{BACKUP}}}": 30,
}
OF_SET = {
    f"ese_backup_set_bytes_total{{{SET}}}": 900,
    f"ese_backup_set_seconds_total{{{SET}}}": 30,
}
MISSED = f'esewatch_source_missed_records_total{{{AGENT},source="evtx-1"}}'
UNREADABLE = f'esewatch_source_unreadable_total{{{AGENT},source="evtx-1"}}'
DROPPED = f"esewatch_databases_dropped_total{{{AGENT}}}"
ALWAYS = {
    f'database:ese_database_device_info:placed{{{COPY},device="d"}}': 1,
    f'ese_database_info{{{COPY},ese_instance="SG01"}}': 1,
    f"esewatch_build_info{{{AGENT}}}": 1,
}


class Case(NamedTuple):
    """A query of a panel, and what it shows of series that begin half a day before."""

    board: str
    title: str
    query: int
    counted: dict[str, int]
    """The series, each with its value from the first sample on."""
    last: str
    """The series that tells when it happened last; empty: there is none."""
    shown: float


CASES = (
    Case("sqlserver", "Errors that CHECKDB found in a week", 0, {ERRORS: 3}, CHECKED, 3),
    Case("engine", "Pages zeroed in a day", 1, {ZEROED: 50}, COMPLETED, 50),
    Case("database", "Page error events in a day", 0, {DAMAGED: 2}, DAMAGED_LAST, 2),
    Case("database", "Slow and hung requests in a day", 0, {SLOW: 4}, SLOW_LAST, 4),
    Case("database", "Slow and hung requests in a day", 1, {HUNG: 1}, HUNG_LAST, 1),
    Case("database", "Errors of the engine in a day", 0, {FAILED: 1}, FAILED_LAST, 1),
    Case("copies", "Throughput set by set", 0, OF_SET, SET_ENDED, 30),
    Case("agent", "Lost in a day", 0, {MISSED: 7}, "", 7),
    Case("agent", "Lost in a day", 1, {UNREADABLE: 7}, "", 7),
    Case("agent", "Databases left out", 0, {DROPPED: 2}, "", 2),
)
each = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.title} {case.query}")


def query_of(case: Case) -> str:
    (board,) = [board for board in loaded() if board["uid"] == f"esewatch-{case.board}"]
    (panel,) = [panel for panel in panels(board) if panel["title"] == case.title]
    return interpolated(panel["targets"][case.query]["expr"], board, SPAN, {})


def born(value: float, since: float) -> str:
    """The samples of a series that is there from `since` on, each quarter of an hour."""
    return f"_x{int(since // 900)} {value}x{int((AT - since) // 900)}"


def check_shown(case: Case, samples: dict[str, str], shown: float, folder: Path) -> None:
    """The query of the case has one sample, of this value."""
    always = {name: f"{value}x{AT // 900}" for name, value in ALWAYS.items()}
    test: dict[str, Any] = {
        "interval": "15m",
        "input_series": [
            {"series": name, "values": values} for name, values in {**always, **samples}.items()
        ],
        "promql_expr_test": [
            {
                "expr": f"sum(round({query_of(case)}, 0.1))",
                "eval_time": f"{AT + 120}s",
                "exp_samples": [{"labels": "{}", "value": shown}],
            }
        ],
    }
    check_promtool(test, folder)


@each
def test_the_first_that_happened_is_shown(case: Case, tmp_path: Path) -> None:
    samples = {name: born(value, SINCE) for name, value in case.counted.items()}
    if case.last:
        samples[case.last] = born(SINCE, SINCE)

    check_shown(case, samples, case.shown, tmp_path)


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.last and case.board != "copies"],
    ids=lambda case: f"{case.title} {case.query}",
)
def test_what_old_logs_told_a_new_agent_is_not_shown_as_of_today(
    case: Case, tmp_path: Path
) -> None:
    samples = {name: born(value, SINCE) for name, value in case.counted.items()}
    samples[case.last] = born(5 * DAY, SINCE)

    check_shown(case, samples, 0, tmp_path)


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.board != "copies"],
    ids=lambda case: f"{case.title} {case.query}",
)
def test_what_was_counted_before_is_not_shown_again(case: Case, tmp_path: Path) -> None:
    """Neither after an agent was down when the day began."""
    began, at = 5 * DAY, SINCE // 900
    for gone in (0, 40):
        samples = {
            name: f"_x{began // 900} {value}x{at - began // 900 - gone - 1} _x{gone}"
            f" {value}x{AT // 900 - at}"
            for name, value in case.counted.items()
        }
        if case.last:
            samples[case.last] = born(SINCE, SINCE)

        check_shown(case, samples, 0, tmp_path)


def test_the_first_backup_has_its_bar_at_its_end(tmp_path: Path) -> None:
    ended = AT - 900
    case = Case("copies", "Backup throughput", 0, OF_BACKUP, ENDED, 30)
    samples = {name: born(value, ended) for name, value in OF_BACKUP.items()}

    check_shown(case, {**samples, ENDED: born(ended, ended)}, 30, tmp_path)


@pytest.mark.parametrize(("more", "shown"), [(0, 0), (1, 1), (2, 2), (100, 100)])
def test_as_many_are_left_out_as_the_counter_grew(more: int, shown: int, tmp_path: Path) -> None:
    """The growth over seven days is a little more than it: the ends are extrapolated."""
    case = Case("agent", "Databases left out", 0, {}, "", 0)
    half = SINCE // 900
    samples = {DROPPED: f"5x{half} {5 + more}x{AT // 900 - half}"}

    check_shown(case, samples, shown, tmp_path)
