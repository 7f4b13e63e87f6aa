"""A replay's files: one a month (UTC), each complete or not there, as OpenMetrics text.

Each series has a sample at each change and, in between, one at each step: Prometheus forgets a
value after five minutes. More changes than memory holds are sorted on disk, a run at a time; the
runs lie one behind the other in a temporary file and are merged when read.
"""

import datetime
import gzip
import heapq
import math
import pickle
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Generic, NamedTuple, TextIO, TypeVar

from esewatch.expose.metrics.metric_catalogue import CATALOGUE
from esewatch.expose.replay.series_changes import PREFIXES, Series, SeriesChange
from esewatch.model import EsewatchError

RUN_ITEMS = 200_000
BLOCK_ITEMS = 256

T = TypeVar("T", bound=tuple[Any, ...])


class SortedSpool(Generic[T]):
    """Takes tuples in any order and hands them out sorted, as often as asked.

    The temporary file lies in `folder`. It has no name or is deleted when closed, and
    only this process writes it: that is why pickle may read it.
    """

    def __init__(self, folder: Path, run_items: int = RUN_ITEMS) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `close`
        self._run_items = run_items
        self._run: list[T] = []
        self._stored: list[list[tuple[int, int]]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, item: T) -> None:
        """Take one item. Raises OSError when the disk is full."""
        self._run.append(item)
        self._count += 1
        if len(self._run) >= self._run_items:
            self._store()

    def __iter__(self) -> Iterator[T]:
        self._run.sort()
        return heapq.merge(*map(self._read, self._stored), iter(self._run))

    def close(self) -> None:
        self._file.close()

    def _store(self) -> None:
        self._run.sort()
        blocks = []
        for at in range(0, len(self._run), BLOCK_ITEMS):
            data = pickle.dumps(self._run[at : at + BLOCK_ITEMS], pickle.HIGHEST_PROTOCOL)
            blocks.append((self._file.tell(), len(data)))
            self._file.write(data)
        self._stored.append(blocks)
        self._run.clear()

    def _read(self, blocks: list[tuple[int, int]]) -> Iterator[T]:
        for offset, size in blocks:
            self._file.seek(offset)
            yield from pickle.loads(self._file.read(size))


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
