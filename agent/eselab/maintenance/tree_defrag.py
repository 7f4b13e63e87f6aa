"""B+tree defragmentation of current engines: tree by tree, in the background, without a window.

A round is one walk over all trees in the order of their object ids; it goes on after a stop where
it was. Each tree of 8 leaves or more is logged when it is done (728). Source: ese-facts 4.2.
"""

from typing import Final

import msgspec

from eselab.logs.reports_current import CurrentReports, TreeSummary
from eselab.maintenance.maintenance import DefragWork, Limit
from eselab.maintenance.schedule import Task
from eselab.storage.btree import BTree, TreeError
from eselab.storage.database import error_of
from eselab.storage.pages import PageError
from eselab.storage.store import Transaction

STATE: Final = "BTreeDefragmentation"

SMALLEST: Final = 8
"""Leaves: a tree with less has no run that could be long enough (ese-facts 4.2)."""

_SAVE_AFTER: Final = 500
"""Pages visited."""


class TreeState(msgspec.Struct, kw_only=True):
    """Position of a round. Times are epoch seconds."""

    is_open: bool = False
    """True if a round was begun and not completed."""
    begun: float = 0.0
    """Time of its start, 0: there was none."""
    object_id: int = 0
    """The tree that it is in. All that follows is of it."""
    key: bytes | None = None
    """Key from which it goes on, None: behind that tree."""
    started: float = 0.0
    pages_visited: int = 0
    pages_freed: int = 0


class TreeDefrag(DefragWork):
    """Defragmentation of one database's trees; a pause after each leaf."""

    _reports: CurrentReports
    _state: TreeState
    """Each invocation begins with what the database has of it."""

    def due(self, day: float) -> float:
        """Time of the first run: at once where a round is open, else a day after it was begun."""
        try:
            state = self._database.state(STATE, TreeState) or TreeState()
        except (PageError, TreeError):
            # The run will report it.
            return 0.0
        return state.begun + day if state.begun and not state.is_open else 0.0

    def invocation(self, until: Limit) -> Task:
        """Go on with the open round, else begin one; ends with it or at `until`.

        The error of a bad page or tree is told (705), not raised. What an event says is durable
        before it is told. Raises LogError, OSError.
        """
        if self._clock.now() >= until():
            return
        try:
            self._begin()
            while (found := self._tree()) is not None:
                name, tree = found
                while (key := self._state.key) is not None:
                    if self._clock.now() >= until():
                        self._save_all()
                        return
                    self._visit(tree, key)
                    if self._state.key is not None or self._state.pages_visited > 1:
                        yield self._rest(until)
                self._tell(name)
            self._state.is_open = False
            self._save_all()
        except (PageError, TreeError) as error:
            # What was saved last holds.
            self._reports.defrag_failed(error_of(error))

    def _begin(self) -> None:
        with self._counting():
            state = self._database.state(STATE, TreeState) or TreeState()
        if not state.is_open:
            state = TreeState(is_open=True, begun=self._clock.now())
        self._state, self._unsaved = state, 0

    def _tree(self) -> tuple[str, BTree] | None:
        """The tree that the round is in or comes to next, None: that was the last one."""
        state = self._state
        with self._counting():
            tables = self._database.tables()
        for name, tree in tables:
            if tree.object_id == state.object_id and state.key is not None:
                return name, tree
            if tree.object_id > state.object_id:
                state.object_id, state.key = tree.object_id, b""
                state.started = self._clock.now()
                state.pages_visited = state.pages_freed = 0
                return name, tree
        return None

    def _visit(self, tree: BTree, key: bytes) -> None:
        """Merge once where `key` belongs, if that can be; what was freed is saved with it."""
        state = msgspec.structs.replace(self._state)
        with self._counting():
            with self._store.begin() as transaction:
                freed, state.key = tree.merge(transaction, key)
                state.pages_visited += 1
                state.pages_freed += freed
                if freed:
                    self._put(transaction, state)
            # Only after the commit: what was aborted must not be in memory.
            self._state, self._unsaved = state, 0 if freed else self._unsaved + 1
            self._counters.defrag_pages_freed += freed
            if self._unsaved >= _SAVE_AFTER:
                self._save()

    def _tell(self, name: str) -> None:
        state = self._state
        self._save_all()
        if state.pages_visited - state.pages_freed >= SMALLEST:
            summary = TreeSummary(
                table=name,
                started=state.started,
                pages_visited=state.pages_visited,
                pages_freed=state.pages_freed,
            )
            self._reports.tree_defragmented(summary)

    def _save_all(self) -> None:
        with self._counting():
            self._save()
            self._store.flush()

    def _save(self) -> None:
        with self._store.begin() as transaction:
            self._put(transaction, self._state)
        self._unsaved = 0

    def _put(self, transaction: Transaction, state: TreeState) -> None:
        self._database.set_state(transaction, STATE, state)
