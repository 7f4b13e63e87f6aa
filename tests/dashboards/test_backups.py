"""A database without any backup or restorable copy is drawn as long ago as it is known."""

from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.boards import interpolated, loaded, panels
from tests.dashboards.query_check import check_promtool

AGENT = 'job="esewatch",instance="a:19703"'
COPY = rf'{AGENT},computer="ex01",database="e:\\db.edb"'
DAY = 86400
SAMPLES = {
    f"ese_database_info{{{COPY}}}": 1,
    f'database:ese_database_device_info:placed{{{COPY},device="d"}}': 1,
    f"ese_database_first_seen_timestamp_seconds{{{COPY}}}": 0,
}
MISSING = f'ese_finding{{{COPY},finding="backup_missing",severity="warning"}}'
CHECKED = f"ese_copy_restorable_timestamp_seconds{{{COPY}}}"
BACKED_UP = f'ese_backup_last_completion_timestamp_seconds{{{COPY},kind="full"}}'
RESTORABLE = f"ese_last_restorable_timestamp_seconds{{{COPY}}}"
OF_BACKUPS = "Age of the last backup"
OF_COPIES = "Age of the last copy that would mount"


def first_query(title: str) -> str:
    (board,) = [board for board in loaded() if board["uid"] == "esewatch-copies"]
    (panel,) = [panel for panel in panels(board) if panel["title"] == title]
    return interpolated(panel["targets"][0]["expr"], board, None, {})


@pytest.mark.parametrize(
    ("title", "samples", "shown"),
    [
        (OF_BACKUPS, {}, None),
        (OF_BACKUPS, {MISSING: 1}, 21.0),
        (OF_BACKUPS, {MISSING: 1, BACKED_UP: 14 * DAY}, 7.0),
        (OF_COPIES, {}, None),
        (OF_COPIES, {CHECKED: 20 * DAY}, 21.0),
        (OF_COPIES, {CHECKED: 20 * DAY, RESTORABLE: 13 * DAY}, 8.0),
    ],
    ids=["none needed", "no backup", "backup", "not checked", "none restorable", "restorable"],
)
def test_what_never_was_is_drawn_as_long_ago_as_the_database_is_known(
    tmp_path: Path, title: str, samples: dict[str, int], shown: float | None
) -> None:
    series = [
        {"series": name, "values": f"{value}x{21 * 24}"}
        for name, value in {**SAMPLES, **samples}.items()
    ]
    expected = [] if shown is None else [{"labels": f"{{{COPY}}}", "value": shown}]
    test: dict[str, Any] = {
        "interval": "1h",
        "input_series": series,
        "promql_expr_test": [
            {"expr": first_query(title), "eval_time": "21d", "exp_samples": expected}
        ],
    }
    check_promtool(test, tmp_path)
