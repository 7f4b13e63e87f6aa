import datetime
import threading
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any

import pytest

from esewatch.config import LogFiles, PageScan, Settings, SourceSettings, Window
from esewatch.daemon.reload import ReloadQueue, digests, moves, predecessors, prepare, show
from esewatch.fold.state.state import State
from esewatch.model import Batch, EsewatchError, SourceError
from tests.support.patience import PATIENCE


class Recorded:
    """A source that remembers what was done to it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.restored: dict[str, bytes] = {}
        self.closed = False

    def restore(self, positions: Mapping[str, bytes]) -> None:
        self.restored = dict(positions)

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        yield Batch(caught_up=not final)

    def close(self) -> None:
        self.closed = True


def logs(name: str, path: str, **more: Any) -> LogFiles:
    return LogFiles(type="event_stream", name=name, paths=[path], **more)


def settings(*entries: SourceSettings, **more: Any) -> Settings:
    return Settings(sources=list(entries), **more)


def build(entry: SourceSettings, _: Settings) -> Recorded:
    return Recorded(entry.name)


def test_the_name_is_not_part_of_a_digest_and_all_else_is() -> None:
    found = digests(
        settings(logs("a", "/x"), logs("b", "/x"), logs("c", "/y"), logs("d", "/x", computer="e"))
    )
    assert found["a"] == found["b"]
    assert len(set(found.values())) == 3


@pytest.mark.parametrize(
    ("wanted", "known", "found"),
    [
        ({"a": "1"}, {"a": "1"}, {"a": "a"}),
        ({"b": "1"}, {"a": "1"}, {"b": "a"}),
        ({"a": "2"}, {"a": "1"}, {"a": "a"}),
        ({"a": "2", "b": "1"}, {"a": "1"}, {"a": "", "b": "a"}),
        ({"a": "2", "b": "1"}, {"a": "1", "b": "2"}, {"a": "b", "b": "a"}),
        ({"a": "1", "b": "1"}, {"a": "1"}, {"a": "a", "b": "b"}),
        ({"b": "1", "c": "1"}, {"a": "1"}, {"b": "a", "c": "c"}),
        ({"new": "3", "b": "1"}, {"a": "1"}, {"new": "new", "b": "a"}),
        ({"a": ""}, {"a": "", "b": ""}, {"a": "a"}),
    ],
)
def test_an_equal_digest_leads_to_the_predecessor_and_else_the_name(
    wanted: dict[str, str], known: dict[str, str], found: dict[str, str]
) -> None:
    assert predecessors(wanted, known) == found


def test_positions_move_with_their_source_and_nothing_else_changes() -> None:
    positions = {"a": {"f": b"1"}, "b": {"g": b"2"}, "c": {"h": b"3"}}
    assert moves({"a": "b", "b": "a", "c": "c"}, positions) == {
        "a": {"f": None, "g": b"2"},
        "b": {"g": None, "f": b"1"},
    }
    assert moves({"d": "a", "c": "c"}, positions) == {"d": {"f": b"1"}, "a": {"f": None}}
    assert moves({"a": "", "d": "a"}, positions) == {"a": {"f": None}, "d": {"f": b"1"}}


def test_unchanged_sources_stay_and_new_ones_begin_at_their_positions() -> None:
    stays, renamed, gone = Recorded("stays"), Recorded("old"), Recorded("gone")
    old = settings(logs("stays", "/1"), logs("old", "/2"), logs("gone", "/3"))
    new = settings(logs("added", "/4"), logs("new", "/2"), logs("stays", "/1"))
    positions = {"stays": {"f": b"1"}, "old": {"f": b"2"}, "gone": {"f": b"3"}}
    change = prepare(old, new, [stays, renamed, gone], positions, build)
    assert [source.name for source in change.sources] == ["added", "new", "stays"]
    assert change.sources[2] is stays
    assert change.dropped == [renamed, gone]
    assert change.fresh == ["added", "new"]
    assert [getattr(source, "restored") for source in change.sources[:2]] == [{}, {"f": b"2"}]  # noqa: B009
    assert not (stays.closed or renamed.closed or gone.closed)


def test_another_provider_builds_every_source_anew() -> None:
    running = Recorded("a")
    old = settings(logs("a", "/1"))
    change = prepare(old, settings(logs("a", "/1"), providers=["X"]), [running], {}, build)
    assert change.fresh == ["a"]
    assert change.dropped == [running]


@pytest.mark.parametrize(
    "change",
    [
        {"windows": {"nightly": Window(start=datetime.time(2), duration=3600.0)}},
        {"pools": {"array": ["sda", "sdb"]}},
        {"computers": {"a": "b"}},
        {"computer_label": "fqdn"},
        {"providers": ["X"]},
    ],
)
def test_a_page_scan_is_built_anew_when_what_it_takes_from_elsewhere_changes(
    change: dict[str, Any],
) -> None:
    entry = PageScan(type="page_scan", name="a", paths=["/1"], window="nightly")
    beside: dict[str, Any] = {
        "windows": {"nightly": Window(start=datetime.time(1), duration=3600.0)}
    }
    positions = {"a": {"f": b"1"}}
    old, new = settings(entry, **beside), settings(entry, **beside | change)
    running = Recorded("a")
    change_of = prepare(old, new, [running], positions, build)
    assert change_of.fresh == ([] if "providers" in change else ["a"])
    restored = [source.restored for source in change_of.sources if isinstance(source, Recorded)]
    assert restored == [{} if "providers" in change else {"f": b"1"}]


def test_a_source_that_cannot_be_made_closes_those_that_were() -> None:
    built: list[Recorded] = []

    def fail(entry: SourceSettings, _: Settings) -> Recorded:
        if entry.name == "bad":
            raise SourceError("no such thing")
        built.append(Recorded(entry.name))
        return built[-1]

    with pytest.raises(SourceError):
        prepare(Settings(), settings(logs("a", "/1"), logs("bad", "/2")), [], {}, fail)
    assert [source.closed for source in built] == [True]


class Looking(Recorded):
    def __init__(self) -> None:
        super().__init__("looking")
        self.seen: list[tuple[State, Lock]] = []

    def look_at(self, state: State, lock: Lock) -> None:
        self.seen.append((state, lock))


def test_a_source_that_looks_at_the_state_is_shown_it_and_no_other_is() -> None:
    looking, state, lock = Looking(), State(), Lock()

    show([Recorded("a"), looking], state, lock)

    assert looking.seen == [(state, lock)]


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
