"""The verdict of one database and its reasons, in words."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from esewatch.advice.base.finding import DAMAGE_FINDINGS, DAMAGE_WORDS, Finding, counted
from esewatch.advice.forecast.verdict import UNVERIFIED, Trouble, Verdict, verdict
from esewatch.expose.formatting import tidy
from esewatch.fold.databases.integrity import count_pages
from esewatch.fold.state.state import BadPage, Damage, DamageKind


class Grounds(NamedTuple):
    """Basis of a verdict.

    `pages` and `damage` are the unresolved ones, `collisions` the databases that were scanned at
    the same time on the same disks. `blind` says why the data of its computer may be old, empty
    when they are not.
    """

    pages: Sequence[BadPage]
    damage: Mapping[DamageKind, Damage]
    collisions: Sequence[str]
    blind: str
    findings: Sequence[Finding]


def judged(told: Trouble, known: Grounds, *, unproven: str) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict and its reasons. `unproven`: why it is not verified, empty where it is."""
    reasons: list[str] = []
    bad = [page for page in known.pages if page.kind != "corrected"]
    if bad:
        found = " (found in history)" if all(page.history for page in bad) else ""
        reasons.append(f"{counted(count_pages(bad), 'known bad page')}{found}")
    if told.corrected:
        reasons.append(counted(told.corrected, "corrected page"))
    reasons += [counted(each.count, *DAMAGE_WORDS[kind]) for kind, each in known.damage.items()]
    reasons += [f"{task} failed and has not completed since" for task in told.failed]
    reasons += [f"{task} may end after its deadline" for task in told.late]
    neighbours = _neighbours(known.collisions, known.findings)
    reasons += neighbours
    names = {found.finding for found in known.findings}
    if neighbours:
        names.add("scans_collide")
    if unproven and UNVERIFIED.isdisjoint(names):
        # No bad page is known, but nothing has verified every page either.
        reasons.append(unproven)
    said = {"investigate", *DAMAGE_FINDINGS} if known.pages or known.damage else set()
    reasons += [tidy(each.sentence) for each in known.findings if each.finding not in said]
    if known.blind:
        reasons.append(tidy(f"may be old: {known.blind}"))
    return verdict(told, names, unproven=bool(unproven), blind=bool(known.blind)), tuple(reasons)


def _neighbours(collisions: Sequence[str], findings: Sequence[Finding]) -> list[str]:
    """The sentence on `collisions`, unless their finding says it."""
    if not collisions or any(found.finding == "scans_collide" for found in findings):
        return []
    names = ", ".join(tidy(name) for name in collisions)
    return [f"scanned at the same time as {names} on the same disks"]
