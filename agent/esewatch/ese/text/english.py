"""English texts: the event by short key phrases, its parameters by the hints of the catalogue.

The patterns of a row are compiled when its first text comes. All are bounded: a
hostile message costs no more than its length times a small constant. They are
searched in the lower-case text, where a pattern that begins with a word is found fast.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

from esewatch.ese import strings
from esewatch.ese.catalogue.event_row import Kind
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.dates import DateOrder

LONGEST_TEXT = 65_536
"""Characters of a message that are searched; real messages are far shorter."""

_CUT = re.compile(r"\s*(?:\.{3,}|…)\s*$")
_SHORTEST_HEAD = 24


def uncut(text: str) -> tuple[str, bool]:
    """The text without the dots of a cut message, and whether it is whole."""
    if not text[-64:].rstrip().endswith(("...", "…")):
        return text, True
    return text[:-64] + _CUT.sub("", text[-64:]), False


@cache
def _by_weight() -> tuple[tuple[int, tuple[str, ...]], ...]:
    known = [(row.event_id, row.phrases) for row in CATALOGUE.values() if row.phrases]
    return tuple(sorted(known, key=lambda item: -sum(map(len, item[1]))))


@cache
def _by_word() -> tuple[dict[str, tuple[int, ...]], tuple[int, ...]]:
    """The rarest whole word of each id's phrases -> places in `_by_weight`; places without one. The
    first and last word of a phrase may be parts of words of the text."""
    inner = [
        {word for phrase in phrases for word in phrase.split()[1:-1]} for _, phrases in _by_weight()
    ]
    often = Counter(chain.from_iterable(inner))
    index: dict[str, tuple[int, ...]] = {}
    wordless = []
    for place, words in enumerate(inner):
        if not words:
            wordless.append(place)
            continue
        rarest = min(words, key=lambda word: (often[word], word))
        index[rarest] = (*index.get(rarest, ()), place)
    return index, tuple(wordless)


def folded(text: str) -> str:
    return " ".join(text[:LONGEST_TEXT].lower().split())


def has_phrases(event_id: int, text: str) -> bool:
    """True if the text has the words of this event; it may be wrapped anywhere between words."""
    phrases = CATALOGUE[event_id].phrases
    # Most texts have single blanks already, and a phrase found in them needs no folding.
    low = text[:LONGEST_TEXT].lower()
    if all(phrase in low for phrase in phrases):
        return bool(phrases)
    words = " ".join(low.split())
    return all(phrase in words for phrase in phrases)


def _by_head(folded_text: str) -> int | None:
    """A cut text that ends inside the first phrase of only one event."""
    found = {
        event_id
        for event_id, phrases in _by_weight()
        for size in range(min(len(phrases[0]), len(folded_text)), _SHORTEST_HEAD - 1, -1)
        if folded_text.endswith(phrases[0][:size])
    }
    return found.pop() if len(found) == 1 else None


def find_phrase(text: str) -> int | None:
    """The id of the event whose key phrases the English text has, None if of no event. The text may
    be wrapped anywhere between words and cut (`...`) at its end. The same words of two generations
    are told apart only where the text goes that far: 721 and 732 begin alike, as do 735 and 737;
    the first of each pair is 721 and 737."""
    bare, whole = uncut(text[:LONGEST_TEXT])
    words = folded(bare)
    index, wordless = _by_word()
    places = set(wordless).union(*(index[word] for word in index.keys() & set(words.split())))
    for place in sorted(places):
        event_id, phrases = _by_weight()[place]
        if all(phrase in words for phrase in phrases):
            return event_id
    return None if whole else _by_head(words)


_INT = rf"-?\d{{1,3}}(?:{strings.GROUPS}\d{{2,3}}){{1,6}}(?!\d)|-?\d{{1,20}}"
_HEXED = r"(?:\s*\(\s*0x[0-9a-f]{1,16}\s*\))?"
_VALUES: dict[Kind, str] = {
    Kind.INT: rf"(?:{_INT}){_HEXED}",
    Kind.VERSION: r"\d{1,5}",
    Kind.SIGNED: rf"(?:{_INT}){_HEXED}",
    Kind.EXPECTED_PAGE: rf"(?:{_INT}){_HEXED}",
    Kind.MINUTES: _INT,
    Kind.ADD_SECONDS: _INT,
    Kind.ERROR: rf"-?\d{{1,20}}{_HEXED}|0x[0-9a-f]{{1,16}}",
    Kind.DECIMAL: r"\d{1,12}(?:[.,]\d{1,9})?",
    Kind.STATS: r"(?:-?\d{1,19}|-)\s*,\s*(?:-?\d{1,19}|-)",
    Kind.SIZE: r"\d{1,12}(?:[.,]\d{1,3})?\s*(?:[kmgt]?b(?:ytes)?)?",
    Kind.TIMING: r"\[1\]\s*\d{1,9}(?:\.\d{1,9})?",
    Kind.OWNED: r"\s*/\s*\d{1,19}\s*=\s*[\d.,]{1,12}",
    Kind.DATE: r"\S.{0,63}?",
}
_WORDS = r"\S.{0,1023}?"
_ROOT = r"(?:\\\\[?.]\\)?(?:[a-z]:|\\\\|unc\\|volume\{)"
_IN_PATH = r"[^\n\"<>|*?:]"
_PATH = rf"{_ROOT}{_IN_PATH}{{1,1023}}?\.[^\W\d_]\w{{0,7}}"
"""A whole path without quotes: up to an extension."""
_LINE = rf"{_ROOT}{_IN_PATH}{{1,1023}}(?=\n|$)"
"""One that ends with its line."""
_FILES = (Kind.DATABASE, Kind.FILE)
_TOKEN = r"[^\s'\"\[(]\S{0,1023}?"
_QUOTES = r"(?:'({0})'|\"({0})\"|\[({0})\]|[“„«]({0})[”“»])"
_NUMBERS = frozenset(_VALUES) - {Kind.DATE, Kind.OWNED, Kind.TIMING}
_IN_NUMBERS = "0123456789abcdefx() -,.'’\u00a0\u202f\u2009"
_LONGEST_NUMBER = 64
"""Characters in which a number stands with its groups and its hexadecimal form."""


class _Labelled(NamedTuple):
    """A label with its number behind (`Pages seen: 5`) or before it (`5 pages seen`). The words are
    looked for first, which is fast. The first form goes first: in a list of that form the second
    misreads."""

    words: re.Pattern[str]
    alone: re.Pattern[str]
    behind: re.Pattern[str]
    after: re.Pattern[str]
    before: re.Pattern[str]

    def search(self, low: str) -> re.Match[str] | None:
        places = [match.span() for match in self.words.finditer(low)]
        for start, end in places:
            if (match := self.behind.match(low, end)) and self.alone.match(low, start):
                return match
        for start, end in places:
            if self.after.match(low, end) and (match := self._number(low, start)):
                return match
        return None

    def _number(self, low: str, start: int) -> re.Match[str] | None:
        near = low[max(0, start - _LONGEST_NUMBER) : start].rstrip()
        stop = start - (min(start, _LONGEST_NUMBER) - len(near))
        begin = stop - len(near) + len(near.rstrip(_IN_NUMBERS))
        return self.before.search(low, begin, stop) if stop < start else None


class Finder(NamedTuple):
    name: str
    kind: Kind
    writer: strings.Writer | None
    patterns: tuple[re.Pattern[str] | _Labelled, ...]


class HintPlace(NamedTuple):
    finder: Finder
    start: int
    end: int


def _words(literal: str) -> str:
    """A literal of a hint, where any white space stands for a space and `#` for a number."""
    return r"\s+".join(map(re.escape, literal.split())).replace(r"\#", r"\d{1,20}")


def _before(literal: str) -> str:
    lead = r"(?<=\s)" if literal[:1] == " " else ""
    return lead + _words(literal) + r"\s*"


def _after(literal: str) -> str:
    if not literal.strip():
        return r"\s"
    lead = r"\s+" if literal[:1] == " " else r"\s*"
    return lead + _words(literal) + (r"\s+" if literal[-1:] == " " else "")


def _labelled(label: str, value: str) -> _Labelled:
    words = _words(label)
    return _Labelled(
        _compiled(words),
        _compiled(r"(?<![a-z])(?<![a-z] )"),
        _compiled(rf"\s*[:=]\s*({value})(?!\w)"),
        _compiled(r"\b(?!\s*[:=])"),
        _compiled(rf"(?<![\w.,'’-])({value})\Z"),
    )


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


def _sought(hint: str, kind: Kind) -> re.Pattern[str] | _Labelled:
    is_label = hint.startswith("=")
    return _labelled(hint[1:], _VALUES[kind]) if is_label else _compiled(_pattern(hint, kind))


def _pattern(hint: str, kind: Kind) -> str:
    left, _, right = hint.partition("{}")
    if left.endswith("'") and right.startswith("'"):
        end = _after(right[1:]) if right[1:] else r"(?=[\s,.:;)!?]|$)"
        return _before(left[:-1]) + _QUOTES.format(_WORDS) + end
    before = _before(left) if left else r"(?<![\w.,'’-])"
    value = rf"{_PATH}|{_WORDS}" if kind in _FILES else _VALUES.get(kind, _WORDS)
    if right[-1:] == "." and kind not in _VALUES:
        return rf"{before}({_PATH}|{_WORDS}){_after(right)}(?=\s|$)"
    if right:
        return rf"{before}({value}){_after(right)}"
    if kind in _FILES:
        line = f"{_LINE}|" if left.rstrip().endswith(":") else ""
        return rf"{before}({line}(?:{_PATH}|{_TOKEN})(?=[.,;:]?(?:\s|$)))"
    if kind in _NUMBERS:
        return rf"{before}({value})(?!\w)"
    if kind in _VALUES:
        return rf"{before}({value})"
    return rf"{before}([^\n]{{1,1024}}?)(?=\.?\s*(?:\n|$))"


@cache
def _finders(event_id: int) -> tuple[Finder, ...]:
    return tuple(
        Finder(name, kind, strings.WRITERS.get(kind), tuple(_sought(hint, kind) for hint in hints))
        for name, kind, hints in CATALOGUE[event_id].params
        if hints
    )


def _place(finder: Finder, low: str, whole: bool) -> HintPlace | None:
    """The first value found. One that touches the end of a cut message may be cut itself."""
    for pattern in finder.patterns:
        match = pattern.search(low)
        if match is not None and match.lastindex is not None:
            start, end = match.span(match.lastindex)
            if whole or end < len(low):
                return HintPlace(finder, start, end)
    return None


def places_of(event_id: int, text: str, whole: bool) -> list[HintPlace]:
    """Places of the values of a known event in its English text. `text` has single line feeds for
    line breaks; `whole` says that it is not cut."""
    low = strings.lowered(text)
    found = (_place(finder, low, whole) for finder in _finders(event_id))
    return [place for place in found if place is not None]


def database_of(values: Iterable[tuple[Finder, str]]) -> str:
    """The database among what stands in a text for its parameters."""
    database = ""
    for finder, value in values:
        if finder.kind in _FILES:
            path = strings.parse_path(value.replace("\n", " "))
            if finder.kind is Kind.DATABASE or strings.is_database_path(path):
                database = path
    return database


def fields_of_values(
    event_id: int, values: Sequence[tuple[Finder, str]], date_order: DateOrder | None
) -> tuple[str, strings.Fields]:
    """Database and fields of an event from what stands in its text for its parameters. The names
    and values are those that the positional strings give."""
    row = CATALOGUE[event_id]
    fields: strings.Fields = dict(row.constants)
    for finder, value in values:
        if finder.writer is not None:
            finder.writer(fields, finder.name, value.replace("\n", " "), date_order)
    if row.page_error:
        strings.add_page_number(fields)
    return database_of(values), fields
