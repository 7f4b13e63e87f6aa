"""The judgement of computers: those with missing or stale data, and why (semantics.md 5a)."""

from collections.abc import Iterable
from typing import NamedTuple

from esewatch.advice.base.finding import Finding, moment
from esewatch.advice.forecast.verdict import UNKNOWN, UNREAD, blind_computers
from esewatch.advice.judgement import Judgement
from esewatch.fold.state.state import SourceState

MISSING = "events are missing"
"""Reason why data of a computer may be missing though its sources are read."""
NOT_HEARD = "nothing was read of it"


class Blind(NamedTuple):
    name: str
    """Of a computer, or of a source that is down and never had a record of one: it stands for the
    computers that it would report."""
    why: str


def blind_places(advice: Iterable[Judgement], sources: Iterable[SourceState]) -> tuple[Blind, ...]:
    """Everything with missing or stale data, by name."""
    judged, sources = list(advice), list(sources)
    whys = {
        computer: [f"{NOT_HEARD} since {moment(found.since)}" if found.since else NOT_HEARD]
        for computer, found in not_heard(judged).items()
    }
    whys |= {computer: [why] for computer, why in blind_computers(sources).items()}
    unknown = {each.computer for each in judged if UNKNOWN in each.names}
    for computer in unknown:
        whys.setdefault(computer, []).append(MISSING)
    found = [Blind(computer, ", ".join(why)) for computer, why in whys.items()]
    found += [
        Blind(source.name, f"{UNREAD}; its computers are not known")
        for source in sources
        if not source.up and not source.computers
    ]
    return tuple(sorted(found))


def not_heard(advice: Iterable[Judgement]) -> dict[str, Finding]:
    """By computer of which a log is silent, the finding of the one that was heard last."""
    silent = [
        (found.since or 0.0, each.computer, found)
        for each in advice
        for found in each.findings
        if found.finding == "not_heard"
    ]
    return {computer: found for _, computer, found in sorted(silent)}
