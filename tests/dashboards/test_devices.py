"""Disks on the dashboards: how long requests take, and how disks share the reads of a check."""

from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.boards import Span, interpolated, loaded, panels
from tests.dashboards.query_check import check_promtool

AGENT = 'job="esewatch",instance="a:19703",computer="ex01"'
QUARTER = Span(0, 3600, 840, 60)
"""Rates are of 15 minutes."""


def query_of(uid: str, title: str, number: int = 0) -> str:
    (board,) = [board for board in loaded() if board["uid"] == uid]
    (panel,) = [panel for panel in panels(board) if panel["title"] == title]
    return f"round({interpolated(panel['targets'][number]['expr'], board, QUARTER, {})}, 0.0001)"


def check_answers(
    series: dict[str, str], asked: dict[str, tuple[str, dict[str, float]]], folder: Path
) -> None:
    """`asked`: time -> query, and what it says of each set of labels."""
    test: dict[str, Any] = {
        "interval": "1m",
        "input_series": [{"series": name, "values": each} for name, each in series.items()],
        "promql_expr_test": [
            {
                "expr": query,
                "eval_time": time,
                "exp_samples": [
                    {"labels": f"{{{labels}}}", "value": value} for labels, value in said.items()
                ],
            }
            for time, (query, said) in asked.items()
        ],
    }
    check_promtool(test, folder)


@pytest.mark.parametrize(("number", "what", "latency"), [(0, "read", 0.01), (1, "write", 0.005)])
def test_the_latency_of_a_disk_is_the_time_of_its_requests_by_their_number(
    number: int, what: str, latency: float, tmp_path: Path
) -> None:
    """Also after a restart; an idle one has none."""
    busy, idle = f'{{{AGENT},device="lun7"}}', f'{{{AGENT},device="lun8"}}'
    seconds = 120 * latency
    series = {
        f"ese_device_{what}_seconds_total{busy}": f"0+{seconds}x15 0+{seconds}x20",
        f"ese_device_{what}s_total{busy}": "0+120x15 0+120x20",
        f"ese_device_{what}_seconds_total{idle}": "7x40",
        f"ese_device_{what}s_total{idle}": "900x40",
    }
    query = query_of("esewatch-storage", "Device latency", number)
    said = {f'{AGENT},device="lun7"': latency}

    check_answers(series, dict.fromkeys(("15m", "20m", "30m"), (query, said)), tmp_path)


def test_the_share_of_the_busiest_device_where_much_is_read(tmp_path: Path) -> None:
    def lies(database: str, device: str) -> str:
        return f'sqlserver_database_device_info{{{AGENT},database="{database}",device="{device}"}}'

    def reads(device: str) -> str:
        return f'ese_device_read_bytes_total{{{AGENT},device="{device}"}}'

    series = {
        lies("sales", "lun1"): "1x120",
        lies("sales", "lun2"): "1x120",
        lies("idle", "lun3"): "1x120",
        reads("lun1"): "0+4800000000x59 288000000000x60",
        reads("lun2"): "0+1200000000x59 72000000000x60",
        reads("lun3"): "0+2400000000x59 144000000000x60",
    }
    query = query_of("esewatch-sqlserver", "Busiest device of SQL Server")
    said = {f'{AGENT},database="sales"': 0.8}

    check_answers(series, {"30m": (query, said), "100m": (query, {})}, tmp_path)
