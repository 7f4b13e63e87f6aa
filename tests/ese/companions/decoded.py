"""Companion events as they are decoded."""

from esewatch.model import Event
from tests.support.decoding import event_from_strings, event_from_text


def by_strings(provider: str, event_id: int, *strings: str) -> Event:
    """The companion in these strings."""
    event = event_from_strings(provider=provider, event_id=event_id, strings=strings)
    assert event is not None and event.companion and event.strings == strings
    return event


def by_text(provider: str, event_id: int, message: str) -> Event:
    """The companion in this text."""
    event = event_from_text(provider=provider, event_id=event_id, message=message)
    assert event is not None and event.companion
    return event
