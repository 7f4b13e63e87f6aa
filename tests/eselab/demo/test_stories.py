"""Each story is seen by what the agent says of it, and by nothing else."""

import msgspec
import pytest

from eselab.demo.agent import Figures, ShownForecast
from eselab.demo.servers import BAD, MAIL2, NIGHTLY, PAIR, TOGETHER, servers
from eselab.demo.stories import FORECAST, STORIES, StoryTold

COLLIDE = Figures(
    findings=frozenset({"scans_collide"}), sentence="scan it from 01:00 to 02:00 instead."
)
RIGHT = {
    ("mail01", "shrink"): Figures(action="shrink", ratio=150.0),
    ("mail01", "keep"): Figures(action="keep", ratio=70.0),
    ("mail01", "grow"): Figures(action="grow", ratio=20.0),
    ("mail01", "nightly"): Figures(action="shrink", ratio=70.0),
    **{("mail02", name): COLLIDE for name in TOGETHER},
    ("mail02", "backup"): Figures(action="move", findings=frozenset({"backup_overlaps"})),
    ("mail02", "bad-page"): Figures(bad_pages={"corrected": 1, "uncorrectable": 1}),
    ("dc01", "NTDSA"): Figures(model="garbage_collection", action="not_applicable"),
    ("ex01", PAIR): Figures(model="background", verified=True),
    ("ex02", PAIR): Figures(model="background", findings=frozenset({"never_verified"})),
}


def test_all_are_seen_where_the_agent_says_them_and_stay_seen() -> None:
    told = StoryTold()
    told.take(RIGHT)
    assert told.missing == [FORECAST]
    told.take({})
    assert told.missing == [FORECAST]


@pytest.mark.parametrize(
    ("key", "wrong", "missing"),
    [
        (("mail01", "shrink"), {"ratio": 99.0}, {"the window can shrink"}),
        (("mail01", "shrink"), {"action": "keep"}, {"the window can shrink"}),
        (("mail01", "keep"), {"ratio": 101.0}, {"the window fits"}),
        (("mail01", "grow"), {"ratio": None}, {"the window must grow"}),
        (("mail01", "nightly"), {"action": "keep"}, {"done every night"}),
        (("mail02", TOGETHER[1]), {"findings": frozenset()}, {"two scans on one disk"}),
        (("mail02", TOGETHER[1]), {"sentence": "."}, {"two scans on one disk"}),
        (("mail02", "backup"), {"action": "grow"}, {"a backup in the window"}),
        (("mail02", "bad-page"), {"bad_pages": {"corrected": 1}}, {"a page is lost"}),
        (("mail02", "bad-page"), {"bad_pages": {}}, {"a bit flips", "a page is lost"}),
        (("dc01", "NTDSA"), {"action": "grow"}, {"a domain controller"}),
        (("ex01", PAIR), {"verified": False}, {"a current Exchange pair"}),
        (("ex02", PAIR), {"findings": frozenset()}, {"a current Exchange pair"}),
    ],
)
def test_a_story_that_is_told_otherwise_is_missing(
    key: tuple[str, str], wrong: dict[str, object], missing: set[str]
) -> None:
    told = StoryTold()
    told.take({**RIGHT, key: msgspec.structs.replace(RIGHT[key], **wrong)})
    assert set(told.missing) == {*missing, FORECAST}


def at_work(done: str, *, running: bool = True, by: str = "2026-11-22T01:00:00.000Z") -> Figures:
    return Figures(
        running=["checksum"] if running else [],
        scanned=done,
        forecast=ShownForecast("checksum", by),
    )


BEFORE, IN_TIME, LATE = (
    "2026-11-21T01:00:00.5Z",
    "2026-11-22T01:00:59.5Z",
    "2026-11-22T01:02:00.0Z",
)


@pytest.mark.parametrize(
    ("done", "seen"), [(IN_TIME, True), (LATE, False), (BEFORE, False)]
)  # fmt: skip
def test_a_scan_that_is_done_by_its_forecast_is_seen(done: str, seen: bool) -> None:
    key = ("mail01", NIGHTLY)
    told = StoryTold()
    told.take({key: at_work(BEFORE)})
    assert told.forecast == f"the scan of {NIGHTLY} is expected to complete by 01:00:00 UTC"
    told.take({key: at_work(done, running=False)})
    assert (FORECAST in told.seen) is seen
    if seen:
        assert told.forecast == (
            f"the scan of {NIGHTLY} was done at 01:00:59, forecast by 01:00:00 UTC"
        )


def test_a_scan_of_which_no_forecast_was_seen_is_none() -> None:
    told = StoryTold()
    told.take({("mail02", BAD): at_work(BEFORE, running=False)})
    told.take({("mail02", BAD): at_work(IN_TIME, running=False)})
    assert FORECAST not in told.seen


def test_a_scan_whose_end_cannot_be_told_is_not_the_one_to_wait_for() -> None:
    told = StoryTold()
    told.take({("ex02", PAIR): at_work(BEFORE, by=""), ("mail01", NIGHTLY): at_work(BEFORE)})
    assert told.forecast == f"the scan of {NIGHTLY} is expected to complete by 01:00:00 UTC"
    told.take({("ex02", PAIR): at_work(LATE, running=False)})
    assert FORECAST not in told.seen


def test_the_stories_are_of_databases_that_are_there() -> None:
    there = {
        (server.computer.lower(), each["name"])
        for server in servers(0.0)
        for each in server.plan["databases"]
    }
    assert {story.key for story in STORIES} <= there
    assert (MAIL2.lower(), TOGETHER[1]) in there
