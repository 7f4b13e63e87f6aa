"""Reading JSON lines of a known shape straight into a typed struct.

Where the fields of an event stand is learnt from a line that the careful way (`json_values.py`)
has read: for each field the first of its places. A line fits when it has no other keys than
those met so far, and in these places values that the careful way would take; all else in it is
skipped unread. A line that does not fit is read the careful way, and may teach another shape.
"""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

import msgspec

from esewatch.sources.logs.formats.fields import (
    CONDENSED,
    FIELD_OF,
    RANK,
    Found,
    integer,
    plain,
    usable_level,
)
from esewatch.sources.logs.formats.json.esewatch_json import OWN_KEYS
from esewatch.sources.logs.formats.json.json_values import (
    NESTED,
    POSITIONAL,
    STRING_KEYS,
    strings_in,
)

_Path = tuple[str, ...]
_Places = dict[str, list[_Path]]
"""Field -> where it may stand, the place that goes first at first."""
_Opened = Callable[[_Path], bool]
"""Test by its place of whether an object is parsed."""

_SHAPES = 8
"""Shapes of one file; one more takes the place of the one that fitted last."""
_LESSONS = 64
"""Lines of a file that are learnt from."""
_LARGEST = 256
"""Keys of a shape, and levels of it that are kept."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_Words = Annotated[str, msgspec.Meta(min_length=1)]
_TYPES: dict[str, dict[type, Any]] = {
    "event_id": {int: _Count, str: str},
    "provider": {str: _Words},
    "time": {str: _Words, int: int | float, float: int | float},
    "computer": {str: _Words},
    "channel": {str: _Words},
    "record_id": {int: _Count, str: str},
    "level": {str: _Words, int: int},
    "message": {str: _Words},
    "strings": {list: tuple[str, ...], dict: dict[str, Any], str: str},
}
"""Field -> kind of a value -> type of the values of this kind that are sure to be taken."""

_SYSTEM = ("Event", "System")
_TIMES = {"TimeCreated", "TimeCreated_attributes"}


def _attribute(element: str, name: str) -> list[_Path]:
    holder, beside = (*_SYSTEM, element), (*_SYSTEM, f"{element}_attributes")
    holders = ((*holder, "#attributes"), holder, (*beside, "#attributes"), beside)
    return [*((*each, key) for each in holders for key in (name, f"@{name}")), holder]


def _text(*path: str) -> list[_Path]:
    return [(*path, "#text"), (*path, "Value"), path]


_TREE: _Places = {
    "event_id": _text(*_SYSTEM, "EventID"),
    "provider": _attribute("Provider", "Name"),
    "time": _attribute("TimeCreated", "SystemTime"),
    "computer": _text(*_SYSTEM, "Computer"),
    "channel": _text(*_SYSTEM, "Channel"),
    "record_id": _text(*_SYSTEM, "EventRecordID"),
    "level": [*_text(*_SYSTEM, "Level"), *_text("Event", "RenderingInfo", "Level")],
    "message": [*_text("Event", "RenderingInfo", "Message"), ("Event", "Message")],
    "strings": [("Event", "EventData", "Data", "#text"), ("Event", "EventData", "Data")],
}
"""The places in `Event/System`, in the order in which the careful way looks at them."""
_HOLDERS = {
    path[:size] for places in _TREE.values() for path in places for size in range(len(path))
}


class _Shape(NamedTuple):
    """The keys of lines of one collector, and how they are read."""

    sample: Mapping[str, Any]
    """All keys met, each with a value of its kind."""
    chosen: Mapping[str, _Path]
    decode: Callable[[bytes], Any]
    fields: Callable[[Any], tuple[Any, ...]]
    levels: dict[object, str | None]
    """Levels as written -> as the careful way takes them, None if it looks elsewhere then."""
    more_strings: bool
    """Without strings in their place the careful way looks elsewhere."""


class JsonPlan:
    """The shapes of the lines of one file."""

    def __init__(self) -> None:
        self._shapes: list[_Shape] = []
        self._lessons = _LESSONS

    def read(self, line: bytes) -> Found | None:
        """The event of a line, None if the careful way must decide."""
        for at, shape in enumerate(self._shapes):
            try:
                values = shape.fields(shape.decode(line))
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                continue
            if at:
                self._shapes.insert(0, self._shapes.pop(at))
            return _found(shape, values)
        return None

    def learn(self, value: object) -> None:
        """Learn the shape of an object that was an event, whose line fitted no shape."""
        if not self._lessons or not isinstance(value, dict):
            return
        self._lessons -= 1
        made = _shape(value)
        if made is None:
            return
        for at, shape in enumerate(self._shapes):
            merged = _merged(shape, made)
            if merged is not None:
                self._shapes[at] = merged
                return
        self._shapes = [made, *self._shapes[: _SHAPES - 1]]


def _found(shape: _Shape, values: tuple[Any, ...]) -> Found | None:
    event_id, provider, time, computer, channel, record_id, level, message, strings = values
    if event_id.__class__ is str and (event_id := integer(event_id)) is None:
        return None
    if record_id.__class__ is str and (record_id := integer(record_id)) is None:
        return None
    if strings.__class__ is not tuple:
        strings = strings_in(strings) if strings is not None else ()
    if shape.more_strings and not strings:
        return None
    if level is not None:
        level = shape.levels[level] if level in shape.levels else _level(shape, level)
        if level is None:
            return None
    return Found(
        provider,
        event_id,
        time,
        computer or "",
        channel or "",
        record_id,
        level or "",
        strings,
        message or "",
    )


def _level(shape: _Shape, written: object) -> str | None:
    path = shape.chosen["level"]
    level = str(written) if path[0] == "Event" else usable_level(plain(path[-1]), written)
    if len(shape.levels) < _LARGEST:
        shape.levels[written] = level
    return level


def _shape(sample: Mapping[str, Any]) -> _Shape | None:
    """The shape of an object, None if its keys alone do not show that it is an event."""
    tree = "Event" in sample
    places = _places_in_tree(sample) if tree else _places_by_name(sample)
    if not {"event_id", "provider"} <= places.keys():
        return None
    types: dict[_Path, Any] = {}
    for field, found in places.items():
        kind = _TYPES[field].get(type(_at(sample, found[0])))
        if kind is None:
            return None
        # Without another place an empty text is taken as it is: it says as much as none.
        types[found[0]] = str if kind is _Words and len(found) == 1 else kind
    chosen = {field: found[0] for field, found in places.items()}
    if {path[0] for path in types} <= OWN_KEYS:
        return None
    names: dict[_Path, str] = {}
    opened = _HOLDERS.__contains__ if tree else _is_nested
    line = _struct(sample, (), types, opened, names)
    if line is None or len(names) > _LARGEST:
        return None
    fields = attrgetter(*(names[chosen[field]] if field in chosen else _NONE for field in _TYPES))
    more = len(places.get("strings", ())) > 1
    return _Shape(sample, chosen, msgspec.json.Decoder(line).decode, fields, {}, more)


_NONE = "none"
_NOTHING = object()


def _struct(
    sample: Mapping[str, Any],
    at: _Path,
    types: Mapping[_Path, Any],
    opened: _Opened,
    names: dict[_Path, str],
) -> Any:
    """The type of an object like this one, without other keys; `names` gets its attributes."""
    fields: list[tuple[Any, ...]] = []
    for number, (key, item) in enumerate(sample.items()):
        path = (*at, key)
        name = names[path] = f"{names[at]}.k{number}" if at else f"k{number}"
        kind = types.get(path)
        needed = any(each[: len(path)] == path for each in types)
        if kind is None and opened(path):
            kind = _struct(item, path, types, opened, names) if type(item) is dict else None
            if item is not None and kind is None:
                return None
        elif kind is None:
            kind = msgspec.Raw
        default = {} if needed else {"default": None}
        fields.append((name.rpartition(".")[2], kind, msgspec.field(name=key, **default)))
    try:
        return msgspec.defstruct(
            "Line",
            fields,
            namespace={_NONE: None},
            kw_only=True,
            forbid_unknown_fields=True,
            gc=False,
        )
    except ValueError:  # a key with a quote or a control character
        return None


def _at(sample: Mapping[str, Any], path: _Path) -> Any:
    """Value in this place."""
    value: Any = sample
    for key in path:
        if type(value) is not dict or key not in value:
            return _NOTHING
        value = value[key]
    return value


def _places_in_tree(sample: Mapping[str, Any]) -> _Places:
    """The places that an `Event/System` has, without objects that are parsed."""
    data = _at(sample, ("Event", "EventData"))
    # Data of another kind than a list is one string, or has names: the careful way knows.
    listed = any(type(_at(sample, path)) is list for path in _TREE["strings"])
    if {"System", "log"} & sample.keys() or (type(data) is dict and data and not listed):
        return {}
    there = {
        field: [path for path in paths if type(_at(sample, path)) not in (object, dict)]
        for field, paths in _TREE.items()
    }
    # An attribute is a text or nothing, and an object in its place may be a text in the next line.
    for path in {path for paths in _TREE.values() for path in paths}:
        kind = type(_at(sample, path))
        is_time = path[2:3] and path[2] in _TIMES
        if (kind is dict and path not in _HOLDERS) or (is_time and kind in (int, float)):
            return {}
    # Only these two are looked for elsewhere when the first place is empty.
    first = {"level", "message"}
    return {
        field: found if field in first else found[:1] for field, found in there.items() if found
    }


def _is_nested(path: _Path) -> bool:
    return len(path) == 1 and plain(path[0]) in NESTED


def _places_by_name(sample: Mapping[str, Any]) -> _Places:
    """The places of fields side by side; none where two names are spelt almost alike."""
    names: dict[str, _Path] = {}
    found: dict[_Path, str]
    count = 0
    for key, item in sample.items():
        first = plain(key)
        if isinstance(item, dict) and first in NESTED:
            found = {(key, each): NESTED[first] + plain(each) for each in item}
        else:
            found = {(key,): first}
        for path, name in found.items():
            names.setdefault(name, path)
        count += len(found)
    odd = "System" in sample or type(sample.get("log", {})) is not dict
    if odd or count != len(names) or any(map(POSITIONAL.fullmatch, names)):
        return {}
    places: _Places = {}
    for name in sorted(names.keys() & FIELD_OF.keys(), key=RANK.__getitem__):
        places.setdefault(FIELD_OF[name], []).append(names[name])
        if name in CONDENSED and len(places[FIELD_OF[name]]) == 1:
            return {}
    if strings := [names[key] for key in STRING_KEYS if key in names]:
        places["strings"] = strings
    return places


def _merged(one: _Shape, other: _Shape) -> _Shape | None:
    """The shape with the keys of both; None where they do not read the same places alike."""
    if one.chosen != other.chosen:
        return None
    for path in one.chosen.values():
        if type(_at(one.sample, path)) is not type(_at(other.sample, path)):
            return None
    made = _shape(_joined(one.sample, other.sample))
    return made if made is not None and made.chosen == one.chosen else None


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    joined = {**one, **other}
    for key in one.keys() & other.keys():
        if type(one[key]) is dict and type(other[key]) is dict:
            joined[key] = _joined(one[key], other[key])
    return joined
