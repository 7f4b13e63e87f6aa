"""All problems, with their fixes: the list of the status page and of `doctor`.

A pure function of (state, settings, now), like the figures. Problems that only a check of files
and processes finds are found by the command `doctor` and are not on the page.
"""

from collections.abc import Iterable, Iterator, Sequence

from esewatch.advice.unproven import is_never_proven, never_proven_text
from esewatch.config import Settings
from esewatch.expose.pages.hidden_counters import Hidden
from esewatch.expose.pages.problems.database_problems import Known, of_databases
from esewatch.expose.pages.problems.missing_figures import of_figures
from esewatch.expose.pages.problems.problem import Problem, in_order, quoted
from esewatch.expose.pages.problems.rule_settings import RuleSettings
from esewatch.expose.pages.problems.source_problems import of_sources
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import State


def diagnose(
    state: State,
    settings: Settings,
    now: float,
    known: Sequence[Known],
    hidden: Iterable[Hidden],
) -> tuple[Problem, ...]:
    """All problems, those that need a person first.

    `known` are the databases that are shown, `hidden` the hidden counters.
    """
    rules = RuleSettings(settings, state)
    return in_order(
        [
            *of_sources(state, settings, now),
            *of_databases(state, settings, known, hidden, rules),
            *of_figures(state, settings, known, rules),
            *of_verification(settings, known, now),
        ]
    )


def of_verification(settings: Settings, known: Iterable[Known], now: float) -> Iterator[Problem]:
    """One problem for the whole estate, where there is one: nobody has to fix it."""
    keys = []
    for each in known:
        key = (each.database.computer, each.database.database)
        seconds = now - each.database.first_seen if each.database.first_seen > 0 else 0.0
        if each.tier == "watched" and is_never_proven(
            key, settings, each.member.model, each.verified, seconds
        ):
            keys.append(key)
    if keys:
        yield Problem(
            problem="never_verified",
            sentence=never_proven_text(sorted(keys)),
            setting=_scan_setting(sorted(keys)),
            needs_person=False,
        )


def _scan_setting(keys: Sequence[DatabaseKey]) -> str:
    """The source that scans a snapshot of the first; empty where a name cannot stand there."""
    computer, label = keys[0]
    if not (computer + label).isprintable():
        return ""
    others = "   # and one for each of the others" if len(keys) > 1 else ""
    return (
        f"sources: [{{type: page_scan, paths: [/snap/ntds.dit], computer: {quoted(computer)}, "
        f"as: {quoted(label)}}}]{others}"
    )
