"""The built-in plans: each database is what its name says, measured with the engine itself."""

import random
from itertools import pairwise
from typing import NamedTuple

import msgspec
import pytest

from eselab.base.clock import VirtualClock
from eselab.base.plan import DatabasePlan, Plan, opening
from eselab.base.profiles import PROFILES
from eselab.disk.disk import SimDisk
from eselab.logs.counters import Counters
from eselab.machine.workload import Mail
from eselab.maintenance.defrag import Defrag
from eselab.maintenance.schedule import Schedule, Task
from eselab.storage.database import Database
from tests.eselab.defragging import Recorder, at
from tests.eselab.mailing import MIDNIGHT, NAME
from tests.support.campaign import some

BANDS = {"quiet": (100.0, 1e9), "steady": (50.0, 100.0), "busy": (0.0, 50.0)}
STORIES = ["healthy", "too-long", "too-short", "shared-disk", "bad-page"]


class Nights(NamedTuple):
    """What was measured. Per night: pages read and freed by online defragmentation."""

    read: list[int]
    freed: list[int]
    events: list[object]
    used: list[int]
    """Pages in use after each night, before the first one too."""

    def ratios(self, nights: int) -> list[float]:
        """Of sums over so many nights, from each night on."""
        spans = [slice(at, at + nights) for at in range(len(self.read) - nights + 1)]
        return [sum(self.read[span]) / max(1, sum(self.freed[span])) for span in spans]


def measured(plan: DatabasePlan, count: int, seed: int) -> Nights:
    """`count` nights of a database in virtual time, without scans."""
    disk, clock, chance = SimDisk(random.Random(seed)), VirtualClock(MIDNIGHT), random.Random(seed)
    made = Database.create(
        disk, NAME, page_size=plan.page_size, cache_pages=plan.pages, now=MIDNIGHT, chance=chance
    )
    Mail(made, plan.mail, plan.window.period, clock, chance).build(plan.pages)
    made.close(MIDNIGHT)
    database = Database.open(disk, NAME, cache_pages=plan.cache_pages, now=MIDNIGHT)
    reports, counters, schedule = Recorder(), Counters(), Schedule(clock)
    defrag = Defrag(database, reports, counters, clock, pause=plan.defrag_pause)
    totals, used = [(0, 0)], [database.store.pages - database.space.free_pages()]

    def maintain() -> Task:
        while True:
            now = clock.now()
            found = opening(plan.window, now, scan=plan.scan)
            yield max(0.0, found.begin - now)
            yield from defrag.invocation(at(found.middle))
            totals.append((counters.defrag_pages_read, counters.defrag_pages_freed))
            used.append(database.store.pages - database.space.free_pages())
            database.store.checkpoint()
            yield found.end - clock.now()

    schedule.start(Mail(database, plan.mail, plan.window.period, clock, chance).work())
    schedule.start(maintain())
    schedule.run(MIDNIGHT + count * plan.window.period)
    schedule.close()
    steps = list(pairwise(totals))
    return Nights(
        [after[0] - before[0] for before, after in steps],
        [after[1] - before[1] for before, after in steps],
        reports.ids(),
        used,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", BANDS)
def test_a_week_of_a_profile_is_in_its_band_and_each_pass_takes_one_night(name: str) -> None:
    nights = measured(PROFILES[name]().databases[0], 7, 1)
    low, high = BANDS[name]
    assert len(nights.read) == 7
    assert nights.events == [700, 701] * 7
    assert all(low < ratio < high for ratio in nights.ratios(7))


@pytest.mark.slow
@pytest.mark.parametrize("name", BANDS)
def test_each_week_is_in_its_band_whatever_the_seed(name: str) -> None:
    low, high = BANDS[name]
    for seed in some(range(10), 4):
        nights = measured(PROFILES[name]().databases[0], 20, seed)
        assert len(nights.read) == 20
        assert all(low < ratio < high for ratio in nights.ratios(7))
        assert nights.events == [700, 701] * 20
        assert max(nights.used) < 1.15 * nights.used[0]
        assert min(nights.used) > 0.85 * nights.used[0]


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_is_a_plan_that_json_can_say(name: str) -> None:
    plan = PROFILES[name]()
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan
    names = [database.name for database in plan.databases]
    assert len(set(names)) == len(names)
    assert {database.device for database in plan.databases} - {""} == {
        device.name for device in plan.devices
    }
    assert {fault.database for fault in plan.faults} <= set(names)


@pytest.mark.parametrize("name", PROFILES)
def test_the_cache_is_much_smaller_than_the_database(name: str) -> None:
    assert all(10 * one.cache_pages < one.pages for one in PROFILES[name]().databases)


def test_the_month_has_all_three() -> None:
    assert [one.name for one in PROFILES["month"]().databases] == list(BANDS)


def test_the_demo_has_five_databases_of_which_two_share_a_disk() -> None:
    plan = PROFILES["demo"]()
    devices = {one.name: one.device for one in plan.databases}
    assert list(devices) == STORIES
    assert devices["shared-disk"] == devices["bad-page"] != devices["healthy"]
    assert len({(device.seek, device.rate) for device in plan.devices}) == 1


@pytest.mark.slow
def test_the_demo_frees_pages_as_its_stories_say() -> None:
    plans = {one.name: one for one in PROFILES["demo"]().databases}
    healthy = measured(plans["healthy"], 5, 1)
    assert 50 < healthy.ratios(5)[0] < 100
    assert healthy.events == [700, 701] * 5
    assert measured(plans["too-long"], 5, 1).ratios(5)[0] > 100
    short = measured(plans["too-short"], 5, 1)
    assert short.ratios(5)[0] < 50
    assert short.events == [700, 704, *[702, 704] * 4]
