import os
import re
import sqlite3
import time
import zlib
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from esewatch import journal as journal_module
from esewatch.config import Settings
from esewatch.daemon.loop import load_or_rebuild
from esewatch.fold.folder import Folder
from esewatch.fold.instances.instances import engine_changes
from esewatch.fold.state import rollups
from esewatch.fold.state.rollups import PAGES_FREED, PAGES_READ
from esewatch.fold.state.state import SourceState, State
from esewatch.journal import Journal, LockedError
from esewatch.journal.rows import checksum
from esewatch.model import Batch, Feed, HeaderSeen, JournalError, Owner, Reading
from tests.support.crashes import Crashed, crashing
from tests.support.records import DAY, EPOCH, GB, HOUR, LABEL, backed_up, checkdb, event, folder_of


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


@pytest.mark.parametrize("name", ["b\udcff", "\x1a", "\ud800"])
def test_what_was_committed_under_names_that_are_no_text_is_there_again(
    tmp_path: Path, name: str
) -> None:
    told = {"computer": name, "channel": name, "provider": name, "ese_instance": name}
    folder = folder_of([event(474, 0, 1, database=name, **told), event(704, 60, 2, **told)])
    assert (name, name) in folder.state.channels
    journal = Journal(tmp_path / "j.db")
    commit(journal, folder, {name: b"1"})
    journal.close()
    again = Journal(tmp_path / "j.db")
    state, positions = again.load()
    again.close()
    assert state == folder.state
    assert positions == {"logs": {name: b"1"}}


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


LOGGED = "ese_defrag_log_bytes_total"
HISTORY = {
    "host": {"gaps", "rpc_latency"},
    "device": {"gaps"},
    "instance": {
        "gaps",
        "days",
        "sampled_since",
        "engines",
        "errors",
        "ratio",
        "unpaired",
        "paired_until",
    },
    "database": {"sizes", "patched_last", "instances"},
}
"""What the first versions did not keep."""


def sampled(
    time: float,
    value: float,
    metric: str = PAGES_READ,
    owner: Owner = "instance",
    name: str = "SG06",
) -> Reading:
    return Reading(
        time=EPOCH + time,
        computer="EX01",
        object="MSExchange Database ==> Instances",
        counter=metric,
        instance=f"Information Store/{name}",
        value=value,
        kind="rate",
        feed=Feed(metric=metric, owner=owner, name=name),
    )


def test_a_journal_without_days_sizes_and_gaps_is_read_and_they_begin(tmp_path: Path) -> None:
    folder = filled()
    copy = HeaderSeen(time=EPOCH, computer="EX01", database=LABEL, size_bytes=8192)
    disk = sampled(0, 1, owner="device", name="sda")
    both = [sampled(at, 10, metric) for at in (0, 60) for metric in (PAGES_READ, PAGES_FREED)]
    folder.fold("logs", Batch(records=[copy, disk, *both]))
    journal = Journal(tmp_path / "j.db")
    commit(journal, folder, {"a": b"1"})
    journal._db.execute("DELETE FROM entity WHERE kind IN ('days', 'recent')")
    rows = journal._db.execute("SELECT kind, first, second, value FROM entity").fetchall()
    for *key, value in rows:
        plain = msgspec.msgpack.decode(value)
        older = HISTORY.get(key[0], set())
        assert older <= set(plain)
        without = msgspec.msgpack.encode({k: v for k, v in plain.items() if k not in older})
        journal._db.execute(
            "UPDATE entity SET value = ?, crc = ? WHERE kind = ? AND first = ? AND second = ?",
            (without, zlib.crc32(without, zlib.crc32("\0".join(key).encode())), *key),
        )
    assert set(HISTORY) <= {row[0] for row in rows}

    state, positions = journal.load()
    journal.close()
    assert positions == {"logs": {"a": b"1"}}
    old = state.instances["ex01", "sg06"]
    assert old.totals == {PAGES_READ: 600.0, PAGES_FREED: 600.0}
    assert not old.days
    assert not old.gaps
    assert old.sampled_since is None
    again = Folder(state, Settings())
    upgraded = event(701, DAY, engine_version="14.3.513.0")
    again.fold("logs", Batch(records=[sampled(120, 10), upgraded]))
    assert old.engines == {"14.3.513": EPOCH + DAY}
    assert engine_changes(old) == []
    assert list(old.unpaired.values()) == [[600.0, 0.0]]
    assert old.sampled_since == EPOCH + 60
    (entry,) = state.databases.values()
    assert (entry.size_bytes, rollups.sizes(entry.sizes)) == (8192, [])


def test_the_life_of_an_instance_is_read_from_a_journal_of_an_earlier_version(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path / "j.db")
    commit(journal, folder_of([event(103, DAY, 5, database="")]), {})
    known = journal.load()[0].instances["ex01", "sg06"]
    assert known.life == [(EPOCH + DAY, 5, 103)]
    plain = msgspec.to_builtins(known, builtin_types=(bytes, bytearray))
    plain |= {"life": [], "stops": [5.0, 20.0], "starts": [1.0, 9.0], "mounts": [9.5]}
    older, key = msgspec.msgpack.encode(plain), ("instance", "ex01", "sg06")
    journal._db.execute(
        "UPDATE entity SET value = ?, crc = ? WHERE kind = ? AND first = ? AND second = ?",
        (older, checksum((*key, older)), *key),
    )
    life = journal.load()[0].instances["ex01", "sg06"].life
    journal.close()
    assert life == [(1, 0, 102), (5, 0, 103), (9, 0, 102), (9.5, 0, 105), (20, 0, 103)]


def test_checks_of_sql_server_are_there_again_until_their_database_is_forgotten(
    tmp_path: Path,
) -> None:
    folder = folder_of([checkdb(0, 3), checkdb(DAY, full=False), checkdb(0, database="b")])
    journal = Journal(tmp_path / "j.db")
    commit(journal, folder, {})
    state, _ = journal.load()
    assert state.sql_databases == folder.state.sql_databases
    assert len(state.sql_databases) == 2
    folder.forget("sql01", "b")
    commit(journal, folder, {})
    state, _ = journal.load()
    journal.close()

    assert set(state.sql_databases) == {("sql01", "sales")}


def test_sets_of_backup_jobs_are_there_again_and_count_once(tmp_path: Path) -> None:
    folder = folder_of([backed_up(), backed_up("SG07", HOUR)])
    journal = Journal(tmp_path / "j.db")
    commit(journal, folder, {})
    state, _ = journal.load()
    journal.close()
    again = Folder(state, Settings())
    again.fold("logs", Batch(records=[backed_up()]))

    assert state.hosts["ex01"].backup_sets == folder.state.hosts["ex01"].backup_sets
    assert state.instances["ex01", "sg06"].backup_sets["ntbackup"].bytes_total == 36 * GB


def test_the_versions_of_the_engine_are_there_again(tmp_path: Path) -> None:
    versions = ("15.1.2507.12", "15.2.986.5")
    folder = folder_of(event(701, at * DAY, engine_version=v) for at, v in enumerate(versions))
    journal = Journal(tmp_path / "j.db")
    commit(journal, folder, {})
    state, _ = journal.load()
    journal.close()

    (instance,) = state.instances.values()
    assert instance.engines == {"15.1.2507": EPOCH, "15.2.986": EPOCH + DAY}
    assert engine_changes(instance) == [EPOCH + DAY]


def test_days_sizes_and_hours_are_there_again(tmp_path: Path) -> None:
    folder = filled()
    copy = HeaderSeen(time=EPOCH, computer="EX01", database=LABEL, size_bytes=8192)
    slow = Feed(metric=rollups.LATENCY, owner="computer")
    request = msgspec.structs.replace(sampled(0, 0.25), kind="level", feed=slow)
    samples = [sampled(at, 10, LOGGED) for at in (0, 60, 9000)]
    folder.fold("logs", Batch(records=[copy, request, *samples]))
    journal = Journal(tmp_path / "j.db")
    commit(journal, folder, {})
    state, _ = journal.load()
    journal.close()

    assert state == folder.state
    (instance,) = state.instances.values()
    assert len(rollups.days(instance.days)) == len(instance.gaps) == 1
    assert len(rollups.sizes(next(iter(state.databases.values())).sizes)) == 1
    assert len(list(rollups.hours(state.hosts["ex01"].rpc_latency))) == 1


def test_a_sample_of_today_leaves_the_row_of_older_days_alone(tmp_path: Path) -> None:
    folder = folder_of([])
    path = tmp_path / "j.db"
    journal = Journal(path)
    written = []
    for at in (0, 60, DAY, DAY + 60, DAY + 120, 2 * DAY, 2 * DAY + 60):
        folder.fold("logs", Batch(records=[sampled(at, 10, LOGGED)]))
        before = journal._db.total_changes
        journal.commit(folder.state, {("instance", "ex01", "sg06")}, {})
        written.append(journal._db.total_changes - before)
        assert journal.load()[0].instances == folder.state.instances
    journal.close()

    assert written == [2, 1, 1, 2, 1, 1, 2]
    (instance,) = folder.state.instances.values()
    assert [day.log_bytes for day in rollups.days(instance.days)] == [600.0, 1200.0, 600.0]


def test_the_days_of_an_instance_that_is_gone_are_gone_too(tmp_path: Path) -> None:
    folder = folder_of([])
    folder.fold("logs", Batch(records=[sampled(at, 10, LOGGED) for at in (0, 60, DAY, DAY + 60)]))
    journal = Journal(tmp_path / "j.db")
    commit(journal, folder, {})
    folder.state.instances.clear()
    journal.commit(folder.state, {("instance", "ex01", "sg06")}, {})
    kinds = {kind for (kind,) in journal._db.execute("SELECT kind FROM entity")}
    journal.close()
    assert kinds.isdisjoint({"instance", "days"})


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


def full(journal: Journal, pages: int = 1) -> None:
    """No page more fits, until `pages` is high again."""
    journal._db.execute(f"PRAGMA max_page_count = {pages}")


def test_a_commit_that_fails_stores_nothing_of_it(tmp_path: Path) -> None:
    folder = filled()
    journal = Journal(tmp_path / "j.db")
    commit(journal, folder, {"a": b"1"})
    folder.fold("logs", Batch(records=[event(704, 2 * DAY, 9)]))
    full(journal)
    with pytest.raises(JournalError, match="cannot write the journal: database or disk is full"):
        commit(journal, folder, {"a": bytes(100_000)})
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


@pytest.mark.parametrize("damage", [b"not a database at all" * 100, None, b"", b"S", bytes(511)])
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
    torn = whole[:4096] + bytes(len(whole) // 2) + whole[-4096:]
    path.write_bytes(torn if damage is None else damage)
    found = Journal(path)
    assert found.set_aside is not None
    assert found.set_aside.exists()
    assert found.load() == (State(), {})
    found.close()


def test_when_a_journal_was_set_aside_is_known_as_long_as_it_lies_there(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    (tmp_path / "j.db.damaged-x").touch()
    (tmp_path / "other.db.damaged-1").touch()
    path.write_bytes(b"not a database at all" * 100)
    os.utime(path, (1000, 1000))
    begun = time.time()
    with closing(Journal(path)) as found:
        told = found.last_set_aside()
        assert found.set_aside is not None
    assert told is not None
    assert begun - 1 <= told <= time.time() + 1

    with closing(Journal(path)) as again:
        assert (again.set_aside, again.last_set_aside()) == (None, told)
        found.set_aside.unlink()
        assert again.last_set_aside() is None
        (tmp_path / "j.db.damaged-1-wal").touch()
        assert again.last_set_aside() is None


def test_a_row_that_cannot_be_decoded_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    journal = Journal(path)
    commit(journal, filled(), {})
    with closing(sqlite3.connect(path)) as db, db:
        crc = zlib.crc32(b"\xc1", zlib.crc32(f"database\0ex01\0{LABEL}".encode()))
        db.execute("UPDATE entity SET value = x'c1', crc = ? WHERE kind = 'database'", (crc,))
    with pytest.raises(JournalError, match="cannot be read"):
        journal.load()
    journal.rebuild()
    assert journal.load() == (State(), {})
    assert journal.set_aside is not None
    journal.close()


@pytest.mark.parametrize("table", ["entity", "position"])
@pytest.mark.parametrize("change", ["crc = crc + 1", "value = x'00'", "value = 'text'"])
def test_a_row_that_was_changed_is_found(tmp_path: Path, table: str, change: str) -> None:
    journal = Journal(tmp_path / "j.db")
    commit(journal, filled(), {"a": b"1"})
    journal._db.execute(f"UPDATE {table} SET {change}")
    with pytest.raises(JournalError, match="the checksum of a row is wrong"):
        journal.load()
    journal.close()


def test_a_commit_that_failed_succeeds_when_there_is_space_again(tmp_path: Path) -> None:
    folder = filled()
    journal = Journal(tmp_path / "j.db")
    full(journal)
    with pytest.raises(JournalError, match="disk is full"):
        commit(journal, folder, {"a": bytes(100_000)})
    full(journal, 100_000)
    commit(journal, folder, {"a": b"1"})
    assert journal.load() == (folder.state, {"logs": {"a": b"1"}})
    journal.close()


def test_a_disk_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    folder = filled()
    journal = Journal(tmp_path / "j.db")
    journal._db.execute("PRAGMA query_only = ON")
    with pytest.raises(JournalError, match="attempt to write a readonly database"):
        commit(journal, folder, {})
    journal._db.execute("PRAGMA query_only = OFF")
    commit(journal, folder, {})
    journal.close()


def test_a_file_locked_by_another_process_is_waited_for_a_second(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.db")
    with closing(sqlite3.connect(tmp_path / "j.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match="database is locked"):
            commit(journal, filled(), {})
        other.rollback()
    commit(journal, filled(), {})
    journal.close()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_removed_or_replaced_ends_the_process(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], replaced: bool
) -> None:
    folder = filled()
    journal = Journal(tmp_path / "j.db")
    commit(journal, folder, {"a": b"1"})
    (tmp_path / "new").write_text("somebody's")
    if replaced:
        (tmp_path / "new").replace(tmp_path / "j.db")
    else:
        (tmp_path / "j.db").unlink()
    with crashing() as ends, pytest.raises(Crashed):
        commit(journal, folder, {"b": b"2"})
    journal.close()
    assert ends == [70]
    assert capfd.readouterr().err == (
        f"esewatch: {tmp_path / 'j.db'}: the journal was removed or replaced, so the process ends "
        "(exit status 70): start it again, and it reads all sources anew\n"
    )
    assert (tmp_path / "j.db").exists() == replaced


def test_what_can_be_read_of_the_sources_is_salvaged(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    folder = filled()
    journal = Journal(path)
    for number in range(400):
        name = f"source-{number:03}"
        folder.state.sources[name] = SourceState(name=name, oldest=1.0 + number)
        folder.changed.add(("source", name, ""))
    commit(journal, folder, {})
    journal.close()
    data = bytearray(path.read_bytes())
    at = data.index(b"source-203")
    start = at // 4096 * 4096
    data[start : start + 4096] = bytes(4096)
    path.write_bytes(data)
    found = Journal(path)
    assert found.set_aside is not None
    assert found.salvaged["source-000"].oldest == 1.0
    assert found.salvaged["source-399"].oldest == 400.0
    assert "source-203" not in found.salvaged
    assert len(found.salvaged) > 350
    found.close()


@pytest.mark.parametrize(
    ("at", "noted"), [*((at, True) for at in range(100)), *((at, False) for at in range(60, 64))]
)
def test_a_header_with_a_damaged_byte_is_set_aside_or_does_no_harm(
    tmp_path: Path, at: int, noted: bool
) -> None:
    path = tmp_path / "j.db"
    folder = filled()
    sound = Journal(path)
    commit(sound, folder, {"a": b"1"})
    if not noted:  # as an earlier esewatch leaves it
        sound._db.execute("DELETE FROM meta")
    sound.close()
    whole = path.read_bytes()
    # A 3 there, and no note of another version, is an older journal: it is refused.
    older = {3} if at == 63 and not noted else set()
    for value in {0, 3, 5, 255} - {whole[at]} - older:
        path.write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
        found = Journal(path)
        assert found.load()[0] == (State() if found.set_aside else folder.state)
        commit(found, folder, {"b": b"2"})
        found.close()


def schema_bytes(whole: bytes) -> list[int]:
    """Places of some bytes of the schema, those of words that SQLite's messages repeat too."""
    known = whole.index(b"value TEXT NOT NULL)")
    return [known + 1, known + 15, *range(whole.index(b"CREATE TABLE"), 4096, 11)]


@pytest.mark.parametrize("change", [0x80, 0x01])
def test_a_schema_with_a_damaged_byte_is_set_aside_or_does_no_harm(
    tmp_path: Path, change: int
) -> None:
    path = tmp_path / "j.db"
    folder = filled()
    sound = Journal(path)
    commit(sound, folder, {"a": b"1"})
    sound.close()
    whole = path.read_bytes()
    for at in schema_bytes(whole):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ change]) + whole[at + 1 :])
        found = Journal(path)
        state, _ = load_or_rebuild(found)
        assert state == (State() if found.set_aside else folder.state), at
        commit(found, folder, {"b": b"2"})
        found.close()


@pytest.mark.parametrize("place", [1, 15])
def test_a_damaged_schema_is_left_to_the_daemon_by_who_does_not_mend(
    tmp_path: Path, place: int
) -> None:
    path = tmp_path / "j.db"
    Journal(path).close()
    whole = bytearray(path.read_bytes())
    whole[whole.index(b"value TEXT NOT NULL)") + place] ^= 0x80
    path.write_bytes(whole)
    with pytest.raises(JournalError, match="the journal is damaged: start esewatch run"):
        Journal(path, mend=False)
    assert path.read_bytes() == whole


def test_a_newer_schema_that_is_not_understood_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    Journal(path).close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA user_version = 99")
        db.execute("ALTER TABLE meta RENAME COLUMN value TO text")
    with pytest.raises(JournalError, match="cannot open the journal: no such column: value"):
        Journal(path)
    assert not list(tmp_path.glob("*.damaged-*"))


def test_a_journal_without_its_version_in_a_table_is_taken_and_has_it_then(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    older = Journal(path)
    older._db.execute("DELETE FROM meta")
    older._db.execute("PRAGMA user_version = 4")
    older.close()
    again = Journal(path)
    assert again.set_aside is None
    version = str(journal_module.SCHEMA_VERSION)
    assert again._db.execute("SELECT * FROM meta").fetchall() == [("schema_version", version)]
    again.close()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_older_schema_is_refused_and_left_alone(tmp_path: Path, version: int) -> None:
    path = tmp_path / "j.db"
    older = Journal(path)
    older._db.execute("DELETE FROM meta")
    older._db.execute(f"PRAGMA user_version = {version}")
    older.close()
    before = path.read_bytes()
    told = (
        f"{path}: the journal has schema version {version}, this esewatch knows 4 and 5: "
        "move it away, and the sources are read again"
    )
    with pytest.raises(JournalError, match=f"^{re.escape(told)}$"):
        Journal(path)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.glob("*damaged*")] == []


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    Journal(path).close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA user_version = 99")
        db.execute("UPDATE meta SET value = '99'")
    with pytest.raises(JournalError, match="upgrade esewatch"):
        Journal(path)
    assert [found.name for found in tmp_path.glob("*damaged*")] == []


def test_a_pipe_or_a_loop_of_links_in_its_place_is_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "loops").symlink_to(tmp_path / "loops")
    for path in (tmp_path / "pipe", tmp_path / "loop", tmp_path / "loops" / "journal.db"):
        with pytest.raises(JournalError, match="cannot open the journal") as found:
            Journal(path)
        assert str(path) in str(found.value)


@pytest.mark.parametrize("version", [0, 1, 7])
def test_another_database_in_its_place_is_refused_and_left_alone(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "mail.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE mail (id)")
        db.execute(f"PRAGMA user_version={version}")
    check_it_is_left_alone(path, "another database")
    (tmp_path / "mail.db.lock").touch()  # as earlier versions left it
    check_it_is_left_alone(path, "another database")


def check_it_is_left_alone(path: Path, message: str) -> None:
    """A file that is named as the journal is refused, and nothing has changed but the lock."""
    path.chmod(0o644)
    before = path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns
    beside = sorted(path.parent.iterdir())
    with pytest.raises(JournalError, match=message):
        Journal(path)
    assert (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns) == before
    assert sorted(path.parent.iterdir()) == beside


def test_another_database_that_was_not_closed_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mail.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE mail (id)")  # which stands in the WAL only
        check_it_is_left_alone(path, "another database")


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
