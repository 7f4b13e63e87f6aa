"""Reading database files: the right bytes, and a page cache that is as it was before."""

import errno
import mmap
import os
import random
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from esefiles.scans.reading import direct, os_page_cache, reading
from esefiles.scans.reading.reading import DatabaseFile
from tests.esefiles.scans.cache import PAGE, TRIES, check_cache_after, held, hold_only
from tests.support.patience import PATIENCE

SIZE = 256 * PAGE
STEP = 64 * PAGE
HALF = [*range(0, 64, 2), *range(100, 196)]
"""Half of the pages, in runs of several lengths."""
linux = pytest.mark.skipif(sys.platform != "linux", reason="page cache of Linux")


def fill(path: Path, size: int = SIZE) -> bytes:
    content = random.Random(size).randbytes(size)
    path.write_bytes(content)
    return content


def read_all(file: DatabaseFile, size: int = SIZE) -> bytes:
    """By read_into, in aligned pieces."""
    buffer = memoryview(mmap.mmap(-1, STEP))
    parts = []
    for offset in range(0, size, STEP):
        parts.append(bytes(buffer[: file.read_into(buffer, offset)]))
    return b"".join(parts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db.edb"


@pytest.fixture
def half_held(path: Path) -> Path:
    """A file with HALF of its pages in the cache."""
    fill(path)
    hold_only(path, HALF)
    if all(held(path)):
        pytest.skip("the temporary folder is in memory: nothing leaves the cache")
    return path


def check_reading(path: Path, *, direct: bool) -> None:
    """All of a file is read, past the cache or not, and the cache is as it was."""
    contents = []

    def use() -> None:
        file = DatabaseFile(str(path))
        contents.append(read_all(file))
        assert file.direct is direct
        file.close()

    check_cache_after(path, HALF, use)
    assert contents[-1] == path.read_bytes()


def without_direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "open_direct", lambda descriptor: -1)


@linux
def test_direct_reads_leave_the_cache_as_it_was(half_held: Path) -> None:
    check_reading(half_held, direct=True)


@linux
def test_fincore_says_so_too(half_held: Path) -> None:
    if not shutil.which("fincore"):
        pytest.skip("fincore (util-linux) is not installed")

    def pages() -> str:
        command = ["fincore", "--noheadings", "--raw", "--output", "PAGES", str(half_held)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    # The kernel may take a page back at any moment; our reading would do so each time.
    for _ in range(TRIES):
        hold_only(half_held, HALF)
        before = pages()
        file = DatabaseFile(str(half_held))
        read_all(file)
        file.close()
        after = pages()
        if before == after:
            break

    assert (before, after) == ("128", "128")


@linux
def test_without_direct_reads_the_cache_is_as_it_was_too(
    half_held: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_direct(monkeypatch)
    check_reading(half_held, direct=False)


@linux
def test_direct_reads_that_the_first_read_refuses_are_given_up(
    half_held: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, buffer: memoryview, offset: int) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(direct, "fill", refuse)
    check_reading(half_held, direct=False)


@linux
def test_direct_reads_that_go_through_the_cache_all_the_same_are_given_up(
    half_held: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with journalled or compressed data: the system takes O_DIRECT and does not keep to it."""
    plain = os.open(half_held, os.O_RDONLY)
    os.posix_fadvise(plain, 0, 0, os.POSIX_FADV_RANDOM)
    monkeypatch.setattr(direct, "fill", lambda fd, buffer, at: os.preadv(plain, [buffer], at))
    check_reading(half_held, direct=False)
    os.close(plain)


@linux
def test_without_mincore_nothing_is_given_up(
    half_held: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_direct(monkeypatch)
    monkeypatch.setattr(os_page_cache, "_mincore", None)

    def use() -> None:
        file = DatabaseFile(str(half_held))
        read_all(file)
        file.close()

    check_cache_after(half_held, HALF, use, after=[True] * (SIZE // PAGE))


@linux
def test_a_buffered_file_stays_in_the_cache(half_held: Path) -> None:
    contents = []

    def use() -> None:
        file = DatabaseFile(str(half_held), buffered=True)
        contents.append(read_all(file))
        assert not file.direct
        file.close()

    check_cache_after(half_held, HALF, use, after=[True] * (SIZE // PAGE))
    assert contents[-1] == half_held.read_bytes()


@linux
@pytest.mark.parametrize("buffered", [False, True])
def test_one_read_leaves_the_cache_as_it_was(half_held: Path, buffered: bool) -> None:
    def use() -> None:
        file = DatabaseFile(str(half_held), buffered=buffered)
        file.read(3 * PAGE - 100, 2 * PAGE)
        file.read(99 * PAGE, 8192)
        file.close()

    check_cache_after(half_held, HALF, use)


@linux
def test_one_read_without_direct_reads_is_from_the_disk_and_leaves_the_cache_as_it_was(
    half_held: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_direct(monkeypatch)
    let_go: list[list[bool]] = []
    give_up = os_page_cache.give_up

    def watch(descriptor: int, offset: int, length: int) -> None:
        give_up(descriptor, offset, length)
        let_go.append(held(half_held)[offset // PAGE : (offset + length) // PAGE])

    monkeypatch.setattr(os_page_cache, "give_up", watch)
    found = []

    def use() -> None:
        let_go.clear()
        file = DatabaseFile(str(half_held))
        found.append(file.read(110 * PAGE, 2 * PAGE))
        file.close()

    check_cache_after(half_held, HALF, use)
    assert let_go == [[False, False]]
    assert found[-1] == half_held.read_bytes()[110 * PAGE : 112 * PAGE]


@linux
def test_the_time_of_the_last_access_is_not_changed(path: Path) -> None:
    fill(path)
    os.utime(path, (1000, 2000))
    file = DatabaseFile(str(path))
    read_all(file)
    file.read(100, 10)
    file.close()

    assert path.stat().st_atime == 1000


WAYS = ("direct", "plain", "buffered", "seek")


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way of reading; `seek` is that of Windows."""
    if request.param in ("plain", "seek"):
        without_direct(monkeypatch)
    if request.param == "seek":
        monkeypatch.delattr(os, "preadv", raising=False)
    return str(request.param)


def opened(path: Path, way: str) -> DatabaseFile:
    return DatabaseFile(str(path), buffered=way == "buffered")


@pytest.mark.parametrize("size", [0, 1, 511, 512, 4095, 4096, 5000, 2 * STEP - 3, 2 * STEP + 700])
def test_the_end_of_a_file_may_be_anywhere(path: Path, way: str, size: int) -> None:
    content = fill(path, size)
    file = opened(path, way)

    assert read_all(file, size) == content
    assert file.read(0, size + 10_000) == content
    assert file.size() == size
    file.close()


def test_any_bytes_can_be_read(path: Path, way: str) -> None:
    content = fill(path, SIZE + 333)
    file = opened(path, way)
    chance = random.Random(1)
    for _ in range(100):
        offset = chance.randrange(SIZE + 2000)
        length = chance.randrange(1, 40_000)

        assert file.read(offset, length) == content[offset : offset + length]
    file.close()


def test_memory_that_is_not_aligned_is_filled_too(path: Path, way: str) -> None:
    content = fill(path, SIZE + 333)
    file = opened(path, way)
    memory = bytearray(STEP + 3000)
    for shift, offset, length in ((1, 0, STEP), (512, 2048, STEP), (7, SIZE - 5, 3000)):
        done = file.read_into(memoryview(memory)[shift : shift + length], offset)

        assert memory[shift : shift + done] == content[offset : offset + length]
        assert done == min(length, len(content) - offset)
    file.close()


def test_nothing_is_read_behind_the_end(path: Path, way: str) -> None:
    fill(path, 5000)
    file = opened(path, way)
    buffer = memoryview(mmap.mmap(-1, PAGE))

    assert file.read_into(buffer, 8192) == 0
    assert file.read_into(buffer, 1 << 40) == 0
    assert file.read(1 << 40, 10) == b""
    file.close()


def test_several_threads_read_at_once(path: Path, way: str) -> None:
    content = fill(path)
    file = opened(path, way)

    def read(offset: int) -> bool:
        buffer = memoryview(mmap.mmap(-1, PAGE))
        return bytes(buffer[: file.read_into(buffer, offset)]) == content[offset : offset + PAGE]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, [*range(0, SIZE, PAGE)] * 4))
    file.close()


@linux
@pytest.mark.parametrize("way", ["direct", "plain", "buffered"], indirect=True)
def test_a_read_that_brings_less_than_asked_for_goes_on(
    path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = fill(path, SIZE + 77)
    preadv = os.preadv
    lengths = iter([PAGE, 100, 3 * PAGE, 512] * 1000)

    def short(descriptor: int, buffers: list[memoryview], offset: int) -> int:
        parts = [memoryview(buffers[0])[: max(next(lengths), 4096 if way == "direct" else 1)]]
        return preadv(descriptor, parts, offset)

    monkeypatch.setattr(os, "preadv", short)
    file = opened(path, way)

    assert read_all(file, SIZE + 77) == content
    file.close()


@linux
def test_an_error_of_the_disk_is_told_and_does_not_change_how_it_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path)
    file = DatabaseFile(str(path))
    was_direct = file.direct

    def fail(descriptor: int, buffers: list[memoryview], offset: int) -> int:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "preadv", fail)
        with pytest.raises(OSError, match="Input/output error"):
            file.read_into(memoryview(mmap.mmap(-1, PAGE)), 0)
        with pytest.raises(OSError, match="Input/output error"):
            file.read(10, 10)

    assert file.direct is was_direct
    assert file.read(0, 10) == path.read_bytes()[:10]
    file.close()


def test_the_size_is_that_of_now(path: Path) -> None:
    fill(path, 8192)
    file = DatabaseFile(str(path))

    assert file.size() == 8192
    with path.open("ab") as more:
        more.write(b"x")
    assert file.size() == 8193
    file.close()


def descriptors() -> set[str]:
    """The paths of all files that are open in this process."""
    links = Path("/proc/self/fd").iterdir()
    return {str(link.readlink()) for link in links if link.is_symlink()}


def refused(path: Path) -> OSError:
    """What opening says, in less time than it would wait for somebody at a pipe."""
    with pytest.raises(OSError) as caught:
        DatabaseFile(str(path))
    return caught.value


@pytest.mark.timeout(10, func_only=True)
@linux
def test_what_is_no_regular_file_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.edb")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(tmp_path)
        server.bind("socket.edb")
    (tmp_path / "link.edb").symlink_to("pipe.edb")

    assert "not a regular file but a pipe" in str(refused(tmp_path / "pipe.edb"))
    assert "not a regular file but a pipe" in str(refused(tmp_path / "link.edb"))
    assert "not a regular file but a socket" in str(refused(tmp_path / "socket.edb"))
    assert "not a regular file but a character device" in str(refused(Path("/dev/zero")))
    assert isinstance(refused(tmp_path), IsADirectoryError)


def test_a_file_that_is_missing_or_has_an_impossible_name_is_refused(tmp_path: Path) -> None:
    assert isinstance(refused(tmp_path / "none.edb"), FileNotFoundError)
    assert refused(tmp_path / ("x" * 5000)).errno == errno.ENAMETOOLONG


@linux
def test_a_block_device_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    device = os.stat_result((stat.S_IFBLK | 0o600, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    monkeypatch.setattr(Path, "stat", lambda path: device)

    assert "a block device: name the files on it" in str(refused(Path("/dev/disk")))


@linux
def test_a_pipe_that_takes_the_place_of_the_file_is_refused_and_closed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(path)
    regular = Path(__file__).stat()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", lambda path: regular)
        error = refused(path)

    assert "a pipe" in str(error)
    assert str(path) not in descriptors()


@linux
def test_a_file_of_another_owner_is_read_without_the_flag_for_owners(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = fill(path)
    open_ = os.open

    def owners_only(name: str, flags: int) -> int:
        if flags & os.O_NOATIME:
            raise PermissionError(errno.EPERM, "Operation not permitted", name)
        return open_(name, flags)

    monkeypatch.setattr(os, "open", owners_only)
    file = DatabaseFile(str(path))

    assert read_all(file) == content
    file.close()


@linux
def test_where_the_system_has_no_direct_open_the_file_is_read_plainly(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = fill(path)
    open_ = os.open

    def refuse(name: str, flags: int) -> int:
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, "Invalid argument", name)
        return open_(name, flags)

    monkeypatch.setattr(os, "open", refuse)
    file = DatabaseFile(str(path))

    assert not file.direct
    assert read_all(file) == content
    file.close()


@linux
def test_a_closed_file_is_closed_and_says_so(path: Path) -> None:
    fill(path)
    file = DatabaseFile(str(path))
    assert str(path) in descriptors()
    file.close()
    file.close()

    assert str(path) not in descriptors()
    for use in (lambda: file.read(0, 1), file.size):
        with pytest.raises(OSError, match="the file is closed"):
            use()
    with pytest.raises(OSError, match="the file is closed"):
        file.read_into(memoryview(bytearray(10)), 0)


@pytest.fixture
def let_go() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@linux
def test_a_read_that_hangs_keeps_its_descriptor_until_it_returns(
    path: Path, monkeypatch: pytest.MonkeyPatch, let_go: threading.Event
) -> None:
    content = fill(path)
    began = threading.Event()
    fill_direct = direct.fill

    def hang(descriptor: int, buffer: memoryview, offset: int) -> int:
        began.set()
        assert let_go.wait(PATIENCE)
        return fill_direct(descriptor, buffer, offset)

    file = DatabaseFile(str(path))
    if not file.direct:
        pytest.skip("no direct reads in the temporary folder")
    monkeypatch.setattr(direct, "fill", hang)
    with ThreadPoolExecutor(1) as pool:
        reading_ = pool.submit(file.read, 0, 100)
        assert began.wait(PATIENCE)
        file.close()

        assert str(path) in descriptors()
        let_go.set()
        assert reading_.result(30) == content[:100]
    assert str(path) not in descriptors()


@linux
def test_a_file_in_memory_is_read(way: str) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir():
        pytest.skip("no /dev/shm")
    path = memory / f"esewatch-test-{os.getpid()}-{way}.edb"
    try:
        content = fill(path, SIZE + 5)
        file = opened(path, way)

        assert read_all(file, SIZE + 5) == content
        file.close()
    finally:
        path.unlink()


def test_cache_facts_are_not_asked_for_where_there_is_no_such_system(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = fill(path)
    for module in (direct, os_page_cache):
        monkeypatch.setattr(module, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr(os_page_cache, "_mincore", None)
    monkeypatch.delattr(os, "preadv", raising=False)
    file = reading.DatabaseFile(str(path))

    assert not file.direct
    assert read_all(file) == content
    assert file.read(5, 5) == content[5:10]
    file.close()
