"""A Prometheus with the months of all stories, what rules record of them and what fires.

What the joins of docs/reference/metrics.md ask for is there too.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scripts.metrics_page import JOINS
from tests.dashboards.boards import metrics
from tests.dashboards.stories import SINCE, Story
from tests.e2e.harness import Prometheus, serving
from tests.rules.expressions import uses
from tests.rules.quality import backfill, replaying
from tests.rules.quality.month import END


@contextmanager
def served_months(folder: Path, told: Sequence[Story]) -> Iterator[Prometheus]:
    """The server; it has what the dashboards ask for, from SINCE to END."""
    text, data = folder / "months.om", folder / "data"
    months = list({id(story.month): story.month for story in told}.values())
    asked = metrics() | {each.metric for join in JOINS for each in uses(join.query).selectors}
    replaying.write(text, months, asked, since=SINCE)
    backfill.load(text, data)
    text.unlink()
    backfill.record(folder, data, SINCE, END, asked | backfill.asked_by_alerts())
    backfill.tell(folder, data, SINCE, END)
    with serving(folder, data) as server:
        yield server
