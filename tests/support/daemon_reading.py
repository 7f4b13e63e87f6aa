"""An agent that has read its logs, as of a clock that stands; and what it says of a database."""

import html
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from prometheus_client.parser import text_string_to_metric_families

from esewatch.config.files import load
from esewatch.daemon import loop
from esewatch.daemon.loop import Daemon
from esewatch.expose.advice_json import advice_object
from esewatch.expose.pages.rendering import render_status
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from esewatch.journal import Journal
from esewatch.sources.registry import build_sources
from tests.support.patience import PATIENCE

Key = tuple[str, str]
"""Computer and label of a database."""
Samples = Mapping[str, list[tuple[Mapping[str, str], float]]]


def read_by_daemon(configuration: Path, now: float) -> Daemon:
    """The agent of this configuration when it has read and judged all that it names."""
    settings = load(configuration)
    with (
        mock.patch.object(loop, "POLL_SECONDS", 0.001),
        closing(Journal(Path(settings.journal))) as journal,
    ):
        sources = build_sources(settings)
        daemon = Daemon(settings, journal, sources, clock=lambda: now)
        thread = threading.Thread(target=daemon.run)
        thread.start()
        for _ in range(int(PATIENCE / 0.01)):
            if daemon.publisher.ready()[0] and not daemon.publisher.waits:
                break
            thread.join(0.01)
        daemon.stop()
        thread.join(PATIENCE)
        assert daemon.publisher.ready()[0]
        assert not thread.is_alive()
        for source in sources:
            source.close()
    return daemon


class Shown(NamedTuple):
    """What an agent says: its page without entities, its advice by database, its metrics."""

    page: str
    advice: Mapping[Key, Any]
    metrics: Samples

    def samples(self, name: str, key: Key) -> list[tuple[Mapping[str, str], float]]:
        """Of one family, those of a database."""
        found = self.metrics.get(name, [])
        return [each for each in found if (each[0]["computer"], each[0].get("database")) == key]


def shown_by(daemon: Daemon) -> Shown:
    """All views of an agent but its lists."""
    view = daemon.publisher.overview()
    known = (daemon.publisher.database(each.computer, each.database) for each in view.databases)
    page = render_status(view, [each for each in known if each], (True, ""), Runbooks())
    metrics: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    for family in text_string_to_metric_families(daemon.publisher.snapshot.render()[0].decode()):
        for sample in family.samples:
            metrics.setdefault(sample.name, []).append((sample.labels, sample.value))
    return Shown(html.unescape(page), by_key(map(advice_object, view.advice)), metrics)


def by_key(objects: Any) -> dict[Key, Any]:
    """Objects of JSON by their database."""
    return {(each["computer"], each["database"]): each for each in objects}
