"""Files renamed at the worst moment: between the listing, the look and the opening."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from esewatch.model import Batch, Reading
from esewatch.sources.files import file_search, raw_file
from esewatch.sources.files.follow import FollowedFiles
from tests.sources.followed import close_sources, line_source


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    close_sources()


def lines(batches: list[Batch]) -> list[str]:
    return [
        record.counter
        for batch in batches
        for record in batch.records
        if isinstance(record, Reading)
    ]


def once(action: Callable[[], None], real: Callable[..., Any], when: str) -> Callable[..., Any]:
    """`real`, that does `action` before it is called for a path ending in `when`, once."""
    waiting = [action]

    def called(path: str, *rest: Any, **named: Any) -> Any:
        if waiting and str(path).endswith(when):
            waiting.pop()()
        return real(path, *rest, **named)

    return called


def rotate(folder: Path, new: str) -> Callable[[], None]:
    def move() -> None:
        (folder / "app.log").rename(folder / "app-1.log")
        (folder / "app.log").write_text(new)

    return move


def restarted(source: FollowedFiles, *batches: Batch) -> FollowedFiles:
    """A new source with the positions that these batches left."""
    positions: dict[str, bytes] = {}
    for batch in batches:
        for key, value in batch.positions.items():
            if value is None:
                positions.pop(key, None)
            else:
                positions[key] = value
    source.restore(positions)
    return source


@pytest.mark.parametrize("moment", ["look", "open"])
def test_a_file_renamed_while_it_is_looked_for_after_a_restart_is_read_on_and_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    log = tmp_path / "app.log"
    log.write_text("a1\na2\n")
    first = list(line_source(tmp_path / "*.log").poll())
    assert lines(first) == ["a1", "a2"]
    with log.open("a") as file:
        file.write("a3\n")
    source = restarted(line_source(tmp_path / "*.log"), *first)
    move = rotate(tmp_path, "later\n")
    with monkeypatch.context() as patch:
        if moment == "look":
            patch.setattr(os, "stat", once(move, os.stat, "app.log"))
        else:
            opening = once(move, raw_file.open_raw, "app.log")
            patch.setattr(file_search, "open_raw", opening)
        found = lines(list(source.poll()))
    assert found == ["a3", "later"]
    assert lines(list(source.poll())) == []


def test_a_file_seen_first_with_its_header_only_keeps_its_place(tmp_path: Path) -> None:
    def order(_path: str, head: bytes) -> float | None:
        rows = head.split()[1:]
        return float(rows[0]) if rows else None

    log = tmp_path / "app.log"
    log.write_text("header\n")
    source = line_source(tmp_path / "*.log", order=order)
    assert lines(list(source.poll())) == ["header"]
    with log.open("a") as file:
        file.write("1\n2\n")
    rotate(tmp_path, "header\n3\n")()
    assert lines(list(source.poll())) == ["1", "2", "header", "3"]
