"""A mailbox store in three tables, and the effect of its operations on their rows.

"Msg": mailbox, folder, message number -> body. "Arrivals": message number -> mailbox, folder,
time of delivery. "Folders": mailbox, folder -> messages, and under mailbox 0 the Totals. Message
numbers grow with time, so "Arrivals" is the index by time that retention needs, and all that
the work has to know is in the database.
"""

import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, Protocol, TypeVar

from esefiles.pages.layout import LARGEST_SMALL
from eselab.storage.btree import BTree, TreeError
from eselab.storage.database import Database
from eselab.storage.pages import PageError
from eselab.storage.store import Transaction
from eselab.storage.tables.record import (
    DOUBLE,
    LONG_BINARY,
    UNSIGNED_BYTE,
    UNSIGNED_LONG,
    UNSIGNED_SHORT,
    Column,
    Layout,
    Value,
)

INBOX: Final = 0
FOLDERS: Final = 4
"""Of each mailbox; the inbox is the first."""

FAULTS: Final = (PageError, TreeError, LookupError, ValueError, struct.error)
"""Errors of an operation on a damaged page. The last three: rows that do not go together, or
make no sense, because a write of one of them was lost or its page was written broken."""

MESSAGES: Final = Layout(
    "Msg",
    [
        Column("Mailbox", UNSIGNED_SHORT),
        Column("Folder", UNSIGNED_BYTE),
        Column("Number", UNSIGNED_LONG),
        Column("Body", LONG_BINARY),
    ],
    key=3,
)
ARRIVALS: Final = Layout(
    "Arrivals",
    [
        Column("Number", UNSIGNED_LONG),
        Column("Mailbox", UNSIGNED_SHORT),
        Column("Folder", UNSIGNED_BYTE),
        Column("Time", DOUBLE),
    ],
    key=1,
)
COUNTS: Final = Layout(
    "Folders",
    [
        Column("Mailbox", UNSIGNED_SHORT),
        Column("Folder", UNSIGNED_BYTE),
        Column("Messages", UNSIGNED_LONG),
        Column("Daily", UNSIGNED_LONG),
    ],
    key=2,
)
"""Of the Totals, "Messages" is the number of the next one."""

LAYOUTS: Final = (MESSAGES, ARRIVALS, COUNTS)
TABLES: Final = tuple(layout.name for layout in LAYOUTS)

BESIDE_BODY: Final = len(MESSAGES.record(LARGEST_SMALL, 0, 0, 0, b""))
"""Bytes of a record of "Msg" beside the body."""

_TOTALS_KEY: Final = COUNTS.key(0, 0)

_Item = TypeVar("_Item")
Kind = Literal["deliver", "read", "move", "delete"]


class Operation(NamedTuple):
    """One thing that a user, or retention, does.

    `deliver`: `body` comes to the inbox of `mailbox` at `time`. Others: the message `number`, or
    if it is gone the next one; `move` goes to `folder`, or the one behind if it is there already.
    """

    kind: Kind
    number: int = 0
    mailbox: int = 0
    folder: int = INBOX
    time: float = 0.0
    body: bytes = b""


class Totals(NamedTuple):
    """`following`: number of the next message. `daily`: how many come on a day."""

    following: int
    daily: int


class Arrival(NamedTuple):
    """A message that is there; `time` is that of its delivery, in epoch seconds."""

    number: int
    mailbox: int
    folder: int
    time: float

    @property
    def key(self) -> bytes:
        return message_key(self.mailbox, self.folder, self.number)


class Row(NamedTuple):
    """A row that a transaction wrote; without a value it is deleted."""

    table: str
    key: bytes
    value: bytes | None


class Journal(Protocol):
    """Keeper of a model of the database outside, over any kill."""

    def intended(self, rows: Sequence[Row]) -> None:
        """A transaction with these rows, in this order, is about to commit."""

    def given_up(self) -> None:
        """The last intended transaction did not commit."""

    def durable(self) -> None:
        """All intended transactions that were not given up will be there after any crash."""


def message_key(mailbox: int, folder: int, number: int) -> bytes:
    """Key of a message in "Msg"."""
    return MESSAGES.key(mailbox, folder, number)


def groups(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    """The items in their order, `size` together; the last group may have fewer."""
    return (items[at : at + size] for at in range(0, len(items), size))


class Mailboxes:
    """The tables of a database that `create` was called for once."""

    def __init__(self, database: Database, journal: Journal | None = None) -> None:
        self._store = database.store
        self._page_size = database.store.page_size
        self._trees = {name: database.table(name) for name in TABLES}
        self._journal = journal

    @classmethod
    def create(cls, database: Database) -> "Mailboxes":
        """Make the tables, empty."""
        with database.store.begin() as transaction:
            trees = {layout.name: database.create_table(transaction, layout) for layout in LAYOUTS}
            record = _totals_record(database.store.page_size, Totals(1, 0))
            trees["Folders"].insert(transaction, _TOTALS_KEY, record)
        return cls(database)

    @property
    def messages(self) -> BTree:
        return self._trees["Msg"]

    def totals(self) -> Totals:
        """The committed totals. Raises FAULTS."""
        return _totals(self._trees["Folders"], None)

    def arrived_before(self, time: float) -> Iterator[Arrival]:
        """The messages that are there and came before `time`, oldest first. Raises FAULTS."""
        for _, record in self._trees["Arrivals"].scan():
            arrival = _arrival(record)
            if arrival.time >= time:
                return
            yield arrival

    def records(self) -> dict[str, dict[bytes, bytes]]:
        """Every row that is committed, by table. Raises FAULTS."""
        return {name: dict(tree.scan()) for name, tree in self._trees.items()}

    def apply(self, operations: Sequence[Operation]) -> None:
        """Do them in one transaction, or nothing at all. Raises FAULTS."""
        intended = False
        try:
            with self._store.begin() as transaction:
                hand = _Hand(self._trees, transaction, self._page_size)
                for operation in operations:
                    hand.do(operation)
                hand.finish()
                if self._journal is not None and hand.rows:
                    self._journal.intended(hand.rows)
                    intended = True
        except FAULTS:
            if self._journal is not None and intended:
                self._journal.given_up()
            raise

    def flush(self) -> None:
        """Group commit: everything applied is durable when this returns."""
        self._store.flush()
        if self._journal is not None:
            self._journal.durable()

    def enter(self, transaction: Transaction, arrivals: Sequence[Arrival]) -> None:
        """Put messages in the index by time; they are in "Msg" already."""
        tree = self._trees["Arrivals"]
        for one in arrivals:
            record = ARRIVALS.record(self._page_size, *one)
            tree.insert(transaction, ARRIVALS.key(one.number), record)

    def count(self, transaction: Transaction, arrivals: Sequence[Arrival], totals: Totals) -> None:
        """Set the counts of the folders, which have none yet, and the totals."""
        tree = self._trees["Folders"]
        counts = Counter((one.mailbox, one.folder) for one in arrivals)
        for place, count in sorted(counts.items()):
            record = COUNTS.record(self._page_size, *place, count, None)
            tree.insert(transaction, COUNTS.key(*place), record)
        tree.replace(transaction, _TOTALS_KEY, _totals_record(self._page_size, totals))


class _Hand:
    """A transaction in the making. Counts are written once, at its end."""

    def __init__(self, trees: dict[str, BTree], transaction: Transaction, page_size: int) -> None:
        self.rows: list[Row] = []
        self._page_size = page_size
        self._trees = trees
        self._transaction = transaction
        self._change = Counter[tuple[int, int]]()
        self._totals: Totals | None = None

    def do(self, operation: Operation) -> None:
        """Do one operation; where there is no message left nothing is done."""
        if operation.kind == "deliver":
            self._deliver(operation)
        elif (found := self._find(operation.number)) is not None:
            if operation.kind == "read":
                self._body(found)
            elif operation.kind == "delete":
                self._delete("Msg", found.key)
                self._delete("Arrivals", ARRIVALS.key(found.number))
                self._change[found.mailbox, found.folder] -= 1
            else:
                self._move(found, operation.folder)

    def finish(self) -> None:
        """Write the counts that changed."""
        for place, change in sorted(self._change.items()):
            key = COUNTS.key(*place)
            old = self._trees["Folders"].get(key, self._transaction)
            count = 0 if old is None else _count(old)
            record = COUNTS.record(self._page_size, *place, max(0, count + change), None)
            if old is None:
                self._insert("Folders", key, record)
            elif change:
                self._replace("Folders", key, record)
        if self._totals is not None:
            self._replace("Folders", _TOTALS_KEY, _totals_record(self._page_size, self._totals))

    def _deliver(self, operation: Operation) -> None:
        totals = self._totals or _totals(self._trees["Folders"], self._transaction)
        new = Arrival(totals.following, operation.mailbox, INBOX, operation.time)
        self._insert("Msg", new.key, message_record(self._page_size, new, operation.body))
        self._insert("Arrivals", ARRIVALS.key(new.number), self._arrival_record(new))
        self._change[new.mailbox, INBOX] += 1
        self._totals = totals._replace(following=totals.following + 1)

    def _move(self, found: Arrival, folder: int) -> None:
        if folder == found.folder:
            folder = (folder + 1) % FOLDERS
        body = self._body(found)
        moved = found._replace(folder=folder)
        self._delete("Msg", found.key)
        self._insert("Msg", moved.key, message_record(self._page_size, moved, body))
        self._replace("Arrivals", ARRIVALS.key(found.number), self._arrival_record(moved))
        self._change[found.mailbox, found.folder] -= 1
        self._change[moved.mailbox, folder] += 1

    def _find(self, number: int) -> Arrival | None:
        """The message of this number, or the next one, or the first of all."""
        tree = self._trees["Arrivals"]
        start = ARRIVALS.key(max(0, number))
        for _, record in tree.scan(start, transaction=self._transaction):
            return _arrival(record)
        for _, record in tree.scan(transaction=self._transaction):
            return _arrival(record)
        return None

    def _body(self, found: Arrival) -> bytes:
        record = self._trees["Msg"].get(found.key, self._transaction)
        if record is None:
            raise KeyError(found.key)
        return body_of(record)

    def _arrival_record(self, arrival: Arrival) -> bytes:
        return ARRIVALS.record(self._page_size, *arrival)

    def _insert(self, table: str, key: bytes, value: bytes) -> None:
        self._trees[table].insert(self._transaction, key, value)
        self.rows.append(Row(table, key, value))

    def _replace(self, table: str, key: bytes, value: bytes) -> None:
        self._trees[table].replace(self._transaction, key, value)
        self.rows.append(Row(table, key, value))

    def _delete(self, table: str, key: bytes) -> None:
        self._trees[table].delete(self._transaction, key)
        self.rows.append(Row(table, key, None))


def message_record(page_size: int, arrival: Arrival, body: bytes) -> bytes:
    """The record of a message in "Msg"."""
    place = (arrival.mailbox, arrival.folder, arrival.number)
    return MESSAGES.record(page_size, *place, body)


def body_of(record: bytes) -> bytes:
    """The body of a message, of its record in "Msg". Raises FAULTS."""
    body = MESSAGES.values(record)[-1]
    if not isinstance(body, bytes):
        raise ValueError("a message without a body")
    return body


def _totals(tree: BTree, transaction: Transaction | None) -> Totals:
    found = tree.get(_TOTALS_KEY, transaction)
    if found is None:
        raise KeyError(_TOTALS_KEY)
    _, _, following, daily = COUNTS.values(found)
    return Totals(_number(following), _number(daily))


def _totals_record(page_size: int, totals: Totals) -> bytes:
    return COUNTS.record(page_size, 0, 0, *totals)


def _count(record: bytes) -> int:
    return _number(COUNTS.values(record)[2])


def _arrival(record: bytes) -> Arrival:
    number, mailbox, folder, time = ARRIVALS.values(record)
    if not isinstance(time, float):
        raise ValueError("an arrival without a time")
    return Arrival(_number(number), _number(mailbox), _number(folder), time)


def _number(value: Value) -> int:
    if not isinstance(value, int):
        raise ValueError("no number where one belongs")
    return value
