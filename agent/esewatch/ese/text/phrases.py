"""Recognition of an event by its text: short key phrases of the English texts, nothing more."""

import re
from collections import Counter
from functools import cache
from itertools import chain

from esewatch.ese.catalogue.event_table import CATALOGUE

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
    """Ids with their phrases, the most specific first."""
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
    """Lower case, any white space as one blank: the form in which phrases are compared."""
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
    """The id of the event whose key phrases the English text has, None if of no event.

    The text may be wrapped anywhere between words and cut (`...`) at its end. The
    same words of two generations are told apart only where the text goes that far:
    721 and 732 begin alike, as do 735 and 737; the first of each pair is 721 and 737.
    """
    bare, whole = uncut(text[:LONGEST_TEXT])
    words = folded(bare)
    index, wordless = _by_word()
    places = set(wordless).union(*(index[word] for word in index.keys() & set(words.split())))
    for place in sorted(places):
        event_id, phrases = _by_weight()[place]
        if all(phrase in words for phrase in phrases):
            return event_id
    return None if whole else _by_head(words)
