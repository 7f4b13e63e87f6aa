"""Records of an ESE provider that no reader understands, and the sentence on them."""

import re
from collections.abc import Sequence
from functools import lru_cache

from esewatch.ese.providers import PATTERNS
from esewatch.sources.logs.formats.prefilter import PREFIX

_LONGEST = 8_192
_STARTS = re.compile(
    r"[\s<\[(\"']{0,4}(?:\d|[A-Z][a-z]{2} [ \d]\d |[A-Z][A-Za-z]{3,10}[\s\]:|,]+\d)"
)
"""A line that begins with a time, a priority or a level."""


@lru_cache(maxsize=8)
def _places(providers: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    names = "|".join(sorted({*PATTERNS, *map(re.escape, providers)}, key=len, reverse=True))

    def name(group: str) -> str:
        return rf"(?P<{group}>(?<![\w.\\/-])(?:{names})(?![\w\\-]|\.\w))"

    closed = r"[\"'\\\])]{0,3}\s*(?:$|[,;|\r\n\t}<>/]| \S[^:=\n]{0,40}[:=])"
    in_place = [
        rf"[:=]\s*[\"'\\\[(]{{0,3}}{name('value')}{closed}",
        rf"\[{name('brackets')}\]",
        rf">\s?{name('element')}\s?<",
        rf"['\"]{name('quotes')}\\?['\"]\s*[,;:}}\]\t/>]",
        rf"(?<=[\t,;|]){name('cell')}(?=[\t,;|])",
    ]
    return (
        re.compile("|".join(in_place), re.MULTILINE),
        re.compile(
            rf"{name('numbered')}"
            r"(?P<number>[\s:\[(/#-]+(?:[Ee]vent ?I[Dd]\W{0,3})?\d{1,5}\b)?"
        ),
    )


def named_provider(text: str, providers: Sequence[str] = ()) -> str:
    """The ESE provider, or one of `providers`, that stands in a provider's place in this record, or
    before a process; empty where it is only a word. Case counts."""
    text = text[:_LONGEST]
    in_place, named = _places(tuple(providers))
    if (found := in_place.search(text)) is not None:
        return found[found.lastgroup or 0]
    for line in text.split("\n"):
        if (found := named.search(line)) is None:
            continue
        process = PREFIX.search(line.encode("utf-8", "replace"), found.end("numbered"))
        if process is not None or (found["number"] and _STARTS.match(line)):
            return found["numbered"]
    return ""


def sentence(provider: str) -> str:
    """The complaint on such a record."""
    return (
        f"a record of {provider} in no form that is read, or without its event id; export the log"
        " as EVTX (wevtutil epl Application ex01.evtx) or as JSON (Get-WinEvent | ConvertTo-Json)"
    )
