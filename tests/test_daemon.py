import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from esewatch import daemon as daemon_module
from esewatch.config import Settings
from esewatch.daemon import Daemon
from esewatch.journal import Journal
from esewatch.model import Batch, EsewatchError, JournalError, Record, SourceError, Unreadable
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
    monkeypatch.setattr(daemon_module, "POLL_SECONDS", 0.001)
    monkeypatch.setattr(daemon_module, "RETRY_SECONDS", 0.001)


def batch(*records: Record, position: bytes = b"", last: bool = True) -> Batch:
    positions: dict[str, bytes | None] = {"file": position} if position else {}
    return Batch(records=list(records), positions=positions, caught_up=last)


def run(tmp_path: Path, *sources: Scripted) -> Daemon:
    """Run a daemon until all sources have said what they have to say; it is not closed."""
    found = Daemon(Settings(), Journal(tmp_path / "j.db"), sources, clock=lambda: EPOCH + 10 * DAY)
    thread = threading.Thread(target=found.run)
    thread.start()
    for source in sources:
        assert source.done.wait(20)
    found.stop()
    thread.join(20)
    assert not thread.is_alive()
    return found


def exposed(found: Daemon) -> str:
    return found.snapshot.render()[0].decode()


def test_records_become_metrics_and_positions_survive_a_restart(tmp_path: Path) -> None:
    first = run(tmp_path, Scripted("a", [[batch(event(700, 0, 1), position=b"1")]]))
    assert 'ese_passes_started_total{computer="ex01"' in exposed(first)
    first.close()
    source = Scripted("a", [])
    second = run(tmp_path, source)
    assert source.restored == {"file": b"1"}
    assert 'event_id="700",provider="ESE"} 1.0' in exposed(second)
    second.close()


def test_nothing_is_exposed_before_the_first_reading_is_done(tmp_path: Path) -> None:
    source = Scripted("a", [])
    found = Daemon(Settings(), Journal(tmp_path / "j.db"), [source])
    assert found.ready() == (False, "first reading of a")
    assert "esewatch_source_up" in exposed(found)
    assert "ese_events_total{" not in exposed(found)
    found.close()
    done = run(tmp_path, Scripted("a", [[batch(event(700, 0, 1), last=False), batch()]]))
    assert done.ready() == (True, "")
    assert "ese_events_total{" in exposed(done)
    done.close()


def test_a_source_that_fails_is_down_and_holds_nobody_up(tmp_path: Path) -> None:
    broken = Scripted("broken", [SourceError("no such file: x"), ValueError("a defect")])
    found = run(tmp_path, broken, Scripted("good", [[batch(event(700, 0, 1))]]))
    assert found.ready()[0]
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

    def commit(self: Journal, *args: object) -> None:
        if next(failures, False):
            raise JournalError("disk full")
        real(self, *args)  # type: ignore[arg-type]

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


def test_ack_and_forget_act_at_once_and_name_what_they_do_not_know(tmp_path: Path) -> None:
    pages = [event(474, 9 * DAY + HOUR, n, fields={"page_number": n}) for n in (17, 18)]
    found = run(tmp_path, Scripted("a", [[batch(*pages)]]))
    labels = f'computer="ex01",database="{LABEL.replace(chr(92), chr(92) * 2)}"'
    bad = f'ese_known_bad_pages{{{labels},kind="uncorrectable"}}'
    assert f"{bad} 2.0" in exposed(found)
    with pytest.raises(EsewatchError, match="page 99"):
        found.ack("ex01", LABEL, [99])
    assert found.ack("", LABEL.upper(), [17]) == 1
    assert f"{bad} 1.0" in exposed(found)
    with pytest.raises(EsewatchError, match="no database"):
        found.forget("ex02", LABEL)
    found.forget("ex01", LABEL)
    assert bad not in exposed(found)
    found.close()


def test_a_source_no_longer_configured_is_not_reported_but_remembered(tmp_path: Path) -> None:
    run(tmp_path, Scripted("old", [[batch(event(700, 0), position=b"7")]])).close()
    found = run(tmp_path, Scripted("new", []))
    assert 'source="old"' not in exposed(found)
    found.close()
    back = Scripted("old", [])
    run(tmp_path, back).close()
    assert back.restored == {"file": b"7"}
