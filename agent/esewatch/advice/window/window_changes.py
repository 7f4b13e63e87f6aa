"""Changes of the window of a database, or of the advice on it: derived, not stored."""

from itertools import pairwise

from esewatch.advice.history.history import History
from esewatch.advice.window.background_advice import background_advice
from esewatch.advice.window.evidence import Timeline, beside_its_time
from esewatch.advice.window.past_windows import restarts
from esewatch.advice.window.window import JUDGED_DAYS, action_at
from esewatch.advice.window.window_rules import RuleInput
from esewatch.config import Policy
from esewatch.fold.state.rollups import day_of, day_start

ACTIONS = {"insufficient_evidence": "not enough evidence", "not_applicable": "none"}


def window_changes(history: History, policy: Policy, now: float) -> list[tuple[float, str]]:
    """(time, sentence) up to `now`, oldest first; the advice is judged of the last week, daily."""
    if history.window is None or background_advice(history, policy, now) is not None:
        return []
    timeline = Timeline(history, policy, now)
    at = RuleInput(timeline, policy, now)
    days = [day_start(day_of(now) - ago) for ago in range(JUDGED_DAYS - 1, 0, -1)]
    said = [(time, action_at(at._replace(time=time))) for time in (*days, now)]
    found = [
        (time, f"The window advice changed from {_words(before)} to {_words(after)}.")
        for (_, before), (time, after) in pairwise(said)
        if before != after
    ]
    found += [
        (time, f"Until then online defragmentation {beside_its_time(off)}.")
        for time, off in restarts(timeline.openings).items()
        if time <= now
    ]
    return sorted(found)


def _words(action: str) -> str:
    return ACTIONS.get(action, action)
