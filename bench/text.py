"""Text logs: lines a second of the agent, with its journal, against mtail on the same file.

mtail runs a program (`text.mtail`) that takes from each ESE line what the agent exports of it. It
is written in two ways: as the examples that come with mtail are (a decorator reads time, host,
program and message of every line), and so that other lines cost least. All run as processes of
their own, start-up included, and must count the same events.
"""

import functools
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from bench.figure import Figure, paired
from bench.text_log import ESE_SHARE, write

SIZE = 150_000_000
ESE_ONLY_SIZE = 15_000_000
TIMES_MTAIL = 3.0
HOSTILE_SIZE = 1_000_000
TIMES_USUAL = 3.0
ROUNDS = 5

Way = Literal["as its examples", "for speed"]

HEADS: dict[Way, str] = {
    "as its examples": r"""
def host_log {
  /^(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?P<computer>\S+) (?P<provider>\S+) (?P<message>.*)$/ {
    strptime($date, "2006-01-02 15:04:05")
    next
  }
}

@host_log {
  $provider == "ESE" || $provider == "ESENT" {
    $message =~ /^(?P<event_id>\d+) \S+ \(\d+\) (?P<ese_instance>[^:]+): (?P<text>.*)$/ {
      BODY
    }
  }
}
""",
    "for speed": r"""
/ ESE/ {
  /^(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?P<computer>\S+) (?P<provider>ESE|ESENT) / +
  /(?P<event_id>\d+) \S+ \(\d+\) (?P<ese_instance>[^:]+): (?P<text>.*)$/ {
    strptime($date, "2006-01-02 15:04:05")
    BODY
  }
}
""",
}

_ROOT = Path(__file__).parents[1]
_COUNTED = re.compile(
    r'ese_events_total\{computer="[^"]*",event_id="(\d+)",prog="[^"]*",provider="([^"]*)"\} (\d+)'
)


class _Measured(NamedTuple):
    """Both sides on one file: lines a second, and the ratios pair by pair."""

    ours: float
    mtail: float
    speed: float
    cpu: float
    """CPU seconds of mtail for one of ours."""

    @property
    def sides(self) -> str:
        """Both sides in words."""
        return (
            f"ours {self.ours:,.0f} lines/s, mtail {self.mtail:,.0f}; "
            f"CPU time of mtail {self.cpu:.2f} times ours"
        )


def run() -> list[Figure]:
    """The figures. Raises RuntimeError without mtail and when both do not count the same."""
    mtail = shutil.which("mtail")
    if mtail is None:
        raise RuntimeError("mtail is not installed: apt-get install mtail")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = write(folder / "mixed.log", SIZE, ESE_SHARE)
        mixed = {way: _compare(folder / "mixed.log", lines, mtail, way) for way in HEADS}
        lines = write(folder / "only.log", ESE_ONLY_SIZE, 1.0)
        only = _compare(folder / "only.log", lines, mtail, "as its examples")
        hostile = _hostile(folder)
    what = "text, 150 MB, 5 % ESE lines, with journal commits, against mtail with a program written"
    usual, fast = mixed["as its examples"], mixed["for speed"]
    return [
        Figure(f"{what} as its examples", usual.speed, "x", "at least", TIMES_MTAIL, usual.sides),
        Figure(f"{what} for speed", fast.speed, "x", details=fast.sides),
        Figure("text, 15 MB, ESE lines only, against mtail", only.speed, "x", details=only.sides),
        hostile,
    ]


def _hostile(folder: Path) -> Figure:
    """Lines that name ESE and give no event, against as many bytes of events."""
    usual, hostile = folder / "usual.log", folder / "hostile.log"
    write(usual, HOSTILE_SIZE, 1.0)
    hostile.write_bytes(b"Source: ESE\n" * (HOSTILE_SIZE // 12))

    spent: dict[Path, list[float]] = {usual: [], hostile: []}
    paired(
        lambda: _cpu(lambda: _ours(usual), spent[usual]),
        lambda: _cpu(lambda: _ours(hostile), spent[hostile]),
        ROUNDS,
    )
    pairs = list(zip(spent[hostile], spent[usual], strict=True))
    times = statistics.median(ours / theirs for ours, theirs in pairs)
    what = "text, 1 MB of lines `Source: ESE`, CPU time against 1 MB of ESE lines"
    sides = "{:.2f} s against {:.2f} s".format(*map(statistics.median, zip(*pairs, strict=True)))
    return Figure(what, times, "x", "under", TIMES_USUAL, sides)


def _compare(log: Path, lines: int, mtail: str, way: Way) -> _Measured:
    ours = functools.partial(_ours, log)
    peer = functools.partial(_mtail, mtail, log, way)
    if (counted := ours()) != (expected := peer()):
        different = sorted((counted - expected) + (expected - counted))
        raise RuntimeError(f"ours and mtail do not count the same: {different[:5]}")
    spent: dict[str, list[float]] = {"ours": [], "mtail": []}
    seconds, peer_seconds, speed = paired(
        lambda: _cpu(ours, spent["ours"]), lambda: _cpu(peer, spent["mtail"]), ROUNDS
    )
    pairs = zip(spent["ours"], spent["mtail"], strict=True)
    cpu = statistics.median(theirs / own for own, theirs in pairs)
    return _Measured(lines / seconds, lines / peer_seconds, speed, cpu)


def _cpu(work: Callable[[], object], spent: list[float]) -> None:
    """Do the work and note the CPU seconds of the processes it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _ours(log: Path) -> Counter[tuple[str, int]]:
    """Read the log into a new journal; events by provider and id."""
    with tempfile.TemporaryDirectory(dir=log.parent) as name:
        journal = str(Path(name) / "journal.db")
        said = _output([sys.executable, "-m", "bench.text_ingest", str(log), journal])
    return Counter(
        {
            (provider, int(event_id)): number
            for provider, numbers in json.loads(said)["events"].items()
            for event_id, number in numbers.items()
        }
    )


def program(way: Way) -> str:
    """The program for mtail: what it declares, how it finds a line, what it takes from it."""
    text = Path(__file__).with_name("text.mtail").read_text(encoding="utf-8")
    declared, _, taken = text.partition("MATCH {\n")
    return declared + HEADS[way].replace("BODY", taken.rpartition("}")[0].strip())


def _mtail(mtail: str, log: Path, way: Way) -> Counter[tuple[str, int]]:
    """Let mtail read the log once; events by provider and id."""
    with tempfile.TemporaryDirectory(dir=log.parent) as name:
        (Path(name) / "ese.mtail").write_text(program(way), encoding="utf-8")
        options = ["--progs", name, "--logs", str(log), "--log_dir", name]
        said = _output([mtail, "--one_shot", "--one_shot_format", "prometheus", *options])
    counted: Counter[tuple[str, int]] = Counter()
    for event_id, provider, number in _COUNTED.findall(said):
        counted[provider, int(event_id)] += int(number)
    return counted


def _output(command: list[str]) -> str:
    """What the command prints. Raises RuntimeError with its last line when it fails."""
    # As an agent that is installed, ours has its byte code.
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, cwd=_ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{Path(command[0]).name} failed: {last}")
    return done.stdout
