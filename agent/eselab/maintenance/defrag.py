"""Online defragmentation: sparse neighbouring leaves are merged and pages are freed, in passes.

A pass is one walk over all trees in the order of their object ids, leaf after leaf. An invocation
is what runs in one window: it goes on with the pass where the last one stopped and ends with
the pass, at the window's end, or with an error. The position and the totals are in a table
of the database (MSysDefrag2), saved after 500 pages, at each stop, and in the very transaction
that frees a page: no crash makes them wrong. Source: old.cxx of the published engine.
"""

import copy
from collections.abc import Generator
from contextlib import suppress
from typing import Final

import msgspec

from eselab.logs.reports import DefragSummary
from eselab.maintenance.maintenance import DefragWork, Limit
from eselab.maintenance.schedule import Task
from eselab.storage.btree import BTree, TreeError
from eselab.storage.database import error_of
from eselab.storage.pages import PageError
from eselab.storage.store import Transaction

TABLE: Final = "MSysDefrag2"

_SAVE_AFTER: Final = 500
"""Pages visited."""


class DefragState(msgspec.Struct, kw_only=True):
    """The position of a pass, and its counts. Times are epoch seconds."""

    is_open: bool = False
    """True if a pass was begun and not completed. Up to `pages_freed` all is of the pass."""
    started: float = 0.0
    object_id: int = 0
    """The tree that it is in."""
    key: bytes | None = None
    """Key in that tree from which it goes on, None: behind it."""
    seconds: float = 0.0
    """That it ran."""
    invocations: int = 0
    pages_visited: int = 0
    """The number of times that a leaf was examined."""
    pages_freed: int = 0
    completions: int = 0
    """Passes completed in the life of the database."""
    total_freed: int = 0
    """Pages freed in the life of the database."""
    first_started: float = 0.0
    """Begin of the first pass in the life of the database, 0: there was none."""


class Defrag(DefragWork):
    """Online defragmentation of one database; a pause after each leaf."""

    _state: DefragState
    """Each invocation begins with what the database has of it."""

    def invocation(self, until: Limit) -> Task:
        """Go on with the open pass, else begin one; ends with it or at `until`.

        Reports 700 or 702, then 701, 703, 704 or 705: the error of a bad page or tree is
        told, not raised. What an event says is durable before it is told. Raises LogError, OSError.
        """
        try:
            resumed = self._begin()
        except (PageError, TreeError) as error:
            self._reports.defrag_failed(error_of(error))
            return
        if resumed is None:
            self._reports.defrag_begun()
        else:
            self._reports.defrag_resumed(resumed)
        try:
            done = yield from self._walk(until)
            summary = self._end(done=done)
        except (PageError, TreeError) as error:
            self._keep_position()
            self._reports.defrag_failed(error_of(error))
            return
        if summary is None:
            self._reports.defrag_interrupted()
        else:
            self._reports.defrag_completed(summary, resumed=resumed is not None)

    def _begin(self) -> float | None:
        """One more invocation; when the pass was begun that it goes on with."""
        now = self._clock.now()
        with self._counting():
            state = self._database.state(TABLE, DefragState) or DefragState()
            resumed = state.started if state.is_open else None
            if resumed is None:
                state = DefragState(
                    is_open=True,
                    started=now,
                    completions=state.completions,
                    total_freed=state.total_freed,
                    first_started=state.first_started or now,
                )
            state.invocations += 1
            self._began, self._ran_before = now, state.seconds
            self._save(state)
            self._store.flush()
        return resumed

    def _walk(self, until: Limit) -> Generator[float, None, bool]:
        """Visit leaves until that time; whether the pass came to its end."""
        while (tree := self._tree()) is not None:
            while (key := self._state.key) is not None:
                if self._clock.now() >= until():
                    return False
                freed = self._visit(tree, key)
                is_small = not (key or freed) and self._state.key is None
                if not is_small:
                    yield self._rest(until)
        return True

    def _tree(self) -> BTree | None:
        """The tree that the pass is in or comes to next, None: that was the last one."""
        state = self._state
        with self._counting():
            for _, tree in self._database.tables():
                if tree.object_id == state.object_id and state.key is not None:
                    return tree
                if tree.object_id > state.object_id:
                    state.object_id, state.key = tree.object_id, b""
                    return tree
        return None

    def _visit(self, tree: BTree, key: bytes) -> int:
        """Merge once where `key` belongs, if that can be; the pages freed."""
        state = copy.copy(self._state)
        with self._counting():
            with self._store.begin() as transaction:
                freed, state.key = tree.merge(transaction, key)
                state.pages_visited += 1
                if freed:
                    state.pages_freed += freed
                    state.total_freed += freed
                    self._put(transaction, state)
            self._keep(state, saved=freed > 0)
            self._counters.defrag_pages_freed += freed
            if self._unsaved >= _SAVE_AFTER:
                self._save(state)
        return freed

    def _end(self, *, done: bool) -> DefragSummary | None:
        """Save at a stop. That closes a pass that is `done`: the summary of it."""
        state = copy.copy(self._state)
        state.is_open = not done
        state.completions += done
        with self._counting():
            self._save(state)
            self._store.flush()
        if not done:
            return None
        return DefragSummary(
            pages_freed=state.pages_freed,
            started=state.started,
            ended=self._began + state.seconds - self._ran_before,
            seconds=state.seconds,
            invocations=state.invocations,
            completions=state.completions,
            first_started=state.first_started,
        )

    def _keep_position(self) -> None:
        """Save after an error. Where that fails too, the last saved position holds."""
        with self._counting(), suppress(PageError, TreeError):
            self._save(copy.copy(self._state))
            self._store.flush()

    def _save(self, state: DefragState) -> None:
        """Let `state` hold, in memory and in the database."""
        with self._store.begin() as transaction:
            self._put(transaction, state)
        self._keep(state, saved=True)

    def _put(self, transaction: Transaction, state: DefragState) -> None:
        state.seconds = self._ran()
        self._database.set_state(transaction, TABLE, state)

    def _keep(self, state: DefragState, *, saved: bool) -> None:
        """Only after the commit: what was aborted must not be in memory."""
        self._state = state
        self._unsaved = 0 if saved else self._unsaved + 1
