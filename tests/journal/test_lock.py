import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from esewatch.journal import Journal, LockedError
from esewatch.model import JournalError
from tests.journal.test_journal import commit, filled
from tests.support.failing import failing

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and modes are those of POSIX")
linux = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere a lock of the file stands in SQLite's way"
)


def by_link(path: Path) -> Path:
    link = path.with_name("link.db")
    link.symlink_to(path)
    return link


def by_folder(path: Path) -> Path:
    folder = path.parent.with_name("other")
    folder.symlink_to(path.parent)
    return folder / path.name


def by_hard_link(path: Path) -> Path:
    hard = path.with_name("hard.db")
    hard.hardlink_to(path)
    return hard


@posix
@pytest.mark.parametrize("reach", [by_link, by_folder])
def test_a_journal_in_use_is_refused_by_whatever_link_it_is_reached(
    tmp_path: Path, reach: Callable[[Path], Path]
) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    first = Journal(folder / "j.db")
    with pytest.raises(LockedError, match="in use by another esewatch"):
        Journal(reach(folder / "j.db"))
    commit(first, filled(), {"a": b"1"})
    first.close()
    again = Journal(reach(folder / "j.db") if reach is by_hard_link else folder / "j.db")
    assert again.load()[1] == {"logs": {"a": b"1"}}
    again.close()


@linux
def test_the_file_itself_is_locked_so_that_a_second_name_does_not_help(tmp_path: Path) -> None:
    first = Journal(tmp_path / "j.db")
    hard = by_hard_link(tmp_path / "j.db")
    for name in (hard, tmp_path / "j.db"):
        with pytest.raises(JournalError, match=r"hard links|in use"):
            Journal(name)
    commit(first, filled(), {"a": b"1"})
    first.close()
    with pytest.raises(JournalError, match=r"has 2 names \(hard links\): remove all but one"):
        Journal(tmp_path / "j.db")
    hard.unlink()
    again = Journal(tmp_path / "j.db")
    assert again.load()[1] == {"logs": {"a": b"1"}}
    again.close()


@linux
def test_a_journal_that_is_begun_anew_is_locked_too(tmp_path: Path) -> None:
    (tmp_path / "j.db").write_bytes(b"no database" * 1000)
    first = Journal(tmp_path / "j.db")
    assert first.set_aside is not None
    (tmp_path / "j.db.lock").unlink()
    with pytest.raises(LockedError):
        Journal(tmp_path / "j.db")
    first.rebuild()
    (tmp_path / "j.db.lock").unlink(missing_ok=True)
    with pytest.raises(LockedError):
        Journal(tmp_path / "j.db")
    commit(first, filled(), {"a": b"1"})
    first.close()


@posix
@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_a_journal_and_what_lies_beside_it_are_for_their_owner_only(
    tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        journal = Journal(tmp_path / "j.db")
        commit(journal, filled(), {"a": b"1"})
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
        journal.close()
    finally:
        os.umask(before)
    assert modes.keys() >= {"j.db", "j.db-wal", "j.db-shm", "j.db.lock"}
    assert set(modes.values()) == {0o600}


@posix
def test_of_an_older_journal_others_lose_what_they_could_do_with_it(tmp_path: Path) -> None:
    Journal(tmp_path / "j.db").close()
    (tmp_path / "j.db").chmod(0o644)
    journal = Journal(tmp_path / "j.db")
    assert (tmp_path / "j.db").stat().st_mode & 0o777 == 0o640
    journal.close()


def test_a_look_at_the_journal_that_fails_is_not_taken_for_its_removal(tmp_path: Path) -> None:
    with failing() as points:
        points.arm("stat", 1)
        for _ in range(12):
            with contextlib.suppress(JournalError):
                Journal(tmp_path / "j.db").close()
        journal = Journal(tmp_path / "j.db")
        folder = filled()
        commit(journal, folder, {"a": b"1"})
        before = (tmp_path / "j.db").stat().st_ino
        points.arm("stat", 1)
        with pytest.raises(JournalError, match="cannot look at the journal"):
            commit(journal, folder, {"a": b"2"})
        commit(journal, folder, {"a": b"3"})
        assert (tmp_path / "j.db").stat().st_ino == before
        journal.close()
