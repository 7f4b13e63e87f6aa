"""Results as one self-contained page: tables, and paired bars of published and measured figures."""

from collections.abc import Sequence
from typing import Final

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined

from esefiles import __version__
from eselab.lab import output
from eselab.lab.frame import ARTICLES, Result, ResultRow, Span, Value

WIDTH: Final = 240
"""Units of the longest bar."""


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Figure and length of the two bars of one case."""

    case: str
    published: str
    published_length: int
    ours: str
    ours_length: int


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity. Published bars and ours each have a scale of their own."""

    quantity: str
    unit: str
    pairs: Sequence[Pair]


def page(results: Sequence[Result]) -> str:
    """HTML without scripts."""
    environment = Environment(
        loader=PackageLoader("eselab.lab"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("lab.html.j2").render(
        results=[(each, charts(each.findings.rows)) for each in results],
        articles=ARTICLES,
        output=output,
        version=__version__,
    )


def charts(rows: Sequence[ResultRow]) -> list[Chart]:
    """The quantities that have a published number and one of ours in two cases or more."""
    found: dict[tuple[str, str], list[tuple[ResultRow, float, float]]] = {}
    for row in rows:
        published, ours = _length(row.published), _length(row.ours)
        if published is not None and ours is not None:
            found.setdefault((row.quantity, row.unit), []).append((row, published, ours))
    return [
        _chart(quantity, unit, group)
        for (quantity, unit), group in found.items()
        if len(group) > 1
        and max(published for _, published, _ in group) > 0
        and max(ours for _, _, ours in group) > 0
    ]


def _chart(quantity: str, unit: str, group: Sequence[tuple[ResultRow, float, float]]) -> Chart:
    most_published = max(published for _, published, _ in group)
    most_ours = max(ours for _, _, ours in group)
    return Chart(
        quantity=quantity,
        unit=unit,
        pairs=[
            Pair(
                case=row.case,
                published=output.shown(row.published),
                published_length=_scaled(published, most_published),
                ours=output.shown(row.ours),
                ours_length=_scaled(ours, most_ours),
            )
            for row, published, ours in group
        ],
    )


def _length(value: Value | None) -> float | None:
    """A number to draw; of a published span the bound that it has, or the middle."""
    if isinstance(value, Span):
        bounds = [bound for bound in (value.least, value.most) if bound is not None]
        return sum(bounds) / len(bounds) if bounds else None
    return value if isinstance(value, float) else None


def _scaled(length: float, most: float) -> int:
    return max(1, round(WIDTH * length / most))
