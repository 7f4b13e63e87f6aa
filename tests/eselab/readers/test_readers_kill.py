"""Databases of months and of many kills are opened by other programs, with all that was written."""

import random
from pathlib import Path

import pytest

from esefiles.scans.structure.structure_check import check_structure
from eselab.base.plan import DatabasePlan, MailPlan, Plan, WindowPlan
from eselab.check.check import check
from eselab.disk.disk import RealDisk
from tests.eselab.page_sizes import SIZES
from tests.eselab.readers.test_readers import expect_read
from tests.eselab.running import end_as_if_killed, machine
from tests.support.campaign import COMMAND, number_of
from tests.support.figures import record

DAY = 86_400.0


def plan() -> Plan:
    """A database of each page size, with zeroing and online defragmentation every night."""
    databases = [
        DatabasePlan(
            name=f"db{size}",
            page_size=size,
            pages=max(60, (1 << 20) // size),
            cache_pages=30,
            window=WindowPlan(offset=3600.0, length=4 * 3600.0),
            mail=MailPlan(mailboxes=3, kept=6.0),
            zero=True,
            defrag_pause=2.0,
        )
        for size in SIZES
    ]
    return Plan(databases=databases, sample=600.0)


def check_life(folder: Path, *, days: float, kills: int, seed: int) -> int:
    """Live so long, killed so often, closed in the end; the records that both readers read."""
    chance = random.Random(seed)
    for run in range(kills):
        running = machine(folder, plan(), seed=seed + run)
        running.run(running.now() + chance.uniform(0.1, 1.9) * days / kills * DAY)
        end_as_if_killed(running, folder)
    running = machine(folder, plan(), seed=seed + kills)
    running.run(running.now() + DAY)
    running.close()
    read = 0
    for size in SIZES:
        name, disk = f"db{size}.edb", RealDisk(folder / f"db{size}")
        path = folder / f"db{size}" / name
        checked = check(disk, name)
        assert (checked.faults, checked.bad) == ([], [])
        found = check_structure(str(path))
        assert (found.checked, found.errors, found.lost_pages) == (True, [], 0)
        expect_read(path, disk, name)
        read += checked.records
    return read


@pytest.mark.slow
def test_four_days_and_three_kills(tmp_path: Path) -> None:
    assert check_life(tmp_path / "life", days=4.0, kills=3, seed=1) > 1000


@pytest.mark.minutes
@pytest.mark.slow
def test_up_to_four_hundred_days_and_a_hundred_kills(tmp_path: Path) -> None:
    kills = number_of(100, 25)
    read = check_life(tmp_path / "life", days=4.0 * kills, kills=kills, seed=2)
    assert read > 1000
    record(
        f"kills of an engine in {4 * kills} virtual days, its databases of four page sizes read by"
        " libesedb and dissect.esedb",
        f"{kills} kills, {read:,} records as they were written",
        COMMAND,
    )
