import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from esewatch.config import DatabaseRule, LogFiles, Settings, SourceSettings
from esewatch.daemon import loop, poller, publisher, shown_groups
from esewatch.daemon.loop import Daemon
from esewatch.expose.metrics import families as metric_families
from esewatch.expose.metrics import snapshot
from esewatch.expose.metrics.samples import Samples
from esewatch.fold.state.state import State
from esewatch.journal import Journal
from esewatch.model import (
    Batch,
    ConfigError,
    EsewatchError,
    JournalError,
    Record,
    SourceError,
    Unreadable,
)
from esewatch.sources.registry import build_sources
from tests.sources.test_registry import COUNTERS, EVENTS
from tests.support.patience import PATIENCE
from tests.support.records import DAY, EPOCH, HOUR, LABEL, event

Script = list[list[Batch] | Exception]


class Scripted:
    """A source whose polls are written down; `done` is set when none is left."""

    def __init__(self, name: str, polls: Script) -> None:
        self.name = name
        self.restored: dict[str, bytes] = {}
        self.done = threading.Event()
        self._polls = polls

    def restore(self, positions: Mapping[str, bytes]) -> None:
        self.restored = dict(positions)

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        assert not final
        if not self._polls:
            self.done.set()
            yield Batch(caught_up=True)
            return
        step = self._polls.pop(0)
        if isinstance(step, Exception):
            raise step
        yield from step

    def close(self) -> None:
        self.done.set()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "POLL_SECONDS", 0.001)
    monkeypatch.setattr(loop, "RETRY_SECONDS", 0.001)


def batch(*records: Record, position: bytes = b"", last: bool = True) -> Batch:
    positions: dict[str, bytes | None] = {"file": position} if position else {}
    return Batch(records=list(records), positions=positions, caught_up=last)


def run(tmp_path: Path, *sources: Scripted) -> Daemon:
    """Run a daemon until all sources have said what they have to say; it is not closed."""
    found = Daemon(Settings(), Journal(tmp_path / "j.db"), sources, clock=lambda: EPOCH + 10 * DAY)
    thread = threading.Thread(target=found.run)
    thread.start()
    for source in sources:
        assert source.done.wait(PATIENCE)
    found.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    return found


def exposed(found: Daemon) -> str:
    return found.publisher.snapshot.render()[0].decode()


def test_records_become_metrics_and_positions_survive_a_restart(tmp_path: Path) -> None:
    first = run(tmp_path, Scripted("a", [[batch(event(700, 0, 1), position=b"1")]]))
    assert 'ese_passes_started_total{computer="ex01"' in exposed(first)
    first.close()
    source = Scripted("a", [])
    second = run(tmp_path, source)
    assert source.restored == {"file": b"1"}
    assert 'event_id="700",provider="ESE"} 1.0' in exposed(second)
    second.close()


class PublishesFirst:
    """A lock: when it is first taken, another thread, which did `ack`, has just published."""

    def __init__(self, daemon: Daemon) -> None:
        self._lock, self._daemon, self._published = daemon._shared.lock, daemon, False

    def __enter__(self) -> None:
        if not self._published:
            self._published = True
            self._daemon.publisher.publish()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_a_snapshot_made_right_before_a_batch_is_folded_does_not_delay_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Daemon(Settings(), Journal(tmp_path / "j.db"), [Scripted("a", [])])
    monkeypatch.setattr(found._shared, "lock", PublishesFirst(found))
    found._take("a", batch(event(700, 0, 1)))
    assert found.publisher.schedule.due(more=False)
    found.close()


def test_nothing_is_exposed_before_the_first_reading_is_done(tmp_path: Path) -> None:
    source = Scripted("a", [])
    found = Daemon(Settings(), Journal(tmp_path / "j.db"), [source])
    assert found.publisher.ready() == (False, "first reading of a")
    assert "esewatch_source_up" in exposed(found)
    assert "ese_events_total{" not in exposed(found)
    found.close()
    done = run(tmp_path, Scripted("a", [[batch(event(700, 0, 1), last=False), batch()]]))
    assert done.publisher.ready() == (True, "")
    assert "ese_events_total{" in exposed(done)
    done.close()


def test_a_restart_with_an_added_source_goes_on_showing_what_was_shown(tmp_path: Path) -> None:
    run(tmp_path, Scripted("a", [[batch(event(700, 0, 1))]])).close()
    added = Scripted("added", [])
    found = Daemon(Settings(), Journal(tmp_path / "j.db"), [Scripted("a", []), added])
    assert "ese_passes_started_total{" in exposed(found)
    assert found.publisher.ready() == (False, "first reading of added")
    found.close()
    again = Daemon(Settings(), Journal(tmp_path / "j.db"), [added])
    assert "ese_passes_started_total{" in exposed(again), "of two sources one is left, unread"
    again.close()


def test_after_a_kill_within_the_first_reading_nothing_is_shown_until_it_is_done(
    tmp_path: Path,
) -> None:
    first = Daemon(Settings(), Journal(tmp_path / "j.db"), [Scripted("a", []), Scripted("b", [])])
    for name, read in (("a", batch(event(701, 0, 2))), ("b", batch(event(700, 0, 1), last=False))):
        first._take(name, read)
        assert first._try_commit()
    first.close()
    killed = Daemon(
        Settings(), Journal(tmp_path / "j.db"), [Scripted("b", []), Scripted("added", [])]
    )
    assert "ese_passes_started_total{" not in exposed(killed)
    assert killed.publisher.ready() == (False, "first reading of b, added")
    killed.close()
    done = run(tmp_path, Scripted("b", [[batch()]]), Scripted("added", [[batch()]]))
    assert "ese_passes_started_total{" in exposed(done)
    done.close()


def test_a_source_that_could_not_be_read_at_first_hides_nothing_when_it_is_back(
    tmp_path: Path,
) -> None:
    away = Scripted("away", [SourceError("away")])
    run(tmp_path, Scripted("a", [[batch(event(700, 0, 1))]]), away).close()
    found = Daemon(Settings(), Journal(tmp_path / "j.db"), [Scripted("a", []), away])
    assert "ese_passes_started_total{" in exposed(found)
    found.close()


def test_a_journal_without_the_mark_of_a_first_reading_is_one_that_has_done_it(
    tmp_path: Path,
) -> None:
    source = Scripted("a", [])
    old = Daemon(Settings(), Journal(tmp_path / "j.db"), [source])
    old._take("a", batch(event(700, 0, 1), last=False))
    old._shared.folder.state.sources["a"].hides_databases = False
    assert old._try_commit()
    old.close()
    found = Daemon(Settings(), Journal(tmp_path / "j.db"), [source])
    assert "ese_passes_started_total{" in exposed(found)
    found.close()


def test_a_source_that_a_reload_adds_to_the_first_reading_is_part_of_it(tmp_path: Path) -> None:
    slow = Endless("slow")
    with Running(tmp_path, logs(slow="/1"), slow) as running:
        assert slow.done.wait(PATIENCE)
        running.built["added"] = Endless("added")
        running.reload(logs(added="/2"))
        assert running.built["added"].done.wait(PATIENCE)
        running.daemon.publisher.publish()
        assert "ese_events_total{" not in exposed(running.daemon)
        assert running.daemon.publisher.ready() == (False, "first reading of added")


def test_advice_is_exposed_and_is_that_of_the_status_page(tmp_path: Path) -> None:
    found = run(tmp_path, Scripted("a", [[batch(event(700, 0, 1))]]))
    (advice,) = found.publisher.overview().advice
    assert found.publisher.overview().databases[0].advice is advice
    action = f'ese_window_advice{{action="{advice.window.action}",'
    (line,) = [each for each in exposed(found).splitlines() if each.startswith(action)]
    assert line.endswith(" 1.0")
    found.publisher.forget(advice.computer, advice.database)
    assert "ese_window_advice{" not in exposed(found)
    assert found.publisher.overview().advice == ()
    found.close()


def test_a_large_farm_is_judged_at_once_though_nothing_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [f"e:\\mdb{number}\\priv.edb" for number in range(5)]
    run(tmp_path, Scripted("a", [[batch(*(event(700, 0, database=it) for it in paths))]])).close()
    monkeypatch.setattr("esewatch.daemon.shown_groups.MOST", 2)
    quiet = Scripted("a", [[] for _ in range(20)])
    again = run(tmp_path, quiet)
    assert len(again.publisher.overview().advice) == len(paths)
    again.close()


def test_a_source_that_hands_out_two_batches_is_not_shown_as_behind_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[bool] = []

    class Watched(publisher.Publisher):
        def _make_snapshot(self) -> snapshot.Snapshot:
            (source,) = self._shared.folder.state.sources.values()
            if not source.baseline:
                shown.append(source.caught_up)
            return super()._make_snapshot()

    monkeypatch.setattr("esewatch.daemon.publisher.PAUSE_SECONDS", 0.0)
    monkeypatch.setattr("esewatch.daemon.publisher.SHARE", 0.0)
    monkeypatch.setattr("esewatch.daemon.loop.Publisher", Watched)
    polls: Script = [[batch(event(700, n, n), last=False), batch()] for n in range(5)]
    run(tmp_path, Scripted("a", polls)).close()
    assert len(shown) >= 4
    assert all(shown)


def test_ready_is_said_when_the_figures_are_shown_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[Daemon] = []
    said: list[tuple[bool, bool]] = []

    def add_computers(out: Samples, state: State, *others: Any, **more: Any) -> None:
        if known:
            said.append((bool(state.databases), known[0].publisher.ready()[0]))
        metric_families.add_computers(out, state, *others, **more)

    class Knowing(Daemon):
        def run(self) -> None:
            known.append(self)
            super().run()

    monkeypatch.setattr(shown_groups, "add_computers", add_computers)
    monkeypatch.setattr(f"{__name__}.Daemon", Knowing)
    run(tmp_path, Scripted("a", [[batch(event(700, 0, 1))]])).close()

    assert said[0] == (True, False)
    assert known[0].publisher.ready() == (True, "")


def test_figures_are_not_made_anew_while_nothing_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[float] = []

    def add_computers(out: Samples, state: State, *others: Any, **more: Any) -> None:
        made.append(len(state.databases))
        metric_families.add_computers(out, state, *others, **more)

    monkeypatch.setattr("esewatch.daemon.publisher.PAUSE_SECONDS", 0.0)
    source = Scripted("a", [[batch(event(700, 0, 1))], *([batch()] for _ in range(50))])
    monkeypatch.setattr(shown_groups, "add_computers", add_computers)
    run(tmp_path, source).close()

    # At the start, while the first batch is read, and when all is read.
    assert len(made) <= 3


def test_an_agent_none_of_whose_sources_can_be_read_is_not_ready_and_says_why(
    tmp_path: Path,
) -> None:
    run(tmp_path, Scripted("a", [[batch(event(700, 0, 1))]])).close()
    gone = Scripted("a", [SourceError("/logs: No such file or directory")])
    found = Daemon(Settings(), Journal(tmp_path / "j.db"), [gone])
    found._cycle()
    why = "no source can be read: a: /logs: No such file or directory"
    assert found.publisher.ready() == (False, why)
    found._retry.clear()
    found._cycle()
    assert found.publisher.ready() == (True, "")
    found.close()


class Partly(Scripted):
    """It gives a record, and then says that a part of it cannot be read."""

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        yield batch(event(700, 0, 1))
        raise SourceError("b.log: no such file")


def test_one_source_that_answers_or_gives_a_record_makes_the_agent_ready(tmp_path: Path) -> None:
    """Also where it is one of disks, and no log can be read: `source_up` tells that."""
    gone = SourceError("/logs: No such file or directory")
    for answers in (Scripted("disks-1", [[batch()]]), Partly("logs", [])):
        sources = [Scripted("a", [gone, gone]), answers]
        found = Daemon(Settings(), Journal(tmp_path / f"{answers.name}.db"), sources)
        found._cycle()
        found._cycle()
        assert found.publisher.ready() == (True, "")
        assert not found._shared.folder.state.sources["a"].up
        found.close()


def test_a_source_that_fails_is_down_and_holds_nobody_up(tmp_path: Path) -> None:
    broken = Scripted("broken", [SourceError("no such file: x"), ValueError("a defect")])
    found = run(tmp_path, broken, Scripted("good", [[batch(event(700, 0, 1))]]))
    assert found.publisher.ready()[0]
    assert 'esewatch_source_up{source="good"} 1.0' in exposed(found)
    found.close()


def test_a_lasting_failure_is_logged_once_and_shown_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lost = SourceError("x.evtx: no such file")
    found = run(tmp_path, Scripted("a", [[batch()], lost, lost, [batch()], lost]))
    assert [record.message for record in caplog.records] == ["a: x.evtx: no such file"] * 2
    found.close()


def test_a_source_that_recovers_is_up_again(tmp_path: Path) -> None:
    found = run(tmp_path, Scripted("a", [SourceError("away"), [batch(event(700, 0, 1))]]))
    assert 'esewatch_source_up{source="a"} 1.0' in exposed(found)
    assert 'event_id="700",provider="ESE"} 1.0' in exposed(found)
    found.close()


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, failures = Journal.commit, iter([True, True, False, True])

    def commit(self: Journal, *args: object) -> object:
        if next(failures, False):
            raise JournalError("disk full")
        return real(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Journal, "commit", commit)
    polls: Script = [[batch(event(700, 0, 1), position=b"1")], [batch(event(704, 9, 2))]]
    found = run(tmp_path, Scripted("a", polls))
    assert 'event_id="704",provider="ESE"} 1.0' in exposed(found)
    found.close()
    again = Journal(tmp_path / "j.db")
    state, positions = again.load()
    again.close()
    assert state.hosts["ex01"].events == {"ESE": {700: 1, 704: 1}}
    assert positions == {"a": {"file": b"1"}}


def test_unreadable_pieces_are_counted_and_the_rest_goes_on(tmp_path: Path) -> None:
    damaged = Batch(
        records=[event(700, 0, 1)],
        unreadable=[Unreadable(path="x.evtx", place="chunk 3", reason="checksum")],
        caught_up=True,
    )
    found = run(tmp_path, Scripted("a", [[damaged]]))
    assert 'esewatch_source_unreadable_total{source="a"} 1.0' in exposed(found)
    assert 'event_id="700",provider="ESE"} 1.0' in exposed(found)
    found.close()


def test_the_page_of_a_database_is_that_of_the_overview_and_follows_each_command(
    tmp_path: Path,
) -> None:
    pages = [event(474, 9 * DAY + HOUR, n, fields={"page_number": n}) for n in (17, 18)]
    found = run(tmp_path, Scripted("a", [[batch(*pages)]]))
    page = found.publisher.database("ex01", LABEL)
    assert page is not None
    assert page is found.publisher.database("ex01", LABEL)
    assert page.figures is found.publisher.overview().databases[0]
    assert [bad.page for bad in page.bad_pages] == [17, 18]
    found.publisher.ack("ex01", LABEL, [17])
    left = found.publisher.database("ex01", LABEL)
    assert left is not None
    assert [bad.page for bad in left.bad_pages] == [18]
    found.publisher.forget("ex01", LABEL)
    assert found.publisher.database("ex01", LABEL) is None
    found.close()


def test_ack_and_forget_act_at_once_and_name_what_they_do_not_know(tmp_path: Path) -> None:
    pages = [event(474, 9 * DAY + HOUR, n, fields={"page_number": n}) for n in (17, 18)]
    found = run(tmp_path, Scripted("a", [[batch(*pages)]]))
    labels = f'computer="ex01",database="{LABEL.replace(chr(92), chr(92) * 2)}"'
    bad = f'ese_known_bad_pages{{{labels},kind="uncorrectable"}}'
    assert f"{bad} 2.0" in exposed(found)
    with pytest.raises(EsewatchError, match="page 99"):
        found.publisher.ack("ex01", LABEL, [99])
    assert found.publisher.ack("", LABEL.upper(), [17]).pages == 1
    assert f"{bad} 1.0" in exposed(found)
    with pytest.raises(EsewatchError, match="no database"):
        found.publisher.forget("", "e:\\other.edb")
    assert found.publisher.forget("ex01", LABEL)
    assert bad not in exposed(found)
    assert not found.publisher.forget("ex02", LABEL)
    over = f'ese_finding{{{labels.replace("ex01", "ex02")},finding="known_bad_page"'
    assert f'{over},severity="critical"}} 0.0' in exposed(found)
    found.close()


def test_a_snapshot_that_was_begun_before_a_command_does_not_replace_the_one_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run(tmp_path, Scripted("a", [[batch(event(474, 9 * DAY, fields={"page_number": 17}))]]))
    begun, go_on = threading.Event(), threading.Event()
    make = snapshot.Snapshot.of

    def slowly(*parts: Any, **lines: Any) -> snapshot.Snapshot:
        if not begun.is_set():
            begun.set()
            assert go_on.wait(PATIENCE)
        return make(*parts, **lines)

    monkeypatch.setattr(snapshot.Snapshot, "of", slowly)
    older = threading.Thread(target=found.publisher.publish)
    older.start()
    assert begun.wait(PATIENCE)
    command = threading.Thread(target=found.publisher.ack, args=("ex01", LABEL, [17]))
    command.start()
    command.join(0.5)
    go_on.set()
    older.join(PATIENCE)
    command.join(PATIENCE)

    bad = [line for line in exposed(found).splitlines() if line.startswith("ese_known_bad_pages{")]
    assert bad and all(line.endswith(" 0.0") for line in bad)
    found.close()


def test_a_source_no_longer_configured_is_not_reported_but_remembered(tmp_path: Path) -> None:
    run(tmp_path, Scripted("old", [[batch(event(700, 0), position=b"7")]])).close()
    found = run(tmp_path, Scripted("new", []))
    assert 'source="old"' not in exposed(found)
    found.close()
    back = Scripted("old", [])
    run(tmp_path, back).close()
    assert back.restored == {"file": b"7"}


def wait_until(what: Callable[[], object]) -> None:
    """Until `what` holds."""
    end = time.monotonic() + PATIENCE
    pause = threading.Event()
    while not what():
        assert time.monotonic() < end
        pause.wait(0.002)


class Running:
    """A daemon whose reading thread runs until the end of the block; its settings may change."""

    def __init__(self, tmp_path: Path, settings: Settings, *sources: Scripted) -> None:
        self.settings: Settings | Exception = settings
        self.built: dict[str, Scripted] = {}
        self.now = EPOCH + 10 * DAY
        self.daemon = Daemon(
            settings,
            Journal(tmp_path / "j.db"),
            sources,
            clock=lambda: self.now,
            load=self._load,
            build=self._build,
        )
        self.thread = threading.Thread(target=self.daemon.run, daemon=True)

    def _load(self) -> Settings:
        if isinstance(self.settings, Exception):
            raise self.settings
        return self.settings

    def _build(self, entry: SourceSettings, _: Settings) -> Scripted:
        if entry.name == "cannot":
            raise SourceError("cannot: there is no such thing")
        return self.built.setdefault(entry.name, Scripted(entry.name, []))

    def reload(self, settings: Settings) -> None:
        self.settings = settings
        self.daemon.reload()

    def __enter__(self) -> "Running":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.daemon.stop()
        self.thread.join(PATIENCE)
        self.daemon.close(running=self.thread.is_alive())


def logs(**paths: str) -> Settings:
    """Settings with an event_stream of each name."""
    return Settings(
        sources=[
            LogFiles(type="event_stream", name=name, paths=[path]) for name, path in paths.items()
        ]
    )


def metric(found: Daemon, name: str) -> float:
    """The only value of a metric without labels."""
    (line,) = (line for line in exposed(found).splitlines() if line.startswith(f"{name} "))
    return float(line.split()[1])


def test_new_settings_keep_what_is_unchanged_and_close_what_is_gone(tmp_path: Path) -> None:
    stays, goes = Scripted("stays", []), Scripted("goes", [[batch(position=b"7")]])
    with Running(tmp_path, logs(stays="/1", goes="/2"), stays, goes) as running:
        assert goes.done.wait(PATIENCE)
        stays.done.clear()
        running.reload(logs(new="/3", stays="/1"))
        assert sorted(running.built) == ["new"]
        assert running.built["new"].done.wait(PATIENCE)
        wait_until(lambda: 'source="new"' in exposed(running.daemon))
        assert 'source="goes"' not in exposed(running.daemon)
        running.reload(logs(stays="/1", goes="/2"))
        assert running.built["goes"].restored == {"file": b"7"}


def test_a_reload_says_of_another_journal_than_the_open_one_that_it_waits_for_a_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    names = [str(tmp_path / name) for name in ("j.db", "k.db", "k.db", "link/j.db", "j.db")]
    with Running(tmp_path, Settings(journal=names[0])) as running:
        for name in names:
            running.reload(Settings(journal=name))
    warned = [line for line in caplog.messages if line.startswith("journal: ")]
    assert warned == [f"journal: {tmp_path / 'k.db'} takes effect at the next start"] * 2


def test_a_renamed_source_goes_on_where_it_was_also_after_a_restart(tmp_path: Path) -> None:
    first = Scripted("a", [[batch(event(700, 0), position=b"1")]])
    with Running(tmp_path, logs(a="/1"), first) as running:
        assert first.done.wait(PATIENCE)
        running.reload(logs(other="/9", b="/1"))
        assert running.built["b"].restored == {"file": b"1"}
        assert running.built["other"].restored == {}
        assert 'esewatch_source_records_total{source="b"} 1.0' in exposed(running.daemon)
    third = Scripted("c", [])
    with Running(tmp_path, logs(c="/1"), third) as running:
        assert third.restored == {"file": b"1"}
        assert 'esewatch_source_records_total{source="c"} 1.0' in exposed(running.daemon)


def test_a_defect_in_a_reload_is_one_line_and_told_by_the_metric(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Running(tmp_path, logs(a="/1"), Scripted("a", [])) as running:
        running.settings = RuntimeError("a\ndefect")
        with pytest.raises(RuntimeError):
            running.daemon.reload()
        assert metric(running.daemon, "esewatch_config_last_reload_successful") == 0
    told = [line for line in caplog.messages if "defect" in line]
    assert told == ["the configuration is refused: a defect"]


def test_wrong_settings_are_refused_and_the_old_ones_stay(tmp_path: Path) -> None:
    source = Scripted("a", [])
    with Running(tmp_path, logs(a="/1"), source) as running:
        assert source.done.wait(PATIENCE)
        source.done.clear()
        running.settings = ConfigError("esewatch.yml:1: polcy: unknown key")
        with pytest.raises(EsewatchError, match="polcy"):
            running.daemon.reload()
        assert metric(running.daemon, "esewatch_config_last_reload_successful") == 0
        with pytest.raises(EsewatchError, match="there is no such thing"):
            running.reload(logs(cannot="/1", fine="/2"))
        assert running.built["fine"].done.is_set() if "fine" in running.built else True
        assert source.done.wait(PATIENCE), "the old source is still read"
        assert 'source="a"' in exposed(running.daemon)
        running.now += 5
        running.reload(logs(a="/1"))
        assert metric(running.daemon, "esewatch_config_last_reload_successful") == 1
        name = "esewatch_config_last_reload_success_timestamp_seconds"
        assert metric(running.daemon, name) == EPOCH + 10 * DAY + 5


def test_settings_of_databases_hold_at_once(tmp_path: Path) -> None:
    source = Scripted("a", [[batch(event(700, 0, 1))]])
    with Running(tmp_path, Settings(), source) as running:
        assert source.done.wait(PATIENCE)
        assert "ese_database_direct_attached{" not in exposed(running.daemon)
        running.reload(Settings(databases=[DatabaseRule(match="*", storage="das")]))
        assert "ese_database_direct_attached{" in exposed(running.daemon)


class Endless(Scripted):
    """A source that always has more to read; `gate` lets it go on."""

    def __init__(self, name: str) -> None:
        super().__init__(name, [])
        self.number = 0
        self.gate = threading.Event()
        self.gate.set()

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        while True:
            self.done.set()
            self.gate.wait()
            self.number += 1
            yield batch(event(704, self.number), position=b"%d" % self.number, last=False)


def test_a_source_in_a_storm_leaves_the_others_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "SLICE_SECONDS", 0.01)
    storm, quiet = Endless("storm"), Scripted("quiet", [[batch(event(700, 0))] for _ in range(5)])
    with Running(tmp_path, Settings(), storm, quiet):
        assert quiet.done.wait(PATIENCE)
        assert storm.number > 5


def test_a_reload_in_the_middle_of_a_stream_loses_and_doubles_no_batch(tmp_path: Path) -> None:
    storm = Endless("storm")
    with Running(tmp_path, logs(storm="/1"), storm) as running:
        for number in range(10):
            wait_until(lambda before=storm.number: storm.number > before)  # type: ignore[misc]
            running.reload(logs(storm="/1", **{f"more{number}": "/2"}))
    journal = Journal(tmp_path / "j.db")
    state, positions = journal.load()
    journal.close()
    assert state.hosts["ex01"].events == {"ESE": {704: storm.number}}
    assert positions["storm"] == {"file": b"%d" % storm.number}


def test_a_source_that_hangs_is_down_and_does_not_hold_up_reload_or_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(loop, "RELOAD_SECONDS", 0.01)
    monkeypatch.setattr(loop, "HANG_SECONDS", -1.0)
    monkeypatch.setattr(poller, "PATIENCE_SECONDS", 20.0)
    hanging, other = Endless("hanging"), Scripted("other", [])
    hanging.gate.clear()
    running = Running(tmp_path, Settings(), hanging, other)
    with running:
        assert hanging.done.wait(PATIENCE)
        with pytest.raises(EsewatchError, match="did not pause"):
            running.daemon.reload()
        running.daemon.watch()
        assert 'esewatch_source_up{source="hanging"} 0.0' in exposed(running.daemon)
        running.daemon.stop()
        running.daemon.close(running=True)
        assert other.done.is_set()
        hanging.gate.set()
    said = [record.message for record in caplog.records]
    assert said.count("hanging: does not answer") == 1
    assert "hanging: does not answer and is not waited for" in said


def test_a_source_that_hangs_is_left_behind_when_it_is_taken_out_and_begins_anew_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(poller, "PATIENCE_SECONDS", 0.01)
    hanging, other = Endless("hanging"), Scripted("other", [])
    hanging.gate.clear()
    with Running(tmp_path, logs(hanging="/1", other="/2"), hanging, other) as running:
        assert hanging.done.wait(PATIENCE)
        running.reload(logs(other="/2"))
        assert 'source="hanging"' not in exposed(running.daemon)
        back = running.built["hanging"] = Scripted("hanging", [[batch(event(704, 0))]])
        running.reload(logs(hanging="/1", other="/2"))
        assert back.done.wait(PATIENCE)
        hanging.gate.set()
        counted = 'esewatch_source_records_total{source="hanging"} 1.0'
        wait_until(lambda: counted in exposed(running.daemon))
        said = [record.message for record in caplog.records]
        # At the end of it a machine that is busy may not have answered in time either.
        assert said.count("hanging: does not answer and is not waited for") == 1


def test_while_the_disk_is_full_the_agent_serves_and_tells(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = Endless("storm")
    source.gate.clear()
    with Running(tmp_path, Settings(), source) as running:
        database = running.daemon._shared.journal._db
        (pages,) = database.execute("PRAGMA page_count").fetchone()
        database.execute(f"PRAGMA max_page_count = {pages}")
        big = Unreadable(path="x" * 100_000, place="", reason="")
        running.daemon._shared.folder.fold("storm", Batch(unreadable=[big]))
        running.daemon._shared.pending["storm"] = {"big": bytes(100_000)}
        source.gate.set()
        name = "esewatch_journal_commit_failures_total"
        wait_until(lambda: metric(running.daemon, name) >= 2)
        held = source.number
        with pytest.raises(EsewatchError, match="disk is full"):
            running.reload(Settings())
        assert running.daemon.publisher.ready()[0] is False
        assert source.number == held, "nothing more is read"
        database.execute("PRAGMA max_page_count = 1000000")
        wait_until(lambda: source.number > held + 10)
    said = [record.message for record in caplog.records]
    ends = "reading continues when it can be written"
    assert sum("cannot write the journal" in line and ends in line for line in said) == 1
    journal = Journal(tmp_path / "j.db")
    state, positions = journal.load()
    journal.close()
    assert state.hosts["ex01"].events == {"ESE": {704: source.number}}
    assert positions["storm"]["file"] == b"%d" % source.number


def test_while_the_journal_takes_no_commits_no_source_is_caught_up(tmp_path: Path) -> None:
    told, silent = Scripted("told", [[batch(event(700, 0, 1))]]), Scripted("silent", [])
    with Running(tmp_path, Settings(), told, silent) as running:
        found = running.daemon
        both = [f'esewatch_source_caught_up{{source="{name}"}} ' for name in ("told", "silent")]
        host = 'esewatch_host_caught_up{computer="ex01"} '

        def shows(value: str) -> bool:
            return all(f"{sample}{value}" in exposed(found) for sample in (*both, host))

        wait_until(lambda: shows("1.0"))
        with found._shared.lock:
            found._shared.journal._db.execute("PRAGMA query_only = 1")
        told._polls.append([batch(event(704, 9, 2))])
        wait_until(lambda: shows("0.0"))
        assert metric(found, "esewatch_journal_commit_failures_total") >= 1
        with found._shared.lock:
            found._shared.journal._db.execute("PRAGMA query_only = 0")
        wait_until(lambda: shows("1.0"))
        assert 'event_id="704",provider="ESE"} 1.0' in exposed(found)


def test_a_clock_that_jumps_drops_nothing_and_everything_is_right_again_after(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    label = "c:\\programdata\\app\\app.edb"
    seen = event(530, 9 * DAY, 1, provider="ESENT", process="app", database=label)
    source = Scripted("a", [[batch(seen)]])
    with Running(tmp_path, Settings(), source) as running:
        assert source.done.wait(PATIENCE)
        wait_until(lambda: label.replace("\\", "\\\\") in exposed(running.daemon))
        before = [line for line in exposed(running.daemon).splitlines() if line.startswith("ese_")]
        for jump in (3600 * 5, 3650 * DAY, -20 * 365 * DAY, -3600 * 3):
            running.now += jump
            wait_until(lambda jump=jump: f"jumped by {jump:+.0f} s" in caplog.text)  # type: ignore[misc]
        running.now = EPOCH + 10 * DAY
        wait_until(lambda: len(caplog.records) >= 5)
        running.daemon.publisher.publish()
        after = [line for line in exposed(running.daemon).splitlines() if line.startswith("ese_")]
    assert after == before


def test_a_damaged_row_is_told_and_what_cannot_be_rebuilt_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(loop, "REBUILD_SECONDS", 0.0)
    old = Scripted("a", [[batch(event(700, 0, 1), event(704, DAY, 2), position=b"1")]])
    run(tmp_path, old).close()
    journal = Journal(tmp_path / "j.db")
    journal._db.execute("UPDATE entity SET crc = crc + 1 WHERE kind = 'host'")
    journal.close()
    again = Scripted("a", [[batch(event(704, DAY, 2), position=b"1")]])
    found = run(tmp_path, again)
    wait_until(lambda: found.publisher.snapshot is not None)
    assert again.restored == {}
    assert 'event_id="704",provider="ESE"} 1.0' in exposed(found)
    assert 'event_id="700"' not in exposed(found)
    found.close()
    said = [record.message for record in caplog.records]
    assert any("the checksum of a row is wrong" in line for line in said)
    assert any("set aside as" in line for line in said)
    assert (
        "a: not rebuilt: records from 2007-06-16T13:20:00.000Z to 2007-06-17T13:20:00.000Z "
        "are no longer there" in said
    )
    caplog.clear()
    after = run(tmp_path, Scripted("a", []))
    assert 'esewatch_source_unrebuilt_from_timestamp_seconds{source="a"} 1.182e+09' in exposed(
        after
    )
    after.close()
    assert caplog.records == []


class Looking(Scripted):
    """A source that remembers the databases known at each poll."""

    def look_at(self, state: State, lock: threading.Lock) -> None:
        self.state, self.lock, self.known = state, lock, list[set[str]]()

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        with self.lock:
            self.known.append({label for _, label in self.state.databases})
        yield from super().poll(final=final)


def test_a_source_may_look_at_what_the_others_have_told(tmp_path: Path) -> None:
    other = Scripted("other", [[batch(event(700, 0))]])
    looking = Looking("looking", [[batch()], [batch()]])
    found = run(tmp_path, other, looking)
    found.close()
    assert looking.known[-1] == {LABEL}


def test_a_source_that_a_reload_brings_looks_too(tmp_path: Path) -> None:
    other = Scripted("other", [[batch(event(700, 0))]])
    looking = Looking("looking", [])
    with Running(tmp_path, logs(other="/1"), other) as running:
        assert other.done.wait(PATIENCE)
        running.built["looking"] = looking
        running.reload(logs(other="/1", looking="/2"))
        assert looking.done.wait(PATIENCE)
        assert looking.known[-1] == {LABEL}


def test_after_a_reload_and_a_new_begin_each_source_leaves_files_of_another_kind_alone(
    tmp_path: Path,
) -> None:
    paths = [f"{tmp_path}/*.csv"]
    counters = LogFiles(name="counters", type="perfmon_csv", paths=paths)
    events = LogFiles(name="events", type="event_stream", paths=paths)
    old, new = Settings(sources=[counters]), Settings(sources=[counters, events])
    found = Daemon(old, Journal(tmp_path / "j.db"), build_sources(old))
    found._change(new)
    for change in ("reload", "new begin"):
        (tmp_path / f"{change} events.csv").write_text(EVENTS)
        (tmp_path / f"{change} counters.csv").write_text(COUNTERS)
        for source in list(found._shared.sources):
            unreadable = [each for read in source.poll(final=True) for each in read.unreadable]
            assert unreadable == [], (change, source.name)
            found._begin_anew(source)
    found.close()
