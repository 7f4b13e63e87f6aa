"""Experiments, their results, and the comparison with published figures.

A figure of our own has a kind: counted by the bundled engine, taken on a modelled disk, or taken
on real files. The first two come out the same for the same seed; the last one does not.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Final, Literal

import msgspec

from eselab.lab.bench import Bench

Kind = Literal["engine-counted", "modelled disk", "real files"]
Verdict = Literal[
    "as published", "in part as published", "not as published", "not decided", "not measured"
]
Side = Literal["bad", "good"]

ARTICLES: Final = {
    "P1": "ESE changes in Exchange 2007 SP1 (R. Smith IV)",
    "P2": "NTBACKUP of Exchange 2003 (A. Goncalves)",
    "P3": "Why Exchange 2007 is 64-bit",
    "P4": "Controller caching (A. Higginbotham, 2016)",
    "P5": "SQL Server CHECKDB on mount points (sql-sasquatch, 2014)",
}

LEAST, MOST = 0.5, 2.0
"""A ratio of ratios between these is the published shape."""

_DIGITS: Final = 4
_UNSTEADY: Final = "the runs do not agree on it"


class Span(msgspec.Struct, frozen=True, omit_defaults=True):
    """A published figure with bounds only, each may be None."""

    least: float | None = None
    most: float | None = None

    def nearest(self, value: float) -> float:
        """The value itself where it is within the bounds, else the bound that it passes."""
        if self.least is not None and value < self.least:
            return self.least
        return self.most if self.most is not None and value > self.most else value


Value = float | str | Span


class ResultRow(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity in one case, as published and as it came out here."""

    quantity: str
    case: str
    unit: str
    kind: Kind
    published: Value | None = None
    """None: the article does not say."""
    ours: float | str | None = None
    """None: it was not measured."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of the article, compared with the result of the lab."""

    what: str
    kind: Kind
    published: Value
    ours: float | str | None
    factor: float | None
    """Our ratio of bad to good by the published one, None where no ratios are compared."""
    holds: bool | None
    """None: it was not measured, or not decided where there is a figure of ours."""
    why: str = ""
    """Reason why it does not hold, was not decided or not measured."""
    spread: Span | None = None
    """Least and most of several runs, `ours` being the median."""


class Signal(msgspec.Struct, frozen=True, kw_only=True):
    """Alerts and advice that follow from one side of an experiment."""

    side: Side
    case: str
    alerts: tuple[str, ...] = ()
    action: str = ""
    """Of the window advice."""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    rows: Sequence[ResultRow]
    comparisons: Sequence[Comparison]
    remarks: Sequence[str] = ()
    """Sentences: facts about this run, such as the file system."""


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    article: str
    """Key of ARTICLES."""
    question: str
    """One sentence."""
    setup: Sequence[str]
    """Sentences."""
    steps: int
    """The number of times that a run reports a part as done."""
    run: Callable[[Bench], Findings]
    """Raises LabError, OSError."""
    signals: Sequence[Signal] = ()


class Result(msgspec.Struct, frozen=True, kw_only=True):
    experiment: Experiment
    findings: Findings

    @property
    def verdict(self) -> Verdict:
        """Of all statements that were decided."""
        comparisons = self.findings.comparisons
        held = [each.holds for each in comparisons if each.holds is not None]
        if not held:
            known = any(each.ours is not None for each in comparisons)
            return "not decided" if known else "not measured"
        if all(held):
            return "as published"
        return "in part as published" if any(held) else "not as published"


def compared(
    what: str, kind: Kind, published: float | Span, ours: float | None, *, why: str
) -> Comparison:
    """A ratio of bad to good beside the published one.

    It holds within LEAST to MOST of it, and where the same side is the larger one. `published`
    above 0. `why` is told where it does not hold, or `ours` is None or no number.
    """
    factor = None
    if ours is None or not math.isfinite(ours) or ours <= 0:
        ours = None
    else:
        factor = ours / (published.nearest(ours) if isinstance(published, Span) else published)
    holds = None
    if ours is not None and factor is not None:
        holds = LEAST <= factor <= MOST and _same_way(published, ours)
    return Comparison(
        what=what,
        kind=kind,
        published=published,
        ours=ours,
        factor=factor,
        holds=holds,
        why="" if holds else why,
    )


def repeated(
    what: str, kind: Kind, published: float, ours: Sequence[float], *, why: str, absent: str = ""
) -> Comparison:
    """A ratio that was measured several times: its median holds, or not, where all runs agree.

    `absent`: why what should make the difference was not at work here. Then nothing is decided.
    """
    found = compared(what, kind, published, median(ours) if ours else None, why=why)
    if found.ours is None:
        return found
    each = {compared(what, kind, published, value, why="").holds for value in ours}
    undecided = absent or ("" if len(each) == 1 and len(ours) > 1 else _UNSTEADY)
    found = msgspec.structs.replace(found, spread=Span(least=min(ours), most=max(ours)))
    return not_decided(found, undecided) if undecided else found


def not_decided(found: Comparison, why: str) -> Comparison:
    """The same figures without a verdict. `why`: what should make the difference is not here."""
    return msgspec.structs.replace(found, holds=None, why=f"not decided: {why}")


def _same_way(published: float | Span, ours: float) -> bool:
    """True if the side that is the larger one is so here, too; 1 and a span around it say none."""
    least, most = (published, published) if isinstance(published, float) else (0.0, math.inf)
    if isinstance(published, Span):
        least = least if published.least is None else published.least
        most = most if published.most is None else published.most
    if least <= ours <= most or least == most == 1.0:
        return True
    return ours > 1 if least >= 1 else ours < 1 if most <= 1 else True


def told(
    what: str, kind: Kind, published: str | Span, ours: str | float | None, *, why: str
) -> Comparison:
    """A word, or a band: it holds where ours is that word, or lies within the band."""
    if ours is None:
        holds = None
    elif isinstance(published, Span):
        holds = isinstance(ours, float) and published.nearest(ours) == ours
    else:
        holds = ours == published
    return Comparison(
        what=what,
        kind=kind,
        published=published,
        ours=ours,
        factor=None,
        holds=holds,
        why="" if holds else why,
    )


def ratio(bad: float | None, good: float | None) -> float | None:
    """bad / good, None where one is missing or makes no sense."""
    if bad is None or good is None or bad <= 0 or good <= 0:
        return None
    return bad / good


def rounded(value: float) -> float:
    """Rounded to four digits: more would reflect the machine and not the effect."""
    return float(f"{value:.{_DIGITS}g}")


def repeatable(kinds: Iterable[Kind]) -> bool:
    """True if the same seed gives the same figures."""
    return "real files" not in kinds
