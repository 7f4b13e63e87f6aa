"""Event texts of every kind, recognised by content: JSON, XML, separated values, plain text.

Files are followed as they grow (`follow.py`); their format is decided by the first lines alone,
never by the name.
"""

import re
from collections.abc import Sequence

from esewatch.ese.dates import DateOrder
from esewatch.model import Source, SourceError
from esewatch.sources.files.decoder import Decoder, DecoderFactory, OrderKey
from esewatch.sources.files.follow import FollowedFiles
from esewatch.sources.logs.formats.columns import find_columns
from esewatch.sources.logs.formats.csv_events import CsvEvents
from esewatch.sources.logs.formats.decoder_state import Format, read_decoder_state
from esewatch.sources.logs.formats.event_builder import EventOptions, Maker
from esewatch.sources.logs.formats.json.json_events import JsonEvents
from esewatch.sources.logs.formats.json.json_plan import JsonPlan
from esewatch.sources.logs.formats.prefilter import Prefilter
from esewatch.sources.logs.formats.text_events import TextEvents
from esewatch.sources.logs.formats.times import Times, UnknownTimeError
from esewatch.sources.logs.formats.xml_events import XmlEvents

_DATE = re.compile(
    r"(?<![\w.])(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?Z?"
    r"|\d{1,2}([/.])\d{1,2}\1\d{4},? +\d{1,2}:\d\d(?::\d\d)?(?:\s[AaPp][Mm])?)"
)
_BANNER_LINES = 4
_JSON = re.compile(r"\[?\s*\{\s*(?:[\"}]|$)|\[\s*$")
_XML = re.compile(r"<(?:\?xml|!DOCTYPE|!--|Events?[\s>])")
_RECORD = re.compile(r"Record \d+\s*$")
_CONTROLS = bytes({*range(0x20)} - {*b"\t\n\v\f\r\x1b"})


def event_stream_source(
    name: str,
    paths: Sequence[str],
    *,
    providers: Sequence[str] = (),
    computer: str = "",
    timezone: str | None = None,
    date_order: DateOrder | None = None,
    companions: bool = False,
) -> Source:
    """A source over event texts in the files named by `paths` (paths and globs).

    `providers`: further event sources of ESE. `computer`: for records that name none.
    `timezone` (zoneinfo name) and `date_order`: for times without offset.
    `companions`: let events of semantics.md 4 through.
    Raises SourceError when the time zone is unknown.
    """
    options = EventOptions(
        providers=tuple(providers),
        computer=computer,
        timezone=timezone,
        date_order=date_order,
        companions=companions,
    )
    return FollowedFiles(
        name, paths, decoder_factory(options), order=first_time(options), in_portions=True
    )


def decoder_factory(options: EventOptions, plan: JsonPlan | None = None) -> DecoderFactory:
    """A factory of decoders for `FollowedFiles`. Raises SourceError for an unknown time zone.

    `plan`: the shapes of JSON that all its decoders share, where each has a few lines only.
    """
    try:
        Maker(options)
    except (KeyError, ValueError, OSError) as error:
        raise SourceError(f"time zone {options.timezone!r} is not known here: {error}") from None

    needles = Prefilter(options.providers, companions=options.companions)

    def factory(path: str, head: bytes, saved: bytes) -> Decoder:
        return _decoder(path, head, saved, options, needles, plan=plan)

    return factory


def first_time(options: EventOptions) -> OrderKey:
    """The key by which files are read oldest first: the first date in their first block."""

    def key(path: str, head: bytes) -> float | None:
        text = head.decode("utf-8", "replace")
        times, learnt = Times(options.timezone, options.date_order), False
        for found in _DATE.finditer(text):
            if found[1] and not learnt:  # the order of day and month matters
                times.learn(text)
                learnt = True
            try:
                return times.read(found[0])
            except UnknownTimeError:
                continue
        return None

    return key


def recognise(head: bytes) -> Format | None:
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


def _decoder(
    path: str,
    head: bytes,
    saved: bytes,
    options: EventOptions,
    needles: Prefilter,
    *,
    plan: JsonPlan | None,
) -> Decoder:
    maker = Maker(options)
    kept = read_decoder_state(saved)
    text = head.decode("utf-8", "replace").lstrip("\ufeff")
    form = kept.format if kept else recognise(head)
    if kept:
        maker.restore(kept.maker)
    else:
        maker.times.learn(text)
    match form:
        case "json":
            return JsonEvents(maker, needles, kept, plan)
        case "xml":
            return XmlEvents(maker, needles, kept)
        case "csv":
            layout = kept.layout if kept else None
            layout = layout or find_columns(text)
            if layout is not None:
                return CsvEvents(maker, needles, layout)
        case None:
            raise SourceError(f"{path}: not a supported input: no text")
    return TextEvents(maker, needles, kept)
