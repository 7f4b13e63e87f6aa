"""Machines whose scans zero pages: their logs, what the agent makes of them, mail that is gone."""

import random
from collections import Counter
from pathlib import Path
from statistics import mean

import msgspec
import pytest

from eselab.base.plan import DAY, DatabasePlan, MailPlan, Plan, WindowPlan
from eselab.base.profiles import PROFILES
from eselab.check.check import check
from eselab.disk.disk import RealDisk
from eselab.logs.counters import Counters
from eselab.machine.machine import OpenError
from eselab.machine.mail import body_of
from eselab.maintenance.defrag import Defrag
from eselab.maintenance.zeroing import DatabaseZeroing
from tests.eselab import defragging
from tests.eselab.machine.test_machine import files
from tests.eselab.mailing import Life, Model, built, expect_consistent
from tests.eselab.running import (
    end_as_if_killed,
    forget_filled,
    keep_journal,
    machine,
    random_plan,
    run,
)
from tests.eselab.zeroed import LONG, Recorder, raw
from tests.support.campaign import some
from tests.support.engine_truth import agent_families, differences
from tests.support.figures import record


def plan_of(**changes: object) -> Plan:
    """A small database with windows wide enough for a pass; `changes` to it."""
    database = DatabasePlan(
        name="a", pages=120, cache_pages=40, zero=True, mail=MailPlan(kept=6.0), defrag_pause=2.0
    )
    return Plan(databases=[msgspec.structs.replace(database, **changes)], sample=300.0)


def told(folder: Path) -> dict[str, int]:
    """The events of `truth.json` by id."""
    events = msgspec.json.decode((folder / "truth.json").read_bytes())["events"]
    return {label.split('"')[1]: count for label, count in events.items()}


def expect_agreement(folder: Path, now: float) -> None:
    assert differences(folder / "truth.json", agent_families(folder, now)) == []


def test_a_scan_that_zeroes_tells_of_zeroing_in_place_of_checksumming(tmp_path: Path) -> None:
    now = run(tmp_path, plan_of(), 5.0)
    events = told(tmp_path)
    assert (events["718"], events["722"]) == (5, 5)
    assert not {"717", "719", "721", "725"} & events.keys()
    expect_agreement(tmp_path, now)
    truth = msgspec.json.decode((tmp_path / "truth.json").read_bytes())
    (database,), (instance,) = truth["databases"].values(), truth["instances"].values()
    completed = {'task="checksum"': 5, 'task="defrag"': 5, 'task="zeroing"': 5}
    assert database["ese_passes_completed_total"] == completed
    kinds = database["ese_zeroing_pages_total"]
    assert kinds['kind="deleted_records_zeroed"'] > 0
    assert kinds['kind="used"'] > kinds['kind="unused_zeroed"'] > 0
    assert kinds['kind="unreferenced_chunks_zeroed"'] == 0
    assert instance["ese_maintenance_pages_zeroed_total"][""] > kinds['kind="unused_zeroed"']


@pytest.mark.slow
def test_a_pass_that_a_window_ends_is_interrupted_and_resumed(tmp_path: Path) -> None:
    window = WindowPlan(length=3 * 3600.0)
    now = run(tmp_path, plan_of(pages=300, window=window, scan_throttle=900.0), 4.0)
    events = told(tmp_path)
    assert events["726"] == events["720"] == 2
    assert events["722"] == 2
    expect_agreement(tmp_path, now)


def test_a_run_that_ends_within_a_pass_interrupts_it(tmp_path: Path) -> None:
    plan = plan_of(pages=300, scan_throttle=900.0)
    now = run(tmp_path, plan, 3.3 / 24)
    assert told(tmp_path)["726"] == 1
    expect_agreement(tmp_path, now)


@pytest.mark.slow
def test_zeroing_may_be_switched_on_and_off_between_two_runs(tmp_path: Path) -> None:
    # A night each; a pass takes two. In the last but one the one of checksumming is open too.
    for zero in (False, True, False, True, False, True, True, False):
        now = run(tmp_path, plan_of(zero=zero, pages=240, scan_throttle=1500.0), 1.0)
        expect_agreement(tmp_path, now)
    events = told(tmp_path)
    counts = [events[str(event_id)] for event_id in range(717, 723)]
    assert counts == [2, 2, 2, 2, 2, 2]
    header = (tmp_path / "counters.csv").read_text().splitlines()
    assert sum("Pages Zeroed" in line for line in header) == 3
    checked = check(RealDisk(tmp_path / "a"), "a.edb")
    assert (checked.faults, checked.bad) == ([], [])


def test_without_zeroing_no_log_has_a_word_of_it(tmp_path: Path) -> None:
    run(tmp_path, plan_of(zero=False), 2.2)
    assert not {"718", "720", "722", "724", "726"} & told(tmp_path).keys()
    assert b"Pages Zeroed" not in (tmp_path / "counters.csv").read_bytes()
    for name in ("truth.json", "truth.jsonl"):
        for word in (b'"zeroing', b"ese_zeroing", b"pages_zeroed"):
            assert word not in (tmp_path / name).read_bytes()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        forget_filled()
        folder = tmp_path / "run"
        run(folder, plan_of(), 2.5, seed=7)
        run(folder, plan_of(), 1.2, seed=7)
        found.append(files(folder))
        folder.rename(tmp_path / f"done{len(found)}")
    assert found[0] == found[1]


def random_zeroing(chance: random.Random, *, faults: int) -> Plan:
    plan = random_plan(chance, days=1.0, faults=faults)
    databases = [
        msgspec.structs.replace(database, zero=database.scan and chance.random() < 0.7)
        for database in plan.databases
    ]
    return msgspec.structs.replace(plan, databases=databases)


def check_random(folder: Path, seed: int) -> Counter[str]:
    """Three runs of a random plan with faults; the events by id."""
    chance = random.Random(seed)
    for number in range(3):
        if number == 0:
            plan = random_zeroing(chance, faults=4)
        try:
            now = run(folder, plan, chance.uniform(1.0, 2.5), seed=seed)
        except OpenError:
            # A fault took the catalog of a database: what was said before that holds.
            assert number
            break
        expect_agreement(folder, now)
    return Counter(told(folder))


@pytest.mark.slow
def test_on_random_plans_with_faults_the_agent_says_what_the_truth_says(tmp_path: Path) -> None:
    events = Counter[str]()
    for seed in (300, 303, 304):
        events += check_random(tmp_path / str(seed), seed)
    assert {"717", "718", "720", "721", "722", "726", "474"} <= events.keys()


@pytest.mark.slow
@pytest.mark.parametrize("seed", some((301, 302, 305, 306, 307, *range(400, 430)), 4))
def test_on_more_random_plans(tmp_path: Path, seed: int) -> None:
    assert check_random(tmp_path / "run", seed)["102"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "kills"),
    [(0, 3), *((seed, 8) for seed in (0, 1, 2))],
)
def test_a_machine_that_is_killed_again_and_again_keeps_all_mail(
    tmp_path: Path, seed: int, kills: int
) -> None:
    chance, folder = random.Random(seed), tmp_path / "run"
    plan = random_zeroing(chance, faults=0)
    models: dict[str, Model] = {}
    for _ in range(kills):
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


def logged(folder: Path, profile: str, *, zero: bool) -> list[tuple[int, int]]:
    """Bytes of log of each of 30 days, and of online defragmentation among them.

    The ten days before them are without zeroing.
    """
    found, built_in = list[tuple[int, int]](), PROFILES[profile]()
    for days, zeroes in ((10, False), (30, zero)):
        (database,) = built_in.databases
        database = msgspec.structs.replace(database, zero=zeroes)
        running = machine(folder, msgspec.structs.replace(built_in, databases=[database]))
        (instance,) = running.instances.values()
        store, before, found = instance.database.store, (0, 0), []
        for _ in range(days):
            running.run((running.now() // DAY + 1) * DAY)
            now = store.log_position, instance.counters.defrag_log_bytes
            found.append((now[0] - before[0], now[1] - before[1]))
            before = now
        running.close()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["quiet", "steady", "busy"])
def test_what_zeroing_adds_to_the_logs_of_a_month(tmp_path: Path, profile: str) -> None:
    zeroed = logged(tmp_path / "zeroed", profile, zero=True)
    plain = logged(tmp_path / "plain", profile, zero=False)
    added = [one[0] - other[0] for one, other in zip(zeroed, plain, strict=True)]
    defrag = mean(one for _, one in plain)
    first, later = added[0], mean(added[3:])
    assert first > 5 * later > 0
    record(
        f"Logs of page zeroing, profile {profile}, 2,000 pages of 8 KiB, 30 nights",
        f"first pass {first / 1e6:.1f} MB, {first / defrag:.1f} times those of online "
        f"defragmentation in a night; later ones {later / 1e6:.2f} MB, {later / defrag:.1f} times",
    )


def bodies_of(life: Life) -> set[bytes]:
    """Of all messages that are there."""
    return {body_of(record) for record in life.records()["Msg"].values()}


@pytest.mark.slow
@pytest.mark.parametrize("page_size", [4096, 32768])
def test_of_a_month_of_mail_no_message_that_is_gone_is_in_the_file(page_size: int) -> None:
    life = built((1 << 19) // page_size, page_size=page_size, cache_pages=60)
    bodies = bodies_of(life)
    places: dict[bytes, int] = {}
    reports, counters = Recorder(), Counters()
    zeroing = DatabaseZeroing(life.database, reports, counters, life.clock, pause=0.0)
    life.database.store.counts_deleted = True
    for _ in range(30):
        life.days(1)
        bodies |= bodies_of(life)
        for work in (
            Defrag(life.database, defragging.Recorder(), counters, life.clock, pause=0.0),
            zeroing,
        ):
            defragging.finish(work.invocation(lambda: LONG * 2), life.clock)
        living, file = bodies_of(life), raw(life.disk)
        for body in bodies - living:
            # Any 16 bytes of it would be a part of it and of nothing else.
            assert not any(body[at : at + 16] in file for at in range(0, len(body) - 16, 400))
        bodies = living
        # Most lie where they lay the day before.
        places = {
            body: at if file.startswith(body, at := places.get(body, 0)) else file.find(body)
            for body in living
        }
        assert min(places.values()) >= 0
    assert [event[0] for event in reports.taken()] == [718, 722] * 30
