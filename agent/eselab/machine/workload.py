"""Mailbox-like work on a database: deliveries, reads, moves, deletions, retention.

A day has 48 steps, few operations at night and most of them in office hours; each day has the
same number of each kind. Retention takes what is too old in the first hour of the day.
All that the work needs to go on after a crash is read from the database.
"""

import random
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from eselab.base.clock import Clock
from eselab.base.plan import MailPlan
from eselab.machine.mail import FAULTS, FOLDERS, Journal, Kind, Mailboxes, Operation, Totals, groups
from eselab.machine.mailfill import Sizes, age, fill
from eselab.maintenance.schedule import Task
from eselab.storage.database import Database

STEPS: Final = 48
"""Of a day."""

_RETENTION: Final = 2
"""The first steps of the day, which take what is too old."""

_HOURS: Final = (2, 1, 1, 1, 1, 2, 4, 8, 14, 18, 18, 16, 12, 16, 18, 17, 15, 12, 8, 6, 5, 4, 3, 2)
"""Amount of work in each hour of the day, relative to each other."""

_READ_AGE: Final = 20
"""The mean age of a message that is read is this part of the time that it is kept."""

_GROUP: Final = 16
"""Operations of a transaction. With larger pages fewer: a log record is limited."""


def _shape() -> tuple[float, ...]:
    """Share of the day's work that is done before each step, and 1."""
    steps = STEPS // len(_HOURS)
    sums = accumulate((hour for hour in _HOURS for _ in range(steps)), initial=0)
    return tuple(done / (sum(_HOURS) * steps) for done in sums)


_DONE: Final = _shape()


class Mail:
    """The users of a mailbox store. `period`: seconds of a day. Same `chance`, same operations."""

    def __init__(
        self,
        database: Database,
        plan: MailPlan,
        period: float,
        clock: Clock,
        chance: random.Random,
        *,
        journal: Journal | None = None,
    ) -> None:
        self.operations = 0
        """Done so far; those of retention among them."""
        self.failed = 0
        """Given up, because they came to a damaged page."""
        self._database = database
        self._plan = plan
        self._period = period
        self._clock = clock
        self._chance = chance
        self._journal = journal
        page_size = database.store.page_size
        self._sizes = Sizes(plan, page_size)
        self._group = max(1, min(_GROUP, (1 << 17) // page_size))

    def build(self, pages: int) -> None:
        """Fill a new database to about that many pages: the first day is like any other."""
        fill(
            self._database,
            self._plan,
            pages,
            now=self._clock.now(),
            period=self._period,
            chance=self._chance,
        )

    def records(self) -> dict[str, dict[bytes, bytes]]:
        """Every committed row by table and key, for a model outside. Raises mail.FAULTS."""
        return Mailboxes(self._database).records()

    def work(self) -> Task:
        """The task: a step, then seconds until the next one. It never ends."""
        boxes = Mailboxes(self._database, self._journal)
        step = self._period / STEPS
        done = int(self._clock.now() / step)
        while True:
            yield max(0.0, (done + 1) * step - self._clock.now())
            # A hair early is in time: sums of fractions are not exact.
            due = int(self._clock.now() / step + 1e-3)
            for number in range(max(done, due - STEPS), due):
                yield from self._step(boxes, number)
            done = max(done, due)

    def _step(self, boxes: Mailboxes, number: int) -> Task:
        """Step `number` since the epoch, and its group commit.

        Others have their turn after each transaction: they would wait for the device else.
        """
        day, of_day = divmod(number, STEPS)
        before = self.operations
        try:
            totals = boxes.totals()
        except FAULTS:
            self.failed += 1
            return
        yield from self._do(boxes, self._users(totals, of_day))
        if of_day < _RETENTION:
            back = self._plan.kept + (_RETENTION - 1 - of_day) / _RETENTION
            yield from self._do(boxes, self._too_old(boxes, (day - back) * self._period))
        if self.operations != before:
            boxes.flush()

    def _users(self, totals: Totals, of_day: int) -> list[Operation]:
        """Operations of users in this step of the day."""
        plan, daily = self._plan, totals.daily
        counts: dict[Kind, float] = {
            "deliver": daily,
            "read": daily * plan.read,
            "move": daily * plan.moved,
            "delete": daily * plan.deleted,
        }
        kinds: list[Kind] = []
        for kind, count in counts.items():
            kinds += [kind] * (round(count * _DONE[of_day + 1]) - round(count * _DONE[of_day]))
        self._chance.shuffle(kinds)
        return [self._operation(kind, totals) for kind in kinds]

    def _operation(self, kind: Kind, totals: Totals) -> Operation:
        chance, kept = self._chance, self._plan.kept
        if kind == "deliver":
            mailbox = chance.randrange(1, self._plan.mailboxes + 1)
            body = self._sizes.body(chance)
            return Operation(kind, mailbox=mailbox, time=self._clock.now(), body=body)
        days = chance.expovariate(_READ_AGE / kept) if kind == "read" else age(chance, kept)
        number = totals.following - 1 - int(days * totals.daily)
        return Operation(kind, number, folder=chance.randrange(1, FOLDERS))

    def _too_old(self, boxes: Mailboxes, horizon: float) -> list[Operation]:
        """Deletions of what came before `horizon`, which is epoch seconds."""
        found: list[Operation] = []
        try:
            for arrival in boxes.arrived_before(horizon):
                found.append(Operation("delete", arrival.number))
        except FAULTS:
            self.failed += 1
        return found

    def _do(self, boxes: Mailboxes, operations: Sequence[Operation]) -> Task:
        """Groups in a transaction each; of a group that fails, each operation on its own."""
        for group in groups(operations, self._group):
            try:
                boxes.apply(group)
                self.operations += len(group)
            except FAULTS:
                for one in group:
                    self._alone(boxes, one)
            yield 0.0

    def _alone(self, boxes: Mailboxes, operation: Operation) -> None:
        try:
            boxes.apply([operation])
            self.operations += 1
        except FAULTS:
            self.failed += 1
