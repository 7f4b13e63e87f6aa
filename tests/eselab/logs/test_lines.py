"""Files of whole lines, whatever a kill left of the last one."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eselab.logs.lines import FULL, Lines, last_line, whole_length


@pytest.mark.parametrize(
    ("content", "length", "last"),
    [(b"", 0, b""), (b"a", 0, b""), (b"a\n", 2, b"a\n"), (b"a\nbc\nd", 5, b"bc\n")],
)
def test_what_is_behind_the_last_line_end_is_cut_off(
    tmp_path: Path, content: bytes, length: int, last: bytes
) -> None:
    path = tmp_path / "lines"
    path.write_bytes(content)
    assert (whole_length(path), last_line(path)) == (length, last)
    lines = Lines(path, buffered=False)
    assert (lines.size, path.stat().st_size) == (length, length)
    lines.append(b"new\n")
    lines.close()
    assert path.read_bytes() == content[:length] + b"new\n"


def test_a_file_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    assert whole_length(tmp_path / "none") == 0
    assert last_line(tmp_path / "none") == b""


def test_the_last_line_that_is_wanted_is_looked_for_backwards(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"#1\na\n#2\nb\nc")
    assert last_line(path, lambda line: line.startswith(b"#")) == b"#2\n"
    assert last_line(path, lambda line: line.startswith(b"?")) == b""


def test_what_is_held_back_is_written_in_its_order_and_before_it_is_too_much(
    tmp_path: Path,
) -> None:
    first = Lines(tmp_path / "first", buffered=True)
    second = Lines(tmp_path / "second", buffered=True, before=first)
    first.append(b"one\n")
    second.append(b"two\n")
    assert (tmp_path / "first").stat().st_size == 0
    second.append(b"x" * FULL + b"\n")
    assert (tmp_path / "first").read_bytes() == b"one\n"
    assert (tmp_path / "second").stat().st_size == second.size
    second.close()
    first.close()


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file of this process grows beyond `size` bytes: what is left of a write fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("size", range(13))
def test_what_a_failed_write_left_out_is_written_later_and_nothing_twice(
    tmp_path: Path, size: int, buffered: bool
) -> None:
    path = tmp_path / "lines"
    lines = Lines(path, buffered=buffered)
    with files_of_at_most(size), pytest.raises(OSError, match="too large"):
        lines.append(b"one\ntwo\nthree\n")
        lines.flush()
    assert path.read_bytes() == b"one\ntwo\nthree\n"[:size]
    lines.append(b"four\n")
    lines.close()
    assert path.read_bytes() == b"one\ntwo\nthree\nfour\n"
    assert lines.size == path.stat().st_size


def test_what_cannot_be_written_before_holds_back_what_comes_after_it(tmp_path: Path) -> None:
    first = Lines(tmp_path / "first", buffered=True)
    second = Lines(tmp_path / "second", buffered=True, before=first)
    first.append(b"one\n")
    second.append(b"two\n")
    with files_of_at_most(2), pytest.raises(OSError, match="too large"):
        second.flush()
    assert (tmp_path / "first").read_bytes() == b"on"
    assert (tmp_path / "second").read_bytes() == b""
    second.close()
    first.close()
    assert (tmp_path / "first").read_bytes() == b"one\n"
    assert (tmp_path / "second").read_bytes() == b"two\n"
