"""The mailbox store after crashes and on damaged pages, against a model outside."""

import random
from collections.abc import Sequence

import pytest

from esefiles.pages.layout import offset_of
from eselab.base.plan import DAY
from eselab.disk.disk import SimDisk
from eselab.machine.mail import ARRIVALS, Mailboxes, Row, Totals
from eselab.machine.workload import STEPS
from tests.eselab.mailing import (
    MIDNIGHT,
    NAME,
    PLAN,
    Life,
    Model,
    SimLife,
    built,
    expect_consistent,
    numbers,
)


class PowerError(Exception):
    """The power fails."""


class Failing(Model):
    """Fails when so many transactions were intended: before the commit of the last."""

    left = 1_000_000

    def intended(self, rows: Sequence[Row]) -> None:
        super().intended(rows)
        self.left -= 1
        if not self.left:
            raise PowerError


def damage(disk: SimDisk, number: int) -> None:
    """Put other bytes into a page at rest."""
    file = disk.open(NAME)
    at = offset_of(number, 8192) + 4000
    file.write(at, random.Random(number).randbytes(64))
    file.sync()


@pytest.mark.slow
def test_after_each_crash_all_that_was_flushed_is_there_and_the_work_goes_on() -> None:
    life = built(60, cache_pages=20)
    life.database.store.checkpoint()
    chance, disk, now, records = random.Random(3), life.disk, MIDNIGHT, life.records()
    for crash in range(12):
        model = Failing(records)
        life = SimLife(disk, plan=PLAN, seed=crash, now=now, journal=model, cache_pages=20)
        assert life.records() == records
        model.left = chance.randrange(1, 40)
        with pytest.raises(PowerError):
            life.days(5)
        now = life.clock.now()
        disk = disk.crash()
        records = Life(disk.crash(), plan=PLAN, now=now).records()
        assert model.allows(records)
        expect_consistent(records)


def test_the_model_is_the_database_while_nothing_happens_to_it() -> None:
    life = built(60)
    life.database.close(MIDNIGHT)
    model = Model(life.records())
    again = Life(life.disk, plan=PLAN, journal=model)
    again.days(2)
    assert model.open == []
    assert model.sure == again.records()


def test_what_comes_to_a_damaged_leaf_is_given_up_and_the_rest_goes_on() -> None:
    life = built(200)
    leaves = list(life.database.table("Msg").leaves())
    life.database.close(MIDNIGHT)
    for number in leaves[:: len(leaves) // 4]:
        damage(life.disk, number)
    again = Life(life.disk, plan=PLAN, cache_pages=30)
    before = following(again)
    again.days(2)
    assert 0 < again.mail.failed < 0.2 * again.mail.operations
    assert following(again) - before > 2 * daily(again) - again.mail.failed


@pytest.mark.slow
def test_messages_on_a_damaged_leaf_do_not_keep_retention_from_the_others() -> None:
    life = built(200)
    leaf = next(iter(life.database.table("Msg").leaves()))
    life.database.close(MIDNIGHT)
    damage(life.disk, leaf)
    again = Life(life.disk, plan=PLAN, cache_pages=30)
    again.days(12)
    arrivals = again.database.table("Arrivals").scan()
    times = [float(ARRIVALS.values(record)[3] or 0) for _, record in arrivals]
    old = [time for time in times if time < MIDNIGHT]
    assert 0 < len(old) < 12


@pytest.mark.slow
def test_a_damaged_index_stops_retention_but_not_deliveries() -> None:
    life = built(400)
    leaf = next(iter(life.database.table("Arrivals").leaves()))
    life.database.close(MIDNIGHT)
    damage(life.disk, leaf)
    again = Life(life.disk, plan=PLAN, cache_pages=30)
    before = following(again)
    again.days(1)
    assert again.mail.failed >= 2
    assert following(again) - before == daily(again)


def test_damaged_counts_stop_all_work_without_an_exception() -> None:
    life = built(60)
    leaf = next(iter(life.database.table("Folders").leaves()))
    life.database.close(MIDNIGHT)
    damage(life.disk, leaf)
    again = Life(life.disk, plan=PLAN, cache_pages=30)
    again.until(MIDNIGHT + DAY)
    assert again.mail.operations == 0
    assert again.mail.failed == STEPS


def test_numbers_are_not_given_twice_after_a_crash() -> None:
    life = built(60)
    life.days(1)
    last = max(numbers(life.records()))
    again = Life(life.disk.crash(), plan=PLAN, seed=8, now=life.clock.now())
    assert following(again) > last
    again.days(1)
    assert again.mail.failed == 0
    expect_consistent(again.records())


def totals(life: Life) -> Totals:
    """Number of the next message, deliveries a day."""
    return Mailboxes(life.database).totals()


def following(life: Life) -> int:
    return totals(life)[0]


def daily(life: Life) -> int:
    return totals(life)[1]
