"""docs/reference/metrics.md is what the catalogue says."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from esewatch.expose.metrics.metric_catalogue import CATALOGUE
from esewatch.expose.metrics.metric_row import LABELS
from scripts.metrics_page import JOINS, markdown
from tests.support.patience import PATIENCE
from tests.support.tools import require


def test_the_page_has_one_line_for_each_metric_and_each_label() -> None:
    lines = markdown().splitlines()

    for name in (*CATALOGUE, *LABELS):
        assert sum(line.startswith(f"| `{name}` |") for line in lines) == 1


def test_every_line_of_a_table_has_the_columns_of_its_heading() -> None:
    width = 0
    for line in markdown().splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        columns = line.replace("\\|", "").count("|")
        assert width in (0, columns)
        width = columns


AGENT = {"job": "esewatch", "instance": "ex01:19703", "computer": "ex01"}
READ, FREED = "ese_defrag_pages_read_total", "ese_defrag_pages_freed_total"


def series(name: str, values: str, **labels: str) -> dict[str, str]:
    """Series of an agent, as promtool takes them."""
    return {"series": selector(name, {**AGENT, **labels}), "values": values}


def selector(name: str, labels: Mapping[str, str]) -> str:
    inside = ",".join(f"{label}={json.dumps(value)}" for label, value in labels.items())
    return f"{name}{{{inside}}}"


def test_the_joins_give_what_their_words_say(tmp_path: Path) -> None:
    given = [
        series(READ, "0+142x60", ese_instance="SG01"),
        series(READ, "0+30x60", ese_instance="SG02"),
        *(series(FREED, "0+1x60", ese_instance=name) for name in ("SG01", "SG02")),
        *(series("ese_database_info", "1x60", database=name, ese_instance=instance)
          for name, instance in (("high", "SG01"), ("middle", "SG01"), ("low", "SG02"))),
        series("ese_last_full_verification_timestamp_seconds", "-5400x60", database="high",
               by="online_scan"),
        series("ese_last_full_verification_timestamp_seconds", "-9000x60", database="high",
               by="page_scan"),
        series("ese_verification_deadline_seconds", "4500x60", database="high"),
        series("ese_database_device_info", "1x60", database="high", device="3"),
        series("ese_database_device_info", "1x60", database="low", device="3"),
        series("ese_device_read_bytes_total", "0+6000x60", device="3"),
        series("ese_device_read_bytes_total", "0+60x60", device="4"),
    ]  # fmt: skip
    told = {
        JOINS[0]: [({"database": "high"}, 142), ({"database": "middle"}, 142),
                   ({"database": "low"}, 30)],
        JOINS[1]: [({"database": "high"}, 2)],
        JOINS[2]: [({"database": "high", "device": "3"}, 100),
                   ({"database": "low", "device": "3"}, 100)],
    }  # fmt: skip
    asked = [
        {
            "expr": join.query,
            "eval_time": "1h",
            "exp_samples": [
                {
                    "labels": selector("", {**AGENT, **labels}),
                    "value": value,
                }
                for labels, value in answers
            ],
        }
        for join, answers in told.items()
    ]
    case = {"interval": "1m", "input_series": given, "promql_expr_test": asked}
    (tmp_path / "joins.yml").write_text(json.dumps({"rule_files": [], "tests": [case]}))

    done = subprocess.run(
        [require("promtool"), "test", "rules", tmp_path / "joins.yml"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert tuple(told) == JOINS
