"""`esewatch demo`: a small storage engine at work and the agent that watches it, on one screen.

Five databases, each with a story. What is shown of them comes from the agent alone.
"""

import argparse
import contextlib
import os
import queue
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Literal, NamedTuple

from esewatch.cli.demo_agent import look
from esewatch.cli.demo_configuration import (
    BAD_PAGE,
    SERVER,
    choose_address,
    configuration,
    local_url,
    make_folder,
)
from esewatch.cli.demo_events import LastEvents
from esewatch.cli.demo_processes import Processes
from esewatch.cli.demo_screen import Terminal, View, draw
from esewatch.cli.demo_stories import STORIES, Seen, judge
from esewatch.cli.engine import NOT_FOR_WINDOWS
from esewatch.expose.server import DEFAULT_ADDRESS
from esewatch.model import EsewatchError

ENGINE = (sys.executable, "-m", "esewatch.engine", "run", "--clock", "real", "--profile", "demo")
"""Command of the engine, without its folder and seed."""

UNATTENDED_SECONDS = 150.0
"""Where no person looks on, the stories have so long."""

LOOK_SECONDS = 1.0

Wish = Literal["stop", "draw"]


class Extra(NamedTuple):
    """A further process of the demo, and what to open of it."""

    name: str
    command: Sequence[str]
    url: str


Extras = Callable[[Path, str], Sequence[Extra]]
"""The further processes, by the demo's folder and the agent's address (host:port)."""


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add `demo`."""
    parser = commands.add_parser(
        "demo",
        help="a small storage engine with five databases, watched: no configuration, no root",
        epilog="example: esewatch demo",
    )
    add_options(parser)
    parser.set_defaults(function=run)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    parser.add_argument(
        "--dir", metavar="D", help="empty or new folder; default a fresh temporary one, left there"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the engine; default 1")
    parser.add_argument(
        "--web.listen-address",
        dest="listen",
        metavar="HOST:PORT",
        help=f"of the agent; default {DEFAULT_ADDRESS}, or another port when that one is taken",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="N",
        help=f"end after N seconds; default {UNATTENDED_SECONDS:g} where stdout is no terminal",
    )


def run(options: argparse.Namespace, extras: Extras | None = None) -> int:
    """Run the demo. Exit status 0: ended by who looks on, or all stories were visible.

    1 and one line on stderr: a story was missing, or a process ended by itself. Raises
    EsewatchError when it cannot be started.
    """
    if sys.platform == "win32":
        raise EsewatchError(NOT_FOR_WINDOWS)
    wishes = _listen_to_signals()
    address = choose_address(options.listen)
    folder = make_folder(options.dir)
    print(f"esewatch demo: its folder is {folder}", flush=True)
    config = folder / "esewatch.yml"
    config.write_text(configuration(), encoding="utf-8")
    more = extras(folder, address) if extras is not None else ()
    demo = _Demo(folder, address, more)
    with Processes() as processes, contextlib.closing(demo.last_events):
        engine = [*ENGINE, "--dir", str(folder / SERVER), "--seed", str(options.seed)]
        agent = [sys.executable, "-m", "esewatch", "run", "--config.file", str(config)]
        processes.start("engine", engine, folder / "engine.log")
        processes.start("agent", [*agent, "--web.listen-address", address], folder / "agent.log")
        for each in more:
            processes.start(each.name, each.command, folder / f"{each.name}.log")
        attended = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        watch = _watch_on_terminal if attended else _watch_in_lines
        try:
            status = watch(demo, processes, wishes, options.seconds)
        except _EndedError as error:
            print(f"esewatch: {error}", file=sys.stderr)
            status = 1
    _say_goodbye(demo)
    return status


class _Demo:
    """What is known of the demo, renewed by `look`."""

    def __init__(self, folder: Path, address: str, more: Sequence[Extra]) -> None:
        self.folder = folder
        self.url = local_url(address)
        self.open = [("status page", f"{self.url}/"), ("metrics", f"{self.url}/metrics")]
        self.open += [(each.name, each.url) for each in more]
        self.seen: list[Seen] = judge({})
        self.trouble = "starting"
        self.last_events = LastEvents(folder / SERVER)
        self._begun = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._begun

    @property
    def missing(self) -> list[str]:
        """The stories that cannot be seen."""
        pairs = zip(STORIES, self.seen, strict=True)
        return [f"{story.database} ({seen.now})" for story, seen in pairs if not seen.visible]

    def look(self) -> None:
        """Ask the agent; where it does not answer, what was known stays."""
        try:
            self.seen = judge(look(self.url))
            self.trouble = ""
        except OSError as error:
            self.trouble = f"the agent does not answer yet: {error}"

    def view(self) -> View:
        """What is to be shown."""
        events = self.last_events.lines()
        return View(self.elapsed, self.folder, self.open, self.seen, events, self.trouble)


def _watch_on_terminal(
    demo: _Demo, processes: Processes, wishes: "queue.SimpleQueue[Wish]", seconds: float | None
) -> int:
    """Until Ctrl-C or for `seconds`; exit status 1 when that was too short for the stories."""
    with Terminal.taken() as terminal:
        for looked in _turns(demo, processes, wishes, seconds):
            if looked:
                demo.look()
            size = shutil.get_terminal_size()
            terminal.show(draw(demo.view(), size.columns, size.lines))
    return 1 if seconds is not None and demo.elapsed >= seconds and demo.missing else 0


def _watch_in_lines(
    demo: _Demo, processes: Processes, wishes: "queue.SimpleQueue[Wish]", seconds: float | None
) -> int:
    """Until all stories are visible at once; exit status 1 when that takes too long."""
    for name, url in demo.open:
        print(f"{name}: {url}", flush=True)
    told: set[str] = set()
    limit = UNATTENDED_SECONDS if seconds is None else seconds
    for _ in _turns(demo, processes, wishes, limit):
        demo.look()
        for story, seen in zip(STORIES, demo.seen, strict=True):
            if seen.visible and story.database not in told:
                told.add(story.database)
                line = f"{demo.elapsed:4.0f} s  {story.database}: {story.title}: {seen.now}"
                print(line, flush=True)
        if not demo.missing:
            return 0
    missing = "; ".join(demo.missing)
    why = f": {demo.trouble}" if demo.trouble else ""
    print(f"esewatch: not visible after {demo.elapsed:.0f} s{why}: {missing}", file=sys.stderr)
    return 1


def _turns(
    demo: _Demo, processes: Processes, wishes: "queue.SimpleQueue[Wish]", seconds: float | None
) -> Iterator[bool]:
    """A turn each second (True) and where the terminal has a new size (False), until the end.

    Raises EsewatchError when a process has ended.
    """
    fresh = True
    while seconds is None or demo.elapsed < seconds:
        if (child := processes.ended()) is not None:
            raise _EndedError(child.name, child.process.returncode, child.last_words())
        yield fresh
        try:
            wish = wishes.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            fresh = True
            continue
        if wish == "stop":
            return
        fresh = False


class _EndedError(EsewatchError):
    """A process of the demo ended by itself."""

    def __init__(self, name: str, status: int, words: str) -> None:
        how = f"status {status}" if status >= 0 else f"signal {-status}"
        super().__init__(f"the {name} ended with {how}: {words or 'it said nothing'}")


def _say_goodbye(demo: _Demo) -> None:
    print(f"esewatch demo: stopped, nothing runs any more. All that it made is in {demo.folder}")
    logs = demo.folder / SERVER
    if (logs / "events.jsonl").exists():
        started = Path(sys.argv[0])
        command = started if started.name == "esewatch" else f"{sys.executable} -m esewatch"
        config = f"--config.file {demo.folder / 'esewatch.yml'}"
        print("To go on with what is there:")
        print(f"  {command} report {logs}/*.jsonl {logs}/*.csv {config} -o report.html")
        print(f"  {command} scan {logs}/{BAD_PAGE}/{BAD_PAGE}.edb", flush=True)


def _listen_to_signals() -> "queue.SimpleQueue[Wish]":
    """What the signals ask for. The queue may be filled in the middle of anything."""
    wishes: queue.SimpleQueue[Wish] = queue.SimpleQueue()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        wishes.put("stop")

    def redraw(_signal: int, _frame: FrameType | None) -> None:
        wishes.put("draw")

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup
        signal.signal(signal.SIGHUP, stop)
    signal.signal(signal.SIGWINCH, redraw)
    return wishes
