"""Damage without a page checksum error, by copy, as reported by events (semantics.md 3).

It is latched for each copy and kind, and stands until it is acknowledged or the database is
restored, an index also until it is rebuilt. No scan of checksums clears it.
"""

from bisect import insort
from collections.abc import Mapping
from itertools import chain
from typing import Literal, get_args

from esewatch.fold.state import acknowledgements
from esewatch.fold.state.state import Damage, DamageKind, Database
from esewatch.model import Event

Whose = Literal["own", "active", "both"]
"""The copy that an event speaks of: the one that logs it, the active one, or both."""

DAMAGE_KINDS: tuple[DamageKind, ...] = get_args(DamageKind)
NOT_FATAL: DamageKind = "logical_nonfatal"
EXPOSED_KINDS = tuple(kind for kind in DAMAGE_KINDS if kind != NOT_FATAL)
"""Kinds as the metrics name them: a bad page link that is not fatal is logical damage too."""
BAD_LINK = 447
INDEX_REBUILT = 612
"""The clean-up of the indexes of a database is done."""
CORRUPTION: frozenset[DamageKind] = frozenset(
    {"divergence", "suspect", "logical", "logical_nonfatal"}
)
"""Kinds by which an ignored database is taken into account (semantics.md 1)."""
DAMAGE: Mapping[int, tuple[DamageKind, Whose]] = {
    **dict.fromkeys((516, 539, 541, 557, 559, 560), ("divergence", "own")),
    **dict.fromkeys((538, 545), ("divergence", "active")),
    540: ("suspect", "both"),
    **dict.fromkeys((BAD_LINK, 448, 467, 537, 542, 549, 550, 556, 566), ("logical", "own")),
    **dict.fromkeys((613, 614, 643), ("index", "own")),
    **dict.fromkeys((568, 569, 570), ("revert_snapshot", "own")),
}
"""Event id -> the kind of damage that it latches, and whose it is."""
OF_BOTH = frozenset(kind for kind, whose in DAMAGE.values() if whose == "both")
"""Kinds of which the reporter has its own part."""
CORRUPTION_EVENTS = frozenset(event for event, (kind, _) in DAMAGE.items() if kind in CORRUPTION)
MAX_TIMES = 64


def note(database: Database, event: Event, time: float) -> None:
    """Latch the damage that `event`, which the database logged, reports of it or of its active
    copy."""
    kind, whose = DAMAGE[event.event_id]
    if event.event_id == BAD_LINK and event.fields.get("fatal") == 0:
        kind = NOT_FATAL
    if whose != "active":
        add(database.damage, kind, event.event_id, time)
    if whose != "own":
        add(database.damage_of_active, kind, event.event_id, time)


def known_damage(
    database: Database, told_by_others: Mapping[DamageKind, Damage], restored: float = 0.0
) -> dict[DamageKind, Damage]:
    """The unresolved damage by kind; `told_by_others` is what its other copies found in it,
    `restored` when it was restored."""
    found: dict[DamageKind, Damage] = {}
    for kind in DAMAGE_KINDS:
        thing = acknowledgements.damage(kind)
        mended = max(
            restored,
            database.damage_mended,
            database.created,
            acknowledgements.up_to(database, thing),
        )
        if kind == "index":
            mended = max(mended, database.index_rebuilt)
        told = [each[kind] for each in (database.damage, told_by_others) if kind in each]
        newer = [[time for time in each.times if time > mended] for each in told]
        times = sorted(chain.from_iterable(newer))
        if times:
            ids = sorted({event for each in told for event in each.events})
            # Where every time that is kept is newer, so may be those that are not kept.
            counts = (
                each.count if len(own) == len(each.times) else len(own)
                for each, own in zip(told, newer, strict=True)
            )
            found[kind] = Damage(sum(counts), times, ids)
    return found


def add(known: dict[DamageKind, Damage], kind: DamageKind, event_id: int, time: float) -> None:
    damage = known.setdefault(kind, Damage())
    damage.count += 1
    insort(damage.times, time)
    del damage.times[:-MAX_TIMES]
    if event_id not in damage.events:
        insort(damage.events, event_id)
