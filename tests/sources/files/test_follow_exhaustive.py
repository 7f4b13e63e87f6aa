"""Every short history of three logs: what is written, copied, truncated, renamed, compressed and
deleted, with a look or a restart anywhere. The files are in memory; all else is as it runs.

Each record that stood in a file at a look counts once, wherever it went. Not those of a file that
waits at the look, because it is compressed or may be a copy in the making."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, product
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from esewatch.model import Batch
from esewatch.sources.files import file_identity, file_set, text_file
from esewatch.sources.files.file_search import FolderScan, Seen
from esewatch.sources.files.raw_file import MovedError
from tests.sources.followed import Clock, Journal, close_sources, line_source

NAMES = "abc"


class File:
    """A file, whatever its name is."""

    def __init__(self, key: int, data: bytes, changed: int) -> None:
        self.key, self.data, self.changed = str(key), data, changed
        self.compressed = False


class OpenFile:
    """A file in memory as `RawFile`."""

    complete, damage = True, ""

    def __init__(self, file: File) -> None:
        self.file, self.compressed = file, file.compressed
        self.position = 0
        self.limit = 1 << 30

    def read(self, size: int) -> bytes:
        data = self.file.data[: self.limit if not self.compressed else None]
        data = data[self.position : self.position + size]
        self.position += len(data)
        return data

    def seek(self, offset: int) -> bool:
        self.position = min(offset, len(self.file.data)) if self.compressed else offset
        return self.position <= len(self.file.data)

    def next_data(self, offset: int) -> int | None:
        return offset if offset < len(self.file.data) else None

    def stat(self) -> SimpleNamespace:
        return SimpleNamespace(st_size=len(self.file.data), st_mtime_ns=self.file.changed)

    def backlog(self) -> int:
        return 0

    def close(self) -> None:
        pass


class Folder:
    """Logs and an agent that follows them. One letter a step: see `STEPS`."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self.written = 0
        self.changes = 0
        self.clock, self.journal = Clock(), Journal()
        self.source = line_source("folder", clock=self.clock)
        self.stood: set[str] = set()

    def _put(self, name: str, data: bytes, *, anew: bool = False) -> File:
        self.changes += 1
        if anew or name not in self.files:
            self.files[name] = File(self.changes, data, self.changes)
        file = self.files[name]
        file.data, file.changed = data, self.changes
        return file

    def write(self, name: str) -> None:
        self.written += 1
        old = self.files[name].data if name in self.files else b""
        self._put(name, old + b"line %d\n" % self.written)

    def copy(self, name: str, to: str) -> None:
        self._put(to, self.files[name].data, anew=self.files.get(to, File(0, b"", 0)).compressed)
        self.files[to].compressed = self.files[name].compressed

    def truncate(self, name: str) -> None:
        self._put(name, b"")

    def rename(self, name: str, to: str) -> None:
        self.files[to] = self.files.pop(name)

    def gzip(self, name: str) -> None:
        self._put(name, self.files[name].data, anew=True).compressed = True

    def delete(self, name: str) -> None:
        del self.files[name]

    def poll(self) -> None:
        self.journal.take(self.source.poll())
        for file in self.files.values():
            if file.data and not self.source._set.files[file.key].waits:
                self.stood.update(file.data.decode().split("\n")[:-1])

    def amid(self, act: Callable[[], None]) -> None:
        """A poll; something happens between its look and its reading."""
        reading = self.source._round

        def late(*, final: bool) -> Iterator[Batch]:
            self.source._round = reading  # type: ignore[method-assign]
            act()
            return reading(final=final)

        self.source._round = late  # type: ignore[method-assign]
        self.journal.take(self.source.poll())

    def restart(self) -> None:
        self.source.close()
        self.source = line_source("folder", clock=self.clock)
        self.source.restore(self.journal.positions)
        self.poll()

    def end(self) -> None:
        for _ in range(3):
            self.poll()
            self.clock.now += 10

    def scan(self, *_: object) -> FolderScan:
        return FolderScan(
            seen={
                file.key: Seen(file.key, name, (len(file.data), file.changed), literal=False)
                for name, file in sorted(self.files.items())
            }
        )

    def open(self, path: str, key: str) -> OpenFile:
        if path not in self.files or self.files[path].key != key:
            raise MovedError
        return OpenFile(self.files[path])


class Step(NamedTuple):
    act: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.act} {' '.join(self.names)}"


Shape = dict[str, str]
"""Name -> `full`, `empty` or `gzip`."""


def steps_from(shape: Shape) -> Iterator[tuple[Step, Shape]]:
    """What can happen next, and what it leaves; of names that are free only the first."""
    free = [name for name in NAMES if name not in shape][:1]
    for name in [*shape, *free]:
        if shape.get(name) != "gzip":
            yield Step("write", (name,)), {**shape, name: "full"}
    for name, kind in shape.items():
        rest = {each: what for each, what in shape.items() if each != name}
        if kind == "full":
            yield Step("truncate", (name,)), {**shape, name: "empty"}
            yield Step("gzip", (name,)), {**shape, name: "gzip"}
            for to in [*rest, *free]:
                yield Step("copy", (name, to)), {**shape, to: "full"}
        for to in [*rest, *free]:
            yield Step("rename", (name, to)), {**rest, to: kind}
        yield Step("delete", (name,)), rest


def histories(length: int, shape: Shape) -> Iterator[tuple[Step, ...]]:
    """All histories of so many steps."""
    if not length:
        yield ()
        return
    for step, left in steps_from(shape):
        for more in histories(length - 1, left):
            yield (step, *more)


def told(folder: Folder, history: Sequence[Step], looks: Sequence[str]) -> list[str]:
    """What is wrong with the count, after this history with these looks between its steps."""
    look = ""
    for step, after in zip(history, looks, strict=True):
        act = partial(getattr(folder, step.act), *step.names)
        if look == "amid":
            folder.amid(act)
        else:
            act()
        if (look := after) in ("poll", "restart"):
            getattr(folder, look)()
    folder.end()
    counts = Counter(folder.journal.names)
    wrong = [f"{line} twice" for line, count in counts.items() if count > 1]
    return wrong + [f"{line} lost" for line in sorted(folder.stood - counts.keys())]


@pytest.fixture(autouse=True)
def _samples_as_long_as_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (file_identity, file_set, text_file):
        monkeypatch.setattr(module, "SAMPLE", len(b"line 1\n"))


def wrong_in(
    length: int, part: int, every: int, patch: pytest.MonkeyPatch
) -> tuple[int, list[str]]:
    """Of all histories with all their looks each `every`th from `part` on: how many they are, and
    what is wrong with them."""
    looked = list(product(("", "poll", "restart", "amid"), repeat=length - 1))
    each = product(histories(length, {}), looked)
    count, wrong = 0, []
    for history, looks in islice(each, part, None, every):
        count += 1
        folder = Folder()
        patch.setattr(file_set, "look", folder.scan)
        patch.setattr(file_set, "open_known", folder.open)
        if found := told(folder, history, [*looks, ""]):
            steps = zip(history, [*looks, ""], strict=True)
            wrong.append(", ".join(f"{step} ({look})" for step, look in steps) + f": {found}")
        close_sources()
    return count, wrong


@pytest.mark.parametrize(("length", "every"), [(1, 1), (2, 1), (3, 1), (4, 23), (5, 1009)])
def test_each_record_counts_once_whatever_happens_to_three_logs(
    monkeypatch: pytest.MonkeyPatch, length: int, every: int
) -> None:
    count, wrong = wrong_in(length, 0, every, monkeypatch)
    assert count >= 1
    assert wrong == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(8))
def test_each_record_counts_once_in_every_history_of_five_steps(
    monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    count, wrong = wrong_in(5, part, 8, monkeypatch)
    assert count > 290_000
    assert wrong == []


@pytest.mark.parametrize(
    "history",
    [
        "write a (poll), copy a b (amid), truncate b (), copy a b (), truncate a ()",
        "write a (), copy a b (amid), truncate b (), copy a c (), truncate a ()",
        "write a (poll), write a (), gzip a (restart), delete a (restart), write a ()",
    ],
)
def test_histories_that_once_counted_wrong_count_once(
    monkeypatch: pytest.MonkeyPatch, history: str
) -> None:
    folder = Folder()
    monkeypatch.setattr(file_set, "look", folder.scan)
    monkeypatch.setattr(file_set, "open_known", folder.open)
    found = [re.fullmatch(r"(\w+) (.+) \((\w*)\)", step) for step in history.split(", ")]
    steps = [(Step(it[1], tuple(it[2].split())), it[3]) for it in found if it]
    assert len(steps) == 5
    assert told(folder, [step for step, _ in steps], [look for _, look in steps]) == []
