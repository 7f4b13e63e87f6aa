"""Slow and failed reads and writes of the log files of an instance."""

from collections.abc import Iterator

from esewatch.fold import databases, instances, integrity
from esewatch.fold.owners import instance_name
from esewatch.fold.state import State
from esewatch.model import Event


def fold_log_file_event(
    state: State, computer: str, event: Event, time: float
) -> Iterator[tuple[str, str, str]]:
    """Take in what is told of a log file; the rows of the journal that it changes.

    Slow I/O on a log belongs to the instance's database, if it has just one.
    A failure is of the instance, and of all of its databases.
    """
    name = instance_name(event.ese_instance, event.process)
    key = (computer, name.lower())
    if event.event_id in integrity.IO_ERRORS and key in state.instances:
        integrity.note_io_error(state.instances[key], time)
        yield ("instance", *key)
    owned = instances.databases_of(state, computer, name)
    if len(owned) == 1 and databases.fold_slow_io(owned[0], event, time):
        yield ("database", computer, owned[0].database)
