"""The usual shapes of templates: where the fields of a record stand among its values.

Windows writes the numbers and times of a record into slots; its provider, channel and
computer into the template itself, or as texts into slots too; and the event's own data as
a template instance in the last value. The values but the last are of the same sizes in nearly
all records of a template, so one `struct.Struct` takes the fields out of all of these.
"""

import struct
from typing import Final, NamedTuple

from esewatch.sources.evtx.binxml import Content, Element, TemplateSlot
from esewatch.sources.evtx.values import FILETIME, STRING, UINT8, UINT16, UINT64

_TEXT: Final = (STRING, "")
_KINDS: Final = ((UINT8, "B"), (UINT16, "H"), (FILETIME, "Q"), (UINT64, "Q"), *[_TEXT] * 3)
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


def head_shape(root: Element) -> HeadShape | None:
    """The shape of an outer template; None when it is an unusual one."""
    if root.name != "Event" or len(root.content) != 2:
        return None
    system, last = root.content
    wrapped = isinstance(last, Element) and last.name in STRING_HOLDERS
    if isinstance(last, Element) and wrapped and len(last.content) == 1:
        (last,) = last.content
    if (
        not isinstance(system, Element)
        or system.name != "System"
        or not isinstance(last, TemplateSlot)
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


def string_slots(root: Element) -> tuple[int, ...] | None:
    """The slots of an inner template whose values are the strings; None of an unusual one.

    Classic providers log all strings in one array, the first value, and bytes beside it;
    others have an element for each string.
    """
    if not root.content and root.name in STRING_HOLDERS:
        return ()
    slots: list[int] = []
    usual = root.name != BYTES and _collect(root, slots)
    return tuple(slots) if usual and len(set(slots)) == len(slots) else None


def _collect(element: Element, slots: list[int]) -> bool:
    """Add the slots of the innermost elements; False when one holds anything else."""
    children = [part for part in element.content if isinstance(part, Element)]
    if len(children) != len(element.content):
        (part, *others) = element.content
        if others or not isinstance(part, TemplateSlot):
            return False
        slots.append(part.number)
        return True
    inner = [child for child in children if child.name != BYTES]
    return bool(children) and all(_collect(child, slots) for child in inner)


def _children(element: Element) -> dict[str, Element]:
    """The children by name. Of two of one name none counts: which one is meant is not clear."""
    found: dict[str, Element] = {}
    names = [part.name for part in element.content if isinstance(part, Element)]
    for part in element.content:
        if isinstance(part, Element) and names.count(part.name) == 1:
            found[part.name] = part
    return found


def _slot(parts: Content) -> int:
    """The only part, a slot. Raises ValueError when it is not."""
    (part,) = parts
    if not isinstance(part, TemplateSlot):
        raise ValueError("no slot")
    return part.number


def _literal(content: Content) -> str | None:
    """The content as one text; None when it is not text."""
    texts = [part for part in content if isinstance(part, str)]
    return "".join(texts) if len(texts) == len(content) else None
