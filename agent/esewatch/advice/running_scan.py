"""What the events of a database tell of its running scan."""

import math
from collections.abc import Iterable, Sequence

from esewatch.advice.scanning import Mark
from esewatch.fold.rollups import DAY_SECONDS
from esewatch.fold.state import Pass, Transition

MARKS = {738: "resume_page", 744: "pages_seen"}
"""Events that tell how far the running scan is, and the number that does."""
LATE_END = 735


def marks(transitions: Iterable[Transition], began: float | None) -> list[Mark]:
    """Of the running scan: 744 tells the pages seen, 738 from which page it goes on."""
    if began is None:
        return []
    found = []
    for each in transitions:
        if each.event_id in MARKS and each.time >= began:
            pages = each.fields.get(MARKS[each.event_id])
            if pages is not None:
                found.append(Mark(each.time, pages))
    return found


def begun(scans: Sequence[Pass]) -> float | None:
    """When the running scan began: where that is not known, the one before it had ended."""
    if not scans or scans[-1].outcome != "open":
        return None
    if scans[-1].started is not None:
        return scans[-1].started
    return max((done.ended for done in scans[:-1] if done.ended is not None), default=-math.inf)


def engine_threshold(transitions: Sequence[Transition]) -> float | None:
    """Seconds in which its engine wants a scan to complete, as the last 735 told."""
    for each in reversed(transitions):
        if each.event_id == LATE_END and each.fields.get("threshold_days"):
            return each.fields["threshold_days"] * DAY_SECONDS
    return None
