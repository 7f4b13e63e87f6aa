"""Statements about findings: which stand, and which are over (semantics.md 7)."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from esewatch.advice.base.finding import DAMAGE_FINDINGS, IN_THE_LOG
from esewatch.advice.checkdb import CHECK_FINDINGS, UNREAD, CheckdbJudgement
from esewatch.advice.findings.details import InstanceKey, OfInstances
from esewatch.advice.judgement import Judgement
from esewatch.config import Settings
from esewatch.fold.identity.entities import Entity
from esewatch.fold.identity.identity import origins, tier
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import State, Stated, is_news, restated


def standing(of: Judgement) -> list[tuple[str, str]]:
    """(finding, severity) of those that the metrics show. Of what is only observed these are its
    bad pages, its damage and its requests."""
    shown = of.findings
    if of.tier != "watched":
        shown = tuple(each for each in shown if each.finding in DAMAGE_FINDINGS)
    of_alerts = {(each.finding, each.severity) for each in of.details}
    return sorted({(each.finding, each.severity) for each in shown} | of_alerts)


def standing_checks(of: CheckdbJudgement) -> list[tuple[str, str]]:
    """(finding, severity) of a database of SQL Server."""
    return [(name, CHECK_FINDINGS[name]) for name in of.findings]


class _Standing(NamedTuple):
    """The findings of a database that stand, with their severities; `unread`: those that are not
    over while they do not, as only a log that is read to its end tells."""

    names: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()

    def and_others(self, found: Iterable[tuple[str, str]], unread: Collection[str]) -> "_Standing":
        names = {f"{name} {severity}" for name, severity in found}
        return _Standing(self.names | names, self.unread | {*unread})


def restate(
    state: State,
    settings: Settings,
    judged: Iterable[Judgement],
    instances: OfInstances,
    passed: float,
    *,
    checks: Iterable[CheckdbJudgement] = (),
) -> Iterator[Entity]:
    """State in `state` what stands now and what is over, `passed` seconds of running after the last
    time; yields the rows of the journal that changed.

    Nothing is stated of a database that was not judged, unless it is ignored now or is known under
    another path, nor of its instance: what is gone says nothing.
    """
    now: dict[DatabaseKey, _Standing] = {}
    for each in judged:
        key = (each.computer, each.database)
        if key not in state.databases:  # of another partition
            continue
        now[key] = _Standing().and_others(standing(each), IN_THE_LOG if each.stale else ())
    left = state.databases.keys() - now.keys()
    for of in checks:
        key, before = (of.computer, of.database), now.get((of.computer, of.database), _Standing())
        now[key] = before.and_others(standing_checks(of), UNREAD if of.blind else ())
    moved = origins(state, settings) if left else {}
    out = {key for key in left if key in moved or tier(state.databases[key], settings) == "ignored"}
    for key in _databases(state, now, out, passed):
        yield ("stated", *key)
    for key in _instances(state, instances, left - out, passed):
        yield ("stated_instance", *key)


def _databases(
    state: State, now: Mapping[DatabaseKey, _Standing], out: Collection[DatabaseKey], passed: float
) -> Iterator[DatabaseKey]:
    for key in {*state.stated, *(key for key, each in now.items() if each.names)}:
        known, found = state.stated.get(key), now.get(key)
        is_known = key in state.databases or key in state.sql_databases
        names: list[str] = []
        if found is not None and is_known:
            before = known.standing if known is not None else ()
            kept = (name for name in before if name.split()[0] in found.unread)
            names = sorted({*found.names, *kept})
        elif not is_known and known is not None:
            # What was forgotten is stated to its end; what was dropped says nothing.
            known = Stated(over=known.over)
        elif key not in out:
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
            names = [f"{each.finding} {each.severity}" for each in instances[key]]
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
    if names and known is not None and known.standing == names and not known.over:
        return False
    now = restated(known, names, passed)
    news = is_news(known, now)
    if now.standing or now.over:
        table[key] = now
    else:
        table.pop(key, None)
    return news
