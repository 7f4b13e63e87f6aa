"""A kill at any write of an opening, a new log, a checkpoint and a shutdown, and what `check` says.

The kill tests find such moments by chance only; here each of them is tried. Verdicts are those of
docs/check.md.
"""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from eselab.disk.disk import RealDisk, RealFile
from eselab.disk.log_file import GENERATION_BYTES
from eselab.storage.store import Store
from esewatch.cli import main

NAME, PAGES, CACHED = "priv1.edb", 12, 4


class WatchedFile(RealFile):
    """A file that calls its disk after each of its writes."""

    wrote: Callable[[], None]

    def write(self, offset: int, data: bytes) -> None:
        super().write(offset, data)
        self.wrote()

    def truncate(self, size: int) -> None:
        super().truncate(size)
        self.wrote()


class WatchedDisk(RealDisk):
    """A disk whose folder is copied after each write, as a kill would leave it."""

    def __init__(self, folder: Path, copies: Path) -> None:
        super().__init__(folder, durable=False)
        self.copied: list[Path] = []
        self.watched = True
        self._place, self._copies = folder, copies

    def _file(self, path: Path, *, create: bool) -> RealFile:
        file = WatchedFile(path, create=create, durable=False)
        file.wrote = self._copy
        return file

    def _copy(self) -> None:
        if not self.watched:
            return
        to = self._copies / str(len(self.copied))
        shutil.copytree(self._place, to)
        self.copied.append(to)


def changed(store: Store, chance: random.Random, times: int) -> None:
    """Durable changes of random pages, more of them than the cache holds."""
    for _ in range(times):
        with store.begin() as transaction:
            for number in chance.sample(range(1, PAGES + 1), 6):
                transaction.page(number)[200:4200] = chance.randbytes(4000)
        store.flush()


def killed_at_work(folder: Path, chance: random.Random) -> None:
    """A database at work, its last changes in the log alone."""
    folder.mkdir()
    store = Store.create(
        RealDisk(folder, durable=False), NAME, page_size=8192, cache_pages=CACHED, now=1e9,
        chance=chance,
    )  # fmt: skip
    with store.begin() as transaction:
        transaction.extend(PAGES)
    store.checkpoint()
    changed(store, chance, 30)


@pytest.mark.slow
@pytest.mark.parametrize("clean", [False, True])
def test_each_moment_of_an_opening_and_a_shutdown_leaves_a_copy_that_mounts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    clean: bool,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    chance, folder = random.Random(1), tmp_path / "engine"
    killed_at_work(folder, chance)
    if clean:
        Store.open(RealDisk(folder), NAME, cache_pages=CACHED, now=2e9).close(2e9)
    copies = tmp_path / "copies"
    copies.mkdir()
    disk = WatchedDisk(folder, copies)
    store = Store.open(disk, NAME, cache_pages=CACHED, now=3e9)
    assert store.recovered != clean
    changed(store, chance, 3)
    disk.watched, generation = False, store.log_generation
    while store.log_positions[1] % GENERATION_BYTES < GENERATION_BYTES - 30_000:
        changed(store, chance, 1)
    disk.watched = True
    changed(store, chance, 3)
    assert store.log_generation == generation + 1
    store.checkpoint()
    store.close(4e9)
    assert len(disk.copied) > 20
    for copy in disk.copied:
        # 0 is "it mounts, as it is or after a replay of logs that are all there".
        assert main(["check", str(copy / NAME)]) == 0, copy.name
        kept = RealDisk(copy, durable=False)
        Store.open(kept, NAME, cache_pages=CACHED, now=5e9).close(5e9)
