"""Sources are asked in turn; one that hangs keeps its thread and nobody else."""

import threading
from collections.abc import Callable, Iterator, Mapping

import pytest

from esewatch.daemon import poller as module
from esewatch.daemon.poller import Poller
from esewatch.model import Batch, SourceError

LITTLE, LONG = 0.05, 30.0
"""Seconds of patience."""


class Asked:
    """A source that hands out `count` batches and waits for `gate` before each."""

    def __init__(self, name: str, count: int = 2, failure: Exception | None = None) -> None:
        self.name = name
        self.gate, self.ended = threading.Event(), threading.Event()
        self.gate.set()
        self.threads: list[int] = []
        self._count, self._failure = count, failure

    def restore(self, positions: Mapping[str, bytes]) -> None:
        raise AssertionError

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        try:
            for _ in range(self._count):
                self.gate.wait()
                self.threads.append(threading.get_ident())
                yield Batch(caught_up=True)
            if self._failure is not None:
                raise self._failure
        finally:
            self.ended.set()

    def close(self) -> None:
        raise AssertionError


Patience = Callable[[float], None]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> Patience:
    """Sets how long a batch is waited for: at first longer than any machine takes."""

    def change(seconds: float) -> None:
        monkeypatch.setattr(module, "PATIENCE_SECONDS", seconds)

    change(LONG)
    return change


def test_batches_come_in_order_from_one_thread_beside() -> None:
    turns, first, second = Poller(), Asked("a"), Asked("b", 3)
    assert len(list(turns.batches(first))) == 2
    assert len(list(turns.batches(second))) == 3
    assert len({*first.threads, *second.threads}) == 1
    assert threading.get_ident() not in first.threads
    assert turns.under_way == {}
    turns.close()


def test_what_a_source_raises_comes_to_who_asked() -> None:
    turns = Poller()
    polled = turns.batches(Asked("a", 1, SourceError("a: gone")))
    assert next(polled) == Batch(caught_up=True)
    with pytest.raises(SourceError, match="a: gone"):
        next(polled)
    assert turns.under_way == {}
    turns.close()


def test_beside_one_that_hangs_others_are_read_and_it_goes_on_where_it_was(
    patience: Patience,
) -> None:
    turns, hanging, other = Poller(), Asked("hanging"), Asked("other")
    hanging.gate.clear()
    waited = turns.batches(hanging)
    patience(LITTLE)
    assert next(waited) is None
    patience(LONG)
    assert len(list(turns.batches(other))) == 2
    assert next(waited) is None
    assert (turns.silent(0.0), turns.silent(60.0)) == ({"hanging"}, set())
    hanging.gate.set()
    assert [batch for batch in waited if batch] == [Batch(caught_up=True)] * 2
    assert turns.under_way == {}
    turns.close()


def test_a_poll_that_is_broken_off_is_closed_unless_it_hangs(patience: Patience) -> None:
    turns, hanging, fine = Poller(), Asked("hanging"), Asked("fine")
    hanging.gate.clear()
    for source in (hanging, fine):
        polled = turns.batches(source)
        patience(LITTLE if source is hanging else LONG)
        next(polled)
        polled.close()
    assert (fine.ended.is_set(), hanging.ended.is_set()) == (True, False)
    assert list(turns.under_way) == ["hanging"]
    hanging.gate.set()
    turns.close()
