"""docs/metrics.md is what the catalogue says."""

import subprocess
import sys
from pathlib import Path

from esewatch.expose.catalogue import CATALOGUE
from esewatch.expose.docs import markdown
from esewatch.expose.rows import LABELS

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), (
        "run: python -m esewatch.expose.docs > docs/metrics.md"
    )


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


def test_the_module_prints_the_page() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "esewatch.expose.docs"],
        capture_output=True,
        check=True,
        timeout=60,
    )

    assert done.stdout.decode("utf-8").replace("\r\n", "\n") == markdown()
    assert done.stderr == b""
