"""The screen of the demo at any size, and what it says of events."""

from pathlib import Path

import pytest

from esewatch.cli.demo_events import LastEvents, event_line
from esewatch.cli.demo_screen import View, draw
from esewatch.cli.demo_stories import STORIES, Seen
from esewatch.model import Event

SEEN = [Seen(number % 2 == 0, f"figures {number}", "scanning now") for number in range(5)]
EVENTS = [f"03:14:{number:02}  healthy  700  defrag started" for number in range(50)]


def text(width: int, height: int, *, trouble: str = "", events: list[str] = EVENTS) -> list[str]:
    urls = [("status page", "http://127.0.0.1:19703/")]
    view = View(83.4, Path("/tmp/esewatch-demo-1"), urls, SEEN, events, trouble)
    return [line.text for line in draw(view, width, height)]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 60), (40, 12), (20, 5), (1, 1)])
def test_it_fits(width: int, height: int) -> None:
    lines = text(width, height)
    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)


def test_at_80_by_24_it_says_all_and_the_last_events() -> None:
    lines = text(80, 24)
    assert lines[0] == "esewatch demo  1:23  3 of 5 stories visible  Ctrl-C ends it"
    assert "  status page  http://127.0.0.1:19703/" in lines
    assert "  folder       /tmp/esewatch-demo-1" in lines
    for number, story in enumerate(STORIES):
        assert f"    see  {story.expect}" in lines
        assert f"    now  figures {number}" in lines
    assert "[x] healthy: the window fits  (scanning now)" in lines
    assert "[ ] too-long: the window is longer than it need be  (scanning now)" in lines
    assert lines[-1] == "  03:14:49  healthy  700  defrag started"
    assert len(lines) == 24


def test_a_high_screen_has_room_between_the_stories() -> None:
    lines = text(80, 40)
    assert lines[lines.index("[x] healthy: the window fits  (scanning now)") - 1] == ""
    assert len(lines) == 40


def test_a_low_screen_keeps_what_happens_now() -> None:
    lines = text(80, 15)
    assert [line for line in lines if line.startswith("    see")] == []
    assert [line for line in lines if line.startswith("    now")] == [
        f"    now  figures {number}" for number in range(5)
    ]


def test_no_expectation_of_a_story_is_cut_at_80_columns() -> None:
    assert [line for line in text(80, 60) if line.endswith("..")] == []


def test_an_agent_that_does_not_answer_is_said() -> None:
    assert "  the agent does not answer yet" in text(
        80, 24, trouble="the agent does not answer yet"
    )


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
    (tmp_path / "events.jsonl").write_text(
        '{"Event":{"System":{"Provider":{"#attributes":{"Name":"ESE"}},"EventID":700,'
        '"TimeCreated":{"#attributes":{"SystemTime":"2026-11-21T03:14:15.5Z"}},"Computer":"X"},'
        '"EventData":{"Data":{"#text":["store","1","a: ","/d/healthy.edb"]}}}}\n'
    )
    assert events.lines() == ["03:14:15  healthy       700  defrag started"]
    (tmp_path / "other.jsonl").write_bytes(b"\0\1\2" * 50)
    assert events.lines() == ["03:14:15  healthy       700  defrag started"]
    events.close()
