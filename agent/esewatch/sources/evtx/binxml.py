"""BinXML, the form of a record's content: elements, and instances of templates.

A template is written out where it is first used in a chunk (its definition), as is
each name of an element or attribute; elsewhere stands their offset in the chunk. An
instance is a reference to a definition and the values that go into its slots.

Tokens (0x40 is a flag): 00 end, 01 element, 02 end of its start tag, 03 the same of an
empty one, 04 end tag, 05 text, 06 attribute, 07 CDATA, 08 character, 09 entity, 0A and
0B processing instruction, 0C template instance, 0D and 0E slot, 0F fragment header.
"""

import struct
from typing import Final, NamedTuple

INSTANCE_HEADER_BYTES: Final = 10
"""Of an instance: its token, one byte, id of the template, offset of the definition."""
DEFINITION_HEADER_BYTES: Final = 24
"""Of a definition: offset of another one, GUID, size of what follows."""
_LONGEST_NAME: Final = 1024
_DEEPEST: Final = 64
_MORE: Final = 0x40
_U16: Final = struct.Struct("<H")
_U32: Final = struct.Struct("<I")
_NAME: Final = struct.Struct("<4xHH")
_DESCRIPTORS: Final = struct.Struct("<HBx")
_ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


class TemplateSlot(NamedTuple):
    """A place in a template that a value of the record fills."""

    number: int


class Element(NamedTuple):
    name: str
    attributes: "tuple[tuple[str, Content], ...]"
    content: "Content"


Content = tuple[str | TemplateSlot | Element, ...]


class TemplateValue(NamedTuple):
    """A value of an instance: its type, and where it stands, which may be beyond the chunk."""

    kind: int
    start: int
    end: int


class TemplateInstance(NamedTuple):
    definition: int
    values: list[TemplateValue]


class NameReference(NamedTuple):
    """A reference to a name: where it stands, and whether the name stands right behind it."""

    place: int
    inline: bool


class Names(dict[int, str]):
    """The names in a chunk by their offset; ValueError or struct.error where none can be."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __missing__(self, offset: int) -> str:
        _, length = _NAME.unpack_from(self._data, offset)
        end = offset + _NAME.size + 2 * length
        if length > _LONGEST_NAME or end > len(self._data):
            raise ValueError(f"a name of {length} characters")
        name = self[offset] = self._data[offset + _NAME.size : end].decode("utf-16-le", "ignore")
        return name


class BinXmlParser:
    """Reads BinXML from `at` on. Raises ValueError or struct.error where it is none.

    Every step goes forward, so the work is in proportion to the bytes. Elements of a
    template say on which slot they depend, which takes two bytes; those of a record do not.
    """

    def __init__(self, data: bytes, names: Names, at: int, *, in_template: bool = False) -> None:
        self.at = at
        self.references: list[NameReference] = []
        self._data = data
        self._names = names
        self._in_template = in_template

    def fragment(self) -> Element | TemplateInstance | None:
        """The element or the instance that stands here; None when there is neither."""
        while True:
            token = self._data[self.at]
            if token == 0x0F:
                self.at += 4
            elif token == 0x0A:
                self._instruction()
            elif token == 0x0C:
                return self.instance()
            elif token & ~_MORE == 0x01:
                return self._element(0)
            elif token == 0x00:
                return None
            else:
                raise ValueError(f"token 0x{token:02x} at offset {self.at}")

    def instance(self) -> TemplateInstance:
        definition = self._number(_U32, self.at + 6)
        self.at += INSTANCE_HEADER_BYTES
        if definition == self.at:
            self.at += DEFINITION_HEADER_BYTES + self._number(_U32, self.at + 20)
        count = self._number(_U32, self.at)
        start = self.at + 4 + 4 * count
        if start > len(self._data):
            raise ValueError(f"{count} values")
        values = []
        for size, kind in _DESCRIPTORS.iter_unpack(self._data[self.at + 4 : start]):
            values.append(TemplateValue(kind, start, start + size))
            start += size
        self.at = start
        return TemplateInstance(definition, values)

    def _number(self, form: struct.Struct, at: int) -> int:
        return int(form.unpack_from(self._data, at)[0])

    def _name(self) -> str:
        place, offset = self.at, self._number(_U32, self.at)
        self.at += 4
        name = self._names[offset]
        inline = offset == self.at
        if inline:
            _, length = _NAME.unpack_from(self._data, offset)
            self.at += _NAME.size + 2 * length + 2
        self.references.append(NameReference(place, inline))
        return name

    def _text(self) -> str:
        start = self.at + 2
        self.at = start + 2 * self._number(_U16, self.at)
        if self.at > len(self._data):
            raise ValueError("a text that reaches beyond the chunk")
        return self._data[start : self.at].decode("utf-16-le", "ignore")

    def _element(self, depth: int) -> Element:
        token = self._data[self.at]
        if depth == _DEEPEST:
            raise ValueError(f"elements within each other deeper than {_DEEPEST}")
        self.at += 7 if self._in_template else 5
        name = self._name()
        attributes = self._attributes() if token & _MORE else ()
        token = self._data[self.at]
        self.at += 1
        if token == 0x03:
            return Element(name, attributes, ())
        if token != 0x02:
            raise ValueError(f"token 0x{token:02x} in a start tag")
        content: list[str | TemplateSlot | Element] = []
        while self._data[self.at] != 0x04:
            if self._data[self.at] & ~_MORE == 0x01:
                content.append(self._element(depth + 1))
            elif self._data[self.at] == 0x0A:
                self._instruction()
            else:
                content.append(self._part())
        self.at += 1
        return Element(name, attributes, tuple(content))

    def _attributes(self) -> tuple[tuple[str, Content], ...]:
        self.at += 4
        attributes = []
        while self._data[self.at] & ~_MORE == 0x06:
            self.at += 1
            name = self._name()
            parts: list[str | TemplateSlot | Element] = []
            while self._data[self.at] & ~_MORE in (0x05, 0x08, 0x09, 0x0D, 0x0E):
                parts.append(self._part())
            attributes.append((name, tuple(parts)))
        return tuple(attributes)

    def _part(self) -> str | TemplateSlot:
        """A piece of text, or a slot."""
        token = self._data[self.at] & ~_MORE
        self.at += 1
        if token in (0x0D, 0x0E):
            index = self._number(_U16, self.at)
            self.at += 3
            return TemplateSlot(index)
        if token == 0x05:
            if self._data[self.at] != 0x01:
                raise ValueError(f"a literal of type 0x{self._data[self.at]:02x}")
            self.at += 1
            return self._text()
        if token == 0x07:
            return self._text()
        if token == 0x08:
            self.at += 2
            number = self._number(_U16, self.at - 2)
            return "" if 0xD800 <= number < 0xE000 else chr(number)
        if token == 0x09:
            return _ENTITIES.get(self._name(), "")
        raise ValueError(f"token 0x{token:02x} in an element")

    def _instruction(self) -> None:
        self.at += 1
        self._name()
        if self._data[self.at] == 0x0B:
            self.at += 1
            self._text()
