"""Statements about findings: which stand, and which are over (semantics.md 7)."""

from collections.abc import Iterable, Iterator

from esewatch.advice.base.finding import IN_THE_LOG
from esewatch.advice.judgement import Judgement
from esewatch.config import Settings
from esewatch.fold.identity.entities import Entity
from esewatch.fold.identity.identity import tier
from esewatch.fold.identity.origins import origins
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import State
from esewatch.fold.state.stated import Stated, is_news, restated


def standing(of: Judgement) -> list[tuple[str, str]]:
    """(finding, severity) of those that the metrics show: of watched databases only."""
    if of.tier != "watched":
        return []
    return sorted({(each.finding, each.severity) for each in of.findings})


def restate(
    state: State, settings: Settings, judged: Iterable[Judgement], passed: float
) -> Iterator[Entity]:
    """State in `state` what stands now and what is over, `passed` seconds of running after the last
    time; yields the rows of the journal that changed.

    Nothing is stated of a database that was not judged, unless it is ignored now or is known under
    another path: what is gone says nothing. What only a log that is read to its end tells is not
    over while it is not judged.
    """
    judgements = {(each.computer, each.database): each for each in judged}
    told: dict[DatabaseKey, list[str]] = {
        key: [f"{name} {severity}" for name, severity in standing(each)]
        for key, each in judgements.items()
    }
    moved = origins(state, settings) if state.stated else {}
    for key in {*state.stated, *(key for key, names in told.items() if names)}:
        known = state.stated.get(key)
        database = state.databases.get(key)
        if database is not None and (key in moved or tier(database, settings) == "ignored"):
            names: list[str] = []
        elif key in told and database is not None:
            names = told[key]
            if known is not None and judgements[key].stale:
                held = (name for name in known.standing if name.split()[0] in IN_THE_LOG)
                names = sorted({*names, *held})
        elif database is None and known is not None:
            # What was forgotten is stated to its end; what was dropped says nothing.
            known = Stated(over=known.over)
            names = []
        else:
            continue
        now = restated(known, names, passed)
        news = is_news(known, now)
        if now.standing or now.over:
            state.stated[key] = now
        else:
            state.stated.pop(key, None)
        if news:
            yield ("stated", *key)
