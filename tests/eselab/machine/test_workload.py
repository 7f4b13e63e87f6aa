"""The mailbox store at work: counts, retention, sizes, and the same again with the same seed."""

import random

import pytest

from eselab.base.plan import DAY, MailPlan
from eselab.disk.disk import SimDisk
from eselab.machine.mail import Mailboxes, Operation, body_of
from eselab.machine.workload import STEPS
from eselab.storage.tables.space import EXTENT
from tests.eselab.mailing import (
    MIDNIGHT,
    PLAN,
    Life,
    built,
    expect_consistent,
    forget_made,
    made,
    numbers,
    totals,
)
from tests.eselab.page_sizes import each_page_size


def following(life: Life) -> int:
    """Number of the next message."""
    return totals(life.records()).following


def daily(life: Life) -> int:
    """Deliveries that are due a day."""
    return totals(life.records()).daily


@pytest.mark.slow
@each_page_size
def test_a_new_store_has_about_the_pages_that_were_asked_for(page_size: int) -> None:
    life = built(300, page_size=page_size)
    assert life.used() == pytest.approx(300, rel=0.15)
    # Each of the six tables has an extent of its own to grow in.
    assert life.database.store.pages - life.used() < 6 * EXTENT
    expect_consistent(life.records())


def test_a_new_store_has_messages_of_all_the_days_that_they_are_kept() -> None:
    life = built()
    first, last = min(numbers(life.records())), max(numbers(life.records()))
    assert last - first == pytest.approx(10 * daily(life), rel=0.1)


def test_a_day_has_the_same_number_of_deliveries_each_time() -> None:
    life = built()
    before = following(life)
    for _ in range(3):
        life.days(1)
        assert following(life) - before == daily(life)
        before = following(life)


def test_after_days_of_work_the_tables_still_tell_the_same() -> None:
    life = built()
    life.days(4)
    assert life.mail.failed == 0
    expect_consistent(life.records())


def test_there_is_less_to_do_at_night() -> None:
    life = built(400)
    life.until(MIDNIGHT + DAY / 24)
    retention = life.mail.operations
    life.until(MIDNIGHT + 5 * DAY / 24)
    night = life.mail.operations - retention
    life.until(MIDNIGHT + 8 * DAY / 24)
    before = life.mail.operations
    life.until(MIDNIGHT + 12 * DAY / 24)
    assert life.mail.operations - before > 8 * night


def test_retention_takes_in_the_first_hour_what_is_too_old() -> None:
    life = built()
    life.days(2)
    oldest = min(numbers(life.records()))
    life.until(life.clock.now() + DAY / 24)
    assert min(numbers(life.records())) - oldest > daily(life) / 2
    oldest = min(numbers(life.records()))
    life.until(life.clock.now() + DAY / 2)
    assert min(numbers(life.records())) - oldest <= 3


def test_retention_catches_up_after_a_standstill() -> None:
    life = built()
    life.database.close(life.clock.now())
    later = MIDNIGHT + 20 * DAY
    again = Life(life.disk, plan=life.plan, now=later)
    again.until(later + DAY / 2)
    records = again.records()
    expect_consistent(records)
    assert len(records["Arrivals"]) < daily(again)


def test_the_same_seed_makes_the_same_rows() -> None:
    one = built(seed=4)
    forget_made()
    other, third = built(seed=4), built(seed=5)
    for life in (one, other, third):
        life.days(1)
    assert one.records() == other.records()
    assert one.records() != third.records()


def test_a_store_that_is_copied_goes_on_as_one_that_was_made_anew() -> None:
    """The helpers of these tests do so."""
    forget_made()
    found = []
    for _ in range(2):
        life = built(60)
        life.days(1)
        disk = life.disk
        found.append({name: disk.open(name).read(0, 1 << 30) for name in disk.names()})
    disk = SimDisk(random.Random(9))
    Life(disk, plan=PLAN, pages=60).days(1)
    found.append({name: disk.open(name).read(0, 1 << 30) for name in disk.names()})
    assert found[0] == found[1] == found[2]


def test_no_transaction_is_open_between_steps() -> None:
    life = built(60)
    for step in range(1, STEPS + 1):
        life.until(MIDNIGHT + step * DAY / STEPS)
        with life.database.store.begin() as transaction:
            assert transaction.pages == life.database.store.pages


def test_a_late_step_makes_up_for_those_that_were_missed() -> None:
    life = built()
    before = following(life)
    task = life.mail.work()
    next(task)
    life.clock.begin(MIDNIGHT + DAY)
    assert next(wait for wait in task if wait) == pytest.approx(DAY / STEPS)
    assert following(life) - before == daily(life)


def test_moved_messages_lie_in_their_new_folder_and_keep_their_bodies() -> None:
    life = built()
    before, places = life.records(), numbers(life.records())
    bodies = {key[-4:]: body_of(record) for key, record in before["Msg"].items()}
    life.days(0.5)
    after = life.records()
    moved = [n for n, place in numbers(after).items() if places.get(n, place) != place]
    assert moved
    same = [
        bodies[key[-4:]] == body_of(record)
        for key, record in after["Msg"].items()
        if key[-4:] in bodies
    ]
    assert all(same)


def test_messages_are_no_longer_than_a_quarter_of_a_page() -> None:
    life = made(MailPlan(kept=10.0, body=100_000), 80, page_size=4096)
    life.days(1)
    assert {len(body) for body in life.records()["Msg"].values()} == {1024}


def test_an_operation_on_an_empty_store_does_nothing() -> None:
    store = built(30)
    kept = len(store.records()["Arrivals"])
    boxes = Mailboxes(store.database)
    for _ in range(kept + 3):
        boxes.apply([Operation("delete")])
    boxes.apply([Operation("read"), Operation("move")])
    assert store.records()["Msg"] == {}
    boxes.apply([Operation("deliver", mailbox=1, body=b"new")])
    assert [body_of(record) for record in store.records()["Msg"].values()] == [b"new"]
