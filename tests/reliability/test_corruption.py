"""Damage of every kind to the journal: the figures are those of a fresh reading again."""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from esewatch.config import LogFiles, Settings
from esewatch.daemon import poller
from esewatch.daemon.loop import Daemon
from esewatch.journal import Journal
from esewatch.sources.registry import build_sources
from tests.reliability.server import Server
from tests.reliability.test_kill import figures
from tests.support.campaign import COMMAND, some
from tests.support.figures import record

Damage = Callable[[Path, random.Random], None]
"""Changes the files of the journal `j.db` in a folder."""


def settings(logs: Path) -> Settings:
    kinds = (("evtx", "*.evtx"), ("event_stream", "*.ndjson"), ("perfmon_csv", "*.csv"))
    sources = [LogFiles(type=kind, name=kind, paths=[f"{logs}/{glob}"]) for kind, glob in kinds]  # type: ignore[arg-type]
    return Settings(sources=list(sources))


def read_once(daemon: Daemon) -> None:
    """All that is there now, stored."""
    for source in list(daemon._shared.sources):
        daemon._poll(source)
    assert daemon._try_commit()


def shown(daemon: Daemon) -> dict[str, float]:
    """Its figures as they are exposed."""
    daemon.publisher.publish()
    text = daemon.publisher.snapshot.render()[0].decode()
    return figures(
        {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }
    )


def read(folder: Path, logs: Path) -> tuple[Daemon, dict[str, float]]:
    """A daemon that has read what is there, and its figures."""
    found = settings(logs)
    daemon = Daemon(found, Journal(folder / "j.db"), build_sources(found))
    read_once(daemon)
    return daemon, shown(daemon)


@pytest.fixture(autouse=True, scope="module")
def _patience() -> Iterator[None]:
    """A source is waited for on a busy machine, too: what is read is read in one go."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(poller, "PATIENCE_SECONDS", 60.0)
        yield


@pytest.fixture(name="logs", scope="module")
def _logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logs = tmp_path_factory.mktemp("logs")
    server = Server(logs, seed=11)
    for _ in range(150):
        server.tick()
    server.finish()
    return logs


@pytest.fixture(name="fresh", scope="module")
def _fresh(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """The figures of a fresh reading."""
    daemon, found = read(tmp_path_factory.mktemp("fresh"), logs)
    daemon.close()
    assert len(found) > 15
    return found


@pytest.fixture(name="images", scope="module")
def _images(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The journal after a stop, and as a `kill -9` leaves it, most of it in the WAL."""
    stopped, killed = tmp_path_factory.mktemp("stopped"), tmp_path_factory.mktemp("killed")
    daemon, _ = read(stopped, logs)
    for path in stopped.glob("j.db*"):
        shutil.copy(path, killed)
    daemon.close()
    assert (killed / "j.db-wal").stat().st_size > 4096
    return {"stopped": stopped, "killed": killed}


def over(name: str) -> Damage:
    """Random bytes over a random piece of a file."""

    def damage(folder: Path, rng: random.Random) -> None:
        path = folder / name
        data = bytearray(path.read_bytes())
        size = min(len(data), rng.choice((1, 16, 512, 4096, 20_000)))
        at = rng.randrange(len(data) - size + 1)
        data[at : at + size] = rng.randbytes(size)
        path.write_bytes(data)

    return damage


def cut(name: str) -> Damage:
    """Only a beginning of the file is left."""

    def damage(folder: Path, rng: random.Random) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: rng.randrange(len(data))])

    return damage


def zeroed(folder: Path, rng: random.Random) -> None:
    """The header is zeros, or the whole first page."""
    path = folder / "j.db"
    size = rng.choice((16, 100, 4096))
    path.write_bytes(bytes(size) + path.read_bytes()[size:])


def without_wal(folder: Path, _: random.Random) -> None:
    (folder / "j.db-wal").unlink()


def without_index(folder: Path, _: random.Random) -> None:
    (folder / "j.db-shm").unlink()


def no_database(folder: Path, rng: random.Random) -> None:
    (folder / "j.db").write_bytes(rng.randbytes(50_000))


DAMAGES: dict[str, tuple[str, Damage]] = {
    "random bytes": ("stopped", over("j.db")),
    "random bytes, after a kill": ("killed", over("j.db")),
    "random bytes in the WAL": ("killed", over("j.db-wal")),
    "random bytes in the index of the WAL": ("killed", over("j.db-shm")),
    "truncated": ("stopped", cut("j.db")),
    "truncated WAL": ("killed", cut("j.db-wal")),
    "zeroed header": ("stopped", zeroed),
    "WAL missing": ("killed", without_wal),
    "index of the WAL missing": ("killed", without_index),
    "another content": ("stopped", no_database),
}


def damaged(image: Path, folder: Path, damage: Damage, seed: int) -> None:
    shutil.copytree(image, folder)
    damage(folder, random.Random(seed))


@pytest.mark.fault(
    "the journal or its WAL is damaged, cut or lost",
    provoked="10 kinds of damage, each at 5 random places",
    lost="nothing that is in the logs",
    again="the next start: all is read again, or from an earlier commit",
)
@pytest.mark.parametrize("name", DAMAGES)
def test_the_figures_after_damage_are_those_of_a_fresh_reading(
    name: str, images: dict[str, Path], logs: Path, fresh: dict[str, float], tmp_path: Path
) -> None:
    image, damage = DAMAGES[name]
    for seed in range(5):
        folder = tmp_path / str(seed)
        damaged(images[image], folder, damage, seed)
        daemon, found = read(folder, logs)
        daemon.close()
        assert found == fresh, f"seed {seed}"


@pytest.mark.parametrize("name", ["zeroed header", "another content"])
def test_damage_that_cannot_be_overlooked_is_set_aside(
    name: str, images: dict[str, Path], logs: Path, tmp_path: Path
) -> None:
    image, damage = DAMAGES[name]
    damaged(images[image], tmp_path / "a", damage, 1)
    before = (tmp_path / "a" / "j.db").read_bytes()
    daemon, _ = read(tmp_path / "a", logs)
    daemon.close()
    assert (tmp_path / "a" / "j.db.damaged-1").read_bytes() == before


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_damage_of_every_kind_many_times(
    images: dict[str, Path], logs: Path, fresh: dict[str, float], tmp_path: Path
) -> None:
    aside, seeds = 0, some(range(100, 140), 10)
    for name, (image, damage) in DAMAGES.items():
        for seed in seeds:
            folder = tmp_path / "journal"
            damaged(images[image], folder, damage, seed)
            daemon, found = read(folder, logs)
            aside += daemon._shared.journal.set_aside is not None
            daemon.close()
            assert found == fresh, f"{name}, seed {seed}"
            shutil.rmtree(folder)
    record(
        f"damage to the journal, of {len(DAMAGES)} kinds, at random places",
        f"{len(seeds) * len(DAMAGES)} journals, {aside} set aside and rebuilt, the others whole; "
        f"{len(fresh)} figures compared, 0 wrong",
        COMMAND,
    )
