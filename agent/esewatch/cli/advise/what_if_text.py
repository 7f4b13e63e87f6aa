"""`advise --what-if NAME=VALUE`: the question and its answers, for people and machines."""

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from esefiles.base.units import parse_duration
from esewatch.advice.base.estimate import Estimate, Fit, WhatIfChange
from esewatch.advice.base.finding import listed, span
from esewatch.advice.what_if.what_if import WhatIf
from esewatch.model import EsewatchError

WINDOW = (900.0, 86400.0)
"""Seconds that a window may have."""
MOST_MILLISECONDS = 60_000
PARALLEL = range(1, 17)
GROWTH = (-0.9, 10.0)
ZEROING = ("first", "on")

Pair = tuple[str, float | str]


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--what-if",
        action="append",
        default=[],
        type=pair,
        metavar="NAME=VALUE",
        help="estimate the effect of a change: window=2h (its length), throttle=20ms (more sleep"
        " after each read of the scan), parallel=2 (scans at once on its disks), growth=20%%"
        " (of its size), zeroing=first or on (the scan zeroes pages); may be given several times",
    )


def pair(text: str) -> Pair:
    """Parse `window=2h` and the like. Raises ArgumentTypeError with the allowed values."""
    name, equals, value = text.partition("=")
    if not equals or name not in _VALUES:
        names = ", ".join(_VALUES)
        raise argparse.ArgumentTypeError(
            f"{text!r} is not NAME=VALUE with one of these names: {names}"
        )
    allowed, parse = _VALUES[name]
    try:
        return name, parse(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: {name} must be {allowed}") from None


def change(pairs: Sequence[Pair]) -> WhatIfChange | None:
    """All of them as one change, None of none. EsewatchError: a name comes twice."""
    given: dict[str, Any] = {}
    for name, value in pairs:
        if name in given:
            raise EsewatchError(f"--what-if: {name} is given twice")
        given[name] = value
    return WhatIfChange(**given) if given else None


def asked(what: WhatIfChange) -> str:
    """`What if its window were 2 h and it were 20% larger:`."""
    parts = [
        f"its window were {span(what.window)}" if what.window is not None else "",
        f"its scan slept {what.throttle * 1000:g} ms more after each read"
        if what.throttle is not None
        else "",
        _parallel_asked(what.parallel),
        _growth_asked(what.growth),
        {"first": "its scan began to zero pages", "on": "its scan zeroed pages"}.get(
            what.zeroing, ""
        ),
    ]
    return f"What if {listed([part for part in parts if part])}:"


def what_if_lines(answers: WhatIf) -> Iterator[str]:
    yield asked(answers.change)
    if answers.not_applicable:
        yield f"  Not applicable: {answers.not_applicable}."
    days = (
        ("online defragmentation", answers.defrag_days, answers.defrag_days_now),
        ("the database scan", answers.scan_days, answers.scan_days_now),
    )
    for what, found, now in days:
        if found is not None:
            shown = f"{_range(found, _number)}{_now(now)}"
            yield f"  Days per pass of {what}: {shown} ({found.sentence})."
    fits = (
        ("A full scan fits into half of one window", answers.scan_in_window),
        ("Every page is verified before the deadline", answers.scan_in_time),
    )
    for what, fitting in fits:
        if fitting is not None:
            yield f"  {what}: {fitting.answer} ({fitting.sentence})."
    amounts: Sequence[tuple[str, Estimate | None, Callable[[float], str]]] = (
        (
            "RPC latency added during maintenance",
            answers.rpc_latency,
            lambda share: f"{share * 100:.3g}%",
        ),
        ("Log volume of online defragmentation per night", answers.defrag_log_bytes, _megabytes),
        ("Additional log volume of zeroing per night", answers.zeroing_log_bytes, _megabytes),
    )
    for what, found, show in amounts:
        if found is not None:
            yield f"  {what}: {_range(found, show)} ({found.sentence})."


def what_if_object(answers: WhatIf) -> dict[str, Any]:
    """The value of the key `what_if`: the question, and the available answers."""
    given = msgspec.structs.asdict(answers.change)
    found: dict[str, Any] = {
        "change": {name: value for name, value in given.items() if value not in (None, "")}
    }
    if answers.not_applicable:
        found["not_applicable"] = answers.not_applicable
    for name in answers.__struct_fields__:
        value = getattr(answers, name)
        if isinstance(value, Estimate):
            found[name] = _estimate(value)
        elif isinstance(value, Fit):
            found[name] = {"answer": value.answer, "because": value.sentence}
    return found


def _estimate(of: Estimate) -> dict[str, Any]:
    if of.values is None:
        return {"because": of.sentence}
    low, likely, high = (float(f"{value:.6g}") for value in of.values)
    return {"low": low, "likely": likely, "high": high, "because": of.sentence}


def _parallel_asked(count: int | None) -> str:
    if count is None or count == 1:
        return "it were scanned alone" if count else ""
    return f"{count} databases were scanned at once on its disks"


def _growth_asked(share: float | None) -> str:
    if share is None:
        return ""
    return f"it were {abs(share) * 100:g}% {'smaller' if share < 0 else 'larger'}"


def _range(found: Estimate, show: Callable[[float], str]) -> str:
    """`4 to 6, likely 5`; one figure where all three are shown alike."""
    if found.values is None:
        return "unknown"
    low, likely, high = map(show, found.values)
    return low if low == high else f"{low} to {high}, likely {likely}"


def _now(found: Estimate | None) -> str:
    if found is None or found.values is None:
        return ""
    low, _, high = map(_number, found.values)
    return f"; now {low}" if low == high else f"; now {low} to {high}"


def _number(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def _megabytes(count: float) -> str:
    return f"{count / 1e6:,.3g} MB" if count < 1e9 else f"{count / 1e6:,.0f} MB"


def _throttle(text: str) -> float:
    number = re.fullmatch(r"(\d{1,5})(?:ms)?", text, re.ASCII)
    if number is None:
        raise ValueError(text)
    return _within(float(number[1]), 0.0, MOST_MILLISECONDS) / 1000


def _parallel(text: str) -> int:
    if re.fullmatch(r"\d{1,2}", text, re.ASCII) is None or int(text) not in PARALLEL:
        raise ValueError(text)
    return int(text)


def _growth(text: str) -> float:
    number = re.fullmatch(r"([-+]?\d{1,4}(?:\.\d{1,3})?)%", text, re.ASCII)
    if number is None:
        raise ValueError(text)
    return _within(float(number[1]) / 100, *GROWTH)


def _zeroing(text: str) -> str:
    if text not in ZEROING:
        raise ValueError(text)
    return text


def _within(number: float, least: float, most: float) -> float:
    if not least <= number <= most:
        raise ValueError(number)
    return number


_VALUES: dict[str, tuple[str, Callable[[str], float | str]]] = {
    "window": ("a duration from 15m to 24h", lambda text: _within(parse_duration(text), *WINDOW)),
    "throttle": ("a number of milliseconds from 0 to 60000, such as 20ms", _throttle),
    "parallel": ("a whole number from 1 to 16", _parallel),
    "growth": ("a share of the size from -90% to 1000%, such as 20%", _growth),
    "zeroing": ("first (its first pass) or on (later ones)", _zeroing),
}
"""Name -> allowed values, and their parser."""
