"""Servers with a month behind them and the agent that watches them, on one screen.

Eleven databases on five computers, each with a story. What is shown of them is what the agent says.
"""

import argparse
import os
import queue
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import msgspec

from esefiles.base.command_line import said_of, write_out
from eselab.demo.agent import choose_address, configuration, local_url, look, make_folder
from eselab.demo.processes import DemoProcess, Processes
from eselab.demo.screen import KEYS, Action, ScreenView, Terminal, draw, last_events
from eselab.demo.servers import BAD, DAY, KEEP, MAIL, MAIL2, NIGHTLY, NIGHTS, servers
from eselab.demo.stories import FORECAST, STORIES, Look, StoryTold

ENGINE = (sys.executable, "-m", "eselab", "run", "--clock", "paced", "--until-eof")
"""Command of an engine, without its folder, plan, start, computer and seed."""

LEAD_SECONDS = 45.0
"""The demo can be watched from the next whole minute after this time."""

UNATTENDED_SECONDS = 420.0
"""The time limit of the stories without a person watching, once the agent runs."""

LOOK_SECONDS = 1.0

FLIP_AFTER, DAMAGE_AFTER = 10.0, 55.0
"""Seconds after the first full page at which a bit flips, and two bits of one page."""

_PRESENT = "the present is reached"
_DAYS = re.compile(r"([\d.]+) of ([\d.]+) days")


class Extra(NamedTuple):
    name: str
    command: Sequence[str]
    url: str


Extras = Callable[[Path, str], Sequence[Extra]]
"""The further processes, by the demo's folder and the agent's address (host:port). They are
started with the agent, when the past is written."""


def run(options: argparse.Namespace, extras: Extras | None = None) -> int:
    """Run the demo; its exit status. Raises DemoError, OSError when it cannot be started."""
    actions = _listen_to_signals()
    address = choose_address(options.listen)
    folder = make_folder(options.dir)
    write_out(f"esewatch demo: its folder is {folder}\n")
    live = -(-(time.time() + LEAD_SECONDS) // 60) * 60
    (folder / "esewatch.yml").write_text(configuration(live), encoding="utf-8")
    with Processes() as processes:
        demo = _Demo(folder, address, processes, extras)
        demo.start_engines(live, options.seed)
        attended = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        watch = _watch_on_terminal if attended else _watch_in_lines
        try:
            status = watch(demo, actions, options.seconds)
        except _EndedError as error:
            sys.stderr.write(f"esewatch: {error}\n")
            status = 1
    _say_goodbye(demo)
    return status


class _Demo:
    def __init__(
        self, folder: Path, address: str, processes: Processes, extras: Extras | None
    ) -> None:
        self.folder = folder
        self.url = local_url(address)
        self.open = [("status page", f"{self.url}/"), ("metrics", f"{self.url}/metrics")]
        self.told = StoryTold()
        self.said = ""
        self.past = 0.0
        self.full: float | None = None
        """Time of the first page with all of them, by `elapsed`."""
        self._look: Look = {}
        self._address = address
        self._extras = extras
        self._processes = processes
        self._engines: dict[str, DemoProcess] = {}
        self._agent: DemoProcess | None = None
        self._begun = time.monotonic()
        self._due: list[tuple[float, Action]] = [(FLIP_AFTER, "flip"), (DAMAGE_AFTER, "damage")]

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._begun

    @property
    def watched(self) -> float:
        """Seconds since the first full page, 0 before it."""
        return 0.0 if self.full is None else self.elapsed - self.full

    def start_engines(self, live: float, seed: int) -> None:
        """One for each server: they live through the past first. Raises OSError."""
        start = datetime.fromtimestamp(live - NIGHTS * DAY, UTC).isoformat()
        for server in servers(live):
            plan = self.folder / f"{server.computer}.json"
            plan.write_bytes(msgspec.json.format(msgspec.json.encode(server.plan)))
            own = self.folder / server.computer
            command = [
                *ENGINE, "--dir", str(own), "--plan", str(plan), "--start", start,
                "--computer", server.computer, "--seed", str(seed),
                *(["--binary-log"] if server.has_binary_log else []),
            ]  # fmt: skip
            log = self.folder / f"{server.computer}.log"
            self._engines[server.computer] = self._processes.start(
                f"engine of {server.computer}", command, log, fed=True
            )

    def look(self) -> None:
        """Check the progress of the past; then ask the agent. Old facts stay where it is silent."""
        if (child := self._processes.ended()) is not None:
            raise _EndedError(child.name, child.process.returncode, child.last_words())
        if self.past < 1.0:
            self.past = min(_share(each.said()) for each in self._engines.values())
            if self.past == 1.0:
                self._start_agent()
                for extra in self._extras(self.folder, self._address) if self._extras else ():
                    log = self.folder / f"{extra.name}.log"
                    self._processes.start(extra.name, extra.command, log)
                    self.open.append((extra.name, extra.url))
            return
        if self._agent is None:
            return
        try:
            self._look = look(self.url)
        except OSError as error:
            if self.full is None:
                self.said = f"the agent does not answer yet: {said_of(error)}"
            return
        self.told.take(self._look)
        if self.full is None and all(
            (mine := self._look.get(story.key)) is not None and mine.action for story in STORIES
        ):
            self.full, self.said = self.elapsed, ""
        if self._due and self.watched >= self._due[0][0]:
            self.do(self._due.pop(0)[1])

    def do(self, action: Action) -> None:
        if self.past < 1.0:
            return
        if action == "agent" and self._agent is None:
            self._start_agent()
            self.said = "the agent was started: it goes on where it was"
        elif action == "agent" and self._agent is not None:
            self._processes.stop_one(self._agent)
            self._agent = None
            self.said = "the agent was stopped: press a to start it, nothing will be missing"
        elif action == "flip":
            self._harm(MAIL2, "flip_one", BAD, ahead=True)
            self.said = f"a bit of a page of {BAD} was flipped: its scan reads it in a minute"
        elif action == "damage":
            self._harm(MAIL2, "flip_two", BAD, ahead=True)
            self.said = f"two bits of a page of {BAD} were flipped: that cannot be corrected"
        elif action == "slow":
            self._harm(MAIL, "slow", KEEP, seconds=30.0, count=2)
            self.said = f"the next two requests to {KEEP} take 30 s: events 507 to 510"
        elif action == "skip":
            self._harm(MAIL, "skip", NIGHTLY)
            self.said = f"the window of {NIGHTLY} was closed for this night: event 725"

    def view(self) -> ScreenView:
        sentences = [
            mine.sentence if (mine := self._look.get(story.key)) is not None else ""
            for story in STORIES
        ]
        return ScreenView(
            self.elapsed, self.folder, self.open, self.past, self.told.seen, sentences,
            self.told.forecast, last_events(self.folder) if self.past == 1.0 else (), self.said,
        )  # fmt: skip

    def sentence(self, title: str) -> str:
        if title == FORECAST:
            return self.told.forecast
        story = next(each for each in STORIES if each.title == title)
        mine = self._look.get(story.key)
        return f"{story.database} on {story.computer}: {mine.sentence if mine else ''}"

    def _harm(self, computer: str, kind: str, database: str, **more: Any) -> None:
        fault = {"kind": kind, "database": database, **more}
        self._engines[computer].feed(msgspec.json.encode(fault))

    def _start_agent(self) -> None:
        config = ["--config.file", str(self.folder / "esewatch.yml")]
        command = [sys.executable, "-m", "esewatch", "run", *config]
        self._agent = self._processes.start(
            "agent", [*command, "--web.listen-address", self._address], self.folder / "agent.log"
        )
        self.said = "the agent reads the logs of the month"


def _share(said: Sequence[str]) -> float:
    """Share of the past of an engine that is done, by its last message."""
    if any(_PRESENT in line for line in said):
        return 1.0
    found = _DAYS.findall("\n".join(said))
    return min(0.99, float(found[-1][0]) / max(1e-9, float(found[-1][1]))) if found else 0.0


def _watch_on_terminal(
    demo: _Demo, actions: "queue.SimpleQueue[Action]", seconds: float | None
) -> int:
    """Until it is ended or for `seconds`; exit status 1 when that was too short for the stories."""

    def pressed(key: str) -> None:
        if key.lower() in KEYS:
            actions.put(KEYS[key.lower()][1])

    with Terminal.taken(pressed) as terminal:
        for looked in _turns(demo, actions, seconds):
            if looked:
                demo.look()
            size = shutil.get_terminal_size()
            terminal.show(draw(demo.view(), size.columns, size.lines))
    return 1 if seconds is not None and demo.watched >= seconds and demo.told.missing else 0


def _watch_in_lines(
    demo: _Demo, actions: "queue.SimpleQueue[Action]", seconds: float | None
) -> int:
    """Until all stories were seen; exit status 1 when that takes too long."""
    for name, url in demo.open:
        write_out(f"{name}: {url}\n")
    told: set[str] = set()
    tenth = -1
    for _ in _turns(demo, actions, UNATTENDED_SECONDS if seconds is None else seconds):
        demo.look()
        if demo.past < 1.0 and int(demo.past * 10) > tenth:
            tenth = int(demo.past * 10)
            write_out(f"{demo.elapsed:4.0f} s  30 nights: {demo.past:.0%}\n")
        for title in [title for title in demo.told.seen if title not in told]:
            told.add(title)
            write_out(f"{demo.elapsed:4.0f} s  {title}: {demo.sentence(title)}\n")
        if not demo.told.missing:
            write_out(f"{demo.elapsed:4.0f} s  all {len(told)} stories seen\n")
            return 0
    missing = "; ".join(demo.told.missing)
    why = f" ({demo.said})" if demo.full is None and demo.said else ""
    sys.stderr.write(
        f"esewatch: not seen in the {demo.watched:.0f} s after the first page: {missing}{why}\n"
    )
    return 1


def _turns(
    demo: _Demo, actions: "queue.SimpleQueue[Action]", seconds: float | None
) -> Iterator[bool]:
    """A turn each second (True) and where the terminal has a new size (False), until the end."""
    fresh = True
    while seconds is None or demo.watched < seconds:
        yield fresh
        try:
            action = actions.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            fresh = True
            continue
        if action == "stop":
            return
        fresh = False
        if action != "draw":
            demo.do(action)


class _EndedError(Exception):
    def __init__(self, name: str, status: int, words: str) -> None:
        how = f"status {status}" if status >= 0 else f"signal {-status}"
        super().__init__(f"the {name} ended with {how}: {words or 'it said nothing'}")


def _say_goodbye(demo: _Demo) -> None:
    write_out(f"esewatch demo: stopped, nothing runs any more. Its files are in {demo.folder}\n")
    if (demo.folder / MAIL / "events.jsonl").exists():
        installed = Path(sys.executable).with_name("esewatch")
        command = installed if installed.exists() else f"{sys.executable} -m esewatch"
        config = f"--config.file {demo.folder / 'esewatch.yml'}"
        places = ("*/events.jsonl", "*/*/events.jsonl", "*/counters.csv", "*/*/counters.csv")
        logs = " ".join(f"{demo.folder}/{place}" for place in places)
        write_out(
            "To go on with what is there:\n"
            f"  {command} report {logs} {config} -o report.html\n"
            f"  {command} scan {demo.folder / MAIL2 / BAD / f'{BAD}.edb'}\n"
        )


def _listen_to_signals() -> "queue.SimpleQueue[Action]":
    """React to signals. The queue may be filled in the middle of anything."""
    actions: queue.SimpleQueue[Action] = queue.SimpleQueue()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        actions.put("stop")

    def redraw(_signal: int, _frame: FrameType | None) -> None:
        actions.put("draw")

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup
        signal.signal(signal.SIGHUP, stop)
    signal.signal(signal.SIGWINCH, redraw)
    return actions
