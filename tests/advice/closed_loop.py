"""The closed loop: an engine's window, the agent that reads its logs, and its advice followed.

The engine runs in virtual time. What is asked for advice is what the agent has of its two logs,
read on as they grow, with the window that the engine has at that moment in the settings.
"""

import datetime
import random
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from eselab.base.plan import DAY, DatabasePlan, MailPlan, Plan, WindowPlan
from eselab.machine.machine import Machine
from esewatch.advice.history.history import History, histories
from esewatch.advice.window.evidence import Evidence
from esewatch.advice.window.window import WindowAdvice, window_advice
from esewatch.advice.window.window_rules import Action
from esewatch.config import DatabaseRule, Policy, Settings, Window, policy_for
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.sources.counters.perfmon_csv import perfmon_csv_source
from esewatch.sources.logs.event_stream import event_stream_source
from tests.eselab.running import machine

HOUR = 3600.0
NAME = "priv1"
COMPUTER = "lab"
OPENS = 1
"""The hour, UTC, at which the window opens."""
NOON = DAY / 2

RIGHT = 3 * HOUR
"""Where a world is made to have its ratio in the middle of the band."""
STARTS = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
"""Times RIGHT."""

ASKED_EVERY = 3
"""Days."""
SETTLED = 12
"""Days without a change, and with evidence, that end a loop."""
LONGEST = 240
"""Days."""
WAITING = ("quiet", "ratio_low", "bad_pages")
"""Rules that say keep for now."""
LEAST_PAGES = 700
"""The floor of pages read, for databases of a few megabytes: once their pages."""
TIMES = 4
"""So many times as large is the database whose advice is followed.

The floor lets a ratio stand on few pages: on 7 freed for 700 read, where the one of real databases
has 1,000. In the small world chance alone made it 107 where the engine's is 60 (17 freed in nine
days), and the advice followed chance. Four times as many halve what chance does.
"""


class World(NamedTuple):
    """A database: what comes and goes in it, and how fast its maintenance is."""

    seed: int
    scan: bool
    pages: int
    kept: float
    """Days that a message is kept: how much there is to free each night."""
    pause: float
    """Seconds after each leaf: how far online defragmentation comes in a window."""
    times: int = 1
    """So many times as many pages, mailboxes and pages scanned in a second."""

    def plan(self, seconds: float) -> Plan:
        """With a window of that length."""
        database = DatabasePlan(
            name=NAME,
            # Small pages with small messages: the most pages that are freed for the time it takes.
            page_size=4096,
            pages=self.pages,
            cache_pages=self.pages // 20,
            window=WindowPlan(offset=OPENS * HOUR, length=seconds),
            mail=MailPlan(mailboxes=10 * self.times, kept=self.kept, body=300),
            defrag_pause=self.pause,
            scan=self.scan,
            # A scan of the whole takes about a quarter of an hour.
            scan_throttle=60.0 / self.times,
        )
        return Plan(databases=[database], sample=600.0)


def world(seed: int, *, scan: bool, times: int = 1) -> World:
    """One in which a pass takes three to four windows of RIGHT.

    Measured: about 24 pages are read for each freed with a quarter of RIGHT, 55 with half, 70 with
    all of it, 140 with twice as much.
    """
    chance = random.Random(f"{seed} {scan}")
    pages = chance.randint(700 * times, 900 * times)
    half = RIGHT / 2 if scan else RIGHT
    return World(seed, scan, pages, chance.uniform(230, 270), 3.0 * half / pages, times)


class Change(NamedTuple):
    """Advice that was followed."""

    day: float
    rule: str
    before: float
    after: float


class Outcome(NamedTuple):
    """What came of a loop."""

    world: World
    start: float
    """Seconds of the first window."""
    changes: list[Change]
    seconds: float
    """Of the last window."""
    days: float
    action: Action
    rule: str
    evidence: Evidence
    """The engine's own counts, in the time of the last window."""
    cadence: float
    """Days per completed pass in that time; infinite without one."""

    @property
    def reversals(self) -> int:
        """How often a longer window was made shorter again, or a shorter one longer."""
        grew = [each.after > each.before for each in self.changes]
        return sum(a != b for a, b in pairwise(grew))

    @property
    def is_right(self) -> bool:
        """The ratio is in the band, as far as chance shows it; or it is below, and passes
        finish soon all the same."""
        told = self.evidence
        return (told.lowest <= 100 and told.highest >= 50) or (
            self.ratio < 50 and self.cadence <= 3
        )

    @property
    def ratio(self) -> float:
        """Pages read for each that was freed."""
        return self.evidence.pages_read / max(1.0, self.evidence.pages_freed)

    def __str__(self) -> str:
        """One line."""
        path = " ".join(f"{c.after / HOUR:g}h({c.rule},{c.day:.0f})" for c in self.changes)
        return (
            f"seed {self.world.seed}{' scan' if self.world.scan else ''}, from"
            f" {self.start / HOUR:g}h: {path or 'no change'}; {self.action} ({self.rule}) after"
            f" {self.days:.0f} days, ratio {self.ratio:.1f} ({self.evidence.lowest:.1f} to"
            f" {self.evidence.highest:.1f}), a pass every {self.cadence:.1f} days"
        )


class Agent:
    """Reads the logs of one folder, from where it was."""

    def __init__(self, folder: Path, times: int = 1) -> None:
        self._times = times
        self.folder = Folder(State(), Settings())
        self.sources = (
            event_stream_source("events", [str(folder / "events.jsonl")]),
            perfmon_csv_source("counters", [str(folder / "counters.csv")]),
        )
        for source in self.sources:
            self.folder.open_source(source.name, 0.0)

    def read(self, now: float) -> None:
        """All that came since."""
        for source in self.sources:
            for batch in source.poll():
                assert batch.unreadable == []
                self.folder.fold(source.name, batch, now)

    def advice(self, seconds: float, now: float) -> WindowAdvice:
        """With a window of that length in the settings."""
        found = self.known(seconds)
        policy = policy_for(settings_with(seconds, self._times), found.computer, found.database)
        return window_advice(found, policy, now)

    def known(self, seconds: float) -> History:
        """What it has of the one database, with a window of that length in the settings."""
        settings = settings_with(seconds, self._times)
        self.folder.reconfigure(settings)
        ((computer, database),) = self.folder.state.databases
        return histories(self.folder.state, settings)[computer, database]

    def close(self) -> None:
        """Let go of the files."""
        for source in self.sources:
            source.close()


def watched(folder: Path, made: World, seconds: float, *, days: float) -> History:
    """What the agent knows of a world after so many days with a window of that length."""
    running = machine(folder, made.plan(seconds), seed=made.seed)
    until = running.now() + days * DAY
    running.run(until)
    running.close()
    agent = Agent(folder)
    agent.read(until)
    agent.close()
    return agent.known(seconds)


def settings_with(seconds: float, times: int = 1) -> Settings:
    """With a window of that length, for a world `times` as large."""
    return Settings(
        windows={"night": Window(start=datetime.time(OPENS), duration=seconds)},
        databases=[DatabaseRule(match=f"*{NAME}.edb", window="night")],
        policy=Policy(min_pages_read=LEAST_PAGES * times),
    )


class Loop:
    """A world at work, and whoever follows the advice on it."""

    def __init__(self, folder: Path, made: World, seconds: float) -> None:
        self.world = made
        self.seconds = seconds
        self.changes: list[Change] = []
        self._folder = folder
        self._start = seconds
        self._machine = self._opened()
        self._began = self._changed = self._machine.now()
        self._agent = Agent(folder, made.times)

    def run(self, longest: float = LONGEST, settled: float = SETTLED) -> Outcome:
        """Until the advice is to keep for `settled` days on end, or the days are over."""
        quiet_since = None
        while True:
            advice = self._ask()
            now = self._machine.now()
            if advice.action in ("shrink", "grow"):
                assert advice.recommended_seconds is not None
                self._change(advice.rule, advice.recommended_seconds)
                quiet_since = None
            elif advice.action == "keep" and advice.rule not in WAITING:
                quiet_since = now if quiet_since is None else quiet_since
            else:
                quiet_since = None
            done = quiet_since is not None and now - quiet_since >= settled * DAY
            if done or now - self._began >= longest * DAY:
                return self._end(advice)

    def _opened(self) -> Machine:
        return machine(self._folder, self.world.plan(self.seconds), seed=self.world.seed)

    def _ask(self) -> WindowAdvice:
        """Some days later, at noon."""
        until = self._machine.now() // DAY * DAY + ASKED_EVERY * DAY + NOON
        self._machine.run(until)
        self._machine.flush()
        self._agent.read(until)
        return self._agent.advice(self.seconds, until)

    def _change(self, rule: str, seconds: float) -> None:
        now = self._machine.now()
        day = (now - self._began) / DAY
        self.changes.append(Change(day, rule, self.seconds, seconds))
        self.seconds = seconds
        self._machine.close()
        self._machine = self._opened()
        self._changed = self._machine.now()

    def _end(self, advice: WindowAdvice) -> Outcome:
        now = self._machine.now()
        self._machine.close()
        self._agent.read(now)
        counted = self._machine.instances[NAME].counters
        found = self._agent.known(self.seconds)
        ends = [
            done.ended
            for done in found.defrag_passes
            if done.ended is not None and done.ended > self._changed
        ]
        self._agent.close()
        return Outcome(
            world=self.world,
            start=self._start,
            changes=self.changes,
            seconds=self.seconds,
            days=(now - self._began) / DAY,
            action=advice.action,
            rule=advice.rule,
            evidence=Evidence(
                pages_read=counted.defrag_pages_read, pages_freed=counted.defrag_pages_freed
            ),
            cadence=(now - self._changed) / DAY / len(ends) if ends else float("inf"),
        )


def larger(seed: int) -> World:
    """One whose advice is followed; every other seed has its scan on."""
    return world(seed, scan=seed % 2 == 1, times=TIMES)


def followed(folder: Path, seed: int, start: float) -> Outcome:
    """The outcome of following the advice from a window of `start` x RIGHT.

    Nothing is left in `folder`.
    """
    with TemporaryDirectory(dir=folder) as made:
        return Loop(Path(made), larger(seed), start * RIGHT).run()


def left_alone(folder: Path, seed: int, days: float) -> Outcome:
    """The outcome of so many days of following it from a window of RIGHT."""
    with TemporaryDirectory(dir=folder) as made:
        loop = Loop(Path(made), larger(seed), RIGHT)
        return loop.run(longest=days, settled=days)
