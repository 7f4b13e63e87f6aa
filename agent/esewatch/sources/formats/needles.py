"""The cheap filter before decoding: where in a block may an event of ours stand?"""

import re
from collections.abc import Sequence

from esewatch.ese.catalogue_companions import PROVIDER_WORDS

PREFIX = re.compile(
    rb"\((?:\d{1,10},[A-Z-],\d{1,20}(?:,[\d.]{1,32})?\)"
    rb"|\d{1,10}\)(?:[ \t]*\r?\n|(?:[ \t]|\\[nr])+(?:[A-Z'\"]|[^\n]{1,300}?:(?:\s|\\[nr]))))"
)
"""`(pid,state,context,version)`, or `(pid)` with a sentence or `instance: ` behind it.

All rendered ESE texts have this behind the name of the process.
"""

_PROVIDERS = (b"ESE", b"ESENT", b"NTDS ISAM", b"esent", b"ntds isam", b"Esent", b"Ntds Isam")


class Needles:
    """Finds the offsets at which an event may be told. A miss is certain, a hit is not."""

    def __init__(self, providers: Sequence[str] = (), *, companions: bool = False) -> None:
        named = [*_PROVIDERS, *(word.encode() for word in PROVIDER_WORDS if companions)]
        for provider in providers:
            named += {provider.encode(), provider.lower().encode(), provider.upper().encode()}
        self._names = [_word(name) for name in dict.fromkeys(named) if name]

    def hits(self, data: bytes, extra: Sequence[bytes] = ()) -> list[int]:
        """Sorted offsets of all hits; `extra` are further words a format looks for."""
        found = [match.start() for match in PREFIX.finditer(data)]
        for name in self._names:
            found += [match.start() for match in name.finditer(data)]
        for literal in extra:
            at = data.find(literal)
            while at >= 0:
                found.append(at)
                at = data.find(literal, at + len(literal))
        found.sort()
        return found

    def any_in(self, data: bytes) -> bool:
        """May this piece tell an event, by a provider or a process in it?"""
        return any(name.search(data) for name in self._names) or bool(PREFIX.search(data))


def _word(name: bytes) -> re.Pattern[bytes]:
    """Finds `name` as a word of its own; the `t` of `\\t` in JSON is no part of a word.

    The look behind stands behind the name, so that the search is for a fixed text.
    """
    literal = re.escape(name)
    after = rb"(?![A-Za-z])" if name[-1:].isalpha() else b""
    return re.compile(literal + rb"(?<![^\\][A-Za-z]" + literal + rb")" + after)
