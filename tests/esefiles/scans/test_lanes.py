"""Lanes run at the same time, one scan a device, and end when they are asked to."""

import _thread
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from esefiles.scans import lanes as module
from esefiles.scans.devices.device_lock import DeviceLock
from esefiles.scans.devices.topology import Topology
from esefiles.scans.lanes import Waiting, run_lanes
from esefiles.scans.plan import Lane, ScanTarget, plan
from tests.esefiles.scans.devices.test_device_lock import linux, other_process
from tests.sources.machine import FakeMachine

DEADLINE = 120.0
"""Seconds after which a test gives up waiting."""
LONG = 10 * DEADLINE
"""Seconds that a test does not wait: what takes so long was not ended."""
SHORT_GRACE = 0.2
"""In the place of GRACE."""


class Recorder:
    """Work that notes when it was done on which device; `first` is called at each start."""

    def __init__(self, first: Callable[[Lane], object] = lambda lane: None) -> None:
        self._first = first
        self.spans: list[tuple[str, str, float, float]] = []
        """(device, path, begin, end)."""

    def __call__(self, lane: Lane, target: ScanTarget) -> None:
        begin = time.monotonic()
        self._first(lane)
        time.sleep(0.005)
        self.spans.append((lane.device, target.path, begin, time.monotonic()))

    def paths(self) -> list[str]:
        return [path for _, path, _, _ in self.spans]

    def overlaps(self) -> list[tuple[str, str]]:
        """Pairs of scans that were on one device at once."""
        return [
            (path, other)
            for index, (device, path, begin, end) in enumerate(self.spans)
            for other_device, other, other_begin, other_end in self.spans[index + 1 :]
            if device == other_device and begin < other_end and other_begin < end
        ]


class Stop(threading.Event):
    """A request to stop; notes for how long it was waited for each time."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(LONG if timeout is None else timeout)
        return super().wait(timeout)


class Idle(queue.SimpleQueue[Any]):
    """Ends of lanes; notes the seconds for which one was waited for in vain."""

    waits: ClassVar[list[float]] = []

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        try:
            return super().get(block, timeout)
        except queue.Empty:
            Idle.waits.append(LONG if timeout is None else timeout)
            raise


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long lanes were waited for, whatever else the machine did meanwhile."""
    Idle.waits.clear()
    monkeypatch.setattr(module, "queue", SimpleNamespace(SimpleQueue=Idle, Empty=queue.Empty))
    return Idle.waits


@pytest.fixture
def device() -> str:
    return f"test-{uuid.uuid4()}"


def lane(device: str, *paths: str, locks: tuple[str, ...] = ()) -> Lane:
    return Lane(
        device=device,
        locks=locks or (device,),
        targets=tuple(ScanTarget(path=path) for path in paths or ("x",)),
    )


def run(*lanes: Lane, work: Callable[[Lane, ScanTarget], None], **more: object) -> None:
    run_lanes(lanes, work, stop=threading.Event(), **more)  # type: ignore[arg-type]


def wait_for(condition: Callable[[], object]) -> None:
    until = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_eight_files_on_eight_devices_of_one_tree_are_scanned_at_once(tmp_path: Path) -> None:
    machine = FakeMachine(tmp_path / "machine")
    names = [f"loop{os.getpid()}{n}" for n in range(8)]
    for name in names:
        machine.disk(name, "virtual/block")
        machine.mount(f"/dev/{name}", f"/srv/db/{name}")
    files = [f"/srv/db/{name}/{n}.edb" for name in names for n in range(3)]
    lanes = plan([ScanTarget(path=file) for file in files], Topology(machine.root))
    together = threading.Barrier(8)
    work = Recorder(lambda lane: together.wait(DEADLINE))

    run(*lanes, work=work)

    assert [lane.device for lane in lanes] == names
    assert sorted(work.paths()) == files
    assert work.overlaps() == []


def test_pools_and_partitions_are_scanned_one_behind_the_other(tmp_path: Path) -> None:
    machine = FakeMachine(tmp_path / "machine")
    marks = [f"{uuid.uuid4()}" for _ in range(3)]
    for letter, mark in zip("abc", marks, strict=True):
        machine.disk(f"sd{letter}", device__wwid=mark)
        for part in "12":
            machine.partition(f"sd{letter}", f"sd{letter}{part}")
            machine.mount(f"/dev/sd{letter}{part}", f"/{letter}{part}")
    files = [f"/{letter}{part}/x" for letter in "abc" for part in "12"]
    lanes = plan(
        [ScanTarget(path=file) for file in files],
        Topology(machine.root),
        {"array1": ["sda", "sdc"]},
    )
    together = threading.Barrier(2)
    firsts = [lane.targets[0] for lane in lanes]
    scan = Recorder()

    def work(lane: Lane, target: ScanTarget) -> None:
        if target in firsts:
            together.wait(DEADLINE)
        scan(lane, target)

    run(*lanes, work=work)

    assert len(lanes) == 2
    assert sorted(scan.paths()) == files
    assert scan.overlaps() == []


def test_a_lane_keeps_its_order(device: str) -> None:
    work = Recorder()
    run(lane(device, "c", "a", "b"), work=work)

    assert work.paths() == ["c", "a", "b"]


def test_two_scans_of_one_process_take_turns_on_a_device(device: str) -> None:
    work = Recorder()
    told: list[Waiting] = []
    callers = [
        threading.Thread(
            target=run,
            args=(lane(device, *(f"{n}{letter}" for letter in "abcd")),),
            kwargs={"work": work, "on_wait": told.append},
        )
        for n in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(DEADLINE)

    assert len(work.spans) == 16
    assert work.overlaps() == []
    assert {waiting.device for waiting in told} <= {device}


def test_a_lane_holds_all_of_its_locks_and_gives_them_back(device: str) -> None:
    locks = tuple(f"{device}{n}" for n in range(3))
    free: list[list[bool]] = []

    def look(*_: object) -> None:
        tried = [DeviceLock(name) for name in locks]
        free.append([lock.acquire() for lock in tried])
        for lock in tried:
            lock.release()

    run(lane(device, locks=locks), work=look)
    look()

    assert free == [[False] * 3, [True] * 3]


@linux
def test_a_lane_waits_for_another_process_says_so_and_goes_on_at_its_death(device: str) -> None:
    told: list[Waiting] = []
    work = Recorder()
    with other_process(device) as (process, _):
        caller = threading.Thread(
            target=run, args=(lane(device),), kwargs={"work": work, "on_wait": told.append}
        )
        caller.start()
        wait_for(lambda: told)
        assert work.spans == []
        process.kill()
        caller.join(DEADLINE)

    assert work.paths() == ["x"]
    assert [(waiting.device, waiting.holder) for waiting in told] == [(device, process.pid)]
    assert str(told[0]) == (
        f"device {device}: waiting for the end of another scan (process {process.pid})"
    )


def test_waiting_is_told_again_and_again(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMIND", 0.0)
    holder = DeviceLock(device)
    holder.acquire()
    told: list[Waiting] = []

    def tell(waiting: Waiting) -> None:
        told.append(waiting)
        if len(told) == 3:
            holder.release()

    run(lane(device), work=Recorder(), on_wait=tell)

    assert len(told) == 3
    assert told[0].seconds < told[1].seconds < told[2].seconds


def test_waiting_is_logged_unless_somebody_wants_to_know(
    device: str, caplog: pytest.LogCaptureFixture
) -> None:
    holder = DeviceLock(device)
    holder.acquire()
    stop = Stop()
    with caplog.at_level(logging.WARNING, module.log.name):
        caller = threading.Thread(
            target=run_lanes, args=([lane(device)], Recorder()), kwargs={"stop": stop}
        )
        caller.start()
        wait_for(lambda: caplog.records and len(stop.waits) > 3)
        stop.set()
        caller.join(DEADLINE)
    holder.release()

    assert [record.getMessage() for record in caplog.records] == [
        str(Waiting(device, DeviceLock(device).holder() or os.getpid(), 0.0))
        if sys.platform == "linux"
        else f"device {device}: waiting for the end of another scan"
    ]


def test_what_waits_is_told_in_one_sentence() -> None:
    plain = Waiting("sda", None, 0.4)

    assert str(plain) == "device sda: waiting for the end of another scan"
    assert str(plain._replace(device="", holder=7, seconds=600.2)) == (
        "files on unknown devices: waiting for 600 s for the end of another scan (process 7)"
    )


class End:
    """An end of lanes that comes when the test says so: the request to stop, or the deadline."""

    def __init__(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stop = Stop()
        self.deadline = time.monotonic() + LONG
        self._kind = kind
        self._ahead = 0.0
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=self._clock))

    def come(self) -> None:
        """It is over."""
        if self._kind == "stop":
            self.stop.set()
        else:
            self._ahead = LONG

    def _clock(self) -> float:
        return time.monotonic() + self._ahead


@pytest.mark.parametrize("end", ["stop", "deadline"])
def test_a_lane_that_waits_ends_when_it_is_over(
    device: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRACE", LONG)  # a lane that did not end would be waited for
    over, work = End(end, monkeypatch), Recorder()
    holder = DeviceLock(device)
    holder.acquire()
    caller = threading.Thread(
        target=run_lanes,
        args=([lane(device)], work),
        kwargs={
            "stop": over.stop,
            "deadline": over.deadline,
            "on_wait": lambda waiting: over.come(),
        },
        daemon=True,
    )
    caller.start()
    caller.join(DEADLINE)
    holder.release()

    assert not caller.is_alive()
    assert work.spans == []
    assert max(over.stop.waits) <= module.POLL


@pytest.mark.parametrize("end", ["stop", "deadline"])
def test_no_target_begins_when_it_is_over(
    device: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = End(end, monkeypatch)

    def work(lane: Lane, target: ScanTarget) -> None:
        done.append(target.path)
        over.come()

    done: list[str] = []
    run_lanes([lane(device, "a", "b")], work, stop=over.stop, deadline=over.deadline)

    assert done == ["a"]


def test_stopped_before_it_began_nothing_is_done(device: str) -> None:
    stop = threading.Event()
    stop.set()
    work = Recorder()
    run_lanes([lane(device)], work, stop=stop)

    assert work.spans == []


def test_nothing_to_do_ends_at_once() -> None:
    work = Recorder()
    run(work=work)

    assert work.spans == []


def test_a_failure_ends_its_target_only_and_is_raised_when_all_have_ended(device: str) -> None:
    done: list[str] = []

    def work(lane: Lane, target: ScanTarget) -> None:
        if target.path in {"b", "y"}:
            raise BrokenPipeError(target.path)
        done.append(target.path)

    with pytest.raises(BrokenPipeError) as caught:
        run(lane(device, "a", "b", "c"), lane(f"{device}2", "x", "y", "z"), work=work)

    assert sorted(done) == ["a", "c", "x", "z"]
    assert sorted([str(caught.value), *(note[-1] for note in caught.value.__notes__)]) == ["b", "y"]
    assert DeviceLock(device).holder() is None


def test_a_failure_of_who_is_told_ends_the_lane_and_is_raised(device: str) -> None:
    def tell(waiting: Waiting) -> None:
        raise BrokenPipeError(waiting.device)

    holder = DeviceLock(device)
    holder.acquire()
    work = Recorder()
    with pytest.raises(BrokenPipeError, match=device):
        run(lane(device, "a"), lane(f"{device}2", "b"), work=work, on_wait=tell)
    holder.release()

    assert work.paths() == ["b"]


def test_lanes_have_less_than_a_second_to_end() -> None:
    assert module.POLL + module.GRACE < 1.0


@pytest.mark.parametrize("end", ["stop", "deadline"])
def test_a_lane_that_hangs_in_a_read_is_left_behind_with_its_locks(
    device: str, end: str, monkeypatch: pytest.MonkeyPatch, idle: list[float]
) -> None:
    monkeypatch.setattr(module, "GRACE", SHORT_GRACE)
    back, begun = threading.Event(), threading.Event()
    other, over = Recorder(), End(end, monkeypatch)
    before: list[int] = []

    def work(lane: Lane, target: ScanTarget) -> None:
        if lane.device == device:
            begun.set()
            back.wait(LONG)
        else:
            other(lane, target)
            begun.wait(DEADLINE)
            before.append(len(idle))
            over.come()

    run_lanes(
        [lane(device, "hangs", "next"), lane(f"{device}2")],
        work,
        stop=over.stop,
        deadline=over.deadline,
    )

    assert SHORT_GRACE / 2 < sum(idle[before[0] :]) <= module.POLL + SHORT_GRACE
    assert other.paths() == ["x"]
    assert not DeviceLock(device).acquire()
    back.set()
    wait_for(lambda: DeviceLock(device).holder() is None)


@pytest.fixture
def _interruptible() -> Iterator[None]:
    # A process that a script put in the background ignores SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
def test_an_interrupt_stops_all_lanes_within_a_second(
    device: str, monkeypatch: pytest.MonkeyPatch, idle: list[float]
) -> None:
    monkeypatch.setattr(module, "GRACE", SHORT_GRACE)
    back, stop = threading.Event(), threading.Event()
    begun, ended = threading.Event(), threading.Event()
    before: list[int] = []

    def work(lane: Lane, target: ScanTarget) -> None:
        if lane.device == device:
            begun.wait(DEADLINE)
            before.append(len(idle))
            _thread.interrupt_main()
            back.wait(LONG)
        else:
            begun.set()
            stop.wait(DEADLINE)
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        run_lanes([lane(device), lane(f"{device}2")], work, stop=stop)
    left = not DeviceLock(device).acquire()
    back.set()

    assert stop.is_set()
    assert ended.is_set()
    assert left
    assert sum(idle[before[0] :]) <= module.POLL + SHORT_GRACE


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is sent otherwise there")
def test_control_c_ends_a_process_whose_lane_hangs(device: str) -> None:
    program = f"""
import threading
from esefiles.scans import lanes
from esefiles.scans.lanes import run_lanes
from esefiles.scans.plan import Lane, ScanTarget
def hang(lane, target):
    print("hangs", flush=True)
    threading.Event().wait()
lanes.GRACE = {SHORT_GRACE}
lane = Lane(device={device!r}, locks=({device!r},), targets=(ScanTarget(path="x"),))
run_lanes([lane], hang, stop=threading.Event())
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=DEADLINE)

    assert error.endswith("KeyboardInterrupt\n")
