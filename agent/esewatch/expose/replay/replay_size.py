"""Size of the files of a replay, counted from the changes before a line is written."""

import math
from collections.abc import Iterable, Iterator, Sequence

from esewatch.expose.replay.replay_files import MonthSpan
from esewatch.expose.replay.replay_text import number, timestamp
from esewatch.expose.replay.series_changes import Series, SeriesChange


class TextSize:
    """Counts the bytes of all sample lines while the changes pass."""

    def __init__(self, series: Sequence[Series], span: MonthSpan) -> None:
        self._series = series
        self._span = span
        self._since: dict[int, tuple[int, int]] = {}
        """By series: from when on a value holds, and the length of its line."""
        self._bytes = 0
        self._stamp = len(f" {timestamp(span.last // 1000 * 1000)}\n")

    def counted(self, changes: Iterable[SeriesChange]) -> Iterator[SeriesChange]:
        """The same changes; they are in order of time."""
        for change in changes:
            time = max(change.time, self._span.first)
            self._hold(change.series, time)
            if not math.isnan(change.value):
                name = self._series[change.series].text
                length = len(name.encode()) + 1 + len(number(change.value)) + self._stamp
                self._since[change.series] = time, length
                self._bytes += length if change.time >= self._span.first else 0
            yield change

    def total(self) -> int:
        """All lines up to the end of the span, the few headings left out."""
        for series in list(self._since):
            self._hold(series, self._span.last + 1)
        return self._bytes

    def _hold(self, series: int, until: int) -> None:
        """The value that ends here was repeated at each step."""
        if (held := self._since.pop(series, None)) is not None:
            since, length = held
            step = self._span.step
            self._bytes += length * max(0, (until - 1) // step - since // step)
