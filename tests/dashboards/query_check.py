"""The answer of a panel's query, by promtool."""

from pathlib import Path
from typing import Any

import yaml

from tests.rules.promtool import run


def check_promtool(test: dict[str, Any], folder: Path) -> None:
    """One test of promtool holds; its file is written to `folder`."""
    file = folder / "test.yml"
    file.write_text(yaml.safe_dump({"tests": [test]}), encoding="utf-8")

    done = run([file])

    assert done.returncode == 0, done.stdout + done.stderr
