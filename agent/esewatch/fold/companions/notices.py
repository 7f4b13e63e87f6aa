"""Notices of other programs about a copy or a directory, besides failovers (semantics.md 4).

A notice stays with the computer that logged it; its database is worked out when it is asked for,
so that the order of arrival makes no difference.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from esewatch.config import Settings
from esewatch.fold.identity.named import by_name, concerned, directories, names_in
from esewatch.fold.state.state import Host, Notice, State
from esewatch.model import Event

OF_COPIES = ("failed", "suspended", "seeding_failed")
OF_DIRECTORIES = ("usn_rollback", "database_error", "replication_stopped")
STATES = frozenset({*OF_COPIES, *OF_DIRECTORIES})
MOST = 64
MAX_TEXT = 200


def note(host: Host, event: Event, time: float) -> None:
    """Keep a notice; beyond 64 of a computer the least recently heard one is dropped."""
    state = str(event.fields["state"])
    adam = str(event.fields.get("adam_instance", "")).lower()
    names = names_in(event) if state in OF_COPIES else (adam,)
    text = str(event.fields.get("reason", event.fields.get("error", "")))[:MAX_TEXT]
    new = Notice(state, event.event_id, names, 1, time, text)
    for known in host.notices:
        if _what(known) == _what(new):
            known.count += 1
            if time >= known.last:
                known.last, known.text = time, text
            return
    host.notices.append(new)
    if len(host.notices) > MOST:
        host.notices.remove(min(host.notices, key=lambda each: (each.last, _what(each))))


def notices(state: State, settings: Settings) -> Mapping[tuple[str, str], Sequence[Notice]]:
    found: dict[tuple[str, str], list[Notice]] = defaultdict(list)
    hosts = [host for host in state.hosts.values() if host.notices]
    copies = by_name(state, settings) if hosts else {}
    for host in hosts:
        here = [entry for entry in state.databases.values() if entry.computer == host.computer]
        for notice in host.notices:
            if notice.state in OF_DIRECTORIES:
                meant = directories(here, "".join(notice.names))
            else:
                # The copy on the server that is named, else on the one that logged it.
                named = [copy for name in notice.names for copy in copies.get(name, ())]
                own = [copy for copy in named if copy.computer == host.computer]
                meant = concerned(named, notice.names, state, settings) or own
            for entry in meant:
                if notice.last > entry.damage_mended:
                    found[entry.computer, entry.database].append(notice)
    for told in found.values():
        told.sort(key=lambda each: (each.last, _what(each)))
    return found


def _what(notice: Notice) -> tuple[str, int, tuple[str, ...]]:
    return notice.state, notice.event_id, notice.names
