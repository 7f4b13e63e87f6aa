"""The five stories of the demo, each judged by the agent's figures alone."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from esewatch.cli.demo_agent import Figures
from esewatch.cli.demo_configuration import BAD_PAGE, HEALTHY, SHARED_DISK, TOO_LONG, TOO_SHORT
from esewatch.expose.words import plural

SLOW = 0.75
"""A scan below this share of the healthy one's rate is held up: two on a device have half each."""

Look = Mapping[str, Figures]
_TASKS = {"defrag": "defragmenting", "checksum": "scanning", "zeroing": "zeroing"}


class Seen(NamedTuple):
    """Whether a story can be seen now, by what, and what is done to its database."""

    visible: bool
    now: str
    work: str = ""
    """Maintenance at work, empty when none is."""


class Story(NamedTuple):
    """One database of the demo: what it stands for, what is to be seen, how that is judged."""

    database: str
    title: str
    expect: str
    judge: Callable[[Look], Seen]


def _figures(look: Look, name: str) -> Figures:
    return look.get(name) or Figures()


def _seen(figures: Figures, visible: bool, *parts: str) -> Seen:
    work = [f"{_TASKS[task]} now" for task in figures.running if task in _TASKS]
    return Seen(visible, "; ".join(part for part in parts if part), ", ".join(work))


def _ratio(figures: Figures) -> str:
    ratio = figures.ratio
    if ratio.verdict == "none":
        return "no ratio yet"
    if ratio.value is None:
        return f"{ratio.pages_read or 0:,} pages read, none freed"
    value = f"{ratio.value:,.0f}" if ratio.value >= 100 else f"{ratio.value:.3g}"
    return f"{value} pages read for 1 freed"


def _passes(figures: Figures) -> str:
    return f"{plural(round(figures.completed.get('defrag', 0)), 'defrag pass', 'defrag passes')}"


def _verified(figures: Figures) -> str:
    return "verified" if figures.verified else "not verified"


def _healthy(look: Look) -> Seen:
    mine = _figures(look, HEALTHY)
    complete = bool(mine.completed.get("defrag")) and mine.verified
    visible = mine.ratio.verdict == "within" and complete and not mine.bad_pages
    return _seen(mine, visible, _ratio(mine), f"{_passes(mine)} done", _verified(mine))


def _too_long(look: Look) -> Seen:
    mine = _figures(look, TOO_LONG)
    visible = mine.ratio.verdict == "above" and bool(mine.completed.get("defrag"))
    return _seen(mine, visible, _ratio(mine), f"{_passes(mine)} done")


def _too_short(look: Look) -> Seen:
    mine = _figures(look, TOO_SHORT)
    interrupted = round(mine.interrupted.get("defrag", 0))
    done = sum(mine.completed.values())
    visible = mine.ratio.verdict == "below" and interrupted >= 2 and not done and not mine.verified
    passes = f"interrupted {plural(interrupted, 'time')}"
    return _seen(mine, visible, _ratio(mine), passes, _verified(mine))


def _shared_disk(look: Look) -> Seen:
    mine, healthy = _figures(look, SHARED_DISK), _figures(look, HEALTHY)
    rate, free = mine.scan_rate(), healthy.scan_rate()
    slow = rate is not None and free is not None and rate < SLOW * free
    beside = "no scan at the same time yet"
    if mine.collisions:
        beside = f"scanned together with {', '.join(mine.collisions)}"
    speeds = []
    if rate is not None:
        speeds.append(f"{rate:,.0f} pages/s")
    if rate is not None and free is not None:
        speeds.append(f"{HEALTHY} {free:,.0f}")
    return _seen(mine, slow and bool(mine.collisions), beside, ", ".join(speeds))


def _bad_page(look: Look) -> Seen:
    mine = _figures(look, BAD_PAGE)
    corrected = round(mine.page_errors.get("corrected", 0))
    lost = mine.bad_pages.get("uncorrectable", 0)
    first = f"a flipped bit, corrected {plural(corrected, 'time')}" if corrected else ""
    later = f"{plural(lost, 'page')} not correctable" if lost else "no page is lost yet"
    return _seen(mine, bool(corrected and lost), first, later)


STORIES = (
    Story(
        HEALTHY,
        "the window fits",
        "50 to 100 pages read for 1 freed; passes end; every page verified",
        _healthy,
    ),
    Story(
        TOO_LONG,
        "the window is longer than it need be",
        "more than 100 pages read for 1 freed: little is left to free",
        _too_long,
    ),
    Story(
        TOO_SHORT,
        "the window is too short",
        "under 50 for 1; interrupted in each window; never done or verified",
        _too_short,
    ),
    Story(
        SHARED_DISK,
        "shares its device with bad-page",
        f"both are scanned at the same time, each far slower than {HEALTHY}",
        _shared_disk,
    ),
    Story(
        BAD_PAGE,
        "its disk goes bad",
        "first a flipped bit that is corrected, later a page that is lost",
        _bad_page,
    ),
)


def judge(look: Look) -> list[Seen]:
    """What is seen of each story, in their order."""
    return [story.judge(look) for story in STORIES]
