"""The engine's process: its databases, their devices, the logs that it keeps, faults on request."""

import fcntl
import math
import os
import queue
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from eselab.base.clock import RealClock, VirtualClock
from eselab.base.plan import CopyPlan, DatabasePlan, DevicePlan, FaultPlan, Plan
from eselab.base.programs import PROGRAMS
from eselab.disk.device import Device, LunDevice, Storage, lun_of
from eselab.logs.reports_current import reports_of
from eselab.machine import faults
from eselab.machine.computer import ComputerLogs, Standby
from eselab.machine.instance import Instance, Setting
from eselab.machine.mail import Journal
from eselab.machine.passive import CopySetting, PassiveCopy
from eselab.maintenance.schedule import Schedule, Task
from eselab.storage.btree import TreeError
from eselab.storage.database_header import HeaderError
from eselab.storage.pages import PageError
from eselab.storage.transaction_log.checkpoint import CheckpointError
from eselab.storage.transaction_log.log import LogError
from eselab.storage.transaction_log.recovery import RecoveryError

LOCK: Final = "engine.lock"

_AHEAD: Final = 300.0
"""Seconds by which the system's time may have been set back since the last run."""

_TRUTH_EVERY: Final = 5.0
"""Seconds of real time between two writings of `truth.json`."""


_REFUSALS: Final = (
    CheckpointError, HeaderError, LogError, PageError, RecoveryError, TreeError
)  # fmt: skip
"""Errors for which a database cannot be opened; beside them OSError."""


class InUseError(Exception):
    """Another engine runs in this folder."""


class AheadError(Exception):
    """The logs in the folder are of a time that the clock has not come to."""


class OpenError(Exception):
    """A database cannot be opened: says which and why."""


class Machine:
    """A plan at work in `folder`; what lies there goes on. `computer` is the name in its logs.

    Use: `open`, `run` as often as wanted, `close`. Where one of the first two raises, `close`
    is not for use: the process ends as if it was killed.
    """

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        *,
        clock: RealClock | VirtualClock,
        seed: int,
        computer: str,
        journals: Mapping[str, Journal] | None = None,
        binary: bool = False,
        evtx: int | None = None,
    ) -> None:
        """`journals`, by database, receive each transaction of the workload. `binary`: the
        counters are logged in a binary log, too. `evtx`: the events are logged in a log of
        Windows of so many bytes, too.

        Raises InUseError, TruthError, AheadError, OSError; OpenError where a copy is to be on
        the computer itself.
        """
        self.schedule = Schedule(clock)
        self.requested_faults: queue.SimpleQueue[FaultPlan] = queue.SimpleQueue()
        """Faults that another thread asks for: see `attend`."""
        self._folder = folder
        self._plan = plan
        self._journals = journals or {}
        self._binary = binary
        self._evtx = evtx
        self._clock = clock
        self._real = isinstance(clock, RealClock)
        first = plan.databases[0]
        self._program = PROGRAMS[first.program, first.generation]
        folder.mkdir(parents=True, exist_ok=True)
        self._locks = [locked(folder)]
        self._open_logs(computer)
        # Other chances after a restart, the same ones where all was the same.
        self._seed = f"{seed} {self._logs.events.record_id}"
        self._devices = {device.name: self._device(device) for device in plan.devices}
        self.instances = {
            database.name: self._instance(number, database.name)
            for number, database in enumerate(plan.databases)
        }
        """By name."""
        self.standbys = {name: self._standby(name) for name in plan.computers}
        """By computer."""

    def _open_logs(self, computer: str) -> None:
        self._logs = self._logs_of(self._folder, computer)
        self._copy_logs = {}
        for name in self._plan.computers:
            # The agent knows a computer by the first label of its name.
            if name.lower() == computer.lower().partition(".")[0]:
                raise OpenError(f"{self._folder}: a copy cannot be on {name}, the active one is")
            folder = self._folder / name
            folder.mkdir(exist_ok=True)
            self._locks.append(locked(folder))
            self._copy_logs[name] = self._logs_of(folder, name)
        clock = self._clock
        for logs in self._all_logs:
            last = logs.last_time
            if not self._real:
                clock.begin(max(clock.now(), last))
            elif last > clock.now() + _AHEAD:
                raise AheadError(
                    f"{logs.folder}: its logs end at "
                    f"{datetime.fromtimestamp(last, UTC):%Y-%m-%d %H:%M} UTC, which is yet to come:"
                    " go on in virtual time, or begin in an empty folder"
                )

    def _logs_of(self, folder: Path, computer: str) -> ComputerLogs:
        return ComputerLogs(
            folder,
            self._clock,
            computer=computer,
            program=self._program,
            buffered=not self._real,
            binary=self._binary,
            evtx=self._evtx,
        )

    @property
    def _all_logs(self) -> list[ComputerLogs]:
        return [self._logs, *self._copy_logs.values()]

    def open(self) -> None:
        """Open all databases, making those that are not there, and start what works on them.

        One that cannot be opened ends it for all of them. Raises OpenError, OSError.
        """
        for instance in self.instances.values():
            try:
                instance.open()
            except _REFUSALS as error:
                raise OpenError(f"{instance.path}: {error}") from error
            found, planned = instance.database.store.page_size, instance.plan.page_size
            if found != planned:
                raise OpenError(f"{instance.path}: its page_size is {found}, in the plan {planned}")
        self._open_copies()
        self._sample()
        for instance in self.instances.values():
            for task in instance.tasks():
                self.schedule.start(task)
        for standby in self.standbys.values():
            for copy in standby.copies.values():
                for task in copy.tasks():
                    self.schedule.start(task)
        for task in (self._watch(), self._count()):
            self.schedule.start(task, after=self._plan.sample)
        for fault in self._plan.faults:
            self.schedule.start(self._make(fault), after=fault.at)

    def _open_copies(self) -> None:
        for standby in self.standbys.values():
            for name, copy in standby.copies.items():
                try:
                    copy.open(self.instances[name].database.store)
                except _REFUSALS as error:
                    raise OpenError(f"{copy.path}: {error}") from error

    def now(self) -> float:
        """Epoch seconds, in the time of this machine."""
        return self._clock.now()

    def run(self, until: float) -> None:
        """Work until that time, or until `schedule.stop`. Raises OSError, LogError."""
        self.schedule.run(until)
        if not self._real and not self.schedule.stopped:
            self._clock.begin(until)

    def attend(self) -> None:
        """From now on, each second: write what the logs hold back, do the requested faults."""
        self.schedule.start(self._attend())

    def _attend(self) -> Task:
        while True:
            self.flush()
            while not self.requested_faults.empty():
                self.schedule.start(self._make(self.requested_faults.get()))
            yield 1.0

    def flush(self) -> None:
        """Write what the logs hold back; in real time they hold back nothing. Raises OSError."""
        for logs in self._all_logs:
            logs.flush()

    def close(self) -> None:
        """Shut down all databases cleanly and finish the logs. Raises OSError, LogError."""
        for instance in self.instances.values():
            instance.close()
        for standby in self.standbys.values():
            standby.close()
        self._sample()
        self.schedule.close()
        for logs in self._all_logs:
            logs.close()
        for lock in self._locks:
            os.close(lock)

    def _device(self, plan: DevicePlan) -> Storage:
        disks = plan.disks
        if disks is None:
            return Device(self._clock, seek=plan.seek, rate=plan.rate)
        databases = sum(
            device == plan.name
            for database in self._plan.databases
            for device in (database.device, *(copy.device for copy in database.copies))
        )
        return LunDevice(self._clock, lun_of(disks), databases=max(1, databases))

    def _instance(self, number: int, name: str) -> Instance:
        plan = self._plan.databases[number]
        folder = self._folder / name
        path = str(folder / plan.file)
        reports = reports_of(plan.generation, plan.role)(
            self._logs.events,
            self._clock,
            process=self._program.process,
            instance=name,
            database=path,
            number=number,
        )
        return Instance(
            Setting(
                plan=plan,
                folder=folder,
                clock=self._clock,
                device=self._storage(plan.device, name),
                reports=reports,
                chance=random.Random(f"{self._seed} {name}"),
                durable=self._real,
                slow=self._plan.slow,
                harmed=lambda fault: self._logs.truth.fault(
                    fault.time, path, fault.page_number, fault.kind
                ),
                journal=self._journals.get(name),
                hold=(lambda: self._hold(name)) if plan.copies else None,
            )
        )

    def _storage(self, device: str, name: str) -> Storage:
        """The device of that name, else one of its own for database `name`."""
        # The machine's own disk takes its own time; in virtual time one is needed that takes some.
        unmodelled = DevicePlan(name=name, seek=0.0, rate=math.inf)
        return self._devices.get(device) or self._device(
            unmodelled if self._real else DevicePlan(name=name)
        )

    def _standby(self, computer: str) -> Standby:
        copies = {
            plan.name: self._copy(number, plan, copy)
            for number, plan in enumerate(self._plan.databases)
            for copy in plan.copies
            if copy.computer == computer
        }
        return Standby(self._copy_logs[computer], copies)

    def _copy(self, number: int, plan: DatabasePlan, copy: CopyPlan) -> PassiveCopy:
        folder = self._folder / copy.computer / plan.name
        reports = reports_of(plan.generation, "passive")(
            self._copy_logs[copy.computer].events,
            self._clock,
            process=self._program.process,
            instance=plan.name,
            database=str(folder / plan.file),
            number=number,
        )
        return PassiveCopy(
            CopySetting(
                plan=copy,
                database=plan,
                folder=folder,
                source=self._folder / plan.name,
                clock=self._clock,
                device=self._storage(copy.device, plan.name),
                source_device=self.instances[plan.name].device,
                reports=reports,
                durable=self._real,
                slow=self._plan.slow,
            )
        )

    def _hold(self, database: str) -> int:
        """The first generation that the active copy must keep for the others."""
        return min(
            standby.copies[database].hold()
            for standby in self.standbys.values()
            if database in standby.copies
        )

    def _watch(self) -> Task:
        """Checkpoints, and in real time the truth, now and then."""
        written = self._clock.now()
        while True:
            for instance in self.instances.values():
                instance.keep_depth()
            if self._real and self._clock.now() - written >= _TRUTH_EVERY:
                written = self._clock.now()
                for logs in self._all_logs:
                    logs.truth.write()
            yield self._plan.sample

    def _count(self) -> Task:
        """The counters at even times, however long the requests of a checkpoint take."""
        while True:
            self._sample()
            yield self._plan.sample

    def _sample(self) -> None:
        self._logs.sample([instance.sample() for instance in self.instances.values()])
        for standby in self.standbys.values():
            standby.sample()

    def _make(self, fault: FaultPlan) -> Task:
        if fault.kind == "kill":
            self.flush()
            faults.kill()
        instance = self.instances[fault.database]
        if fault.kind == "clear":
            self._logs.events.clear()
        elif fault.kind == "slow":
            instance.device.slow(fault.seconds, fault.count)
            self._logs.truth.fault(self._clock.now(), instance.path, None, fault.kind)
        elif fault.kind == "skip":
            instance.skip()
        else:
            instance.harm(fault.kind, fault.page, ahead=fault.ahead)
        yield from ()


def locked(folder: Path, *, shared: bool = False) -> int:
    """The lock of a run's folder, as a descriptor: it is held until that is closed.

    A `shared` one only keeps engines out; nothing is written for it. Raises InUseError, OSError.
    """
    flags = os.O_RDONLY if shared else os.O_RDWR | os.O_CREAT
    descriptor = os.open(folder / LOCK, flags | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InUseError(f"{folder}: another engine runs in this folder") from None
    return descriptor
