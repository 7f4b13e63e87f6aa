"""A thread that finds no memory holds up neither who starts it nor who waits for it."""

import _thread
import ast
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from esewatch.threads import Worker, Workers
from tests.e2e.harness import wait_for
from tests.support.each import of_each
from tests.support.no_threads import no_first_line

AGENT = Path(__file__).resolve().parents[1] / "agent"
PACKAGE = AGENT / "esewatch"
MAKERS = {"Thread", "Timer", "start_new_thread"}


def test_the_work_is_done_beside_and_its_end_is_seen() -> None:
    go, done = threading.Event(), []

    def work() -> None:
        go.wait()
        done.append(threading.get_ident())

    worker = Worker(work)
    assert worker.running
    worker.join(0.01)
    assert worker.running
    go.set()
    worker.join(30)
    assert not worker.running
    assert done != [threading.get_ident()]


def test_a_thread_that_ends_before_its_first_line_is_not_waited_for() -> None:
    with no_first_line(), pytest.raises(MemoryError, match="not enough memory"):
        Worker(lambda: None)


def test_a_thread_that_begins_late_and_ends_at_once_has_had_its_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine all of it falls between the end of a wait and the look behind it."""
    late: list[tuple[Callable[..., None], tuple[object, ...]]] = []
    done: list[str] = []

    class Late(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            if late:
                work, arguments = late.pop()
                work(*arguments)
                return False
            return super().wait(timeout)

    monkeypatch.setattr(threading, "Event", Late)
    monkeypatch.setattr(_thread, "start_new_thread", lambda *each: late.append(each))
    worker = Worker(lambda: done.append("work"))
    assert (worker.running, done) == (False, ["work"])


def test_work_that_raises_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda error: told.append(error.exc_type))

    def work() -> None:
        raise MemoryError

    worker = Worker(work)
    worker.join(30)
    assert (worker.running, told) == (False, [MemoryError])


def test_workers_do_the_calls_and_give_results_and_errors() -> None:
    workers = Workers(2)
    both = threading.Barrier(2)
    first, second = workers.submit(both.wait, timeout=30), workers.submit(both.wait, timeout=30)
    assert {first.result(30), second.result(30)} == {0, 1}
    with pytest.raises(ValueError, match="invalid literal"):
        workers.submit(int, "x").result(30)
    cancelled = workers.submit(int, "5")
    cancelled.cancel()
    workers.shutdown()
    assert cancelled.cancelled() or cancelled.result(30) == 5


@pytest.mark.parametrize("after", range(3))
def test_workers_that_find_no_memory_are_told_at_once_and_the_others_end(after: int) -> None:
    before = len(sys._current_frames())
    with no_first_line(after), pytest.raises(MemoryError):
        Workers(3)
    wait_for("the others end", lambda: len(sys._current_frames()) <= before)


def makes_threads(file: Path) -> bool:
    names = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute | ast.Name)
    }
    return bool(names & MAKERS)


@of_each(sorted(PACKAGE.rglob("*.py")), lambda file: str(file.relative_to(PACKAGE)))
def test_no_thread_is_made_elsewhere(file: Path) -> None:
    assert file.name == "threads.py" or not makes_threads(file)


def test_the_engine_makes_one_that_waits_for_the_end_of_its_input_and_the_lab_none() -> None:
    made = [file for file in (AGENT / "eselab").rglob("*.py") if makes_threads(file)]

    assert [file.name for file in made] == ["run_command.py"]
    assert made[0].read_text(encoding="utf-8").count("Thread(") == 1
