"""The log of the daemon where its file cannot be written: no line is lost, and no traceback."""

import contextlib
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from esewatch.cli.run.command import set_up_logging

log = logging.getLogger("esewatch")
FULL = Path("/dev/full")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    before = (root.handlers[:], root.level, logging.raiseExceptions)
    yield
    for handler in root.handlers:
        if handler not in before[0]:
            with contextlib.suppress(OSError):
                handler.close()
    root.handlers[:], root.level, logging.raiseExceptions = before


def messages(text: str) -> list[str]:
    return [json.loads(line)["msg"] for line in text.splitlines()]


def writes_to(handler: logging.Handler, path: Path) -> None:
    """Let the handler write there; /dev/full is a full disk."""
    assert isinstance(handler, logging.FileHandler)
    with contextlib.suppress(OSError):
        handler.close()
    handler.stream = path.open("a", encoding="utf-8")


def test_a_pipe_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "esewatch.log")
    with pytest.raises(OSError, match="it is a pipe, not a file"):
        set_up_logging("info", "json", str(tmp_path / "esewatch.log"))


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_what_a_full_disk_does_not_take_is_on_standard_error_with_one_line_that_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "esewatch.log"
    set_up_logging("info", "json", str(file))
    (handler,) = logging.getLogger().handlers
    log.info("before")
    writes_to(handler, FULL)

    log.info("one")
    log.info("two")

    assert messages(capsys.readouterr().err) == [
        f"{file}: No space left on device: the log goes to standard error meanwhile",
        "one",
        "two",
    ]
    writes_to(handler, file)
    log.info("after")
    writes_to(handler, FULL)
    log.info("full again")

    assert messages(file.read_text()) == ["before", "after"]
    assert len(messages(capsys.readouterr().err)) == 2


def test_a_full_file_whose_name_cannot_be_changed_grows_and_the_old_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows while another program has the file open."""
    file = tmp_path / "esewatch.log"
    old = {f"{file}.{number}": f"old {number}" for number in range(1, 6)}
    for name, text in old.items():
        Path(name).write_text(text)
    set_up_logging("info", "json", str(file))
    (handler,) = logging.getLogger().handlers
    handler.maxBytes = 200  # type: ignore[attr-defined]

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", refused)
        patched.setattr(os, "replace", refused)
        for number in range(5):
            log.info("line %d with some words more", number)

    written = messages(file.read_text())
    told = f"{file}: cannot be renamed, so it grows: Permission denied"
    assert [each for each in written if each != told] == [
        f"line {number} with some words more" for number in range(5)
    ]
    assert written.count(told) == 1
    assert {name: Path(name).read_text() for name in old} == old

    log.info("after")
    assert messages(file.read_text()) == ["after"]
    assert messages(Path(f"{file}.1").read_text()) == written
    assert Path(f"{file}.2").read_text() == "old 1"
    assert {path.name for path in tmp_path.iterdir()} == {
        file.name,
        *(f"{file.name}.{number}" for number in range(1, 6)),
    }


def test_a_file_that_cannot_be_renamed_grows_to_the_size_of_all_old_ones_and_no_line_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "esewatch.log"
    set_up_logging("info", "json", str(file))
    (handler,) = logging.getLogger().handlers
    handler.maxBytes = 500  # type: ignore[attr-defined]

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refused)
    lines = [f"line {number} with some words more" for number in range(60)]
    for line in lines:
        log.info(line)

    assert 2500 < file.stat().st_size < 3000
    error = messages(capsys.readouterr().err)
    assert error[0] == f"{file}: Permission denied: the log goes to standard error meanwhile"
    written = messages(file.read_text())
    assert [each for each in written if each.startswith("line")] + error[1:] == lines
