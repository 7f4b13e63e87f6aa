"""The screen of the demo at any size, and what it says of events."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from eselab.demo.screen import ScreenView, draw, last_events
from eselab.demo.stories import FORECAST, STORIES

EVENTS = [f"03:14:{number:02}  keep  700  defrag started" for number in range(50)]
SENTENCE = "All 2,081 pages verified 21 November by online scan; 0 bad; window 1 h, advice keep."


def text(
    width: int,
    height: int,
    *,
    past: float = 1.0,
    said: str = "",
    seen: int = 3,
    sentence: Callable[[int], str] = lambda _: SENTENCE * 3,
    elapsed: float = 83.4,
    urls: int = 1,
) -> list[str]:
    """`seen`: so many stories, the first ones; `sentence` of each, by its number."""
    named = [("status page", "http://127.0.0.1:19703/")] * urls
    titles = [*(story.title for story in STORIES), FORECAST]
    sentences = [sentence(number) for number in range(len(STORIES))]
    view = ScreenView(
        elapsed, Path("/tmp/demo-1"), named, past, set(titles[:seen]), sentences,
        "the scan of x", EVENTS, said,
    )  # fmt: skip
    return [line.text for line in draw(view, width, height)]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 60), (40, 12), (20, 5), (1, 1)])
def test_it_fits(width: int, height: int) -> None:
    lines = text(width, height)
    assert 0 < len(lines) <= height
    assert all(len(line) <= width for line in lines)


def test_it_says_all_stories_what_the_pages_say_and_the_last_events() -> None:
    lines = text(100, 60)
    assert lines[0] == f"esewatch demo  1:23  3 of {len(STORIES) + 1} stories seen"
    assert "  status page  http://127.0.0.1:19703/" in lines
    assert "  folder       /tmp/demo-1" in lines
    signs = [line[:3] for line in lines if line.startswith("[")]
    assert signs == ["[x]"] * 3 + ["[ ]"] * (len(STORIES) - 2)
    told = [line for line in lines if line.startswith(f"    {SENTENCE[:60]}")]
    assert len(told) == len(STORIES)
    assert f"[ ] {FORECAST}" in lines
    assert "    the scan of x" in lines
    assert any("f flip bit" in line and "q end" in line for line in lines)
    assert lines[-1] == "  03:14:49  keep  700  defrag started"


def test_on_a_small_screen_every_story_has_its_line() -> None:
    lines = text(80, 24)
    assert len([line for line in lines if line.startswith("[")]) == len(STORIES) + 1
    assert lines[-1] == "  03:14:49  keep  700  defrag started"


def numbered(number: int) -> str:
    return " ".join([f"({number})", *(f"word{place}" for place in range(40))])


@pytest.mark.parametrize("urls", [2, 4])
def test_on_a_small_screen_the_story_under_work_has_its_whole_sentence(urls: int) -> None:
    lines = text(80, 24, sentence=numbered, urls=urls, said="a bit was flipped")
    begin = next(place for place, line in enumerate(lines) if line.startswith("    (3) "))
    assert lines[begin - 1].startswith(f"[ ] {STORIES[3].database} on ")
    told = [line for line in lines if line.startswith("    ") and "word" in line]
    assert told == lines[begin : begin + len(told)]
    assert " ".join(line.strip() for line in told) == numbered(3)
    assert len([line for line in lines if line.startswith("[")]) == len(STORIES) + 1


def test_a_story_that_cannot_be_told_yet_is_not_the_one_under_work() -> None:
    lines = text(80, 24, sentence=lambda number: "" if number == 3 else numbered(number))
    assert any(line.startswith("    (4) ") for line in lines)


def test_on_a_small_screen_each_has_its_turn_when_all_were_seen() -> None:
    everything = len(STORIES) + 1
    shown = [
        line.strip().partition(" ")[0]
        for second in range(0, 60 * everything, 2)
        for line in text(80, 24, sentence=numbered, seen=everything, elapsed=float(second))
        if line.startswith("    ")
    ]
    told = [each for each in dict.fromkeys(shown) if not each.startswith("word")]
    assert sorted(told) == sorted([*(f"({number})" for number in range(len(STORIES))), "the"])


def test_on_a_screen_too_low_for_all_stories_the_one_under_work_is_there() -> None:
    lines = text(80, 12, sentence=numbered, seen=8)
    assert any(line.startswith("    (8) ") for line in lines)


def test_while_the_past_is_lived_through_it_shows_how_far_it_is() -> None:
    lines = text(80, 24, past=0.25)
    bar = "#" * 10 + "." * 30
    assert f"  30 nights first: [{bar}] 25%" in lines
    assert not any("f flip" in line for line in lines)


def test_what_a_key_did_is_said() -> None:
    assert "  the agent was stopped" in text(80, 24, said="the agent was stopped")


def line(time: str, event_id: int, *strings: str, database: str = "/d/keep.edb") -> bytes:
    """An event as the engine logs it; `time` of day, UTC."""
    system = {
        "Provider": {"#attributes": {"Name": "ESE"}},
        "EventID": event_id,
        "TimeCreated": {"#attributes": {"SystemTime": f"2026-11-21T{time}.500000Z"}},
    }
    text = ["store", "1", "SG1: ", *([database] if database else []), *strings]
    event = {"Event": {"System": system, "EventData": {"Data": {"#text": text}}}}
    return json.dumps(event).encode() + b"\n"


def test_the_last_hour_of_all_logs_is_shown_in_order(tmp_path: Path) -> None:
    assert last_events(tmp_path) == []
    for computer in ("A", "B", "B/C"):
        (tmp_path / computer).mkdir()
    begun = [line("01:59:59", 700), line("03:14:15", 703)]
    (tmp_path / "A" / "events.jsonl").write_bytes(b"".join(begun))
    (tmp_path / "B" / "events.jsonl").write_bytes(line("03:14:16", 474, "8192 (0x2000)"))
    flipped = line("02:50:00", 399, database="/d/bad-page.edb")
    (tmp_path / "B" / "C" / "events.jsonl").write_bytes(flipped)
    assert last_events(tmp_path) == [
        "02:50:00  bad-page      399  bad page: corrected",
        "03:14:15  keep          703  defrag completed",
        "03:14:16  keep          474  bad page: uncorrectable",
    ]


def test_of_an_event_without_database_the_instance_is_shown(tmp_path: Path) -> None:
    (tmp_path / "A").mkdir()
    (tmp_path / "A" / "events.jsonl").write_bytes(line("03:14:15", 102, database=""))
    assert last_events(tmp_path) == ["03:14:15  SG1           102  information"]


def test_of_a_long_log_the_end_is_read_and_half_a_line_is_no_event(tmp_path: Path) -> None:
    (tmp_path / "A").mkdir()
    many = b"".join(line(f"03:{number // 60:02}:{number % 60:02}", 700) for number in range(1000))
    (tmp_path / "A" / "events.jsonl").write_bytes(many + line("03:59:00", 703)[:60])
    shown = last_events(tmp_path)
    assert shown[-1] == "03:16:39  keep          700  defrag started"
    assert 20 < len(shown) < 100
