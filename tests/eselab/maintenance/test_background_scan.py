"""The background scan: its pace, what it tells when, and that it goes on after any stop."""

import random

import pytest

from eselab.base.plan import DAY
from eselab.check.check import check
from eselab.logs.reports_current import BackgroundSummary
from eselab.maintenance.background_scan import SUSPENDED
from eselab.maintenance.dbscan import TABLE
from eselab.storage import node
from tests.eselab.background import LONG, PAGE, READ, Told, bench, made
from tests.eselab.databases import NAME, NOW
from tests.eselab.maintenance import test_dbscan
from tests.eselab.maintenance.test_dbscan import Odd, damage


def ids(told: list[Told]) -> list[object]:
    return [event[0] for event in told]


def summary_in(told: list[Told]) -> BackgroundSummary:
    summary = told[-1][1]
    assert isinstance(summary, BackgroundSummary)
    return summary


def test_a_pass_takes_as_long_as_its_bytes_take_at_the_pace() -> None:
    found = made(200)
    (begun, completed) = found.run()
    assert begun == (736,)
    summary = summary_in([completed])
    assert completed[0] == 737
    assert (summary.started, summary.ended) == (NOW, NOW + 200 * PAGE / 64)
    assert (summary.pages_seen, summary.run_pages, summary.run_bad) == (200, 200, 0)
    assert found.counters.scan_pages_read == 200


def test_each_read_is_of_64_kb_and_the_next_waits_until_it_is_due() -> None:
    found, waits = made(200), list[float]()
    for seconds in found.scan.invocation(lambda: LONG):
        waits.append(seconds)
        found.clock.begin(found.clock.now() + seconds)
    assert waits == [READ] * 12 + [READ / 2]
    lengths = [length for _, length in found.disk.reads if length > PAGE]
    assert lengths == [65_536] * 12 + [32_768]


def test_a_slow_device_makes_a_pass_slower_and_it_does_not_hurry_afterwards() -> None:
    found = made(200)
    task = found.scan.invocation(lambda: LONG)
    next(task)
    found.clock.begin(NOW + 10 * READ)
    assert next(task) == 0.0
    assert next(task) == READ


def test_it_tells_every_six_hours_that_it_goes_on() -> None:
    found = made(1500)
    told = found.run()
    assert ids(told) == [736, 744, 744, 744, 744, 737]
    times = [(NOW + hour * 3600 - NOW) // 64 for hour in (6, 12, 18, 24)]
    seen = [event[2] for event in told[1:-1]]
    # What was read and waits for its time counts already.
    assert seen == [int(pages // 16 + 1) * 16 for pages in times]


@pytest.mark.parametrize(("pages", "event"), [(9440, 737), (9460, 735)])
def test_a_pass_that_took_more_than_seven_days_is_late(pages: int, event: int) -> None:
    told = made(pages).run()
    assert told[-1][0] == event
    summary = summary_in(told)
    assert (summary.ended - summary.started > 7 * DAY) == (event == 735)


def test_free_bytes_of_record_pages_are_what_the_pages_have() -> None:
    found = made(60)
    summary = summary_in(found.run())
    store = found.database.store
    trees = [tree for _, tree in found.database.tables()] + [*found.database.indexes.values()]
    leaves = [store.read(at) for tree in trees for at in tree.leaves()]
    assert summary.record_pages == len(leaves) == 2 + 2 + 1 + 2 + 2
    # The scan's own record is written and rewritten meanwhile.
    assert abs(summary.free_bytes - sum(map(node.free_bytes, leaves))) < 200


def test_a_stop_tells_nothing_and_the_pass_is_resumed_where_it_was() -> None:
    found = made(200)
    assert found.run(NOW + 3 * READ) == [(736,)]
    assert (found.state().page, found.scan.duration) == (49, SUSPENDED)
    found.clock.begin(NOW + DAY)
    told = found.run()
    assert told[0] == (738, NOW, 49)
    summary = summary_in(told)
    assert (summary.pages_seen, summary.run_pages) == (200, 152)
    assert found.scan.duration == 0


def test_the_duration_is_that_of_this_run() -> None:
    found = made(200)
    assert found.scan.duration == 0
    found.run(NOW + 3 * READ)
    found.clock.begin(NOW + DAY)
    task = found.scan.invocation(lambda: LONG)
    next(task)
    found.clock.begin(NOW + DAY + 500)
    assert found.scan.duration == 500


def test_the_next_pass_is_due_a_day_after_the_end_of_the_last() -> None:
    found = made(100)
    assert found.scan.due() == 0.0
    found.run(NOW + READ)
    assert found.scan.due() == 0.0
    ended = summary_in(found.run()).ended
    assert found.scan.due() == ended + DAY
    assert found.reopened().scan.due() == ended + DAY


def test_bad_pages_are_those_of_the_run_in_which_they_were_met() -> None:
    found = made(200)
    damage(found.disk, 10, b"bad")
    damage(found.disk, 150, b"bad")
    assert found.run(NOW + 3 * READ) == [(736,), ("checksum", 10)]
    told = found.run()
    assert told[1] == ("checksum", 150)
    assert (summary_in(told).run_bad, found.state().bad_checksums) == (1, 2)


def test_an_invocation_whose_time_is_over_does_nothing() -> None:
    found = made(100)
    assert found.run(NOW) == []
    assert not found.state().is_open


@pytest.mark.parametrize("passive", [False, True])
def test_a_state_that_is_none_is_told_and_nothing_begins(passive: bool) -> None:
    found = made(100, passive=passive)
    with found.database.store.begin() as transaction:
        found.database.set_state(transaction, TABLE, Odd())
    assert found.scan.due() == 0.0
    assert found.run() == [(734, -1206)]
    assert found.scan.duration == 0


def test_a_read_that_fails_ends_the_run_and_the_next_goes_on_there() -> None:
    found = made(400)
    found.disk.bad_from = 250 * PAGE
    assert found.run() == [(736,)]
    assert found.state().page == 241
    found.disk.bad_from = None
    told = found.run()
    assert told[0] == (738, NOW, 241)
    assert summary_in(told).pages_seen == 400


def test_a_passive_copy_tells_of_checksumming() -> None:
    found = made(200, passive=True)
    found.run(NOW)
    assert found.run(NOW + 3 * READ) == [(717,), (745, 49, 0.0, 48)]
    told = found.run()
    assert ids(told) == [719, 732]
    ended = summary_in(told).ended
    assert found.run(ended + READ) == [(717,), (745, 17, ended, 16)]


def test_a_passive_copy_tells_each_day_that_it_is_late_also_over_a_stop() -> None:
    found = made(14_000, passive=True)
    told = found.run(NOW + 8.5 * DAY)
    assert ids(told) == [717, 733, 733, 745]
    found = found.reopened()
    found.clock.begin(NOW + 8.6 * DAY)
    assert ids(found.run(NOW + 8.9 * DAY)) == [719, 745]
    found.clock.begin(NOW + 9.5 * DAY)
    told = found.run()
    assert ids(told) == [719, 733, 733, 732]
    assert summary_in(told).pages_seen == 14_000


def test_a_read_that_fails_aborts_the_scan_of_a_passive_copy() -> None:
    found = made(400, passive=True)
    found.disk.bad_from = 250 * PAGE
    assert found.run() == [(717,), (745, 241, 0.0, 240)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_a_pass_through_any_kills_and_stops_sees_each_page_once(seed: int) -> None:
    chance, found, told = random.Random(seed), made(1200), list[Told]()
    bad, runs = 700, 0
    damage(found.disk, bad, b"bad")
    while not {735, 737} & set(ids(told)):
        runs += 1
        if chance.random() < 0.5:
            told = found.run(steps=chance.randrange(1, 30))
            if not {735, 737} & set(ids(told)):
                found = found.reopened(found.disk.crash())
        else:
            told = found.run(found.clock.now() + chance.uniform(0.1, 30) * READ)
        if runs == 1:
            assert told[0] == (736,)
        else:
            assert told[0][:2] == (738, NOW)
    assert summary_in(told).pages_seen == 1200
    assert found.state().bad_checksums == 1
    assert check(found.disk.crash(), NAME).bad == [bad]


def test_what_is_told_is_durable() -> None:
    found = made(600)
    task = found.scan.invocation(lambda: LONG)
    while not any(event[0] == 744 for event in found.reports.told):
        found.clock.begin(found.clock.now() + next(task))
    seen = found.reports.taken()[-1][2]
    after = found.reopened(found.disk.crash())
    assert (after.state().pages_seen, after.state().is_open) == (seen, True)


def test_an_engine_of_2007_goes_on_with_the_pass_of_a_current_one_and_back() -> None:
    found = made(200)
    found.run(NOW + READ)
    old = test_dbscan.bench(found.disk, found.database, NOW + DAY)
    assert old.run(NOW + DAY + test_dbscan.THROTTLE) == [(719, NOW), (725,)]
    again = bench(found.disk, found.database, NOW + 2 * DAY)
    told = again.run()
    assert told[0] == (738, NOW, 97)
    assert summary_in(told).pages_seen == 200
