"""Templates, remembered by their content: a chunk writes out again what the one before it had.

Of a definition only the offsets of names differ from chunk to chunk. Where everything
else is as in a known template and the offsets lead to the same names, it is that one.
"""

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from esewatch.sources.evtx.binxml import (
    DEFINITION_HEADER_BYTES,
    BinXmlParser,
    Element,
    NameReference,
    Names,
)
from esewatch.sources.evtx.chunks import CHUNK_BYTES
from esewatch.sources.evtx.shapes import STRING_HOLDERS, HeadShape, head_shape, string_slots

_REMEMBERED: Final = 1 << 20
"""Bytes of definitions and characters of names, of all known templates together."""
_ROOM: Final = 4 * CHUNK_BYTES
"""Bytes of definitions that are read in a chunk; what leads to them may be damaged."""
_PROVIDERS: Final = 1024
"""Names of providers of which it is kept whether they are wanted."""
_ALIKE: Final = 8
"""Known templates of one GUID and size: they differ in which names they write out."""
_KEY: Final = struct.Struct("<4x20s")
"""GUID and size of a definition."""
FAILURES: Final = (ValueError, struct.error, IndexError)
"""Errors of the reading of BinXML where it is damaged."""


def why(error: Exception) -> str:
    """The sentence about one of them."""
    return str(error) if isinstance(error, ValueError) else "it reaches beyond the chunk"


class Template:
    """One template: its element, and what tells whether another definition is the same."""

    def __init__(self, root: Element, size: int) -> None:
        self.root = root
        self.size = size
        """Bytes of the definition, its header included."""
        self.head: HeadShape | None = head_shape(root)
        """Places of the fields of a record, None when that takes a closer look."""
        self.string_slots = string_slots(root)
        self.holds_strings = root.name in STRING_HOLDERS
        self.wraps_strings = self.head is not None and self.head.wrapped
        self.wanted = False
        """True if it names a wanted provider."""
        self.unwanted = False
        """True if it names another one. Neither when the provider is a value of the record."""
        self._form = struct.Struct("")
        self._parts: tuple[bytes, ...] = ()
        self._inline: tuple[tuple[int, int], ...] = ()
        self._elsewhere: tuple[int, ...] = ()
        self._names: list[str] = []

    def learn(self, data: bytes, at: int, references: list[NameReference], names: Names) -> None:
        """Keep how the definition at `at` is written."""
        form, done, inline, elsewhere = "<4x", at + 4, [], []
        for number, reference in enumerate(references):
            form += f"{reference.place - done}sI"
            done = reference.place + 4
            if reference.inline:
                inline.append((number, done - at))
                form += "4x"
                done += 4
            else:
                elsewhere.append(number)
        self._form = struct.Struct(f"{form}{at + self.size - done}s")
        found = self._form.unpack_from(data, at)
        self._parts, offsets = found[::2], found[1::2]
        self._inline, self._elsewhere = tuple(inline), tuple(elsewhere)
        self._names = [names[offsets[number]] for number in elsewhere]

    @property
    def weight(self) -> int:
        """Its part of the memory for known templates."""
        return self.size + sum(map(len, self._names))

    def is_at(self, data: bytes, at: int, names: Names) -> bool:
        found = self._form.unpack_from(data, at)
        if found[::2] != self._parts:
            return False
        offsets = found[1::2]
        if self._inline:
            for number, place in self._inline:
                if offsets[number] != at + place:
                    return False
            offsets = tuple(offsets[number] for number in self._elsewhere)
        return [*map(names.__getitem__, offsets)] == self._names


class Templates:
    """The known templates; `is_wanted` tells by its name whether a provider may be wanted."""

    def __init__(self, is_wanted: Callable[[str], bool]) -> None:
        self.is_wanted = lru_cache(maxsize=_PROVIDERS)(is_wanted)
        self._known: dict[bytes, list[Template]] = {}
        self.weight = 0

    def at(self, data: bytes, at: int, names: Names) -> Template:
        """The template defined at `at`. Raises one of `FAILURES` when there is none."""
        (key,) = _KEY.unpack_from(data, at)
        for template in self._known.get(key, ()):
            if template.is_at(data, at, names):
                return template
        size = DEFINITION_HEADER_BYTES + int.from_bytes(key[16:], "little")
        parser = BinXmlParser(data, names, at + DEFINITION_HEADER_BYTES, in_template=True)
        root = parser.fragment()
        if not isinstance(root, Element) or parser.at > at + size:
            raise ValueError("a template that is not an element")
        template = Template(root, size)
        template.learn(data, at, parser.references, names)
        if template.head is not None and template.head.provider is not None:
            template.wanted = self.is_wanted(template.head.provider)
            template.unwanted = not template.wanted
        self._remember(key, template)
        return template

    def _remember(self, key: bytes, template: Template) -> None:
        self.weight += template.weight
        if self.weight > _REMEMBERED:
            self._known.clear()
            self.weight = template.weight
        alike = self._known.setdefault(key, [])
        if len(alike) == _ALIKE:
            self.weight -= alike.pop(0).weight
        alike.append(template)


class Definitions(dict[int, Template]):
    """The templates of one chunk by the offset of their definition. Raises one of `FAILURES` for an
    offset that leads to none."""

    def __init__(self, data: bytes, templates: Templates) -> None:
        self.names = Names(data)
        self._data = data
        self._templates = templates
        self._failed: dict[int, str] = {}
        self._room = _ROOM

    def __missing__(self, offset: int) -> Template:
        if offset in self._failed:
            raise ValueError(self._failed[offset])
        try:
            template = self[offset] = self._read(offset)
        except FAILURES as error:
            self._failed[offset] = reason = f"template at offset {offset}: {why(error)}"
            raise ValueError(reason) from None
        return template

    def _read(self, offset: int) -> Template:
        size = DEFINITION_HEADER_BYTES + int.from_bytes(
            self._data[offset + 20 : offset + 24], "little"
        )
        if offset + size > CHUNK_BYTES:
            raise ValueError("it reaches beyond the chunk")
        # True ones do not overlap; crafted ones would take endless time.
        self._room -= size
        if self._room < 0:
            raise ValueError("it overlaps with others")
        return self._templates.at(self._data, offset, self.names)
