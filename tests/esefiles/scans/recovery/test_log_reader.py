"""Logs read ahead: each whole, in its order, whoever takes how much of which."""

import contextlib
from pathlib import Path

import pytest

from esefiles.scans.recovery.log_reader import READ_BYTES, LogPart, LogReader

HEADER = 4096


def _written(folder: Path, sizes: list[int]) -> list[LogPart]:
    parts = []
    for number, size in enumerate(sizes):
        path = folder / f"edb{number:05X}.log"
        path.write_bytes(bytes([number + 1]) * HEADER + bytes([number + 101]) * (size - HEADER))
        parts.append(LogPart(str(path), HEADER, size))
    return parts


def _whole(reader: LogReader, part: LogPart) -> bytes:
    found = b""
    while (piece := reader.next_of(part.path)) is not None:
        found += bytes(piece)
    return found


def test_each_log_is_read_whole_from_where_it_is_wanted(tmp_path: Path) -> None:
    sizes = [READ_BYTES, HEADER, HEADER + 8192, 3 * READ_BYTES + 4096, 2 * READ_BYTES]
    parts = _written(tmp_path, sizes)
    with contextlib.closing(LogReader(parts, buffered=False)) as reader:
        found = [_whole(reader, part) for part in parts]
    assert found == [bytes([at + 101]) * (size - HEADER) for at, size in enumerate(sizes)]


def test_logs_that_are_left_out_or_begun_do_not_hold_up_the_next(tmp_path: Path) -> None:
    parts = _written(tmp_path, [3 * READ_BYTES] * 8)
    with contextlib.closing(LogReader(parts, buffered=False)) as reader:
        begun = reader.next_of(parts[2].path)
        assert begun is not None
        assert begun[0] == 103
        assert _whole(reader, parts[7]) == bytes([108]) * (3 * READ_BYTES - HEADER)
        assert _whole(reader, parts[6]) == bytes([107]) * (3 * READ_BYTES - HEADER)


def test_a_log_that_cannot_be_opened_is_an_error_of_that_log_alone(tmp_path: Path) -> None:
    parts = _written(tmp_path, [READ_BYTES] * 3)
    Path(parts[0].path).unlink()
    with contextlib.closing(LogReader(parts, buffered=False)) as reader:
        with pytest.raises(FileNotFoundError):
            reader.next_of(parts[0].path)
        assert _whole(reader, parts[1]) == bytes([102]) * (READ_BYTES - HEADER)
        assert _whole(reader, parts[2]) == bytes([103]) * (READ_BYTES - HEADER)


def test_a_log_that_was_cut_ends_where_it_ends(tmp_path: Path) -> None:
    (part,) = _written(tmp_path, [READ_BYTES])
    with contextlib.closing(
        LogReader([part._replace(end=3 * READ_BYTES)], buffered=False)
    ) as reader:
        assert _whole(reader, part) == bytes([101]) * (READ_BYTES - HEADER)
