"""How fast a lane is read and when it ends; the clock stands but for the pauses."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import psutil
import pytest

from esefiles.scans.pace import Pace, yield_the_disk


class Clock(threading.Event):
    """A clock that only pauses move on; it is the request to stop as well."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.pauses: list[float] = []
        self.stop_at = float("inf")
        self.early = 1.0

    def __call__(self) -> float:
        return self.now

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        assert timeout > 0
        begin = self.now
        self.now = min(self.now + max(timeout * self.early, 0.01), self.stop_at)
        self.pauses.append(self.now - begin)
        if self.now >= self.stop_at:
            self.set()
        return self.is_set()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def paced(
    clock: Clock, throttle: float = 0.0, rate: float | None = None, deadline: float | None = None
) -> Pace:
    return Pace(throttle=throttle, rate=rate, deadline=deadline, stop=clock, clock=clock)


def begins(pace: Pace, clock: Clock, sizes: list[int], read_seconds: float = 0.0) -> list[float]:
    """Seconds from the start at which reads of these sizes begin."""
    found = []
    for size in sizes:
        assert pace.wait(size)
        found.append(round(clock.now - 1000, 6))
        clock.now += read_seconds
    return found


def test_without_limits_nothing_waits(clock: Clock) -> None:
    pace = paced(clock)

    assert begins(pace, clock, [1 << 20] * 5) == [0.0] * 5
    assert clock.pauses == []
    assert not pace.waits


def test_a_throttle_is_a_pause_between_reads_however_long_they_take(clock: Clock) -> None:
    pace = paced(clock, throttle=0.5)

    assert begins(pace, clock, [100] * 4, read_seconds=2.0) == [0.0, 2.5, 5.0, 7.5]
    assert pace.waits


def test_a_rate_is_kept_whatever_the_reads_take(clock: Clock) -> None:
    pace = paced(clock, rate=1000)

    assert begins(pace, clock, [500, 500, 1000, 500], 0.3) == [0.0, 0.5, 1.0, 2.0]
    assert pace.waits


def test_time_that_a_rate_left_unused_is_not_made_up(clock: Clock) -> None:
    pace = paced(clock, rate=1000)
    begins(pace, clock, [500])
    clock.now += 60

    assert begins(pace, clock, [500, 500, 500]) == [60.0, 60.5, 61.0]


def test_of_throttle_and_rate_the_slower_one_counts(clock: Clock) -> None:
    assert begins(paced(clock, throttle=0.5, rate=1000), clock, [2000, 100, 100]) == [0, 2, 2.5]


def test_a_rate_holds_for_all_threads_together() -> None:
    pace = Pace(rate=1000 * 100)
    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(pace.wait, [1000] * 21))

    assert time.monotonic() - began >= 0.2


def test_the_deadline_ends_a_pause_and_everything_behind(clock: Clock) -> None:
    pace = paced(clock, throttle=60.0, deadline=1010.0)

    assert pace.wait(1)
    assert pace.over() == ""
    assert not pace.wait(1)
    assert clock.now == 1010.0
    assert pace.over() == "time"
    assert not pace.wait(1)
    assert not pace.sleep(0)
    assert clock.now == 1010.0


def test_a_deadline_ends_reads_that_wait_for_nothing(clock: Clock) -> None:
    pace = paced(clock, deadline=1010.0)

    assert pace.wait(1)
    clock.now = 1010.0
    assert not pace.wait(1)


def test_the_wish_to_stop_ends_a_pause(clock: Clock) -> None:
    pace = paced(clock, rate=1)
    clock.stop_at = 1003.0

    assert pace.wait(3600)
    assert not pace.wait(3600)
    assert clock.now == 1003.0
    assert pace.over() == "stopped"


def test_a_stop_at_the_deadline_is_called_a_stop(clock: Clock) -> None:
    pace = paced(clock, deadline=1000.0)
    clock.set()

    assert pace.over() == "stopped"


def test_a_sleep_lasts_as_long_as_asked_for_though_waits_end_early(clock: Clock) -> None:
    pace = paced(clock)
    clock.early = 0.5

    assert pace.sleep(5.0)
    assert clock.now >= 1005.0
    assert len(clock.pauses) > 2


def test_a_real_pause_ends_at_once_when_it_should() -> None:
    stop = threading.Event()
    pace = Pace(throttle=60.0, stop=stop)
    assert pace.wait(1)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(pace.wait, 1)
        stop.set()

        assert waiting.result(10) is False


@pytest.mark.timeout(25)
def test_without_an_event_of_others_there_is_still_a_deadline() -> None:
    ahead = 0.0
    deadline = time.monotonic() + 30
    pace = Pace(throttle=60.0, deadline=deadline, clock=lambda: time.monotonic() + ahead)
    assert pace.wait(1)
    ahead = deadline - time.monotonic() - 0.05

    assert not pace.wait(1)


@pytest.mark.parametrize(
    ("throttle", "rate"),
    [(-1.0, None), (float("nan"), None), (0.0, 0.0), (0.0, -5.0), (0.0, float("nan"))],
)
def test_a_pace_that_cannot_be_is_refused(throttle: float, rate: float | None) -> None:
    with pytest.raises(ValueError, match=r"^a (rate|pause between reads) of "):
        Pace(throttle=throttle, rate=rate)


class _Process:
    """In the place of psutil.Process."""

    asked: list[int]
    error: Exception | None = None

    def ionice(self, ioclass: int) -> None:
        self.asked.append(ioclass)
        if self.error:
            raise self.error


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> type[_Process]:
    class Process(_Process):
        asked: list[int] = []  # noqa: RUF012

    monkeypatch.setattr(psutil, "Process", Process)
    return Process


def on(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    monkeypatch.setattr("esefiles.scans.pace.sys", SimpleNamespace(platform=platform))


@pytest.mark.parametrize(("platform", "asked"), [("linux", [3]), ("win32", [1]), ("darwin", [])])
def test_others_read_first_where_the_system_can_have_it_so(
    platform: str, asked: list[int], process: type[_Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "IOPRIO_LOW", 1, raising=False)
    on(monkeypatch, platform)
    yield_the_disk()

    assert process.asked == asked


@pytest.mark.parametrize("error", [psutil.AccessDenied(1), PermissionError("no"), OSError("no")])
def test_a_system_that_forbids_it_is_no_error(
    error: Exception, process: type[_Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, "linux")
    process.error = error
    yield_the_disk()

    assert process.asked == [3]


@pytest.mark.skipif(sys.platform != "linux", reason="I/O classes of Linux")
def test_threads_that_start_later_have_the_idle_class_too() -> None:
    """In a process of its own: the class cannot be given back without rights."""
    code = (
        "import threading, psutil\n"
        "from esefiles.scans.pace import yield_the_disk\n"
        "yield_the_disk()\n"
        "def show(): print(psutil.Process(threading.get_native_id()).ionice().ioclass.value)\n"
        "thread = threading.Thread(target=show)\n"
        "thread.start(); thread.join(); show()\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.split() == ["3", "3"]
