"""Passes that are late against their deadline, or will be (semantics.md 5 and 7).

They are judged of watched databases that are known for 14 days. A directory defragments itself all
day and an application when it likes: neither has a pass that could be late.
"""

from collections.abc import Sequence
from typing import NamedTuple

from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.history.copies import REPLICATED
from esewatch.advice.history.history import History
from esewatch.advice.history.ledger import KNOWN_LONG

SHOWS_LITTLE = 0.1
"""In this share of a pass its p90 lies far out on every large database."""


class LatePasses(NamedTuple):
    """The late passes of one database."""

    defrag: bool = False
    """Online defragmentation has not completed by its deadline."""
    scan: bool = False
    """The scan under way is past its deadline."""
    scan_at_risk: bool = False
    """The scan will be done after its deadline (p90), or was aborted (745) and did not go on."""


def late_passes(of: History, forecasts: Sequence[Forecast], now: float) -> LatePasses:
    """Of the database as of `now` (epoch seconds). `forecasts` of defrag and checksum, in this
    order."""
    known = of.first_seen > 0 and now - of.first_seen >= KNOWN_LONG
    if of.tier != "watched" or of.model not in REPLICATED or not known:
        return LatePasses()
    defrag, scan = forecasts
    passes = of.checksum_passes
    running = passes[-1] if passes and passes[-1].outcome == "open" else None
    if running is None:
        return LatePasses(_past(defrag, now))
    begun = scan.progress is None or scan.progress >= SHOWS_LITTLE
    aborted = running.interrupted and running.last_event == of.aborted
    return LatePasses(_past(defrag, now), _past(scan, now), (scan.late and begun) or aborted)


def _past(of: Forecast, now: float) -> bool:
    return of.deadline is not None and now > of.deadline
