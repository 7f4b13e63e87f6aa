"""A process with a machine at work, in real time without an end, until it is killed.

python -m tests.eselab.machine_process FOLDER SEED: works in FOLDER, and beside it keeps a model
of each database: FOLDER.NAME.base has its records when it was made, FOLDER.NAME.journal a line
for each transaction that is intended and for each time that they are durable.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from eselab.base.clock import RealClock
from eselab.base.plan import DatabasePlan, MailPlan, Plan, WindowPlan
from eselab.check.check import records
from eselab.disk.disk import RealDisk
from eselab.machine.machine import Machine
from eselab.machine.mail import TABLES, Row

COMPUTER = "LAB.example"
WINDOW = WindowPlan(period=1.0, offset=0.0, length=0.8)
PLAN = Plan(
    databases=[
        DatabasePlan(
            name="small",
            page_size=4096,
            pages=150,
            cache_pages=12,
            checkpoint_depth=1 << 16,
            window=WINDOW,
            mail=MailPlan(mailboxes=4, kept=4.0, body=400),
            defrag_pause=0.0002,
            scan_throttle=0.002,
        ),
        DatabasePlan(
            name="large",
            page_size=32768,
            pages=30,
            cache_pages=8,
            checkpoint_depth=1 << 18,
            window=WINDOW,
            mail=MailPlan(mailboxes=3, kept=6.0),
            defrag_pause=0.001,
            scan_throttle=0.02,
        ),
    ],
    sample=0.05,
)
"""A day takes a second; windows too short for a pass, and wide enough, as the machine is fast."""


class Line(msgspec.Struct, omit_defaults=True):
    """One line of a journal: `rows` are intended, or a `word`."""

    word: str = ""
    rows: list[Row] = []


class Writer:
    """A Journal in a file: each line is there before what it tells goes on."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def intended(self, rows: Sequence[Row]) -> None:
        self._write(Line(rows=list(rows)))

    def given_up(self) -> None:
        self._write(Line(word="given_up"))

    def durable(self) -> None:
        self._write(Line(word="durable"))

    def _write(self, line: Line) -> None:
        os.write(self._file, msgspec.json.encode(line) + b"\n")


def beside(folder: Path, name: str, ending: str) -> Path:
    """A file of the model of database `name`."""
    return folder.with_name(f"{folder.name}.{name}.{ending}")


def keep_base(folder: Path, name: str) -> None:
    """Write what a new database has, before anything is done to it."""
    base = beside(folder, name, "base")
    if not base.exists():
        found = records(RealDisk(folder / name), f"{name}.edb")
        rows = [Row(*record) for record in found if record[0] in TABLES]
        new = base.with_suffix(".part")
        new.write_bytes(msgspec.json.encode(rows))
        new.rename(base)


def main(folder: Path, seed: int) -> None:
    """Go on from what is there."""
    os.write(sys.stdout.fileno(), b"opening\n")
    names = [database.name for database in PLAN.databases]
    machine = Machine(
        folder,
        PLAN,
        clock=RealClock(),
        seed=seed,
        computer=COMPUTER,
        journals={name: Writer(beside(folder, name, "journal")) for name in names},
    )
    machine.open()
    for name in names:
        keep_base(folder, name)
    os.write(sys.stdout.fileno(), b"working\n")
    machine.run(float("inf"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
