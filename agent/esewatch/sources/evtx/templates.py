"""Templates, remembered by their content, and the usual shapes of them.

Windows writes the numbers and times of a record into slots; its provider, channel and
computer into the template itself, or as texts into slots too; and the event's own data as
a template instance in the last value. The values but the last are of the same sizes in nearly
all records of a template, so one `struct.Struct` takes the fields out of all of these.

A chunk writes out again what the one before it had. Of a definition only the offsets of names
differ from chunk to chunk: where all else is as in a known template and the offsets lead to the
same names, it is that one.
"""

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from esewatch.sources.evtx import binxml
from esewatch.sources.evtx.chunks import CHUNK_BYTES

_TEXT: Final = (binxml.STRING, "")
_KINDS: Final = (
    (binxml.UINT8, "B"),
    (binxml.UINT16, "H"),
    (binxml.FILETIME, "Q"),
    (binxml.UINT64, "Q"),
    *[_TEXT] * 3,
)
"""Type of level, event id, time, record id and the texts, and the code of `struct` for it."""
VALUES: Final = struct.Struct("<IHB")
"""The count of values, size and type of the first."""
_INSTANCE: Final = "5s5xIIHB"
_DESCRIPTORS: Final = struct.Struct("<HBx")
_LAYOUTS_KEPT: Final = 64
STRING_HOLDERS: Final = ("EventData", "UserData")
"""The elements of an event that hold its strings."""
BYTES: Final = "Binary"
"""The element among the strings that holds bytes."""


class Layouts(dict[bytes, struct.Struct | None]):
    """Layouts that take the fields out of a record, by the descriptors of its values but the last.

    The fields, from the descriptor of the last value on: its size and type, level, event id,
    time, record id, the texts of provider, channel and computer as far as they are values, the
    first five bytes of the last value, the offset of its template's definition and, where that
    stands elsewhere, the count of its values, size and type of the first. None when the values
    are of another kind or order.
    """

    def __init__(self, slots: tuple[int, ...], texts: tuple[int | None, ...], payload: int) -> None:
        self._slots = slots
        self._texts = texts
        self._payload = payload

    def __missing__(self, key: bytes) -> struct.Struct | None:
        if len(self) >= _LAYOUTS_KEPT:
            self.clear()
        made = self[key] = self._made(key)
        return made

    def _made(self, key: bytes) -> struct.Struct | None:
        if int.from_bytes(key[:4], "little") != self._payload + 1 or len(key) % 4:
            return None
        places, start = [], 0
        for size, kind in _DESCRIPTORS.iter_unpack(key[4:]):
            places.append((kind, start, size))
            start += size
        form, done = "<HBx", 0
        slots = (*self._slots, *self._texts)
        for slot, (kind, code) in zip(slots, _KINDS, strict=True):
            if slot is None:
                form += "0s"
                continue
            if slot >= len(places):
                return None
            found, at, size = places[slot]
            if found != kind or at < done or (code and size != struct.calcsize(code)):
                return None
            form += f"{at - done}x{code or f'{size}s'}"
            done = at + size
        return struct.Struct(f"{form}{start - done}x{_INSTANCE}")


class HeadShape(NamedTuple):
    """Of an outer template: the constant fields, and where the others stand."""

    provider: str | None
    """None when it is a value, as the next two."""
    channel: str | None
    computer: str | None
    wrapped: bool
    """The last value stands in the element that holds the strings, else it brings that."""
    key_bytes: int
    """The count of the values, and the descriptors of all but the last."""
    layouts: Layouts


def head_shape(root: binxml.Element) -> HeadShape | None:
    """The shape of an outer template; None when it is an unusual one."""
    if root.name != "Event" or len(root.content) != 2:
        return None
    system, last = root.content
    wrapped = isinstance(last, binxml.Element) and last.name in STRING_HOLDERS
    if isinstance(last, binxml.Element) and wrapped and len(last.content) == 1:
        (last,) = last.content
    if (
        not isinstance(system, binxml.Element)
        or system.name != "System"
        or not isinstance(last, binxml.TemplateSlot)
    ):
        return None
    parts = _children(system)
    try:
        slots = (
            _slot(parts["Level"].content),
            _slot(parts["EventID"].content),
            _slot(dict(parts["TimeCreated"].attributes)["SystemTime"]),
            _slot(parts["EventRecordID"].content),
        )
        names = (
            dict(parts["Provider"].attributes)["Name"],
            parts["Channel"].content,
            parts["Computer"].content,
        )
        provider, channel, computer = literals = tuple(map(_literal, names))
        texts = tuple(
            _slot(content) if text is None else None
            for content, text in zip(names, literals, strict=True)
        )
    except (KeyError, ValueError):
        return None
    layouts = Layouts(slots, texts, last.number)
    return HeadShape(provider, channel, computer, wrapped, 4 + 4 * last.number, layouts)


def string_slots(root: binxml.Element) -> tuple[int, ...] | None:
    """The slots of an inner template whose values are the strings; None of an unusual one. Classic
    providers log all strings in one array, the first value, and bytes beside it; others have an
    element for each string."""
    if not root.content and root.name in STRING_HOLDERS:
        return ()
    slots: list[int] = []
    usual = root.name != BYTES and _collect(root, slots)
    return tuple(slots) if usual and len(set(slots)) == len(slots) else None


def _collect(element: binxml.Element, slots: list[int]) -> bool:
    """Add the slots of the innermost elements; False when one holds anything else."""
    children = [part for part in element.content if isinstance(part, binxml.Element)]
    if len(children) != len(element.content):
        (part, *others) = element.content
        if others or not isinstance(part, binxml.TemplateSlot):
            return False
        slots.append(part.number)
        return True
    inner = [child for child in children if child.name != BYTES]
    return bool(children) and all(_collect(child, slots) for child in inner)


def _children(element: binxml.Element) -> dict[str, binxml.Element]:
    """The children by name. Of two of one name none counts: which one is meant is not clear."""
    found: dict[str, binxml.Element] = {}
    names = [part.name for part in element.content if isinstance(part, binxml.Element)]
    for part in element.content:
        if isinstance(part, binxml.Element) and names.count(part.name) == 1:
            found[part.name] = part
    return found


def _slot(parts: binxml.Content) -> int:
    """The only part, a slot. Raises ValueError when it is not."""
    (part,) = parts
    if not isinstance(part, binxml.TemplateSlot):
        raise ValueError("no slot")
    return part.number


def _literal(content: binxml.Content) -> str | None:
    texts = [part for part in content if isinstance(part, str)]
    return "".join(texts) if len(texts) == len(content) else None


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

    def __init__(self, root: binxml.Element, size: int) -> None:
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

    def learn(
        self, data: bytes, at: int, references: list[binxml.NameReference], names: binxml.Names
    ) -> None:
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
        return self.size + sum(map(len, self._names))

    def is_at(self, data: bytes, at: int, names: binxml.Names) -> bool:
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

    def at(self, data: bytes, at: int, names: binxml.Names) -> Template:
        """The template defined at `at`. Raises one of `FAILURES` when there is none."""
        (key,) = _KEY.unpack_from(data, at)
        for template in self._known.get(key, ()):
            if template.is_at(data, at, names):
                return template
        size = binxml.DEFINITION_HEADER_BYTES + int.from_bytes(key[16:], "little")
        parser = binxml.BinXmlParser(
            data, names, at + binxml.DEFINITION_HEADER_BYTES, in_template=True
        )
        root = parser.fragment()
        if not isinstance(root, binxml.Element) or parser.at > at + size:
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
        self.names = binxml.Names(data)
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
        size = binxml.DEFINITION_HEADER_BYTES + int.from_bytes(
            self._data[offset + 20 : offset + 24], "little"
        )
        if offset + size > CHUNK_BYTES:
            raise ValueError("it reaches beyond the chunk")
        # True ones do not overlap; crafted ones would take endless time.
        self._room -= size
        if self._room < 0:
            raise ValueError("it overlaps with others")
        return self._templates.at(self._data, offset, self.names)
