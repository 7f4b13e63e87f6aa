"""Whether a backup is at work, from whatever events of it were seen."""

import itertools

import pytest

from esewatch.fold.instances.backups import (
    ENDS,
    LONGEST,
    MAX_EVENTS,
    SHADOW_EVENTS,
    STARTS,
    UNNAMED,
    at_work,
    begun,
    completed,
    insert,
    spans,
    totals,
)
from esewatch.fold.state.state import BackupEvent, BackupTotals, Instance

NOW = 1_182_500_000.0
HOUR = 3600.0
PRIV = "e:\\mdb06\\priv06.edb"


def instance(*events: tuple[float, int], **changes: object) -> Instance:
    """Of (seconds before NOW, event id), inserted as given."""
    made = Instance(computer="ex01", ese_instance="SG06", **changes)  # type: ignore[arg-type]
    for number, (ago, event_id) in enumerate(events):
        insert(made, BackupEvent(NOW - ago, number, event_id, PRIV))
    return made


@pytest.mark.parametrize("start", sorted(STARTS))
def test_a_backup_that_began_is_at_work(start: int) -> None:
    found = instance((HOUR, start), (HOUR - 1, 220))
    assert at_work(found, NOW) is True
    assert begun(found.backup_events) == NOW - HOUR


@pytest.mark.parametrize("end", sorted(ENDS))
def test_a_backup_that_completed_or_failed_is_not(end: int) -> None:
    start = 2005 if end > SHADOW_EVENTS else 210
    assert at_work(instance((HOUR, start), (60, end)), NOW) is False


@pytest.mark.parametrize("end", [2002, 2004, 2006, 2007])
def test_a_streaming_backup_goes_on_whatever_becomes_of_a_shadow_copy(end: int) -> None:
    """The engine refuses to freeze meanwhile."""
    found = instance((HOUR, 210), (900, 220), (800, 2005), (700, end))
    assert at_work(found, NOW) is True
    assert begun(found.backup_events) == NOW - HOUR
    whole = instance((HOUR, 210), (900, 220), (800, 2005), (700, end), (600, 221), (500, 213))
    assert [each.kind for each in completed(whole.backup_events) if each.verifying] == ["full"]
    assert spans(whole.backup_events) == [(NOW - HOUR, NOW - 500), (NOW - 800, NOW - 700)]


@pytest.mark.parametrize("of_a_file", [217, 218, 219, 220, 221, 222])
def test_what_happens_to_one_file_does_not_end_it(of_a_file: int) -> None:
    assert at_work(instance((HOUR, 210), (60, of_a_file)), NOW) is True


def test_a_backup_lasts_from_its_start_to_its_end_whatever_became_of_it() -> None:
    events = [(900, 210), (800, 220), (700, 213), (600, 2005), (590, 2006), (500, 210), (450, 215)]
    open_ones = [(400, 213), (300, 210), (200, 2009), (150, 217), (100, 2007), (50, 211)]
    told = spans(instance(*[(float(a), b) for a, b in [*events, *open_ones]]).backup_events)
    assert told == [
        (NOW - begin, NOW - end) for begin, end in ((900, 700), (600, 590), (500, 450), (200, 100))
    ]


def test_without_an_end_it_is_believed_for_a_day() -> None:
    found = instance((0.0, 210))
    assert at_work(found, NOW + LONGEST) is True
    assert at_work(found, NOW + LONGEST + 1) is False


def test_an_end_without_a_begin_is_a_backup_that_is_over() -> None:
    assert at_work(instance((60, 213)), NOW) is False
    assert at_work(instance((60, 221)), NOW) is False


def test_the_next_backup_is_at_work_whatever_became_of_the_one_before() -> None:
    assert at_work(instance((30 * HOUR, 210), (HOUR, 2005)), NOW) is True
    assert at_work(instance((9 * HOUR, 210), (8 * HOUR, 214), (HOUR, 210)), NOW) is True


def test_a_stopped_instance_ends_its_backup() -> None:
    assert at_work(instance((HOUR, 210), life=[(NOW - 60, 0, 103)]), NOW) is False
    assert at_work(instance((HOUR, 210), life=[(NOW - 2 * HOUR, 0, 104)]), NOW) is True


def test_where_no_backup_was_ever_seen_nothing_is_said() -> None:
    assert at_work(instance(), NOW) is None
    before = instance(backup_totals={PRIV: {"full": BackupTotals()}})
    assert at_work(before, NOW) is False


def test_the_order_of_arrival_does_not_matter() -> None:
    told = [(HOUR, 210), (HOUR - 60, 220), (HOUR - 120, 221), (60.0, 213)]
    for order in itertools.permutations(enumerate(told)):
        found = Instance(computer="ex01", ese_instance="SG06")
        for number, (ago, event_id) in order:
            insert(found, BackupEvent(NOW - ago, number, event_id, PRIV))
        assert at_work(found, NOW) is False


def test_of_more_files_than_events_are_kept_nothing_is_claimed() -> None:
    found = instance((HOUR, 210), *((HOUR - 1, 220) for _ in range(2 * MAX_EVENTS)))
    assert len(found.backup_events) == MAX_EVENTS
    assert at_work(found, NOW) is False


def files(count: int, *, first: int = 0, name: str = "e:\\d{}.edb") -> list[BackupEvent]:
    """Copies of files, one after the other: each has a begin and an end."""
    return [
        BackupEvent(
            NOW + n + half / 2, 2 * n + half + 1, 220 + half, name.format(n), 10 - 10 * half
        )
        for n in range(first, first + count)
        for half in (0, 1)
    ]


def kept_of(*events: BackupEvent) -> Instance:
    made = Instance(computer="ex01", ese_instance="SG06")
    for each in events:
        insert(made, each)
    return made


BEGIN, END = BackupEvent(NOW, 0, 210), BackupEvent(NOW + 9000, 20_000, 213)


@pytest.mark.parametrize("count", [255, 256, 300, 500])
def test_a_backup_of_many_files_is_one_backup(count: int) -> None:
    for events in ([BEGIN, *files(count), END], [END, *reversed(files(count)), BEGIN]):
        found = kept_of(*events)
        (backup,) = completed(found.backup_events)
        assert (backup.started, backup.ended, backup.verifying) == (NOW, NOW + 9000, True)
        assert len(backup.files) == count
        assert len(found.backup_events) <= MAX_EVENTS


def test_log_files_beyond_number_take_no_room_and_hide_no_database() -> None:
    databases = files(5)
    found = kept_of(BEGIN, *databases, *files(5000, first=10, name=""), END)
    (backup,) = completed(found.backup_events)
    assert len(backup.files) == 5
    assert backup.verifying
    assert len(found.backup_events) <= MAX_EVENTS


def test_more_files_than_are_kept_leave_out_the_first() -> None:
    found = kept_of(BEGIN, *files(2000), END)
    (backup,) = completed(found.backup_events)
    assert list(backup.files)[-1] == "e:\\d1999.edb"
    assert len(found.backup_events) == MAX_EVENTS


def test_a_file_that_did_not_end_stays_open_beside_many_that_did() -> None:
    unfinished = BackupEvent(NOW + 0.25, 0, 220, PRIV, 10)
    (backup,) = completed(kept_of(BEGIN, unfinished, *files(400), END).backup_events)
    assert not backup.verifying


def test_a_failure_among_many_files_is_one_of_the_whole_backup() -> None:
    failure = BackupEvent(NOW + 5.25, 0, 222, "e:\\d5.edb")
    assert completed(kept_of(BEGIN, failure, *files(400), END).backup_events) == []


def test_the_backup_before_one_of_many_files_becomes_a_total() -> None:
    before = [
        BackupEvent(NOW - 400, 0, 210),
        BackupEvent(NOW - 390, 0, 220, PRIV, 2048),
        BackupEvent(NOW - 110, 0, 221, PRIV),
        BackupEvent(NOW - 100, 0, 213),
    ]
    found = kept_of(*before, BEGIN, *files(400), END)
    assert found.backup_totals[PRIV]["full"] == BackupTotals(2048, 300, NOW - 100)
    assert len(completed(found.backup_events)) == 1


def test_backup_events_without_any_start_are_bounded() -> None:
    found = kept_of(*files(2000))
    assert len(found.backup_events) <= MAX_EVENTS


def test_an_incremental_backup_is_one_of_each_database_that_had_a_full_one() -> None:
    """It copies the log files of its storage group: event 211, and 220 of log files alone."""
    found = instance((90 * HOUR, 210), (90 * HOUR - 1, 220), (89 * HOUR, 221), (88 * HOUR, 213))
    for ago in (66 * HOUR, 42 * HOUR):
        for number, event_id in enumerate((211, 220, 221, 213)):
            insert(found, BackupEvent(NOW - ago + number, 0, event_id, ""))
    (told,) = totals(found, completed(found.backup_events)).items()
    assert told == (
        PRIV,
        {
            "full": BackupTotals(0.0, 2 * HOUR, NOW - 88 * HOUR),
            "incremental": BackupTotals(0.0, 6.0, NOW - 42 * HOUR + 3),
        },
    )


def test_an_incremental_backup_without_a_full_one_names_no_database() -> None:
    found = instance()
    for number, event_id in enumerate((211, 220, 221, 213)):
        insert(found, BackupEvent(NOW + number, 0, event_id, ""))
    assert totals(found, completed(found.backup_events)) == {
        UNNAMED: {"incremental": BackupTotals(0.0, 3.0, NOW + 3)}
    }


def test_an_incremental_backup_that_failed_counts_for_nobody() -> None:
    found = instance((90 * HOUR, 210), (90 * HOUR - 1, 220), (89 * HOUR, 221), (88 * HOUR, 213))
    for number, event_id in enumerate((211, 220, 217, 213)):
        insert(found, BackupEvent(NOW + number, 0, event_id, ""))
    assert set(totals(found, completed(found.backup_events))[PRIV]) == {"full"}
