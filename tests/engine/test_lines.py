"""Files of whole lines, whatever a kill left of the last one."""

from pathlib import Path

import pytest

from esewatch.engine.lines import FULL, Lines, last_line, whole_length


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
