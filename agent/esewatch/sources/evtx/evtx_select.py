"""Selection of the records of a whole chunk that can be events of a wanted provider.

To render a record costs far more than to look at its bytes. The name of its provider
stands in the record itself or in its template, and a template is written out in the
first record of the chunk that uses it; the others only give its offset.

Such a record begins (offsets from its start): frame of 24 bytes, fragment header
`0F 01 01 00`, template instance `0C`, one byte, id of the template at 30, offset of its
definition in the chunk at 34. A definition written out here begins right behind that,
at 38: offset of another one at 0, GUID at 4, size of what follows its 24 bytes at 20.
An instance within a value looks the same from its `0C` on.
"""

import re
import struct
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from esewatch.sources.evtx.chunks import (
    CHUNK_BYTES,
    CHUNK_HEADER_BYTES,
    RECORD_MAGIC,
    Chunk,
    ends_only,
    kept_only,
)

_LOWER: Final = bytes(range(256)).lower()
_ASCII: Final = re.compile(r"[\x01-\x7f]+")
_STARS: Final = re.compile(re.escape(RECORD_MAGIC.rstrip(b"\0")))
_BEGIN: Final = struct.Struct("<4sIQ8x5sx4xI")
_TEMPLATE_INSTANCE: Final = b"\x0f\x01\x01\0\x0c"
_INSTANCE: Final = b"\x0c"
_DEFINITION: Final = 38
_DEFINITION_HEADER_BYTES: Final = 24


class Selection(NamedTuple):
    """A chunk that leads the decoder to `kept` of its records, the first and the last included."""

    chunk: Chunk
    kept: int


class _Records(NamedTuple):
    """The records of a chunk, in parallel."""

    offsets: list[int]
    """Where each begins, and the end of the last one."""
    ids: list[int]
    definitions: list[int]
    """Offset of the definition of each one's template."""


class Selector:
    """Selects the records in which one of `words`, in lower case, may name the provider."""

    def __init__(self, words: Collection[str]) -> None:
        needles = {_needle(word) for word in words}
        # What holds a shorter one is found by that. A pattern finds faster than `bytes.find`.
        self._patterns = [
            re.compile(re.escape(needle))
            for needle in needles
            if not any(other in needle for other in needles - {needle})
        ]

    def select(self, chunk: Chunk, after: int) -> Selection | None:
        """The records of a whole chunk that may be wanted and have an id greater than `after`.

        Its first and its last record always are among them. None when only the
        decoder can tell: records of an unusual form, or a word within a template
        that stands inside of a value.
        """
        text = _squeezed(chunk.data)
        places = self._places(text)
        if not places:
            ends = ends_only(chunk)
            return None if ends is None else Selection(ends, min(2, 1 + chunk.last - chunk.first))
        records = _records(chunk)
        if records is None:
            return None
        wanted = self._named(chunk.data, records, text, places)
        templates = self._templates(chunk.data, records, wanted)
        if templates is None:
            return None
        if templates:
            definitions = enumerate(records.definitions)
            wanted.update(number for number, at in definitions if at in templates)
        wanted = {number for number in wanted if records.ids[number] > after}
        offsets = records.offsets
        kept = sorted(wanted | {0, len(offsets) - 2})
        bounds = [(offsets[number], offsets[number + 1]) for number in kept]
        return Selection(kept_only(chunk, bounds), len(kept))

    def _places(self, text: bytes) -> list[int]:
        """Offsets of the words in squeezed text."""
        return [found.start() for pattern in self._patterns for found in pattern.finditer(text)]

    def _named(
        self, data: bytes, records: _Records, text: bytes, places: Sequence[int]
    ) -> set[int]:
        """The records in whose own bytes a word stands; `places` are those in `text`."""
        # Every record begins with the stars and has another byte before the next one's, so when
        # there are as many stars as records, each pair is the begin of one.
        begins = [found.start() for found in _STARS.finditer(text)]
        if len(begins) == len(records.ids):
            return {max(0, bisect_right(begins, place) - 1) for place in places}
        bounds = enumerate(pairwise(records.offsets))
        return {
            number for number, (start, end) in bounds if self._places(_squeezed(data[start:end]))
        }

    def _templates(self, data: bytes, records: _Records, found: Collection[int]) -> set[int] | None:
        """Of the templates written out in the records `found`, those in which a word stands.

        None when it stands in one of a value, which any other value may refer to.
        """
        templates = set()
        room = CHUNK_BYTES
        for number in found:
            start, end = records.offsets[number] + _DEFINITION, records.offsets[number + 1]
            own = (start,) if records.definitions[number] == start else ()
            for at in (*own, *_nested(data, start, end)):
                size = int.from_bytes(data[at + 20 : at + 24], "little")
                definition = data[at : at + _DEFINITION_HEADER_BYTES + size]
                # True ones do not overlap; crafted ones would take for ever.
                room -= len(definition)
                named = bool(self._places(_squeezed(definition)))
                if room < 0 or (named and at != start):
                    return None
                if named:
                    templates.add(at)
        return templates


def _needle(word: str) -> bytes:
    """What of the word stands in squeezed text in any case: its longest part of ASCII."""
    return max(_ASCII.findall(word), key=len, default="").encode()


def _squeezed(data: bytes) -> bytes:
    """UTF-16 without its zero bytes, in lower case: faster to search, at any alignment."""
    return data.translate(_LOWER, b"\0")


def _records(chunk: Chunk) -> _Records | None:
    """The records of the chunk; None when one of them is no instance of a template defined here."""
    data, end = chunk.data, chunk.end
    unpack, least, most = _BEGIN.unpack_from, _BEGIN.size, end - _BEGIN.size
    offsets, ids, definitions = [], [], []
    defined = set()
    at = CHUNK_HEADER_BYTES
    while at <= most:
        magic, size, record_id, form, definition = unpack(data, at)
        if magic != RECORD_MAGIC or form != _TEMPLATE_INSTANCE or size < least:
            return None
        if definition == at + _DEFINITION:
            defined.add(definition)
        offsets.append(at)
        ids.append(record_id)
        definitions.append(definition)
        at += size
    if at != end or not defined.issuperset(definitions):
        return None
    return _Records([*offsets, end], ids, definitions)


def _nested(data: bytes, start: int, end: int) -> Iterator[int]:
    """Offsets of the definitions written out right behind an instance between the two offsets."""
    at = data.find(_INSTANCE, start, end)
    while at >= 0:
        if int.from_bytes(data[at + 6 : at + 10], "little") == at + 10:
            yield at + 10
        at = data.find(_INSTANCE, at + 1, end)
