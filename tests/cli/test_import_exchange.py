"""`esewatch config import-exchange`: what is printed where."""

import io
import json
import sys
from pathlib import Path

import pytest

from esewatch.cli import main

EXAMPLE = Path(__file__).parents[1] / "config" / "exchange" / "remote-2010.json"


def test_the_yaml_is_printed_and_the_remarks_go_to_stderr(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["config", "import-exchange", str(EXAMPLE), "--timezone", "Europe/Berlin"]) == 0

    out, err = capsys.readouterr()
    assert len(err.splitlines()) == 3
    assert all(line.startswith(f"esewatch: {EXAMPLE}: ") for line in err.splitlines())
    file = tmp_path / "esewatch.yml"
    file.write_text("sources: [{type: evtx, path: /logs/*.evtx}]\n" + out, encoding="utf-8")
    assert main(["config", "check", "--config.file", str(file)]) == 0
    assert "1 sources, 2 windows, 5 database rules" in capsys.readouterr().out


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_every_encoding_of_powershell_is_read(
    encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    databases = [{"Name": "Köln", "EdbFilePath": "E:\\Köln.edb", "Server": "EX01"}]
    file = tmp_path / "databases.json"
    file.write_bytes(json.dumps(databases, ensure_ascii=False).encode(encoding))

    assert main(["config", "import-exchange", str(file)]) == 0

    assert "name: Köln" in capsys.readouterr().out


def test_stdin_is_read_without_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(EXAMPLE.read_bytes())))

    assert main(["config", "import-exchange"]) == 0

    out, err = capsys.readouterr()
    assert "timezone: UTC" in out
    assert "--timezone" in err
    assert err.startswith("esewatch: stdin: ")


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b'{"Name": "\x84"}', b"{}", b"<Objs/>"])
def test_what_cannot_be_read_is_one_line_and_status_2(
    data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "databases.json"
    file.write_bytes(data)

    assert main(["config", "import-exchange", str(file)]) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert str(file) in err


def test_a_file_that_is_missing_or_too_large_is_one_line_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate((16 << 20) + 1)

    for path in (tmp_path / "missing.json", tmp_path, huge):
        assert main(["config", "import-exchange", str(path)]) == 2
        err = capsys.readouterr().err
        assert len(err.splitlines()) == 1
        assert str(path) in err
