"""The stories of the demo, each judged by the agent's output alone. A story that was seen once
stays seen: see `Told`."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from eselab.demo.agent import Figures, Key
from eselab.demo.servers import (
    ACTIVE,
    BACKUP,
    BAD,
    CONTROLLER,
    DIRECTORY,
    GROW,
    KEEP,
    MAIL,
    MAIL2,
    NIGHTLY,
    PAIR,
    PASSIVE,
    SHRINK,
    TOGETHER,
)

Look = Mapping[Key, Figures]
_SLACK: Final = timedelta(seconds=60)
"""A date this much later than the p90 is still in time: the page shows minutes."""


class Story(NamedTuple):
    """The story of a database, the place on its page to look at, and whether it can be seen yet."""

    database: str
    computer: str
    title: str
    look_at: str
    judge: Callable[[Figures, Look], bool]

    @property
    def key(self) -> Key:
        return self.computer.lower(), self.database


def _together(mine: Figures, look: Look) -> bool:
    both = [look.get((MAIL2.lower(), name)) or Figures() for name in TOGETHER]
    return all(
        "scans_collide" in each.findings and "scan it from" in each.sentence for each in both
    )


def _pair(mine: Figures, look: Look) -> bool:
    passive = look.get((PASSIVE.lower(), PAIR)) or Figures()
    late = passive.findings & {"never_verified", "verification_overdue"}
    return mine.model == passive.model == "background" and mine.verified and bool(late)


STORIES: Final = (
    Story(SHRINK, MAIL, "the window can shrink", "over 100 pages read for one freed",
        lambda mine, _: mine.action == "shrink" and (mine.ratio or 0.0) > 100),
    Story(KEEP, MAIL, "the window fits", "50 to 100 pages read for one freed",
        lambda mine, _: mine.action == "keep" and 50 <= (mine.ratio or 0.0) <= 100),
    Story(GROW, MAIL, "the window must grow", "under 50 pages read for one freed",
        lambda mine, _: mine.action == "grow" and (mine.ratio or 1e9) < 50),
    Story(NIGHTLY, MAIL, "done every night", "each night full, half of the window unused",
        lambda mine, _: mine.action == "shrink" and 50 <= (mine.ratio or 0.0) <= 100),
    Story(TOGETHER[0], MAIL2, "two scans on one disk", "the hour to move one to", _together),
    Story(BACKUP, MAIL2, "a backup in the window", "what stopped the passes",
        lambda mine, _: mine.action == "move" and "backup_overlaps" in mine.findings),
    Story(BAD, MAIL2, "a bit flips", "the scan finds it: a corrected page",
        lambda mine, _: bool(mine.bad_pages.get("corrected"))),
    Story(BAD, MAIL2, "a page is lost", "the page turns red: a known bad page",
        lambda mine, _: bool(mine.bad_pages.get("uncorrectable"))),
    Story(DIRECTORY, CONTROLLER, "a domain controller", "no window, no advice on one",
        lambda mine, _: mine.model == "garbage_collection" and mine.action == "not_applicable"),
    Story(PAIR, ACTIVE, "a current Exchange pair", f"the copy on {PASSIVE} is late", _pair),
)  # fmt: skip

FORECAST: Final = "a pass ends as it was forecast"


class StoryTold:
    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.forecast = ""
        """The part of a forecast to be seen, or that was seen."""
        self._expected: dict[Key, tuple[str, str]] = {}
        """By database at work: when its last scan was done, and when this one should be."""

    @property
    def missing(self) -> list[str]:
        """Titles of stories not seen yet."""
        return [title for title in (*(each.title for each in STORIES), FORECAST)
                if title not in self.seen]  # fmt: skip

    def take(self, look: Look) -> None:
        for story in STORIES:
            mine = look.get(story.key)
            if mine is not None and story.judge(mine, look):
                self.seen.add(story.title)
        for key, mine in look.items():
            self._take_forecast(key, mine)

    def _take_forecast(self, key: Key, mine: Figures) -> None:
        """A scan: its pace is even, so that its end is known to the minute."""
        expected = self._expected.get(key)
        if expected is not None and mine.scanned and mine.scanned != expected[0]:
            del self._expected[key]
            in_time = _time(mine.scanned) <= _time(expected[1]) + _SLACK
            if FORECAST not in self.seen and in_time:
                self.seen.add(FORECAST)
                self.forecast = (
                    f"the scan of {key[1]} was done at {mine.scanned[11:19]}, "
                    f"forecast by {expected[1][11:19]} UTC"
                )
        elif (
            "checksum" in mine.running
            and (forecast := mine.forecast)
            and forecast.task == "checksum"
            and forecast.p90
        ):
            self._expected[key] = mine.scanned, forecast.p90
            if FORECAST not in self.seen:
                (_, name), (_, by) = min(self._expected.items(), key=lambda item: item[1][1])
                self.forecast = f"the scan of {name} is expected to complete by {by[11:19]} UTC"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
