"""Settings of the whole test run."""

import contextlib
import gc
import os
import time
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.campaign import EXAMPLES
from tests.support.run_folder import RUN, run_folder

settings.register_profile(
    "esewatch",
    deadline=None,
    derandomize=True,
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("esewatch")

# promtool and Prometheus live for seconds here, and are started some hundred times.
os.environ.setdefault("GOGC", "400")

# Until all are collected: nothing of what is made for them can be freed.
gc.disable()

LONGEST_FAILURE = 10_000
"""Characters: what one failed test prints at most."""

LEFT_OPEN = 6
"""A test may leave so many descriptors open: those of a server that serves a module."""

CLOSING_SECONDS = 120.0
"""A thread that ends with a test may close its files so long behind it."""

TESTS = Path(__file__).parent
HANDLE_FILES = ("cli", "daemon", "esefiles", "expose", "journal", "reliability", "sources")
"""How the names of the rooms, and of files beside them, begin whose tests are about files."""

_BEFORE = pytest.StashKey[Counter[str]]()


@pytest.fixture(scope="session", autouse=True)
def _run(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is made once for all workers, and not by a fixture, lies there."""
    os.environ[RUN] = str(run_folder(tmp_path_factory))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that take minutes, then with those that wait for servers.

    At the end all others would wait for them; at the begin others work while they wait. Each
    worker is given a stretch of the list first: those of a file lie at the begin of one.
    """
    files: dict[tuple[bool, Path], list[pytest.Item]] = {}
    short: list[pytest.Item] = []
    for item in items:
        takes_minutes = item.get_closest_marker("minutes") is not None
        if takes_minutes or item.get_closest_marker("e2e") is not None:
            files.setdefault((not takes_minutes, item.path), []).append(item)
        else:
            short.append(item)
    long = [files[key] for key in sorted(files)]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    ordered: list[pytest.Item] = []
    for worker in range(workers):
        first = [item for file in long[worker::workers] for item in file]
        rest = (len(items) - len(ordered)) // (workers - worker) - len(first)
        ordered += [*first, *short[: max(0, rest)]]
        del short[: max(0, rest)]
    items[:] = [*ordered, *short]


def pytest_collection_finish() -> None:
    """Leave what thousands of collected tests are made of out of all later collections."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Cut a failure that is longer than a person reads: its begin and its end are kept."""
    report: pytest.TestReport = yield
    if report.failed and len(text := report.longreprtext) > LONGEST_FAILURE:
        half = LONGEST_FAILURE // 2
        left_out = len(text) - LONGEST_FAILURE
        report.longrepr = f"{text[:half]}\n... {left_out} characters left out ...\n{text[-half:]}"
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Look at what is open before anything is made for a test that is about files."""
    if _is_about_files(item):
        item.stash[_BEFORE] = _open_files()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Fail a test that leaves files open: beyond 1,024 of them `select` fails in others."""
    yield
    if (before := item.stash.get(_BEFORE, None)) is None:
        return
    end = time.monotonic() + CLOSING_SECONDS
    while (left := _open_files() - before).total() > LEFT_OPEN:
        gc.collect()
        if time.monotonic() > end:
            pytest.fail(f"files left open: {', '.join(sorted(left.elements()))}")
        time.sleep(0.01)


def _is_about_files(item: pytest.Item) -> bool:
    """By its room; servers of the e2e tests may live longer than one test."""
    room = item.path.relative_to(TESTS).parts[0].removeprefix("test_")
    return room.startswith(HANDLE_FILES) and item.get_closest_marker("e2e") is None


def _open_files() -> Counter[str]:
    """What descriptors of this process are open on; nothing where the system does not tell."""
    found = Counter[str]()
    folder = Path("/proc/self/fd")
    for entry in list(folder.iterdir()) if folder.is_dir() else ():
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            found[str(entry.readlink())] += 1
    return found
