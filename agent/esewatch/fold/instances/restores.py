"""Restores from a backup, as the processes of a computer log them (semantics.md 3).

205 is written after a restore that failed, too, and names nothing. A restore is a 204 and its 205
without an error of the process between them, after which the instance came up whose logs were
restored.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from esewatch.fold.identity.identity import database_label, is_snapshot
from esewatch.fold.identity.owners import stays
from esewatch.fold.instances.instances import ATTACHED
from esewatch.fold.state.state import Database, Host, Instance, Restores, State
from esewatch.model import Event

BEGINS, ENDS, MOUNTED = 204, 205, 105
MAX_PROCESSES = 32
MAX_RESTORES = 16
MAX_ERRORS = 64
ERRORS = frozenset({"error", "critical"})


class Restored(NamedTuple):
    """The last restore of a database; both are 0 where it never was restored."""

    ended: float = 0.0
    """Records up to this time are of the file before."""
    mounted: float = 0.0
    """First start of its instance after that: what began before may have read that file."""


def note(host: Host, event: Event, time: float) -> bool:
    """Keep what the event says of restores of its process; False where that is nothing."""
    begins = event.event_id == BEGINS
    if not (begins or event.event_id == ENDS or event.level in ERRORS):
        return False
    process = event.process.strip().lower()
    if not process:
        return False
    known = host.restores.setdefault(process, Restores())
    if begins:
        insort(known.begun, (time, folder_label(str(event.fields.get("to_folder", "")))))
        del known.begun[:-MAX_RESTORES]
    elif event.event_id == ENDS:
        insort(known.ended, time)
        del known.ended[:-MAX_RESTORES]
    else:
        insort(known.errors, time)
        for old in known.errors[:-MAX_ERRORS]:
            known.forgotten = max(known.forgotten, old)
        del known.errors[:-MAX_ERRORS]
    if len(host.restores) > MAX_PROCESSES:
        del host.restores[min(host.restores, key=lambda each: _last(host.restores[each]))]
    return True


def _last(of: Restores) -> tuple[float, float]:
    return max((time for time, _ in of.begun), default=0.0), max(of.errors, default=0.0)


def folder_label(path: str) -> str:
    """Label of a folder, empty where it is none."""
    label = database_label(path.strip()) if path.strip() else ""
    return (label or "").rstrip("\\/")


def note_log_folder(instance: Instance, event: Event) -> bool:
    """Keep the folder of the logs of an instance, as an event names one of them."""
    for name in ("log_file", "file"):
        path = event.fields.get(name)
        if isinstance(path, str) and path[-4:].lower() == ".log":
            head = path.replace("/", "\\").rpartition("\\")[0]
            if (folder := folder_label(head)) and folder != instance.log_folder:
                instance.log_folder = folder
                return True
    return False


def restored(state: State, entry: Database) -> Restored:
    """The last restore of the database: of an instance in which it was then. A snapshot has
    none."""
    if is_snapshot(entry.database):
        return Restored()
    return max(
        (
            restore
            for stay in stays(entry)
            for restore in _restores_of(state, *stay.key)
            if stay.since <= restore.ended < stay.until
        ),
        default=Restored(),
    )


def _restores_of(state: State, computer: str, name: str) -> Iterator[Restored]:
    """The restores of an instance that came up after them."""
    host, instance = state.hosts.get(computer), state.instances.get((computer, name))
    if host is None or instance is None:
        return
    starts = sorted([*instance.times_of({MOUNTED, ATTACHED}), instance.attached])
    for process, known in host.restores.items():
        if not known.ended or starts[-1] < known.ended[0]:
            continue
        stayed = [
            stay
            for each in state.databases.values()
            if each.computer == computer and each.process.strip().lower() == process
            if not is_snapshot(each.database)
            for stay in stays(each)
        ]
        for ended, folder in _whole(known):
            of_logs = {
                key
                for (where, key), each in state.instances.items()
                if where == computer and folder and each.log_folder == folder
            }
            served = {each.key[1] for each in stayed if each.since <= ended < each.until}
            if ended <= starts[-1] and (name in of_logs or (not of_logs and served == {name})):
                yield Restored(ended, starts[bisect_left(starts, ended)])


def _whole(known: Restores) -> Iterator[tuple[float, str]]:
    """End and folder of the restores that did not fail."""
    before = 0.0
    for ended in known.ended:
        begun = [each for each in known.begun if before <= each[0] <= ended]
        before = ended
        if begun:
            start, folder = begun[-1]
            if known.forgotten < start and not _within(known.errors, start, ended):
                yield ended, folder


def _within(times: Sequence[float], first: float, last: float) -> bool:
    place = bisect_left(times, first)
    return place < len(times) and times[place] <= last
