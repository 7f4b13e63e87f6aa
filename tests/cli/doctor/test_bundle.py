"""`doctor --bundle`: what it shows and writes, and what it must not have."""

import json
import os
import stat
from pathlib import Path

import pytest

from esewatch.cli import main
from esewatch.cli.doctor import bundle
from esewatch.config import LogFiles, PageScan, Settings, SourceSettings
from esewatch.model import Event

SECTIONS = ["[versions]", "[settings]", "[doctor]", "[counts]", "[log]", "[records]"]
STRINGS = ["MSExchangeIS", "5960,D,50", "SG06: ", "E:\\Müller\\priv06.edb", "-1018 (0xfffffc06)"]
SECRETS = ("bob", "hunter2")


@pytest.fixture(name="configured")
def _configured(tmp_path: Path) -> list[str]:
    """`doctor` with the log of a computer, and a client of Kafka that has a login."""
    record = {
        "event_id": 700,
        "provider": "ESE",
        "computer": "EX01.corp.example",
        "channel": "Application",
        "time": "2026-11-01T02:00:00Z",
        "strings": STRINGS,
    }
    (tmp_path / "log.jsonl").write_text(json.dumps(record) + "\n" + json.dumps(record) + "\n")
    (tmp_path / "esewatch.yml").write_text(
        "sources:\n"
        "  - {type: event_stream, path: log.jsonl}\n"
        "  - {type: kafka, name: k, brokers: [b:9092], group: g, topics: [t],\n"
        "     client: {sasl.username: bob, sasl.mechanism: hunter2}}\n"
        f"journal: {tmp_path}/journal.db\n"
    )
    return ["doctor", "--config.file", str(tmp_path / "esewatch.yml")]


def test_what_is_shown_is_written_for_its_owner_alone(
    configured: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = tmp_path / "report.txt"

    assert main([*configured, "--bundle", str(to)]) == 0

    text = to.read_text(encoding="utf-8")
    assert text == capsys.readouterr().out
    assert [line for line in text.splitlines() if line.startswith("[")] == SECTIONS
    assert os.name == "nt" or stat.S_IMODE(to.stat().st_mode) == 0o600
    assert main([*configured, "--bundle", str(to)]) == 2
    assert "report.txt: not written: File exists" in capsys.readouterr().err


def test_it_has_no_login_no_computer_and_no_letter_of_what_was_logged(
    configured: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*configured, "--bundle", "-"]) == 0
    text = capsys.readouterr().out

    records = text.partition("[records]\n")[2].splitlines()
    (record,) = (json.loads(line) for line in records if line.startswith("{"))
    assert record["strings"] == [
        *("xxxxxxxxxxxx", "5960,x,50", "xx06: ", "x:\\xxxxxx\\xxxx06.xxx", "-1018 (0xfffffc06)")
    ]
    assert (record["computer"], record["event_id"]) == ("computer1", 700)
    assert "ex01" not in text.lower()
    assert "corp.example" not in text
    assert not [secret for secret in SECRETS if secret in text]
    assert "    sasl.username: ...\n" in text


def test_a_wrong_configuration_is_told_and_nothing_is_shown_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "esewatch.yml"
    file.write_text("sources: [{type: evtx, password: hunter2}]\n")

    assert main(["doctor", "--config.file", str(file), "--bundle", "-"]) == 0
    text = capsys.readouterr().out
    assert "[settings]\ncannot be read\n" in text
    assert "configuration_wrong" in text
    assert "hunter2" not in text.partition("[doctor]")[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("EX01 and ex01.corp.example", "computer1 and computer1"),
        ("ex010 myex01 ex01-old", "ex010 myex01 ex01-old"),
        ("\\\\ex01\\logs, ex01:80, ex02", "\\\\computer1\\logs, computer1:80, computer2"),
    ],
)
def test_a_name_is_replaced_where_it_stands_by_itself(text: str, said: str) -> None:
    assert bundle.without_names(text, ["ex01", "ex02"]) == said


def test_what_no_terminal_prints_is_no_part_of_a_record() -> None:
    event = Event(474, "ESE", strings=("\udc80\x1b[2J", "Ä1"))
    assert json.loads(bundle.redacted(event))["strings"] == ["\udc80\x1b[2x", "x1"]


def test_no_page_scan_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(bundle, "build_source", lambda entry, _: asked.append(entry.name))
    sources: list[SourceSettings] = [
        PageScan(name="pages", type="page_scan", paths=["/snap/*.edb"]),
        LogFiles(name="logs", type="evtx", paths=["/srv/*.evtx"]),
    ]

    said = list(bundle.sample(Settings(sources=sources)))

    assert asked == ["logs"]
    assert [line.partition(":")[0] for line in said] == ["source logs"]
