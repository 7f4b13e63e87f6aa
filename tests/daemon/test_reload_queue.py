import threading

import pytest

from esewatch.config import Settings
from esewatch.daemon.reload import ReloadQueue
from esewatch.model import EsewatchError
from tests.support.patience import PATIENCE


def taker(handover: ReloadQueue, error: EsewatchError | None) -> threading.Thread:
    """A thread that takes and answers once."""

    def run() -> None:
        pause = threading.Event()
        while handover.take() is None:
            pause.wait(0.001)
        handover.answer(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_who_gives_waits_for_the_answer() -> None:
    handover = ReloadQueue()
    thread = taker(handover, None)
    handover.give(Settings, 20)
    thread.join()
    assert not handover.waiting
    assert handover.take() is None


def test_the_reason_of_the_taker_is_the_giver_s() -> None:
    handover = ReloadQueue()
    thread = taker(handover, EsewatchError("not so"))
    with pytest.raises(EsewatchError, match="not so"):
        handover.give(Settings, 20)
    thread.join()


def test_what_nobody_takes_is_withdrawn() -> None:
    handover = ReloadQueue()
    with pytest.raises(EsewatchError, match="did not pause within 0 s; try again later"):
        handover.give(Settings, 0)
    assert not handover.waiting


def test_nobody_waits_when_all_ends() -> None:
    handover = ReloadQueue()
    handover.close()
    with pytest.raises(EsewatchError, match="being stopped"):
        handover.give(Settings, 20)


def test_a_reload_that_does_not_end_holds_up_no_other_for_ever() -> None:
    queue, loading, go_on = ReloadQueue(), threading.Event(), threading.Event()

    def stuck() -> Settings:
        loading.set()
        assert go_on.wait(PATIENCE)
        raise EsewatchError("no file")

    def first() -> None:
        with pytest.raises(EsewatchError, match="no file"):
            queue.give(stuck, 20)

    giver = threading.Thread(target=first)
    giver.start()
    assert loading.wait(PATIENCE)
    with pytest.raises(EsewatchError, match=r"did not end within 0\.1 s; try again later"):
        queue.give(Settings, 0.1)
    go_on.set()
    giver.join()


def test_the_settings_that_are_loaded_last_are_given_last() -> None:
    queue = ReloadQueue()
    loading, go_on, loaded = threading.Event(), threading.Event(), list[int]()

    def first() -> Settings:
        loading.set()
        assert go_on.wait(PATIENCE)
        loaded.append(1)
        return Settings()

    def second() -> Settings:
        loaded.append(2)
        return Settings()

    takers = [taker(queue, None)]
    givers = [threading.Thread(target=queue.give, args=(first, 20))]
    givers[0].start()
    assert loading.wait(PATIENCE)
    givers.append(threading.Thread(target=queue.give, args=(second, 20)))
    givers[1].start()
    assert loaded == []
    go_on.set()
    takers[0].join()
    takers.append(taker(queue, None))
    for thread in (*givers, takers[1]):
        thread.join()
    assert loaded == [1, 2]
