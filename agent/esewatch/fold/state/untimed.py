"""Events without a time: their own facts count, but they have no place among passes."""

import msgspec

from esewatch.model import Event

MAX_ENDS = 64


class Ended(msgspec.Struct, array_like=True, frozen=True):
    """A pass whose end has no time, and the numbers in its event."""

    event_id: int
    figures: dict[str, int | float]


class Untimed(msgspec.Struct, array_like=True):
    events: dict[int, int] = {}
    ends: list[Ended] = []
    """In the order in which they were read, the last 64."""


def note(untimed: Untimed, event: Event, *, ends: bool) -> None:
    """Count an event; `ends`: a pass ends with it."""
    untimed.events[event.event_id] = untimed.events.get(event.event_id, 0) + 1
    if ends:
        numbers = {
            name: value for name, value in event.fields.items() if isinstance(value, int | float)
        }
        untimed.ends.append(Ended(event.event_id, numbers))
        del untimed.ends[:-MAX_ENDS]
