"""Verdict: the urgency of a database in one word, the same for pages, interface and metrics."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from esewatch.advice.base.finding import FindingName
from esewatch.advice.forecast.forecast import Forecast
from esewatch.fold.databases.integrity import count_pages
from esewatch.fold.state.state import BadPage, Damage, DamageKind, SourceState

Verdict = Literal["bad_pages", "writes_at_risk", "unverified", "blind", "look", "ok"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""Worst first."""

UNVERIFIED: frozenset[FindingName] = frozenset({"never_verified", "verification_overdue"})
UNKNOWN: FindingName = "unknown_since"
AT_RISK: FindingName = "writes_at_risk"
INFORMATION: frozenset[FindingName] = frozenset({"cache_small", "unexplained_error"})
"""They make no database one to look at."""
UNREAD = "cannot be read"
UNFINISHED = "is not read to its end"
"""Reasons why a source is behind."""
BROKEN: frozenset[DamageKind] = frozenset({"divergence", "logical"})
"""Damage that is as urgent as a bad page."""


class Trouble(NamedTuple):
    """Problems of a database other than findings."""

    bad: int
    """Pages known bad and not corrected, including those found in history, and reports of
    damage.
    """
    corrected: int
    failed: Sequence[str]
    """Tasks that ended with an error and have not completed since."""
    late: Sequence[str] = ()
    """Tasks whose pass may end after its deadline (p90)."""


def trouble(
    standing: Sequence[BadPage],
    damage: Mapping[DamageKind, Damage],
    failed: Sequence[str],
    forecasts: Iterable[Forecast] = (),
) -> Trouble:
    """The problems of a database; `standing` are its known bad pages, `damage` its unresolved
    damage.
    """
    corrected = count_pages(page for page in standing if page.kind == "corrected")
    late = [each.task for each in forecasts if each.late]
    broken = sum(each.count for kind, each in damage.items() if kind in BROKEN)
    return Trouble(count_pages(standing) - corrected + broken, corrected, failed, late)


def verdict(
    told: Trouble, findings: Collection[FindingName], *, unproven: bool, blind: bool
) -> Verdict:
    """The worst verdict that applies to one database.

    `unproven`: it is watched, and not verified as it should be (`why_unverified`). `blind`: a
    source of its computer is behind, so that its data may be old.
    """
    if told.bad:
        return "bad_pages"
    if AT_RISK in findings:
        return "writes_at_risk"
    if not UNVERIFIED.isdisjoint(findings):
        return "unverified"
    if blind or UNKNOWN in findings:
        return "blind"
    person = [each for each in findings if each not in INFORMATION]
    look = unproven or person or told.corrected or told.failed or told.late
    return "look" if look else "ok"


def blind_computers(sources: Iterable[SourceState]) -> dict[str, str]:
    """By computer, the reason why its data may be stale: the sources of it that are behind.

    A source that never had a record of a computer does not count (see `expose/pages/summary.py`).
    """
    behind: dict[str, list[str]] = {}
    for source in sorted(sources, key=lambda each: each.name):
        why = _behind(source)
        for computer in source.computers if why else ():
            behind.setdefault(computer, []).append(why)
    return {computer: ", ".join(whys) for computer, whys in sorted(behind.items())}


def _behind(source: SourceState) -> str:
    if not source.up:
        return f"{source.name} {UNREAD}"
    return "" if source.caught_up else f"{source.name} {UNFINISHED}"
