"""When a story of the demo is visible: by the agent's figures, and by nothing less."""

import msgspec
import pytest

from esewatch.cli.demo_agent import Figures, put_together
from esewatch.cli.demo_stories import STORIES, Look, judge
from esewatch.config import default_settings
from esewatch.expose.metrics import Snapshot, families
from esewatch.expose.overview import overview
from esewatch.expose.overview_json import overview_json
from esewatch.expose.ratio import Ratio, Verdict
from tests.expose.examples import NOW, example


def ratio(verdict: Verdict, value: float | None) -> Ratio:
    return Ratio(verdict=verdict, sentence="", pages_read=7000, pages_freed=1, value=value)


def scanned(pages: float, seconds: float) -> Figures:
    """Two scans of so many pages each, the last one in so many seconds, and one defrag pass."""
    return Figures(
        completed={"defrag": 1, "checksum": 2},
        pages_seen={"checksum": 2 * pages},
        work_seconds={"checksum": seconds},
    )


def all_visible() -> dict[str, Figures]:
    healthy, shared = scanned(2000, 2), scanned(2000, 8)
    return {
        "healthy": msgspec.structs.replace(healthy, ratio=ratio("within", 70), verified=True),
        "too-long": Figures(ratio=ratio("above", 300), completed={"defrag": 3}),
        "too-short": Figures(ratio=ratio("below", 12), interrupted={"defrag": 2}),
        "shared-disk": msgspec.structs.replace(shared, collisions=["bad-page"]),
        "bad-page": Figures(page_errors={"corrected": 1}, bad_pages={"uncorrectable": 1}),
    }


def visible(look: Look) -> dict[str, bool]:
    return {story.database: seen.visible for story, seen in zip(STORIES, judge(look), strict=True)}


def test_all_stories_are_visible_at_once() -> None:
    assert set(visible(all_visible()).values()) == {True}


def test_without_any_figure_no_story_is_visible() -> None:
    assert set(visible({}).values()) == {False}
    assert all(seen.now for seen in judge({}))


@pytest.mark.parametrize(
    ("database", "changes"),
    [
        ("healthy", {"ratio": ratio("above", 120)}),
        ("healthy", {"ratio": ratio("below", 20)}),
        ("healthy", {"verified": False}),
        ("healthy", {"completed": {"checksum": 2}}),
        ("healthy", {"bad_pages": {"corrected": 1}}),
        ("too-long", {"ratio": ratio("within", 99)}),
        ("too-long", {"completed": {}}),
        ("too-short", {"ratio": ratio("within", 50)}),
        ("too-short", {"interrupted": {"defrag": 1}}),
        ("too-short", {"completed": {"defrag": 1}}),
        ("too-short", {"completed": {"checksum": 1}}),
        ("too-short", {"verified": True}),
        ("shared-disk", {"collisions": []}),
        ("shared-disk", {"work_seconds": {"checksum": 2.5}}),
        ("shared-disk", {"completed": {}}),
        ("bad-page", {"page_errors": {"checksum": 1}}),
        ("bad-page", {"bad_pages": {"corrected": 1}}),
    ],
)
def test_a_story_wants_all_of_its_figures(database: str, changes: dict[str, object]) -> None:
    look = all_visible()
    look[database] = msgspec.structs.replace(look[database], **changes)
    assert visible(look) == {story.database: story.database != database for story in STORIES}


def test_nothing_left_to_free_is_a_window_too_long() -> None:
    look = all_visible()
    look["too-long"].ratio = ratio("above", None)
    assert visible(look)["too-long"]
    assert judge(look)[1].now.startswith("7,000 pages read, none freed")


@pytest.mark.parametrize(("value", "text"), [(6.991, "6.99"), (70.0, "70"), (1716.4, "1,716")])
def test_a_ratio_is_short(value: float, text: str) -> None:
    look = all_visible()
    look["healthy"].ratio = ratio("within", value)
    assert judge(look)[0].now.startswith(f"{text} pages read for 1 freed; ")


def test_what_is_done_now_is_told() -> None:
    look = all_visible()
    look["healthy"].running = ["defrag"]
    look["too-long"].running = ["checksum"]
    assert [seen.work for seen in judge(look)[:3]] == ["defragmenting now", "scanning now", ""]


def test_a_scan_of_less_than_a_second_has_a_rate() -> None:
    assert scanned(2000, 0).scan_rate() == 2000
    assert scanned(2000, 4).scan_rate() == 500
    assert Figures().scan_rate() is None


def test_the_figures_are_those_of_the_pages_and_metrics_of_the_agent() -> None:
    state, settings = example(), default_settings()
    databases = overview_json(overview(state, settings, NOW))
    text, _, _ = Snapshot(tuple(families(state, settings, NOW))).render("text/plain")
    found = put_together(databases, text.decode())
    assert found["SG03"].bad_pages == {"corrected": 1, "lost_flush": 1, "uncorrectable": 2}
    assert found["SG03"].page_errors == {
        "checksum": 3, "corrected": 1, "lost_flush": 1, "no_data": 0, "wrong_page": 0, "logical": 0,
    }  # fmt: skip
    assert found["SG06"].ratio.verdict == "above"
    assert found["SG06"].verified
    assert found["SG06"].completed["defrag"] == 2
    assert found["SG06"].interrupted["defrag"] == 18
    assert found["SG06"].work_seconds["checksum"] == 208
