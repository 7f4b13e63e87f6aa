"""Commands for a database whose state a source keeps."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from esewatch.config import Settings
from esewatch.daemon.loop import Daemon
from esewatch.fold.databases.integrity import known_bad_pages
from esewatch.fold.folder import Folder
from esewatch.fold.passes.passes import views_in
from esewatch.fold.state.state import State
from esewatch.journal import Journal
from esewatch.model import Batch, JournalError
from esewatch.sources.kafka.partition import Partition
from tests.daemon.test_loop import Scripted
from tests.support.records import EPOCH, LABEL, event


class Keeping(Scripted):
    """A source with one partition, which has a bad page."""

    def __init__(self, folder: Path) -> None:
        super().__init__("fleet", [])
        self.partition = Partition("fleet", 0, folder / "j-fleet-0.db", Settings(), EPOCH)
        self.partition.fold(Batch(records=[event(474, 0, 1, fields={"page_number": 17})]), {}, 0.0)
        self.partition.commit()

    def folders(self) -> list[Folder]:
        return [self.partition.folder]

    def commit_command(self, folder: Folder) -> None:
        assert folder is self.partition.folder
        self.partition.commit()

    def last_set_aside(self) -> float | None:
        return 7.0

    def close(self) -> None:
        super().close()
        self.partition.close()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    found = Daemon(Settings(), Journal(tmp_path / "j.db"), [Keeping(tmp_path)])
    yield found
    found.close()


def killed(folder: Path) -> State:
    """What the journal of the partition has when the process is killed now."""
    copy = folder / "killed"
    copy.mkdir()
    for file in folder.glob("j-fleet-0.db*"):
        shutil.copy(file, copy)
    with closing(Journal(copy / "j-fleet-0.db")) as journal:
        return journal.load()[0]


def test_an_ack_is_answered_when_the_journal_of_the_partition_has_it(
    daemon: Daemon, tmp_path: Path
) -> None:
    assert daemon.publisher.ack("ex01", LABEL, []).pages == 1
    state = killed(tmp_path)
    (entry,) = state.databases.values()
    assert known_bad_pages(entry, views_in(state, entry)) == []


def test_a_forgotten_database_is_gone_from_the_journal_of_the_partition(
    daemon: Daemon, tmp_path: Path
) -> None:
    daemon.publisher.forget("ex01", LABEL)
    assert killed(tmp_path).databases == {}


def test_what_cannot_be_stored_there_is_no_success(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise JournalError("database or disk is full")

    monkeypatch.setattr(Journal, "commit", full)
    with pytest.raises(JournalError, match="disk is full"):
        daemon.publisher.ack("ex01", LABEL, [17])


def test_a_partition_is_not_caught_up_while_the_journal_of_the_daemon_takes_no_commits(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source,) = daemon._shared.sources
    assert isinstance(source, Keeping)
    source.partition.fold(Batch(caught_up=True), {}, EPOCH)

    def full(*_: object) -> None:
        raise JournalError("database or disk is full")

    monkeypatch.setattr(daemon._shared.journal, "commit", full)
    assert not daemon._try_commit()
    assert not source.partition.folder.state.sources["fleet/0"].caught_up


def test_databases_of_a_partition_are_shown_when_its_first_reading_is_done(
    daemon: Daemon,
) -> None:
    (source,) = daemon._shared.sources
    assert isinstance(source, Keeping)
    daemon._shared.folder.end_first_reading()
    daemon.publisher.publish()
    assert shown(daemon) == ([], ["fleet", "fleet/0"])

    source.partition.fold(Batch(caught_up=True), {}, EPOCH)
    daemon.publisher.publish()
    assert shown(daemon) == (["ex01"], ["fleet", "fleet/0"])


def shown(daemon: Daemon) -> tuple[list[str], list[str]]:
    """Computers of databases with known bad pages, and sources, as the metrics have them."""
    samples = [each for family in daemon.publisher.snapshot.collect() for each in family.samples]
    pages = [each.labels["computer"] for each in samples if each.name == "ese_known_bad_pages"]
    sources = [each.labels["source"] for each in samples if each.name == "esewatch_source_up"]
    return sorted(set(pages)), sorted(sources)


def test_what_a_damaged_journal_of_a_partition_lost_is_told_and_when_it_was_set_aside(
    daemon: Daemon, caplog: pytest.LogCaptureFixture
) -> None:
    (source,) = daemon._shared.sources
    assert isinstance(source, Keeping)
    known = source.partition.folder.state.sources["fleet/0"]
    known.begin_rebuilding(None)
    source.partition.fold(Batch(caught_up=True), {}, EPOCH)

    daemon._settle()
    daemon.publisher.publish()

    assert caplog.messages[-1].startswith("fleet/0: not rebuilt: records from an unknown time to")
    assert known.rebuilt is not None
    shown = daemon.publisher.snapshot.render()[0].decode()
    assert "esewatch_journal_set_aside_timestamp_seconds 7.0" in shown
