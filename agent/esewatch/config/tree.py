"""YAML text to a tree that knows the line and the place of every value.

The tree is built from the parser's events and never by the YAML object constructors:
scalars stay text, since what `22:00` or `no` means depends on the key. Anchors, aliases
and tags are refused, so a small file cannot become a large tree.
"""

from typing import Any

import msgspec
import yaml

from esewatch.model import ConfigError

MAX_BYTES = 1 << 20
MAX_DEPTH = 12
"""The settings need six levels."""


class Node(msgspec.Struct):
    """One value: text, a list, a mapping, or None where nothing stands."""

    place: str
    """`sources[0].type`; empty for the whole file."""
    line: int
    value: "str | list[Node] | dict[str, Node] | None"
    keys: dict[str, int] = msgspec.field(default_factory=dict)
    """Of a mapping: the line of each key."""

    def found(self) -> str:
        """The value, for a message: the text quoted and shortened, or its kind."""
        match self.value:
            case None:
                return "nothing"
            case str(text):
                return quote(masked(text) if "://" in text else text)
            case list():
                return "a list"
            case _:
                return "a mapping"


def quote(text: str) -> str:
    """`text` in quotes on one line, at most 60 characters of it."""
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text[:60])
    return f'"{shown}"' if len(text) <= 60 else f'"{shown}"...'


class TreeError(ConfigError):
    """The text is no tree; `line` is where. The message lacks file and line."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def parse(data: bytes) -> Node:
    """The tree of a configuration file. Raises TreeError; an empty file is an empty mapping."""
    if len(data) > MAX_BYTES:
        raise TreeError(1, f"found more than {MAX_BYTES} bytes, allowed: {MAX_BYTES}")
    text = _decode(data)
    try:
        builder = _Builder(text)
        return builder.document()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise TreeError(
            line, f"found the character U+{ord(text[error.position]):04X}, allowed: printable text"
        ) from error
    except yaml.MarkedYAMLError as error:
        raise TreeError(*_explain(error)) from error
    except (ValueError, OverflowError) as error:  # of chr() and int() in the scanner
        raise TreeError(
            builder.line, "not YAML: found a character or a version beyond all that exist"
        ) from error


def _decode(data: bytes) -> str:
    utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        return data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TreeError(
            line, f"found the byte 0x{data[error.start]:02x}, allowed: UTF-8 text"
        ) from error


def _explain(error: yaml.MarkedYAMLError) -> tuple[int, str]:
    mark = error.problem_mark or error.context_mark
    problem = error.problem or "not YAML"
    if "'\\t'" in problem:
        problem = "found a tab, allowed: spaces to indent"
    if "unknown escape character" in problem:
        problem += r"; use single quotes for a path: 'C:\logs'"
    return (mark.line + 1 if mark else 1), f"not YAML: {problem}"


class _Builder:
    def __init__(self, text: str) -> None:
        self._loader = yaml.SafeLoader(text)
        self._events = iter(self._loader.get_event, None)

    @property
    def line(self) -> int:
        """Up to which the text was read."""
        line: int = self._loader.line
        return line + 1

    def document(self) -> Node:
        root: Node | None = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    raise TreeError(_line(event), "found a second document, allowed: one")
                root = self._node(next(self._events), "", 0)
        if root is None or root.value is None:
            return Node("", 1, {})
        return root

    def _node(self, event: Any, place: str, depth: int) -> Node:
        line = _line(event)
        _refuse_indirect(event, f"{place}: " if place else "")
        if depth > MAX_DEPTH:
            raise TreeError(line, f"found more than {MAX_DEPTH} levels, allowed: {MAX_DEPTH}")
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(place, line, depth)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(place, line, depth)
        empty = event.implicit[0] and event.value in ("", "~", "null")
        return Node(place, line, None if empty else event.value)

    def _mapping(self, place: str, line: int, depth: int) -> Node:
        node: dict[str, Node] = {}
        keys: dict[str, int] = {}
        where = f"{place}: " if place else ""
        for event in iter(self._next_item, None):
            _refuse_indirect(event, where)
            if not isinstance(event, yaml.ScalarEvent):
                raise TreeError(
                    _line(event), f"{where}found a key that is a collection, allowed: text"
                )
            key = event.value
            here = f"{place}.{key}" if place else key
            if key in keys:
                raise TreeError(
                    _line(event), f"{here}: duplicate key {quote(key)}, first on line {keys[key]}"
                )
            keys[key] = _line(event)
            node[key] = self._node(next(self._events), here, depth + 1)
        return Node(place, line, node, keys)

    def _sequence(self, place: str, line: int, depth: int) -> Node:
        node: list[Node] = []
        for event in iter(self._next_item, None):
            node.append(self._node(event, f"{place}[{len(node)}]", depth + 1))
        return Node(place, line, node)

    def _next_item(self) -> Any:
        """The event of the next item, None at the end of the collection."""
        event = next(self._events)
        return None if isinstance(event, yaml.CollectionEndEvent) else event


def _refuse_indirect(event: Any, where: str) -> None:
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise TreeError(_line(event), f"{where}found an anchor or alias, allowed: plain values")
    if event.tag is not None:
        # A local tag may be a password that begins with `!`.
        found = f"found the tag {quote(event.tag)}" if ":" in event.tag else "found a local tag"
        raise TreeError(_line(event), f"{where}{found}, allowed: plain values")


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


HIDDEN = "***"


def masked(url: str) -> str:
    """`url` without a login, without the values of its query and without a fragment. Those of
    lists, `collect[]=ese`, stay: exporters choose what they collect by them."""
    # What is no address may be masked too, of any length: in one pass, over blanks.
    scheme, slashes, rest = url.partition("//")
    _, at, place = rest.rpartition("@")
    shown = f"{scheme}//{HIDDEN}@{place}" if at else scheme + slashes + rest
    shown, sharp, _ = shown.partition("#")
    address, mark, query = shown.partition("?")
    fields = "&".join(map(_masked_field, query.split("&"))) if mark else ""
    return address + mark + fields + (sharp and f"#{HIDDEN}")


def _masked_field(field: str) -> str:
    name, equals, _ = field.partition("=")
    if name.endswith("[]"):
        return field
    return f"{name}={HIDDEN}" if equals else HIDDEN
