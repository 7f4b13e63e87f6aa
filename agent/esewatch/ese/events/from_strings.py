"""Events from positional insertion strings: the exact, language-free way.

Fields of an event are those of its catalogue row. Seconds are seconds, offsets and
sizes bytes, page numbers and counts integers; a parameter that is missing or not
readable is an absent field, further parameters are ignored.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from esewatch.ese.catalogue.event_row import EventRow, Kind
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.companions.companion_table import Envelope, companion_event
from esewatch.ese.dates import DateOrder
from esewatch.ese.providers import is_ese_provider
from esewatch.ese.row_plan import RowPlan, Step, prepared
from esewatch.ese.strings import (
    WRITERS,
    Fields,
    add_page_number,
    is_database_path,
    parse_instance,
    parse_path,
    parse_process,
)
from esewatch.ese.text.shapes import SHAPED, fields_of_shapes
from esewatch.ese.text.text_paths import named_database
from esewatch.model import Event, Level

_OWN_MESSAGES = frozenset({"ese backup"})
"""Those whose ids are not of the engine's table: there 905 is a registration, 907 a method."""
_STR = {str}
_LONGEST_HEAD = 512


def has_own_messages(provider: str) -> bool:
    """Whether the ids of this ESE provider have other meanings than those of the engine."""
    return provider.strip().lower() in _OWN_MESSAGES


@lru_cache(maxsize=4096)
def row_of(provider: str, event_id: int) -> EventRow | None:
    """The row of an event of this ESE provider, None if it is not known."""
    row = CATALOGUE.get(event_id)
    return None if row is None or has_own_messages(provider) else row


class _Plan(NamedTuple):
    """A prepared row: the handling of the strings from `%4` on."""

    fields: RowPlan
    needed: int
    """Strings that the plan reads."""
    database: int
    """Index of the string that is the database, -1 if there is none."""
    any_file: bool
    """That string may also be a log, which is no database."""


def _planned(row: EventRow) -> _Plan:
    steps = [
        Step(index, param.name, WRITERS[param.kind])
        for index, param in enumerate(row.params)
        if param.kind in WRITERS
    ]
    paths = [
        index for index, param in enumerate(row.params) if param.kind in (Kind.DATABASE, Kind.FILE)
    ]
    index = paths[0] if paths else -1
    any_file = index >= 0 and row.params[index].kind is Kind.FILE
    return _Plan(prepared(row.constants, steps), len(row.params), index, any_file)


_PLANS: dict[int, _Plan] = {event_id: _planned(row) for event_id, row in CATALOGUE.items()}


class _Head(NamedTuple):
    """What the first strings say, and where the parameters of the message begin."""

    process: str
    state: str
    version: str
    instance: str
    start: int


def _head(strings: tuple[str, ...]) -> _Head | None:
    """Process and instance; None if these are not the strings of an event.

    Some collectors drop empty strings: a third string without the colon that `%3`
    always ends in is already the first parameter.
    """
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


def logged_process(strings: tuple[str, ...]) -> tuple[str, str]:
    """State letter and engine version that the strings of an event of ESE have."""
    head = _head_of(strings)
    return (head.state, head.version) if head is not None else ("", "")


_NO_HEAD = _Head("", "", "", "", 0)
_kept_head = lru_cache(maxsize=4096)(_head)


def _head_of(strings: tuple[str, ...]) -> _Head | None:
    first = strings[:3]
    return _kept_head(first) if len("".join(first)) <= _LONGEST_HEAD else _head(first)


def decode_row(
    row: EventRow, params: Sequence[str], date_order: DateOrder | None
) -> tuple[str, Fields]:
    """Database and fields of `row` from its parameters (`%4` first)."""
    plan = _PLANS[row.event_id]
    if len(params) < plan.needed:
        # An empty string gives what a missing one gives: nothing.
        params = (*params, *("",) * (plan.needed - len(params)))
    fields = plan.fields(params, date_order)
    if row.page_error:
        add_page_number(fields)
    database = parse_path(params[plan.database]) if plan.database >= 0 else ""
    if plan.any_file and not is_database_path(database):
        database = ""
    return database, fields


def _as_strings(strings: Sequence[str]) -> tuple[str, ...]:
    """The strings; JSON may hold numbers and null in their place."""
    parts = tuple(strings)
    if _STR.issuperset(map(type, parts)):
        return parts
    return tuple("" if part is None else str(part) for part in parts)


def _without_positions(event_id: int, strings: tuple[str, ...]) -> tuple[str, Fields]:
    """Strings of another shape (a whole message as one string): facts that their shape gives."""
    text = "\n".join(strings)
    if event_id not in SHAPED:
        return named_database(event_id, text, whole=True), {}
    return fields_of_shapes(event_id, text, dict(CATALOGUE[event_id].constants))


def _content(
    row: EventRow, head: _Head | None, parts: tuple[str, ...], date_order: DateOrder | None
) -> tuple[str, Fields]:
    """Database and fields of an event with these strings."""
    if head is None:
        return _without_positions(row.event_id, parts)
    return decode_row(row, parts[head.start :], date_order)


def event_from_strings(
    *,
    provider: str,
    event_id: int,
    strings: Sequence[str],
    time: float | None = None,
    computer: str = "",
    channel: str = "",
    record_id: int | None = None,
    level: Level | None = None,
    extra_providers: Sequence[str] = (),
    date_order: DateOrder | None = None,
) -> Event | None:
    """The event with these insertion strings (`strings[0]` is `%1`); None if not from ESE.

    `time` is epoch seconds. An unknown id of an ESE provider keeps its strings and
    has no fields. Without `level` the event has the severity of the catalogue.
    Companions of other providers (semantics.md 4) come out with `companion` set.
    """
    parts = _as_strings(strings)
    if not is_ese_provider(provider, extra_providers):
        envelope = Envelope(provider, event_id, time, computer, channel, record_id, level)
        return companion_event(envelope, parts, "")
    row = row_of(provider, event_id)
    head = _head_of(parts)
    database, fields = _content(row, head, parts, date_order) if row else ("", {})
    process, state, version, instance, _ = head or _NO_HEAD
    return Event(
        event_id=event_id,
        provider=provider,
        time=time,
        computer=computer,
        channel=channel,
        record_id=record_id,
        level=level or (row.level if row else None),
        process=process,
        instance_state=state,
        engine_version=version,
        ese_instance=instance,
        database=database,
        task=row.task if row else None,
        stage=row.stage if row else None,
        fields=fields,
        strings=parts,
    )
