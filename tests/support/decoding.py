"""Events of fields that are given by their names."""

from collections.abc import Sequence
from typing import Any

from esewatch.ese.dates import DateOrder
from esewatch.ese.events import from_strings, from_text
from esewatch.ese.raw_event import RawEvent
from esewatch.model import Event


def event_from_strings(
    *,
    strings: Sequence[str],
    extra_providers: Sequence[str] = (),
    date_order: DateOrder | None = None,
    **fields: Any,
) -> Event | None:
    """The event with these insertion strings and fields of a `RawEvent`."""
    raw = RawEvent(strings=tuple(strings), **fields)
    return from_strings.event_from_strings(raw, tuple(extra_providers), date_order)


def event_from_text(
    *, extra_providers: Sequence[str] = (), date_order: DateOrder | None = None, **fields: Any
) -> Event | None:
    """The event with this message and other fields of a `RawEvent`."""
    return from_text.event_from_text(RawEvent(**fields), tuple(extra_providers), date_order)
