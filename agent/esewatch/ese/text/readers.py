"""Cache of patterns for texts read before: one pattern finds what the hints find one by one.

The events of an installation are a few sentences in which only the numbers change. A reader is
made from a text that was read by the hints: its words as they are, any number for a number,
and free pieces (instance, paths). It is trusted for the free pieces for which the hints gave
the same result, so it gives the same as they do: the hints tell numbers apart only by their
length, and where that matters the pattern contains it.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from esewatch.ese.catalogue.event_row import Kind
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.dates import DateOrder
from esewatch.ese.strings import GROUPS, Fields, FieldStep, RowPlan, add_page_number, prepared
from esewatch.ese.text.english import Finder, HintPlace, database_of

_LONGEST = 1024
_READERS = 8
"""Readers of one event: each engine has its words, with and without an instance."""
_KNOWN = 512
"""Free pieces a reader is trusted for; it starts over beyond that."""
_DIGITS = 12
"""This many digits fit every pattern of the hints."""
_LONGEST_DATE = 63
_DATE_WORDS = 6
"""Characters of the words before a date, of which every hint has more."""

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|[0-9]+")
_DECIMAL = re.compile(rf"[0-9]{{1,{_DIGITS}}}")
_GROUP = re.compile(GROUPS)
_LEAD = re.compile(r"(?:[^:]{1,200}: )?")
_FREE = frozenset({Kind.DATABASE, Kind.FILE, Kind.TEXT})
_CODE = re.compile(r"(?<=[^\w\s])(?![0-9]+[bB]\W)[0-9A-Fa-f]{8,64}(?=[^\w\s])")
"""A checksum, or the name of a log: no word of a hint is in it, nor is it a size in bytes."""
_COUNTS = frozenset({Kind.INT, Kind.VERSION, Kind.SIGNED})
"""Kinds to which up to 12 digits are the number itself."""

_Span = tuple[int, int]
Recalled = tuple[str, int, str, Fields]
"""The result of a reader: the instance, the start of the message, database and fields."""


class _Piece(NamedTuple):
    """A stretch of a text that may be another in the next text: a number, or anything."""

    start: int
    end: int
    free: bool


class _Reader(NamedTuple):
    """A pattern, its free groups, its group of each parameter, and what free pieces give."""

    pattern: re.Pattern[str]
    free: tuple[int, ...]
    steps: tuple[tuple[Finder, int], ...]
    fields: RowPlan
    """From the groups to the fields of the event."""
    known: dict[object, tuple[str, str]]
    """Free pieces, their codes made alike -> the instance and the database."""
    page_error: bool


_readers: dict[int, list[_Reader]] = {}


def recalled(event_id: int, text: str, date_order: DateOrder | None = None) -> Recalled | None:
    """The result of the hints for `text`, which follows the process; None if unknown."""
    for reader in _readers.get(event_id, ()):
        match = reader.pattern.fullmatch(text)
        if match is None:
            continue
        known = reader.known.get(match.group(*reader.free))
        if known is None:
            # The free pieces may differ from known ones in their codes alone.
            known = reader.known.get(_uncoded(match, reader))
            if known is None:
                continue
            if known[1]:
                named = ((finder, match[group + 1]) for finder, group in reader.steps)
                known = known[0], database_of(named)
        fields = reader.fields(match.groups(), date_order)
        if reader.page_error:
            add_page_number(fields)
        return known[0], match.end(1), known[1], fields
    return None


def _uncoded(match: re.Match[str], reader: _Reader) -> object:
    """The free pieces, with one code for all of its length: numbers apart from others."""
    instance, text = match[1], f" {match.string} "
    spans = [match.span(group) for group in reader.free[1:]]
    shown = [_CODE.sub(_any_code, text[at : end + 2]) for at, end in spans]
    return (instance, *(each[1:-1] for each in shown)) if shown else instance


def _any_code(code: re.Match[str]) -> str:
    return ("0" if code[0].isdecimal() else "a") * len(code[0])


def remember(
    event_id: int, text: str, instance: str, start: int, places: Sequence[HintPlace]
) -> None:
    """Learn from a whole text that has the words of the event. `start` is where the message begins
    in `text`, with words of ESE; in the message are the `places`."""
    if len(text) > _LONGEST or not _is_plain(event_id):
        return
    places = [HintPlace(finder, start + at, start + end) for finder, at, end in places]
    readers = _readers.setdefault(event_id, [])
    if any(_trust(reader, text, instance, start, places) for reader in readers):
        return
    made = _made(event_id, text, start, places) if len(readers) < _READERS else None
    if made is not None and _trust(made, text, instance, start, places):
        readers.append(made)


@cache
def _is_plain(event_id: int) -> bool:
    """True if no pattern of the event asks for a certain digit."""
    row = CATALOGUE[event_id]
    words = [*row.phrases, *(hint for param in row.params for hint in param.hints)]
    timed = any(param.kind is Kind.TIMING for param in row.params)
    return not timed and not any(mark.isdigit() for mark in "".join(words))


def _trust(
    reader: _Reader, text: str, instance: str, start: int, places: Sequence[HintPlace]
) -> bool:
    """Trust the reader for the free pieces of this text, if it found the same as the hints."""
    match = reader.pattern.fullmatch(text)
    if match is None or match.end(1) != start or any("\n" in text[a:b] for _, a, b in places):
        return False
    if [HintPlace(finder, *match.span(group + 1)) for finder, group in reader.steps] != places:
        return False
    if len(reader.known) >= _KNOWN:
        reader.known.clear()
    database = database_of((finder, text[at:end]) for finder, at, end in places)
    reader.known[_uncoded(match, reader)] = instance, database
    return True


def _made(event_id: int, text: str, start: int, places: Sequence[HintPlace]) -> _Reader | None:
    """A reader of texts like this one; None where numbers and words cannot be separated."""
    spans = sorted({(place.start, place.end) for place in places})
    free = {place[1:] for place in places if place.finder.kind in _FREE}
    if not _LEAD.fullmatch(text, 0, start) or not _are_apart(text, start, spans):
        return None
    if any(_is_long(text, place) for place in places if place.finder.kind is Kind.DATE):
        return None
    pieces = list(_pieces(text, start, free))
    fixed = _fixed(text, pieces)
    if fixed is None:
        return None
    steps = tuple((place.finder, spans.index(place[1:]) + 1) for place in places)
    groups = (1, *(number for number, span in enumerate(spans, 2) if span in free))
    digits = {piece[:2] for piece in pieces if _DECIMAL.fullmatch(text, *piece[:2])}
    written = [
        FieldStep(
            group, finder.name, finder.writer, finder.kind in _COUNTS and spans[group - 1] in digits
        )
        for finder, group in steps
        if finder.writer is not None
    ]
    row = CATALOGUE[event_id]
    pattern = _pattern(text, start, spans, pieces, fixed)
    return _Reader(pattern, groups, steps, prepared(row.constants, written), {}, row.page_error)


def _pattern(
    text: str, start: int, spans: list[_Span], pieces: list[_Piece], fixed: set[_Piece]
) -> re.Pattern[str]:
    """A group for the text before the message, then one for each span."""
    parts = [r"([^:]{1,200}: )" if start else "()"]
    by_start = {piece.start: piece for piece in pieces}
    opens, closes = {span[0] for span in spans}, {span[1] for span in spans}
    edges = {start, len(text), *opens, *closes, *by_start, *(piece.end for piece in pieces)}
    for at, end in pairwise(sorted(edges)):
        piece = by_start.get(at)
        shown = _one(text, piece, fixed) if piece else re.escape(text[at:end])
        parts.append(f"{'(' * (at in opens)}{shown}{')' * (end in closes)}")
    return re.compile("".join(parts))


def _are_apart(text: str, start: int, spans: list[_Span]) -> bool:
    edges = [edge for span in spans for edge in span]
    return all(one < other for one, other in pairwise([start - 1, *edges])) and not any(
        0 < at < len(text) and text[at - 1 : at + 1].isalnum() for at in edges
    )


def _is_long(text: str, place: HintPlace) -> bool:
    """True if the length of a date matters: near the limit, or where another may stand before."""
    date = text[place.start : place.end]
    words = " ".join(text[: place.start].lower().split())[-_DATE_WORDS:]
    if " ".join(text.lower().split()).count(words) > 1:
        return True
    return len(date) + _DIGITS * len(_NUMBER.findall(date)) > _LONGEST_DATE


def _pieces(text: str, start: int, free: set[_Span]) -> Iterator[_Piece]:
    at = start
    for span in [*sorted(free), (len(text), len(text))]:
        for number in _NUMBER.finditer(text, at, span[0]):
            yield _Piece(*number.span(), free=False)
        if span in free:
            yield _Piece(*span, free=True)
        at = span[1]


def _fixed(text: str, pieces: list[_Piece]) -> set[_Piece] | None:
    """Numbers whose length matters: they may be parts of a grouped one, or are very long. None when
    pieces touch, so that the end of one cannot be told."""
    fixed = {piece for piece in pieces if piece.end - piece.start > _DIGITS}
    for one, other in pairwise(pieces):
        between = text[one.end : other.start]
        if not between or between[0] in "xX":
            return None
        if _GROUP.fullmatch(between):
            fixed |= {one, other}
    return fixed


def _one(text: str, piece: _Piece, fixed: set[_Piece]) -> str:
    """The pattern of a piece. That of a free one goes to the character behind it, no further; a
    point may also stand in a path."""
    shown = text[piece.start : piece.end]
    if piece.free:
        behind = text[piece.end : piece.end + 1].strip(".")
        return rf"[^{re.escape(behind)}]++" if behind else r"[^\n]+"
    hexed = shown[1:2] in ("x", "X")
    count = len(shown) - 2 * hexed
    size = f"{{{count}}}" if piece in fixed else f"{{1,{_DIGITS}}}"
    return (shown[:2] + "[0-9a-fA-F]" if hexed else "[0-9]") + size
