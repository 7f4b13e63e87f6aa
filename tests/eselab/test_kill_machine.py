"""The whole engine, killed at any moment in real time: nothing durable is lost, no log lies.

What was durable is known to a model outside (tests.eselab.machine_process). An agent follows the
logs over all the kills.
"""

import random
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from eselab.__main__ import main as engine
from eselab.base.clock import RealClock
from eselab.base.programs import PROGRAMS
from eselab.check.check import records
from eselab.disk.disk import RealDisk
from eselab.logs.counter_log import CounterLog
from eselab.logs.event_log import EventLog
from eselab.logs.truth import Truth
from eselab.machine.mail import TABLES, Row
from esewatch.cli import main
from tests.e2e.harness import Agent, get, start_agent, wait_for
from tests.eselab.killing import killed
from tests.eselab.machine_process import COMPUTER, PLAN, Line, beside
from tests.eselab.mailing import Model, Records, expect_consistent, write
from tests.support.campaign import COMMAND, number_of
from tests.support.engine_truth import agent_families, differences
from tests.support.figures import record
from tests.support.patience import PATIENCE

LONGEST = 0.7
"""Seconds from the start of the work to the kill, at most."""
PASSES = {"102", "300", "700", "717", "721"}
ENDS = {"701", "703"}
NAMES = [database.name for database in PLAN.databases]

pytestmark = pytest.mark.timeout(1800)

PROGRAM = PROGRAMS["exchange", "2007"]


class Lives:
    """A machine that is killed and started again in one folder, and what must be there."""

    def __init__(self, place: Path, seed: int) -> None:
        self.folder = place / "run"
        self.copy = place / "copy"
        self.transactions = 0
        """Those that were durable."""
        self.half_made = 0
        """Databases that a kill found in their making."""
        self._seed = seed
        self._models: dict[str, Model] = {}

    def live(self, moment: Callable[[], None], *, opened: bool) -> None:
        """Start it, wait for what it says first or second, and kill it after `moment`."""
        self._seed += 1
        says = (b"opening\n", b"working\n")[: 1 + opened]
        killed("tests.eselab.machine_process", self.folder, self._seed, says=says, moment=moment)

    def check(self) -> None:
        """What the kill left, examined in a copy: the next start has to do its own."""
        if not self.folder.exists():
            return
        shutil.copytree(self.folder, self.copy)
        for name in NAMES:
            if (self.copy / name).exists():
                self._check_database(name)
        shutil.rmtree(self.copy)

    def check_agent(self) -> None:
        """What an agent makes of the logs that the kill left, read at once."""
        shutil.copytree(self.folder, self.copy)
        end_logs(self.copy)
        found = agent_families(self.copy, time.time())
        assert differences(self.copy / "truth.json", found) == []
        shutil.rmtree(self.copy)

    def _check_database(self, name: str) -> None:
        folder, file = self.copy / name, self.copy / name / f"{name}.edb"
        before = content(folder)
        assert engine(["check", str(file)]) == 0
        found: Records = {table: {} for table in TABLES}
        for table, key, value in records(RealDisk(folder), file.name):
            if table in found:
                found[table][key] = value
        assert content(folder) == before
        expect_consistent(found)
        model = self._told(name)
        if model is not None:
            assert model.allows(found)
            self._models[name] = Model(found)
        assert main(["check", str(folder)]) == 0

    def _told(self, name: str) -> Model | None:
        """The model, brought up to the journal; None of a database of which nothing is known."""
        base = beside(self.folder, name, "base")
        if name not in self._models and base.exists():
            made: Records = {table: {} for table in TABLES}
            write(made, msgspec.json.decode(base.read_bytes(), type=list[Row]))
            self._models[name] = Model(made)
        model, journal = self._models.get(name), beside(self.folder, name, "journal")
        # A line without its end was being written: what it intends was not committed.
        # Without a journal it was killed before it opened the database.
        written = journal.read_bytes() if journal.exists() else b""
        for text in written.split(b"\n")[:-1]:
            assert model is not None
            line = msgspec.json.decode(text, type=Line)
            if line.rows:
                model.intended(line.rows)
            elif line.word == "durable":
                self.transactions += len(model.open)
                model.durable()
            else:
                model.given_up()
        journal.unlink(missing_ok=True)
        return model


@pytest.fixture(autouse=True)
def _positions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def content(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def end_logs(folder: Path) -> None:
    """Cut off what is torn, and write `truth.json`, as the next start does it."""
    clock = RealClock()
    truth = Truth(folder, computer=COMPUTER, provider="ESE", buffered=False)
    events = EventLog(
        folder, clock, computer=COMPUTER, program=PROGRAM, buffered=False, truth=truth
    )
    counters = CounterLog(
        folder, clock, computer=COMPUTER, program=PROGRAM, buffered=False, truth=truth
    )
    for log in (events, counters, truth):
        log.close()


def equal(agent: Agent, truth: Path) -> bool:
    """Whether the agent says all that the truth has."""
    metrics = text_string_to_metric_families(get(f"{agent.url}/metrics"))
    return differences(truth, metrics) == []


def until_begun(folder: Path, name: str) -> None:
    """Wait for the making of a database."""
    being_made, made = folder / f"{name}.new" / f"{name}.edb", folder / name
    end = time.monotonic() + PATIENCE
    # It takes a tenth of a second: a pause could miss it.
    while not (being_made.exists() or made.exists()):
        assert time.monotonic() < end, f"{name} is not made"


def until_passes(events: Path) -> None:
    """Wait for a pass of defragmentation, and the beginning of each other task."""
    end = time.monotonic() + PATIENCE
    while not (told := event_ids(events)) >= PASSES or not ENDS & told:
        assert time.monotonic() < end, f"events so far: {sorted(told)}"
        time.sleep(0.2)


def event_ids(events: Path) -> set[str]:
    """Of the whole lines of the log."""
    whole = events.read_bytes().rpartition(b"\n")[0]
    lines = map(msgspec.json.decode, whole.splitlines())
    return {str(line["Event"]["System"]["EventID"]) for line in lines}


def after(seconds: float) -> Callable[[], None]:
    """A moment so much later."""
    return lambda: time.sleep(seconds)


def check_kills(place: Path, kills: int, seed: int) -> Lives:
    chance, lives = random.Random(seed), Lives(place, seed)
    sources = [
        {"type": "event_stream", "path": str(lives.folder / "events.jsonl")},
        {"type": "perfmon_csv", "path": str(lives.folder / "counters.csv")},
    ]
    with start_agent(place / "agent", {"sources": sources}) as agent:
        for name in NAMES:
            lives.live(partial(until_begun, lives.folder, name), opened=False)
            lives.half_made += (lives.folder / f"{name}.new").exists()
            lives.check()
        for kill in range(len(NAMES), kills - 1):
            # A third of them before all is open, at some step of a recovery.
            opened = chance.random() > 1 / 3
            moment = chance.uniform(0.0, LONGEST if opened else 0.15)
            lives.live(after(moment), opened=opened)
            lives.check()
            if kill % 5 == 0:
                lives.check_agent()
        for _ in range(kills):
            # On a busy machine a life has fewer transactions, so it takes more of them.
            if lives.transactions > 5 * kills:
                break
            lives.live(after(LONGEST), opened=True)
            lives.check()
        lives.live(partial(until_passes, lives.folder / "events.jsonl"), opened=True)
        lives.check()
        lives.check_agent()
        end_logs(lives.folder)
        truth = lives.folder / "truth.json"
        wait_for("the agent says what the truth says", lambda: equal(agent, truth))
    told = msgspec.json.decode(truth.read_bytes())
    events = {label.split('"')[1]: count for label, count in told["events"].items()}
    assert events.keys() >= PASSES
    assert events.keys() & ENDS
    assert sorted(told["instances"]) == sorted(NAMES)
    return lives


@pytest.mark.slow
def test_ten_kills_of_the_engine_lose_nothing_and_its_logs_stay_true(tmp_path: Path) -> None:
    lives = check_kills(tmp_path, 10, 1)
    assert lives.transactions > 50
    assert lives.half_made > 0


@pytest.mark.slow
def test_up_to_a_hundred_kills_of_the_engine_lose_nothing_and_its_logs_stay_true(
    tmp_path: Path,
) -> None:
    begin, kills = time.monotonic(), number_of(100, 40)
    lives = check_kills(tmp_path, kills, 100)
    assert lives.transactions > 5 * kills
    record(
        "`kill -9` of the bundled engine at random moments, two databases at work in real time",
        f"{kills} kills, {lives.transactions:,} durable transactions all there, every page, tree "
        f"and space map sound each time, the agent's totals equal; "
        f"{time.monotonic() - begin:.0f} s",
        COMMAND,
    )
