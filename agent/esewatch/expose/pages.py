"""The pages for people: plain HTML from templates, no script, nothing fetched from elsewhere."""

import math
from datetime import UTC, datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from esewatch import __version__
from esewatch.expose.markdown import to_html
from esewatch.expose.overview import Overview, iso_time, plural

_UNSEEN = dict.fromkeys(
    (
        *(code for code in range(0x20) if chr(code) not in "\t\n"),
        *range(0x7F, 0xA0),
        0x061C,
        *range(0x200E, 0x2010),
        *range(0x2028, 0x202F),
        *range(0x2066, 0x206A),
        *range(0xD800, 0xE000),
    ),
    "\N{REPLACEMENT CHARACTER}",
)
"""Characters that control the text, turn it round or cannot be encoded."""

BAD_KINDS = {
    "uncorrectable": "bad checksum, not correctable",
    "corrected": "one-bit error, corrected when read",
    "wrong_page": "another page than asked for",
    "lost_flush": "an old version: a write was lost",
    "no_data": "no data",
}
VERIFIERS = {
    "online_scan": "online scan",
    "page_scan": "page scan",
    "streaming_backup": "streaming backup",
    "external": "eseutil /k",
}
MODELS = {
    "window": "window",
    "garbage_collection": "garbage collection",
    "background": "background scan",
    "application": "application",
}
STATUSES = {"bad": "✖ bad", "attention": "▲ look", "ok": "● ok"}
"""Status -> sign and word: never the colour alone."""


def render_status(view: Overview, ready: tuple[bool, str]) -> str:
    """The status page; `ready` says whether the first reading is done, and what is missing."""
    return render("status.html.j2", view=view, ready=ready)


def render_runbooks(names: list[str]) -> str:
    """The list of runbooks."""
    return render("runbooks.html.j2", names=names)


def render_runbook(name: str, markdown: str) -> str:
    """One runbook."""
    return render("runbook.html.j2", name=name, text=to_html(markdown))


def render(template: str, **values: Any) -> str:
    """A page from one of the templates; every value is escaped."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("esewatch.expose"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(time=time_tag, span=duration, count=count, size=size, plural=plural)
    environment.globals.update(
        bad_kinds=BAD_KINDS,
        models=MODELS,
        statuses=STATUSES,
        verifiers=VERIFIERS,
        version=__version__,
    )
    return environment


def _visible(value: object) -> object:
    """Text without characters that hide or turn round what is read."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return value.translate(_UNSEEN)
    return value


def time_tag(time: float | None, absent: str = "–") -> Markup:
    """`2007-06-21 03:14` (UTC) with the exact time behind it; `absent` for None."""
    exact = iso_time(time)
    if time is None or exact is None:
        return Markup('<span class="none">{}</span>').format(absent)
    shown = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M")
    return Markup('<time datetime="{}">{}</time>').format(exact, shown)


def duration(seconds: float | None) -> str:
    """`208 s`, `3 min 28 s`, `34 h 41 min`, `12 d 3 h`; a dash for None."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if round(seconds) < 60:
        return f"{seconds:.3g} s" if seconds < 10 else f"{round(seconds)} s"
    if round(seconds) < 3600:
        return _two_units(round(seconds), 60, "min", "s")
    if round(seconds / 60) < 48 * 60:
        return _two_units(round(seconds / 60), 60, "h", "min")
    return _two_units(round(seconds / 3600), 24, "d", "h")


def _two_units(number: int, size_of_large: int, large: str, small: str) -> str:
    whole, rest = divmod(number, size_of_large)
    return f"{whole:,} {large} {rest} {small}" if rest else f"{whole:,} {large}"


def count(number: float | None) -> str:
    """`5,850,768`; a dash for None."""
    return "–" if number is None or not math.isfinite(number) else f"{round(number):,}"


def size(number: float | None) -> str:
    """`44.6 GiB`; a dash for None."""
    if number is None or not math.isfinite(number):
        return "–"
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if abs(number) < 1024:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:,.1f} TiB"
