"""Event texts of every kind, recognised by content: JSON, XML, separated values, plain text.

Files are followed as they grow (`follow.py`); their format is decided by the first lines alone,
never by the name.
"""

import glob
import re
from calendar import isleap
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from esewatch.config import LogFiles, Settings
from esewatch.ese.dates import DateOrder
from esewatch.model import Event, Source, SourceError
from esewatch.sources.files.decoder import Decoder, DecoderFactory, Fed, OrderKey
from esewatch.sources.files.follow import FollowedFiles
from esewatch.sources.files.record_times import KnownLogs
from esewatch.sources.kind import USUAL_OPTIONS, Described, EventOptions, RecordSelection
from esewatch.sources.logs.formats.csv_events import CsvEvents
from esewatch.sources.logs.formats.event_builder import (
    DecoderState,
    Format,
    Maker,
    read_decoder_state,
)
from esewatch.sources.logs.formats.json_events import JsonEvents
from esewatch.sources.logs.formats.prefilter import Prefilter
from esewatch.sources.logs.formats.tables import find_columns
from esewatch.sources.logs.formats.text_events import TextEvents
from esewatch.sources.logs.formats.times import Times, UnknownTimeError
from esewatch.sources.logs.formats.xml_events import XmlEvents

_DATE = re.compile(
    r"(?<![\w.])(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?Z?"
    r"|\d{1,2}([/.])\d{1,2}\1\d{4},? +\d{1,2}:\d\d(?::\d\d)?(?:\s[AaPp][Mm])?)"
)
_DECODERS: dict[Format, Callable[..., Decoder]] = {
    "json": JsonEvents,
    "xml": XmlEvents,
    "csv": CsvEvents,
    "text": TextEvents,
}
_BANNER_LINES = 4
_DAY = 86400.0
"""A local time may be this much ahead of UTC."""
_LEAP_YEAR = 2000
"""From which turns of the year are counted: every date is one."""
_JSON = re.compile(r"\[?\s*\{\s*(?:[\"}]|$)|\[\s*$")
_XML = re.compile(r"<(?:\?xml|!DOCTYPE|!--|(?:Events?|Objs|Objects)[\s>])")
_RECORD = re.compile(r"Record \d+\s*$")
_CONTROLS = bytes({*range(0x20)} - {*b"\t\n\v\f\r\x1b"})


def open(entry: LogFiles, settings: Settings, wanted: RecordSelection) -> Source:
    return event_stream_source(entry.name, entry.paths, EventOptions.of(entry, settings, wanted))


def recognise(head: bytes, _stored: bytes) -> bool:
    return format_of(head) is not None


def describe(entry: LogFiles, path: str, head: bytes) -> Described:
    def fed(zone: str | None, order: DateOrder | None = None) -> tuple[Decoder, Fed]:
        options = EventOptions(
            computer=entry.computer or "",
            timezone=zone,
            date_order=entry.date_order or order,
            companions=True,
        )
        decoder = decoder_factory(options)(path, head, b"")
        return decoder, decoder.feed(head[: head.rfind(b"\n") + 1], final=True)

    remarks = fed(entry.timezone)[1].remarks
    decoder, read = fed("UTC")
    state = read_decoder_state(decoder.save())
    if state is None or not state.maker.times.guessed:
        return Described(remarks)
    month_first = _times(read) == _times(fed("UTC", "mdy")[1])
    return Described(remarks, assumed_order="mdy" if month_first else "dmy")


def _times(fed: Fed) -> list[float | None]:
    return [each.time for each in fed.records if isinstance(each, Event)]


def event_stream_source(
    name: str, paths: Sequence[str], options: EventOptions = USUAL_OPTIONS
) -> Source:
    """A source over event texts in the files named by `paths` (paths and globs). Raises SourceError
    when the time zone is unknown."""
    return FollowedFiles(name, paths, decoder_factory(options), order=first_time(options))


def decoder_factory(options: EventOptions, *, of_files: bool = True) -> DecoderFactory:
    """A factory of decoders for `FollowedFiles`. Raises SourceError for an unknown time zone.
    `of_files`: the date of the file at the path tells the year of dates without one; else
    nothing."""
    Maker(options)  # raises for an unknown zone
    needles = Prefilter(options.providers, companions=options.companions)
    logs = KnownLogs(options.computer)

    def factory(path: str, head: bytes, saved: bytes) -> Decoder:
        maker = Maker(options)
        if of_files:
            maker.times.first_year = _first_year(path, options, needles)
        kept = read_decoder_state(saved) if saved else None
        return _made(path, head, kept, maker, (needles, logs))

    return factory


def _first_year(path: str, options: EventOptions, needles: Prefilter) -> Callable[[], int | None]:
    """Tells the year of the first date without one in the file at `path`; None where that is gone.
    The last one is not after the date of the file: to know how many turns of the year lie before
    it, the file is read to its end."""

    @cache
    def found() -> int | None:
        maker = Maker(options)
        maker.times.first_year = lambda: _LEAP_YEAR

        def factory(at: str, head: bytes, _saved: bytes) -> Decoder:
            return _made(at, head, None, maker, (needles, KnownLogs(options.computer)))

        source = FollowedFiles(path, [glob.escape(path)], factory)
        try:
            for _ in source.poll(final=True):
                pass
            latest = Path(path).stat().st_mtime + _DAY
            until = datetime.fromtimestamp(latest, UTC)
        except (SourceError, OSError, ValueError, OverflowError):
            return None
        finally:
            source.close()
        last = maker.times.state
        year = until.year - ((last.month, last.day) > (until.month, until.day))
        while (last.month, last.day) == (2, 29) and not isleap(year):
            year -= 1
        return year - ((last.year or _LEAP_YEAR) - _LEAP_YEAR)

    return found


def first_time(options: EventOptions) -> OrderKey:
    """The key by which files are read oldest first: the first date in their first block."""

    def key(path: str, head: bytes) -> float | None:
        text = head.decode("utf-8", "replace")
        times = Times(options.timezone, options.date_order)
        times.learn(text)
        for found in _DATE.finditer(text):
            try:
                return times.read(found[0])
            except UnknownTimeError:
                continue
        return None

    return key


def format_of(head: bytes) -> Format | None:
    """The format of a file by its first bytes (UTF-8); None when it is not text."""
    written = head.replace(b"\0", b"")  # a crash, or a log cut under its writer, leaves zeros
    controls = len(written) - len(written.translate(None, _CONTROLS))
    if (head and not written) or controls * 50 > len(written):
        return None
    text = written.decode("utf-8", "replace").lstrip("\ufeff")
    lines = [line.strip() for line in text.split("\n", 40)[:40]]
    for line in [line for line in lines if line and not _RECORD.match(line)][:_BANNER_LINES]:
        if _JSON.match(line):
            return "json"
        if _XML.match(line):
            return "xml"
    return "csv" if find_columns(text) else "text"


def _made(
    path: str,
    head: bytes,
    kept: DecoderState | None,
    maker: Maker,
    shared: tuple[Prefilter, KnownLogs],
) -> Decoder:
    needles, logs = shared
    text = head.decode("utf-8", "replace").lstrip("\ufeff")
    form = kept.format if kept else format_of(head)
    if kept:
        maker.restore(kept.maker)
    else:
        maker.times.learn(text)
    if form is None:
        raise SourceError(f"{path}: not a supported input: no text")
    state = kept or DecoderState(form)
    if state.format == "csv":
        state.layout = state.layout or find_columns(text)
        state.format = "csv" if state.layout else "text"
    return _DECODERS[state.format](maker, needles, state, logs)
