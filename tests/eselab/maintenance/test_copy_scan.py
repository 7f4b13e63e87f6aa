"""Passive copies that are scanned: what their logs tell, and what the agent makes of it."""

import random
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from esefiles.pages.layout import offset_of
from eselab.base.plan import DAY, CopyPlan, DatabasePlan, Plan
from eselab.machine.faults import FaultyDisk
from eselab.machine.machine import Machine, OpenError
from eselab.storage.database_header import read_header
from eselab.storage.transaction_log.change import dbtime_of
from eselab.storage.transaction_log.log import LogError
from eselab.storage.transaction_log.log_replay import LogReplay
from tests.eselab.background import current_plan
from tests.eselab.machine.test_machine import files
from tests.eselab.maintenance.test_background_machine import told, truth_of
from tests.eselab.running import end_as_if_killed, forget_filled, let_go, machine, random_plan, run
from tests.eselab.test_copies import copies_of, logs_of
from tests.support.campaign import some
from tests.support.engine_truth import agent_families, differences

SIZE = 8192
AT_ONCE = 1e9
"""A pace at which the whole file is read before another task does its next step."""
UNSCANNED = current_plan(copies=[CopyPlan(computer="EX02")])
OF_A_SCAN = {"717", "719", "732", "733", "745", "746"}


def plan_of(*, pace: float | None = None, cache: str = "keep", **changes: object) -> Plan:
    """A small database with one copy, which is scanned at `pace`; `changes` to the database."""
    copy = msgspec.convert(
        {"computer": "EX02", "scan": True, "scan_pace": pace, "cache": cache}, CopyPlan
    )
    return current_plan(copies=[copy], **changes)


def expect_agreement(folder: Path, now: float) -> None:
    """Of every computer the agent says what its truth says."""
    for truth in folder.glob("**/truth.json"):
        assert differences(truth, agent_families(truth.parent, now)) == []


def copy_file(folder: Path) -> Path:
    return folder / "EX02" / "a" / "a.edb"


def oldest_page(file: Path) -> int:
    """The page that was not changed for longest: no log that is still there has it."""
    data, first = file.read_bytes(), offset_of(1, SIZE)
    pages = [data[at : at + SIZE] for at in range(first, len(data), SIZE)]
    used = [at for at, page in enumerate(pages) if any(page)]
    return min(used, key=lambda at: dbtime_of(pages[at])) + 1


def flip(file: Path, page: int, *bits: int) -> None:
    """Bits of a page, counted within it."""
    with file.open("r+b") as opened:
        for bit in bits:
            place = offset_of(page, SIZE) + bit // 8
            opened.seek(place)
            (byte,) = opened.read(1)
            opened.seek(place)
            opened.write(bytes([byte ^ 1 << bit % 8]))


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["keep", "drop"])
def test_a_copy_is_scanned_as_a_passive_one_and_the_active_one_as_before(
    tmp_path: Path, cache: str
) -> None:
    now = run(tmp_path, plan_of(cache=cache), 6.0)
    events = told(tmp_path / "EX02")
    assert (events["717"], events["732"], events["745"]) == (3, 2, 1)
    assert not {"728", *map(str, range(734, 745))} & events.keys()
    assert not OF_A_SCAN & told(tmp_path).keys()
    assert told(tmp_path)["736"] == 3
    expect_agreement(tmp_path, now)
    (copy,) = truth_of(tmp_path / "EX02")["databases"].values()
    assert "ese_last_full_verification_timestamp_seconds" in copy
    pages = [int(strings[4]) for strings in logs_of(tmp_path / "EX02", 732)]
    assert len(pages) == 2
    assert min(pages) >= 120
    assert copy["ese_pass_pages_seen_total"]['task="checksum"'] == sum(pages)
    read = truth_of(tmp_path / "EX02")["instances"]["a"]["ese_maintenance_pages_read_total"]
    assert read[""] > sum(pages)


def test_without_the_key_no_copy_is_scanned(tmp_path: Path) -> None:
    now = run(tmp_path, UNSCANNED, 2.0)
    assert not OF_A_SCAN & told(tmp_path / "EX02").keys()
    assert read_header(copy_file(tmp_path).read_bytes()[: 2 * SIZE]).scan_finished == 0.0
    expect_agreement(tmp_path, now)


def test_a_copy_may_be_scanned_where_the_active_one_is_not(tmp_path: Path) -> None:
    now = run(tmp_path, plan_of(scan=False), 2.0)
    assert told(tmp_path / "EX02")["732"] == 1
    assert "736" not in told(tmp_path)
    expect_agreement(tmp_path, now)


@pytest.mark.parametrize(("bits", "event"), [((40_001,), "399"), ((40_001, 40_100), "474")])
def test_a_bad_page_of_the_copy_alone_is_found_by_its_own_scan(
    tmp_path: Path, bits: tuple[int, ...], event: str
) -> None:
    run(tmp_path, UNSCANNED, 1.0)
    page = oldest_page(copy_file(tmp_path))
    flip(copy_file(tmp_path), page, *bits)
    now = run(tmp_path, plan_of(pace=AT_ONCE), 0.1)
    events = told(tmp_path / "EX02")
    assert (events[event], events["732"]) == (1, 1)
    (strings,) = logs_of(tmp_path / "EX02", int(event))
    assert strings[0] == str(copy_file(tmp_path))
    assert strings[-1] == f"{page} (0x{page:X})"
    ((*_, stats),) = logs_of(tmp_path / "EX02", 732)
    # Semantics 2: "732/745: always 0".
    assert stats.endswith(", 0")
    assert not {"398", "399", "474"} & told(tmp_path).keys()
    expect_agreement(tmp_path, now)
    (copy,) = truth_of(tmp_path / "EX02")["databases"].values()
    kind = "corrected" if event == "399" else "uncorrectable"
    assert copy["ese_known_bad_pages"] == {f'kind="{kind}"': 1}
    assert ("ese_last_full_verification_timestamp_seconds" in copy) == (event == "399")
    header = read_header(copy_file(tmp_path).read_bytes()[: 2 * SIZE])
    assert (header.corrected.count, header.bad_checksums.count) == (len(bits) % 2, len(bits) // 2)


def test_a_stop_aborts_the_pass_and_the_next_run_goes_on_where_it_was(tmp_path: Path) -> None:
    for _ in range(3):
        now = run(tmp_path, plan_of(), 0.6)
        expect_agreement(tmp_path, now)
    events = told(tmp_path / "EX02")
    assert [events[each] for each in ("717", "719", "745", "732")] == [1, 2, 2, 1]
    stopped = [int(strings[1]) for strings in logs_of(tmp_path / "EX02", 745)]
    assert stopped == sorted(stopped)
    ((*_, pages, stats),) = logs_of(tmp_path / "EX02", 732)
    assert int(stats.split(",")[0]) == int(pages) + 1 - stopped[-1]
    header = read_header(copy_file(tmp_path).read_bytes()[: 2 * SIZE])
    (ended,) = truth_of(tmp_path / "EX02")["databases"].values()
    completed = ended["ese_pass_last_completion_timestamp_seconds"]['task="checksum"']
    assert header.scan_finished == pytest.approx(completed, abs=0.02)
    assert (header.scan_started, header.scan_page) == (0.0, 0)


def test_the_next_pass_begins_a_day_after_the_last_over_a_stop(tmp_path: Path) -> None:
    for days, passes in ((0.5, 1), (0.4, 1), (0.2, 2), (0.5, 2)):
        run(tmp_path, plan_of(pace=1000.0), days)
        assert told(tmp_path / "EX02")["717"] == passes


@pytest.mark.slow
def test_a_late_pass_is_told_once_a_day_also_over_stops(tmp_path: Path) -> None:
    for days, late in ((7.5, 1), (0.2, 1), (0.2, 1), (0.3, 2), (3.0, 5)):
        now = run(tmp_path, plan_of(pace=1.0), days)
        assert told(tmp_path / "EX02").get("733", 0) == late
    expect_agreement(tmp_path, now)
    (copy,) = truth_of(tmp_path / "EX02")["databases"].values()
    assert 'task="checksum"' in copy["ese_pass_last_late_timestamp_seconds"]


@pytest.mark.slow
def test_a_read_that_fails_aborts_the_pass_and_the_next_try_is_a_day_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = machine(tmp_path, plan_of())
    running.run(running.now() + 0.5 * DAY)

    def fails(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(LogReplay, "check_pages", fails)
        running.run(running.now() + 0.5 * DAY)
    running.flush()
    assert len(logs_of(tmp_path / "EX02", 745)) == 1
    running.run(running.now() + 2.0 * DAY)
    running.close()
    events = told(tmp_path / "EX02")
    assert [events[each] for each in ("717", "719", "732")] == [1, 1, 1]
    expect_agreement(tmp_path, running.now())


@pytest.mark.slow
def test_a_pass_of_a_copy_that_is_seeded_anew_is_given_up(tmp_path: Path) -> None:
    run(tmp_path, plan_of(), 0.5)
    run(tmp_path, current_plan(), 4.0)
    now = run(tmp_path, plan_of(), 2.0)
    events = told(tmp_path / "EX02")
    assert [events[each] for each in ("717", "745", "746", "732")] == [2, 1, 1, 1]
    assert "719" not in events
    assert logs_of(tmp_path / "EX02", 746) == [[str(copy_file(tmp_path)), "-"]]
    expect_agreement(tmp_path, now)


@pytest.mark.slow
def test_a_kill_keeps_the_place_of_a_pass(tmp_path: Path) -> None:
    folder, plan = tmp_path / "run", plan_of(pages=600, pace=150.0)
    running = machine(folder, plan)
    running.run(running.now() + 0.3 * DAY)
    end_as_if_killed(running, folder)
    kept = read_header(copy_file(folder).read_bytes()[: 2 * SIZE]).scan_page
    # Of 474 pages that were read.
    assert kept == 256
    now = run(folder, plan, 0.5)
    events = told(folder / "EX02")
    assert [events[each] for each in ("717", "719", "732")] == [1, 1, 1]
    assert "745" not in events
    ((*_, pages, stats),) = logs_of(folder / "EX02", 732)
    assert int(stats.split(",")[0]) == int(pages) - kept
    expect_agreement(folder, now)


def test_a_page_that_a_crash_tore_is_mended_before_it_is_scanned(tmp_path: Path) -> None:
    folder, plan = tmp_path / "run", plan_of(pace=AT_ONCE)
    running = machine(folder, plan)
    running.run(running.now() + DAY)
    (copy,) = copies_of(running)
    assert copy._replay is not None
    frames = copy._replay._cache._frames
    torn = [number for number, frame in frames.items() if frame.dirty_since]
    end_as_if_killed(running, folder)
    assert len(torn) > 5
    with copy_file(folder).open("r+b") as file:
        for page in torn:
            file.seek(offset_of(page, SIZE) + SIZE // 2)
            file.write(bytes(SIZE // 2))
    now = run(folder, plan, 1.5)
    assert told(folder / "EX02")["732"] == 3
    assert not {"398", "399", "474"} & told(folder / "EX02").keys()
    expect_agreement(folder, now)


def test_a_log_that_cannot_be_replayed_when_it_is_opened_is_named_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    running = machine(folder, plan_of())
    running.run(running.now() + DAY)
    end_as_if_killed(running, folder)

    def fails(_: LogReplay) -> int:
        raise LogError("no log")

    monkeypatch.setattr(LogReplay, "log", fails)
    with pytest.raises(OpenError) as refused:
        machine(folder, plan_of())
    assert str(refused.value) == f"{copy_file(folder)}: no log"
    let_go(folder)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        forget_filled()
        folder = tmp_path / "run"
        run(folder, plan_of(), 1.5, seed=7)
        run(folder, plan_of(), 1.2, seed=7)
        found.append(files(folder))
        folder.rename(tmp_path / f"done{len(found)}")
    assert found[0] == found[1]


def random_scanned(chance: random.Random, *, faults: int) -> Plan:
    """Some databases of a current engine with copies on two computers, most of them scanned."""
    plan = random_plan(chance, days=1.0, faults=faults)
    return msgspec.structs.replace(
        plan, databases=[_with_copies(database, chance) for database in plan.databases]
    )


def _with_copies(database: DatabasePlan, chance: random.Random) -> DatabasePlan:
    size = database.pages * database.page_size
    copies = [
        CopyPlan(
            computer=computer,
            device=chance.choice(("", "shared")),
            cache=chance.choice(("drop", "keep")),
            cache_pages=chance.choice((None, 4, 30)),
            batch=chance.choice((60.0, 3600.0, 20_000.0)),
            batch_logs=chance.choice((1, 3)),
            scan=chance.random() < 0.8,
            scan_pace=size / (chance.choice((0.01, 0.3, 1.5, 9.0)) * DAY),
        )
        for computer in ("EX02", "EX03")
    ]
    return msgspec.structs.replace(
        database, generation="current", copies=copies, scan_pace=size / (0.7 * DAY)
    )


def flip_somewhere(running: Machine, chance: random.Random) -> None:
    """A bit, or two, of a page of each copy that lies on the disk."""
    for copy in copies_of(running):
        replay = copy._replay
        assert replay is not None
        disk = FaultyDisk(copy._disk(), running._clock, lambda _: None)
        name = Path(copy.path).name
        page = chance.randint(1, replay.pages)
        disk.flip(name, page, replay.page_size, chance.choice((1, 2)), chance)


def check_random(folder: Path, seed: int, *, days: float, kills: bool) -> Counter[str]:
    """Three runs of a random plan with faults of all copies; the events of the copies by id."""
    chance = random.Random(seed)
    plan = random_scanned(chance, faults=3)
    for number in range(3):
        running = None
        try:
            running = machine(folder, plan, seed=seed)
            flip_somewhere(running, chance)
            running.run(running.now() + chance.uniform(0.3, days) * DAY)
            if kills and number < 2:
                end_as_if_killed(running, folder)
                continue
            running.close()
        except (OpenError, LogError):
            # A page that was damaged is needed: what was said before that holds.
            if running is not None:
                running.flush()
            let_go(folder, running)
            return Counter()
        expect_agreement(folder, running.now())
    found = Counter[str]()
    for computer in ("EX02", "EX03"):
        found += Counter(told(folder / computer))
    return found


@pytest.mark.slow
def test_on_random_plans_with_faults_the_agent_says_what_the_truth_says(tmp_path: Path) -> None:
    events = Counter[str]()
    for seed in (700, 703):
        events += check_random(tmp_path / str(seed), seed, days=1.0, kills=seed % 2 > 0)
    assert {"399", "474", "717", "719", "732", "745"} <= events.keys()


@pytest.mark.slow
@pytest.mark.parametrize("seed", some((701, 702, *range(800, 830)), 4))
def test_on_more_random_plans(tmp_path: Path, seed: int) -> None:
    check_random(tmp_path / "run", seed, days=9.0, kills=seed % 2 > 0)
