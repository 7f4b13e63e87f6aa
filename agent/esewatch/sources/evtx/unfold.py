"""The content of any record: what the elements and values of its templates say.

The careful way, which makes no assumption on how a record is built; `shapes.py` has the
short one for the usual records.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from esewatch.ese.events.from_strings import Around
from esewatch.model import Level
from esewatch.sources.evtx.binxml import (
    BinXmlParser,
    Content,
    Element,
    TemplateInstance,
    TemplateSlot,
    TemplateValue,
)
from esewatch.sources.evtx.shapes import BYTES, STRING_HOLDERS
from esewatch.sources.evtx.templates import Definitions
from esewatch.sources.evtx.values import BINXML, integer_of, parsed_time, text_of, texts_of, time_of

LEVELS: Final[Mapping[int | None, Level]] = {
    0: "information",
    1: "critical",
    2: "error",
    3: "warning",
    4: "information",
    5: "verbose",
}
_RECORD_MOST: Final = 1 << 18
_CHUNK_MOST: Final = 1 << 21
"""Characters and parts that one record, and all records of a chunk, can unfold to. 64 KiB hold far
less; a crafted template can repeat a value a thousand times."""
_DEEPEST: Final = 16


class ElementView(NamedTuple):
    """An element, the values that go into its slots, and how deep it lies."""

    element: Element
    values: list[TemplateValue]
    depth: int


class Unfolder:
    """Reads the records of one chunk. Raises one of `FAILURES` where one is damaged."""

    def __init__(self, data: bytes, definitions: Definitions) -> None:
        self._data = data
        self._definitions = definitions
        self._record_room = 0
        self._chunk_room = _CHUNK_MOST

    def event(self, at: int) -> dict[str, ElementView]:
        """The parts by name of the event whose record has its content at `at`."""
        self._record_room = _RECORD_MOST
        view = self._root(BinXmlParser(self._data, self._definitions.names, at), 0)
        parts = {} if view is None else self._parts(view)
        if view is None or view.element.name != "Event" or "System" not in parts:
            raise ValueError("not an event")
        return parts

    def head(self, event: Mapping[str, ElementView]) -> Around:
        """The fields of the System part; id, time and computer stand in each that is whole."""
        parts = self._parts(event["System"])
        if not {"EventID", "TimeCreated", "Computer"} <= parts.keys():
            raise ValueError("an event without id, time or computer")
        return (
            self._attribute(parts.get("Provider"), "Name"),
            self._integer(parts.get("EventID")) or 0,
            self._time(parts.get("TimeCreated")),
            self._text_in(parts.get("Computer")),
            self._text_in(parts.get("Channel")),
            self._integer(parts.get("EventRecordID")),
            LEVELS.get(self._integer(parts.get("Level")) or 0),
        )

    def strings(self, event: Mapping[str, ElementView]) -> list[str]:
        """The insertion strings in their order; an empty one keeps its place."""
        for name in STRING_HOLDERS:
            strings = self._strings(event[name]) if name in event else []
            if strings:
                return strings
        return []

    def _strings(self, view: ElementView) -> list[str]:
        """The texts of the innermost elements, bytes left out."""
        children = self._children(view)
        if children:
            inner = (child for child in children if child.element.name != BYTES)
            return [text for child in inner for text in self._strings(child)]
        element = view.element
        if element.content:
            return self._items(element.content, view.values)
        # What has only attributes holds no string, unless it is named as one.
        holds = element.name == "Data" or (
            not element.attributes and element.name not in STRING_HOLDERS
        )
        return [""] if holds else []

    def _items(self, content: Content, values: list[TemplateValue]) -> list[str]:
        """The text of an element; of one that holds an array alone, each of its items."""
        value = self._only_value(content, values)
        return [self._text(content, values)] if value is None else texts_of(*value)

    def _root(self, parser: BinXmlParser, depth: int) -> ElementView | None:
        found = parser.fragment()
        if isinstance(found, TemplateInstance):
            return ElementView(self._definitions[found.definition].root, found.values, depth)
        return None if found is None else ElementView(found, [], depth)

    def _children(self, view: ElementView) -> list[ElementView]:
        """The elements in an element, those within its values too."""
        if view.depth == _DEEPEST:
            raise ValueError(f"values within each other deeper than {_DEEPEST}")
        found = []
        for part in view.element.content:
            self._spend(1)
            if isinstance(part, Element):
                found.append(ElementView(part, view.values, view.depth))
            elif isinstance(part, TemplateSlot) and part.number < len(view.values):
                kind, start, end = view.values[part.number]
                if kind == BINXML and start < end:
                    parser = BinXmlParser(self._data, self._definitions.names, start)
                    child = self._root(parser, view.depth + 1)
                    if child is not None:
                        found.append(child)
        return found

    def _parts(self, view: ElementView) -> dict[str, ElementView]:
        """The elements in an element by name, of two the first."""
        parts: dict[str, ElementView] = {}
        for child in self._children(view):
            parts.setdefault(child.element.name, child)
        return parts

    def _text(self, content: Content, values: list[TemplateValue]) -> str:
        texts = []
        for part in content:
            if isinstance(part, TemplateSlot) and part.number < len(values):
                texts.append(text_of(*self._value(values[part.number])))
            elif isinstance(part, str):
                self._spend(1 + len(part))
                texts.append(part)
        return "".join(texts)

    def _spend(self, amount: int) -> None:
        """Count what a record unfolds to. Raises ValueError when it is beyond all measure."""
        self._record_room -= amount
        self._chunk_room -= amount
        if self._record_room < 0 or self._chunk_room < 0:
            raise ValueError(f"a record that unfolds to more than {_RECORD_MOST} characters")

    def _value(self, value: TemplateValue) -> tuple[int, bytes]:
        kind, start, end = value
        if end > len(self._data):
            raise ValueError("a value that reaches beyond the chunk")
        self._spend(1 + end - start)
        return kind, self._data[start:end]

    def _only_value(
        self, content: Content, values: list[TemplateValue]
    ) -> tuple[int, bytes] | None:
        """The value that is all of the content, None if it is not one value."""
        if (
            len(content) == 1
            and isinstance(content[0], TemplateSlot)
            and content[0].number < len(values)
        ):
            return self._value(values[content[0].number])
        return None

    def _integer(self, view: ElementView | None) -> int | None:
        if view is None:
            return None
        value = self._only_value(view.element.content, view.values)
        if value is not None:
            return integer_of(*value)
        text = self._text(view.element.content, view.values)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None

    def _time(self, view: ElementView | None) -> float | None:
        if view is None:
            return None
        parts = dict(view.element.attributes).get("SystemTime", ())
        value = self._only_value(parts, view.values)
        if value is not None:
            return time_of(*value)
        return parsed_time(self._text(parts, view.values))

    def _attribute(self, view: ElementView | None, name: str) -> str:
        if view is None:
            return ""
        return self._text(dict(view.element.attributes).get(name, ()), view.values)

    def _text_in(self, view: ElementView | None) -> str:
        return "" if view is None else self._text(view.element.content, view.values)
