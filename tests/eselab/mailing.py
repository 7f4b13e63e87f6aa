"""Databases with a mailbox store, and a model of them outside: helpers of its tests."""

import copy
import random
from collections import Counter
from collections.abc import Generator, Sequence
from functools import lru_cache

from eselab.base.clock import VirtualClock
from eselab.base.plan import DAY, MailPlan
from eselab.disk.disk import Disk, SimDisk
from eselab.machine.mail import (
    ARRIVALS,
    COUNTS,
    LAYOUTS,
    MESSAGES,
    TABLES,
    Journal,
    Row,
    Totals,
)
from eselab.machine.workload import Mail
from eselab.storage.database import Database

NAME = "a.edb"
MIDNIGHT = 19_700 * DAY
PLAN = MailPlan(kept=10.0)
Records = dict[str, dict[bytes, bytes]]


class Model:
    """A Journal that knows what must be in the database, and what may be."""

    def __init__(self, records: Records) -> None:
        self.sure = {name: dict(rows) for name, rows in records.items()}
        self.open: list[list[Row]] = []

    def intended(self, rows: Sequence[Row]) -> None:
        self.open.append(list(rows))

    def given_up(self) -> None:
        self.open.pop()

    def durable(self) -> None:
        for rows in self.open:
            write(self.sure, rows)
        self.open.clear()

    def allows(self, records: Records) -> bool:
        """Whether a crash may have left this: what is sure, and a beginning of what is open."""
        state = {name: dict(rows) for name, rows in self.sure.items()}
        for rows in self.open:
            if state == records:
                return True
            write(state, rows)
        return state == records


def write(records: Records, rows: Sequence[Row]) -> None:
    """One transaction."""
    for row in rows:
        if row.value is None:
            del records[row.table][row.key]
        else:
            records[row.table][row.key] = row.value


class Life:
    """A mailbox store from an opening of its database on."""

    def __init__(
        self,
        disk: Disk,
        *,
        plan: MailPlan,
        pages: int = 0,
        seed: int = 1,
        now: float = MIDNIGHT,
        journal: Journal | None = None,
        page_size: int = 8192,
        cache_pages: int = 1000,
    ) -> None:
        self.disk = disk
        self.plan = plan
        self.clock = VirtualClock(now)
        chance = random.Random(seed)
        if pages:
            self.database = Database.create(
                disk, NAME, page_size=page_size, cache_pages=cache_pages, now=now, chance=chance
            )
        else:
            self.database = Database.open(disk, NAME, cache_pages=cache_pages, now=now)
        self.mail = Mail(self.database, plan, DAY, self.clock, chance, journal=journal)
        if pages:
            self.mail.build(pages)
        self._task: Generator[float, None, None] | None = None
        self._next = now

    def until(self, time: float) -> None:
        """Work up to and with `time`, keeping the log short."""
        if self._task is None:
            self._task = self.mail.work()
            self._next += next(self._task)
        while self._next <= time:
            self.clock.begin(self._next)
            self._next += next(self._task)
            if self.database.store.checkpoint_depth > 1 << 21:
                self.database.store.checkpoint(1 << 20)
        self.clock.begin(time)

    def days(self, count: float) -> None:
        """Work for so many days."""
        self.until(self.clock.now() + count * DAY)

    def records(self) -> Records:
        return self.mail.records()

    def used(self) -> int:
        """Pages in use."""
        return self.database.store.pages - self.database.space.free_pages()


class SimLife(Life):
    """One whose disk may crash."""

    disk: SimDisk


def made(
    plan: MailPlan, pages: int, *, seed: int = 1, page_size: int = 8192, cache_pages: int = 1000
) -> SimLife:
    """A new one: one like it is built once, and copied as it lies in memory."""
    return copy.deepcopy(_kept(plan, pages, seed, page_size, cache_pages))


@lru_cache(maxsize=8)
def _kept(plan: MailPlan, pages: int, seed: int, page_size: int, cache_pages: int) -> SimLife:
    return SimLife(
        SimDisk(random.Random(9)),
        plan=plan,
        pages=pages,
        seed=seed,
        page_size=page_size,
        cache_pages=cache_pages,
    )


def forget_made() -> None:
    """Let the next one be made anew, whatever was made before."""
    _kept.cache_clear()


def built(
    pages: int = 100, *, seed: int = 1, page_size: int = 8192, cache_pages: int = 1000
) -> SimLife:
    """A new one that keeps its messages for ten days."""
    return made(PLAN, pages, seed=seed, page_size=page_size, cache_pages=cache_pages)


def create(disk: Disk, pages: int, seed: int) -> Life:
    """A new one on a given disk."""
    return Life(disk, plan=PLAN, pages=pages, seed=seed)


def numbers(records: Records) -> dict[int, tuple[int, int]]:
    """Mailbox and folder of each message, by its number, as "Arrivals" has them."""
    found = {}
    for record in records["Arrivals"].values():
        number, mailbox, folder, _ = ARRIVALS.values(record)
        assert isinstance(number, int)
        assert isinstance(mailbox, int)
        assert isinstance(folder, int)
        found[number] = mailbox, folder
    return found


def totals(records: Records) -> Totals:
    """What "Folders" has of all mailboxes."""
    _, _, following, daily = COUNTS.values(records["Folders"][COUNTS.key(0, 0)])
    assert isinstance(following, int)
    assert isinstance(daily, int)
    return Totals(following, daily)


def expect_consistent(records: Records) -> None:
    """The three tables tell the same, and each record has the values of its key."""
    assert set(records) == set(TABLES)
    places = numbers(records)
    keys = {MESSAGES.key(*place, number) for number, place in places.items()}
    assert set(records["Msg"]) == keys
    assert totals(records).following > max(places)
    kept = {
        tuple(COUNTS.values(record)[:2]): COUNTS.values(record)[2]
        for record in records["Folders"].values()
    }
    del kept[0, 0]
    assert {place: count for place, count in kept.items() if count} == Counter(places.values())
    for layout in LAYOUTS:
        for key, record in records[layout.name].items():
            values = layout.values(record)[: len(layout.key_columns)]
            assert layout.key(*(value for value in values if isinstance(value, int))) == key
