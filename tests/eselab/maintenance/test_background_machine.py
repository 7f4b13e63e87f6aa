"""Machines of a current engine: their logs, what the agent makes of them, stops and kills."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eselab.base.plan import DAY, DatabasePlan, FaultPlan, Plan
from eselab.base.programs import PROGRAMS
from eselab.check.check import check
from eselab.disk.disk import RealDisk
from eselab.machine.machine import OpenError
from tests.eselab.background import current_plan
from tests.eselab.machine.test_machine import files
from tests.eselab.mailing import Model, expect_consistent
from tests.eselab.running import (
    end_as_if_killed,
    forget_filled,
    keep_journal,
    machine,
    random_plan,
    run,
)
from tests.support.campaign import some
from tests.support.engine_truth import agent_families, differences


def told(folder: Path) -> dict[str, int]:
    """The events of `truth.json` by id."""
    return {label.split('"')[1]: count for label, count in truth_of(folder)["events"].items()}


def truth_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode((folder / "truth.json").read_bytes())
    return found


def expect_agreement(folder: Path, now: float) -> None:
    assert differences(folder / "truth.json", agent_families(folder, now)) == []


def info(folder: Path, now: float) -> dict[str, str]:
    """The labels by which the agent knows the only database."""
    (family,) = [
        family for family in agent_families(folder, now) if family.name == "ese_database_info"
    ]
    (sample,) = family.samples
    return dict(sample.labels)


@pytest.mark.slow
def test_an_active_copy_is_scanned_all_day_and_no_window_is_told(tmp_path: Path) -> None:
    now = run(tmp_path, current_plan(), 12.0)
    events = told(tmp_path)
    counts = [events[event_id] for event_id in ("728", "736", "737", "744")]
    assert counts == [12, 5, 5, 29]
    assert not {*map(str, range(700, 728)), "732", "733", "735", "738", "745"} & events.keys()
    expect_agreement(tmp_path, now)
    (database,) = truth_of(tmp_path)["databases"].values()
    assert database["ese_passes_completed_total"]['task="checksum"'] == 5
    assert database["ese_index_defrag_pages_freed_total"][""] > 0
    assert 0 < database["ese_database_free_bytes"][""] < 120 * 8192
    assert "ese_last_full_verification_timestamp_seconds" in database


@pytest.mark.parametrize("role", ["active", "passive"])
def test_the_agent_takes_the_model_background_for_it(tmp_path: Path, role: str) -> None:
    now = run(tmp_path, current_plan(role=role), 1.0)
    labels = info(tmp_path, now)
    found = (labels["model"], labels["role"], labels["generation"])
    assert found == ("background", role, "current")


@pytest.mark.slow
def test_a_pass_of_more_than_seven_days_is_told_as_late(tmp_path: Path) -> None:
    now = run(tmp_path, current_plan(scan_pace=2.0), 14.0)
    events = told(tmp_path)
    assert (events["735"], events.get("737", 0)) == (1, 0)
    expect_agreement(tmp_path, now)


@pytest.mark.slow
def test_a_passive_copy_tells_of_checksumming_and_is_late_each_day(tmp_path: Path) -> None:
    plan = current_plan(role="passive", scan_pace=2.0)
    now = run(tmp_path, plan, 8.0)
    events = told(tmp_path)
    assert (events["733"], events["745"]) == (1, 1)
    now = run(tmp_path, plan, 7.0)
    events = told(tmp_path)
    assert (events["719"], events["732"]) == (1, 1)
    assert events["733"] >= 4
    assert not {"728", *map(str, range(734, 745))} & events.keys()
    expect_agreement(tmp_path, now)


def test_a_stop_within_a_pass_interrupts_it_and_the_next_run_resumes_it(tmp_path: Path) -> None:
    plan = current_plan()
    for _ in range(3):
        now = run(tmp_path, plan, 0.6)
        expect_agreement(tmp_path, now)
    events = told(tmp_path)
    assert (events["736"], events["738"], events["737"]) == (1, 2, 1)
    (database,) = truth_of(tmp_path)["databases"].values()
    assert database["ese_passes_interrupted_total"]['task="checksum"'] == 2


def test_a_database_without_a_scan_is_defragmented_alone(tmp_path: Path) -> None:
    now = run(tmp_path, current_plan(scan=False), 3.0)
    events = told(tmp_path)
    assert events["728"] == 3
    assert "736" not in events
    expect_agreement(tmp_path, now)


@pytest.mark.slow
def test_a_bad_page_within_the_pass_leaves_the_copy_unverified(tmp_path: Path) -> None:
    plan = current_plan(scan_pace=20.0, pages=400, cache_pages=20)
    faults = [FaultPlan(at=100.0, database="a", kind="flip_two", page=390)]
    now = run(tmp_path, msgspec.structs.replace(plan, faults=faults), 4.0)
    events = told(tmp_path)
    assert events["474"] >= 1
    assert events["737"] >= 1
    (database,) = truth_of(tmp_path)["databases"].values()
    assert "ese_last_full_verification_timestamp_seconds" not in database
    expect_agreement(tmp_path, now)


def test_the_counters_have_the_names_of_current_engines(tmp_path: Path) -> None:
    run(tmp_path, current_plan(), 1.0)
    header, *rows = (tmp_path / "counters.csv").read_text().splitlines()
    names = [cell.strip('"').rsplit("\\", 1)[1] for cell in header.split(",")[1:]]
    assert "Database Maintenance Pages Read" in names
    assert "Online Maintenance" not in header
    assert f"Instances({PROGRAMS['exchange', 'current'].process}/a)" in header
    at = names.index("Database Maintenance Duration") + 1
    durations = [int(row.split(",")[at].strip('"')) for row in rows]
    # Of the last row but one: the very last one is written when all is stopped.
    assert durations[-2] == pytest.approx(DAY - 300, abs=301)
    assert durations[-1] == 1
    assert durations[:-1] == sorted(durations[:-1])


@pytest.mark.slow
def test_an_engine_may_be_of_another_generation_after_a_stop(tmp_path: Path) -> None:
    current = current_plan()
    (database,) = current.databases
    old = msgspec.structs.replace(
        current, databases=[msgspec.structs.replace(database, generation="2007")]
    )
    for plan in (old, current, old, current):
        now = run(tmp_path, plan, 2.2)
        found = differences(tmp_path / "truth.json", agent_families(tmp_path, now))
        # The generations of the log between two processes of different names.
        assert [line for line in found if not line.startswith("ese_log_generations_total")] == []
    assert {"701", "721", "728", "737"} <= told(tmp_path).keys()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        forget_filled()
        folder = tmp_path / "run"
        run(folder, current_plan(), 2.5, seed=7)
        run(folder, current_plan(), 1.2, seed=7)
        found.append(files(folder))
        folder.rename(tmp_path / f"done{len(found)}")
    assert found[0] == found[1]


def random_current(chance: random.Random, *, faults: int, roles: bool = True) -> Plan:
    plan = random_plan(chance, days=1.0, faults=faults)
    return msgspec.structs.replace(
        plan, databases=[_current(database, chance, roles) for database in plan.databases]
    )


def _current(database: DatabasePlan, chance: random.Random, roles: bool) -> DatabasePlan:
    size = database.pages * database.page_size
    return msgspec.structs.replace(
        database,
        generation="current",
        role=chance.choice(("active", "active", "passive")) if roles else "active",
        scan_pace=size / (chance.choice((0.1, 0.5, 1.5, 9.0)) * DAY),
    )


def check_random(folder: Path, seed: int, *, days: float = 2.5) -> Counter[str]:
    """Three runs of a random plan with faults; the events by id."""
    chance = random.Random(seed)
    plan = random_current(chance, faults=4)
    for number in range(3):
        try:
            now = run(folder, plan, chance.uniform(1.0, days), seed=seed)
        except OpenError:
            # A fault took the catalog of a database: what was said before that holds.
            assert number
            break
        expect_agreement(folder, now)
    return Counter(told(folder))


@pytest.mark.slow
def test_on_random_plans_with_faults_the_agent_says_what_the_truth_says(tmp_path: Path) -> None:
    events = Counter[str]()
    for seed in (500, 503, 505):
        events += check_random(tmp_path / str(seed), seed)
    assert {"717", "719", "728", "732", "736", "737", "738", "744", "745"} <= events.keys()


@pytest.mark.slow
@pytest.mark.parametrize("seed", some((501, 502, 504, 506, 507, *range(600, 630)), 4))
def test_on_more_random_plans(tmp_path: Path, seed: int) -> None:
    assert check_random(tmp_path / "run", seed, days=9.0)["102"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_machine_that_is_killed_again_and_again_keeps_all_mail(tmp_path: Path, seed: int) -> None:
    chance, folder = random.Random(seed), tmp_path / "run"
    plan = random_current(chance, faults=0, roles=False)
    models: dict[str, Model] = {}
    for _ in range(8):
        running = machine(folder, plan, seed=seed)
        for name, instance in running.instances.items():
            records = instance._mail.records()
            expect_consistent(records)
            assert name not in models or models[name].allows(records)
            models[name] = Model(records)
            keep_journal(instance, models[name])
        running.run(running.now() + chance.uniform(0.1, 1.2) * DAY)
        end_as_if_killed(running, folder)
        for database in plan.databases:
            found = check(RealDisk(folder / database.name), f"{database.name}.edb")
            assert (found.faults, found.bad) == ([], [])
    running = machine(folder, plan, seed=seed)
    running.close()
    expect_agreement(folder, running.now())
