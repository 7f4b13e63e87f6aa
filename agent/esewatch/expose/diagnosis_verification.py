"""Directories that nothing ever verified: one problem for all of them."""

from collections.abc import Iterable, Iterator

from esewatch.advice.unproven import is_never_proven, never_proven_text
from esewatch.config import Settings
from esewatch.expose.diagnosis_databases import Known
from esewatch.expose.diagnosis_problem import Problem


def of_verification(settings: Settings, known: Iterable[Known], now: float) -> Iterator[Problem]:
    """One for the whole estate, where there is one: nobody has to mend it."""
    keys = []
    for each in known:
        key = (each.database.computer, each.database.database)
        seconds = now - each.database.first_seen if each.database.first_seen > 0 else 0.0
        if each.tier == "watched" and is_never_proven(
            key, settings, each.model, each.verified, seconds
        ):
            keys.append(key)
    if keys:
        yield Problem(
            problem="never_verified",
            sentence=never_proven_text(sorted(keys)),
            setting="sources: [{type: page_scan, paths: [/snap/ntds.dit], computer: dc01}]",
            needs_person=False,
        )
