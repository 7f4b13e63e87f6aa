"""Machines in virtual time on random plans: helpers of the simulations."""

import os
import random
import shutil
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import msgspec
import psutil

from eselab.base.clock import VirtualClock
from eselab.base.plan import (
    DAY,
    DatabasePlan,
    DevicePlan,
    FaultKind,
    FaultPlan,
    MailPlan,
    Plan,
    WindowPlan,
)
from eselab.machine.instance import Instance
from eselab.machine.machine import Machine, OpenError
from eselab.machine.mail import Journal
from tests.eselab.page_sizes import SIZES

START = 13_682 * DAY
WINDOWS_SIZE = 20 << 20
"""Bytes of a log of events in the format of Windows: as it has them by default."""
HARMS: tuple[FaultKind, ...] = ("flip_one", "flip_two", "tear", "lose", "misdirect")


class Filled(NamedTuple):
    """Files of a new database, and what chance is then."""

    files: dict[str, bytes]
    chance: tuple[Any, ...]

    @property
    def size(self) -> int:
        return sum(map(len, self.files.values()))


_FILLED: OrderedDict[tuple[object, ...], Filled] = OrderedDict()
_KEPT_BYTES = 64 << 20
_fill = Instance._fill


def _filled(instance: Instance, folder: Path) -> None:
    """As `Instance._fill`: what it made of the same before is written once more."""
    plan, chance = instance.plan, instance._setting.chance
    key = (
        instance._file, instance._clock.now(), chance.getstate(), plan.page_size, plan.cache_pages,
        plan.pages, plan.zero, plan.window.period, msgspec.json.encode(plan.mail),
    )  # fmt: skip
    if key not in _FILLED:
        _fill(instance, folder)
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        _FILLED[key] = Filled(files, chance.getstate())
        while sum(each.size for each in _FILLED.values()) > _KEPT_BYTES:
            _FILLED.popitem(last=False)
        return
    _FILLED.move_to_end(key)
    made = _FILLED[key]
    for name, content in made.files.items():
        (folder / name).write_bytes(content)
    chance.setstate(made.chance)


def forget_filled() -> None:
    """Let the next machine fill its databases anew, whatever was made before."""
    _FILLED.clear()


def machine(folder: Path, plan: Plan, *, seed: int = 1, windows: bool = False) -> Machine:
    """One that is open, and goes on with what is in `folder`. Raises OpenError.

    `windows`: it writes the logs of Windows too. What new databases have of the time before is
    made once, as far as it is the same.
    """
    made = Machine(
        folder, plan, clock=VirtualClock(START), seed=seed, computer="LAB.example",
        binary=windows, evtx=WINDOWS_SIZE if windows else None,
    )  # fmt: skip
    try:
        with patch.object(Instance, "_fill", _filled):
            made.open()
    except OpenError:
        let_go(folder)
        raise
    return made


def keep_journal(instance: Instance, journal: Journal) -> None:
    """Let a model outside know what the mail work of this instance does from now on."""
    instance._mail._journal = journal


def run(folder: Path, plan: Plan, days: float, *, seed: int = 1, windows: bool = False) -> float:
    """As `engine run --days` does; the time at its end. `windows`: see `machine`."""
    running = machine(folder, plan, seed=seed, windows=windows)
    running.run(running.now() + days * DAY)
    running.close()
    return running.now()


def end_as_if_killed(running: Machine, folder: Path) -> None:
    """Leave in `folder` what a kill would leave there now; the machine is not for use then.

    Lines that it holds back are written: a real one holds back none.
    """
    running.flush()
    left = folder.with_name(f"{folder.name}.left")
    shutil.copytree(folder, left)
    # Whatever the old one still does goes where nobody looks.
    let_go(folder, running)
    shutil.rmtree(folder)
    left.rename(folder)


def let_go(folder: Path, running: Machine | None = None) -> None:
    """Close what a machine in `folder` holds open that nobody uses any more, as its end would."""
    if running is not None:
        running.schedule.close()
    for file in psutil.Process().open_files():
        if Path(file.path).is_relative_to(folder.resolve()):
            os.close(file.fd)


def random_plan(chance: random.Random, *, days: float, faults: int = 0) -> Plan:
    """Two to four small databases; some share a device.

    `faults` are spread over the first `days` of each run, most of them slow requests.
    """
    databases = [_database(f"db{number}", chance) for number in range(chance.randint(2, 4))]
    return Plan(
        databases=databases,
        devices=[DevicePlan(name="shared", seek=0.008, rate=chance.choice((2e6, 40e6, 250e6)))],
        faults=[_fault(chance, databases, days) for _ in range(faults)],
        sample=chance.choice((120.0, 300.0, 457.3)),
    )


def _database(name: str, chance: random.Random) -> DatabasePlan:
    # Some windows are over before a pass is, some leave most of the night unused.
    length = chance.choice((0.2, 0.5, 2.0, 4.0, 7.0)) * 3600.0
    page_size = chance.choice(SIZES)
    return DatabasePlan(
        name=name,
        page_size=page_size,
        pages=max(40, chance.randrange(1 << 18, 1 << 20) // page_size),
        cache_pages=chance.choice((8, 20, 60, 500)),
        device=chance.choice(("", "shared")),
        checkpoint_depth=chance.choice((1 << 18, 1 << 20, 4 << 20)),
        window=WindowPlan(
            period=chance.choice((DAY, DAY, 43_200.0)),
            offset=chance.uniform(0.0, DAY),
            length=length,
        ),
        mail=MailPlan(mailboxes=chance.randint(2, 20), kept=chance.choice((6.0, 15.0, 40.0))),
        defrag_pause=chance.choice((1.0, 8.0, 30.0)),
        scan=chance.random() < 0.7,
        scan_throttle=chance.choice((0.02, 5.0, 200.0)),
    )


def _fault(chance: random.Random, databases: list[DatabasePlan], days: float) -> FaultPlan:
    kind: FaultKind = "slow" if chance.random() < 0.5 else chance.choice(HARMS)
    return FaultPlan(
        at=chance.uniform(0.0, days * DAY),
        database=chance.choice(databases).name,
        kind=kind,
        # All in one step are over before the agent takes the samples for torn apart.
        seconds=chance.uniform(10.0, 60.0),
        count=chance.randint(1, 12),
    )
