"""Online defragmentation over a month of nights: it frees what it says, and goes on from any point.

What a pass frees is in its event, kept in the database, counted, and seen in the space map.
"""

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eselab.base.plan import DAY, DatabasePlan, MailPlan, Plan, WindowPlan
from eselab.check.check import check
from eselab.disk.disk import RealDisk
from eselab.machine.machine import Machine
from eselab.maintenance.defrag import TABLE, DefragState
from eselab.storage.database import Database
from tests.eselab.page_sizes import SIZES
from tests.eselab.running import START, end_as_if_killed, machine
from tests.support.campaign import some

NAME = "a"
DAYS = 30
QUIET = WindowPlan(offset=3660.0, length=1500.0)
"""Open between two steps of the mail work: nothing else gives or takes pages then."""


def plan(page_size: int, pause: float, window: WindowPlan) -> Plan:
    """One database with much to do for its size."""
    database = DatabasePlan(
        name=NAME,
        page_size=page_size,
        pages=(1 << 20) // page_size,
        cache_pages=20,
        window=window,
        mail=MailPlan(mailboxes=8, kept=6.0),
        defrag_pause=pause,
        scan=False,
    )
    return Plan(databases=[database], sample=600.0)


def slow_plan(page_size: int) -> Plan:
    """One whose passes take more than a window of four hours, however many pages there are."""
    return plan(page_size, page_size / 60.0, WindowPlan(length=4 * 3600.0))


def state(database: Database) -> DefragState:
    """What the database has of its passes."""
    return database.state(TABLE, DefragState) or DefragState()


def live(running: Machine) -> Database:
    return running.instances[NAME].database


def truth(folder: Path) -> dict[str, Any]:
    """`truth.json`: the metrics of the database and those of the instance, merged."""
    told = msgspec.json.decode((folder / "truth.json").read_bytes())
    (database,) = told["databases"].values()
    return {**database, **told["instances"][NAME]}


def left(folder: Path) -> DefragState:
    """Of a database that is closed. It is opened for it."""
    database = Database.open(RealDisk(folder / NAME), f"{NAME}.edb", cache_pages=20, now=START)
    found = state(database)
    database.close(START)
    return found


def check_figures(folder: Path) -> int:
    """Events and database agree; the pages freed."""
    found, told = left(folder), truth(folder)
    reported = told["ese_defrag_reported_pages_freed_total"][""]
    assert found.total_freed == reported + (found.pages_freed if found.is_open else 0)
    assert told["ese_passes_completed_total"]['task="defrag"'] == found.completions
    checked = check(RealDisk(folder / NAME), f"{NAME}.edb")
    assert checked.faults == []
    return found.total_freed


@pytest.mark.slow
@pytest.mark.parametrize("page_size", SIZES)
def test_each_night_so_many_pages_are_free_as_it_says_that_it_freed(
    tmp_path: Path, page_size: int
) -> None:
    running = machine(tmp_path, plan(page_size, 1.0, QUIET))
    database = live(running)
    for night in range(DAYS):
        running.run(START + night * DAY + QUIET.offset - 5.0)
        free, freed = database.space.free_pages(), state(database).total_freed
        pages = database.store.pages
        running.run(START + night * DAY + QUIET.offset + QUIET.length + 5.0)
        assert database.space.free_pages() - free == state(database).total_freed - freed
        assert database.store.pages == pages
        assert state(database).completions == night + 1
    running.close()
    freed = check_figures(tmp_path)
    assert freed > 10
    # All of it in passes of one night, and counted in between.
    told = truth(tmp_path)
    assert told["ese_defrag_pages_freed_total"][""] == freed
    assert told["ese_defrag_reported_pages_freed_total"][""] == freed


def check_stops(tmp_path: Path, seed: int) -> None:
    """A month with stops at any time: passes go on, and all figures agree."""
    chance = random.Random(seed)
    wanted = slow_plan(SIZES[seed % len(SIZES)])
    now = START
    while now < START + DAYS * DAY:
        running = machine(tmp_path, wanted)
        running.run(running.now() + _some_time(chance))
        now = running.now()
        running.close()
    freed = check_figures(tmp_path)
    told = truth(tmp_path)
    assert told["ese_defrag_pages_freed_total"][""] == freed
    assert told["ese_passes_interrupted_total"]['task="defrag"'] > 5
    assert told["ese_passes_completed_total"]['task="defrag"'] > 2
    assert freed > 10


def check_kills(tmp_path: Path, seed: int) -> None:
    """A month with kills at any time: no page is lost that it said it freed."""
    chance = random.Random(seed)
    wanted = slow_plan(SIZES[seed % len(SIZES)])
    folder = tmp_path / "run"
    now, sure = START, 0
    while now < START + DAYS * DAY:
        running = machine(folder, wanted)
        found = state(live(running))
        assert found.total_freed >= sure
        counted = running.instances[NAME].counters.defrag_pages_freed
        assert counted == 0
        running.run(running.now() + _some_time(chance))
        now = running.now()
        after = state(live(running))
        counted = running.instances[NAME].counters.defrag_pages_freed
        assert after.total_freed == found.total_freed + counted
        live(running).store.flush()
        sure = after.total_freed
        end_as_if_killed(running, folder)
    machine(folder, wanted).close()
    assert check_figures(folder) >= sure > 10


@pytest.mark.slow
def test_stopped_at_any_time_a_pass_goes_on_and_all_figures_agree(tmp_path: Path) -> None:
    check_stops(tmp_path, 1)


@pytest.mark.slow
def test_killed_at_any_time_it_loses_no_page_that_it_said_it_freed(tmp_path: Path) -> None:
    check_kills(tmp_path, 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(range(100, 116), 3))
def test_a_month_with_any_stops_and_a_month_with_any_kills_agree(tmp_path: Path, seed: int) -> None:
    check_stops(tmp_path / "stops", seed)
    check_kills(tmp_path / "kills", seed)


def _some_time(chance: random.Random) -> float:
    """Mostly to some moment of a window, so that passes are met at work."""
    return chance.choice((chance.uniform(0.0, 4.0), chance.uniform(16.0, 30.0))) * 3600.0
