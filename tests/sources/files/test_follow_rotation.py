"""Whatever rotation and restarts do, each line is given exactly once."""

import gzip
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from esewatch.model import SourceError
from esewatch.sources.files import file_identity, file_set, follow
from esewatch.sources.files.file_identity import FilePosition, digest
from esewatch.sources.files.follow import FollowedFiles
from tests.sources.followed import Clock, Journal, close_sources, line_source


@pytest.fixture(autouse=True)
def _closing() -> Iterator[None]:
    yield
    close_sources()


class Site:
    """Logs that are written and rotated, an agent that reads them, and what it must see."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.random = random.Random(seed)
        self.clock = Clock()
        self.journal = Journal()
        self.source = line_source(folder / "*.log*", clock=self.clock)
        self.expected: list[str] = []
        self.half: dict[str, str] = {}
        self.written = 0

    def write(self) -> None:
        name = self.random.choice(["app", "web"])
        text = ""
        for _ in range(self.random.randint(1, 6)):
            self.written += 1
            line = f"{name} {self.written} " + "x" * self.random.choice([0, 3, 40, 700])
            text += line + "\n"
            self.expected.append(self.half.pop(name, "") + line)
        if self.random.random() < 0.3:
            self.written += 1
            self.half[name] = f"half {self.written} "
            text += self.half[name]
        with (self.folder / f"{name}.log").open("a") as file:
            file.write(text)

    def _rotated(self) -> list[Path]:
        return sorted(self.folder.glob("*.log.*"))

    def _new_name(self, name: str) -> Path:
        self.written += 1
        return self.folder / f"{name}.log.{self.written}"

    def _leave_half(self, name: str) -> None:
        if name in self.half:
            self.expected.append(self.half.pop(name))

    def rename(self) -> None:
        name = self.random.choice(["app", "web"])
        active = self.folder / f"{name}.log"
        if active.exists():
            self._leave_half(name)
            active.rename(self._new_name(name))

    def copy_and_truncate(self) -> None:
        name = self.random.choice(["app", "web"])
        active = self.folder / f"{name}.log"
        self.journal.take(self.source.poll())
        if active.exists():
            self._leave_half(name)
            copy = self._new_name(name)
            shutil.copyfile(active, copy)
            if self.random.random() < 0.5:
                self.journal.take(self.source.poll())
            with active.open("r+") as file:
                file.truncate(0)

    def compress(self) -> None:
        plain = [path for path in self._rotated() if path.suffix != ".gz"]
        if plain:
            path = self.random.choice(plain)
            whole = gzip.compress(path.read_bytes())
            target = path.with_name(path.name + ".gz")
            target.write_bytes(whole[: len(whole) // 2])
            if self.random.random() < 0.5:
                self.journal.take(self.source.poll())
            target.write_bytes(whole)
            path.unlink()

    def rename_again(self) -> None:
        if rotated := self._rotated():
            path = self.random.choice(rotated)
            self.written += 1
            path.rename(path.with_name(f"{path.name[:7]}.{self.written}{path.suffix}"))

    def poll(self) -> None:
        self.journal.take(self.source.poll())

    def crash(self) -> None:
        batches = self.source.poll()
        for _ in range(self.random.randint(0, 5)):
            if (batch := next(batches, None)) is None:
                break
            self.journal.commit(batch)
        self.source.close()
        self.source = line_source(self.folder / "*.log*", clock=self.clock)
        self.source.restore(self.journal.positions)

    def wait(self) -> None:
        self.clock.now += self.random.choice([0.1, 3.0, 6.0])

    def end(self) -> None:
        self.poll()
        self.clock.now += 10
        self.poll()
        for name in list(self.half):
            self._leave_half(name)
        self.journal.take(self.source.poll(final=True))
        self.source.close()


STEPS = ["write", "write", "write", "poll", "wait", "rename", "rename_again", "crash"]
STEPS += ["copy_and_truncate", "compress"]


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 2**32), st.lists(st.sampled_from(STEPS), max_size=40))
def test_each_line_comes_once_whatever_rotation_and_restarts_do(
    monkeypatch: pytest.MonkeyPatch, seed: int, steps: list[str]
) -> None:
    monkeypatch.setattr(follow, "BATCH_RECORDS", 2)
    monkeypatch.setattr(follow, "_SMALLEST_BLOCK", 16)
    monkeypatch.setattr(file_set, "FIRST_BLOCK", 32)
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder), seed)
        for step in steps:
            getattr(site, step)()
        site.end()
        assert Counter(site.journal.names) == Counter(site.expected)
        assert site.journal.told == []


def test_a_file_renamed_out_of_sight_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\n")
    clock, journal = Clock(), Journal()
    source = line_source(tmp_path / "*.log", clock=clock)
    journal.take(source.poll())
    away = path.rename(tmp_path / "a.old")
    with away.open("ab") as file:
        file.write(b"two\nhalf")
    path.write_bytes(b"new\n")
    assert sorted(journal.take(source.poll())) == ["new", "two"]
    clock.now += 10
    assert journal.take(source.poll()) == ["half"]
    journal.take(source.poll())
    assert sorted(key.startswith("gone:") for key in journal.positions) == [False, True]


def test_the_half_line_at_the_end_of_a_renamed_file_is_a_line_once_it_has_settled(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\nhalf")
    clock, journal = Clock(), Journal()
    source = line_source(tmp_path / "a.log*", clock=clock)
    journal.take(source.poll())
    moved = path.rename(tmp_path / "a.log.1")
    assert journal.take(source.poll()) == []
    with moved.open("ab") as file:
        file.write(b" a line\n")
    assert journal.take(source.poll()) == ["half a line"]
    with moved.open("ab") as file:
        file.write(b"end")
    journal.take(source.poll())
    clock.now += 10
    assert journal.take(source.poll()) == ["end"]


def test_a_copy_of_a_file_that_is_still_there_waits_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntwo\n")
    clock, journal = Clock(), Journal()
    source = line_source(tmp_path / "a.log*", clock=clock)
    journal.take(source.poll())
    shutil.copyfile(path, tmp_path / "a.log.1")
    assert journal.take(source.poll()) == []
    path.write_bytes(b"new\n")
    assert journal.take(source.poll()) == ["new"]
    clock.now += 60
    assert journal.take(source.poll()) == []


def test_a_copy_that_stays_beside_its_origin_is_not_read_until_it_goes_on_differently(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntwo\n")
    clock, journal = Clock(), Journal()
    source = line_source(tmp_path / "a.log*", clock=clock)
    journal.take(source.poll())
    copy = tmp_path / "a.log.1"
    shutil.copyfile(path, copy)
    journal.take(source.poll())
    clock.now += 10
    assert journal.take(source.poll()) == []
    with copy.open("ab") as file:
        file.write(b"three\n")
    assert journal.take(source.poll()) == ["three"]


def test_what_a_file_begins_with_as_another_does_is_read_once(tmp_path: Path) -> None:
    header = b"header " * 300 + b"\n"
    (tmp_path / "a.log").write_bytes(header + b"one\n")
    source, journal = line_source(tmp_path / "*.log"), Journal()
    journal.take(source.poll())
    (tmp_path / "b.log").write_bytes(header + b"two\n")
    assert journal.take(source.poll()) == ["two"]


def long_lines(name: str, first: int, last: int) -> list[str]:
    """Lines of 100 bytes."""
    return [f"{name} {number} ".ljust(99, "x") for number in range(first, last)]


def append(path: Path, lines: list[str]) -> None:
    with path.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("common", [50, 60])
def test_of_a_copy_beside_its_origin_all_that_is_not_in_common_is_read(
    tmp_path: Path, common: int, restart: bool
) -> None:
    """They part at the end of what was read of the origin, or before it."""
    origin, copy = tmp_path / "a.log", tmp_path / "a.log.copy"
    clock, journal = Clock(), Journal()
    source = line_source(tmp_path / "*", clock=clock)
    append(origin, long_lines("line", 0, 60))
    assert journal.take(source.poll()) == long_lines("line", 0, 60)
    append(copy, [*long_lines("line", 0, common), *long_lines("copy", 0, 5)])

    def polled() -> list[str]:
        nonlocal source
        if restart:
            source.close()
            source = line_source(tmp_path / "*", clock=clock)
            source.restore(journal.positions)
        return journal.take(source.poll())

    assert polled() == long_lines("copy", 0, 5)
    for more in range(3):
        at = 60 + 3 * more
        append(origin, long_lines("line", at, at + 3))
        append(copy, long_lines("copy", 5 + more, 6 + more))
        new = [*long_lines("line", at, at + 3), *long_lines("copy", 5 + more, 6 + more)]
        assert sorted(polled()) == sorted(new)
        clock.now += 10
        assert polled() == []
    origin.unlink()
    append(copy, long_lines("copy", 8, 9))
    assert polled() == long_lines("copy", 8, 9)


def test_positions_of_an_earlier_version_hold(tmp_path: Path) -> None:
    """They had no `ahead`, the last of the fields."""
    path = tmp_path / "a.log"
    append(path, long_lines("line", 0, 20))
    journal = Journal()
    journal.take(line_source(path).poll())
    ((key, value),) = journal.positions.items()
    known = msgspec.msgpack.decode(value)
    assert len(known) == len(FilePosition.__struct_fields__)
    append(path, long_lines("line", 20, 22))
    source = line_source(path)
    source.restore({key: msgspec.msgpack.encode(known[:-1])})
    assert journal.take(source.poll()) == long_lines("line", 20, 22)
    assert journal.told == []


def test_a_compressed_file_that_is_not_whole_at_its_first_look_waits_and_then_goes_on(
    tmp_path: Path,
) -> None:
    log, packed = tmp_path / "a.log", tmp_path / "a.log.gz"
    clock, journal = Clock(), Journal()
    source = line_source(tmp_path / "*", clock=clock)
    append(log, long_lines("line", 0, 50))
    journal.take(source.poll())
    append(log, long_lines("line", 50, 60))
    data = gzip.compress(log.read_bytes())
    packed.write_bytes(data[: len(data) // 2])
    log.unlink()
    assert journal.take(source.poll()) == long_lines("line", 50, 60)
    packed.write_bytes(data)
    for _ in range(2):
        assert journal.take(source.poll()) == []
        clock.now += 6
    assert journal.take(source.poll()) == []


def test_an_editor_that_replaces_the_file_costs_and_repeats_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntwo\n")
    source, journal = line_source(path), Journal()
    journal.take(source.poll())
    (tmp_path / "new").write_bytes(b"one\ntwo\nthree\n")
    (tmp_path / "new").replace(path)
    assert journal.take(source.poll()) == ["three"]


def test_a_file_truncated_and_grown_past_its_position_is_read_from_the_start(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntwo\n")
    source, journal = line_source(path), Journal()
    journal.take(source.poll())
    path.write_bytes(b"three\nfour\nfive\n")
    assert journal.take(source.poll()) == ["three", "four", "five"]


LINES = [f"line {number}" for number in range(1000)]
"""Lines of more than 1 KiB, which tells one file from another."""


def text_of(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def was_read(folder: Path) -> tuple[Path, FollowedFiles, Journal, Clock]:
    """A log, a source that has read it, its journal and its clock."""
    path = folder / "a.log"
    path.write_bytes(text_of(LINES))
    clock, journal = Clock(), Journal()
    source = line_source(path, clock=clock)
    journal.take(source.poll())
    return path, source, journal, clock


@pytest.mark.parametrize("restart", [False, True])
def test_a_log_that_is_copied_over_in_place_goes_on_behind_what_was_read(
    tmp_path: Path, *, restart: bool
) -> None:
    path, source, journal, clock = was_read(tmp_path)
    for written in (300, 600, 999):
        path.write_bytes(text_of(LINES[:written]))
        clock.now += 4
        assert journal.take(source.poll()) == []
        if restart:
            source = line_source(path, clock=clock)
            source.restore(journal.positions)
    path.write_bytes(text_of([*LINES, "new"]))
    assert journal.take(source.poll()) == ["new"]


def test_a_log_that_was_deleted_and_is_copied_back_goes_on_behind_what_was_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(text_of(LINES))
    source, journal = line_source(tmp_path / "*.log"), Journal()
    journal.take(source.poll())
    path.unlink()
    path.write_bytes(text_of(LINES[:500]))
    assert journal.take(source.poll()) == []
    path.write_bytes(text_of([*LINES, "new"]))
    assert journal.take(source.poll()) == ["new"]


def test_a_log_whose_space_is_set_aside_before_it_is_copied_goes_on_behind_what_was_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.log"
    whole = text_of([*LINES, "new"])
    path.write_bytes(text_of(LINES))
    source, journal = line_source(path), Journal()
    journal.take(source.poll())
    path.write_bytes(whole[:4096].ljust(len(whole), b"\0"))
    assert journal.take(source.poll()) == []
    path.write_bytes(whole)
    assert journal.take(source.poll()) == ["new"]
    assert journal.told == []


def test_a_new_log_with_the_beginning_of_a_longer_one_is_read_once_it_is_quiet(
    tmp_path: Path,
) -> None:
    path, source, journal, clock = was_read(tmp_path)
    path.write_bytes(text_of(LINES[:500]))
    assert journal.take(source.poll()) == []
    clock.now += 5
    assert journal.take(source.poll()) == LINES[:500]


def test_a_new_log_with_the_beginning_of_a_longer_one_is_read_once_it_is_as_long(
    tmp_path: Path,
) -> None:
    path, source, journal, _ = was_read(tmp_path)
    other = [*LINES[:500], *reversed(LINES[500:])]
    path.write_bytes(text_of(other[:600]))
    assert journal.take(source.poll()) == []
    path.write_bytes(text_of(other))
    assert journal.take(source.poll()) == other


def test_a_new_log_with_the_beginning_of_a_longer_one_that_never_rests_is_read_in_a_minute(
    tmp_path: Path,
) -> None:
    path, source, journal, clock = was_read(tmp_path)
    for second in range(61):
        path.write_bytes(text_of(LINES[: 500 + second]))
        taken = journal.take(source.poll())
        assert bool(taken) == (second == 60)
        clock.now += 1
    assert taken == LINES[:560]


def test_a_log_that_begins_anew_with_other_lines_is_read_at_once(tmp_path: Path) -> None:
    path, source, journal, _ = was_read(tmp_path)
    path.write_bytes(text_of(LINES[500:900]))
    assert journal.take(source.poll()) == LINES[500:900]


def test_a_named_file_may_be_away_while_it_is_rotated(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\n")
    source, journal = line_source(path), Journal()
    journal.take(source.poll())
    path.rename(tmp_path / "a.log.1")
    assert journal.take(source.poll()) == []
    again = line_source(path)
    again.restore(journal.positions)
    assert journal.take(again.poll()) == []


@pytest.mark.parametrize("restart", [False, True])
def test_of_files_that_vanish_together_and_come_back_none_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, restart: bool
) -> None:
    monkeypatch.setattr(file_set, "REMEMBERED", 2)
    names = [f"{number}.log" for number in range(9)]
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in names:
        (folder / name).write_text(f"{name} one\n")
    clock, journal = Clock(), Journal()
    source = line_source(folder / "*.log", clock=clock)
    assert len(journal.take(source.poll())) == 9
    shutil.copytree(folder, tmp_path / "copy")
    shutil.rmtree(folder)
    for _ in range(2):
        if restart:
            source.close()
            source = line_source(folder / "*.log", clock=clock)
            source.restore(journal.positions)
        clock.now += 10
        with pytest.raises(SourceError):
            journal.take(source.poll())
    shutil.copytree(tmp_path / "copy", folder)
    for name in names:
        with (folder / name).open("a") as file:
            file.write(f"{name} two\n")
    assert sorted(journal.take(source.poll())) == [f"{name} two" for name in names]


def test_of_many_files_with_one_header_that_come_back_each_is_found_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(20):
        path = folder / f"{number}.log"
        path.write_text("header " * 300 + "\n" + "line\n" * (20 - number))
        os.utime(path, (number, number))
    source, journal = line_source(folder / "*.log"), Journal()
    journal.take(source.poll())
    shutil.copytree(folder, tmp_path / "copy")
    shutil.rmtree(folder)
    source.close()
    source = line_source(folder / "*.log")
    source.restore(journal.positions)
    with pytest.raises(SourceError):
        journal.take(source.poll())
    shutil.copytree(tmp_path / "copy", folder)
    compared: list[object] = []

    def noted(data: bytes) -> bytes:
        compared.append(data)
        return digest(data)

    monkeypatch.setattr(file_identity, "digest", noted)
    assert journal.take(source.poll()) == []
    pairs = 20 * 19 // 2
    assert len(compared) == 3 * 20 + 2 * pairs, "beginning, place and end of each, and each pair"


def test_positions_of_lost_files_are_dropped_oldest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_set, "REMEMBERED", 2)
    clock, journal = Clock(), Journal()
    source = line_source(tmp_path / "*.log", clock=clock)
    for number in range(4):
        (tmp_path / f"{number}.log").write_bytes(f"line {number}\n".encode())
        journal.take(source.poll())
        (tmp_path / f"{number}.log").unlink()
        for _ in range(2):
            clock.now += 10
            journal.take(source.poll())
    assert sorted(journal.positions) == ["gone:3", "gone:4"]
    again = line_source(tmp_path / "*.log", clock=clock)
    again.restore(journal.positions)
    (tmp_path / "back.log").write_bytes(b"line 3\nmore\n")
    assert journal.take(again.poll()) == ["more"]
    assert sorted(journal.positions)[0] != "gone:4"
    assert "gone:4" not in journal.positions


def test_a_deleted_log_that_is_still_written_to_is_read_for_a_minute(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"line 0\n")
    clock, journal = Clock(), Journal()
    source = line_source(tmp_path / "*.log", clock=clock)
    journal.take(source.poll())
    with path.open("ab", buffering=0) as writer:
        path.unlink()
        for second in range(1, 80):
            clock.now += 1
            writer.write(b"line %d\n" % second)
            journal.take(source.poll())
    assert journal.names == [f"line {second}" for second in range(61)]
    assert journal.told == [f"a.log: : {file_set.LEFT_BEHIND}"]
