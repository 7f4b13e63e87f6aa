"""Reading and checking at once: every byte once, in order, and nobody left behind."""

import errno
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType

import pytest

from esefiles.pages import kernels
from esefiles.pages.layout import BLANK, SUSPECT
from esefiles.scans.pace import Pace
from esefiles.scans.reading.reading import DatabaseFile
from esefiles.scans.verify.stream import Piece, _Reader, stream
from tests.support.patience import PATIENCE
from tests.support.threads import codes_of_threads

PAGE = 4096
READ = 4 * PAGE
PIECES = 25
SIZE = PIECES * READ


class Until:
    """A clock that stands at 0 until `go`, and a pace that is over `seconds` behind that."""

    def __init__(self, seconds: float) -> None:
        self._deadline = seconds
        self._began: float | None = None
        self.pace = Pace(deadline=seconds, clock=self._now)

    def go(self) -> None:
        self._began = time.monotonic()

    def _now(self) -> float:
        return 0.0 if self._began is None else time.monotonic() - self._began

    def late(self) -> float:
        """Seconds since it is over."""
        return self._now() - self._deadline


def readers() -> list[set[CodeType]]:
    """Threads that are in a reader."""
    return [codes for codes in codes_of_threads() if _Reader.run.__code__ in codes]


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    assert holds()


@pytest.fixture(autouse=True)
def no_reader_is_left() -> Iterator[None]:
    yield
    wait_for(lambda: readers() == [])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Pages of random bytes, each fifth one blank."""
    chance = random.Random(4)
    path = tmp_path / "db.edb"
    with path.open("wb") as file:
        for number in range(SIZE // PAGE):
            file.write(bytes(PAGE) if number % 5 == 0 else chance.randbytes(PAGE))
    return path


class Odd(DatabaseFile):
    """A file whose reads do what `before` does first."""

    def __init__(self, path: Path, before: Callable[[int], None]) -> None:
        super().__init__(str(path))
        self.before = before

    def read_into(self, buffer: memoryview, offset: int) -> int:
        self.before(offset)
        return super().read_into(buffer, offset)


def pieces(
    file: DatabaseFile, start: int = 0, end: int = SIZE, pace: Pace | None = None
) -> Iterator[Piece]:
    return stream(file, start, end, page_size=PAGE, pace=pace or Pace(), read_size=READ)


class UnexpectedError(Exception):
    """Not of the disk."""


def test_every_byte_comes_once_and_in_order(path: Path) -> None:
    file = DatabaseFile(str(path))
    content, offsets, classes = b"", [], b""
    for piece in pieces(file):
        assert piece.error is None
        assert len(piece.data) == piece.length
        assert piece.seconds > 0
        offsets.append(piece.offset)
        content += piece.data
        classes += piece.classes
    file.close()

    assert offsets == list(range(0, SIZE, READ))
    assert content == path.read_bytes()
    assert classes == bytes(BLANK if number % 5 == 0 else SUSPECT for number in range(SIZE // PAGE))


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (0, 1),
        (0, PAGE),
        (2 * PAGE, SIZE),
        (3 * PAGE, 3 * PAGE + 10),
        (READ, 2 * READ),
        (READ - PAGE, READ + PAGE),
        (7 * PAGE, SIZE - 3 * PAGE - 100),
        (SIZE - PAGE, SIZE),
    ],
)
def test_any_part_of_a_file_can_be_read(path: Path, start: int, end: int) -> None:
    file = DatabaseFile(str(path))
    found = [(piece.offset, bytes(piece.data), piece.classes) for piece in pieces(file, start, end)]
    file.close()

    assert b"".join(data for _, data, _ in found) == path.read_bytes()[start:end]
    assert found[0][0] == start
    assert [len(classes) for _, _, classes in found] == [len(data) // PAGE for _, data, _ in found]


def test_reads_begin_at_multiples_of_the_read_size_wherever_the_first_one_begins(
    path: Path,
) -> None:
    file = DatabaseFile(str(path))
    found = [(piece.offset, piece.length) for piece in pieces(file, 3 * PAGE, 2 * READ + PAGE)]
    file.close()

    assert found == [(3 * PAGE, PAGE), (READ, READ), (2 * READ, PAGE)]


def test_pages_of_2_kib_need_no_alignment(path: Path) -> None:
    file = DatabaseFile(str(path))
    found = stream(file, 2048, SIZE, page_size=2048, pace=Pace(), read_size=3 * 2048)
    content = b"".join(bytes(piece.data) for piece in found)
    file.close()

    assert content == path.read_bytes()[2048:]


def test_there_is_nothing_where_nothing_is_asked_for(path: Path) -> None:
    file = DatabaseFile(str(path))

    assert list(pieces(file, READ, READ)) == []
    assert list(pieces(file, 2 * READ, READ)) == []
    file.close()


def test_pages_are_checked_as_what_they_are_in_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[int, int] = {}

    def classify(data: memoryview, page_size: int, first: int) -> bytes:
        asked[first] = len(data) // page_size
        return bytes(len(data) // page_size)

    monkeypatch.setattr(kernels, "classify", classify)
    file = DatabaseFile(str(path))
    list(pieces(file, 2 * PAGE, SIZE - PAGE))
    file.close()

    assert asked == {1: 2} | dict.fromkeys(range(3, 95, 4), 4) | {95: 3}


def test_a_piece_is_valid_until_the_next_one_is_asked_for(path: Path) -> None:
    content = path.read_bytes()
    file = DatabaseFile(str(path))
    for piece in pieces(file):
        time.sleep(0.005)
        assert piece.data == content[piece.offset : piece.offset + piece.length]
    file.close()

    assert piece.offset == SIZE - READ


def test_reading_goes_on_while_the_consumer_works_but_not_without_bound(path: Path) -> None:
    read: list[int] = []
    file = Odd(path, read.append)
    found = pieces(file)
    next(found)
    wait_for(lambda: len(read) >= 2)
    time.sleep(0.2)

    assert 2 <= len(read) <= 4
    found.close()  # type: ignore[attr-defined]
    file.close()


@pytest.mark.parametrize("end", [0, 1, PAGE, READ, 5 * READ, 5 * READ + 3 * PAGE + 17])
def test_a_file_that_is_shorter_than_it_should_be_ends_with_a_short_piece(
    path: Path, end: int
) -> None:
    os.truncate(path, end)
    file = DatabaseFile(str(path))
    found = [(len(piece.data), piece.length, len(piece.classes)) for piece in pieces(file)]
    file.close()

    assert found[:-1] == [(READ, READ, 4)] * (end // READ)
    assert found[-1] == (end % READ, READ, end % READ // PAGE)


def test_a_file_that_shrinks_under_way_ends_with_a_short_piece(path: Path) -> None:
    def shrink(offset: int) -> None:
        if offset == 10 * READ:
            os.truncate(path, 8 * READ + PAGE)

    file = Odd(path, shrink)
    found = [(piece.offset, len(piece.data), piece.error) for piece in pieces(file)]
    file.close()

    assert len(found[-1:]) == 1
    assert found[-1][1] < READ
    assert found[-1][2] is None
    assert found[-1][0] in (8 * READ, 9 * READ, 10 * READ, 11 * READ)
    assert all(length == READ for _, length, _ in found[:-1])


def test_a_file_that_grows_under_way_ends_where_it_was_asked_to(path: Path) -> None:
    with path.open("ab") as more:
        more.write(bytes(3 * READ))
    file = DatabaseFile(str(path))
    found = [(piece.offset, len(piece.data)) for piece in pieces(file, 0, SIZE - READ - 100)]
    file.close()

    assert found[-1] == (SIZE - 2 * READ, READ - 100)


def test_the_stream_goes_on_behind_an_error(path: Path) -> None:
    bad = {2 * READ, 3 * READ, 7 * READ, SIZE - READ}

    def fail(offset: int) -> None:
        if offset in bad:
            raise OSError(errno.EIO, "Input/output error")

    file = Odd(path, fail)
    found = {piece.offset: (piece.error, len(piece.data), piece.classes) for piece in pieces(file)}
    file.close()

    assert list(found) == list(range(0, SIZE, READ))
    assert {offset for offset, (error, _, _) in found.items() if error} == bad
    for error, length, classes in found.values():
        assert (length, len(classes)) == ((0, 0) if error else (READ, 4))


def test_a_disk_that_reads_nothing_at_all_ends_all_the_same(path: Path) -> None:
    def fail(offset: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    file = Odd(path, fail)
    errors = [piece.error for piece in pieces(file)]
    file.close()

    assert len(errors) == PIECES
    assert all(errors)


def test_what_is_no_error_of_the_disk_is_raised(path: Path) -> None:
    def fail(offset: int) -> None:
        if offset == 4 * READ:
            raise UnexpectedError

    file = Odd(path, fail)
    found = []
    with pytest.raises(UnexpectedError):
        for piece in pieces(file):
            found.append(piece.offset)
    file.close()

    assert found == [0, READ, 2 * READ, 3 * READ]


@pytest.mark.parametrize("after", [0, 1, 2, 7])
def test_a_stream_that_is_closed_early_leaves_no_reader(path: Path, after: int) -> None:
    file = DatabaseFile(str(path))
    found = pieces(file)
    for _ in range(after):
        next(found)
    found.close()  # type: ignore[attr-defined]

    assert readers() == []
    file.close()


def test_a_consumer_that_fails_leaves_no_reader(path: Path) -> None:
    file = DatabaseFile(str(path))
    with pytest.raises(UnexpectedError):
        for _ in pieces(file):
            raise UnexpectedError
    file.close()


def test_two_streams_do_not_share_memory(path: Path) -> None:
    content = path.read_bytes()
    file = DatabaseFile(str(path))
    for one, other in zip(pieces(file), pieces(file, READ), strict=False):
        assert one.data == content[one.offset : one.offset + READ]
        assert other.data == content[other.offset : other.offset + READ]
        assert other.offset == one.offset + READ
    file.close()


def test_it_ends_when_somebody_wants_it(path: Path) -> None:
    stop = threading.Event()
    file = DatabaseFile(str(path))
    found = []
    for piece in pieces(file, pace=Pace(stop=stop)):
        found.append(piece.offset)
        stop.set()
    file.close()

    assert 1 <= len(found) <= 5
    assert found == list(range(0, len(found) * READ, READ))


def test_it_does_not_begin_when_the_time_is_up(path: Path) -> None:
    read: list[int] = []
    file = Odd(path, read.append)

    assert list(pieces(file, pace=Pace(deadline=time.monotonic()))) == []
    assert read == []
    file.close()


@pytest.mark.parametrize("hanging", [0, 3 * READ])
def test_a_read_that_hangs_does_not_hold_the_consumer_beyond_the_time(
    path: Path, hanging: int
) -> None:
    let_go = threading.Event()
    until = Until(0.3)
    given: list[int] = []

    def hang(offset: int) -> None:
        if offset == hanging:
            wait_for(lambda: given == expected)
            until.go()
            assert let_go.wait(PATIENCE)

    expected = list(range(0, hanging, READ))
    file = Odd(path, hang)
    for piece in pieces(file, pace=until.pace):
        given.append(piece.offset)
    late = until.late()
    file.close()

    assert given == expected
    assert late < 1
    wait_for(lambda: len(readers()) == 1)
    let_go.set()


def test_a_read_that_hung_writes_into_no_memory_of_others(path: Path) -> None:
    content = path.read_bytes()
    let_go = threading.Event()
    until = Until(0.1)
    given: list[int] = []

    def hang(offset: int) -> None:
        if offset == READ:
            wait_for(lambda: given == [0])
            until.go()
            assert let_go.wait(PATIENCE)

    stuck = Odd(path, hang)
    for piece in pieces(stuck, pace=until.pace):
        given.append(piece.offset)
    assert given == [0]
    stuck.close()
    file = DatabaseFile(str(path))
    for piece in pieces(file):
        let_go.set()
        time.sleep(0.001)
        assert piece.data == content[piece.offset : piece.offset + READ]
    file.close()


def test_a_throttled_lane_has_one_reader_that_pauses(path: Path) -> None:
    began = time.monotonic()
    file = DatabaseFile(str(path))
    count = [len(readers()) for _ in pieces(file, 0, 10 * READ, Pace(throttle=0.01))]
    file.close()

    assert len(count) == 10
    assert max(count) == 1
    assert time.monotonic() - began >= 0.09


def test_a_rate_is_kept(path: Path) -> None:
    began = time.monotonic()
    file = DatabaseFile(str(path))
    count = sum(1 for _ in pieces(file, pace=Pace(rate=SIZE / 0.25)))
    file.close()

    assert count == PIECES
    assert time.monotonic() - began >= 0.25 * (PIECES - 1) / PIECES


@pytest.mark.timeout(50)
def test_a_long_pause_is_ended_by_the_wish_to_stop(path: Path) -> None:
    stop = threading.Event()
    timer = threading.Timer(0.1, stop.set)
    file = DatabaseFile(str(path))
    found = []
    for piece in pieces(file, pace=Pace(throttle=60.0, stop=stop)):
        found.append(piece.offset)
        timer.start()
    file.close()
    timer.join()

    assert found == [0]
