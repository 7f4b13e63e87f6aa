"""Restores that ended without an error, and the start that shows that they are used (section 3)."""

from collections.abc import Sequence
from typing import NamedTuple

from tests.oracle.chronicle import Event
from tests.oracle.subject import Subject, is_corruption, is_ignored_path


class Restore(NamedTuple):
    """A restore that ended without an error."""

    computer: str
    process: str
    ended: Event
    folder: str


def restores(events: Sequence[Event]) -> list[Restore]:
    """Each "204 ... 205 of one process without an error-level event of it between"."""
    found: list[Restore] = []
    begun: dict[tuple[str, str, str], Event] = {}
    for event in events:
        key = (event.computer, event.process, event.at(2).split(",")[0])
        if event.id == 204:
            begun[key] = event
        elif event.serious:
            begun.pop(key, None)
        elif event.id == 205 and key in begun:
            folder = folder_of(begun.pop(key).at(5) + "\\")
            found.append(Restore(event.computer, event.process, event, folder))
    return found


def folder_of(path: str) -> str:
    """The folder of a file, in lower case."""
    return path.lower().replace("/", "\\").rpartition("\\")[0].rstrip("\\")


def restarts_of(subject: Subject, restore: Restore, events: Sequence[Event]) -> list[Event]:
    """The start that shows that the restore is what the instance uses now.

    "then 326 or 105 of the instance whose log folder is 204's `%5` (or the only one of the
    process)".
    """
    if restore.computer != subject.computer:
        return []
    running = [
        event
        for event in events
        if (event.computer, event.process) == (restore.computer, restore.process)
    ]
    # Of those of which a database is known; nothing but damage is kept of an ignored one.
    known = {
        event.database
        for event in running
        if not event.in_snapshot and (is_corruption(event) or not is_ignored_path(event.database))
    } - {""}
    named = {
        event.instance for event in running if event.database in known and not event.in_snapshot
    } or {event.instance for event in running}
    owners = {
        event.instance
        for event in events
        if event.computer == restore.computer and not event.tool
        if any(
            text.lower().endswith(".log") and folder_of(text) == restore.folder
            for text in event.strings
        )
    }
    for key in subject.instances:
        if (key not in owners) if owners else named != {key}:
            continue
        life = [event for event in subject.life if event.instance == key]
        return [
            event
            for event in life
            if event.id in (105, 326) and event > restore.ended and not event.in_snapshot
        ][:1]
    return []
