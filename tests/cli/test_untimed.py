"""`report` and `advise` of events without a time: what they say, and what is missing."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from esewatch.cli import main
from tests.expose.html import Page, assert_self_contained
from tests.support.ese_text import render

PRIV = "e:\\MDB06\\priv06.edb"
S703 = (
    "MSExchangeIS",
    "3392",
    "SG06: ",
    PRIV,
    "42794",
    "6/16/2007",
    "124919",
    "7",
    "4",
    "14",
    "73",
)
S474 = ("MSExchangeIS", "3392", "SG06: ", PRIV, "147456 (0x0000000000024000)", "8192 (0x00002000)",
        "-1018 (0xfffffc06)", "[1]", "[2]", "17 (0x11)")  # fmt: skip
TOLD = "42,794 pages freed, 34 h 42 min of work, 7 runs over 4 days"
TIME = "2007-06-21T03:14:15Z"


def logged(path: Path, *events: tuple[int, tuple[str, ...]], time: str = "") -> Path:
    """A file of events as JSON lines."""
    lines = []
    for event_id, strings in events:
        found: dict[str, Any] = {
            "MachineName": "EX01",
            "ProviderName": "ESE",
            "Id": event_id,
            "Properties": [{"Value": each} for each in strings],
        }
        lines.append(json.dumps(found | ({"TimeCreated": time} if time else {})))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def report(log: Path, expected: int = 0) -> Page:
    output = log.with_suffix(".html")
    assert main(["report", str(log), "-o", str(output)]) == expected
    page = Page(output.read_text(encoding="utf-8"))
    assert_self_contained(page)
    return page


def test_a_report_of_a_703_without_a_time_shows_its_figures(tmp_path: Path) -> None:
    text = report(logged(tmp_path / "log.jsonl", (703, S703)), 1).text

    assert "No bad page is known in 1 database on 1 computer." in text
    assert "1 event has no time." in text
    assert f"Last defrag time not known {TOLD}" in text
    assert "Defrag 0 started, 1 completed, 0 interrupted, 0 failed" in text
    assert "Events from" not in text
    assert " Seen " not in text
    assert "The events have" not in text


def test_a_report_of_a_rendered_text_alone_names_the_database(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(render(703, S703) + "\n", encoding="utf-8")
    output = tmp_path / "report.html"
    # No age and no advice follows from an event without a time: that needs a person.
    assert main(["report", str(log), "--computer", "EX01", "-o", str(output)]) == 1
    text = Page(output.read_text(encoding="utf-8")).text
    assert "SG06 on ex01" in text
    assert TOLD in text


def test_a_bad_page_without_a_time_is_a_bad_page_since_nobody_knows_when(tmp_path: Path) -> None:
    text = report(logged(tmp_path / "log.jsonl", (703, S703), (474, S474)), 1).text

    assert "1 of 1 database has bad pages: SG06 on ex01." in text
    assert "2 events have no time." in text
    today = r"time unknown, read \d+ \w+ \d{4}"
    assert re.search(rf"Page 17 of priv06.edb is bad \(checksum, not correctable\), {today}", text)
    assert re.search(rf"Page What First Last 17 checksum, not correctable; {today} – –", text)
    assert "No completed pass in" not in text


def test_a_lone_703_is_an_end_with_figures(tmp_path: Path) -> None:
    text = report(logged(tmp_path / "log.jsonl", (703, S703), time=TIME)).text

    assert f"Last defrag 2007-06-21 03:14 {TOLD}" in text
    assert (
        f"completed at 2007-06-21 03:14 UTC ({TOLD}), but the events do not have its start" in text
    )
    assert "have no time" not in text and "has no time" not in text


def test_advise_says_that_the_times_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["advise", "--format", "json", str(logged(tmp_path / "log.jsonl", (703, S703)))])
    out, err = capsys.readouterr()
    (found,) = map(json.loads, out.splitlines())
    assert found["reasons"][0] == (
        f"Online defragmentation completed ({TOLD}), but its events have no time."
    )
    assert "ex01 as of now: its events have no time" in err


def test_a_store_of_2007_with_its_scan_has_it_in_the_window(tmp_path: Path) -> None:
    scanned = (
        "MSExchangeIS",
        "3392",
        "SG06: ",
        PRIV,
        "6/19/2007",
        "208",
        "2",
        "1",
        "5850768",
        "0",
        "9",
    )
    log = logged(tmp_path / "log.jsonl", (703, S703), (721, scanned), time=TIME)
    text = report(log).text

    assert "Its database scan, which reads every page, runs in the same window." in text
    assert "in the background" not in text
    assert (
        "Last checksum 2007-06-21 03:14 5,850,768 pages seen, 0 bad checksums, 3 min of work"
        in text
    )
