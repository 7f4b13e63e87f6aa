"""`esewatch run` and `esewatch report` on the made-up farm of `tests.support.farm`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from esewatch.cli import main
from tests.e2e.harness import Agent, get, start_agent, wait_for
from tests.support.farm import build

RULES: dict[str, Any] = {
    "windows": {"nightly": {"start": "01:00", "duration": "4h"}},
    "databases": [{"match": "*priv*.edb", "window": "nightly"}],
}


@contextmanager
def farm_agent(folder: Path, more: Sequence[dict[str, Any]] = ()) -> Iterator[Agent]:
    """A running agent that has read the farm's logs and `more` sources, and has judged all."""
    logs = folder / "logs"
    build(logs, datetime.now(UTC))
    sources = [
        {"type": "evtx", "path": str(logs / "*.evtx")},
        {"type": "perfmon_csv", "path": str(logs / "*.csv"), "date_order": "mdy"},
        *more,
    ]
    with start_agent(folder / "agent", {**RULES, "sources": sources}) as agent:
        wait_for("advice", lambda: '"action"' in get(f"{agent.url}/api/v1/advice"))
        yield agent


def farm_report(folder: Path, now: datetime, more: Sequence[Path] = ()) -> Path:
    """The report of the farm's logs, the last night before `now`, and `more` inputs."""
    logs = folder / "report-logs"
    build(logs, now)
    config, page = folder / "report.yml", folder / "report.html"
    config.write_text(yaml.safe_dump(RULES))
    inputs = [str(logs), *map(str, more)]
    main(["report", "--config.file", str(config), *inputs, "-o", str(page)])
    return page
