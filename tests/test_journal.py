import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from esewatch import journal as journal_module
from esewatch.fold.folder import Folder
from esewatch.fold.state import State
from esewatch.journal import Journal, LockedError
from esewatch.model import Batch, JournalError
from tests.support.records import DAY, EPOCH, LABEL, event, folder_of


def filled() -> Folder:
    records = [
        event(700, 0, 1),
        event(703, DAY, 2, fields={"pages_freed": 42794, "seconds": 124919}),
        event(474, DAY, 3, fields={"page_number": 17}),
        event(210, DAY, 4, database=""),
        event(103, DAY, 5, database=""),
    ]
    return folder_of(records)


def commit(journal: Journal, folder: Folder, positions: dict[str, bytes | None]) -> None:
    journal.commit(folder.state, folder.changed, {"logs": positions})
    folder.changed.clear()


def test_what_was_committed_is_there_again(tmp_path: Path) -> None:
    folder = filled()
    with_positions = Journal(tmp_path / "j.db")
    commit(with_positions, folder, {"a": b"1", "b": b"2"})
    with_positions.close()
    again = Journal(tmp_path / "j.db")
    state, positions = again.load()
    again.close()
    assert state == folder.state
    assert positions == {"logs": {"a": b"1", "b": b"2"}}


def test_a_dropped_position_and_a_forgotten_database_are_gone(tmp_path: Path) -> None:
    folder = filled()
    journal = Journal(tmp_path / "j.db")
    commit(journal, folder, {"a": b"1"})
    folder.forget("ex01", LABEL)
    commit(journal, folder, {"a": None})
    state, positions = journal.load()
    journal.close()
    assert state.databases == {}
    assert positions == {}


def test_a_commit_that_fails_stores_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = filled()
    journal = Journal(tmp_path / "j.db")
    commit(journal, folder, {"a": b"1"})
    folder.fold("logs", Batch(records=[event(704, 2 * DAY, 9)]))
    with pytest.raises(JournalError, match="cannot write the journal"):
        journal.commit(folder.state, folder.changed, {"logs": {"a": "text"}, "": {None: b""}})  # type: ignore[dict-item]
    state, positions = journal.load()
    journal.close()
    assert positions == {"logs": {"a": b"1"}}
    assert 704 not in state.hosts["ex01"].events["ESE"]


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    first = Journal(tmp_path / "j.db")
    with pytest.raises(LockedError, match="in use by another esewatch"):
        Journal(tmp_path / "j.db")
    first.close()
    Journal(tmp_path / "j.db").close()


@pytest.mark.parametrize("damage", [b"not a database at all" * 100, None])
def test_a_damaged_journal_is_set_aside_and_a_new_one_begins(
    tmp_path: Path, damage: bytes | None
) -> None:
    path = tmp_path / "j.db"
    folder = filled()
    sound = Journal(path)
    for number in range(50):
        sound.commit(folder.state, folder.changed, {"logs": {str(number): bytes(4000)}})
    sound.close()
    whole = path.read_bytes()
    path.write_bytes(damage or whole[:4096] + bytes(len(whole) // 2) + whole[-4096:])
    found = Journal(path)
    assert found.set_aside is not None
    assert found.set_aside.exists()
    assert found.load() == (State(), {})
    found.close()


def test_a_row_that_cannot_be_decoded_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    journal = Journal(path)
    commit(journal, filled(), {})
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE entity SET value = x'c1' WHERE kind = 'database'")
    with pytest.raises(JournalError, match="cannot be read"):
        journal.load()
    journal.rebuild()
    assert journal.load() == (State(), {})
    assert journal.set_aside is not None
    journal.close()


def test_an_older_schema_is_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "j.db"
    folder = filled()
    old = Journal(path)
    commit(old, folder, {"a": b"1"})
    old.close()
    step = "ALTER TABLE position ADD COLUMN note TEXT NOT NULL DEFAULT '';"
    monkeypatch.setattr(journal_module, "SCHEMA_VERSION", 2)
    monkeypatch.setitem(journal_module.MIGRATIONS, 1, step)
    new = Journal(path)
    assert new.load()[0] == folder.state
    new.close()
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
        assert db.execute("SELECT note FROM position").fetchall() == [("",)]


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    Journal(path).close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(JournalError, match="upgrade esewatch"):
        Journal(path)
    assert [found.name for found in tmp_path.glob("*damaged*")] == []


def test_an_unwritable_place_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="cannot open the journal"):
        Journal(tmp_path / "file" / "j.db")


def test_a_database_stays_small(tmp_path: Path) -> None:
    records = [event(700 + index % 5, index * 60.0, index + 1) for index in range(5000)]
    records += [
        event(474, index * 60.0, 10_000 + index, fields={"page_number": index})
        for index in range(2000)
    ]
    folder = folder_of(records)
    journal = Journal(tmp_path / "j.db")
    commit(journal, folder, {})
    journal.close()
    with closing(sqlite3.connect(tmp_path / "j.db")) as db, db:
        (size,) = db.execute("SELECT length(value) FROM entity WHERE kind = 'database'").fetchone()
    assert size < 100_000
    assert folder.state.databases[("ex01", LABEL)].last_seen == EPOCH + 4999 * 60
