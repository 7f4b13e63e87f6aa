"""Requests to the disk that hung (532, 533), and which of them have not completed since.

A request completes by 507-510, 481 or 482 of the same file and offset, if that one started no later
(semantics.md 7). The order of arrival makes no difference: ends are kept, too.
"""

from bisect import insort

from esewatch.fold.state import acknowledgements
from esewatch.fold.state.database_state import Database, Request
from esewatch.fold.state.state import Instance
from esewatch.model import Event

HUNG_IO = {532: "read", 533: "write"}
SLOW_IO = {507: "read", 509: "read", 508: "write", 510: "write"}
ENDS = frozenset({*SLOW_IO, 481, 482})
ROUNDED = 1.0
"""Seconds: records have whole ones."""
MAX_SECONDS = 100 * 365 * 86400
"""No I/O takes a century; a larger number is damage."""
MAX_REQUESTS = 64
MAX_NAME = 260


def note(entry: Database, event: Event, time: float) -> None:
    """Keep a request of the database, or of a log file of its instance, that hung or ended."""
    hangs = event.event_id in HUNG_IO
    if not hangs and event.event_id not in ENDS:
        return
    file, offset = event.fields.get("file"), event.fields.get("offset")
    seconds = event.fields.get("seconds")
    took = seconds if isinstance(seconds, int | float) and 0 <= seconds < MAX_SECONDS else 0
    request = Request(
        time,
        time - took,
        # A database is known by its entry, wherever it is now.
        file.lower()[-MAX_NAME:] if isinstance(file, str) and not event.database else "",
        offset if isinstance(offset, int) and 0 <= offset < 1 << 63 else -1,
    )
    if not hangs:
        entry.hung_requests = [each for each in entry.hung_requests if not _ends(request, each)]
    elif any(_ends(each, request) for each in entry.ended_requests):
        return
    known = entry.hung_requests if hangs else entry.ended_requests
    insort(known, request)
    del known[:-MAX_REQUESTS]


def _ends(done: Request, hung: Request) -> bool:
    return (
        (done.file, done.offset) == (hung.file, hung.offset)
        and done.time >= hung.time
        and done.began <= hung.began + ROUNDED
    )


def still_hung(entry: Database, instance: Instance | None) -> list[float]:
    """Sorted times at which the requests were reported that have not completed since; its instance
    has not come up, and nobody has acknowledged them."""
    came_up = instance.mounted if instance is not None else 0.0
    dealt_with = acknowledgements.up_to(entry, acknowledgements.HUNG_IO)
    return [
        each.time for each in entry.hung_requests if each.time >= came_up and each.time > dealt_with
    ]
