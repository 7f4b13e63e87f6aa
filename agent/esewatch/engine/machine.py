"""The engine's process: its databases, their devices, the logs that it keeps, faults on request."""

import fcntl
import math
import os
import random
from pathlib import Path
from typing import Final

from esewatch.engine import faults
from esewatch.engine.clock import RealClock, VirtualClock
from esewatch.engine.counter_log import CounterLog
from esewatch.engine.device import Device
from esewatch.engine.event_log import EventLog
from esewatch.engine.instance import Instance, Setting
from esewatch.engine.plan import DevicePlan, FaultPlan, Plan
from esewatch.engine.reports import Reports
from esewatch.engine.schedule import Schedule, Task
from esewatch.engine.truth import Truth

PROCESS: Final = "engine"
"""As the logs name the program."""
LOCK: Final = "engine.lock"

_TRUTH_EVERY: Final = 5.0
"""Seconds of real time between two writings of `truth.json`."""


class InUseError(Exception):
    """Another engine runs in this folder."""


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
    ) -> None:
        """Raises InUseError, TruthError, OSError."""
        self.schedule = Schedule(clock)
        self._folder = folder
        self._plan = plan
        self._clock = clock
        self._real = isinstance(clock, RealClock)
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder)
        buffered = not self._real
        self._truth = Truth(folder, computer=computer, buffered=buffered)
        self._events = EventLog(
            folder, clock, computer=computer, buffered=buffered, truth=self._truth
        )
        self._counters = CounterLog(
            folder, clock, computer=computer, process=PROCESS, buffered=buffered, truth=self._truth
        )
        if not self._real:
            clock.begin(max(clock.now(), self._events.last_time, self._counters.last_time))
        # Other chances after a restart, the same ones where all was the same.
        self._seed = f"{seed} {self._events.record_id}"
        self._devices = {device.name: self._device(device) for device in plan.devices}
        self._instances = {
            database.name: self._instance(number, database.name)
            for number, database in enumerate(plan.databases)
        }
        self._told_faults: dict[str, int] = {}

    def open(self) -> None:
        """Open all databases, making those that are not there, and start what works on them.

        Raises what Instance.open does.
        """
        for instance in self._instances.values():
            instance.open()
        self._sample()
        for instance in self._instances.values():
            for task in instance.tasks():
                self.schedule.start(task)
        self.schedule.start(self._watch(), after=self._plan.sample)
        for fault in self._plan.faults:
            self.schedule.start(self._make(fault), after=fault.at)

    def now(self) -> float:
        """Epoch seconds, in the time of this machine."""
        return self._clock.now()

    def run(self, until: float) -> None:
        """Work until that time, or until `schedule.stop`. Raises OSError, LogError."""
        self.schedule.run(until)
        if not self._real:
            self._clock.begin(until)

    def close(self) -> None:
        """Shut down all databases cleanly and finish the logs. Raises OSError, LogError."""
        for instance in self._instances.values():
            instance.close()
        self._sample()
        self.schedule.close()
        self._events.close()
        self._counters.close()
        self._truth.close()
        os.close(self._lock)

    def _device(self, plan: DevicePlan) -> Device:
        return Device(self._clock, seek=plan.seek, rate=plan.rate)

    def _instance(self, number: int, name: str) -> Instance:
        plan = self._plan.databases[number]
        folder = self._folder / name
        # The machine's own disk takes its own time; in virtual time one is needed that takes some.
        unmodelled = DevicePlan(name=name, seek=0.0, rate=math.inf)
        device = self._devices.get(plan.device) or self._device(
            unmodelled if self._real else DevicePlan(name=name)
        )
        reports = Reports(
            self._events,
            self._clock,
            process=PROCESS,
            instance=name,
            database=str(folder / f"{name}.edb"),
            number=number,
        )
        return Instance(
            Setting(
                plan=plan,
                folder=folder,
                clock=self._clock,
                device=device,
                reports=reports,
                chance=random.Random(f"{self._seed} {name}"),
                durable=self._real,
                slow=self._plan.slow,
            )
        )

    def _watch(self) -> Task:
        """Counters, checkpoints and truth, now and then."""
        written = self._clock.now()
        while True:
            for instance in self._instances.values():
                instance.keep_depth()
            self._sample()
            if self._real and self._clock.now() - written >= _TRUTH_EVERY:
                written = self._clock.now()
                self._truth.write()
            yield self._plan.sample

    def _sample(self) -> None:
        self._tell_faults()
        self._counters.sample([instance.sample() for instance in self._instances.values()])

    def _tell_faults(self) -> None:
        for name, instance in self._instances.items():
            happened = instance.faults.happened
            for fault in happened[self._told_faults.get(name, 0) :]:
                self._truth.fault(fault.time, instance.path, fault.page_number, fault.kind)
            self._told_faults[name] = len(happened)

    def _make(self, fault: FaultPlan) -> Task:
        if fault.kind == "kill":
            faults.kill()
        instance = self._instances[fault.database]
        if fault.kind == "slow":
            instance.device.slow(fault.seconds, fault.count)
            self._truth.fault(self._clock.now(), instance.path, None, fault.kind)
        else:
            instance.harm(fault.kind, fault.page)
            self._tell_faults()
        yield from ()


def _locked(folder: Path) -> int:
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InUseError(f"{folder}: another engine runs in this folder") from None
    return descriptor
