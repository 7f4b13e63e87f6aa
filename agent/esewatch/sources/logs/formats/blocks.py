"""Events as blocks of labelled lines: Event Viewer's copy, wevtutil, classic logs, Format-List."""

import re
from functools import lru_cache
from typing import NamedTuple

from esewatch.ese.raw_event import RawEvent
from esewatch.sources.logs.formats.fields import (
    FIELD_OF,
    event_number,
    gather,
    integer,
    labelled,
    plain,
    words_of,
)
from esewatch.sources.logs.formats.times import leading_time, looks_dated

LABEL = re.compile(
    r"[ \t]*(?P<label>[^\W\d_][^:\n\t\d=]{0,30}?)[ \t]*"
    r"(?::[ \t]+(?P<value>[^\n]*)|:[ \t]*$|(?<=[^\W\d_]{6}):(?P<tight>[^\W\d_][^\n]*))"
)
"""`label: value`; a long label may stand right before its value (`Aufgabenkategorie:Keine`)."""
_TIGHT = re.compile(
    r"(?P<label>[^\W\d_][^:\n\t\d=]{7,30}?)[ \t]*:(?P<value>[^\s:\\/][^\n]*)(?P<tight>)"
)
"""The same of a label of several words, or a known one, before a number or a bracket."""
_DCDIAG = re.compile(r"\s*An? \w+ Event occurr?ed\.\s+EventID: (0x[0-9A-Fa-f]{1,8})")
_PAIR = re.compile(r"([A-Za-z]\w{1,30})=([^\n]*)")
_TWO = re.compile(
    r"\[(?P<recordid>\d+)\] (?P<source>[A-Z][^:\n]{1,60})"
    r"|[ \t]+Time:[ \t]+(?P<date>\d[^\n]*?)[ \t]{2,}ID:[ \t]+(?P<eventid>\d+)[ \t]*"
)
"""The lines of PsLogList that say two things."""
_BEFORE_QUOTE = (">", " ", "\t")
_QUOTES = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_FOLDER = re.compile(r"(?:[A-Za-z]:|\\\\)[^\"'“”«»]*\\\Z")
_TIGHT_LABEL = 12
"""Letters of a label of which that is believed though it is not known."""

_ALIGNED = re.compile(r"\w+ +: ")
"""A line of `Format-List`."""
_INDENT = " " * 6
"""With so much, or more, begins a line that `Format-List` wrapped."""

_SEPARATOR = re.compile(r"\s*(?:={3,}|-{5,}|\*{3,}|#{3,})")
_NUMBERED = re.compile(r"\s*Event\s?\[\d+\]:?\s*$")
_STARTERS = frozenset({"eventid", *map(plain, words_of("type", "channel"))} - {"log"})
_ORDER = ("logname", "source", "date", "eventid", "", "level", "", "", "computer")
"""Order of the labels in Event Viewer's "copy as text", in every language."""

_ABSENT = frozenset({"n/a", "-", "not available", "nicht zutreffend"})
_EMBEDDED = re.compile(r"\s*(?:Event Xml|Ereignis-XML|XML de l[^:]*|XML de evento|XML evento)\s*:")
_DIGIT = re.compile(r"\d")
_HEADER_LINES = 16
_BESIDE_ID = ("provider", "level", "time")


class Label(NamedTuple):
    name: str
    value: str
    indent: int
    pair: bool = False
    """`name=value`, as Splunk and WMI write it: the message may be followed by more of them."""


@lru_cache(maxsize=128)
def label_of(line: str) -> Label | None:
    """The label and value of a line; None when it is no labelled line."""
    line = unquoted(line)
    if line.rstrip().endswith(":\\") and plain(line) in FIELD_OF:
        line = line.rstrip().removesuffix("\\")
    if (number := _DCDIAG.match(line)) is not None:
        return Label("eventid", number[1], 0)
    if (two := _TWO.fullmatch(line.rstrip())) is not None:
        name = "source" if two["source"] else "eventid"
        return Label(name, two[name], 0)
    if (pair := _PAIR.match(line)) is not None:
        return Label(labelled(pair[1]), pair[2].strip(), 0, pair=True)
    found = LABEL.match(line) or _TIGHT.match(line)
    if found is None:
        return None
    name = labelled(found["label"])
    is_tight = found.re is _TIGHT
    if is_tight and name not in FIELD_OF and len(found["label"]) < _TIGHT_LABEL:
        return None
    value = (found["value"] or found["tight"] or "").strip()
    return Label(name, _unbroken(value), found.start("label"))


def unquoted(text: str) -> str:
    """Without the marks with which a mail quotes each line."""
    is_quoted = text[:1] in _BEFORE_QUOTE and text.lstrip()[:1] == ">"
    return _QUOTES.sub("", text) if is_quoted else text


def _unbroken(text: str) -> str:
    """Without the backslash with which some editors end a line; that of a folder stays."""
    return text if _FOLDER.search(text) else text.removesuffix("\\").rstrip()


def continues(line: str) -> bool:
    """True if it may be the rest of a line that `Format-List` wrapped, whatever it looks like."""
    return line.startswith(_INDENT) and not line.isspace()


@lru_cache(maxsize=128)
def is_barren(line: str) -> bool:
    """Is it a label without a number, or more of its value? Of such lines alone none is the header
    of an event."""
    if not _DIGIT.search(line):
        return continues(line) or label_of(line) is not None
    label = None if continues(line) else label_of(line)
    return label is not None and integer(label.value) is None and event_number(label.value) is None


def is_date(line: str) -> bool:
    """Is it nothing but a date and a time, with which Splunk begins a record?"""
    time, rest = leading_time(line.strip())
    return bool(time) and not rest


def is_separator(line: str) -> bool:
    """Is it a rule such as `=====`, perhaps with a title behind it?"""
    return _SEPARATOR.match(line) is not None


def ends_block(line: str, first: str) -> bool:
    """True if this line begins something new. `first` is the first label of the running block."""
    if is_separator(line) or _NUMBERED.match(line):
        return True
    label = label_of(line)
    return label is not None and (label.name in _STARTERS or label.name == first)


class BlockHeader(NamedTuple):
    values: dict[str, object]
    lines: int
    """Number of lines of the header; the message begins behind them."""
    message: str
    first: str
    pairs: bool = False


def read_header(lines: list[str]) -> BlockHeader | None:
    """The header at the start of `lines`; None when they do not begin a block of an event."""
    labels: list[Label] = []
    count = 0
    message = ""
    aligned = bool(lines) and _ALIGNED.match(lines[0]) is not None
    for line in lines[: (8 if aligned else 2) * _HEADER_LINES]:
        if aligned and labels and continues(line):
            count += 1
            last = labels[-1]
            labels[-1] = last._replace(value=f"{last.value}\n{line.strip()}".strip())
            continue
        label = label_of(line)
        if label is None and count == 0 and is_date(line):
            label = Label("date", line.strip(), 0, pair=True)
        if label is None and (not _NUMBERED.match(line) or labels):
            break
        count += 1
        if label is None:
            continue
        if FIELD_OF.get(label.name) == "message" and _knows(labels):
            ends = True
        else:
            ends = len(labels) == len(_ORDER) and _in_order(labels) and not _knows(labels)
        if ends:
            message = label.value
            break
        labels.append(label)
        if (two := _TWO.fullmatch(line.rstrip())) is not None:
            beside = "recordid" if two["source"] else "date"
            labels.append(Label(beside, two[beside], 0))
    if not labels:
        return None
    if _knows(labels):
        values: dict[str, object] = {}
        for label in labels:
            values.setdefault(label.name, label.value)
        return BlockHeader(values, count, message, labels[0].name, labels[-1].pair)
    if _in_order(labels):
        values = {name: label.value for name, label in zip(_ORDER, labels, strict=False) if name}
        return BlockHeader(values, count, message, labels[0].name)
    return None


def _knows(labels: list[Label]) -> bool:
    numbered = other = False
    for label in labels:
        field = FIELD_OF.get(label.name)
        other = other or field in _BESIDE_ID
        numbered = numbered or (field == "event_id" and event_number(label.value) is not None)
    return numbered and other


def _in_order(labels: list[Label]) -> bool:
    return (
        len(labels) >= len(_ORDER)
        and looks_dated(labels[2].value)
        and integer(labels[3].value) is not None
    )


def read_block(text: str) -> RawEvent | None:
    lines = unquoted(text).splitlines()
    header = read_header(lines)
    if header is None:
        return None
    values = {
        name: value
        for name, value in header.values.items()
        if str(value).lower() not in _ABSENT and value != ""
    }
    join_date(values)
    body = [header.message, *lines[header.lines :]]
    message, trailing = _message(body, pairs=header.pairs)
    for name, value in trailing.items():
        values.setdefault(name, value)
    found = gather(values)
    found.message = message or found.message
    return found


def join_date(values: dict[str, object]) -> None:
    """Classic blocks give date and time of day in two lines."""
    date, clock = values.get("date"), values.get("time")
    if isinstance(date, str) and isinstance(clock, str):
        values["date"] = f"{date} {clock}"
        del values["time"]
    elif isinstance(clock, str) and not looks_dated(clock):
        del values["time"]


def _message(body: list[str], *, pairs: bool) -> tuple[str, dict[str, object]]:
    """The message, and labels behind it as `Format-List` prints them (`Source  : NTDS ISAM`), or
    WMI (`SourceName=ESENT`)."""
    kept: list[str] = []
    trailing: dict[str, object] = {}
    for line in body:
        if _EMBEDDED.match(line):
            break
        label = label_of(line)
        is_more = label is not None and (
            label.pair and label.name in FIELD_OF
            if pairs
            else label.indent == 0 and _ALIGNED.match(line) is not None
        )
        if label is not None and is_more:
            trailing[label.name] = label.value
        elif not trailing:
            kept.append(_unbroken(line.strip()))
    return "\n".join(kept).strip(), trailing
