"""Hostile records go through all of the daemon: fold, journal, metrics, pages, and back."""

import json
import math
import time
from collections import Counter
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from esewatch.config import Settings
from esewatch.daemon.loop import Daemon
from esewatch.expose.http.database_list import overview_json
from esewatch.expose.metrics.families import families
from esewatch.expose.metrics.snapshot import Snapshot
from esewatch.expose.pages.rendering import (
    render_computer,
    render_computers,
    render_database,
    render_status,
)
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from esewatch.journal import Journal
from esewatch.model import Batch
from tests.daemon.test_loop import Scripted
from tests.fuzz.hostile import Hostile
from tests.support.campaign import COMMAND, number_of
from tests.support.figures import record as record_figure

BATCHES, RECORDS = 3, 60
QUICK, LONG_SECONDS = 10, number_of(300, 60)
NOW = 1_182_864_000.0
"""2007-06-26: some times of the records are before it, some long after."""
RUNBOOKS = Runbooks()


def ese_text(daemon: Daemon) -> str:
    """What is exposed of the servers from the state alone: advice knows what was before, too."""
    known = daemon._shared
    text = Snapshot.of(families(known.folder.state, known.settings, NOW)).render()[0].decode()
    return "\n".join(line for line in text.splitlines() if line.startswith("ese_"))


def check_metrics(daemon: Daemon) -> None:
    daemon.publisher.publish()
    text = daemon.publisher.snapshot.render()[0].decode("utf-8")
    seen: Counter[tuple[str, frozenset[tuple[str, str]]]] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            at_end = sample.labels.get("le") == "+Inf"
            assert math.isfinite(sample.value) or at_end, sample
            seen[sample.name, frozenset(sample.labels.items())] += 1
    twice = [key for key, count in seen.items() if count > 1]
    assert twice == []
    openmetrics = daemon.publisher.snapshot.render("application/openmetrics-text;version=1.0.0")[0]
    assert openmetrics.endswith(b"# EOF\n")


def check_pages(daemon: Daemon) -> None:
    view = daemon.publisher.overview()
    json.loads(overview_json(view), parse_constant=pytest.fail)
    found = [daemon.publisher.database(each.computer, each.database) for each in view.databases]
    shown = [page for page in found if page is not None]
    pages = [
        render_status(view, shown[:3], daemon.publisher.ready(), RUNBOOKS),
        render_computers(view),
        *(render_database(page, RUNBOOKS) for page in shown),
    ]
    for computer in {each.computer for each in view.databases}:
        html = render_computer(view, computer)
        assert html is not None, computer
        pages.append(html)
    for html in pages:
        html.encode("utf-8", "replace")
        assert "<script>alert" not in html
        assert "\x1b" not in html


def check_through(folder: Path, seed: int) -> None:
    """Some batches of one seed; nothing is set aside, left out or shown as no number."""
    folder.mkdir()
    hostile = Hostile(seed)
    path = folder / "j.db"
    daemon = Daemon(Settings(), Journal(path), [Scripted("a", [])], clock=lambda: NOW)
    for number in range(BATCHES):
        records = [hostile.record() for _ in range(RECORDS)]
        batch = Batch(records=records, positions={"b\udcff": bytes([number])}, caught_up=True)
        daemon._take("a", batch)
        assert daemon._try_commit()
        check_metrics(daemon)
    exposed = ese_text(daemon)
    check_pages(daemon)
    counts = daemon._shared.internal_errors.counts
    assert counts == dict.fromkeys(counts, 0)
    assert not daemon._quarantine.path.exists()
    assert exposed
    daemon.close()
    again = Daemon(Settings(), Journal(path), [Scripted("a", [])], clock=lambda: NOW)
    assert ese_text(again) == exposed
    assert again._shared.journal.positions() == {"a": {"b\udcff": bytes([BATCHES - 1])}}
    again.close()


def test_hostile_records_go_through_all_of_it_and_come_back(tmp_path: Path) -> None:
    for seed in range(QUICK):
        check_through(tmp_path / f"{seed}", seed)


@pytest.mark.slow
def test_many_hostile_records_go_through_all_of_it_and_come_back(tmp_path: Path) -> None:
    first = time.time_ns()
    end = time.monotonic() + LONG_SECONDS
    runs = 0
    while time.monotonic() < end:
        check_through(tmp_path / f"{runs}", first + runs)
        runs += 1
    assert runs > LONG_SECONDS / 6
    record_figure(
        "hostile records through fold, journal, metrics and pages, and back",
        f"{runs:,} journals, {runs * BATCHES * RECORDS:,} records in {LONG_SECONDS} s,"
        " no exception, no figure that is no number, none that changed with a restart",
        COMMAND,
    )
