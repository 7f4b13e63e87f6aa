"""Machines with passive copies: what they have, what they log, and that they outlive kills."""

import random
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from eselab.__main__ import main
from eselab.base.clock import VirtualClock
from eselab.base.plan import DAY, CopyPlan, DatabasePlan, DevicePlan, MailPlan, Plan
from eselab.base.profiles import PROFILES
from eselab.check.check import check, records
from eselab.disk.disk import RealDisk
from eselab.machine.instance import Instance
from eselab.machine.machine import Machine, OpenError
from eselab.machine.mail import TABLES, Row
from eselab.machine.passive import PassiveCopy
from eselab.storage.transaction_log.log import LogError, generation_of, kept, log_name
from esewatch.config import DatabaseRule, Settings
from tests.esefiles.scans.scanning import scan
from tests.eselab.machine.test_machine import files
from tests.eselab.mailing import Records, expect_consistent, write
from tests.eselab.running import (
    START,
    end_as_if_killed,
    forget_filled,
    let_go,
    machine,
    random_plan,
    run,
)
from tests.support.campaign import some
from tests.support.engine_truth import agent_families, differences
from tests.support.figures import record

DROP = CopyPlan(computer="EX02", cache="drop")
KEEP = CopyPlan(computer="EX03", cache="keep")


def plan_of(*copies: CopyPlan, **changes: object) -> Plan:
    """A small database with these copies; `changes` to it."""
    database = DatabasePlan(
        name="a", pages=200, cache_pages=40, mail=MailPlan(kept=6.0), copies=list(copies)
    )
    return Plan(databases=[msgspec.structs.replace(database, **changes)], sample=300.0)


def expect_agreement(folder: Path, now: float) -> None:
    """Of every computer the agent says what its truth says, and each database is sound."""
    for truth in folder.glob("**/truth.json"):
        assert differences(truth, agent_families(truth.parent, now)) == []
    for file in folder.glob("**/*.edb"):
        found = check(RealDisk(file.parent), file.name)
        assert (found.faults, found.bad) == ([], [])
        assert scan(file).counts.bad() == 0


def mail(folder: Path) -> Records:
    """The rows of database `a` in a folder."""
    found: Records = {table: {} for table in TABLES}
    for table, key, value in records(RealDisk(folder), "a.edb"):
        if table in found:
            found[table][key] = value
    return found


def told(folder: Path) -> dict[str, int]:
    """The events of `truth.json` by id."""
    events = msgspec.json.decode((folder / "truth.json").read_bytes())["events"]
    return {label.split('"')[1]: count for label, count in events.items()}


def logs_of(folder: Path, event_id: int) -> list[list[str]]:
    """The strings of an event in `events.jsonl`, behind the first three."""
    text = (folder / "events.jsonl").read_bytes()
    lines = [msgspec.json.decode(line)["Event"] for line in text.splitlines()]
    return [
        line["EventData"]["Data"]["#text"][3:]
        for line in lines
        if line["System"]["EventID"] == event_id
    ]


class Ledger:
    """A Journal that knows which rows are in which generation of the log."""

    def __init__(self, instance: Instance) -> None:
        self.rows: list[tuple[int, list[Row]]] = []
        self._open: list[Row] = []
        store = instance.database.store
        commit = store._commit

        def noted(*arguments: object) -> None:
            commit(*arguments)  # type: ignore[arg-type]
            if self._open:
                self.rows.append((generation_of(store.log_positions[1] - 1), self._open))
                self._open = []

        store._commit = noted  # type: ignore[method-assign, assignment]
        instance._mail._journal = self

    def intended(self, rows: Sequence[Row]) -> None:
        self._open = list(rows)

    def given_up(self) -> None:
        self._open = []

    def durable(self) -> None:
        """Nothing is to be done."""

    def until(self, base: Records, generation: int) -> Records:
        """All rows of the logs up to this one, from `base` on."""
        found = {table: dict(rows) for table, rows in base.items()}
        for at, rows in self.rows:
            if at <= generation:
                write(found, rows)
        return found


def copies_of(running: Machine) -> list[PassiveCopy]:
    return [copy for standby in running.standbys.values() for copy in standby.copies.values()]


@pytest.mark.slow
def test_copies_have_the_mail_of_the_last_shipped_log_of_a_plain_dict(tmp_path: Path) -> None:
    running = machine(tmp_path / "run", plan_of(DROP, KEEP))
    base = running.instances["a"]._mail.records()
    ledger = Ledger(running.instances["a"])
    for _ in range(4):
        running.run(running.now() + DAY)
        for computer, standby in running.standbys.items():
            replay = standby.copies["a"]._replay
            assert replay is not None
            expected = ledger.until(base, replay.next - 1)
            assert mail(tmp_path / "run" / computer / "a") == expected
            expect_consistent(expected)
            assert expected != ledger.until(base, 1 << 40)
    running.close()
    expect_agreement(tmp_path / "run", running.now())


@pytest.mark.slow
def test_a_copy_logs_as_its_own_computer(tmp_path: Path) -> None:
    now = run(tmp_path, plan_of(DROP, KEEP, generation="2007"), 3.0)
    expect_agreement(tmp_path, now)
    dropped, kept_ = told(tmp_path / "EX02"), told(tmp_path / "EX03")
    assert dropped["300"] == dropped["302"] > 3
    assert kept_["300"] == kept_["302"] == 1
    assert dropped["301"] == kept_["301"] >= dropped["300"]
    for events in (dropped, kept_):
        assert [events[each] for each in ("102", "103", "105", "326", "327")] == [1] * 5
        assert not {"700", "717"} & events.keys()
    assert "301" not in told(tmp_path)
    path = tmp_path / "EX02" / "a"
    strings = logs_of(tmp_path / "EX02", 301)
    first = int(Path(strings[0][0]).stem[3:], 16)
    assert strings == [[str(path / log_name(first + at))] for at in range(dropped["301"])]
    header = (tmp_path / "EX02" / "counters.csv").read_text().splitlines()[0]
    for counter in ("Reads (Recovery)/sec", "Writes (Recovery) Average Latency", "Log Reads/sec"):
        assert r"\\EX02\MSExchange Database ==> Instances(Information Store/a)\I/O " in header
        assert counter in header
    assert "Recovery" not in (tmp_path / "counters.csv").read_text()
    truth = msgspec.json.decode((tmp_path / "EX02" / "truth.json").read_bytes())
    assert truth["computer"] == "EX02"
    requests = truth["instances"]["a"]["ese_database_io_total"]
    assert requests.keys() == {
        'operation="read",phase="recovery"', 'operation="write",phase="recovery"'
    }  # fmt: skip
    assert min(requests.values()) > 100


def known_role(folder: Path, now: float, *rules: DatabaseRule) -> str:
    """The role of the copy on EX02, as the agent exposes it."""
    (info,) = [
        sample.labels
        for family in agent_families(folder / "EX02", now, Settings(databases=list(rules)))
        for sample in family.samples
        if sample.name == "ese_database_info"
    ]
    assert (info["computer"], info["database_name"]) == ("ex02", "a")
    return info["role"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("generation", "scan", "told", "with_active"),
    [
        ("2007", False, "", "active"),
        # Every start replays first: its letter R says nothing about the role.
        ("current", False, "", "active"),
        ("current", True, "passive", "passive"),
    ],
)
def test_the_agent_knows_the_role_from_the_events_else_from_the_configuration(
    tmp_path: Path, generation: str, scan: bool, told: str, with_active: str
) -> None:
    copy = msgspec.structs.replace(DROP, scan=scan)
    now = run(tmp_path, plan_of(generation=generation, zero=False, copies=[copy]), 1.0)
    expect_agreement(tmp_path, now)
    assert known_role(tmp_path, now) == told
    assert known_role(tmp_path, now, DatabaseRule(match="*", role="active")) == with_active
    passive = DatabaseRule(match="*", computer="ex02", role="passive")
    assert known_role(tmp_path, now, passive) == "passive"


@pytest.mark.slow
def test_zeroing_comes_to_the_copy(tmp_path: Path) -> None:
    run(tmp_path, plan_of(DROP, zero=True), 4.0)
    running = machine(tmp_path, plan_of(DROP, zero=True))
    running.close()
    living, copied = mail(tmp_path / "a"), mail(tmp_path / "EX02" / "a")
    assert living == copied
    assert b"D" * 400 in (tmp_path / "EX02" / "a" / "a.edb").read_bytes()


def test_a_cache_that_is_dropped_is_empty_after_each_batch(tmp_path: Path) -> None:
    running = machine(tmp_path, plan_of(DROP, KEEP))
    running.run(running.now() + 2 * DAY)
    dropped, kept_ = (copy.sample().cache_bytes for copy in copies_of(running))
    assert (dropped, kept_) == (0, 40 * 8192)
    running.close()


@pytest.mark.slow
def test_a_batch_waits_for_as_many_logs_as_it_is_to_have(tmp_path: Path) -> None:
    copy = msgspec.structs.replace(DROP, batch_logs=4)
    run(tmp_path, plan_of(copy), 4.0)
    events = told(tmp_path / "EX02")
    # What is left is replayed when the run ends.
    assert events["300"] == -(-events["301"] // 4) > 2


def test_no_log_is_deleted_before_it_is_shipped(tmp_path: Path) -> None:
    copy = msgspec.structs.replace(DROP, batch=DAY)
    running = machine(tmp_path, plan_of(copy, checkpoint_depth=1 << 18))
    store, active = running.instances["a"].database.store, RealDisk(tmp_path / "a")
    first = store.log_generation
    running.run(running.now() + 0.9 * DAY)
    assert generation_of(store.log_positions[0]) > first + 1
    assert kept(active) == list(range(first, store.log_generation + 1))
    running.run(running.now() + 1.0 * DAY)
    assert kept(active)[0] > first + 1
    running.close()


@pytest.mark.slow
def test_a_copy_that_the_logs_no_longer_lead_on_from_is_seeded_anew(tmp_path: Path) -> None:
    run(tmp_path, plan_of(DROP), 1.5)
    run(tmp_path, plan_of(), 3.0)
    now = run(tmp_path, plan_of(DROP), 1.5)
    run(tmp_path, plan_of(DROP), 0.0)
    expect_agreement(tmp_path, now)
    assert mail(tmp_path / "a") == mail(tmp_path / "EX02" / "a")


def test_a_copy_whose_seeding_was_cut_off_is_seeded_anew(tmp_path: Path) -> None:
    run(tmp_path, plan_of(DROP), 1.0)
    (tmp_path / "EX02" / "a").rename(tmp_path / "EX02" / "a.new")
    now = run(tmp_path, plan_of(DROP), 0.0)
    assert not (tmp_path / "EX02" / "a.new").exists()
    expect_agreement(tmp_path, now)
    assert mail(tmp_path / "a") == mail(tmp_path / "EX02" / "a")


@pytest.mark.slow
def test_a_copy_goes_on_where_it_was(tmp_path: Path) -> None:
    seeds = set()
    for _ in range(3):
        now = run(tmp_path, plan_of(DROP, KEEP), 1.2)
        expect_agreement(tmp_path, now)
        seeds.add((tmp_path / "EX02" / "a" / "a.edb").stat().st_ino)
    assert len(seeds) == 1
    assert told(tmp_path / "EX03")["326"] == 3
    replayed = [int(Path(log).stem[3:], 16) for (log,) in logs_of(tmp_path / "EX02", 301)]
    assert set(replayed) == set(range(replayed[0], max(replayed) + 1))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        forget_filled()
        folder = tmp_path / "run"
        run(folder, plan_of(DROP, KEEP), 1.5, seed=7)
        run(folder, plan_of(DROP, KEEP), 1.2, seed=7)
        found.append(files(folder))
        folder.rename(tmp_path / f"done{len(found)}")
    assert found[0] == found[1]


def test_a_copy_on_the_computer_of_the_active_one_is_refused(tmp_path: Path) -> None:
    plan = plan_of(CopyPlan(computer="lab"))
    with pytest.raises(OpenError, match="a copy cannot be on lab, the active one is"):
        Machine(tmp_path, plan, clock=VirtualClock(START), seed=1, computer="LAB.example")
    let_go(tmp_path)


def test_a_copy_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    run(tmp_path, plan_of(DROP), 0.5)
    file = tmp_path / "EX02" / "a" / "a.edb"
    with file.open("r+b") as content:
        content.write(bytes(2 * 8192))
    with pytest.raises(OpenError) as refused:
        machine(tmp_path, plan_of(DROP))
    assert str(refused.value).startswith(f"{file}: ")
    let_go(tmp_path)


def test_a_copy_that_cannot_go_on_ends_the_run_and_is_named(tmp_path: Path) -> None:
    running = machine(tmp_path, plan_of(DROP))
    running.run(running.now() + DAY)
    folder = tmp_path / "EX02" / "a"
    (copy,) = copies_of(running)
    assert copy._replay is not None
    copy._replay.next = copy._replay.shipped
    (folder / log_name(copy._replay.next)).write_bytes(bytes(5000))
    with pytest.raises(LogError) as ended:
        running.run(running.now() + DAY)
    assert str(ended.value).startswith(f"{folder / 'a.edb'}: the header of generation ")
    let_go(tmp_path, running)


def test_engine_check_looks_at_the_copies_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, plan_of(DROP, KEEP), 1.0)
    assert main(["check", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count(": sound: ") == 3
    running = machine(tmp_path, plan_of(DROP, KEEP))
    assert main(["check", str(tmp_path / "EX02")]) == 2
    assert "another engine runs" in capsys.readouterr().err
    running.close()


def random_copies(chance: random.Random) -> Plan:
    """Some databases with copies on two computers."""
    plan = random_plan(chance, days=1.0)
    databases = [
        msgspec.structs.replace(
            database,
            copies=[_copy(chance, name) for name in ("EX02", "EX03") if chance.random() < 0.8],
        )
        for database in plan.databases
    ]
    devices = [*plan.devices, DevicePlan(name="standby", seek=0.006)]
    return msgspec.structs.replace(plan, databases=databases, devices=devices)


def _copy(chance: random.Random, computer: str) -> CopyPlan:
    return CopyPlan(
        computer=computer,
        device=chance.choice(("", "shared", "standby")),
        cache=chance.choice(("drop", "keep")),
        cache_pages=chance.choice((None, 4, 30)),
        batch=chance.choice((60.0, 3600.0, 20_000.0)),
        batch_logs=chance.choice((1, 3)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2])
def test_copies_of_machines_that_are_killed_again_and_again_go_on(
    tmp_path: Path, seed: int
) -> None:
    check_kills(tmp_path / "run", seed, kills=6)


@pytest.mark.slow
def test_copies_that_are_scanned_go_on_after_kills_too(tmp_path: Path) -> None:
    events = check_kills(tmp_path / "run", 31, kills=6, scanned=True)
    assert {"717", "719", "732"} <= events
    assert not {"398", "399", "474"} & events


@pytest.mark.slow
@pytest.mark.parametrize("seed", some((0, 1, *range(100, 115)), 4))
def test_copies_of_more_machines_that_are_killed_go_on(tmp_path: Path, seed: int) -> None:
    check_kills(tmp_path / "run", seed, kills=12)


def _scanned(database: DatabasePlan) -> DatabasePlan:
    """The same of a current engine that scans all copies, each in half a day."""
    pace = 2 * database.pages * database.page_size / DAY
    copies = [msgspec.structs.replace(copy, scan=True, scan_pace=pace) for copy in database.copies]
    return msgspec.structs.replace(database, generation="current", copies=copies)


def check_kills(folder: Path, seed: int, kills: int, *, scanned: bool = False) -> set[str]:
    """Kill it so often; which events the copies logged."""
    chance = random.Random(seed)
    plan = random_copies(chance)
    if scanned:
        databases = [_scanned(database) for database in plan.databases]
        plan = msgspec.structs.replace(plan, databases=databases)
    for _ in range(kills):
        running = machine(folder, plan, seed=seed)
        running.run(running.now() + chance.uniform(0.1, 1.5) * DAY)
        end_as_if_killed(running, folder)
        for file in folder.glob("**/*.edb"):
            found = check(RealDisk(file.parent), file.name)
            assert (found.faults, found.bad) == ([], [])
    # The log that a kill left open is closed by the next opening.
    now = run(folder, plan, 0.0, seed=seed)
    expect_agreement(folder, now)
    for database in plan.databases:
        name = f"{database.name}.edb"
        active = list(records(RealDisk(folder / database.name), name))
        for copy in database.copies:
            place = folder / copy.computer / database.name
            assert list(records(RealDisk(place), name)) == active
    return {event for computer in plan.computers for event in told(folder / computer)}


def requests(running: Machine) -> list[tuple[int, int]]:
    """Reads and writes of database files so far: of the active copy, then of the others."""
    (instance,) = running.instances.values()
    meters = [instance.meter, *(copy.meter for copy in copies_of(running))]
    return [(meter.database_reads.requests, meter.database_writes.requests) for meter in meters]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "cache_pages"),
    some([("quiet", 100), ("steady", 100), ("busy", 100), ("busy", 400), ("busy", 1000)], 2),
)
def test_what_copies_read_and_write_in_a_month(
    tmp_path: Path, profile: str, cache_pages: int
) -> None:
    built_in = PROFILES[profile]()
    (database,) = built_in.databases
    database = msgspec.structs.replace(database, cache_pages=cache_pages, copies=[DROP, KEEP])
    running = machine(tmp_path, msgspec.structs.replace(built_in, databases=[database]))
    by_day = [0, 0, 0]
    for day in range(30):
        midnight = START + day * DAY
        running.run(midnight + DAY / 4)
        before = requests(running)
        running.run(midnight + DAY)
        for at, (now, then) in enumerate(zip(requests(running), before, strict=True)):
            by_day[at] += sum(now) - sum(then)
    of_month = requests(running)
    running.close()
    active, dropped, kept_ = (sum(counts) for counts in of_month)
    assert dropped > kept_ > 0
    record(
        f"Requests of passive copies in 30 days, profile {profile}, {cache_pages} pages of cache",
        "; ".join(
            f"{name} {reads:,} reads and {writes:,} writes"
            for name, (reads, writes) in zip(("active", "drop", "keep"), of_month, strict=True)
        )
        + f": {dropped / active:.2f} and {kept_ / active:.2f} times the active one's; from 06:00 "
        f"to 24:00 {by_day[1] / by_day[0]:.2f} and {by_day[2] / by_day[0]:.2f} times",
    )
