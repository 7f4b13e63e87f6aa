"""Events from positional insertion strings: the exact, language-free way.

Fields of an event are those of its catalogue row. Seconds are seconds, offsets and
sizes bytes, page numbers and counts integers; a parameter that is missing or not
readable is an absent field, further parameters are ignored.
"""

from collections.abc import Sequence
from typing import NamedTuple

from esewatch.ese.catalogue.event_row import EventRow, Kind
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.companions.companion_table import Envelope, companion_event
from esewatch.ese.dates import DateOrder
from esewatch.ese.providers import is_ese_provider
from esewatch.ese.strings import (
    WRITERS,
    Fields,
    Process,
    Writer,
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


def has_own_messages(provider: str) -> bool:
    """Whether the ids of this ESE provider have other meanings than those of the engine."""
    return provider.strip().lower() in _OWN_MESSAGES


def row_of(provider: str, event_id: int) -> EventRow | None:
    """The row of an event of this ESE provider, None if it is not known."""
    return None if has_own_messages(provider) else CATALOGUE.get(event_id)


class _Decoder(NamedTuple):
    """A prepared row: the handling of the strings from `%4` on."""

    steps: tuple[tuple[int, Writer, str], ...]
    database: int
    """Index of the string that is the database, -1 if there is none."""
    any_file: bool
    """That string may also be a log, which is no database."""


def _decoder(row: EventRow) -> _Decoder:
    steps = tuple(
        (index, WRITERS[param.kind], param.name)
        for index, param in enumerate(row.params)
        if param.kind in WRITERS
    )
    paths = [
        index for index, param in enumerate(row.params) if param.kind in (Kind.DATABASE, Kind.FILE)
    ]
    index = paths[0] if paths else -1
    return _Decoder(steps, index, index >= 0 and row.params[index].kind is Kind.FILE)


_DECODERS: dict[int, _Decoder] = {event_id: _decoder(row) for event_id, row in CATALOGUE.items()}


def _split(strings: tuple[str, ...]) -> tuple[Process | None, str, tuple[str, ...]] | None:
    """Process, instance and message parameters; None if these are not the strings of an event.

    Some collectors drop empty strings: a third string without the colon that `%3`
    always ends in is already the first parameter.
    """
    if len(strings) < 2:
        return None
    process = parse_process(strings[1])
    third = strings[2].rstrip() if len(strings) > 2 else ""
    if not third or third.endswith(":"):
        if process is None and len(strings) < 3:
            return None
        return process, parse_instance(third), strings[3:]
    return (process, "", strings[2:]) if process is not None else None


def decode_row(
    row: EventRow, params: Sequence[str], date_order: DateOrder | None
) -> tuple[str, Fields]:
    """Database and fields of `row` from its parameters (`%4` first)."""
    fields: Fields = dict(row.constants)
    decoder = _DECODERS[row.event_id]
    given = len(params)
    for index, writer, name in decoder.steps:
        if index >= given:
            break
        writer(fields, name, params[index], date_order)
    if row.page_error:
        add_page_number(fields)
    database = ""
    if 0 <= decoder.database < given:
        database = parse_path(params[decoder.database])
        if decoder.any_file and not is_database_path(database):
            database = ""
    return database, fields


def _as_strings(strings: Sequence[str]) -> tuple[str, ...]:
    """The strings; JSON may hold numbers and null in their place."""
    parts = tuple(strings)
    if set(map(type, parts)) - _STR:
        return tuple("" if part is None else str(part) for part in parts)
    return parts


def _without_positions(event_id: int, strings: tuple[str, ...]) -> tuple[str, Fields]:
    """Strings of another shape (a whole message as one string): facts that their shape gives."""
    text = "\n".join(strings)
    if event_id not in SHAPED:
        return named_database(event_id, text, whole=True), {}
    return fields_of_shapes(event_id, text, dict(CATALOGUE[event_id].constants))


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
    process = state = version = instance = ""
    if (split := _split(parts)) is not None:
        who, instance, params = split
        if who is not None:
            process, state, version = parts[0].strip(), who.state, who.version
        database, fields = decode_row(row, params, date_order) if row else ("", {})
    else:
        database, fields = _without_positions(event_id, parts) if row else ("", {})
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
