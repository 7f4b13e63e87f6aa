"""The tree to the structs, by the annotations of the structs.

Every problem is collected, so that one reading shows them all; each names line, place,
what was found and what is allowed.
"""

import difflib
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from esewatch.config.tree import Node, quote
from esewatch.config.units import Scalar

MAX_LINES = 20


class Problems:
    """Errors of a file, in the order of its lines."""

    def __init__(self) -> None:
        self._found: list[tuple[int, str]] = []

    def add(self, line: int, place: str, text: str) -> None:
        self._found.append((line, f"{place}: {text}" if place else text))

    def of(self, node: Node, text: str, below: str = "") -> None:
        """Note that `text` is wrong of `node`, or of what is `below` it."""
        self.add(node.line, node.place + below, text)

    def at(self, node: Node, allowed: str) -> None:
        self.of(node, f"found {node.found()}, allowed: {allowed}")

    def hide(self, node: Node, allowed: str) -> None:
        """Like `at`, where the value may be a secret."""
        self.of(node, f"found something else, allowed: {allowed}")

    def lines(self, path: str) -> list[str]:
        """`path:line: place: text`, at most MAX_LINES of them and a count of the rest."""
        shown = [f"{path}:{line}: {text}" for line, text in sorted(self._found)[:MAX_LINES]]
        rest = len(self._found) - MAX_LINES
        return [*shown, f"{path}: {rest} more problems"] if rest > 0 else shown


def build(node: Node, hint: Any, problems: Problems) -> Any:
    """The value of `node` as the type `hint`; msgspec.UNSET after a problem. `hint` is a struct,
    list, dict, Literal, an Annotated kind of `units`, or one of these or None."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        kinds = [arg for arg in args if arg is not type(None)]
        names = [kind for kind in kinds if get_origin(kind) is Annotated]
        if names and len(kinds) > 1:
            mappings = [kind for kind in kinds if kind not in names]
            return build(node, (mappings if isinstance(node.value, dict) else names)[0], problems)
        if len(kinds) > 1:
            return _tagged(node, kinds, problems)
        return build(node, kinds[0], problems)
    if origin is Annotated and isinstance(args[1], Scalar):
        return _scalar(node, args[1], problems)
    if origin is Annotated:  # some fields of a struct, as a dict
        fields = _fields(node, args[1], problems)
        return msgspec.UNSET if fields is None or msgspec.UNSET in fields.values() else fields
    if origin is Literal:
        if node.value in args:
            return node.value
        problems.at(node, ", ".join(args))
        return msgspec.UNSET
    if origin is list:
        return _list(node, args[0], problems)
    if origin is dict:
        return _dict(node, args[1], problems)
    return _struct(node, hint, problems)


def _scalar(node: Node, kind: Scalar, problems: Problems) -> Any:
    if isinstance(node.value, str):
        try:
            return kind.parse(node.value)
        except ValueError:
            pass
    (problems.hide if kind.secret else problems.at)(node, kind.allowed)
    return msgspec.UNSET


def _list(node: Node, hint: Any, problems: Problems) -> Any:
    """A list; a list of one text may be written as the text."""
    of_texts = isinstance(_scalar_of(hint), Scalar) or get_origin(hint) is Literal
    items = [node] if of_texts and isinstance(node.value, str) else node.value
    if not isinstance(items, list):
        problems.at(node, "a list" if of_texts else "a list of: a mapping")
        return msgspec.UNSET
    built = [build(item, hint, problems) for item in items]
    return msgspec.UNSET if msgspec.UNSET in built else built


def _scalar_of(hint: Any) -> Any:
    return get_args(hint)[1] if get_origin(hint) is Annotated else None


def _dict(node: Node, hint: Any, problems: Problems) -> Any:
    if not isinstance(node.value, dict):
        # A name and its secret without a space behind the colon are one text.
        scalar = _scalar_of(hint)
        hides = isinstance(scalar, Scalar) and scalar.secret
        (problems.hide if hides else problems.at)(node, "a mapping")
        return msgspec.UNSET
    built = {key: build(item, hint, problems) for key, item in node.value.items()}
    return msgspec.UNSET if msgspec.UNSET in built.values() else built


def _tagged(node: Node, structs: list[type[msgspec.Struct]], problems: Problems) -> Any:
    if not isinstance(node.value, dict):
        problems.at(node, "a mapping")
        return msgspec.UNSET
    kinds = {
        kind: struct for struct in structs for kind in get_args(get_type_hints(struct)["type"])
    }
    tag = node.value.get("type")
    if tag is None:
        names = {name: None for struct in structs for name in _names(struct)}
        unknown = [key for key in node.value if key not in names]
        for key in unknown:
            place = node.value[key].place
            problems.add(node.keys[key], place, _unknown(key, list(names)))
        if not unknown:
            problems.of(node, f"missing key {quote('type')}")
        return msgspec.UNSET
    if not isinstance(tag.value, str) or tag.value not in kinds:
        problems.at(tag, ", ".join(kinds))
        return msgspec.UNSET
    return _struct(node, kinds[tag.value], problems)


def _struct(node: Node, struct: type[msgspec.Struct], problems: Problems) -> Any:
    fields = _fields(node, struct, problems)
    if fields is None:
        return msgspec.UNSET
    missing = [
        field.encode_name
        for field in msgspec.structs.fields(struct)
        if field.required and field.name not in fields
    ]
    known = set(_names(struct))
    for name in missing if known.issuperset(node.keys) else ():
        problems.of(node, f"missing key {quote(name)}")
    if missing or msgspec.UNSET in fields.values():
        return msgspec.UNSET
    return struct(**fields)


def _fields(node: Node, struct: type[msgspec.Struct], problems: Problems) -> Any:
    """Field name -> value given by `node`, absent where it gives none."""
    if not isinstance(node.value, dict):
        problems.at(node, "a mapping")
        return None
    hints = get_type_hints(struct, include_extras=True)
    names = _names(struct)
    fields: dict[str, Any] = {}
    for key, item in node.value.items():
        name = names.get(key)
        if name is None:
            problems.add(node.keys[key], item.place, _unknown(key, list(names)))
        elif name in fields:
            problems.add(
                node.keys[key], item.place, f"found both {' and '.join(_both(names, name))}"
            )
        elif item.value is not None:
            fields[name] = build(item, hints[name], problems)
    return fields


def _names(struct: type[msgspec.Struct]) -> dict[str, str]:
    aliases: dict[str, str] = getattr(struct, "ALIASES", {})
    return {field.encode_name: field.name for field in msgspec.structs.fields(struct)} | aliases


def _both(names: dict[str, str], name: str) -> list[str]:
    return sorted(quote(key) for key, field in names.items() if field == name)


REPLACED = {
    "source_silent": "is no longer a policy: write `silent_after`, which is judged for each"
    " computer, or leave it out (docs/configuration.md)",
}
"""Keys of earlier versions, and what takes their place."""


def _unknown(key: str, allowed: list[str]) -> str:
    if key in REPLACED:
        return f"unknown key {quote(key)}: it {REPLACED[key]}"
    close = difflib.get_close_matches(key[:64], allowed, n=1)
    hint = f"did you mean {quote(close[0])}?" if close else f"allowed: {', '.join(allowed)}"
    return f"unknown key {quote(key)}, {hint}"
