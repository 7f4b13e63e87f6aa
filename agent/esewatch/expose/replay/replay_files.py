"""A replay's files: one a month (UTC), each complete or not there."""

import datetime
import gzip
import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

from esewatch.expose.replay.replay_names import PREFIXES
from esewatch.expose.replay.replay_spool import SortedSpool
from esewatch.expose.replay.replay_text import (
    Grid,
    Placed,
    family_of,
    month_text,
    number,
    timestamp,
)
from esewatch.expose.replay.series_changes import Series, SeriesChange
from esewatch.model import EsewatchError

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
END = b"# EOF\n"
GZIP = ".gz"

Month = tuple[int, int]


class MonthSpan(NamedTuple):
    """Times of samples: from `first` to `last`, at each `step`. All in milliseconds."""

    first: int
    last: int
    step: int


def moment(time: int) -> datetime.datetime:
    """Milliseconds as a date and time, UTC."""
    return EPOCH + datetime.timedelta(milliseconds=time)


def months(span: MonthSpan) -> list[Month]:
    begin, end = moment(span.first), moment(span.last)
    numbers = range(begin.year * 12 + begin.month - 1, end.year * 12 + end.month)
    return [(number // 12, number % 12 + 1) for number in numbers]


def file_of(output: Path, month: Month) -> Path:
    """The file of a month: `history.om` becomes `history-2026-01.om`, and so with `.gz` behind."""
    year, number = month
    packed = GZIP if output.suffix == GZIP else ""
    name = output.with_suffix("") if packed else output
    return output.with_name(f"{name.stem}-{year:04}-{number:02}{name.suffix}{packed}")


def refuse_strangers(files: Iterable[Path]) -> None:
    """Raises EsewatchError for a file that is there and was not written by a replay."""
    for path in files:
        if path.exists() and not _ours(path):
            raise EsewatchError(
                f"{path}: exists and is not from an earlier replay:"
                " move it away or choose another -o"
            )


def _ours(path: Path) -> bool:
    """True if the file is a whole OpenMetrics text that begins with a metric of esewatch, or empty.
    Of a compressed one only the beginning is read."""
    if path.suffix == GZIP:
        try:
            with gzip.open(path) as packed:
                return _begins(packed.read(200))
        except (OSError, EOFError, zlib.error):
            return False
    with path.open("rb") as file:
        head = file.read(200)
        size = file.seek(0, 2)
        file.seek(max(0, size - len(END)))
        ends = file.read() == END
    return ends and _begins(head)


def _begins(head: bytes) -> bool:
    return head == END or head.startswith(tuple(f"# HELP {it}".encode() for it in PREFIXES))


class MonthFiles:
    """Sorts changes into months and writes a file when its month is over.

    Changes before the span hold at its beginning. Files are made in `folder` and moved into place
    whole. `written` are those in place.
    """

    def __init__(
        self, output: Path, folder: Path, series: Sequence[Series], span: MonthSpan
    ) -> None:
        self.written: list[Path] = []
        self._output, self._folder = output, folder
        self._series = series
        self._span = span
        self._carried: dict[int, float] = {}

    def write(self, changes: Iterable[SeriesChange]) -> None:
        """Write all files. `changes` are in order of time. Raises OSError."""
        coming = iter(changes)
        change = self._past(coming)
        for month in months(self._span):
            spool: SortedSpool[Placed] = SortedSpool(self._folder)
            try:
                end = self._end(month)
                while change is not None and change.time < end:
                    family = family_of(self._series[change.series])
                    spool.add((family, change.series, change.time, change.value))
                    change = next(coming, None)
                self._month(month, spool)
            finally:
                spool.close()

    def _past(self, changes: Iterator[SeriesChange]) -> SeriesChange | None:
        for change in changes:
            if change.time >= self._span.first:
                return change
            if math.isnan(change.value):
                self._carried.pop(change.series, None)
            else:
                self._carried[change.series] = change.value
        return None

    def _end(self, month: Month) -> int:
        year, number = month
        following = datetime.datetime(year + number // 12, number % 12 + 1, 1, tzinfo=datetime.UTC)
        return (following - EPOCH) // datetime.timedelta(milliseconds=1)

    def _begin(self, month: Month) -> int:
        begin = datetime.datetime(*month, 1, tzinfo=datetime.UTC)
        return (begin - EPOCH) // datetime.timedelta(milliseconds=1)

    def _month(self, month: Month, spool: Iterable[Placed]) -> None:
        first = max(self._span.first, self._begin(month))
        grid = Grid(first, min(self._span.last, self._end(month) - 1), self._span.step)
        path = file_of(self._output, month)
        made = self._folder / path.name
        with _opened(made) as file:
            file.writelines(month_text(self._series, spool, self._carried, grid))
        made.replace(path)
        self.written.append(path)


def _opened(path: Path) -> TextIO:
    if path.suffix == GZIP:
        # Mostly the same line with another time: more work makes them hardly smaller.
        return gzip.open(path, "wt", compresslevel=1, encoding="utf-8", newline="\n")
    return path.open("w", encoding="utf-8", newline="\n")


class TextSize:
    def __init__(self, series: Sequence[Series], span: MonthSpan) -> None:
        self._series = series
        self._span = span
        self._since: dict[int, tuple[int, int]] = {}
        """By series: from when on a value holds, and the length of its line."""
        self._bytes = 0
        self._stamp = len(f" {timestamp(span.last // 1000 * 1000)}\n")

    def counted(self, changes: Iterable[SeriesChange]) -> Iterator[SeriesChange]:
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
