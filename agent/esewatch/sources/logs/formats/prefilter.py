"""The cheap filter before decoding: places in a block where a wanted event may stand."""

import re
from bisect import bisect_left
from collections.abc import Sequence

from esewatch.ese.companions.companion_table import PROVIDER_WORDS
from esewatch.ese.providers import WORDS

PREFIX = re.compile(
    rb"\((?:\d{1,10},[A-Z-],\d{1,20}(?:,[\d.]{1,32})?\)"
    rb"|(?:\d{1,10}|PID)\)(?:[ \t]*\r?\n"
    rb"|(?:[ \t]|\\[nr])+(?:[A-Z'\"]|[^\n]{1,300}?:(?:\s|\\[nr]))))"
)
"""`(pid,state,context,version)`, or `(pid)` with a sentence or `instance: ` behind it. All rendered
ESE texts have this behind the name of the process."""

_PROVIDERS = tuple(
    spelt.encode()
    for word in WORDS
    for spelt in ((word, word.lower(), word.title()) if len(word) > 3 else (word,))
)
"""`ese` in other letters is a word of several languages."""


class Prefilter:
    """Finds the offsets at which an event may stand. A miss is certain, a hit is not."""

    def __init__(self, providers: Sequence[str] = (), *, companions: bool = False) -> None:
        named = [*_PROVIDERS, *(word.encode() for word in PROVIDER_WORDS if companions)]
        for provider in providers:
            named += {provider.encode(), provider.lower().encode(), provider.upper().encode()}
        self._stems = _stems(list(filter(None, dict.fromkeys(named))))

    def hits_behind(self, data: bytes, start: int) -> list[int]:
        return [start + at for at in self.hits(data[start:])] if start else self.hits(data)

    def hits(self, data: bytes, extra: Sequence[bytes] = ()) -> list[int]:
        """Sorted offsets of all hits; `extra` are further words a format looks for."""
        found = [match.start() for match in PREFIX.finditer(data)] + self._named(data)
        for literal in extra:
            at = data.find(literal)
            while at >= 0:
                found.append(at)
                at = data.find(literal, at + len(literal))
        return sorted(found)

    def any_in(self, data: bytes) -> bool:
        return bool(PREFIX.search(data) or self._named(data))

    def _named(self, data: bytes) -> list[int]:
        """Offsets of providers' names. One search finds all spellings of all names of a stem."""
        low = data.lower()
        return [
            at
            for stem, names in self._stems
            for at in [match.start() for match in stem.finditer(low)]
            if names.match(data, at)
        ]


def hit_between(hits: Sequence[int], start: int, end: int) -> bool:
    index = bisect_left(hits, start)
    return index < len(hits) and hits[index] < end


def _stems(names: list[bytes]) -> list[tuple[re.Pattern[bytes], re.Pattern[bytes]]]:
    """Lower-case beginnings, each with the names that begin so, whole and as spelt."""
    stems: list[bytes] = []
    for low in sorted({name.lower() for name in names}, key=len):
        if not low.startswith(tuple(stems)):
            stems.append(low)
    found = []
    for stem in stems:
        # Where a word begins; the `t` of `\t` in JSON is no part of a word. The look behind stands
        # behind the stem, so that the search is for a fixed text.
        literal = re.escape(stem)
        word = re.compile(literal + rb"(?<![^\\][A-Za-z]" + literal + rb")")
        whole = b"|".join(
            re.escape(name) + (rb"(?![A-Za-z])" if name[-1:].isalpha() else b"")
            for name in names
            if name.lower().startswith(stem)
        )
        found.append((word, re.compile(whole)))
    return found
