"""After how long a silence an open pass is no longer believed to run (semantics.md 2)."""

from esewatch.config import Settings, Window, rule_for
from esewatch.config.settings import DAYS
from esewatch.fold.passes import DEFAULT_STALE_SECONDS
from esewatch.fold.state import Database


def stale_seconds(database: Database, settings: Settings) -> float:
    """Silence after which an open pass no longer counts as running.

    Two windows where one is configured, else 7 days.
    """
    rule = rule_for(settings, database.computer, database.database)
    if rule is None or rule.window is None:
        return DEFAULT_STALE_SECONDS
    return two_windows(settings.windows[rule.window])


def two_windows(window: Window) -> float:
    """Seconds in which two whole windows have surely passed, whenever one begins to count."""
    at = sorted({DAYS.index(day) for day in window.days})
    gaps = [later - day for day, later in zip(at, [*at[1:], at[0] + len(DAYS)], strict=True)]
    pairs = [gap + following for gap, following in zip(gaps, [*gaps[1:], gaps[0]], strict=True)]
    return max(pairs) * 86400.0 + window.duration
