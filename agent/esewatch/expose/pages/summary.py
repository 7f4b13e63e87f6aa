"""The four numbers at the top of a page, and the computers with missing data."""

from collections.abc import Mapping
from typing import NamedTuple

from esewatch.advice.blind_places import MISSING, NOT_HEARD, Blind
from esewatch.advice.forecast.verdict import UNFINISHED, UNREAD, Verdict
from esewatch.advice.not_judged import Basis

_RUNBOOKS = {
    NOT_HEARD: "EsewatchComputerSilent",
    UNREAD: "EsewatchRecordsMissed",
    UNFINISHED: "EsewatchBehind",
    MISSING: "EsewatchRecordsMissed",
}


def stale_runbooks(why: str) -> tuple[str, ...]:
    """The alerts whose runbooks apply where data is stale or missing for the reason `why`."""
    return tuple(dict.fromkeys(name for reason, name in _RUNBOOKS.items() if reason in why))


TILES: Mapping[Verdict, tuple[str, str]] = {
    "bad_pages": ("copy with bad pages or damage", "copies with bad pages or damage"),
    "unverified": (
        "copy unverified beyond its deadline",
        "copies unverified beyond their deadline",
    ),
    "unproven": (
        "copy never verified, and nothing asks for it",
        "copies never verified, and nothing asks for it",
    ),
    "writes_at_risk": (
        "database refusing writes, or about to",
        "databases refusing writes, or about to",
    ),
    "blind": ("host with missing or stale data", "hosts with missing or stale data"),
}
"""The words of one and of many, on dashboards too."""


class Tile(NamedTuple):
    """One of the four numbers."""

    name: Verdict
    number: int
    of: int
    """Databases that it was judged of."""

    @property
    def over_nothing(self) -> bool:
        return not (self.number or self.of)

    @property
    def many(self) -> str:
        return TILES[self.name][1]

    @property
    def words(self) -> str:
        return TILES[self.name][0] if self.number == 1 else self.many


class Summary(NamedTuple):
    """Watched and observed databases by problem; one with two problems counts in both."""

    bad: int
    """With known bad pages that are not corrected, or damage that is as urgent."""
    unverified: int
    """Never verified, or not within their deadline."""
    writes_at_risk: int
    blind: tuple[Blind, ...]
    """By name."""
    basis: Basis
    """The databases that a zero of these stands for."""

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """Bad pages are judged of what was verified; a deadline where a verification is asked
        for, else the tile tells what nobody ever verified."""
        heard, proven, unproven = self.basis[:3]
        late = Tile("unverified", self.unverified, heard - unproven)
        if unproven and late.over_nothing:
            late = Tile("unproven", unproven, unproven)
        return (
            Tile("bad_pages", self.bad, proven),
            late,
            Tile("writes_at_risk", self.writes_at_risk, heard),
            Tile("blind", len(self.blind), heard),
        )
