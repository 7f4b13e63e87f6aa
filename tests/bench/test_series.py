"""A database costs a Prometheus fewer than 80 series, with all that can be known of it."""

import time
from pathlib import Path

import yaml

from bench.estate import HISTORY_DAYS, Server
from bench.fleet import DATABASES_A_SERVER
from esewatch.advice.advise import advise
from esewatch.config.files import load
from esewatch.expose.metrics.advice_families import advice_families
from esewatch.expose.metrics.families import families
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.sources.registry import build_sources

ALLOWED = 80


def test_a_database_has_fewer_series_than_are_allowed(tmp_path: Path) -> None:
    server = Server(tmp_path / "logs")
    server.grow(HISTORY_DAYS)
    (tmp_path / "esewatch.yml").write_text(yaml.safe_dump(server.settings))
    settings = load(tmp_path / "esewatch.yml")
    folder, now = Folder(State(), settings), time.time()
    for source in build_sources(settings):
        folder.open_source(source.name, now)
        for batch in source.poll(final=True):
            folder.fold(source.name, batch)
        source.close()

    told = [
        *families(folder.state, settings, now),
        *advice_families(advise(folder.state, settings, now)),
    ]

    samples = [each for family in told for each in family.samples if "computer" in each.labels]
    assert len({each.labels.get("database") for each in samples} - {None}) == DATABASES_A_SERVER
    assert len(samples) / DATABASES_A_SERVER < ALLOWED
