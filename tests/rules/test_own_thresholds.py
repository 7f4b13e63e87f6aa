"""The examples of thresholds of one's own: each fires beyond its number, and not at it."""

import subprocess
from pathlib import Path

import yaml

from tests.rules.expressions import EXAMPLES, document_of, rules_of
from tests.rules.promtool import without_texts, write
from tests.support.patience import PATIENCE
from tests.support.tools import require

FILE = EXAMPLES / "own-thresholds.yml"
CASES = Path(__file__).with_name("own_thresholds.yml")


def test_each_fires_beyond_its_number_and_not_at_it(tmp_path: Path) -> None:
    write(without_texts(document_of(FILE)), tmp_path / FILE.name)
    cases = yaml.safe_load(CASES.read_text(encoding="utf-8"))
    write({**cases, "rule_files": [FILE.name]}, tmp_path / "cases.yml")
    names = {rule["alert"] for rule in rules_of(FILE)}
    for group in cases["tests"]:
        assert {case["alertname"] for case in group["alert_rule_test"]} == names
    command = [require("promtool"), "test", "rules", str(tmp_path / "cases.yml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_they_read_nothing_that_rules_record() -> None:
    """They are loaded alone."""
    assert [rule["alert"] for rule in rules_of(FILE) if ":" in rule["expr"]] == []
