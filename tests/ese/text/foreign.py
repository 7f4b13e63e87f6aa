"""Text in a language that has no phrases."""

from esewatch.ese.events.from_text import event_from_text
from esewatch.model import Event


def read(event_id: int, message: str) -> Event:
    """The event of this foreign text."""
    event = event_from_text(provider="ESE", event_id=event_id, message=message)
    assert event is not None and event.strings == (message,)
    return event
