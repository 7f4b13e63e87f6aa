"""The judgement of one database, made once a snapshot and shown by every view, and its verdict: the
urgency in one word."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import msgspec

from esewatch.advice.base.finding import (
    BROKEN,
    DAMAGE_FINDINGS,
    HUNG,
    INFORMATION,
    UNKNOWN,
    UNVERIFIED,
    Cause,
    Detail,
    Finding,
    FindingName,
    Proof,
    investigate,
)
from esewatch.advice.findings.scan_collisions import ScanSlot
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.history.copies import Model
from esewatch.advice.history.ledger import Ledger
from esewatch.advice.window.ratio import Ratio
from esewatch.advice.window.window import WindowAdvice
from esewatch.fold.databases.integrity import count_pages
from esewatch.fold.identity.identity import Tier
from esewatch.fold.state.state import BadPage, Damage, DamageKind, SourceState

Verdict = Literal["bad_pages", "writes_at_risk", "blind", "unverified", "look", "unproven", "ok"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""Worst first (semantics.md 5a)."""
HEALTHY: frozenset[Verdict] = frozenset({"unproven", "ok"})
"""They ask nobody to do something: exit status 0 of commands."""


class VerdictText(NamedTuple):
    """The text of a verdict. Sign and words stand together, never a colour alone."""

    sign: str
    words: str
    when: str
    """Its condition, for the reference: Markdown, no full stop."""


TEXTS: Mapping[Verdict, VerdictText] = {
    "bad_pages": VerdictText(
        "✖",
        "bad pages or damage",
        "a known bad page stands that is not corrected, or the copy differs from the others or is"
        " logically corrupt (of one database pages say which of the two)",
    ),
    "writes_at_risk": VerdictText(
        "◆",
        "writes at risk",
        "the finding `writes_at_risk` for a log that could not be created or written (413, 429,"
        " 492), a recovery, mount or instance that failed (104, 454, 455, 465, 494), or a read or"
        " write that has not completed (532, 533)",
    ),
    "blind": VerdictText(
        "○",
        "missing data",
        "nothing was heard of its computer for too long, a source of it is down or not read to its"
        " end, or events are missing (`unknown_since`): what is shown may be old",
    ),
    "unverified": VerdictText(
        "▲", "unverified", "the finding `never_verified` or `verification_overdue`"
    ),
    "look": VerdictText(
        "◇",
        "attention",
        "any other finding that is more than information, corrected pages, a task that failed"
        " (705, 723, 724, 734) and has neither completed since nor been acknowledged, or a pass"
        " that may end after its deadline (p90)",
    ),
    "unproven": VerdictText(
        "□",
        "not verified",
        "no verification is known, and none is required or due yet: nothing verifies a domain"
        " controller by itself",
    ),
    "ok": VerdictText("●", "no known problem", "none of these, or information alone"),
}
"""The one place of these texts: pages, interface, metrics, dashboards and docs take them from here.
Not "ok": a bad page may be there that nothing has read since."""
UNSEEN: frozenset[str] = frozenset({UNKNOWN, "not_heard"})
AT_RISK: FindingName = "writes_at_risk"
REFUSED: frozenset[Cause] = frozenset({"disk_full", "log_sequence", "recovery", HUNG})
"""Causes of `writes_at_risk` that have come; the others ask for a look."""
UNREAD = "cannot be read"
UNFINISHED = "is not read to its end"
"""Reasons why a source is behind."""


class Trouble(NamedTuple):
    bad: int
    """Pages known bad and not corrected, including those found in history, and reports of
    damage."""
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
    damage."""
    corrected = count_pages(page for page in standing if page.kind == "corrected")
    late = [each.task for each in forecasts if each.late]
    broken = sum(each.count for kind, each in damage.items() if kind in BROKEN)
    return Trouble(count_pages(standing) - corrected + broken, corrected, failed, late)


def verdict(
    told: Trouble, findings: Collection[Finding], *, unproven: bool, blind: bool
) -> Verdict:
    """The worst verdict that applies to one database.

    `unproven`: no verification of it is known. `blind`: a source of its computer
    is behind, so that its data may be old.
    """
    names = {each.finding for each in findings}
    asking = {each.finding for each in findings if each.severity != "info"} - INFORMATION
    refused = {cause for each in findings if each.finding == AT_RISK for cause in each.causes}
    found: Mapping[Verdict, object] = {
        "bad_pages": told.bad,
        "writes_at_risk": REFUSED & refused,
        "blind": blind or UNSEEN & names,
        "unverified": UNVERIFIED & names,
        "look": asking or told.corrected or told.failed or told.late,
        "unproven": unproven,
    }
    return next((name for name in VERDICTS if found.get(name)), "ok")


def blind_computers(sources: Iterable[SourceState]) -> dict[str, str]:
    """By computer, the reason why its data may be stale: the sources of it that are behind. A
    source that never had a record of a computer does not count (see `blind_places`)."""
    behind: dict[str, list[str]] = {}
    for source in sorted(sources, key=lambda each: each.name):
        why = UNFINISHED if source.up else UNREAD
        for computer in source.computers if not (source.up and source.caught_up) else ():
            behind.setdefault(computer, []).append(f"{source.name} {why}")
    return {computer: ", ".join(whys) for computer, whys in sorted(behind.items())}


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """Of one database, watched or observed. Times are epoch seconds."""

    computer: str
    ese_instance: str
    database: str
    name: str
    tier: Tier
    model: Model
    as_of: float
    overdue: bool = False
    """Verified longer ago than its deadline allows, in time at work."""
    verdict: Verdict
    reasons: tuple[str, ...]
    """Reasons of the verdict, the worst first, without full stops."""
    stale: str
    """Reason why its data may be old: a source of its computer is behind. Empty where none is."""
    findings: tuple[Finding, ...]
    """All findings, those of the ledger included, each at most once."""
    ledger: Ledger
    forecasts: tuple[Forecast, ...]
    """Forecasts of defrag and checksum, in this order, each with its deadline."""
    window: WindowAdvice
    """The instance, where it has several databases: the reasons mention it."""
    ratio: Ratio | None = None
    """None unless the model is `window`: no other model is judged by it."""
    details: tuple[Detail, ...] = ()
    """The parts of its findings that have an alert of their own."""
    collisions: tuple[str, ...] = ()
    """Databases that were scanned at the same time on the same disks."""
    slot: ScanSlot | None = None
    """A better time for its scan, where its scans collide with others."""

    @property
    def names(self) -> frozenset[FindingName]:
        return frozenset(each.finding for each in self.findings)

    @property
    def proven(self) -> bool:
        return self.ledger.last is not None

    @property
    def troubles(self) -> frozenset[Verdict]:
        """All that it is counted and listed as: the verdict is only the worst. What is about to
        refuse writes counts as at risk; nobody asks for a verification of what is unproven."""
        asked = UNVERIFIED & self.names
        beside: Mapping[Verdict, object] = {
            "writes_at_risk": AT_RISK in self.names,
            "blind": self.stale or UNSEEN & self.names,
            "unverified": asked,
            "unproven": self.tier == "watched" and not (self.proven or asked),
        }
        return frozenset([self.verdict, *(name for name, holds in beside.items() if holds)])


def at_first_sight(
    pages: Sequence[BadPage],
    damage: Mapping[DamageKind, Damage],
    stale: str,
    *,
    database: str,
    proof: Proof | None,
) -> tuple[Verdict, tuple[str, ...]]:
    """Verdict and reasons of a database that is not judged yet: it is never in order."""
    told = trouble(pages, damage, ())
    found = verdict(told, (), unproven=False, blind=bool(stale))
    found = "look" if found == "ok" else found
    wrong = investigate(pages, damage, (), 0.0, database=database, proof=proof)
    return found, reasons_of(told, [wrong] if wrong else [], stale=stale)


def reasons_of(
    told: Trouble, findings: Sequence[Finding], *, unproven: str = "", stale: str
) -> tuple[str, ...]:
    """The reasons of a verdict, bad pages and damage first. `unproven` and `stale` say why it is
    not verified and why its data may be old, empty where that is not so."""
    reasons = [each.sentence for each in findings if each.finding == "investigate"]
    reasons += [f"{task} failed and has not completed since" for task in told.failed]
    reasons += [f"{task} may end after its deadline" for task in told.late]
    if unproven and UNVERIFIED.isdisjoint(found.finding for found in findings):
        # No bad page is known, but nothing has verified every page either.
        reasons.append(unproven)
    said = {"investigate", *DAMAGE_FINDINGS}
    reasons += [each.sentence for each in findings if each.finding not in said]
    return (*reasons, f"may be old: {stale}") if stale else tuple(reasons)
