"""Lines of the Prometheus text formats, each on its own, so that a bad one spoils no other.

prometheus-client parses the lines. It gets only those that are wanted, or that do not look like a
sample: an exporter shows thousands of lines and few of them matter here.
"""

import io
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from prometheus_client import Metric
from prometheus_client import parser as text_parser
from prometheus_client.openmetrics import parser as openmetrics_parser

from esewatch.sources.counters.scrape import Page

MAX_LINE = 8192
MAX_LINES = 1_000_000
_openmetrics: Callable[[str], Iterable[Metric]] = openmetrics_parser.text_string_to_metric_families
_TYPE = re.compile(r"#[ \t]+TYPE[ \t]+(\S+)[ \t]+(\w+)[ \t]*\Z")
_SAMPLE = re.compile(
    r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{.*\})?[ \t]+[-+.\w]+(?:[ \t]+[-+.\w]+)?(?: # .*)?\Z"
)
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


class Sample(NamedTuple):
    """One sample. `name` is that of the metric's TYPE line, `type` its word or empty."""

    name: str
    type: str
    labels: dict[str, str]
    value: float
    time: float | None


class BadLine(NamedTuple):
    """A line that is none of the format; `number` counts from 1."""

    number: int
    text: str
    reason: str


def samples(page: Page, wanted: Callable[[str], bool]) -> Iterator[Sample | BadLine | None]:
    """The samples of the metrics that are `wanted`, and the lines that cannot be read. None stands
    for a sample that is not wanted."""
    types: dict[str, str] = {}
    for number, raw in enumerate(io.BytesIO(page.data), 1):
        line = raw[:MAX_LINE].decode("utf-8", "replace").strip("\r\n \t")
        if number > MAX_LINES:
            yield BadLine(number, line, f"more than {MAX_LINES} lines, the rest is not read")
            return
        if line.startswith("#"):
            found = _TYPE.match(line)
            if found and (wanted(found[1]) or wanted(f"{found[1]}_total")):
                types[found[1]] = found[2].lower()
        elif len(raw) > MAX_LINE:
            yield BadLine(number, line, "the line is too long")
        elif line and not raw.endswith(b"\n"):
            # It may be half a number.
            yield BadLine(number, line, "the last line is cut short")
        elif line:
            yield _sample(page, number, line, types, wanted)


def _sample(
    page: Page, number: int, line: str, types: dict[str, str], wanted: Callable[[str], bool]
) -> Sample | BadLine | None:
    found = _NAME.match(line)
    name = found[0] if found else ""
    # OpenMetrics names a counter without the ending of its samples.
    family = name.removesuffix("_total") if page.openmetrics and name not in types else name
    if not wanted(name):
        name = family
    if not wanted(name) and _SAMPLE.match(line):
        return None
    try:
        parsed = _parse(page, line, family if types.get(family) == "counter" else "")
    except (ValueError, IndexError, KeyError):
        return BadLine(number, line, "no sample in the Prometheus format")
    if not wanted(name):
        return None
    return Sample(name, types.get(family, ""), parsed.labels, float(parsed.value), parsed.time)


class _Parsed(NamedTuple):
    labels: dict[str, str]
    value: float
    time: float | None


def _parse(page: Page, line: str, counter: str) -> _Parsed:
    """Parse one line. Raises ValueError when it is no sample. Only a sample of a `counter` may have
    an exemplar."""
    if page.openmetrics:
        head = f"# TYPE {counter} counter\n" if counter else ""
        families = _openmetrics(f"{head}{line}\n# EOF\n")
    else:
        families = text_parser.text_string_to_metric_families(line)
    found = [sample for family in families for sample in family.samples]
    if len(found) != 1:
        raise ValueError(line)
    time = found[0].timestamp
    return _Parsed(dict(found[0].labels), found[0].value, None if time is None else float(time))
