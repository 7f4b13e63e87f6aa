"""Pieces that the pictures share. Across, coordinates are thousandths of the width."""

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup

WIDE = 1000
LEAST = 5
"""Shorter work is drawn this long, to be visible."""


def thousandths(share: float) -> int:
    """0 to 1000 of a share of the width; 0 for what is no number."""
    return round(WIDE * min(1.0, max(0.0, share))) if math.isfinite(share) else 0


def bar(start: float, end: float, y: int) -> str:
    """The part of a path that draws one bar between two shares of the width, never too short."""
    left, right = thousandths(start), thousandths(end)
    if right - left < LEAST:
        left = min(left, WIDE - LEAST)
        right = left + LEAST
    return f"M{left} {y}H{right}"


def box(start: float, end: float, y: int, height: int) -> str:
    """The part of a path that draws one rectangle; `y` is its upper edge."""
    left, right = thousandths(start), thousandths(end)
    return f"M{left} {y}H{max(right, left + 1)}v{height}H{left}z"


def tick(share: float, y: int, height: int) -> str:
    """The part of a path that draws one upright line."""
    return f"M{thousandths(share)} {y}v{height}"


def path(kind: str, parts: Iterable[str]) -> Markup:
    """All of one kind as one path; nothing if there is none."""
    drawn = "".join(parts)
    return Markup('<path class="p-{}" d="{}"/>').format(kind, drawn) if drawn else Markup("")


def axis(words: Sequence[str]) -> Markup:
    """Words above the bars, evenly over the width."""
    last = len(words) - 1
    return Markup('<g class="p-axis">{}</g>').format(
        Markup("").join(
            Markup('<text x="{}%" y="12">{}</text>').format(round(100 * at / last), word)
            for at, word in enumerate(words)
        )
    )


def labels(lines: Iterable[tuple[int, str]]) -> Markup:
    """Words left of the bars, each at its height."""
    return Markup('<g class="p-labels">{}</g>').format(
        Markup("").join(Markup('<text y="{}">{}</text>').format(y, word) for y, word in lines)
    )


def picture(kind: str, title: str, height: int, texts: Iterable[Markup], drawn: Markup) -> Markup:
    """An image: `texts` at their own size, over all its width what is `drawn`."""
    return Markup(
        '<svg class="p-svg p-{}" role="img" width="100%" height="{}"><title>{}</title>{}'
        '<svg viewBox="0 0 1000 {}" preserveAspectRatio="none" width="100%" height="{}">{}</svg>'
        "</svg>"
    ).format(kind, height, title, Markup("").join(texts), height, height, drawn)


def key(entries: Iterable[tuple[str, str]]) -> Markup:
    """The legend: each kind, with a piece of it."""
    return Markup('<ul class="p-key">{}</ul>').format(
        Markup("").join(_swatch(kind, word) for kind, word in entries)
    )


def _swatch(kind: str, text: str) -> Markup:
    shape = "M1 1H23V11H1z" if kind == "window" else "M12 1v10" if kind in UPRIGHT else "M0 6H24"
    return Markup('<li><svg class="p-swatch" aria-hidden="true">{}</svg> {}</li>').format(
        path(kind, [shape]), text
    )


UPRIGHT = frozenset({"stop", "failed", "now", "due"})
"""Kinds that are drawn as ticks."""


def figure(caption: str, *content: Markup) -> Markup:
    """A picture under its caption, with its legend and its text."""
    return Markup('<figure class="picture"><figcaption>{}</figcaption>{}</figure>').format(
        caption, Markup("").join(content)
    )
