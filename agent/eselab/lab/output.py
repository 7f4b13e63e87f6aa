"""Results for people and for machines: text, JSON objects, Markdown."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from eselab.lab.frame import (
    ARTICLES,
    Comparison,
    Experiment,
    Result,
    ResultRow,
    Signal,
    Span,
    Value,
    repeatable,
    rounded,
)

ROWS = ("quantity", "case", "unit", "published", "ours", "kind")
COMPARISONS = ("statement", "published", "ours", "ours / published", "", "kind")
SIGNALS = ("side", "case", "alert", "window advice")


def objects(result: Result) -> Iterator[dict[str, Any]]:
    """A row, a comparison and the experiment each as one object, its keys to be sorted.

    `repeatable`: the same seed gives the same bytes. A key is absent where nothing is known.
    """
    name = result.experiment.name
    for row in result.findings.rows:
        yield _known(
            record="row",
            experiment=name,
            quantity=row.quantity,
            case=row.case,
            unit=row.unit,
            kind=row.kind,
            published=_plain(row.published),
            ours=_plain(row.ours),
            repeatable=repeatable([row.kind]),
        )
    for each in result.findings.comparisons:
        yield _known(
            record="comparison",
            experiment=name,
            statement=each.what,
            kind=each.kind,
            published=_plain(each.published),
            ours=_plain(each.ours),
            factor=_plain(each.factor),
            holds=each.holds,
            why=each.why or None,
            spread=_plain(each.spread),
            repeatable=repeatable([each.kind]),
        )
    yield _known(
        record="experiment",
        experiment=name,
        question=result.experiment.question,
        article=ARTICLES[result.experiment.article],
        setup=list(result.experiment.setup),
        remarks=list(result.findings.remarks),
        verdict=result.verdict,
        repeatable=repeatable(each.kind for each in result.findings.comparisons),
    )


def text(result: Result) -> Iterator[str]:
    """Lines for a terminal, the last one empty."""
    experiment, findings = result.experiment, result.findings
    yield f"{experiment.name}: {result.verdict}"
    yield f"  {experiment.question}"
    yield f"  Published: {ARTICLES[experiment.article]}."
    for sentence in (*experiment.setup, *findings.remarks):
        yield f"  {sentence}"
    yield from _indented(_columns([ROWS, *row_cells(findings.rows)], numbers=(3, 4)))
    yield from _indented(
        _columns([COMPARISONS, *comparison_cells(findings.comparisons)], numbers=(1, 2, 3))
    )
    yield from (f"  {line}" for line in reasons(findings.comparisons))
    yield ""


def markdown(result: Result) -> Iterator[str]:
    """Lines of a section of a page, the last one empty."""
    experiment, findings = result.experiment, result.findings
    yield f"## {experiment.name}"
    yield ""
    article = ARTICLES[experiment.article]
    yield f"**{experiment.question}** {result.verdict.capitalize()}. Published: {article}."
    yield ""
    yield from (f"- {sentence}" for sentence in (*experiment.setup, *findings.remarks))
    yield ""
    yield from _table(ROWS, row_cells(findings.rows))
    yield from _table(COMPARISONS, comparison_cells(findings.comparisons))
    unlike = reasons(findings.comparisons)
    yield from (f"- {line}" for line in unlike)
    if unlike:
        yield ""
    if experiment.signals:
        yield "How alerts and advice distinguish the sides:"
        yield ""
        yield from _table(SIGNALS, signal_cells(experiment.signals))


def listed(experiments: Sequence[Experiment]) -> Iterator[str]:
    """A line each: name and question."""
    cells = [(each.name, each.question) for each in experiments]
    yield from (line.rstrip() for line in _columns(cells, numbers=()))


def row_cells(rows: Sequence[ResultRow]) -> list[tuple[str, ...]]:
    """Below ROWS."""
    return [
        (row.quantity, row.case, row.unit, shown(row.published), shown(row.ours), row.kind)
        for row in rows
    ]


def comparison_cells(comparisons: Sequence[Comparison]) -> list[tuple[str, ...]]:
    """Below COMPARISONS."""
    return [
        (
            each.what, shown(each.published), _with_spread(each), shown(each.factor),
            _word(each), each.kind,
        )
        for each in comparisons
    ]  # fmt: skip


def _with_spread(comparison: Comparison) -> str:
    ours, spread = shown(comparison.ours), comparison.spread
    return ours if spread is None else f"{ours} ({shown(spread)})"


def _word(comparison: Comparison) -> str:
    if comparison.holds is None:
        return "not measured" if comparison.ours is None else "not decided"
    return "as published" if comparison.holds else "not as published"


def reasons(comparisons: Sequence[Comparison]) -> list[str]:
    """A sentence for each reason, with all statements that have it in front."""
    found: dict[str, list[str]] = {}
    for each in comparisons:
        if each.why:
            found.setdefault(each.why, []).append(each.what)
    return [f"{'; '.join(statements)}: {why}." for why, statements in found.items()]


def signal_cells(signals: Sequence[Signal]) -> list[tuple[str, ...]]:
    """Below SIGNALS."""
    return [
        (each.side, each.case, ", ".join(each.alerts) or "–", each.action or "–")
        for each in signals
    ]


def shown(value: Value | None) -> str:
    """`30,000`, `3.731`, `100 or more`, `50 to 100`, a word; a dash for None."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return _number(value)
    if value.least is not None and value.most is not None:
        low, high = _number(value.least), _number(value.most)
        return low if low == high else f"{low} to {high}"
    if value.least is not None:
        return f"{_number(value.least)} or more"
    return f"{_number(value.most)} or less" if value.most is not None else "–"


def _number(value: float) -> str:
    short = rounded(value)
    return f"{short:,.0f}" if abs(short) >= 1000 else f"{short:g}"


def _plain(value: Value | None) -> object:
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, Span):
        bounds = {"least": value.least, "most": value.most}
        return {key: rounded(bound) for key, bound in bounds.items() if bound is not None}
    return value


def _known(**values: object) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _indented(lines: Iterator[str]) -> Iterator[str]:
    yield ""
    yield from (f"  {line}".rstrip() for line in lines)
    yield ""


def _columns(rows: Sequence[Sequence[str]], *, numbers: Sequence[int]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    for row in rows:
        yield "  ".join(
            cell.rjust(width) if at in numbers else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "| " + "--- | " * (len(head) - 1) + "--- |"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""
