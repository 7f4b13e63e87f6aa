"""The catalogue of a binary performance log: which counters each of its samples holds."""

import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

Form = Literal["single", "wildcard", "object", "unknown"]

MOST_ENTRIES: Final = 100_000
LONGEST_NAME: Final = 2048
"""Bytes of a name of a counter or an instance."""

_BEFORE: Final = 8
_ENTRY: Final = struct.Struct("<IIIIqiiiiiIi")
_STRINGS_AT: Final = 52
_FORMS: Final[dict[int, Form]] = {0: "single", 1: "wildcard", 0x10: "object"}
_FORM_BITS: Final = 0x1F


class Entry(NamedTuple):
    """One entry: a counter of one instance, of all instances (`*`), or all of an object. Each
    sample has a record for it, which says its own form: this one is what was asked for."""

    form: Form
    type: int
    frequency: int
    """Units a second of the counter's clock; 0 in entries of whole objects."""
    machine: str
    object: str
    instance: str
    counter: str


@lru_cache(maxsize=1)
def read_catalogue(body: bytes) -> tuple[list[Entry], str]:
    """The entries, and why those behind them cannot be read, if so. Kept for the next log: the same
    counters are in it, and the beginning of a log is read twice."""
    found: list[Entry] = []
    at = _BEFORE
    while at < len(body):
        if len(found) == MOST_ENTRIES:
            return found, f"catalogue has more than {MOST_ENTRIES} entries"
        if at + _STRINGS_AT > len(body):
            return found, f"catalogue ends within entry {len(found) + 1}"
        size, kind, _, type_, frequency, _, *places, index, counter = _ENTRY.unpack_from(body, at)
        if size < _STRINGS_AT or size % 8 or at + size > len(body):
            return found, f"entry {len(found) + 1} of the catalogue claims {size} bytes"
        form = _FORMS.get(kind & _FORM_BITS, "unknown")
        strings = body[at + _STRINGS_AT : at + size]
        machine, object_, instance, parent, name = _strings(strings, (*places, counter))
        if parent:
            instance = f"{parent}/{instance}"
        if index and form == "single":
            instance = f"{instance}#{index}"
        found.append(
            Entry(form, type_, frequency, machine.removeprefix("\\\\"), object_, instance, name)
        )
        at += size
    return found, ""


def _strings(data: bytes, places: Sequence[int]) -> list[str]:
    """The texts at these places. Most have two bytes a character, and are decoded as one."""
    text = data.decode("utf-16-le", "replace")
    if 2 * len(text) != len(data) or len(data) > LONGEST_NAME:
        return [string_at(data, place) for place in places]
    return [
        text[place // 2 :].partition("\0")[0]
        if place >= 0 and not place % 2
        else string_at(data, place)
        for place in places
    ]


def string_at(data: bytes, at: int, end: int | None = None) -> str:
    """The text (UTF-16) from `at` to its NUL or `end`; empty where `at` is not in the data."""
    end = len(data) if end is None else end
    if not 0 <= at < end:
        return ""
    stored = data[at : min(end, at + LONGEST_NAME)]
    text = stored[: len(stored) & ~1].decode("utf-16-le", "replace")
    return text.split("\0", 1)[0]


@lru_cache(maxsize=1)
def read_names(body: bytes) -> Mapping[int, str]:
    """Numbers of objects and counters with their names, in the language of the machine. The name of
    the machine comes before the first one."""
    texts = body[: len(body) & ~1].decode("utf-16-le", "replace").split("\0")
    return {
        int(number): name[: LONGEST_NAME // 2]
        for number, name in zip(texts[1::2], texts[2::2], strict=False)
        if number.isascii() and number.isdigit() and len(number) < 10
    }
