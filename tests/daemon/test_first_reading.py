"""A first reading that takes long says how far it is, by a clock that only the test moves."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from esewatch.config import Settings
from esewatch.daemon.loop import Daemon
from esewatch.daemon.shared import FirstReadings, said
from esewatch.journal import Journal
from esewatch.model import Batch, SourceError
from tests.daemon.test_loop import Scripted
from tests.sources.followed import Clock
from tests.support.records import event

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


def backlog(found: Daemon) -> list[float]:
    return [
        sample.value
        for family in found.publisher.snapshot.collect()
        for sample in family.samples
        if sample.name == "esewatch_source_backlog_bytes"
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
