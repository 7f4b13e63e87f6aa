"""The pictures of one database: plain SVG and HTML, no script, no id, nothing from elsewhere."""

from collections.abc import Mapping
from typing import Literal

import msgspec
from markupsafe import Markup

from esewatch.advice.base.finding import day_text
from esewatch.advice.history.history import History
from esewatch.advice.judgement import Judgement
from esewatch.config import Policy
from esewatch.expose.pages.overview import DatabaseFigures
from esewatch.expose.pages.pictures.draw import (
    forecast_bar,
    is_told,
    ratio_sparkline,
    timeline,
    untold,
    window_bar,
)
from esewatch.expose.pages.pictures.nights import (
    KINDS,
    NIGHTS,
    RATIO_DAYS,
    nights,
    ratio_days,
    window_use,
)
from esewatch.expose.pages.pictures.sentence import no_window, sentence

Name = Literal["timeline", "window_bar", "sparkline", "forecast"]


class Pictures(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence and four pictures of one database.

    Each picture is a whole <figure> with its text alternative, for any place that holds blocks.
    None: there is nothing to draw, and `why_not` has a sentence under the picture's name.
    The style sheet is `pictures.css.j2`.
    """

    sentence: str
    """Plain text."""
    timeline: Markup | None = None
    """The last 14 nights."""
    window_bar: Markup | None = None
    sparkline: Markup | None = None
    forecast: Markup | None = None
    why_not: Mapping[Name, str] = {}


def pictures(
    history: History,
    advice: Judgement | None,
    figures: DatabaseFigures,
    policy: Policy,
    now: float,
) -> Pictures:
    """All of one database as of `now` (epoch seconds, finite). `history` is a whole one
    (`advice.history.history`), not its outline. `advice` is None where none is made yet. Of a
    silent computer, and of work that runs, nothing is known beyond the last record."""
    ends = [history.unread_since]
    runs = (*history.defrag_runs, *history.scan_runs)
    if history.heard and any(run.end is None for run in runs):
        ends.append(history.heard[-1][1])
    if advice is not None:
        ends += [each.since for each in advice.findings if each.finding == "not_heard"]
    read = min((each for each in ends if each is not None), default=None)
    history = msgspec.structs.replace(history, unread_since=read)
    drawn: dict[Name, Markup | str] = {
        "timeline": _timeline(history, now),
        "window_bar": _window_bar(history, advice, now),
        "sparkline": _sparkline(history, policy, now),
        "forecast": _forecast(advice, now),
    }
    return Pictures(
        sentence=sentence(figures, advice, history, now),
        why_not={name: each for name, each in drawn.items() if not isinstance(each, Markup)},
        **{name: each for name, each in drawn.items() if isinstance(each, Markup)},
    )


def _timeline(history: History, now: float) -> Markup | str:
    found = nights(history, now)
    if any(found.any_of(kind) for kind in KINDS):
        return timeline(found)
    known = " Its log has records of each of them." if history.heard else ""
    return (
        f"No maintenance and no backup is known in the {NIGHTS} nights to {day_text(now)}.{known}"
    )


def _window_bar(history: History, advice: Judgement | None, now: float) -> Markup | str:
    if history.model != "window":
        return f"{no_window(history.model)}."
    found = window_use(history, advice.window if advice is not None else None, now)
    return window_bar(found) if found is not None else "No window is configured for this database."


def _sparkline(history: History, policy: Policy, now: float) -> Markup | str:
    if history.model != "window":
        return f"No ratio is judged. {no_window(history.model)}."
    if history.sampled_since is None:
        return "Online Defrag Pages Read/sec and Pages Freed/sec are not both in the input."
    days = ratio_days(history, now)
    if all(day.ratio is None for day in days):
        return f"No page was read by online defragmentation in the last {RATIO_DAYS} days."
    return ratio_sparkline(days, policy)


def _forecast(advice: Judgement | None, now: float) -> Markup | str:
    if advice is None:
        return "No forecast is made yet."
    if any(map(is_told, advice.forecasts)):
        return forecast_bar(advice.forecasts, now)
    return " ".join("{}: {}.".format(*untold(each)) for each in advice.forecasts)
