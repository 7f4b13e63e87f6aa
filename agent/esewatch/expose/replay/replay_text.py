"""The changes of a month as OpenMetrics text.

Each series has a sample at each change and, in between, one at each step: Prometheus
forgets a value after five minutes.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from esewatch.expose.metrics.rows.metric_catalogue import CATALOGUE
from esewatch.expose.replay.series_changes import Series

CHUNK = 4096

EXACT = 2**53
"""Whole numbers up to here are written without a fraction."""

Placed = tuple[str, int, int, float]
"""A change where it belongs in the file: family, series, time in milliseconds, value."""


def family_of(series: Series) -> str:
    return CATALOGUE[series.name].family


class Grid:
    """The steps from `first` to `last` (milliseconds, both included); texts end the line."""

    def __init__(self, first: int, last: int, step: int) -> None:
        self._start = -(-first // step) * step
        self._step = step
        self.texts = [f" {timestamp(time)}\n" for time in range(self._start, last + 1, step)]

    def before(self, time: int) -> int:
        return min(len(self.texts), max(0, -((self._start - time) // self._step)))


def timestamp(time: int) -> str:
    """Milliseconds as seconds that Prometheus reads back as the same milliseconds.

    It multiplies the number it read by 1,000 and cuts the rest off; where binary
    fractions would lose a millisecond so, half a microsecond is added.
    """
    seconds, rest = divmod(time, 1000)
    if not rest:
        return str(seconds)
    text = f"{seconds}.{rest:03}"
    return text if int(float(text) * 1000) == time else f"{text}0005"


def number(value: float) -> str:
    """A value, whole numbers without a fraction; a policy may be an `int`."""
    told = float(value)
    return str(int(told)) if told.is_integer() and abs(told) < EXACT else repr(told)


def month_text(
    series: Sequence[Series], changes: Iterable[Placed], carried: dict[int, float], grid: Grid
) -> Iterator[str]:
    """The text of one file in pieces, `# EOF` included. `changes` are sorted. `carried` holds, by
    series, the values at the beginning of the file, and afterwards those at its end."""
    groups = groupby(changes, key=itemgetter(0, 1))
    waiting = next(groups, None)
    family = ""
    for name, index in sorted((family_of(one), index) for index, one in enumerate(series)):
        points: Iterable[Placed] = ()
        if waiting is not None and waiting[0] == (name, index):
            points = waiting[1]
        elif index not in carried:
            continue
        for piece in _series_text(f"{series[index].text} ", points, carried, index, grid):
            if name != family:
                yield _heading(series[index])
                family = name
            yield piece
        if points:
            waiting = next(groups, None)
    yield "# EOF\n"


def _heading(series: Series) -> str:
    row = CATALOGUE[series.name]
    what = row.help.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    unit = f"# UNIT {row.family} {row.unit}\n" if row.unit else ""
    return f"# HELP {row.family} {what}\n# TYPE {row.family} {row.type}\n{unit}"


def _series_text(
    head: str, points: Iterable[Placed], carried: dict[int, float], index: int, grid: Grid
) -> Iterator[str]:
    value = carried.pop(index, math.nan)
    done, last = 0, None
    for _, _, time, new in points:
        if time == last:
            # Two entities whose labels are the same: one sample for one time.
            continue
        yield from _repeated(head, value, grid.texts, done, grid.before(time))
        done, last, value = grid.before(time + 1), time, new
        if not math.isnan(value):
            yield f"{head}{number(value)} {timestamp(time)}\n"
    yield from _repeated(head, value, grid.texts, done, len(grid.texts))
    if not math.isnan(value):
        carried[index] = value


def _repeated(head: str, value: float, texts: Sequence[str], first: int, end: int) -> Iterator[str]:
    if first < end and not math.isnan(value):
        line = head + number(value)
        for at in range(first, end, CHUNK):
            yield line + line.join(texts[at : min(end, at + CHUNK)])
