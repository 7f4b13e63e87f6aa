"""Limits on the number of names that are kept, since names come from the data.

Names beyond the limit are counted and remembered as dropped.
"""

import zlib
from collections.abc import Mapping, Sized
from operator import attrgetter
from typing import TypeVar

import msgspec

from esewatch.config import Settings
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.fold.identity.identity import MAX_PATH, full_name, is_configured
from esewatch.fold.state.state import Host, State
from esewatch.model import Coverage, Event, Feed, Reading, Record

AnyRecord = TypeVar("AnyRecord", bound=Record)

MAX_DROPPED = 1000
OWNERS_A_DATABASE = 4
"""The limit of instances, devices, processes, computers and channels for each of
`max_databases`."""
EVENTS_A_DATABASE = 20
"""The limit of separate pairs of computer and event id for each of `max_databases`."""
MAX_EVENT_IDS = 500
"""The limit of separate unknown ids of one provider on one computer."""
MAX_PROVIDERS = 32
OTHER_EVENT, OTHER_PROVIDER = -1, "other"
"""The name under which events beyond these limits are counted: the sum stays complete."""
CROWDED = 0.9
"""Once the limit of computers is reached, none is added until they are below this share of it."""
PASSING_SECONDS, PASSED_SECONDS = 3600.0, 86400.0
"""At the limit, a computer without a database is dropped if its events span an hour at most and
ended more than a day ago."""
MAX_NAME = 255
"""A longer name is cut; a digest behind it keeps it distinct."""
MAX_LABEL = 1024
"""The same limit for a field that may be a path."""
_NAMES: Mapping[type, tuple[str, ...]] = {
    Event: ("computer", "channel", "provider", "process", "ese_instance"),
    Reading: ("computer", "object", "counter", "instance"),
    Coverage: ("computer", "channel"),
}
"""The names that records have; others have a computer only."""
_GET = {kind: attrgetter(*names) for kind, names in _NAMES.items()}


def fits(state: State, settings: Settings, known: Sized, computer: str, label: str) -> bool:
    """True if one more database fits in; a configured one always does."""
    if len(known) < settings.max_databases or is_configured(computer, label, settings):
        return True
    drop(state, computer, label)
    return False


def has_room(state: State, settings: Settings, known: Sized, computer: str, name: str) -> bool:
    if len(known) < OWNERS_A_DATABASE * settings.max_databases:
        return True
    drop(state, computer, name)
    return False


def drop(state: State, computer: str, name: str) -> None:
    known = state.dropped
    key = f"{computer}|{name}"
    if key not in known:
        state.databases_dropped += 1
    if key in known or len(known) < MAX_DROPPED:
        known[key] = known.get(key, 0) + 1


def drop_long(state: State, computer: str, path: str) -> None:
    """Count a database whose path is longer than `MAX_PATH` characters."""
    drop(state, computer, short(path, MAX_PATH + 1))


def long_paths(state: State) -> list[tuple[str, str]]:
    """(computer, beginning of the path) of the databases that were dropped as such, sorted."""
    pairs = (key.partition("|") for key in sorted(state.dropped))
    return [(computer, name) for computer, _, name in pairs if len(name) > MAX_PATH]


def computers(settings: Settings) -> int:
    return OWNERS_A_DATABASE * settings.max_databases


def expects(settings: Settings, name: str) -> bool:
    return full_name(name, settings) in {each.lower() for each in settings.aliases.values()}


def is_passing(host: Host, now: float) -> bool:
    """True if only a few old records are known of a computer."""
    heard = host.last_heard - host.first_heard
    return heard <= PASSING_SECONDS and now - host.last_heard > PASSED_SECONDS


class EventIds:
    """The provider and id under which an event is counted, so that their number stays bounded."""

    def __init__(self, state: State) -> None:
        self._counted = sum(
            len(ids) for host in state.hosts.values() for ids in host.events.values()
        )

    def count(self, state: State, settings: Settings, host: Host, event: Event) -> bool:
        """Count the event; False where it was counted under the rest."""
        ids = host.events.get(event.provider)
        if ids is not None and event.event_id in ids:
            ids[event.event_id] += 1
            return True
        crowded = self._counted >= EVENTS_A_DATABASE * settings.max_databases
        provider, event_id = event.provider, event.event_id
        if ids is None and (crowded or len(host.events) >= MAX_PROVIDERS):
            provider = OTHER_PROVIDER
        known = host.events.setdefault(provider, {})
        if event_id not in CATALOGUE and (crowded or len(known) >= MAX_EVENT_IDS):
            event_id = OTHER_EVENT
        self._counted += event_id not in known
        known[event_id] = known.get(event_id, 0) + 1
        fits = (provider, event_id) == (event.provider, event.event_id)
        if not fits:
            drop(state, host.computer, f"{event.provider} {event.event_id}")
        return fits


def shortened(record: AnyRecord) -> AnyRecord:
    """The record with no name longer than any real one."""
    get = _GET.get(type(record))
    told = get(record) if get is not None else (record.computer,)
    if sum(map(len, told)) > MAX_NAME:
        names = _NAMES.get(type(record), ("computer",))
        record = msgspec.structs.replace(record, **dict(zip(names, map(short, told), strict=True)))
    if isinstance(record, Reading) and record.feed is not None and _is_long(record.feed):
        return msgspec.structs.replace(record, feed=_short_feed(record.feed))
    return record


def short(name: str, most: int = MAX_NAME) -> str:
    """`name`, cut where it is longer than `most`."""
    if len(name) <= most:
        return name
    digest = zlib.crc32(name.encode("utf-8", "surrogatepass"))
    return f"{name[: most - 9]}~{digest:08x}"


def _is_long(feed: Feed) -> bool:
    return len(feed.name) + sum(map(len, feed.labels)) > MAX_NAME


def _short_feed(feed: Feed) -> Feed:
    labels = tuple(short(label, MAX_LABEL) for label in feed.labels)
    return msgspec.structs.replace(feed, name=short(feed.name), labels=labels)
