"""The four numbers at the top of a page, and the computers with missing data."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from esewatch.advice.forecast.verdict import UNFINISHED, UNREAD
from esewatch.fold.state.state import SourceState

MISSING = "events are missing"
"""Reason why data of a computer may be missing though its sources are read."""
_RUNBOOKS = {
    UNREAD: "EsewatchSourceDown",
    UNFINISHED: "EsewatchBehind",
    MISSING: "EsewatchRecordsMissed",
}
"""Reason -> the alert that reports it."""


class Blind(NamedTuple):
    """A computer with stale data, or a source that never had a record of one, and the reason."""

    name: str
    why: str

    @property
    def runbooks(self) -> tuple[str, ...]:
        """The alerts whose runbooks apply."""
        return stale_runbooks(self.why)


def stale_runbooks(why: str) -> tuple[str, ...]:
    """The alerts whose runbooks apply where data is stale or missing for the reason `why`."""
    return tuple(name for reason, name in _RUNBOOKS.items() if reason in why)


class Summary(NamedTuple):
    """Watched and observed databases by problem; one with two problems counts in both."""

    bad: int
    """With known bad pages that are not corrected, or damage that is as urgent."""
    unverified: int
    """Never verified, or not within their deadline."""
    writes_at_risk: int
    """That refuse writes or are about to."""
    blind: tuple[Blind, ...]
    """By name."""


def blind_places(
    behind: Mapping[str, str], unknown: Iterable[str], sources: Iterable[SourceState]
) -> tuple[Blind, ...]:
    """Everything with missing or stale data, by name.

    `behind`: the reason by computer, for those with a source that is behind. `unknown`: computers
    with a database of which events are missing. A source that is down and never had a record of a
    computer stands for the computers it would report.
    """
    whys = {computer: [why] for computer, why in behind.items()}
    for computer in sorted(set(unknown)):
        whys.setdefault(computer, []).append(MISSING)
    found = [Blind(computer, ", ".join(why)) for computer, why in whys.items()]
    found += [
        Blind(source.name, f"{UNREAD}; its computers are not known")
        for source in sources
        if not source.up and not source.computers
    ]
    return tuple(sorted(found))
