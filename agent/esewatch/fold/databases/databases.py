"""State changes of one database by one event (semantics.md 2 and 3).

A request to the disk that hung (532, 533) completes by 507-510, 481 or 482 of the same file and
offset, if that one started no later (semantics.md 7). The order of arrival makes no difference:
ends are kept, too.
"""

from bisect import insort
from datetime import date

from esewatch.fold.databases import page_errors
from esewatch.fold.databases.bad_pages import (
    hold_scans,
    latch,
    latch_found,
    mark_good,
    note_error,
    note_io_error,
)
from esewatch.fold.databases.integrity import (
    IO_ERRORS,
    LOGICAL_EVENTS,
    PAGE_EVENTS,
    READ_ERRORS,
    REPAIR_EVENTS,
)
from esewatch.fold.identity import owners
from esewatch.fold.identity.identity import ACTIVE_FAMILY, PASSIVE_FAMILY, family
from esewatch.fold.passes import passes, transitions
from esewatch.fold.passes.stops import DETACH, life_of
from esewatch.fold.state import acknowledgements, damage, rollups
from esewatch.fold.state.database_state import Ended, Request
from esewatch.fold.state.state import UNLOCATED, Age, Database, Failure, Instance, State, Transition
from esewatch.model import Event

HUNG_IO = {532: "read", 533: "write"}
SLOW_IO = {507: "read", 509: "read", 508: "write", 510: "write"}
REQUEST_ENDS = frozenset({*SLOW_IO, 481, 482})
ROUNDED = 1.0
"""Seconds: records have whole ones."""
MAX_SECONDS = 100 * 365 * 86400
"""No I/O takes a century; a larger number is damage."""
MAX_REQUESTS = 64
MAX_NAME = 260


REPLAYS = frozenset("RU")
"""State letters (`%2`) of an instance that replays logs."""

MOST = 2**64 - 1
"""The journal keeps no larger number; the sums of damaged records stay there."""

FAMILY_2007 = frozenset({718, 720, *range(721, 728), 729, 730})
FAMILY_CURRENT = frozenset({728, *range(732, 758)})
MAINTENANCE = range(700, 758)
_FAMILIES = FAMILY_2007 | FAMILY_CURRENT | ACTIVE_FAMILY | PASSIVE_FAMILY
"""Events that tell a role or a generation, whatever state their instance has."""

ZEROING_KINDS = {
    "pages_unchanged": "unchanged",
    "unused_pages_zeroed": "unused_zeroed",
    "used_pages_seen": "used",
    "deleted_records_zeroed": "deleted_records_zeroed",
    "unreferenced_chunks_zeroed": "unreferenced_chunks_zeroed",
    "uninitialized_pages": "uninitialized",
}
"""Field of 722 and 707 -> label `kind`."""

CREATED, ATTACHED, DETACHED = 325, 326, 327
_COMES_AND_GOES = frozenset({CREATED, ATTACHED, DETACHED})
MAX_ATTACHED = 16
MAX_UNTIMED_ENDS = 64
WITH_FREE_SPACE = frozenset({735, 737})
_ERRORS = frozenset({damage.INDEX_REBUILT}).union(
    READ_ERRORS,
    damage.DAMAGE,
    PAGE_EVENTS,
    LOGICAL_EVENTS,
    REPAIR_EVENTS,
    IO_ERRORS,
    SLOW_IO,
    HUNG_IO,
)
_SUMMED = frozenset({*passes.COMPLETES, 707, 728})
"""Events whose numbers are summed up; none of them is an error."""

_DAYS_AFTER_EPOCH = date(1970, 1, 1).toordinal()


def meet(entry: Database, time: float, *, dated: bool = True) -> None:
    """`dated`: the event is of that time, and was not only read then."""
    if dated and (entry.first_seen == 0.0 or time < entry.first_seen):
        entry.first_seen = time
    if time > entry.last_seen:
        entry.last_seen = time


def is_dated(entry: Database) -> bool:
    """True if the times are known: not all of its events were without a time, or it was read."""
    is_read = bool(entry.verified or entry.page_scan or entry.header_time)
    return not entry.untimed.events or entry.named > 0.0 or is_read


def resize(entry: Database, size: float, time: float) -> None:
    entry.size_bytes = size
    rollups.set_size(entry.sizes, time, size)


def identify(entry: Database, event: Event, time: float) -> bool:
    """Update names, role and generation; the youngest event decides, and no event of a tool.

    Returns True when the database's name or provider changed. `time` is when the event was read
    where it has no time of its own: such an event decides where no other has a time.
    """
    meet(entry, time, dated=event.time is not None)
    time = 0.0 if event.time is None else time
    ese_instance, provider = entry.ese_instance, entry.provider
    if owners.name(entry, event, time):
        entry.maintenance_seen = entry.maintenance_seen or event.event_id in MAINTENANCE
        if event.instance_state or event.event_id in _FAMILIES:
            _role(entry, event, time)
            _generation(entry, event, time)
    return ese_instance != entry.ese_instance or provider != entry.provider


def _role(entry: Database, event: Event, time: float) -> None:
    """The last scan event decides; the last state letter of `%2` is a hint (semantics.md 1)."""
    role = family(event.event_id)
    if role and time >= entry.role_time:
        entry.role, entry.role_time, entry.role_event = role, time, event.event_id
    if event.instance_state:
        # Of one moment it is the D: a start replays first.
        known = entry.letter_time, entry.letter == "D", entry.letter
        new = time, event.instance_state == "D", event.instance_state
        entry.letter_time, _, entry.letter = max(known, new)


def _generation(entry: Database, event: Event, time: float) -> None:
    if time < entry.generation_time:
        return
    if event.instance_state or event.event_id in FAMILY_CURRENT:
        entry.generation, entry.generation_time = "current", time
    elif event.event_id in FAMILY_2007:
        entry.generation, entry.generation_time = "2007", time


def fold_event(state: State, entry: Database, event: Event, time: float, *, history: bool) -> None:
    """Count the event and keep the facts from which passes and bad pages are derived.

    `time` is when the event was read where it has no time of its own: a bad page counts all the
    same, and nothing else follows from it but what it says by itself.
    """
    identifier = event.event_id
    if identifier in page_errors.REPORTS:
        _failure(entry, event, time, history=history)
    if event.time is None:
        _untimed(entry, event, time)
        if identifier not in PAGE_EVENTS and identifier not in damage.DAMAGE:
            return
    elif identifier in passes.TRANSITIONS and not _is_of_others(event):
        _transition(state, entry, event, time, history=history)
    if event.time is not None and identifier in _COMES_AND_GOES and not _is_of_others(event):
        _comes_or_goes(entry, identifier, time)
    if identifier in _ERRORS:
        _error(entry, event, time, history=history)
    elif identifier in _SUMMED:
        _sums(entry, event)
        if identifier in WITH_FREE_SPACE:
            _free_space_on_pages(entry, event, time)


def note_created(entry: Database) -> None:
    """Work out when its file was made anew: a first identity is no other one."""
    firsts = entry.signatures.values() if len(entry.signatures) > 1 else ()
    entry.created = max(entry.made, *firsts, 0.0)


def _comes_or_goes(entry: Database, identifier: int, time: float) -> None:
    if identifier == DETACHED:
        entry.detached = max(entry.detached, time)
        return
    entry.attached = sorted({*entry.attached, time})[-MAX_ATTACHED:]
    if identifier == CREATED:
        entry.made = max(entry.made, time)
        note_created(entry)


def _failure(entry: Database, event: Event, time: float, *, history: bool) -> None:
    kind = page_errors.failure_of(event)
    if kind == "io":
        note_io_error(entry, time)
    elif kind == "logical":
        damage.add(entry.damage, kind, event.event_id, time)
    elif kind is not None:
        note_error(entry, time)
        page_errors.keep(entry.failures, Failure(time, kind, event.event_id, history))


def enrich(state: State, entry: Database, event: Event, time: float) -> bool:
    """Take over what another input shows of a known event: the numbers of a pass that ended, the
    page of an error. False when that is nothing."""
    identifier = event.event_id
    if identifier in PAGE_EVENTS:
        page = event.fields.get("page_number")
        if isinstance(page, int):
            latch(entry, page, PAGE_EVENTS[identifier][1], time)
        return isinstance(page, int)
    known = transitions.poorer(entry.transitions, identifier, time, len(event.fields))
    if known is None:
        return False
    transitions.remove(entry.transitions, known)
    _transition(state, entry, event, known.time, history=known.history)
    if not known.fields and identifier in _SUMMED:
        _sums(entry, event)
    return True


def _is_of_others(event: Event) -> bool:
    """True if a program that works on files of others attached or detached it, or if it is detached
    by logs that are replayed."""
    if event.event_id not in transitions.ATTACHMENT:
        return False
    replayed = event.event_id == DETACH and event.instance_state in REPLAYS
    return replayed or owners.is_tool(event.process)


def _error(entry: Database, event: Event, time: float, *, history: bool) -> None:
    identifier = event.event_id
    if identifier in READ_ERRORS:
        note_error(entry, time)
    if identifier in damage.DAMAGE:
        damage.note(entry, event, time)
    elif identifier == damage.INDEX_REBUILT:
        entry.index_rebuilt = max(entry.index_rebuilt, time)
    if identifier in PAGE_EVENTS or identifier in LOGICAL_EVENTS:
        _page_error(entry, event, time, history=history)
    elif identifier in REPAIR_EVENTS:
        _repair(entry, event, time)
    else:
        if identifier in IO_ERRORS:
            note_io_error(entry, time)
        fold_request(entry, event, time)


def _untimed(entry: Database, event: Event, time: float) -> None:
    """Count an event without a time; a scan that found bad pages and names none has one
    unlocated."""
    ended = passes.COMPLETES.get(event.event_id, ())
    known = entry.untimed
    known.events[event.event_id] = known.events.get(event.event_id, 0) + 1
    if ended:
        told = event.fields.items()
        numbers = {name: value for name, value in told if isinstance(value, int | float)}
        known.ends.append(Ended(event.event_id, numbers))
        del known.ends[:-MAX_UNTIMED_ENDS]
    if "checksum" in ended and _count(event, "bad_checksums"):
        latch_found(entry, UNLOCATED, "uncorrectable", time, "untimed")


def _transition(state: State, entry: Database, event: Event, time: float, *, history: bool) -> None:
    numbers: dict[str, int | float] = {}
    if event.event_id in transitions.TOLD:
        names, fields = transitions.names(event.event_id), event.fields
        numbers = {
            name: value
            for name in names
            if (value := fields.get(name)) is not None and not isinstance(value, str)
        }
        if "pass_started_day" in names:
            numbers.update(_started_day(event))
        if event.event_id in transitions.ATTACHMENT:
            name = owners.instance_name(event.ese_instance, event.process)
            numbers["instance"] = transitions.name_number(name)
    transition = Transition(time, event.record_id or 0, event.event_id, numbers, history)
    if time < entry.evicted_until:
        passes.count_late(entry, transition)
        if "checksum" in passes.COMPLETES.get(event.event_id, ()):
            hold_scans(entry, [passes.late_scan(entry, transition)])
        return
    transitions.insert(entry.transitions, transition)
    if len(entry.transitions) <= passes.MOST_BYTES:
        return
    hold_scans(entry, passes.evict(entry, life_of(state, entry)))


def _started_day(event: Event) -> dict[str, float]:
    """The date on which the pass began, as epoch seconds of its midnight; it has no time of day."""
    told = event.fields.get("pass_started_date")
    try:
        day = date.fromisoformat(str(told)).toordinal() - _DAYS_AFTER_EPOCH
    except ValueError:
        return {}
    return {"pass_started_day": day * rollups.DAY_SECONDS}


def _page_error(entry: Database, event: Event, time: float, *, history: bool) -> None:
    if event.event_id in LOGICAL_EVENTS:
        kind = "logical"
    else:
        kind, bad = PAGE_EVENTS[event.event_id]
        page = event.fields.get("page_number", UNLOCATED)
        # A time between two that are joined is near one of them.
        named, near = entry.named_pages.setdefault(bad, []), page_errors.NEAR_SECONDS
        page_errors.add_time(named, time, within=2 * near, most=page_errors.MAX_SPANS)
        number = page if isinstance(page, int) else UNLOCATED
        age: Age = "untimed" if event.time is None else "history" if history else ""
        latch(entry, number, bad, time, age)
    entry.page_errors[kind] = entry.page_errors.get(kind, 0) + 1
    if event.time is not None:
        entry.page_error_last[kind] = max(entry.page_error_last.get(kind, 0.0), time)


def _repair(entry: Database, event: Event, time: float) -> None:
    entry.patched_last = max(entry.patched_last, time)
    first = event.fields.get("page_number")
    last = event.fields.get("last_page_number", first)
    if isinstance(first, int) and isinstance(last, int):
        mark_good(entry, first, last, time)


def note_request(entry: Database, event: Event, time: float) -> None:
    """Keep a request of the database, or of a log file of its instance, that hung or ended."""
    hangs = event.event_id in HUNG_IO
    if not hangs and event.event_id not in REQUEST_ENDS:
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


def fold_request(entry: Database, event: Event, time: float) -> bool:
    """Count slow and hung I/O, and keep what hung and what ended it; False when the event is
    neither. One 509/510 stands for itself and the reports it says were suppressed."""
    identifier = event.event_id
    note_request(entry, event, time)
    if identifier in HUNG_IO:
        operation = HUNG_IO[identifier]
        entry.hung_io[operation] = entry.hung_io.get(operation, 0) + 1
        entry.hung_io_last[operation] = max(entry.hung_io_last.get(operation, 0.0), time)
        return True
    operation = SLOW_IO.get(identifier, "")
    if not operation:
        return identifier in REQUEST_ENDS
    suppressed = event.fields.get("suppressed", 0)
    count = 1 + (suppressed if isinstance(suppressed, int) and suppressed > 0 else 0)
    entry.slow_io[operation] = min(entry.slow_io.get(operation, 0) + count, MOST)
    if time >= entry.slow_io_last.get(operation, 0.0):
        entry.slow_io_last[operation] = time
        seconds = event.fields.get("seconds")
        if isinstance(seconds, int | float) and 0 <= seconds < MAX_SECONDS:
            entry.slow_io_last_seconds[operation] = float(seconds)
        else:
            entry.slow_io_last_seconds.pop(operation, None)
    return True


def fold_free_space(entry: Database, free_bytes: float, time: float) -> None:
    """White space, from the youngest report (1221, 1646, 737)."""
    if time >= entry.free_time:
        entry.free_bytes, entry.free_time = free_bytes, time


def _free_space_on_pages(entry: Database, event: Event, time: float) -> None:
    free = 0
    for mean, pages in (
        ("record_page_free_bytes", "record_pages"),
        ("lv_page_free_bytes", "lv_pages"),
    ):
        if not (mean in event.fields and pages in event.fields):
            return
        free += _count(event, mean) * _count(event, pages)
    fold_free_space(entry, float(free), time)


def _sums(entry: Database, event: Event) -> None:
    for task in passes.COMPLETES.get(event.event_id, ()):
        _add(entry.pages_seen, task, event, "pages_seen")
        _add(entry.bad_checksums, task, event, "bad_checksums")
        _add(entry.bad_checksums, task, event, "run_bad_checksums")
    if event.event_id in {701, 703}:
        freed = _count(event, "pages_freed")
        entry.reported_pages_freed = min(entry.reported_pages_freed + freed, MOST)
    elif event.event_id == 728:
        visited, freed = _count(event, "pages_visited"), _count(event, "pages_freed")
        entry.index_pages_visited = min(entry.index_pages_visited + visited, MOST)
        entry.index_pages_freed = min(entry.index_pages_freed + freed, MOST)
    elif event.event_id in {707, 722}:
        for field, kind in ZEROING_KINDS.items():
            _add(entry.zeroing_pages, kind, event, field)


def _add(sums: dict[str, int], key: str, event: Event, field: str) -> None:
    if field in event.fields:
        sums[key] = min(sums.get(key, 0) + _count(event, field), MOST)


def _count(event: Event, field: str) -> int:
    """A count of the event; negative ones are 32-bit overflows of the engine and mean nothing."""
    value = event.fields.get(field, 0)
    return value if isinstance(value, int) and value > 0 else 0
