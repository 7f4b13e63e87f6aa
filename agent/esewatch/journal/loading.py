"""The state to begin with."""

import logging

from esewatch.fold.state import State
from esewatch.journal import Journal, Positions
from esewatch.model import JournalError

log = logging.getLogger(__name__)


def load_or_rebuild(journal: Journal) -> tuple[State, Positions]:
    """What the journal holds; where it cannot be read, nothing, and it is begun anew.

    Raises JournalError when that fails too.
    """
    try:
        return journal.load()
    except JournalError as error:
        log.error("%s", error)
        journal.rebuild()
        return State(), {}
