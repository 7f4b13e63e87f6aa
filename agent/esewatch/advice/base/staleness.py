"""Staleness: the seconds after which whole windows have surely passed, from any starting time."""

from esewatch.config import DAYS, Settings, Window, window_for
from esewatch.fold.passes.passes import DEFAULT_STALE_SECONDS
from esewatch.fold.state.state import Database

DAY = 86400.0


def stale_seconds(database: Database, settings: Settings) -> float:
    """Silence after which an open pass no longer counts as running (semantics.md 2). Two windows
    where one is configured, else 7 days."""
    return two_windows(window_for(settings, database.database, database.computer))


def one_window(window: Window | None) -> float:
    """One window; half of the default for two where none is configured."""
    if window is None or not window.days:
        return DEFAULT_STALE_SECONDS / 2
    return max(_between(window)) * DAY + window.duration


def two_windows(window: Window | None) -> float:
    """Two windows; 7 days where none is configured."""
    if window is None or not window.days:
        return DEFAULT_STALE_SECONDS
    between = _between(window)
    following = [*between[1:], between[0]]
    pairs = [one + next_one for one, next_one in zip(between, following, strict=True)]
    return max(pairs) * DAY + window.duration


def _between(window: Window) -> list[int]:
    at = sorted({DAYS.index(day) for day in window.days})
    return [later - day for day, later in zip(at, [*at[1:], at[0] + len(DAYS)], strict=True)]
