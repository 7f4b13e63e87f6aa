"""docs/reference/metrics.md is what the catalogue says."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from esewatch.expose.metrics.rows.metric_catalogue import CATALOGUE
from esewatch.expose.metrics.rows.metric_row import LABELS
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
RATIO = "database:ese_defrag_pages_read_per_freed:ratio_increase28d"


def series(name: str, values: str, **labels: str) -> dict[str, str]:
    """Series of an agent, as promtool takes them."""
    return {"series": selector(name, {**AGENT, **labels}), "values": values}


def policy(name: str, values: str) -> dict[str, str]:
    """What holds for all databases of an agent."""
    labels = {label: AGENT[label] for label in ("job", "instance")}
    return {"series": selector(name, labels), "values": values}


def selector(name: str, labels: Mapping[str, str]) -> str:
    inside = ",".join(f"{label}={json.dumps(value)}" for label, value in labels.items())
    return f"{name}{{{inside}}}"


def test_the_joins_give_what_their_words_say(tmp_path: Path) -> None:
    by_database = {name: {"database": name} for name in ("high", "middle", "low")}
    given = [
        *(series(RATIO, f"{ratio}x60", **by_database[name])
          for name, ratio in (("high", 142), ("middle", 70), ("low", 30))),
        *(series("ese_database_info", "1x60", **each) for each in by_database.values()),
        policy("esewatch_policy_default_ratio_high", "60x60"),
        series("esewatch_policy_ratio_high", "100x60", database="middle"),
        policy("esewatch_policy_default_ratio_low", "20x60"),
        series("esewatch_policy_ratio_low", "50x60", database="low"),
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
        JOINS[0]: [({"database": "high", "band": "above"}, 142), ({"database": "middle",
                   "band": "between"}, 70), ({"database": "low", "band": "below"}, 30)],
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
