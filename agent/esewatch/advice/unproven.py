"""Directories that nothing ever verified: reported once for all of them (semantics.md 5).

Nothing that runs by itself reads every page of a domain controller's database, so a report for
each of them would never end.
"""

from collections.abc import Iterable, Sequence

from esewatch.advice.base.finding import counted, listed
from esewatch.advice.judgement import Judgement
from esewatch.fold.state.database_state import DatabaseKey

NAMED = 3


def never_proven(advice: Iterable[Judgement]) -> list[DatabaseKey]:
    """The never verified directories among the databases with advice."""
    return [
        (each.computer, each.database)
        for each in advice
        if each.model == "garbage_collection"
        and each.tier == "watched"
        and each.ledger.standing == "unverified"
        and each.ledger.last is None
        and not any(found.finding == "never_verified" for found in each.findings)
    ]


def never_proven_text(keys: Sequence[DatabaseKey]) -> str:
    named = [f"{database} on {computer}" for computer, database in keys[:NAMED]]
    rest = len(keys) - NAMED
    more = [f"{rest:,} more"] if rest > 0 else []
    return (
        f"no verification is known for {counted(len(keys), 'directory', 'directories')}"
        f" ({listed([*named, *more])}): the maintenance of a directory does not read every page;"
        " run a page scan of a snapshot, or esentutl /k on a copy"
    )
