"""A journal that an older version left is opened, and what it holds is counted once.

Those in `journals` were written by the last version of each schema, which read the first 60 ticks
of the server with seed 5 and was stopped.
"""

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from esewatch.config import LogFiles, Settings
from esewatch.daemon.loop import Daemon
from esewatch.journal import SCHEMA_VERSION, Journal
from esewatch.sources.files.follow import FollowedFiles
from esewatch.sources.registry import build_sources
from tests.e2e.harness import wait_for
from tests.reliability.server import Server
from tests.reliability.test_corruption import read_once, shown
from tests.reliability.test_kill import truth

JOURNALS = Path(__file__).parent / "journals"


def test_there_is_a_journal_of_each_older_schema() -> None:
    names = {path.name for path in JOURNALS.iterdir()}
    assert names == {f"journal-{version}.db.gz" for version in range(1, SCHEMA_VERSION)}


@pytest.mark.fault(
    "the journal is of an older version",
    provoked="journals of the schemas 1, 2 and 3 as written then; the logs grew meanwhile",
    lost="nothing",
    again="at once",
)
@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_the_journal_of_an_older_version_is_taken_over_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    defaults = FollowedFiles.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "settle_seconds", 0.05)
    logs = tmp_path / "logs"
    logs.mkdir()
    server = Server(logs, seed=5)
    for _ in range(60):
        server.tick()
    path = tmp_path / "j.db"
    path.write_bytes(gzip.decompress((JOURNALS / f"journal-{version}.db.gz").read_bytes()))
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (version,)
    kinds = {
        "evtx-1": ("evtx", "*.evtx"),
        "json": ("event_stream", "*.ndjson"),
        "text": ("event_stream", "*.log"),
        "perfmon_csv-1": ("perfmon_csv", "*.csv"),
    }
    settings = Settings(
        sources=[
            LogFiles(type=kind, name=name, paths=[f"{logs}/{glob}"])  # type: ignore[arg-type]
            for name, (kind, glob) in kinds.items()
        ]
    )
    journal = Journal(path)
    assert journal.set_aside is None
    daemon = Daemon(settings, journal, build_sources(settings))
    before = sum(count for name, count in shown(daemon).items() if name.startswith("events "))
    assert before > 150
    for _ in range(60):
        server.tick()
    server.finish()
    expected = truth(server)
    assert len(expected) > 20

    def right() -> bool:
        read_once(daemon)
        return {name: value for name, value in shown(daemon).items() if value} == expected

    wait_for("the true figures", right, 30)  # the last line of a text waits whether it goes on
    daemon.close()
