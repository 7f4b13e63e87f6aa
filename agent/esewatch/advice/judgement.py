"""The judgement of one database: made once a snapshot, and shown by every view."""

from collections.abc import Mapping, Sequence

import msgspec

from esewatch.advice.base.detail import Detail
from esewatch.advice.base.finding import (
    DAMAGE_FINDINGS,
    DAMAGE_WORDS,
    Finding,
    FindingName,
    counted,
)
from esewatch.advice.base.maintenance_model import Model
from esewatch.advice.findings.scan_schedule import ScanSlot
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.forecast.verdict import (
    AT_RISK,
    UNSEEN,
    UNVERIFIED,
    Trouble,
    Verdict,
    trouble,
    verdict,
)
from esewatch.advice.history.ledger import Ledger
from esewatch.advice.window.ratio import Ratio
from esewatch.advice.window.window import WindowAdvice
from esewatch.fold.databases.integrity import count_pages
from esewatch.fold.identity.identity import Tier
from esewatch.fold.state.state import BadPage, Damage, DamageKind


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """Of one database, watched or observed. Times are epoch seconds."""

    computer: str
    ese_instance: str
    database: str
    name: str
    tier: Tier
    model: Model
    as_of: float
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
        """Of its findings."""
        return frozenset(each.finding for each in self.findings)

    @property
    def proven(self) -> bool:
        """A verification of it is known."""
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

    @property
    def overdue(self) -> bool:
        """Verified longer ago than its deadline allows, in time at work."""
        due = self.ledger.due
        return self.ledger.expected and due is not None and self.as_of > due


def at_first_sight(
    pages: Sequence[BadPage], damage: Mapping[DamageKind, Damage], stale: str
) -> tuple[Verdict, tuple[str, ...]]:
    """Verdict and reasons of a database that is not judged yet: it is never in order."""
    told = trouble(pages, damage, ())
    found = verdict(told, (), unproven=False, blind=bool(stale))
    found = "look" if found == "ok" else found
    return found, reasons_of(told, pages, damage, (), stale=stale)


def reasons_of(
    told: Trouble,
    pages: Sequence[BadPage],
    damage: Mapping[DamageKind, Damage],
    findings: Sequence[Finding],
    *,
    unproven: str = "",
    stale: str,
) -> tuple[str, ...]:
    """The reasons of a verdict. `pages` and `damage` are unresolved; `unproven` and `stale` say why
    it is not verified and why its data may be old, empty where that is not so."""
    reasons: list[str] = []
    bad = [page for page in pages if page.kind != "corrected"]
    if bad:
        found = " (found in history)" if all(page.history for page in bad) else ""
        reasons.append(f"{counted(count_pages(bad), 'known bad page')}{found}")
    if told.corrected:
        reasons.append(counted(told.corrected, "corrected page"))
    reasons += [counted(each.count, *DAMAGE_WORDS[kind]) for kind, each in damage.items()]
    reasons += [f"{task} failed and has not completed since" for task in told.failed]
    reasons += [f"{task} may end after its deadline" for task in told.late]
    if unproven and UNVERIFIED.isdisjoint(found.finding for found in findings):
        # No bad page is known, but nothing has verified every page either.
        reasons.append(unproven)
    said = {"investigate", *DAMAGE_FINDINGS} if pages or damage else set()
    reasons += [each.sentence for each in findings if each.finding not in said]
    return (*reasons, f"may be old: {stale}") if stale else tuple(reasons)
