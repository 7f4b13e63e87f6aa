"""Statements about findings: which stand, and which are over (semantics.md 7)."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from esewatch.advice.base.finding import DAMAGE_FINDINGS, IN_THE_LOG
from esewatch.advice.findings.details import InstanceKey, OfInstances
from esewatch.advice.judgement import Judgement
from esewatch.config import Settings
from esewatch.fold.identity.entities import Entity
from esewatch.fold.identity.identity import tier
from esewatch.fold.identity.origins import origins
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import State
from esewatch.fold.state.stated import Stated, is_news, restated


def standing(of: Judgement) -> list[tuple[str, str]]:
    """(finding, severity) of those that the metrics show. Of what is only observed these are its
    bad pages, its damage and its requests."""
    shown = of.findings
    if of.tier != "watched":
        shown = tuple(each for each in shown if each.finding in DAMAGE_FINDINGS)
    of_alerts = {(each.finding, each.severity) for each in of.details}
    return sorted({(each.finding, each.severity) for each in shown} | of_alerts)


def restate(
    state: State,
    settings: Settings,
    judged: Iterable[Judgement],
    instances: OfInstances,
    passed: float,
) -> Iterator[Entity]:
    """State in `state` what stands now and what is over, `passed` seconds of running after the last
    time; yields the rows of the journal that changed.

    Nothing is stated of a database that was not judged, unless it is ignored now or is known under
    another path, nor of its instance: what is gone says nothing. What only a log that is read to
    its end tells is not over while it is not judged.
    """
    judgements = {(each.computer, each.database): each for each in judged}
    left = state.databases.keys() - judgements.keys()
    moved = origins(state, settings) if left else {}
    out = {key for key in left if key in moved or tier(state.databases[key], settings) == "ignored"}
    for key in _databases(state, judgements, out, passed):
        yield ("stated", *key)
    for key in _instances(state, instances, left - out, passed):
        yield ("stated_instance", *key)


def _databases(
    state: State,
    judgements: Mapping[DatabaseKey, Judgement],
    out: Collection[DatabaseKey],
    passed: float,
) -> Iterator[DatabaseKey]:
    told: dict[DatabaseKey, list[str]] = {
        key: [f"{name} {severity}" for name, severity in standing(each)]
        for key, each in judgements.items()
    }
    for key in {*state.stated, *(key for key, names in told.items() if names)}:
        known = state.stated.get(key)
        is_known = key in state.databases
        if key in out:
            names: list[str] = []
        elif key in told and is_known:
            names = told[key]
            if known is not None and judgements[key].stale:
                held = (name for name in known.standing if name.split()[0] in IN_THE_LOG)
                names = sorted({*names, *held})
        elif not is_known and known is not None:
            # What was forgotten is stated to its end; what was dropped says nothing.
            known = Stated(over=known.over)
            names = []
        else:
            continue
        if _replace(state.stated, key, known, names, passed):
            yield key


def _instances(
    state: State, instances: OfInstances, unjudged: Collection[DatabaseKey], passed: float
) -> Iterator[InstanceKey]:
    """`unjudged`: databases that were not judged, as those of their instances then were not."""
    table = state.stated_instances
    uncertain = {instance_key(state.databases[key]) for key in unjudged}
    for key in {*table, *(key for key, details in instances.items() if details)}:
        if key not in state.instances:
            if table.pop(key, None) is not None:
                yield key
        elif key in instances and key not in uncertain:
            names = [f"{name} {severity}" for name, severity in instances[key]]
            if _replace(table, key, table.get(key), names, passed):
                yield key


def _replace(
    table: dict[tuple[str, str], Stated],
    key: tuple[str, str],
    known: Stated | None,
    names: list[str],
    passed: float,
) -> bool:
    """True if what is to be stored changes."""
    now = restated(known, names, passed)
    news = is_news(known, now)
    if now.standing or now.over:
        table[key] = now
    else:
        table.pop(key, None)
    return news
