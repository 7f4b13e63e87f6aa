"""A logged event before it is decoded: the one carrier between the formats and `model.Event`."""

from typing import Any

import msgspec

from esewatch.model import Level


class RawEvent(msgspec.Struct, gc=False):
    """The fields of one event as they stand in an input; empty means not there."""

    provider: str = ""
    event_id: int | None = None
    time: Any = None
    """Epoch seconds; a string or number of any form until `Times` has read it."""
    computer: str = ""
    channel: str = ""
    record_id: int | None = None
    level: Level | None = None
    strings: tuple[str, ...] = ()
    """The insertion strings; item 0 is `%1`."""
    message: str = ""
    """The rendered text."""
    broken: str = ""
    """Reason why the event cannot be read; the other fields are empty then."""
