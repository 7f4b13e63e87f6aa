"""What raises within the daemon costs itself and nothing else."""

import importlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from esewatch.config import LogFiles, Settings
from esewatch.daemon import loop, shown_groups
from esewatch.daemon.agent_health import AgentHealth, rebuilt_sentence
from esewatch.daemon.loop import Daemon
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import SourceState, State
from esewatch.journal import Journal, quarantine
from esewatch.journal.quarantine import Quarantine
from esewatch.model import Batch, Record
from tests.daemon.test_loop import Scripted, batch, exposed
from tests.e2e.harness import wait_for
from tests.support.patience import PATIENCE
from tests.support.records import DAY, EPOCH, event

FOLD = "ese_events_total"


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "POLL_SECONDS", 0.001)
    monkeypatch.setattr(loop, "RETRY_SECONDS", 0.001)


def run(tmp_path: Path, *sources: Scripted) -> Daemon:
    """A daemon that has read all, and shows it."""
    journal = Journal(tmp_path / "j.db")
    found = Daemon(Settings(), journal, sources, clock=lambda: EPOCH + 10 * DAY)
    thread = threading.Thread(target=found.run)
    thread.start()
    for source in sources:
        assert source.done.wait(PATIENCE)
    wait_for("all is read", lambda: not found._shared.unread())
    found.stop()
    thread.join(PATIENCE)
    found.publisher.publish()
    return found


class Failing:
    """Calls through, but raises `error` at the calls whose numbers (from 1) are in `when`."""

    def __init__(self, call: Callable[..., Any], error: Exception, *when: int) -> None:
        self.calls = 0
        self._call, self._error, self._when = call, error, when

    def __call__(self, *args: Any, **words: Any) -> Any:
        self.calls += 1
        if self.calls in self._when:
            raise self._error
        return self._call(*args, **words)


def fail(
    patch: pytest.MonkeyPatch, where: object, name: str, error: Exception, *when: int
) -> Failing:
    failing = Failing(getattr(where, name), error, *when)
    if isinstance(where, type):  # a method

        def method(*args: Any, **words: Any) -> Any:
            return failing(*args, **words)

        patch.setattr(where, name, method)
    else:
        patch.setattr(where, name, failing)
    return failing


def figure(found: Daemon, name: str, **labels: str) -> float:
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    return sum(
        float(line.rsplit(" ", 1)[1])
        for line in exposed(found).splitlines()
        if line.startswith((f"{name}{{", f"{name} ")) and all(each in line for each in wanted)
    )


def five() -> list[Batch]:
    """Five events in two batches."""
    first = [event(700, 0, 1), event(704, 60, 2), event(702, 90, 3)]
    second = [event(704, 120, 4), event(702, 150, 5)]
    return [batch(*first, position=b"1", last=False), batch(*second, position=b"2")]


def test_a_record_that_raises_is_set_aside_kept_counted_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fail(monkeypatch, Folder, "_event", TypeError("no such thing"), 2)
    found = run(tmp_path, Scripted("a", [five()]), Scripted("b", []))
    assert figure(found, FOLD) == 4
    assert figure(found, "esewatch_source_set_aside_total", source="a") == 1
    assert figure(found, "esewatch_source_up", source="a") == 1
    (line,) = (tmp_path / "j.db.set-aside").read_text().splitlines()
    kept = json.loads(line)
    assert (kept["source"], kept["error"]) == ("a", "TypeError: no such thing")
    assert "event_id=704" in kept["record"]
    assert "set aside" in caplog.text
    assert "no such thing" in caplog.text
    found.close()
    again = run(tmp_path, Scripted("a", []))
    assert figure(again, FOLD) == 4
    assert figure(again, "esewatch_source_set_aside_total", source="a") == 1
    again.close()


def test_the_quarantine_is_bounded_private_and_never_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(quarantine, "MAX_BYTES", 10_000)
    kept = Quarantine(tmp_path / "q")
    for number in range(100):
        kept.keep("a\udcff", event(700, number), ValueError("\udcff" * 100))
    lines = kept.path.read_bytes().splitlines()
    assert 3 < len(lines) < 100
    assert kept.path.stat().st_size <= 10_000
    assert kept.path.stat().st_mode & 0o077 == 0
    Quarantine(tmp_path / "no" / "folder").keep("a", event(700, 0), ValueError())
    assert "is not kept" in caplog.text


@pytest.mark.parametrize("error", [TypeError("odd"), OSError(28, "no space")])
@pytest.mark.parametrize("call", [1, 2])
def test_a_commit_that_cannot_be_made_keeps_the_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, call: int
) -> None:
    fail(monkeypatch, Journal, "_store", error, call)
    found = run(tmp_path, Scripted("a", [five()]))
    assert figure(found, FOLD) == 5
    assert figure(found, "esewatch_journal_commit_failures_total") == 1
    found.close()
    again = run(tmp_path, Scripted("a", []))
    assert figure(again, FOLD) == 5
    again.close()


def test_what_no_row_can_be_made_of_keeps_its_old_row_and_the_others_are_stored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Odd(Scripted):
        def look_at(self, state: State, lock: threading.Lock) -> None:
            self.state = state

        def poll(self, *, final: bool = False) -> Iterator[Batch]:
            for each in super().poll():
                yield each
                self.state.hosts["ex01"].volumes = {"c:": 1 << 80}  # type: ignore[dict-item]

    odd = Odd("a", [five()])
    found = run(tmp_path, odd)
    assert figure(found, "esewatch_internal_errors_total", part="journal") >= 1
    assert "host ex01  cannot be stored" in caplog.text
    found.close()
    journal = Journal(tmp_path / "j.db")
    state, positions = journal.load()
    journal.close()
    assert positions == {"a": {"file": b"2"}}
    assert state.databases
    assert state.hosts["ex01"].events == {"ESE": {700: 1, 704: 1, 702: 1}}


def test_a_source_that_raises_goes_on_from_the_journal_in_a_new_one(tmp_path: Path) -> None:
    entry = LogFiles(type="event_stream", name="a", paths=["/logs/*.log"])
    settings = Settings(sources=[entry], journal=str(tmp_path / "j.db"))
    first = Scripted("a", [five()[:1], ValueError("a defect")])
    second = Scripted("a", [five()[1:]])
    built = [second]
    found = Daemon(
        settings,
        Journal(tmp_path / "j.db"),
        [first],
        clock=lambda: EPOCH + DAY,
        build=lambda entry, settings: built.pop(),
    )
    thread = threading.Thread(target=found.run)
    thread.start()
    assert second.done.wait(PATIENCE)
    found.stop()
    thread.join(PATIENCE)
    found.publisher.publish()
    assert first.done.is_set()
    assert second.restored == {"file": b"1"}
    assert figure(found, FOLD) == 5
    assert figure(found, "esewatch_internal_errors_total", part="source") == 1
    found.close()


def test_a_source_that_fails_again_and_again_is_asked_less_and_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "RETRY_SECONDS", 100.0)
    found = Daemon(Settings(), Journal(tmp_path / "j.db"), [Scripted("a", [])])
    source = found._shared.sources[0]
    waits = []
    for _ in range(6):
        found._failed("a", "unexpected")
        found._begin_anew(source)
        waits.append(round(found._retry["a"] - time.monotonic(), -1))
    assert waits == [100.0, 200.0, 300.0, 300.0, 300.0, 300.0]
    found.close()


@pytest.mark.parametrize("which", ["families", "advice"])
def test_figures_that_cannot_be_made_cost_themselves_and_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    where, name = {
        "families": (shown_groups, "add_computers"),
        "advice": (shown_groups, "together"),
    }[which]
    fail(monkeypatch, where, name, KeyError("odd"), *range(1, 1000))
    found = run(tmp_path, Scripted("a", [five()]))
    found.publisher.publish()
    part = "metrics" if which == "families" else "advice"
    assert figure(found, "esewatch_internal_errors_total", part=part) >= 1
    assert figure(found, "esewatch_build_info") == 1
    assert ("ese_events_total{" in exposed(found)) == (which == "advice")
    found.close()


@pytest.mark.parametrize(
    ("where", "part"),
    [
        ("esewatch.expose.metrics.families.add_database", "metrics"),
        ("esewatch.advice.history.derived.member_of", "metrics"),
        ("esewatch.daemon.shown_groups.judge", "advice"),
        ("esewatch.expose.pages.overview._figures", "other"),
    ],
)
def test_a_database_of_which_no_view_can_be_made_costs_the_others_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    where: str,
    part: str,
) -> None:
    place, _, name = where.rpartition(".")
    module = importlib.import_module(place)
    normal = getattr(module, name)

    def odd(*given: Any) -> Any:
        if any(str(getattr(each, "database", "")).startswith("odd") for each in given):
            raise KeyError("no such thing")
        return normal(*given)

    monkeypatch.setattr(module, name, odd)
    good, odds = [f"good{number}" for number in range(5)], ["odd1", "odd2"]
    records = [event(700, at, at, database=each) for at, each in enumerate(good + odds, 1)]
    found = run(tmp_path, Scripted("a", [[batch(*records, position=b"1")]]))
    for _ in range(3):
        found.publisher.publish()
    shown = {each.database for each in found.publisher.overview().databases}
    text = exposed(found)
    assert text.count("ese_database_info{") == 5 + 2 * (part != "metrics")
    assert text.count("ese_database_verdict{") == 5 + 2 * (part == "other")
    assert shown == {*good, *(odds if part == "advice" else [])}
    assert figure(found, FOLD) == 7
    found.publisher.publish()
    assert figure(found, "esewatch_internal_errors_total", part=part) >= 2
    assert caplog.text.count(f"{part}: without odd1 of ex01: unexpected KeyError") == 1
    found.close()


def test_a_defect_in_the_cycle_is_told_and_the_daemon_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fail(monkeypatch, Daemon, "_expire", RuntimeError("odd"), 1, 2, 3)
    found = run(tmp_path, Scripted("a", [five()]))
    assert figure(found, FOLD) == 5
    assert caplog.text.count("unexpected RuntimeError: odd") == 1
    found.close()


def test_a_set_aside_record_is_one_that_can_be_written_down(tmp_path: Path) -> None:
    record: Record = event(700, 0, fields={"odd": 1 << 80}, database="b\udcff")
    kept = Quarantine(tmp_path / "q")
    kept.keep("a", record, ValueError("x"))
    (line,) = kept.path.read_bytes().splitlines()
    assert str(1 << 80) in msgspec.json.decode(line)["record"]


def values(figures: AgentHealth) -> dict[str, float]:
    return {
        sample.name.removeprefix("esewatch_"): sample.value
        for family in figures.families(7.0)
        for sample in family.samples
    }


def test_a_reload_that_failed_keeps_the_time_of_the_one_that_did_not() -> None:
    figures = AgentHealth(100.0)
    figures.commit_failures += 2
    assert values(figures) == {
        "config_last_reload_successful": 1,
        "config_last_reload_success_timestamp_seconds": 100,
        "journal_commit_failures_total": 2,
        "snapshot_timestamp_seconds": 7,
        "internal_errors_total": 0,
    }
    aside = {sample.value for family in figures.families(7.0, 50.0) for sample in family.samples}
    assert 50.0 in aside
    figures.reload_failed()
    assert values(figures)["config_last_reload_successful"] == 0
    assert values(figures)["config_last_reload_success_timestamp_seconds"] == 100
    figures.reloaded(300.0)
    assert values(figures)["config_last_reload_successful"] == 1
    assert values(figures)["config_last_reload_success_timestamp_seconds"] == 300


def test_what_could_not_be_rebuilt_is_one_sentence() -> None:
    whole = SourceState(name="a", oldest=100.0, rebuilt=(100.0, 200.0))
    known = SourceState(name="a", oldest=3600.0, rebuilt=(60.0, 7200.0))
    unknown = SourceState(name="a", oldest=3600.0, rebuilt=(0.0, 0.0))
    assert rebuilt_sentence(whole) == "all sources were read again, nothing is missing"
    assert rebuilt_sentence(known) == (
        "not rebuilt: records from 1970-01-01T00:01:00.000Z to 1970-01-01T01:00:00.000Z "
        "are no longer there"
    )
    assert "from an unknown time to 1970-01-01T01:00" in rebuilt_sentence(unknown)
