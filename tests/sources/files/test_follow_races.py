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
    assert lines(list(source.poll())) == ["1", "2", "3"]


SIXTY = [f"line {number}" for number in range(60)]


def text_of(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def copied_and_truncated(folder: Path) -> FollowedFiles:
    """A source that read 50 of 60 lines before the log was copied."""
    log = folder / "app.log"
    log.write_text(text_of(SIXTY[:50]))
    source = line_source(folder / "app.log*")
    assert lines(list(source.poll())) == SIXTY[:50]
    log.write_text(text_of(SIXTY))
    (folder / "app.log.1").write_text(text_of(SIXTY))
    return source


@pytest.mark.parametrize("when", ["app.log", "app.log.1"])
def test_a_log_that_is_truncated_while_its_copy_is_looked_at_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    source = copied_and_truncated(tmp_path)
    truncate = once(lambda: os.truncate(tmp_path / "app.log", 0), raw_file.open_raw, when)
    monkeypatch.setattr(file_search, "open_raw", truncate)
    found = lines(list(source.poll())) + lines(list(source.poll()))
    assert found == SIXTY[50:]


def test_a_log_that_is_truncated_and_grows_again_between_look_and_reading_is_read_from_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "app.log"
    log.write_text(text_of(SIXTY[:10]))
    source = line_source(log)
    assert lines(list(source.poll())) == SIXTY[:10]
    log.write_text(text_of(SIXTY[:11]))
    new = [f"new {number}" for number in range(30)]
    real = FollowedFiles._round

    def late(self: FollowedFiles, **final: bool) -> Iterator[Batch]:
        log.write_text(text_of(new))
        monkeypatch.setattr(FollowedFiles, "_round", real)
        return real(self, **final)

    monkeypatch.setattr(FollowedFiles, "_round", late)
    assert lines(list(source.poll())) + lines(list(source.poll())) == new


@pytest.mark.parametrize("name", ["app.log.bak", "a-copy.log"])
def test_a_copy_of_a_log_that_nobody_read_yet_counts_once(tmp_path: Path, name: str) -> None:
    for each in ("app.log", name):
        (tmp_path / each).write_text(text_of(SIXTY))
    source = line_source(tmp_path / "*")
    assert lines(list(source.poll())) == SIXTY


def test_a_deleted_file_whose_first_record_has_no_time_yet_holds_up_no_other(
    tmp_path: Path,
) -> None:
    def order(_path: str, head: bytes) -> float | None:
        return float(head) if head.endswith(b"\n") and head.count(b"\n") == 1 else None

    half = tmp_path / "half.log"
    half.write_text("no end")
    source = line_source(tmp_path / "*.log", order=order)
    assert lines(list(source.poll())) == []
    half.unlink()
    (tmp_path / "good.log").write_text("12345\n")
    assert lines(list(source.poll())) == ["12345"]


@pytest.mark.parametrize("change", ["replaced", "renamed"])
def test_files_that_change_at_each_look_hold_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    (tmp_path / "good.log").write_text(text_of(SIXTY))
    (tmp_path / "hostile.log").write_text("hostile 0\n")
    real, number = raw_file.open_raw, 0

    def opened(path: str) -> Any:
        nonlocal number
        number += 1
        (former,) = tmp_path.glob("hostile*")
        new = former.rename(tmp_path / f"hostile-{number}{'' if change == 'replaced' else '.log'}")
        if change == "replaced":
            (tmp_path / "hostile.log").write_text(f"hostile {number}\n")
            new.unlink()
        return real(path)

    monkeypatch.setattr(file_search, "open_raw", opened)
    source = line_source(tmp_path / "*.log")
    found = lines(list(source.poll()))
    monkeypatch.undo()
    assert [line for line in found if line in SIXTY] == SIXTY
    last = f"hostile {number if change == 'replaced' else 0}"
    assert found + lines(list(source.poll(final=True))) == [*SIXTY, last]


def test_a_copy_of_a_log_that_is_renamed_at_each_look_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "app.log"
    log.write_text(text_of(SIXTY[:50]))
    first = list(line_source(tmp_path / "*").poll())
    assert lines(first) == SIXTY[:50]
    log.write_text(text_of(SIXTY))
    (tmp_path / "copy").write_text(text_of(SIXTY))
    source = restarted(line_source(tmp_path / "*"), *first)
    real, number = raw_file.open_raw, 0

    def opened(path: str) -> Any:
        nonlocal number
        number += 1
        (former,) = tmp_path.glob("app*.log")
        former.rename(tmp_path / f"app-{number}.log")
        return real(path)

    monkeypatch.setattr(file_search, "open_raw", opened)
    found = lines(list(source.poll()))
    monkeypatch.undo()
    assert found + lines(list(source.poll())) == SIXTY[50:]
