"""What `esewatch check` says of a copy of an engine's folder, against what the engine makes of it.

Verdicts are those of docs/check.md. Damage is done to the files, below all that the engine knows.
"""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from esefiles.logs.log_header import LogHeader, parse_log_header
from eselab.check.check import records
from eselab.disk.disk import RealDisk
from eselab.disk.log_file import FILE_BYTES, GENERATION_BYTES, SEGMENT_BYTES
from eselab.storage.database import Database
from eselab.storage.store import Store
from eselab.storage.transaction_log.checkpoint import CheckpointError
from eselab.storage.transaction_log.header_bytes import log_position
from eselab.storage.transaction_log.log import LogError, begin_of, generation_of
from eselab.storage.transaction_log.recovery import RecoveryError
from esewatch.cli import main
from tests.eselab.databases import NAME, NOW, Model, change, plain
from tests.support.edb import sealed_header
from tests.support.logs import flip

Captured = pytest.CaptureFixture[str]
Verdict = str
PAGE_SIZE = 8192
DEPTH = 2_500_000
"""Bytes of log behind the checkpoint at least: the copy needs three logs or four."""


class Engine:
    """A database at work in a folder; `content` says which history it has."""

    def __init__(self, folder: Path, content: int) -> None:
        folder.mkdir()
        self.folder = folder
        self.rows: Model = {"table": {}}
        self.database = Database.create(
            RealDisk(folder), NAME, page_size=PAGE_SIZE, cache_pages=2000, now=NOW,
            chance=random.Random(1),
        )  # fmt: skip
        self.rows_after: dict[int, Model] = {}
        """What it had at the end of each log."""
        self._time = NOW + content
        self.database.store.time = self._tick
        self._chance = random.Random(content)
        with self.database.store.begin() as transaction:
            self._table = self.database.create_table(transaction, plain("table"))
        while self.store.log_generation < 6 or self.store.checkpoint_depth < DEPTH:
            self._change()
            if self.store.log_generation == 3 and self.required()[0] == 1:
                self.store.checkpoint()
        # Pages of the last log are written; of those that follow none is.
        self.store.checkpoint(DEPTH)
        while self.store.log_generation < self.required()[1] + 2:
            self._change()
        while any(at < 1000 for at in self.end()):
            self._change()

    def _change(self) -> None:
        before, generation = dict(self.rows["table"]), self.store.log_generation
        with self.store.begin() as transaction:
            for _ in range(5):
                change(self._table, transaction, self.rows["table"], self._chance)
        self.store.flush()
        if self.store.log_generation > generation:
            self.rows_after[generation] = {"table": before}

    @property
    def store(self) -> Store:
        return self.database.store

    def required(self) -> tuple[int, int]:
        return self.store.header.log_required

    def end(self) -> tuple[int, int]:
        """Where the last log ends: bytes in it, and in its last segment."""
        end = self.store.log_positions[1]
        return end % GENERATION_BYTES, int.from_bytes(log_position(end)[:2], "little")

    def copy(self, to: Path) -> "Copy":
        """The folder as it is at this moment, as after a kill."""
        shutil.copytree(self.folder, to)
        end = self.store.log_positions[1]
        committed = generation_of(end)
        segment = int.from_bytes(log_position(end)[2:4], "little")
        return Copy(to, *self.required(), committed, segment)

    def _tick(self) -> float:
        self._time += 60.0
        return self._time


class Copy:
    """A copy that needs logs `first` to `last`.

    Up to log `committed` there are changes that no page on disk has, there up to segment `end`.
    """

    def __init__(self, folder: Path, first: int, last: int, committed: int, end: int) -> None:
        self.folder, self.first, self.last = folder, first, last
        self.committed, self.end = committed, end
        self.checkpoint = folder / "E00.chk"
        self.edb = folder / NAME

    def log(self, generation: int) -> Path:
        return self.folder / f"E00{generation:08X}.log"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("esefiles.scans.reading.header_reading.PAUSES", ())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return Engine(tmp_path_factory.mktemp("one") / "a", 1)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """One of the same signature with another history."""
    return Engine(tmp_path_factory.mktemp("other") / "a", 2)


def verdict(capsys: Captured, folder: Path) -> dict[str, Any]:
    main(["check", "--format", "json", str(folder)])
    (line,) = capsys.readouterr().out.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def recovered(folder: Path, *, lossy: bool = False) -> Model | None:
    """What the engine itself has of it after an opening; None: it refuses."""
    disk = RealDisk(folder)
    try:
        Database.open(disk, NAME, cache_pages=2000, now=NOW, lossy=lossy).close(NOW)
    except (LogError, RecoveryError, CheckpointError):
        return None
    rows = {key: value for table, key, value in records(disk, NAME) if table == "table"}
    return {"table": rows}


def test_the_copy_of_a_running_engine_needs_a_replay_of_its_logs(
    engine: Engine, tmp_path: Path, capsys: Captured
) -> None:
    copy = engine.copy(tmp_path / "copy")
    found = verdict(capsys, copy.folder)
    assert copy.last - copy.first >= 2
    assert copy.committed - copy.last == 2
    assert found["verdict"] == "replay_needed", found["reasons"]
    assert found["required_logs"] == {
        "first": copy.first, "last": copy.last, "committed": copy.committed,
        "missing": [], "bad": [],
    }  # fmt: skip
    assert found["checkpoint"] == {
        "path": str(copy.checkpoint), "readable": True, "log": copy.first,
    }  # fmt: skip
    logs = [parse_log_header(path.read_bytes()[:4096]) for path in copy.folder.glob("*.log")]
    assert {log.file_bytes() for log in logs if isinstance(log, LogHeader)} == {FILE_BYTES}
    assert {log.page_size for log in logs if isinstance(log, LogHeader)} == {PAGE_SIZE}
    assert recovered(copy.folder) == engine.rows
    found = verdict(capsys, copy.folder)
    assert (found["verdict"], found["state"]) == ("restorable", "clean")


def test_a_database_that_was_shut_down_needs_no_logs(
    engine: Engine, tmp_path: Path, capsys: Captured
) -> None:
    copy = engine.copy(tmp_path / "copy")
    assert recovered(copy.folder) == engine.rows
    for path in copy.folder.glob("*.log"):
        path.unlink()
    assert verdict(capsys, copy.folder)["verdict"] == "restorable"


def test_logs_before_and_behind_an_opening_are_one_series(
    engine: Engine, tmp_path: Path, capsys: Captured
) -> None:
    copy = engine.copy(tmp_path / "copy")
    disk = RealDisk(copy.folder)
    # As a passive copy holds them: no log is deleted.
    opened = Database.open(disk, NAME, cache_pages=2000, now=NOW, hold=lambda: 1)
    found = verdict(capsys, copy.folder)
    assert found["verdict"] == "replay_needed", found["reasons"]
    assert found["required_logs"]["first"] == copy.committed + 1
    header = copy.checkpoint.read_bytes()
    assert header[:4096] == header[4096:]
    page = bytearray(header[:4096])
    page[12:20] = log_position(begin_of(copy.first))
    copy.checkpoint.write_bytes(sealed_header(bytes(page)) * 2)
    # Now all of them are read, and each names the one before.
    found = verdict(capsys, copy.folder)
    assert found["verdict"] == "replay_needed", found["reasons"]
    opened.close(NOW)


def gone(at: Callable[[Copy], int]) -> Callable[[Copy, Engine], None]:
    return lambda copy, _: copy.log(at(copy)).unlink()


def flipped(
    at: Callable[[Copy], int], segment: Callable[[Copy], int], mask: int = 0xFF
) -> Callable[[Copy, Engine], None]:
    return lambda copy, _: flip(copy.log(at(copy)), segment(copy) * SEGMENT_BYTES + 199, mask)


def foreign(at: Callable[[Copy], int]) -> Callable[[Copy, Engine], None]:
    def do(copy: Copy, other: Engine) -> None:
        shutil.copy(other.folder / copy.log(at(copy)).name, copy.folder)

    return do


def of_another_series(copy: Copy, _: Engine) -> None:
    data = copy.log(copy.first + 1).read_bytes()
    page = bytearray(data[:4096])
    page[44] ^= 1
    copy.log(copy.first + 1).write_bytes(sealed_header(bytes(page)) + data[4096:])


def renamed(copy: Copy, _: Engine) -> None:
    shutil.copy(copy.log(copy.first), copy.log(copy.first + 1))


def cut(at: Callable[[Copy], int]) -> Callable[[Copy, Engine], None]:
    def do(copy: Copy, _: Engine) -> None:
        data = copy.log(at(copy)).read_bytes()
        copy.log(at(copy)).write_bytes(data[: len(data) // 2])

    return do


def torn(copy: Copy, _: Engine) -> None:
    """Of the last write of the last segment only the first sector reached the disk."""
    path = copy.log(copy.committed)
    data = bytearray(path.read_bytes())
    begin = copy.end * SEGMENT_BYTES
    assert any(data[begin + 512 : begin + SEGMENT_BYTES])
    data[begin + 512 : begin + SEGMENT_BYTES] = bytes(SEGMENT_BYTES - 512)
    path.write_bytes(data)


def torn_with_its_shadow(copy: Copy, other: Engine) -> None:
    torn(copy, other)
    flip(copy.log(copy.committed), (copy.end + 1) * SEGMENT_BYTES + 199)


def lost(at: Callable[[Copy], int]) -> Callable[[Copy, Engine], None]:
    """The last records of a log, shadow and all, never came to the disk."""

    def do(copy: Copy, _: Engine) -> None:
        file = RealDisk(copy.folder).open(copy.log(at(copy)).name)
        file.truncate(file.size() - 5000)
        file.close()

    return do


def first(copy: Copy) -> int:
    return copy.first


def second(copy: Copy) -> int:
    return copy.first + 1


def last(copy: Copy) -> int:
    return copy.last


def behind(copy: Copy) -> int:
    """The first log behind those that are needed."""
    return copy.last + 1


def committed(copy: Copy) -> int:
    return copy.committed


def header(_: Copy) -> int:
    return 0


def third(_: Copy) -> int:
    return 3


DAMAGE: dict[str, tuple[Callable[[Copy, Engine], object], Verdict]] = {
    "first log gone": (gone(first), "not_restorable"),
    "middle log gone": (gone(second), "not_restorable"),
    "last log gone": (gone(last), "not_restorable"),
    "header of the first log damaged": (flipped(first, header), "not_restorable"),
    "header of a middle log with one flipped bit": (flipped(second, header, 1), "not_restorable"),
    "header of the last log damaged": (flipped(last, header), "not_restorable"),
    "segment damaged": (flipped(second, third), "not_restorable"),
    "segment with one flipped bit": (flipped(second, third, 1), "unknown"),
    "log of another history": (foreign(second), "not_restorable"),
    "first log of another history": (foreign(first), "not_restorable"),
    "last log of another history": (foreign(last), "not_restorable"),
    "log of another series": (of_another_series, "not_restorable"),
    "log renamed": (renamed, "not_restorable"),
    "log cut": (cut(second), "not_restorable"),
    "log empty": (lambda copy, _: copy.log(second(copy)).write_bytes(b""), "not_restorable"),
    "last segment torn": (torn, "replay_needed"),
    "last write of a closed log lost": (lost(second), "not_restorable"),
    "end of the last required log lost": (lost(last), "not_restorable"),
    "last write of all lost": (lost(committed), "replay_needed"),
    "checkpoint gone": (lambda copy, _: copy.checkpoint.unlink(), "replay_needed"),
    "one copy of the checkpoint damaged": (
        lambda copy, _: flip(copy.checkpoint, 99),
        "replay_needed",
    ),
    "header of the database damaged": (lambda copy, _: flip(copy.edb, 99), "unknown"),
    "page damaged": (lambda copy, _: flip(copy.edb, 9 * PAGE_SIZE + 199), "not_restorable"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_each_kind_of_damage_has_its_verdict(
    engine: Engine, other: Engine, tmp_path: Path, capsys: Captured, damage: str
) -> None:
    do, expected = DAMAGE[damage]
    copy = engine.copy(tmp_path / "copy")
    do(copy, other)
    found = verdict(capsys, copy.folder)
    assert found["verdict"] == expected, found["reasons"]
    # The truth: what mounts has all that was durable. Of one loss no trace is left in any file.
    if expected == "replay_needed" and damage not in ("last write of all lost", "checkpoint gone"):
        assert recovered(copy.folder) == engine.rows


LOSS: dict[str, tuple[Callable[[Copy, Engine], object], Callable[[Copy], int]]] = {
    "first log behind gone": (gone(behind), behind),
    "last log gone": (gone(committed), committed),
    "header of the first log behind damaged": (flipped(behind, header), behind),
    "header of the last log damaged": (flipped(committed, header), committed),
    "segment damaged": (flipped(behind, third), behind),
    "log of another history": (foreign(behind), behind),
    "log cut": (cut(behind), behind),
    "end of a closed log lost": (lost(behind), behind),
    "last segment and its shadow damaged": (torn_with_its_shadow, committed),
}
"""Damage to the logs behind the required ones, and the first log that is lost."""
UNNOTICED_BY_THE_ENGINE = "last segment and its shadow damaged"
"""It looks as a crash leaves it, and the engine has no shadow of its own."""


@pytest.mark.slow
@pytest.mark.parametrize("damage", LOSS)
def test_what_no_page_on_disk_needs_is_lost_alone(
    engine: Engine, other: Engine, tmp_path: Path, capsys: Captured, damage: str
) -> None:
    do, at = LOSS[damage]
    copy = engine.copy(tmp_path / "copy")
    do(copy, other)
    found = verdict(capsys, copy.folder)
    assert found["verdict"] == "loss", found["reasons"]
    if damage != UNNOTICED_BY_THE_ENGINE:
        assert recovered(copy.folder) is None
    # As the verdict says: without the logs from there on it mounts, and what they had is lost.
    for generation in range(at(copy), copy.committed + 1):
        copy.log(generation).unlink(missing_ok=True)
    assert verdict(capsys, copy.folder)["verdict"] == "loss"
    assert recovered(copy.folder) is None
    assert recovered(copy.folder, lossy=True) == engine.rows_after[at(copy) - 1]
    assert verdict(capsys, copy.folder)["verdict"] == "restorable"


@pytest.mark.slow
def test_no_loss_is_accepted_of_a_log_that_is_needed(engine: Engine, tmp_path: Path) -> None:
    copy = engine.copy(tmp_path / "copy")
    for generation in range(copy.last, copy.committed + 1):
        copy.log(generation).unlink()
    assert recovered(copy.folder, lossy=True) is None


@pytest.mark.slow
def test_no_flipped_byte_of_what_was_written_is_passed_over(
    engine: Engine, tmp_path: Path, capsys: Captured
) -> None:
    copy, chance = engine.copy(tmp_path / "copy"), random.Random(3)
    for _ in range(60):
        generation = chance.randrange(copy.first, copy.last)
        name = copy.log(generation).name
        file = RealDisk(copy.folder).open(name)
        segments = 1 + (file.size() - 4096 - 1) // 4056
        file.close()
        at = chance.randrange(segments * SEGMENT_BYTES)
        flip(copy.log(generation), at)
        assert verdict(capsys, copy.folder)["verdict"] == "not_restorable", (generation, at)
        flip(copy.log(generation), at)
    assert verdict(capsys, copy.folder)["verdict"] == "replay_needed"
