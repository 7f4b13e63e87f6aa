"""The screen of the demo at any size, and what it says of events."""

from collections.abc import Callable
from pathlib import Path

import pytest

from esewatch.cli.demo.screen import LastEvents, ScreenView, draw, event_line
from esewatch.cli.demo.stories import FORECAST, STORIES
from esewatch.model import Event

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


def test_an_event_is_one_line_that_cannot_move_the_cursor() -> None:
    done = Event(
        event_id=703, provider="ESE", time=1_182_395_655.5, task="defrag", stage="completed",
        database="C:\\x\\hea\x1b[2Jlthy.edb",
    )  # fmt: skip
    bad = Event(event_id=474, provider="ESE", time=1.0, database="/d/bad-page.edb")
    assert event_line(done) == "03:14:15  hea [2Jlthy   703  defrag completed"
    assert event_line(bad) == "00:00:01  bad-page      474  bad page: uncorrectable"
    assert event_line(Event(event_id=102, provider="ESE", ese_instance="SG1", level="error")) == (
        "          SG1           102  error"
    )


def test_events_are_followed_and_a_log_that_is_none_is_no_error(tmp_path: Path) -> None:
    events = LastEvents(tmp_path)
    assert events.lines() == []
    for computer in ("A", "B", "B/C"):
        (tmp_path / computer).mkdir()
    (tmp_path / "A" / "events.jsonl").write_text(
        '{"Event":{"System":{"Provider":{"#attributes":{"Name":"ESE"}},"EventID":700,'
        '"TimeCreated":{"#attributes":{"SystemTime":"2026-11-21T03:14:15.5Z"}},"Computer":"X"},'
        '"EventData":{"Data":{"#text":["store","1","a: ","/d/healthy.edb"]}}}}\n'
    )
    assert events.lines() == ["03:14:15  healthy       700  defrag started"]
    (tmp_path / "B" / "events.jsonl").write_bytes(b"\0\1\2" * 50)
    assert events.lines() == ["03:14:15  healthy       700  defrag started"]
    events.close()
