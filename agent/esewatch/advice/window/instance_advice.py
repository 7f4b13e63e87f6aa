"""Window advice where several databases share an instance, and so their counters (semantics.md 1).

Of the databases of an instance with the same window, the one whose rule comes first in the order of
the rules decides for all: a window that is right for one may harm another.
"""

from collections.abc import Mapping, Sequence

import msgspec

from esewatch.advice.history.history import History
from esewatch.advice.window.evidence import PERIOD_DAYS
from esewatch.advice.window.window import WindowAdvice
from esewatch.advice.window.window_rules import RULES
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.rollups import DAY_SECONDS

_ORDER = {name: float(place) for place, (name, _) in enumerate(RULES)}
# That passes finish soon keeps the window only where those of all databases do.
_ORDER["ratio_low_but_soon"] = _ORDER["ratio_low"] + 0.5


def instance_advice(
    known: Mapping[DatabaseKey, History], own: Mapping[DatabaseKey, WindowAdvice], now: float
) -> dict[DatabaseKey, WindowAdvice]:
    """The window advice of every database as of `now`, that of its instance where it shares one.

    `own` is the advice for each by itself. One without a window to judge (a passive copy of
    Exchange 2007) keeps its own, and decides nothing for others.
    """
    groups: dict[tuple[str, str, str], list[DatabaseKey]] = {}
    for key, each in known.items():
        if own[key].rule in _ORDER and each.shares_instance > 1:
            same = (each.computer, each.ese_instance.lower(), repr(each.window))
            groups.setdefault(same, []).append(key)
    found = {key: own[key] for key in known}
    for members in groups.values():
        decides = _decides(members, known, own, now)
        for key in members:
            found[key] = own[decides]
            if len(members) > 1 and key != decides:
                found[key] = _of_another(own[decides], decides[1])
    return found


def _decides(
    members: Sequence[DatabaseKey],
    known: Mapping[DatabaseKey, History],
    own: Mapping[DatabaseKey, WindowAdvice],
    now: float,
) -> DatabaseKey:
    """The database that decides; one that was moved or is gone is not asked where others are."""
    since = now - PERIOD_DAYS * DAY_SECONDS
    heard = [key for key in members if known[key].attached and known[key].last_seen >= since]
    return min(
        heard or members,
        key=lambda key: (_ORDER[own[key].rule], -(own[key].recommended_seconds or 0.0), key),
    )


def _of_another(advice: WindowAdvice, database: str) -> WindowAdvice:
    reason = f"This advice is that of {database}, a database of the same instance."
    return msgspec.structs.replace(advice, reasons=(*advice.reasons, reason))
