"""Whole machines on random plans with faults and restarts, against the truth and a plain model."""

import random
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from eselab.base.plan import DAY, DatabasePlan, FaultPlan, MailPlan, Plan, WindowPlan
from eselab.check.check import check
from eselab.disk.disk import RealDisk
from eselab.machine.machine import Machine, OpenError
from eselab.machine.mail import Mailboxes
from tests.eselab.mailing import Model, expect_consistent
from tests.eselab.running import end_as_if_killed, keep_journal, machine, random_plan, run
from tests.support.campaign import some
from tests.support.engine_truth import agent_families, differences

EVENTS = {
    *("399", "474", "507", "508", "509", "510", "530"),
    *("700", "701", "702", "703", "704", "705", "717", "719", "721", "725"),
}
"""What comes up somewhere in the histories, beside openings and closings."""

CORRECTABLE = "is flipped; the checksum can correct it"


def check_agent(
    folder: Path, seed: int, *, runs: int, days: float, plan: Plan | None = None
) -> Counter[str]:
    """The agent says what the truth says, run after run; the events by id.

    It reads JSON and CSV, and for itself EVTX and BLG. Without a plan it is one of chance, with
    faults.
    """
    chance = random.Random(seed)
    plan = plan or random_plan(chance, days=days / 2, faults=6)
    for number in range(runs):
        try:
            now = run(folder, plan, chance.uniform(days / 2, days), seed=seed, windows=True)
        except OpenError:
            # A fault took the catalog of a database: what was said before that holds.
            assert number
            break
        truth = folder / "truth.json"
        assert differences(truth, agent_families(folder, now)) == []
        of_windows = agent_families(folder, now, binary=True, evtx=True)
        assert differences(truth, of_windows, binary=True) == []
    told = msgspec.json.decode(truth.read_bytes())
    return Counter({label.split('"')[1]: count for label, count in told["events"].items()})


@pytest.mark.slow
def test_on_some_seeds_the_agent_says_what_the_truth_says(tmp_path: Path) -> None:
    events = Counter[str]()
    for seed in (1, 6):
        events += check_agent(tmp_path / str(seed), seed, runs=2, days=2.0)
    # Windows that are too short for a pass, and nothing that stops one.
    short = DatabasePlan(
        name="a",
        pages=150,
        window=WindowPlan(offset=3600.0, length=1200.0),
        mail=MailPlan(kept=10.0),
        defrag_pause=8.0,
    )
    events += check_agent(
        tmp_path / "short", 1, runs=2, days=4.0, plan=Plan(databases=[short], sample=300.0)
    )
    assert set(events) >= EVENTS


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_on_more_seeds_too(tmp_path: Path, seed: int) -> None:
    assert check_agent(tmp_path / "run", seed, runs=3, days=3.0)["102"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(range(105, 145), 5))
def test_on_forty_more_seeds_of_a_month_the_agent_says_what_the_truth_says(
    tmp_path: Path, seed: int
) -> None:
    assert check_agent(tmp_path / "run", seed, runs=4, days=14.0)["700"] > 0


class History:
    """A machine on a random plan, killed and stopped at any time, and models of its databases.

    Its faults are those that a database survives: slow requests and single flipped bits.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.folder = folder
        self.seed = seed
        self.kills = 0
        self.plan = self._plan()
        self.models: dict[str, Model] = {}
        self.running = self._opened()

    def live(self) -> None:
        """Up to a day goes by; then it is stopped, killed, or left alone."""
        self.running.run(self.running.now() + self.chance.uniform(0.0, 1.0) * DAY)
        how = self.chance.choice(("stop", "kill", "kill", "go on"))
        if how == "stop":
            self.running.close()
            self.running = self._opened()
        elif how == "kill":
            end_as_if_killed(self.running, self.folder)
            self.kills += 1
            self._expect_sound()
            self.running = self._opened()

    def end(self) -> None:
        """Stop for good."""
        self.running.close()
        self._expect_sound()

    def _plan(self) -> Plan:
        plan = random_plan(self.chance, days=1.0)
        faults = [
            FaultPlan(
                at=self.chance.uniform(0.0, DAY),
                database=self.chance.choice(plan.databases).name,
                kind=self.chance.choice(("slow", "flip_one")),
            )
            for _ in range(4)
        ]
        return msgspec.structs.replace(plan, faults=faults)

    def _opened(self) -> Machine:
        running = machine(self.folder, self.plan, seed=self.seed)
        for name, instance in running.instances.items():
            records = Mailboxes(instance.database).records()
            expect_consistent(records)
            if name in self.models:
                assert self.models[name].allows(records)
            self.models[name] = Model(records)
            keep_journal(instance, self.models[name])
        return running

    def _expect_sound(self) -> None:
        for database in self.plan.databases:
            found = check(RealDisk(self.folder / database.name), f"{database.name}.edb")
            # One flipped bit stays on the disk until its page is written.
            assert [fault for fault in found.faults if not fault.endswith(CORRECTABLE)] == []


@pytest.mark.parametrize("seed", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 1))])
def test_a_machine_that_is_killed_at_any_time_keeps_what_a_plain_model_has(
    tmp_path: Path, seed: int
) -> None:
    history = History(tmp_path / "run", seed)
    for _ in range(8):
        history.live()
    history.end()
    assert history.kills


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(range(100, 150), 5))
def test_fifty_more_machines_keep_what_a_plain_model_has(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path / "run", seed)
    for _ in range(40):
        history.live()
    history.end()
    assert history.kills
