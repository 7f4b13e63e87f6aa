"""Which event is this text? Short key phrases of the English texts, nothing more."""

import re
from functools import cache

from esewatch.ese.catalogue import CATALOGUE

LONGEST_TEXT = 65_536
"""Characters of a message that are looked at; real ones stay far below."""

_CUT = re.compile(r"\s*(?:\.{3,}|…)\s*$")
_SHORTEST_HEAD = 24


def uncut(text: str) -> tuple[str, bool]:
    """The text without the dots of a cut message, and whether it is whole."""
    bare = _CUT.sub("", text[-64:])
    whole = len(bare) == len(text[-64:])
    return (text if whole else text[:-64] + bare), whole


@cache
def _by_weight() -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Ids with their phrases, the most specific first."""
    known = [(row.event_id, row.phrases) for row in CATALOGUE.values() if row.phrases]
    return tuple(sorted(known, key=lambda item: -sum(map(len, item[1]))))


def folded(text: str) -> str:
    """Lower case, any white space as one blank: the form in which phrases are compared."""
    return " ".join(text[:LONGEST_TEXT].lower().split())


def has_phrases(event_id: int, folded_text: str) -> bool:
    """Whether the folded text has the words of this event."""
    phrases = CATALOGUE[event_id].phrases
    return bool(phrases) and all(phrase in folded_text for phrase in phrases)


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
    for event_id, phrases in _by_weight():
        if all(phrase in words for phrase in phrases):
            return event_id
    return None if whole else _by_head(words)
