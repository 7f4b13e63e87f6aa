"""`replay`: logs in, their history as OpenMetrics files for Prometheus out."""

import argparse
import math
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from esefiles.base.progress import progress_bar
from esefiles.base.units import parse_duration, show_duration, size
from esewatch.advice.base.finding import counted
from esewatch.advice.history.derived import derived
from esewatch.cli.inputs.reading import Reader
from esewatch.cli.options import add_config_option, add_input_options, load_settings, time_of
from esewatch.cli.output import ended_by_signals, naming, tell
from esewatch.expose.formatting import iso_time
from esewatch.expose.replay.replay_files import (
    GZIP,
    MonthFiles,
    MonthSpan,
    SortedSpool,
    TextSize,
    file_of,
    months,
    refuse_strangers,
)
from esewatch.expose.replay.series_changes import (
    TIMELESS,
    Replay,
    SeriesChange,
    milliseconds,
    replayed_metrics,
)
from esewatch.fold.channels.overlaps import by_input
from esewatch.model import Batch, EsewatchError, Record

STALENESS = 300.0
"""Prometheus forgets a value after 5 minutes."""

LATEST = 253_370_764_800.0
"""9999-01-01: later times are damage."""

PROMTOOL = "promtool tsdb create-blocks-from --max-block-duration=744h openmetrics"
"""Without the duration promtool reads the whole file once for every two hours in it."""

T = TypeVar("T")

LEAST_PACKED = 20
"""Text is this many times as large as compressed: 30 times were measured, less is assumed."""

LONGEST = 20 * 366 * 86_400_000
"""Milliseconds. A clock that stood at 1980 would make some forty years of samples."""


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    replay = commands.add_parser(
        "replay",
        epilog="example: esewatch replay Application.evtx counters.csv -o history.om",
    )
    add_input_options(replay)
    add_config_option(replay)
    replay.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="F",
        help="name of the files: history.om makes history-2026-01.om and so on,"
        " history.om.gz compressed ones",
    )
    replay.add_argument(
        "--step",
        type=_step,
        default=STALENESS,
        metavar="D",
        help="time between samples, from 1s to 1d (default 5m); each change has one of its own",
    )
    replay.add_argument(
        "--match",
        action="append",
        default=[],
        metavar="RE",
        help="only metrics whose whole name this expression matches, such as 'ese_pass_.*';"
        " may be repeated",
    )
    replay.add_argument(
        "--start", type=time_of, metavar="T", help="samples from this time (2026-01-31, UTC) on"
    )
    replay.add_argument("--end", type=time_of, metavar="T", help="records up to this time only")
    replay.set_defaults(function=write_replay)


def _step(text: str) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError:
        seconds = 0.0
    if not 1.0 <= seconds <= 86400.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration from 1s to 1d, such as 5m")
    return seconds


class _Times(NamedTuple):
    """The first and the last record, in milliseconds."""

    first: int
    last: int


_Item = tuple[int, int, Record, int]
"""Time in milliseconds, number in order of reading, record."""


def write_replay(options: argparse.Namespace) -> int:
    """`replay`: exit status 1 when damage stands at its end or a piece was unreadable."""
    settings = load_settings(options)
    names = replayed_metrics(options.match)
    output = _output(options.output)
    if options.step > STALENESS:
        step = show_duration(options.step)
        tell(f"warning: --step {step} leaves gaps: for Prometheus a value ends after 5m")
    reader = Reader(options, companions=True, ese_only=True)
    with ExitStack() as closing:
        closing.enter_context(ended_by_signals())
        closing.enter_context(naming(output))
        with naming(output, beside=True):
            made = tempfile.TemporaryDirectory(prefix=f".{output.stem}-", dir=output.parent)
        folder = Path(closing.enter_context(made))
        spool: SortedSpool[_Item] = SortedSpool(folder)
        closing.callback(spool.close)
        times = _read(reader, spool, math.inf if options.end is None else options.end)
        if reader.nothing_read:
            return reader.status()
        if times is None:
            raise EsewatchError("nothing to replay: no record with a time in these inputs")
        span = _span(options, times)
        refuse_strangers(file_of(output, month) for month in months(span))
        replay = Replay(settings, times.first, span.step, names, span.first)
        told = TextSize(replay.series, span)
        changes: SortedSpool[SeriesChange] = SortedSpool(folder)
        closing.callback(changes.close)
        for change in told.counted(replay.changes(_moments(spool))):
            changes.add(change)
        spool.close()
        _estimate(output, told.total(), len(months(span)))
        files = MonthFiles(output, folder, replay.series, span)
        files.write(_progress(changes, len(changes), "writing", " changes"))
    _say(files.written)
    return reader.status(
        wrong=derived(replay.folder.state, settings).is_damaged(replay.folder.state)
    )


def _output(text: str) -> Path:
    output = Path(text)
    separators = tuple(each for each in (os.sep, os.altsep) if each)
    if not output.name or text.endswith(separators) or output.is_dir():
        raise EsewatchError(
            f"{text or 'an empty -o'}: names a folder, not a file: name a file in it, such as"
            f" {output / 'history.om'}"
        )
    if not output.parent.is_dir():
        raise EsewatchError(f"{output}: no folder to write to: {output.parent}")
    return output


def _read(reader: Reader, spool: SortedSpool[_Item], end: float) -> _Times | None:
    """Put all records up to `end` on the spool; their times, None without any."""
    first, last, without = math.inf, -math.inf, 0
    for name, batches in reader.inputs():
        for batch in batches:
            for source, record in by_input(name, batch):
                if isinstance(record, TIMELESS):
                    continue
                time = record.time
                if time is None or not 0.0 <= time < LATEST:
                    without += 1
                elif time <= end:
                    first, last = min(first, time), max(last, time)
                    spool.add((milliseconds(time), len(spool), record, source))
    if without:
        tell(f"left out, without a usable time: {without:,}")
    return _Times(milliseconds(first), milliseconds(last)) if len(spool) else None


def _span(options: argparse.Namespace, times: _Times) -> MonthSpan:
    """From the first record, or `--start`, to the last record. Raises EsewatchError."""
    start = times.first if options.start is None else milliseconds(options.start)
    span = MonthSpan(max(start, times.first), times.last, milliseconds(options.step))
    said = f"the records are of {iso_time(times.first / 1000)} to {iso_time(times.last / 1000)}"
    if span.first > span.last:
        raise EsewatchError(f"nothing to replay: {said}, before --start")
    if span.last - span.first > LONGEST:
        raise EsewatchError(
            f"{said}: a clock was wrong, or choose a part of it with --start and --end"
        )
    return span


def _moments(spool: SortedSpool[_Item]) -> Iterator[tuple[int, Batch]]:
    shown = _progress(spool, len(spool), "replay", " records")
    for time, items in groupby(shown, key=itemgetter(0)):
        batch = Batch()
        for _, _, record, source in items:
            batch.inputs.append((len(batch.records), source))
            batch.records.append(record)
        yield time, batch


def _progress(items: Iterable[T], total: int, what: str, unit: str) -> Iterator[T]:
    return iter(progress_bar(items, desc=what, total=total, unit=unit, unit_scale=True))


def _estimate(output: Path, needed: int, files: int) -> None:
    """Say how large the files will be. Raises EsewatchError where the disk has no room for them."""
    free = shutil.disk_usage(output.parent).free
    packed = output.suffix == GZIP
    room = needed // LEAST_PACKED if packed else needed
    how = ", compressed" if packed else ""
    told = f"{counted(files, 'file')} with about {size(needed)} of text"
    if room > free:
        raise EsewatchError(
            f"{output.parent}: too little space: {told}{how}, and"
            f" {size(free)} free. Choose a part by --match, --start and --end, a longer --step"
            + ("" if packed else f", or compress: -o {output.name}{GZIP}")
        )
    tell(f"{told}{how}; {size(free)} free")


def _say(files: list[Path]) -> None:
    for path in files:
        tell(f"wrote {path} ({path.stat().st_size:,} bytes)")
    tell(
        "load with (DATA_DIR: --storage.tsdb.path of a Prometheus whose"
        " --storage.tsdb.retention.time reaches back so far)"
    )
    for path in files:
        text = shlex.quote(str(path.with_suffix("") if path.suffix == GZIP else path))
        line = f"{PROMTOOL} {text} DATA_DIR"
        if path.suffix == GZIP:  # promtool maps the file into memory and reads no gzip
            line = f"gunzip --keep {shlex.quote(str(path))} && {line} && rm {text}"
        print(f"  {line}", file=sys.stderr)
