"""Text in a language that has no phrases."""

from esewatch.model import Event
from tests.support.decoding import event_from_text


def read(event_id: int, message: str) -> Event:
    """The event of this foreign text."""
    event = event_from_text(provider="ESE", event_id=event_id, message=message)
    assert event is not None and event.strings == (message,)
    return event
