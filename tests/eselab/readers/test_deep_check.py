"""`esewatch check --deep` finds every database of the engine sound, whatever happened to it."""

import random
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import msgspec
import pytest

from esefiles.scans.lost_writes import lost_writes
from esefiles.scans.structure.structure_check import Structure, check_structure
from eselab.base.plan import CopyPlan, DatabasePlan, MailPlan, Plan
from eselab.logs.counters import Counters
from eselab.maintenance.defrag import Defrag
from eselab.maintenance.zeroing import DatabaseZeroing
from tests.eselab import defragging, zeroed
from tests.eselab.killing import ROOT
from tests.eselab.mailing import NAME, PLAN, SimLife, built
from tests.eselab.page_sizes import SIZES, each_page_size
from tests.eselab.running import run
from tests.support.each import of_each

CACHE = 30


def crashed(life: SimLife) -> SimLife:
    return SimLife(life.disk.crash(), plan=PLAN, now=life.clock.now(), cache_pages=CACHE)


def a_pass(life: SimLife, kind: type[Defrag | DatabaseZeroing], steps: int = 1000) -> None:
    """A pass of online maintenance, or its first steps, with mail between them."""
    life.database.store.counts_deleted = True
    recorder = defragging.Recorder() if kind is Defrag else zeroed.Recorder()
    work = kind(life.database, recorder, Counters(), life.clock, pause=0.0)
    for _ in islice(work.invocation(lambda: zeroed.LONG), steps):
        life.days(0.01)


def as_new(life: SimLife) -> SimLife:
    return life


def worked(life: SimLife) -> SimLife:
    life.days(1)
    return life


def recovered(life: SimLife) -> SimLife:
    for _ in range(4):
        life.days(0.2)
        life = crashed(life)
    return life


def defragmented(life: SimLife) -> SimLife:
    for _ in range(3):
        a_pass(life, Defrag)
    return life


def zeroed_whole(life: SimLife) -> SimLife:
    for _ in range(2):
        a_pass(life, DatabaseZeroing)
    return life


def all_of_it(life: SimLife) -> SimLife:
    """Crashes within the work and within both tasks."""
    chance = random.Random(3)
    for kind in (Defrag, DatabaseZeroing, Defrag):
        life.days(0.3)
        a_pass(life, kind, chance.randrange(1, 12))
        life = crashed(life)
    return life


STATES: dict[str, Callable[[SimLife], SimLife]] = {
    state.__name__: state
    for state in (
        as_new,
        worked,
        recovered,
        defragmented,
        zeroed_whole,
        all_of_it,
    )
}


def written(life: SimLife, folder: Path) -> Path:
    """All files of its disk, as they are; the database among them."""
    folder.mkdir(exist_ok=True)
    for name in life.disk.names():
        file = life.disk.open(name)
        (folder / name).write_bytes(file.read(0, file.size()))
        file.close()
    return folder / NAME


def no_fault(path: Path) -> Structure:
    """What was found, of which nothing is an error, and no write is lost."""
    found = check_structure(str(path))
    assert [error.sentence for error in found.errors] == []
    lost = lost_writes(str(path), str(path.with_suffix(".jfm")))
    assert lost.pages == []
    return found


@pytest.mark.parametrize(
    "page_size", [4096, *(pytest.param(size, marks=pytest.mark.slow) for size in SIZES[1:])]
)
@of_each(STATES)
def test_every_database_that_was_shut_down_is_sound(
    state: str, page_size: int, tmp_path: Path
) -> None:
    life = STATES[state](built(80, page_size=page_size, cache_pages=CACHE))
    life.database.close(life.clock.now())
    path = written(life, tmp_path / state)
    found = no_fault(path)
    assert (found.checked, found.remarks, found.lost_pages) == (True, [], 0)
    assert sum(tree.records for tree in found.trees if tree.kind == "table") > 100
    writes = lost_writes(str(path), str(path.with_suffix(".jfm")))
    assert (writes.state, writes.pages, writes.undecided) == ("compared", [], 0)
    assert writes.compared > 100


@pytest.mark.slow
@each_page_size
@of_each(STATES)
def test_no_page_of_a_database_that_is_in_use_or_crashed_is_called_wrong(
    state: str, page_size: int, tmp_path: Path
) -> None:
    life = STATES[state](built(80, page_size=page_size, cache_pages=CACHE))
    life.days(0.1)
    in_use = no_fault(written(life, tmp_path / state))
    life.disk = life.disk.crash()
    left = no_fault(written(life, tmp_path / f"{state} crashed"))
    for found in (in_use, left):
        assert "only single pages were checked" in found.reason
        assert found.pages > 40


@pytest.mark.slow
def test_the_command_says_so_of_each_database_of_a_run(tmp_path: Path) -> None:
    databases = [
        DatabasePlan(
            name=f"db{page_size}",
            page_size=page_size,
            pages=max(60, (1 << 20) // page_size),
            cache_pages=CACHE,
            mail=MailPlan(kept=6.0),
            zero=True,
            copies=[CopyPlan(computer="EX02")],
        )
        for page_size in SIZES
    ]
    run(tmp_path, Plan(databases=databases, sample=600.0), 3.0)
    paths = sorted(tmp_path.rglob("*.edb"))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.esefiles.commands.one_disk",
            "check",
            "--deep",
            "--format",
            "json",
            *paths,
        ],
        capture_output=True,
        check=False,
        cwd=ROOT,
    )
    assert done.stderr == b""
    found = [msgspec.json.decode(line) for line in done.stdout.splitlines()]
    assert {each["path"] for each in found} == {str(path) for path in paths}
    assert len(paths) == 2 * len(SIZES)
    for each in found:
        # A copy is in recovery, and dirty.
        is_copy = "EX02" in each["path"]
        assert each["state"] == ("dirty" if is_copy else "clean")
        assert each["structure"]["checked"] is not is_copy
        assert (each["structure"]["errors"], each["lost_writes"]) == ([], [])
        assert (each["verdict"] == "restorable") is not is_copy
