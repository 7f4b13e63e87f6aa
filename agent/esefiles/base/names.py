"""Names that are not valid text, and how errors are said: file names are bytes, on Windows any
16-bit units.

Python represents invalid text as lone surrogates, which neither SQLite nor MessagePack nor JSON
takes. Here they are kept exactly, and shown as escapes.
"""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_MARK = "\x1a"
_NOT_TEXT = re.compile("[\x1a\ud800-\udfff]")
_ESCAPED = re.compile("\x1a([0-9a-f]{4})")


def to_text(name: str) -> str:
    """`name` as text that anything can store; `from_text` gives it back exactly."""
    if name.isascii() and _MARK not in name:
        return name
    return _NOT_TEXT.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", name)


def from_text(text: str) -> str:
    """The name of which `to_text` made `text`."""
    if _MARK not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def printable(text: str) -> str:
    """`text` for a label or a file: lone surrogates and NUL as escapes, all else unchanged."""
    if "\0" in text:
        text = text.replace("\0", "\\x00")
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def visible(text: str) -> str:
    """`text` for a terminal: control and unprintable characters as escapes, all else unchanged."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """`text` for a terminal: a blank for each control and unprintable character, a new line too."""
    return "".join(c if c.isprintable() else " " for c in text)


def reason_of(error: Exception) -> str:
    """The message of an error in words: of the system's errors without number and path."""
    text = getattr(error, "strerror", None) or str(error)
    return " ".join(str(text).split()) or type(error).__name__


def pack_line(value: msgspec.Struct) -> bytes:
    """`value` as a line of JSON, whatever names are in it."""
    try:
        return msgspec.json.encode(value) + b"\n"
    except UnicodeEncodeError:
        return msgspec.json.encode([each_text(msgspec.to_builtins(value), to_text)]) + b"\n"


def unpack_line(line: bytes, as_type: type[T]) -> T:
    """The value of which `pack_line` made `line`. Raises msgspec.MsgspecError, UnicodeError."""
    if not line.startswith(b"["):
        return msgspec.json.decode(line, type=as_type)
    (escaped,) = msgspec.json.decode(line, type=tuple[Any])
    return msgspec.convert(each_text(escaped, from_text), as_type)


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """`value` with all its strings changed, keys too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [each_text(item, change) for item in value]
    if isinstance(value, dict):
        return {each_text(key, change): each_text(item, change) for key, item in value.items()}
    return value
