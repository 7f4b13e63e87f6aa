"""What the last starts ended at is noted in a file that the process itself need not close."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from esewatch.journal.quarantine import MAX_STARTS, Starts
from esewatch.model import FromInput, Record
from tests.support.records import event

RECORDS = [event(704, number, number) for number in range(5)]


def pairs() -> list[FromInput]:
    return [(1, record) for record in RECORDS]


class Ended(BaseException):
    """The process ended."""


class Log:
    """The file of the notes over starts of the process."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self._path = path
        self.aside: list[Record] = []

    def start(self, at: int | None = None, source: str = "a") -> list[Record]:
        """Read all records in one turn; the process ends at the `at`-th. Those that were read."""
        read: list[Record] = []
        with self._path.open("r+b", buffering=0) as file:
            starts = Starts(file)
            if source in starts.left_alone:
                return read
            try:
                with starts.reading(source):
                    for _, record in starts.each(source, pairs(), self.aside.append):
                        if at is not None and record is RECORDS[at]:
                            raise Ended
                        read.append(record)
            except Ended:
                return read
            starts.end()
        return read

    @property
    def line(self) -> bytes:
        return self._path.read_bytes().partition(b"\n")[0]


@pytest.fixture(name="log")
def _log(tmp_path: Path) -> Iterator[Log]:
    yield Log(tmp_path / "j.db.lock")


def test_an_end_in_good_order_leaves_no_note(log: Log) -> None:
    assert log.start() == RECORDS
    assert log.line == b""


def test_a_record_at_which_four_starts_ended_is_set_aside_by_the_fifth(log: Log) -> None:
    for _ in range(4):
        assert log.start(2) == RECORDS[:2]
        assert log.line
    assert log.start(2) == [*RECORDS[:2], *RECORDS[3:]]
    assert log.aside == [RECORDS[2]]


def test_two_such_records_of_one_batch_are_both_set_aside(log: Log) -> None:
    for at in (1, 1, 1, 1, 3, 3):
        log.start(at)
    assert log.start(3) == [RECORDS[0], RECORDS[2], RECORDS[4]]


def test_ends_at_other_records_set_nothing_aside(log: Log) -> None:
    for at in (0, 1, 2, 3, 4, 2, 1):
        log.start(at)
    assert log.aside == []


def test_of_the_same_record_twice_in_a_batch_both_are_set_aside_where_it_ends_the_process(
    log: Log,
) -> None:
    RECORDS.append(RECORDS[2])
    try:
        for _ in range(4):
            log.start(2)
        log.start(2)
    finally:
        RECORDS.pop()
    assert log.aside == [RECORDS[2]] * 2


def test_a_source_is_left_alone_after_twenty_starts_and_read_after_an_end_in_good_order(
    log: Log, tmp_path: Path
) -> None:
    path = tmp_path / "j.db.lock"
    for number in range(MAX_STARTS + 1):
        with path.open("r+b", buffering=0) as file:
            starts = Starts(file)
            assert starts.left_alone == set(), number
            with pytest.raises(Ended), starts.reading("a"):
                raise Ended
    with path.open("r+b", buffering=0) as file:
        starts = Starts(file)
        assert starts.left_alone == {"a"}
        with starts.reading("b"):
            pass
        assert starts.left_alone == {"a"}
        starts.end()
    assert log.start() == RECORDS


def test_a_source_that_gets_on_in_between_is_never_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "j.db.lock"
    path.touch()
    for _ in range(3 * MAX_STARTS):
        with path.open("r+b", buffering=0) as file:
            starts = Starts(file)
            assert starts.left_alone == set()
            with pytest.raises(Ended), starts.reading("a"):
                starts.got_on("a")
                raise Ended


@pytest.mark.parametrize("line", [b"\xff", b"{", b"[]", b'{"sources": {"a": "x"}}'])
def test_notes_that_cannot_be_read_are_none(log: Log, tmp_path: Path, line: bytes) -> None:
    (tmp_path / "j.db.lock").write_bytes(line + b"\n")
    assert log.start() == RECORDS


def test_notes_that_cannot_be_written_are_in_nobody_s_way(tmp_path: Path) -> None:
    (tmp_path / "j.db.lock").touch()
    with (tmp_path / "j.db.lock").open("rb", buffering=0) as file:
        starts = Starts(file)
        with starts.reading("a"):
            assert list(starts.each("a", pairs(), print)) == pairs()
