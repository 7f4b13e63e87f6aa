"""First readings that take long, and commands for a database whose state a source keeps."""

import logging
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from esewatch.config import Settings
from esewatch.daemon.loop import Daemon
from esewatch.daemon.shared import FirstReadings, said
from esewatch.fold.databases.integrity import known_bad_pages
from esewatch.fold.folder import Folder
from esewatch.fold.passes.passes import views_in
from esewatch.fold.state.state import State
from esewatch.journal import Journal
from esewatch.model import Batch, JournalError, SourceError
from esewatch.sources.kafka.partition import Partition
from tests.daemon.test_loop import Scripted
from tests.sources.followed import Clock
from tests.support.records import EPOCH, LABEL, event

MIB = 1 << 20
LINES = [
    "logs: first reading: 10 records, 90.0 MiB in 9 files left, 1.0 MiB a second, about 1 min 30 s",
    "logs: first reading: 20 records, 80.0 MiB in 8 files left, 1.0 MiB a second, about 1 min 20 s",
]


def left(files: int) -> Batch:
    """A batch of a record, with so many files of 10 MiB behind it."""
    return Batch(
        records=[event(700, 0, 10 - files)], backlog_bytes=files * 10 * MIB, backlog_files=files
    )


def test_each_ten_seconds_there_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    clock = Clock()
    readings = FirstReadings(clock)
    for second in range(25):
        batch = left(10)
        batch.backlog_bytes -= second * MIB
        batch.backlog_files = 10 - second // 10
        batch.records *= second > 0
        readings.note("logs", batch)
        clock.now += 1
    assert caplog.messages == LINES
    assert readings.words == {"logs": LINES[1].removeprefix("logs: first reading: ")}
    readings.end("logs")
    assert readings.words == {}
    readings.note("logs", left(8))
    assert caplog.messages == LINES, "another reading begins"


@pytest.mark.parametrize(
    ("rate", "left", "words"),
    [
        (0.0, 0, "3,000 records"),
        (0.0, 2048, "3,000 records, 2.0 KiB in 1 file left"),
        (-5.0, 2048, "3,000 records, 2.0 KiB in 1 file left"),
        (1024.0, 2048, "3,000 records, 2.0 KiB in 1 file left, 1.0 KiB a second, about 2 s"),
    ],
)
def test_what_is_not_known_is_not_said(rate: float, left: int, words: str) -> None:
    assert said(3000, 1, left, rate) == words


def samples(found: Daemon) -> list[Sample]:
    text = found.publisher.snapshot.render()[0].decode()
    return [each for family in text_string_to_metric_families(text) for each in family.samples]


def backlog(found: Daemon) -> list[float]:
    return [
        sample.value for sample in samples(found) if sample.name == "esewatch_source_backlog_bytes"
    ]


def test_log_page_and_metric_tell_a_first_reading_and_end_with_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    clock, shown = Clock(), list[tuple[str, list[float]]]()

    def batches() -> Iterator[Batch]:
        for files in (10, 9, 8):
            yield left(files)
            found.publisher.publish()
            shown.append((found.publisher.ready()[1], backlog(found)))
            clock.now += 10
        raise SourceError("the disk is gone")

    source = Scripted("logs", [])
    monkeypatch.setattr(source, "poll", batches)
    found = Daemon(Settings(), Journal(tmp_path / "j.db"), [source])
    found._shared.first_readings.clock = clock
    found._cycle()
    words = [
        "2 records, 90.0 MiB in 9 files left, 1.0 MiB a second, about 1 min 30 s",
        "3 records, 80.0 MiB in 8 files left, 1.0 MiB a second, about 1 min 20 s",
    ]
    assert caplog.messages[:2] == [f"logs: first reading: {each}" for each in words]
    assert shown == [
        ("first reading of logs", [100.0 * MIB]),
        (f"first reading of logs ({words[0]})", [90.0 * MIB]),
        (f"first reading of logs ({words[1]})", [80.0 * MIB]),
    ]
    assert found._shared.first_readings.words == {}, "it failed, and begins anew"
    found.close()


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
    found = samples(daemon)
    pages = [each.labels["computer"] for each in found if each.name == "ese_known_bad_pages"]
    sources = [each.labels["source"] for each in found if each.name == "esewatch_source_up"]
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
