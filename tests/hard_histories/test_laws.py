"""Laws: how what is said may change when what is read changes.

Nobody needs to know the right answer for these: two histories are read, and their answers compared.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from tests.hard_histories import (
    MONDAY,
    PAGES,
    Copy,
    Judged,
    Said,
    judged,
    judged_files,
    numbered,
    old_store,
)
from tests.oracle.files import write_evtx, write_json
from tests.oracle.history import DAY, HOUR, Logged

ACTIVE = Copy()
PASSIVE = Copy("EX02.corp.example", r"E:\DB02\DB02.edb", "DB02", "Information Store - DB02")
OLD = old_store(computer="EX03.corp.example")
COPIES = {"active": ACTIVE, "passive": PASSIVE, "2007": OLD}
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]


def started(copy: Copy, time: float) -> Logged:
    """A pass of this copy begins."""
    return copy.maintenance_start(time) if copy is ACTIVE else copy.scan_start(time)


def resumed(copy: Copy, time: float, start: float) -> Logged:
    """A pass of this copy goes on."""
    if copy is ACTIVE:
        return copy.maintenance_resume(time, start)
    return copy.scan_resume(time, start)


def interrupted(copy: Copy, time: float) -> Logged:
    """A pass of this copy is aborted."""
    if copy is PASSIVE:
        return copy.passive_abort(time)
    return copy.log(time, 725, copy.database) if copy is OLD else copy.instance_stop(time)


def ended(copy: Copy, time: float, start: float, run: int) -> Logged:
    """A pass of this copy is complete, and every page that it read was good."""
    if copy is ACTIVE:
        return copy.maintenance_end(time, start, run=run)
    if copy is PASSIVE:
        return copy.passive_end(time, start, run=run)
    return copy.checksum_end(time, start)


def story(copy: Copy, seed: int) -> list[Logged]:
    """Some weeks of a copy: passes, most of them broken, starts that nobody kept, bad pages."""
    dice = Random(seed)
    events = []
    start = MONDAY
    for turn in range(4):
        end = start + dice.randint(4, 8) * DAY
        broken = dice.random() < 0.7
        if dice.random() < 0.5:
            events.append(started(copy, start))
        if broken:
            middle = start + dice.randint(30, 80) * HOUR
            if dice.random() < 0.5:
                events.append(interrupted(copy, middle - HOUR))
            events.append(resumed(copy, middle, start))
        if dice.random() < 0.8:
            events.append(ended(copy, end, start, dice.choice((5000, PAGES)) if broken else PAGES))
        for number in range(dice.randint(0, 2)):
            failed = start + dice.uniform(-1, 7) * DAY
            events.append(copy.bad_page(failed, 10 * turn + number))
            if dice.random() < 0.3:
                events.append(copy.patched(failed + HOUR, 10 * turn + number))
        start = end + dice.randint(1, 3) * DAY
    return [*events, started(copy, start)]


def healthier(after: Said, before: Said) -> list[str]:
    """In what the second answer is better than the first."""
    better = [
        f"verified by {by}"
        for by, time in after.verified.items()
        if before.verified.get(by, 0.0) < time
    ]
    if after.bad < before.bad:
        better.append("bad pages")
    if not after.damage >= before.damage:
        better.append("damage")
    return better


def told(folder: Path, copy: Copy, events: Sequence[Logged]) -> Said:
    """What is said of this copy."""
    return judged(folder, numbered(events)).of(copy)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", COPIES)
def test_one_more_resume_makes_no_copy_healthier(tmp_path: Path, name: str, seed: int) -> None:
    copy = COPIES[name]
    events = story(copy, seed)
    before = told(tmp_path, copy, events)
    dice = Random(seed)
    for _ in range(3):
        time = MONDAY + dice.uniform(0, 30) * DAY
        more = resumed(copy, time, time - dice.uniform(0, 3) * DAY)
        assert healthier(told(tmp_path, copy, [*events, more]), before) == []


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", COPIES)
def test_one_more_interruption_makes_no_copy_healthier(
    tmp_path: Path, name: str, seed: int
) -> None:
    copy = COPIES[name]
    events = story(copy, seed)
    before = told(tmp_path, copy, events)
    dice = Random(seed)
    for _ in range(3):
        more = interrupted(copy, MONDAY + dice.uniform(0, 30) * DAY)
        assert healthier(told(tmp_path, copy, [*events, more]), before) == []


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["active", "passive"])
def test_one_more_change_of_role_makes_no_copy_healthier(
    tmp_path: Path, name: str, seed: int
) -> None:
    copy = COPIES[name]
    events = story(copy, seed)
    before = told(tmp_path, copy, events)
    dice = Random(seed)
    for _ in range(3):
        time = MONDAY + dice.uniform(0, 30) * DAY
        other = copy.scan_start(time) if copy is ACTIVE else copy.maintenance_start(time)
        assert healthier(told(tmp_path, copy, [*events, other]), before) == []


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", COPIES)
def test_less_damage_makes_no_copy_sicker(tmp_path: Path, name: str, seed: int) -> None:
    copy = COPIES[name]
    events = story(copy, seed)
    before = told(tmp_path, copy, events)
    for bad in [event for event in events if event.event_id == 474][:3]:
        fewer = [event for event in events if event is not bad]
        assert healthier(before, told(tmp_path, copy, fewer)) == []


def archive(folder: Path, records: Sequence[Logged]) -> Judged:
    """What is said of these records, read from an event log."""
    folder.mkdir()
    return judged_files(folder, write_evtx(folder, records))


def gaps(records: Sequence[Logged]) -> list[list[Logged]]:
    """The records with some of them missing, for more than two days."""
    return [
        [*records[:first], *records[last:]]
        for first in range(1, len(records) - 1)
        for last in range(first + 1, min(first + 5, len(records)))
        if records[last].time - records[first - 1].time > 2 * DAY
    ]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", COPIES)
def test_a_gap_in_the_log_makes_no_copy_verified(tmp_path: Path, name: str, seed: int) -> None:
    copy = COPIES[name]
    records = numbered(story(copy, seed))
    before = archive(tmp_path / "whole", records).of(copy)
    for turn, kept in enumerate(Random(seed).sample(gaps(records), 4)):
        after = archive(tmp_path / f"gap{turn}", kept).of(copy)
        assert [what for what in healthier(after, before) if what != "bad pages"] == []


def test_a_pass_in_whose_days_the_log_has_a_gap_verifies_nothing(tmp_path: Path) -> None:
    records = numbered(
        [
            ACTIVE.maintenance_start(MONDAY),
            ACTIVE.bad_page(MONDAY + 3 * DAY, 17),
            ACTIVE.maintenance_end(MONDAY + 6 * DAY, MONDAY),
        ]
    )
    said = archive(tmp_path / "log", [records[0], records[2]]).of(ACTIVE)
    assert said.verified == {}


def estate(seed: int) -> list[Logged]:
    """The records of three servers."""
    return numbered(event for copy in COPIES.values() for event in story(copy, seed))


def same(one: Judged, other: Judged) -> bool:
    """Both say the same of all databases, and have counted the same events and passes."""
    return one.databases == other.databases and all(
        one.metrics.last(name) == other.metrics.last(name)
        for name in (
            "ese_events_total",
            "ese_known_bad_pages",
            "ese_passes_started_total",
            "ese_passes_completed_total",
            "ese_passes_interrupted_total",
            "ese_passes_failed_total",
        )
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_shuffled_records_say_the_same(tmp_path: Path, seed: int) -> None:
    records = estate(seed)
    shuffled = Random(seed).sample(records, len(records))
    assert same(judged(tmp_path, records), judged(tmp_path, shuffled))


@pytest.mark.parametrize("seed", SEEDS)
def test_records_that_are_read_twice_say_the_same(tmp_path: Path, seed: int) -> None:
    records = estate(seed)
    half = len(records) // 2
    again = write_json(tmp_path / "again.jsonl", records[half:])
    once = judged(tmp_path, records)
    assert same(once, judged(tmp_path, [*records, *records[:half]], more=[again]))


@pytest.mark.parametrize("seed", SEEDS)
def test_records_split_into_files_in_any_order_say_the_same(tmp_path: Path, seed: int) -> None:
    records = estate(seed)
    once = judged(tmp_path, records)
    files = [
        write_json(tmp_path / f"part{place}.jsonl", records[place : place + 7])
        for place in range(0, len(records), 7)
    ]
    Random(seed).shuffle(files)
    assert same(once, judged_files(tmp_path, files))


@pytest.mark.parametrize("seed", SEEDS)
def test_event_logs_and_json_lines_say_the_same(tmp_path: Path, seed: int) -> None:
    records = estate(seed)
    files = []
    for copy in COPIES.values():
        folder = tmp_path / copy.label
        folder.mkdir()
        files += write_evtx(folder, [one for one in records if one.computer == copy.computer])
    assert same(judged(tmp_path, records), judged_files(tmp_path, files))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", COPIES)
def test_what_happens_on_another_server_changes_nothing_here(
    tmp_path: Path, name: str, seed: int
) -> None:
    copy = COPIES[name]
    alone = told(tmp_path, copy, story(copy, seed))
    assert judged(tmp_path, estate(seed)).of(copy) == alone


@pytest.mark.parametrize("seed", SEEDS)
def test_passes_and_pages_of_another_copy_are_not_those_of_this_one(
    tmp_path: Path, seed: int
) -> None:
    other = Copy("EX04.corp.example")
    events = story(ACTIVE, seed)
    alone = told(tmp_path, ACTIVE, events)
    more = [
        other.scan_start(MONDAY),
        other.bad_page(MONDAY + DAY, 99),
        other.passive_end(MONDAY + 20 * DAY, MONDAY),
        other.patched_passive(MONDAY + 21 * DAY, 0, 100),
    ]
    said = told(tmp_path, ACTIVE, [*events, *more])
    assert (said.verified, said.bad, said.damage) == (alone.verified, alone.bad, alone.damage)


def advised(said: Judged) -> dict[tuple[str, str], dict[str, object]]:
    """What `advise` says of each database, without what hangs on the day of the whole."""
    found = {}
    for line in said.advice.out.splitlines():
        one = json.loads(line)
        key = (one["computer"], one.get("database", ""))
        found[key] = {name: one[name] for name in one.keys() - {"forecast", "as_of"}}
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_files_that_share_no_computer_change_nothing_here(tmp_path: Path, seed: int) -> None:
    mine = write_json(tmp_path / "mine.jsonl", numbered(story(ACTIVE, seed)))
    others = numbered(event for copy in (PASSIVE, OLD) for event in story(copy, seed))
    later = [event._replace(time=event.time + 90 * DAY) for event in others]
    alone = advised(judged_files(tmp_path, [mine]))
    theirs = write_json(tmp_path / "theirs.jsonl", later)
    both = advised(judged_files(tmp_path, [mine, theirs]))
    assert {key: both[key] for key in alone} == alone
    assert both.keys() > alone.keys()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_computer_that_falls_silent_among_others_is_never_better_than_blind(
    tmp_path: Path, seed: int
) -> None:
    records = estate(seed)
    end = max(event.time for event in records)
    kept = [
        event
        for event in records
        if event.computer != PASSIVE.computer or event.time < end - 14 * DAY - HOUR
    ]
    said = advised(judged(tmp_path, kept))
    assert said[PASSIVE.label, PASSIVE.database_label]["verdict"] in {"blind", "bad_pages"}


@pytest.mark.parametrize("seed", SEEDS)
def test_an_export_that_overlaps_changes_nothing(tmp_path: Path, seed: int) -> None:
    records = [event._replace(record_id=None) for event in estate(seed)]
    part = Random(seed).randint(1, len(records) - 2)
    once = judged(tmp_path, records)
    again = write_json(tmp_path / "again.jsonl", records[part // 2 : part])
    assert same(once, judged(tmp_path, records, more=[again]))


@pytest.mark.parametrize("seed", SEEDS)
def test_records_of_other_programs_only_move_now(tmp_path: Path, seed: int) -> None:
    records = numbered(story(ACTIVE, seed))
    end = records[-1].time
    others = [
        records[0]._replace(
            time=MONDAY + (end - MONDAY) * share, provider="other", event_id=7, record_id=None
        )
        for share in (0.1, 0.5, 0.9)
    ]
    once = judged(tmp_path, records)
    assert same(once, judged(tmp_path, [*records, *others]))
    later = others[0]._replace(time=end + 9 * DAY)
    said = judged(tmp_path, [*records, later])
    assert [json.loads(line)["as_of"][:10] for line in said.advice.out.splitlines()] == [
        datetime.fromtimestamp(later.time, UTC).strftime("%Y-%m-%d")
    ]
