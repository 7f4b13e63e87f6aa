"""Sources of files of which the system lets nothing be read: down until something can be."""

import errno
import itertools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from esewatch.config.files import load
from esewatch.model import Batch, Source, SourceError
from esewatch.sources.evtx import evtx_source
from esewatch.sources.files import file_search, raw_file
from esewatch.sources.registry import build_sources
from tests.sources.file_kinds import FILE_KINDS
from tests.support.ese_text import render
from tests.support.eseutil_text import check
from tests.support.evtx_records import COMPLETED, START
from tests.support.evtx_writer import EvtxWriter

DENIED = "Permission denied"
STRINGS = ["MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb"]
READ = ("evtx", "event_stream", "eseutil_log")
"""Of these kinds `fill` writes what gives records."""


class Barred:
    """What the system refuses, and why: a file by its path, a folder with all in it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: dict[str, int] = {}
        access = os.access

        def may(path: str, mode: int) -> bool:
            return not self._why(path) and access(path, mode)

        monkeypatch.setattr(os, "access", may)
        monkeypatch.setattr(os, "scandir", self._barring(os.scandir))
        monkeypatch.setattr(os, "stat", self._barring(os.stat, itself=False))
        monkeypatch.setattr(os, "lstat", self._barring(os.lstat, itself=False))
        for module in (file_search, evtx_source):
            monkeypatch.setattr(module, "open_raw", self._barring(raw_file.open_raw))

    def _why(self, path: object, *, itself: bool = True) -> int:
        text = str(path)
        number = self.paths.get(text, 0) if itself else 0
        return number or self.paths.get(text.rpartition("/")[0], 0)

    def _barring(
        self, real: Callable[..., object], *, itself: bool = True
    ) -> Callable[..., object]:
        def barred(path: object, *rest: object, **options: object) -> object:
            if number := self._why(path, itself=itself):
                raise OSError(number, os.strerror(number), str(path))
            return real(path, *rest, **options)

        return barred


@pytest.fixture(name="barred")
def _barred(monkeypatch: pytest.MonkeyPatch) -> Barred:
    return Barred(monkeypatch)


class Reading:
    """A source, what it has given, and what the journal holds of it."""

    def __init__(self, folder: Path, kind: str, *paths: Path) -> None:
        self._file = folder / "esewatch.yml"
        names = "".join(f'\n      - "{path}"' for path in paths)
        self._file.write_text(f"sources:\n  - type: {kind}\n    paths:{names}\n{FILE_KINDS[kind]}")
        self.positions: dict[str, bytes] = {}
        self.source = self.start()
        self.told: list[str] = []
        """What the log of the agent says: unreadable pieces, and why nothing can be read."""
        self.unreadable = 0
        self._error = ""

    def start(self) -> Source:
        """The source as it begins after a restart of the agent."""
        [self.source] = build_sources(load(self._file))
        self.source.restore(self.positions)
        return self.source

    def poll(self) -> tuple[int, str]:
        """How many records came, and the error: empty where the source is up."""
        count, last, error = 0, Batch(), ""
        try:
            for last in self.source.poll():
                count += len([each for each in last.records if type(each).__name__ != "Coverage"])
                self.told += [str(piece) for piece in last.unreadable]
                self.unreadable += len(last.unreadable)
                for key, value in last.positions.items():
                    self.positions.pop(key, None)
                    if value is not None:
                        self.positions[key] = value
        except SourceError as caught:
            error = str(caught)
        if error != self._error:
            self.told += [why for why in error.split("; ") if why]
        self._error = error
        assert last.caught_up == (not error)
        return count, error


@pytest.fixture(name="logs")
def _logs(tmp_path: Path) -> Path:
    logs = tmp_path / "logs"
    logs.mkdir()
    return logs


Start = Callable[..., Reading]


@pytest.fixture(name="start")
def _start(tmp_path: Path) -> Iterator[Start]:
    """Makes a source of a kind over paths, and closes it in the end."""
    started: list[Reading] = []

    def start(kind: str, *paths: Path) -> Reading:
        started.append(Reading(tmp_path, kind, *paths))
        return started[-1]

    yield start
    for each in started:
        each.source.close()


def fill(path: Path, kind: str) -> None:
    """Two records more of the kinds in `READ`; any text for the others."""
    if kind == "evtx":
        with EvtxWriter(path) as log:
            log.write(701, COMPLETED, time=START)
            log.write(701, COMPLETED, time=START)
    elif kind == "eseutil_log":
        path.write_text(check() + check())
    else:
        record = {
            "SourceName": "ESE",
            "EventID": 704,
            "Hostname": "EX02",
            "TimeCreated": "2026-01-05T00:00:00Z",
            "Message": render(704, STRINGS),
        }
        with path.open("a") as file:
            file.write((json.dumps(record) + "\n") * 2)
    os.utime(path, (1_700_000_000, 1_700_000_000 + path.stat().st_size))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
@pytest.mark.parametrize("kind", FILE_KINDS)
def test_a_source_none_of_whose_files_opens_is_down_in_every_poll(
    logs: Path, barred: Barred, kind: str, number: int, start: Start
) -> None:
    for name in ("a.log", "b.log"):
        fill(logs / name, kind)
        barred.paths[str(logs / name)] = number
    reading = start(kind, logs / "*.log")
    lines = [f"{logs}/{name}: {os.strerror(number)}" for name in ("a.log", "b.log")]
    assert [reading.poll() for _ in range(3)] == [(0, "; ".join(lines))] * 3
    assert (reading.told, reading.unreadable) == (lines, 0)


@pytest.mark.parametrize("kind", READ)
def test_it_is_up_and_gives_all_as_soon_as_one_opens(
    logs: Path, barred: Barred, kind: str, start: Start
) -> None:
    fill(logs / "a.log", kind)
    barred.paths[str(logs / "a.log")] = errno.EACCES
    reading = start(kind, logs / "a.log")
    assert reading.poll() == (0, f"{logs}/a.log: {DENIED}")
    barred.paths.clear()
    assert [reading.poll() for _ in range(2)] == [(2, ""), (0, "")]


@pytest.mark.parametrize("kind", READ)
def test_a_source_of_which_some_files_open_is_up_and_tells_the_others_once(
    logs: Path, barred: Barred, kind: str, start: Start
) -> None:
    for name in ("a.log", "b.log"):
        fill(logs / name, kind)
    barred.paths[str(logs / "a.log")] = errno.EACCES
    reading = start(kind, logs / "*.log")
    assert [reading.poll() for _ in range(3)] == [(2, ""), (0, ""), (0, "")]
    assert reading.told == [f"{logs}/a.log: {DENIED}"]


@pytest.mark.parametrize(
    "how", list(itertools.product(["a.log", "*.log"], [False, True], [errno.EACCES, errno.EIO]))
)
@pytest.mark.parametrize("kind", READ)
def test_a_folder_out_of_reach_for_a_while_costs_nothing_and_nothing_comes_twice(
    logs: Path, barred: Barred, kind: str, how: tuple[str, bool, int], start: Start
) -> None:
    pattern, restarted, number = how
    fill(logs / "a.log", kind)
    reading = start(kind, logs / pattern)
    assert reading.poll() == (2, "")
    barred.paths[str(logs)] = number
    if restarted:
        reading.source.close()
        reading.start()
    out = logs if "*" in pattern else logs / pattern
    assert [reading.poll() for _ in range(2)] == [(0, f"{out}: {os.strerror(number)}")] * 2
    assert reading.told == [f"{out}: {os.strerror(number)}"]
    barred.paths.clear()
    assert reading.poll() == (0, "")


@pytest.mark.parametrize("kind", READ)
def test_of_two_folders_one_out_of_reach_is_told_and_nothing_comes_twice(
    logs: Path, barred: Barred, kind: str, start: Start
) -> None:
    other = logs.with_name("other")
    other.mkdir()
    fill(logs / "a.log", kind)
    fill(other / "a.log", kind)
    with (other / "a.log").open("a") as file:
        file.write("\n")
    reading = start(kind, logs / "*.log", other / "*.log")
    count, error = reading.poll()
    assert count >= 2
    assert error == ""
    barred.paths[str(logs)] = errno.EACCES
    before = len(reading.told)
    assert [reading.poll() for _ in range(2)] == [(0, ""), (0, "")]
    assert reading.told[before:] == [f"{logs}: {DENIED}"]
    barred.paths.clear()
    assert reading.poll() == (0, "")


BELOW = ("*/a.log", "*/*.log", "**/a.log", "**/*.log")
"""Patterns that lead through folders which nothing names."""


def fill_folder(logs: Path, name: str, kind: str) -> None:
    """A folder below `logs` with a log of two records, unlike those of other folders."""
    (logs / name).mkdir()
    path = logs / name / "a.log"
    fill(path, kind)
    if kind != "evtx":
        path.write_text(path.read_text().replace("priv06.edb", f"{name}.edb"))


@pytest.mark.parametrize("how", list(itertools.product(BELOW, [errno.EACCES, errno.EIO])))
@pytest.mark.parametrize("kind", FILE_KINDS)
def test_a_source_all_of_whose_folders_inside_a_pattern_are_barred_is_down(
    logs: Path, barred: Barred, kind: str, how: tuple[str, int], start: Start
) -> None:
    pattern, number = how
    for name in ("one", "two"):
        fill_folder(logs, name, kind)
    for name in ("one", "two"):
        barred.paths[str(logs / name)] = number
    reading = start(kind, logs / pattern)
    # Of a disk that fails it is not known how much of the folder is lost.
    out = "/a.log" if pattern == "*/a.log" and number == errno.EIO else ""
    lines = [f"{logs}/{name}{out}: {os.strerror(number)}" for name in ("one", "two")]
    assert [reading.poll() for _ in range(3)] == [(0, "; ".join(lines))] * 3
    assert (reading.told, reading.unreadable) == (lines, 0)


@pytest.mark.parametrize("pattern", BELOW)
@pytest.mark.parametrize("kind", READ)
def test_a_barred_folder_inside_a_pattern_is_told_once_and_again_when_it_comes_again(
    logs: Path, barred: Barred, kind: str, pattern: str, start: Start
) -> None:
    for name in ("one", "two"):
        fill_folder(logs, name, kind)
    line = f"{logs}/one: {DENIED}"
    reading = start(kind, logs / pattern)
    assert reading.poll() == (4, "")
    for times in (1, 2):
        barred.paths[str(logs / "one")] = errno.EACCES
        assert [reading.poll() for _ in range(3)] == [(0, "")] * 3
        assert reading.told == [line] * times
        barred.paths.clear()
        assert [reading.poll() for _ in range(2)] == [(0, "")] * 2


@pytest.mark.parametrize("how", list(itertools.product(BELOW, [False, True])))
@pytest.mark.parametrize("kind", READ)
def test_what_comes_meanwhile_in_a_barred_folder_inside_a_pattern_is_read_after_it_once(
    logs: Path, barred: Barred, kind: str, how: tuple[str, bool], start: Start
) -> None:
    pattern, restarted = how
    for name in ("one", "two"):
        fill_folder(logs, name, kind)
    reading = start(kind, logs / pattern)
    assert reading.poll() == (4, "")
    fill_folder(logs, "three", kind)
    for name in ("one", "two", "three"):
        barred.paths[str(logs / name)] = errno.EACCES
    if restarted:
        reading.source.close()
        reading.start()
    for _ in range(2):
        count, error = reading.poll()
        assert count == 0
        assert error.endswith(DENIED)
    barred.paths.clear()
    assert [reading.poll() for _ in range(2)] == [(2, ""), (0, "")]


@pytest.mark.parametrize("kind", ["evtx", "eseutil_log"])
def test_a_file_that_was_read_and_may_no_longer_be_is_down_before_it_changes(
    logs: Path, barred: Barred, kind: str, start: Start
) -> None:
    fill(logs / "a.log", kind)
    reading = start(kind, logs / "a.log")
    assert reading.poll() == (2, "")
    barred.paths[str(logs / "a.log")] = errno.EACCES
    assert reading.poll() == (0, f"{logs}/a.log: {DENIED}")
    barred.paths.clear()
    assert reading.poll() == (0, "")


@pytest.mark.parametrize("kind", FILE_KINDS)
def test_a_pattern_that_matches_nothing_in_a_readable_folder_is_up(
    logs: Path, kind: str, start: Start
) -> None:
    reading = start(kind, logs / "*.log")
    assert reading.poll() == (0, "")
    assert reading.told == []


@pytest.mark.parametrize("kind", READ)
def test_a_single_reading_to_the_end_tells_a_file_and_is_no_failure(
    logs: Path, barred: Barred, kind: str, start: Start
) -> None:
    fill(logs / "a.log", kind)
    barred.paths[str(logs / "a.log")] = errno.EACCES
    reading = start(kind, logs / "a.log")
    [batch] = reading.source.poll(final=True)
    assert [str(piece) for piece in batch.unreadable] == [f"{logs}/a.log: {DENIED}"]


def test_a_text_of_which_a_part_came_before_the_disk_failed_is_up_until_nothing_comes(
    logs: Path, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    for _ in range(1000):
        fill(logs / "a.log", "event_stream")
    real = raw_file.PlainRaw.read

    def failing(self: raw_file.PlainRaw, size: int) -> bytes:
        if self.position >= 128 << 10:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(self, size)

    monkeypatch.setattr(raw_file.PlainRaw, "read", failing)
    reading = start("event_stream", logs / "a.log")
    count, error = reading.poll()
    assert count > 0
    assert error == ""
    assert reading.poll() == (0, f"{logs}/a.log: Input/output error")
    monkeypatch.undo()
    assert reading.poll() == (2000 - count, "")


def _taken_away(folder: Path) -> None:
    """Nothing has its name."""


def _leads_to_itself(folder: Path) -> None:
    folder.symlink_to(folder.name)


def _leads_nowhere(folder: Path) -> None:
    folder.symlink_to("nowhere")


def _is_a_file(folder: Path) -> None:
    folder.touch()


GONE: dict[Callable[[Path], None], int] = {
    _taken_away: errno.ENOENT,
    _leads_to_itself: errno.ELOOP,
    _leads_nowhere: errno.ENOENT,
    _is_a_file: errno.ENOTDIR,
}


@pytest.mark.parametrize("how", GONE)
@pytest.mark.parametrize("pattern", ["*.log", "**/*.log", "*/*.log"])
@pytest.mark.parametrize("kind", READ)
def test_a_source_whose_folder_is_gone_is_down_until_it_is_back_and_nothing_comes_twice(
    logs: Path, kind: str, pattern: str, how: Callable[[Path], None], start: Start
) -> None:
    (logs / "one").mkdir()
    fill((logs if pattern == "*.log" else logs / "one") / "a.log", kind)
    reading = start(kind, logs / pattern)
    assert reading.poll() == (2, "")
    line = f"{logs}: {os.strerror(GONE[how])}"
    for times in (1, 2):
        logs.rename(logs.with_name("away"))
        how(logs)
        assert [reading.poll() for _ in range(3)] == [(0, line)] * 3
        assert reading.told == [line] * times
        logs.unlink(missing_ok=True)
        logs.with_name("away").rename(logs)
        assert [reading.poll() for _ in range(2)] == [(0, "")] * 2


@pytest.mark.parametrize("kind", FILE_KINDS)
def test_a_source_whose_folder_was_never_there_is_down(logs: Path, kind: str, start: Start) -> None:
    reading = start(kind, logs / "none" / "*.log")
    line = f"{logs / 'none'}: {os.strerror(errno.ENOENT)}"
    assert [reading.poll() for _ in range(2)] == [(0, line)] * 2
    assert (reading.told, reading.unreadable) == ([line], 0)
    (logs / "none").mkdir()
    assert reading.poll() == (0, "")


@pytest.mark.parametrize("kind", READ)
def test_of_many_folders_none_of_which_is_there_three_are_the_reason(
    logs: Path, kind: str, start: Start
) -> None:
    reading = start(kind, *(logs / name / "*.log" for name in "dbca"))
    gone = [f"{logs / name}: {os.strerror(errno.ENOENT)}" for name in "abcd"]
    assert [reading.poll() for _ in range(2)] == [(0, "; ".join(gone[:3]))] * 2
    assert sorted(reading.told) == gone


@pytest.mark.parametrize("kind", READ)
def test_of_two_folders_one_that_is_gone_is_told_once_and_the_source_is_up(
    logs: Path, kind: str, start: Start
) -> None:
    fill_folder(logs, "one", kind)
    fill_folder(logs, "two", kind)
    reading = start(kind, logs / "one" / "*.log", logs / "two" / "*.log")
    assert reading.poll() == (4, "")
    (logs / "one").rename(logs / "away")
    assert [reading.poll() for _ in range(3)] == [(0, "")] * 3
    assert reading.told == [f"{logs / 'one'}: {os.strerror(errno.ENOENT)}"]


def test_a_text_named_itself_is_down_when_its_folder_is_gone_and_not_when_it_is_rotated(
    logs: Path, start: Start
) -> None:
    fill(logs / "a.log", "event_stream")
    reading = start("event_stream", logs / "a.log")
    assert reading.poll() == (2, "")
    (logs / "a.log").rename(logs / "a.log.1")
    assert [reading.poll() for _ in range(2)] == [(0, "")] * 2
    logs.rename(logs.with_name("away"))
    assert [reading.poll() for _ in range(2)] == [(0, f"{logs}/a.log: no such file")] * 2
