"""Fills a new mailbox store with the content of the time before its first day.

Each mailbox lives through its history: deliveries, then moves and deletions of them. The
mailboxes come last one first, so each grows in front of another one as it does in daily work
and not at the right edge of the tree. Online defragmentation goes through it meanwhile.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from esefiles.pages.layout import LARGEST_SMALL
from eselab.base.plan import MailPlan
from eselab.machine.mail import (
    ARRIVALS,
    BESIDE_BODY,
    FOLDERS,
    INBOX,
    Arrival,
    Mailboxes,
    Totals,
    body_of,
    groups,
    message_key,
    message_record,
)
from eselab.storage.btree import BTree
from eselab.storage.database import Database
from eselab.storage.node import header_size, size_of
from eselab.storage.store import Store, Transaction

FILL: Final = 0.63
"""Share of its leaves that a store's messages take after online defragmentation, measured."""

_NODE: Final = size_of(message_key(0, 0, 0), b"") + BESIDE_BODY
"""Bytes of a message beside its body."""

_ENTRY: Final = size_of(ARRIVALS.key(0), ARRIVALS.record(LARGEST_SMALL, 0, 0, 0, 0.0))
"""Bytes of an entry of "Arrivals"."""

_RECENT: Final = 8
"""The mean age at which users touch a message is this part of the time that it is kept."""

_NIGHTS: Final = 6
"""Number of defragmentations in the history of a mailbox: more changes little but the time."""

_ENTRIES: Final = 1000
"""Entries of "Arrivals" in a transaction: few pages of any size."""

_DEPTH: Final = 1 << 22
"""Bytes of log after which pages are written."""


class Sizes:
    """Length of bodies: even around the mean of the plan, none too long for a page."""

    def __init__(self, plan: MailPlan, page_size: int) -> None:
        self._longest = min(plan.body * 3 // 2, page_size // 4 - BESIDE_BODY)
        self._shortest = min(plan.body // 2, self._longest)

    @property
    def mean(self) -> float:
        """In bytes."""
        return (self._shortest + self._longest) / 2

    def body(self, chance: random.Random) -> bytes:
        return chance.randbytes(chance.randint(self._shortest, self._longest))


def age(chance: random.Random, kept: float) -> float:
    """Age of a message when a user moves or deletes it: mostly recent, never over `kept`."""
    return chance.expovariate(_RECENT / kept) % kept


class _Event(NamedTuple):
    time: float
    order: int
    """0 deliver, 1 move, 2 delete."""
    number: int
    folder: int


def fill(
    database: Database,
    plan: MailPlan,
    pages: int,
    *,
    now: float,
    period: float,
    chance: random.Random,
) -> None:
    """Make the tables, and fill a database to about that many pages. `period`: of a day."""
    store, boxes = database.store, Mailboxes.create(database)
    sizes = Sizes(plan, store.page_size)
    usable = store.page_size - header_size(store.page_size)
    live = usable * pages / ((sizes.mean + _NODE) / FILL + _ENTRY)
    daily = max(1, round(live / (plan.kept * (1 - plan.deleted * (1 - 1 / _RECENT)))))
    # Retention was here in the last night, so its oldest messages are a little older than `kept`.
    begin = now - now % period - plan.kept * period
    delivered = round(daily * (now - begin) / period)
    own = defaultdict[int, list[tuple[int, float]]](list)
    for number, time in enumerate(sorted(chance.uniform(begin, now) for _ in range(delivered)), 1):
        own[chance.randrange(1, plan.mailboxes + 1)].append((number, time))
    past = _Past(store, boxes.messages, sizes, chance)
    arrivals: list[Arrival] = []
    for mailbox in sorted(own, reverse=True):
        arrivals += past.live(
            mailbox, _history(plan, own[mailbox], now, period, chance), now - period
        )
    arrivals.sort()
    for batch in groups(arrivals, _ENTRIES):
        with store.begin() as transaction:
            boxes.enter(transaction, batch)
        _keep_depth(store)
    with store.begin() as transaction:
        boxes.count(transaction, arrivals, Totals(delivered + 1, daily))
    store.flush()


def _history(
    plan: MailPlan,
    own: Sequence[tuple[int, float]],
    now: float,
    period: float,
    chance: random.Random,
) -> list[_Event]:
    """Events of the messages (number, time) of a mailbox, in order."""
    events = []
    for number, time in own:
        folder = INBOX
        events.append(_Event(time, 0, number, folder))
        moved = time + age(chance, plan.kept) * period
        if chance.random() < plan.moved and moved < now:
            folder = chance.randrange(1, FOLDERS)
            events.append(_Event(moved, 1, number, folder))
        deleted = time + age(chance, plan.kept) * period
        if chance.random() < plan.deleted and deleted < now:
            events.append(_Event(max(deleted, events[-1].time), 2, number, folder))
    return sorted(events)


class _Past:
    """Plays the past of mailboxes in the table "Msg"."""

    def __init__(self, store: Store, tree: BTree, sizes: Sizes, chance: random.Random) -> None:
        self._store = store
        self._tree = tree
        self._sizes = sizes
        self._chance = chance

    def live(self, mailbox: int, history: Sequence[_Event], last: float) -> list[Arrival]:
        """Let a mailbox have its history; what is there at its end.

        What came after the time `last` was not defragmented yet.
        """
        there: dict[int, Arrival] = {}
        before = [event for event in history if event.time < last]
        for part in groups(before, len(before) // _NIGHTS + 1):
            self._play(mailbox, part, there)
            self._settle(mailbox)
        self._play(mailbox, history[len(before) :], there)
        return list(there.values())

    def _play(self, mailbox: int, history: Sequence[_Event], there: dict[int, Arrival]) -> None:
        for batch in groups(history, max(4, (1 << 18) // self._store.page_size)):
            with self._store.begin() as transaction:
                for event in batch:
                    self._happen(transaction, mailbox, event, there)
            _keep_depth(self._store)

    def _happen(
        self, transaction: Transaction, mailbox: int, event: _Event, there: dict[int, Arrival]
    ) -> None:
        """One event; `there` has the messages of the mailbox that exist."""
        if event.order == 0:
            new = Arrival(event.number, mailbox, event.folder, event.time)
            self._put(transaction, new, self._sizes.body(self._chance))
            there[new.number] = new
            return
        old = there.pop(event.number)
        record = self._tree.get(old.key, transaction)
        self._tree.delete(transaction, old.key)
        if event.order == 1 and record is not None:
            there[old.number] = moved = old._replace(folder=event.folder)
            self._put(transaction, moved, body_of(record))

    def _put(self, transaction: Transaction, new: Arrival, body: bytes) -> None:
        self._tree.insert(transaction, new.key, message_record(self._store.page_size, new, body))

    def _settle(self, mailbox: int) -> None:
        """Merge the leaves of a mailbox as online defragmentation does."""
        key, end = message_key(mailbox, 0, 0), message_key(mailbox + 1, 0, 0)
        while key < end:
            with self._store.begin() as transaction:
                key = self._tree.merge(transaction, key).next or end
        _keep_depth(self._store)


def _keep_depth(store: Store) -> None:
    if store.checkpoint_depth > _DEPTH:
        store.checkpoint(_DEPTH // 2)
