"""Text logs: lines a second of the agent, with its journal, against mtail on the same file.

mtail runs a program (`text.mtail`) that takes from each ESE line what the agent exports of it.
Both run as processes of their own, start-up included, and must count the same events.
"""

import functools
import json
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
from typing import NamedTuple

from bench.figure import Figure, paired
from bench.text_log import ESE_SHARE, write

SIZE = 150_000_000
ESE_ONLY_SIZE = 15_000_000
TIMES_MTAIL = 3.0
ROUNDS = 5

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


def run() -> list[Figure]:
    """The figures. Raises RuntimeError without mtail and when both do not count the same."""
    mtail = shutil.which("mtail")
    if mtail is None:
        raise RuntimeError("mtail is not installed: apt-get install mtail")
    with tempfile.TemporaryDirectory() as name:
        mixed = _compare(Path(name), mtail, SIZE, ESE_SHARE)
        only = _compare(Path(name), mtail, ESE_ONLY_SIZE, 1.0)
    return [
        Figure(
            "text, 150 MB, 5 % ESE lines: lines/s of ours with journal commits, against mtail",
            mixed.speed,
            "x",
            "at least",
            TIMES_MTAIL,
            _sides(mixed),
        ),
        Figure(
            "text, 150 MB, 5 % ESE lines: CPU time of mtail, against ours",
            mixed.cpu,
            "x",
            details="mtail may use all cores, ours uses one",
        ),
        Figure(
            "text, 15 MB, ESE lines only: lines/s of ours with journal commits, against mtail",
            only.speed,
            "x",
            details=_sides(only),
        ),
    ]


def _sides(measured: _Measured) -> str:
    return f"ours {measured.ours:,.0f} lines/s, mtail {measured.mtail:,.0f} lines/s"


def _compare(folder: Path, mtail: str, size: int, ese_share: float) -> _Measured:
    log = folder / "application.log"
    lines = write(log, size, ese_share)
    ours = functools.partial(_ours, folder, log)
    peer = functools.partial(_mtail, mtail, folder, log)
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


def _ours(folder: Path, log: Path) -> Counter[tuple[str, int]]:
    """Read the log into a new journal; events by provider and id."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        journal = str(Path(name) / "journal.db")
        said = _output([sys.executable, "-m", "bench.text_ingest", str(log), journal])
    return Counter(
        {
            (provider, int(event_id)): number
            for provider, numbers in json.loads(said).items()
            for event_id, number in numbers.items()
        }
    )


def _mtail(mtail: str, folder: Path, log: Path) -> Counter[tuple[str, int]]:
    """Let mtail read the log once; events by provider and id."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    shutil.copy(Path(__file__).with_name("text.mtail"), programs / "ese.mtail")
    options = ["--progs", str(programs), "--logs", str(log), "--log_dir", str(folder)]
    said = _output([mtail, "--one_shot", "--one_shot_format", "prometheus", *options])
    counted: Counter[tuple[str, int]] = Counter()
    for event_id, provider, number in _COUNTED.findall(said):
        counted[provider, int(event_id)] += int(number)
    return counted


def _output(command: list[str]) -> str:
    """What the command prints. Raises RuntimeError with its last line when it fails."""
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{Path(command[0]).name} failed: {last}")
    return done.stdout
