"""Events from positional insertion strings: the exact, language-free way.

Fields of an event are those of its catalogue row. Seconds are seconds, offsets and
sizes bytes, page numbers and counts integers; a parameter that is missing or not
readable is an absent field, further parameters are ignored.
"""

from functools import lru_cache
from typing import NamedTuple

from esewatch.ese.catalogue.event_row import EventRow, Kind
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.companions.companion_table import companion_event
from esewatch.ese.dates import DateOrder
from esewatch.ese.providers import is_ese_provider
from esewatch.ese.raw_event import RawEvent
from esewatch.ese.strings import (
    WRITERS,
    Fields,
    FieldStep,
    RowPlan,
    add_page_number,
    is_database_path,
    parse_instance,
    parse_path,
    parse_process,
    prepared,
)
from esewatch.ese.text.shapes import SHAPED, fields_of_shapes, named_database
from esewatch.model import Event, Level, Stage, Task

Strings = tuple[str, ...]

_OWN_MESSAGES = frozenset({"ese backup"})
"""Those whose ids are not of the engine's table: there 905 is a registration, 907 a method."""
_LONGEST_HEAD = 512


def has_own_messages(provider: str) -> bool:
    """True if the ids of this ESE provider have other meanings than those of the engine."""
    return provider.strip().lower() in _OWN_MESSAGES


@lru_cache(maxsize=4096)
def row_of(provider: str, event_id: int) -> EventRow | None:
    row = CATALOGUE.get(event_id)
    return None if row is None or has_own_messages(provider) else row


_WITHOUT_FIELDS = frozenset(
    event_id
    for event_id, row in CATALOGUE.items()
    if not row.constants and not any(param.kind in WRITERS for param in row.params)
)


def has_fields(event_id: int) -> bool:
    """True if an event of this id may have fields; those that are not known may."""
    return event_id not in _WITHOUT_FIELDS


class _Plan(NamedTuple):
    fields: RowPlan
    needed: int
    """Strings that the plan reads, those before the parameters among them."""
    database: int
    """Index of the string that is the database, -1 if there is none."""
    any_file: bool
    """That string may also be a log, which is no database."""
    page_error: bool


@lru_cache(maxsize=4096)
def _planned(event_id: int, start: int) -> _Plan:
    row = CATALOGUE[event_id]
    steps = [
        FieldStep(index, param.name, WRITERS[param.kind])
        for index, param in enumerate(row.params, start)
        if param.kind in WRITERS
    ]
    paths = [
        index
        for index, param in enumerate(row.params, start)
        if param.kind in (Kind.DATABASE, Kind.FILE)
    ]
    index = paths[0] if paths else -1
    any_file = index >= 0 and row.params[index - start].kind is Kind.FILE
    plan = prepared(row.constants, steps)
    return _Plan(plan, start + len(row.params), index, any_file, row.page_error)


class _Head(NamedTuple):
    """Fields of the first strings, and the place at which the parameters of the message begin."""

    process: str
    state: str
    version: str
    instance: str
    start: int


def _head(strings: Strings) -> _Head | None:
    """Process and instance; None if these are not the strings of an event. Some collectors drop
    empty strings: a third string without the colon that `%3` always ends in is already the first
    parameter."""
    if len(strings) < 2:
        return None
    who = parse_process(strings[1])
    third = strings[2].rstrip() if len(strings) > 2 else ""
    named = (strings[0].strip(), who.state, who.version) if who is not None else ("", "", "")
    if not third or third.endswith(":"):
        if who is None and len(strings) < 3:
            return None
        return _Head(*named, parse_instance(third), 3)
    return _Head(*named, "", 2) if who is not None else None


def _without_positions(event_id: int, strings: Strings) -> tuple[str, Fields]:
    """Strings of another shape (a whole message as one string): facts that their shape gives."""
    text = "\n".join(strings)
    if event_id not in SHAPED:
        return named_database(event_id, text, whole=True), {}
    return fields_of_shapes(event_id, text, dict(CATALOGUE[event_id].constants))


class _Frame(NamedTuple):
    """Fields that all events of one id have in common that one process logs."""

    level: Level | None
    task: Task | None
    stage: Stage | None
    process: str
    state: str
    version: str
    instance: str
    known: bool
    plan: _Plan | None
    """None where the strings are not in their places."""


_Key = tuple[str, int, Strings, Strings]
"""Provider, id, the first strings, further providers."""
_FRAMES_KEPT = 4096
_frames: dict[_Key, _Frame] = {}
"""Frames met: an event costs one look into it."""


def _frame(key: _Key) -> _Frame | None:
    """The frame of an event, None if it is of another provider; one of short strings is kept."""
    provider, event_id, first, extra = key
    if not is_ese_provider(provider, extra):
        return None
    row = row_of(provider, event_id)
    head = _head(first)
    process, state, version, instance, start = head or _Head("", "", "", "", 0)
    frame = _Frame(
        level=row.level if row else None, task=row.task if row else None,
        stage=row.stage if row else None, process=process, state=state, version=version,
        instance=instance, known=row is not None,
        plan=_planned(event_id, start) if row and head else None,
    )  # fmt: skip
    if len("".join((provider, *first))) <= _LONGEST_HEAD:
        if len(_frames) >= _FRAMES_KEPT:
            _frames.clear()
        _frames[key] = frame
    return frame


def logged_process(
    provider: str, event_id: int, strings: Strings, extra_providers: Strings
) -> tuple[str, str]:
    """State letter and engine version that the strings of an event of ESE have."""
    key = (provider, event_id, strings[:3], extra_providers)
    frame = _frames.get(key) or _frame(key)
    return (frame.state, frame.version) if frame is not None else ("", "")


def event_from_strings(
    raw: RawEvent, extra_providers: Strings = (), date_order: DateOrder | None = None
) -> Event | None:
    """The event of the strings and the id of `raw`; None if not from ESE. An unknown id of an ESE
    provider keeps its strings and has no fields. Without `level` the event has the severity of the
    catalogue. Companions of other providers (semantics.md 4) come out with `companion` set."""
    provider, event_id, strings = raw.provider, raw.event_id, raw.strings
    assert event_id is not None
    key = (provider, event_id, strings[:3], extra_providers)
    frame = _frames.get(key) or _frame(key)
    if frame is None:
        return companion_event(raw, strings, "")
    usual, task, stage, process, state, version, instance, known, plan = frame
    database: str
    fields: Fields
    if plan is not None:
        fields_of, needed, index, any_file, page_error = plan
        # An empty string gives what a missing one gives: nothing.
        lack = needed - len(strings)
        whole = (*strings, *("",) * lack) if lack > 0 else strings
        fields = fields_of(whole, date_order)
        if page_error:
            add_page_number(fields)
        database = parse_path(whole[index]) if index >= 0 else ""
        if any_file and not is_database_path(database):
            database = ""
    else:
        database, fields = _without_positions(event_id, strings) if known else ("", {})
    return Event(
        event_id, provider, raw.time, raw.computer, raw.channel, raw.record_id, raw.level or usual,
        process, state, version, instance, database, task, stage, fields, strings,
    )  # fmt: skip
