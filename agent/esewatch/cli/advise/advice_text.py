"""Advice for people: a table, below it the reasons, and with `--explain` every figure; the question
and the answers of `--what-if NAME=VALUE`, for people and machines."""

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from esefiles.base.names import visible
from esefiles.base.units import parse_duration
from esewatch.advice.base.finding import (
    VERIFIERS,
    Proof,
    counted,
    listed,
    moment,
    span,
    verified_text,
)
from esewatch.advice.findings.details import LoneInstance
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.history.ledger import Deadline, Ledger
from esewatch.advice.judgement import TEXTS, Judgement
from esewatch.advice.what_if.estimate import Estimate, Fit, WhatIfChange
from esewatch.advice.what_if.what_if import WhatIf
from esewatch.advice.window.evidence import Evidence
from esewatch.expose.advice_json import finding_object, most_urgent
from esewatch.expose.formatting import iso_time, tidy
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import BackupSet
from esewatch.model import EsewatchError

WINDOW = (900.0, 86400.0)
"""Seconds that a window may have."""
MOST_MILLISECONDS = 60_000
PARALLEL = range(1, 17)
GROWTH = (-0.9, 10.0)
_ZEROING = {"first": "its scan began to zero pages", "on": "its scan zeroed pages"}

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
    parts = []
    if what.window is not None:
        parts.append(f"its window were {span(what.window)}")
    if what.throttle is not None:
        parts.append(f"its scan slept {what.throttle * 1000:g} ms more after each read")
    if what.parallel == 1:
        parts.append("it were scanned alone")
    elif what.parallel is not None:
        parts.append(f"{what.parallel} databases were scanned at once on its disks")
    if what.growth is not None:
        how = "smaller" if what.growth < 0 else "larger"
        parts.append(f"it were {abs(what.growth) * 100:g}% {how}")
    if what.zeroing:
        parts.append(_ZEROING[what.zeroing])
    return f"What if {listed(parts)}:"


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
    if text not in _ZEROING:
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


HEAD = (
    "DATABASE", "COMPUTER", "MODEL", "ACTION", "WINDOW", "CONFIDENCE",
    "VERIFIED", "FORECAST", "DEADLINE",
)  # fmt: skip
UNKNOWN = "-"
TASKS = {"defrag": "online defragmentation", "checksum": "the database scan"}


def text_lines(
    advice: Iterable[Judgement],
    explain: bool,
    answers: Mapping[DatabaseKey, WhatIf],
    *,
    others: bool = False,
) -> Iterator[str]:
    """The lines; observed databases without a finding are only counted, unless explained.

    `answers` to a what-if stand below the database they are of, those without a range only
    where explained. `others`: something else is said, so that without databases nothing is.
    """
    known = list(advice)
    shown = [each for each in known if explain or each.tier == "watched" or each.findings]
    if shown:
        names = Counter((each.computer, each.name) for each in known)
        yield from _table([HEAD, *(_row(each, names) for each in shown)])
    for each in shown:
        yield ""
        yield from map(visible, _paragraph(each, explain))
        answer = answers.get((each.computer, each.database))
        if answer is not None and (explain or answer.applies):
            yield from (f"  {visible(line)}" for line in what_if_lines(answer))
    rest = len(known) - len(shown)
    if rest:
        yield ""
        yield counted(rest, "observed database has", "observed databases have") + " no findings."
    if not known and not others:
        yield "No database is known, so there is no advice."


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    cells = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


def _row(advice: Judgement, names: Mapping[tuple[str, str], int]) -> tuple[str, ...]:
    """With its path where another database of its computer has the same name."""
    told = most_urgent(advice.forecasts)
    return (
        advice.name if names[advice.computer, advice.name] == 1 else advice.database,
        advice.computer,
        advice.model,
        advice.window.action,
        _window(advice),
        f"{advice.window.confidence:.0%}" if advice.model == "window" else UNKNOWN,
        _verified(advice.ledger),
        f"{told.task} {_dates(told)}" if told is not None and told.p50 is not None else UNKNOWN,
        _date(told.deadline) if told is not None and told.deadline is not None else UNKNOWN,
    )


def _verified(entry: Ledger) -> str:
    if entry.last is None:
        return "never"
    proof = f"{_date(entry.last.time)} {VERIFIERS.get(entry.last.by, entry.last.by)}"
    since = {"bad": entry.bad_since, "corrected": entry.corrected_since}
    return ", ".join([proof, *(f"{pages:,} {how} since" for how, pages in since.items() if pages)])


def _window(advice: Judgement) -> str:
    configured, recommended = advice.window.configured_seconds, advice.window.recommended_seconds
    if configured is None:
        return UNKNOWN
    if recommended is None or recommended == configured:
        return span(configured)
    return f"{span(configured)} → {span(recommended)}"


def _date(time: float) -> str:
    return moment(time).split(" ")[0]


def _dates(told: Forecast) -> str:
    middle = _date(told.p50) if told.p50 is not None else ""
    late = _date(told.p90) if told.p90 is not None else "?"
    return middle if middle == late else f"{middle}..{late}"


def _paragraph(advice: Judgement, explain: bool) -> Iterator[str]:
    said = TEXTS[advice.verdict]
    yield f"{advice.name} ({advice.computer}, {advice.database}): {said.sign} {said.words}"
    for reason in advice.window.reasons:
        yield f"  {reason}"
    for found in advice.findings:
        yield f"  ! {found.finding}: {found.sentence}."
    for each in advice.details:
        if each.sentence:
            yield f"  - {each.finding}: {each.sentence}."
    if advice.slot is not None:
        yield f"  Scan it from {moment(advice.slot.start)} to {moment(advice.slot.end)} instead."
    for told in advice.forecasts:
        yield from map("  {}".format, _expected(told))
    if explain:
        yield from map("    {}".format, _explained(advice))


def _expected(told: Forecast) -> Iterator[str]:
    if told.p50 is None:
        return
    what = TASKS[told.task]
    late = f" (90% confidence: {moment(told.p90)})" if told.p90 is not None else ""
    done = f"The running pass of {what} is expected to complete by {moment(told.p50)}{late}."
    if told.deadline is not None and (told.p90 is None or told.p90 > told.deadline):
        done += f" This may be after its deadline, {moment(told.deadline)}."
    yield done


def _explained(advice: Judgement) -> Iterator[str]:
    window = advice.window
    yield f"rule: {window.rule}"
    if advice.model == "window":
        yield f"confidence: {window.confidence:g}"
        yield f"evidence: {_figures(window.evidence)}"
        yield from (f"missing: {each}" for each in window.evidence.missing)
    for told in advice.forecasts:
        yield f"forecast of {told.task}: {_forecast(told)}"
    yield from _ledger(advice.ledger)


def _figures(found: Evidence) -> str:
    return (
        f"ratio {found.shown}, pages read {found.pages_read:,.0f}, freed {found.pages_freed:,.0f},"
        f" windows {found.windows}, passes {found.passes}, days {found.days:.0f},"
        f" counters cover {found.counter_coverage:.0%}"
    )


def _forecast(told: Forecast) -> str:
    figures = (
        told.reason,
        f"p50 {moment(told.p50)}" if told.p50 is not None else "",
        f"p90 {moment(told.p90)}" if told.p90 is not None else "",
        f"deadline {moment(told.deadline)}" if told.deadline is not None else "",
        f"progress {told.progress:.0%}" if told.progress is not None else "",
        _days(told),
        f"passes {told.passes}, nights {told.nights}",
        f"schedule {told.pattern}" if told.pattern else "",
    )
    return ", ".join(each for each in figures if each)


def _days(told: Forecast) -> str:
    if told.days_per_pass is None:
        return ""
    later = told.days_per_pass_later
    grown = f" ({later:.1f} in 90 days)" if later is not None else ""
    return f"{told.days_per_pass:.1f} days a pass{grown}"


def _deadline(deadline: Deadline) -> str:
    length = span(deadline.seconds)
    return deadline.reason if length in deadline.reason else f"{length}, {deadline.reason}"


def _ledger(entry: Ledger) -> Iterator[str]:
    yield (
        f"state: {entry.standing}; since the last verification {entry.bad_since:,} bad and"
        f" {entry.corrected_since:,} corrected pages"
    )
    proofs = sorted(entry.verified.items(), key=lambda proof: -proof[1])
    yield from (f"verified: {verified_text(Proof(time, by))}" for by, time in proofs)
    yield f"verification deadline: {_deadline(entry.deadline) if entry.expected else 'none'}"
    if entry.due is not None:
        yield f"verification due {moment(entry.due)}"
    if entry.unknown_since is not None:
        yield f"unknown since {moment(entry.unknown_since)}"


BACKUPS = "No event names a database of this instance; only its backups are known."
ERRORS = "No event names a database of this instance; only its errors are known."
LATEST = 5
"""The number of sets of an instance that are shown to people."""


def instance_lines(lone: Iterable[LoneInstance]) -> Iterator[str]:
    for number, each in enumerate(lone):
        if number:
            yield ""
        yield visible(f"{each.ese_instance} ({each.computer})")
        yield f"  {_reason(each)}"
        for found in each.findings:
            yield visible(f"  ! {found.finding}: {found.sentence}.")
        for done in each.sets[-LATEST:]:
            yield f"  {moment(done.started)}: {_set_figures(done)}"


def instance_object(lone: LoneInstance) -> dict[str, Any]:
    """The JSON object of an instance; `backup_sets` has the kept ones, oldest first."""
    return {
        "computer": tidy(lone.computer),
        "ese_instance": tidy(lone.ese_instance),
        "action": "insufficient_evidence",
        "confidence": 0.0,
        "reasons": [_reason(lone)],
        "findings": [finding_object(each) for each in lone.findings],
        "backup_sets": [_set(done) for done in lone.sets],
    }


def _reason(lone: LoneInstance) -> str:
    return BACKUPS if lone.sets else ERRORS


def _set(done: BackupSet) -> dict[str, Any]:
    found = {
        "kind": done.kind,
        "started": iso_time(done.started),
        "seconds": done.seconds,
        "bytes": round(done.bytes),
        "bytes_per_second": round(done.bytes / done.seconds) if done.seconds > 0 else None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _set_figures(done: BackupSet) -> str:
    rate = f", {done.bytes / done.seconds / 1e6:,.1f} MB/s" if done.seconds > 0 else ""
    logs = " of log files" if done.kind == "ntbackup_logs" else ""
    return f"{done.bytes / 1e9:,.1f} GB{logs} in {span(done.seconds)}{rate}"
