"""The commands of the engine as a user starts them: helpers of their tests."""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from eselab.base.plan import DatabasePlan, MailPlan, Plan, WindowPlan
from tests.support.patience import PATIENCE

GREETING = " at work in "
ROOT = Path(__file__).parents[2]
SMALL = DatabasePlan(
    name="a", pages=60, cache_pages=10, mail=MailPlan(mailboxes=3, kept=10.0), defrag_pause=5.0
)
VIRTUAL = Plan(databases=[SMALL, msgspec.structs.replace(SMALL, name="b")], sample=300.0)
"""Two small databases; a virtual day takes a small part of a second."""
QUICK = msgspec.structs.replace(
    SMALL,
    # One pass takes the whole window, which is always open: a signal finds it at work.
    window=WindowPlan(period=5.0, offset=0.0, length=5.0),
    mail=MailPlan(mailboxes=3, kept=200.0),
    defrag_pause=0.2,
    scan=False,
)
REAL = Plan(databases=[QUICK], sample=0.1)
"""For the real clock."""


class Done(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    error: str


def started(*words: object, stdin: int | IO[bytes] = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """`esewatch engine` with these words, at work."""
    return subprocess.Popen(
        [sys.executable, "-m", "esewatch", "engine", *map(str, words)],
        cwd=ROOT,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name != "COLUMNS"},
    )


def finished(process: subprocess.Popen[bytes], seconds: float = PATIENCE) -> Done:
    """Wait for its end."""
    with process:
        try:
            out, error = process.communicate(timeout=seconds)
        finally:
            process.kill()
        return Done(process.returncode, out.decode(), error.decode())


def command(*words: object) -> Done:
    """Do it to its end, without a standard input."""
    return finished(started(*words))


def run(folder: Path, *words: object, plan: Plan = VIRTUAL) -> Done:
    """`engine run` of a plan in a folder."""
    file = folder.with_name(f"{folder.name}.plan.json")
    file.write_bytes(msgspec.json.encode(plan))
    return command("run", "--dir", folder, "--plan", file, *words)


def at_work(
    folder: Path, *words: object, plan: Plan, stdin: int | IO[bytes] = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """`engine run` of a plan, when it has opened all databases."""
    file = folder.with_name(f"{folder.name}.plan.json")
    file.write_bytes(msgspec.json.encode(plan))
    process = started("run", "--dir", folder, "--plan", file, *words, stdin=stdin)
    assert process.stderr is not None
    said = process.stderr.readline().decode()
    assert GREETING in said, said
    return process


def made(folder: Path, days: float = 0.5) -> Path:
    """A folder in which a run of VIRTUAL has ended."""
    done = run(folder, "--days", days)
    assert (done.status, done.out) == (0, "")
    return folder


def killed(folder: Path) -> Path:
    """A folder in which a run of REAL was killed."""
    process = at_work(folder, "--clock", "real", plan=REAL)
    process.kill()
    finished(process)
    return folder


def expect_one_line(done: Done, *words: str) -> None:
    """It could not be done, or not go on, and one line says why with these words."""
    assert (done.status, done.out) == (2, "")
    lines = done.error.splitlines()
    if len(lines) > 1 and GREETING in lines[0]:
        del lines[0]
    assert len(lines) == 1, done.error
    assert lines[0].startswith("esewatch engine")
    assert all(word in lines[0] for word in words), done.error


def events(folder: Path) -> list[tuple[int, str]]:
    """(event id, first own parameter) of each event, in order."""
    found = []
    written = (folder / "events.jsonl").read_bytes()
    # Whole lines: who reads while some are written may see the beginning of one.
    for line in written[: written.rfind(b"\n") + 1].splitlines():
        event = msgspec.json.decode(line)["Event"]
        strings = event["EventData"]["Data"]["#text"]
        found.append((event["System"]["EventID"], strings[3] if len(strings) > 3 else ""))
    return found


def content(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def last_time(folder: Path) -> str:
    """The time of the last row of the counters, as it stands there."""
    return (folder / "counters.csv").read_text().splitlines()[-1].split('"')[1]
