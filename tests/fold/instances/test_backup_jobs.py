import random
from typing import Any

import pytest

from esewatch.expose.metrics.families import families
from esewatch.fold.folder import Folder
from esewatch.fold.instances.backups import LATEST, MAX_SETS, latest_jobs, slow_jobs, streamed
from esewatch.fold.state.state import BackupSet, Instance
from esewatch.model import Record
from tests.support.records import DAY, EPOCH, GB, HOUR, backed_up, event, folder_of

SCAN: dict[str, Any] = {"process": "MSExchangeIS"}


def night(at: float, gigabytes: tuple[float, ...] = (36, 9)) -> list[Record]:
    """A job with a set of an hour each, at that day."""
    return [
        backed_up(f"SG{number}", at * DAY + number * HOUR, gigabytes=size, job=f"{at}")
        for number, size in enumerate(gigabytes)
    ]


def shown(folder: Folder, prefix: str = "ese_backup_") -> dict[tuple[str, ...], float]:
    return {
        (sample.name.removeprefix(prefix), *sample.labels.values()): sample.value
        for family in families(folder.state, folder.settings, EPOCH + 10 * DAY)
        for sample in family.samples
        if sample.name.startswith(prefix)
    }


def stored(label: str = r"e:\mdb06\priv06.edb", group: str = "SG06") -> Record:
    """A database of the storage group is heard of."""
    return event(700, -DAY, database=label, ese_instance=group, **SCAN)


def test_a_set_is_the_backup_of_the_one_database_of_its_group() -> None:
    for records in (
        [stored(), backed_up()],
        [backed_up(), stored()],
        [backed_up("sg06"), stored()],
    ):
        found = shown(folder_of(records))

        key = ("ex01", r"e:\mdb06\priv06.edb", "ntbackup")
        assert found["bytes_total", *key] == 36 * GB
        assert found["seconds_total", *key] == HOUR
        assert found["last_completion_timestamp_seconds", *key] == EPOCH + HOUR
        assert found["set_bytes_total", "ex01", "SG06", "ntbackup"] == 36 * GB


def test_of_several_databases_in_a_group_none_has_its_bytes() -> None:
    found = shown(folder_of([stored(), stored(r"e:\mdb06\pub06.edb"), backed_up()]))

    assert found == {
        ("set_bytes_total", "ex01", "SG06", "ntbackup"): 36 * GB,
        ("set_seconds_total", "ex01", "SG06", "ntbackup"): HOUR,
        ("set_last_completion_timestamp_seconds", "ex01", "SG06", "ntbackup"): EPOCH + HOUR,
    }


def test_a_database_that_is_ignored_is_not_counted_among_those_of_the_group() -> None:
    found = shown(folder_of([stored(), stored(r"e:\temp\tmp.edb"), backed_up()]))

    assert found["bytes_total", "ex01", r"e:\mdb06\priv06.edb", "ntbackup"] == 36 * GB


def test_a_group_without_a_known_database_is_kept_for_itself() -> None:
    found = shown(folder_of([stored(), backed_up("SG99"), backed_up(computer="EX02")]))

    assert {key[1:] for key in found} == {
        ("ex01", "SG99", "ntbackup"),
        ("ex02", "SG06", "ntbackup"),
    }


def test_the_log_proves_no_page_and_stands_beside_the_events_of_the_same_backup() -> None:
    label = r"e:\mdb06\priv06.edb"
    copied = [
        event(210, 0, 1, **SCAN),
        event(220, 1, 2, database=label, fields={"bytes": 7}, **SCAN),
        event(221, HOUR - 1, 3, database=label, **SCAN),
        event(213, HOUR, 4, **SCAN),
    ]
    alone = folder_of([stored(), backed_up()])
    both = folder_of([stored(), backed_up(), *copied])

    verified = "ese_last_full_verification_timestamp_seconds"
    assert shown(alone, verified) == {}
    assert shown(both, verified) == {("", "ex01", label, "streaming_backup"): EPOCH + HOUR}
    found = shown(both)
    assert found["bytes_total", "ex01", label, "full"] == 7
    assert found["bytes_total", "ex01", label, "ntbackup"] == 36 * GB
    assert ("slow_jobs", "ex01") not in found


def test_a_set_counts_once_whatever_file_it_is_read_from() -> None:
    folder = folder_of([backed_up(), backed_up(job="another"), backed_up("sg06")])

    (instance,) = folder.state.instances.values()
    assert instance.backup_sets["ntbackup"].bytes_total == 36 * GB
    assert folder.state.sources["logs"].duplicates == 2


def test_the_order_of_sets_makes_no_difference() -> None:
    records = [
        *night(0),
        *night(1),
        *night(2),
        stored(),
        backed_up("SG0", 9 * DAY, kind="ntbackup_logs"),
    ]
    expected = shown(folder_of(records))

    for seed in range(5):
        random.Random(seed).shuffle(records)
        assert shown(folder_of(records)) == expected


def test_the_last_256_sets_are_kept_and_what_is_older_is_not_taken_again() -> None:
    records = [backed_up(start=at * 2 * HOUR) for at in range(MAX_SETS + 10)]
    folder = folder_of([*records, *records])

    host, (instance,) = folder.state.hosts["ex01"], folder.state.instances.values()
    assert len(host.backup_sets) == MAX_SETS
    assert host.backup_sets[0].started == EPOCH + 20 * HOUR
    assert instance.backup_sets["ntbackup"].seconds_total == (MAX_SETS + 10) * HOUR


def test_a_job_is_told_by_its_last_set_and_its_first() -> None:
    found = shown(folder_of([*night(0, (36, 18, 9)), *night(1, (36, 36))]))

    assert found["job_slowdown_ratio", "ex01"] == 1
    assert found["job_last_completion_timestamp_seconds", "ex01"] == EPOCH + DAY + 2 * HOUR
    assert found["slow_jobs", "ex01"] == 1


def test_only_the_last_five_jobs_count() -> None:
    slow = [record for at in range(4) for record in night(at)]
    good = [record for at in range(4, 7) for record in night(at, (36, 36))]

    assert shown(folder_of(slow))["slow_jobs", "ex01"] == 4
    assert shown(folder_of([*slow, *good]))["slow_jobs", "ex01"] == 2
    assert len(latest_jobs(folder_of([*slow, *good]).state.hosts["ex01"].backup_sets, ())) == LATEST


def test_half_the_throughput_is_not_yet_slow() -> None:
    assert shown(folder_of(night(0, (36, 18))))["slow_jobs", "ex01"] == 0
    assert shown(folder_of(night(0, (36, 17.99))))["slow_jobs", "ex01"] == 1


def test_short_sets_log_files_and_nothing_are_not_compared() -> None:
    short = backed_up("SG7", 2 * HOUR, 299 / 3600, 0.001)
    logs = backed_up("SG8", 3 * HOUR, 1, 0.001, kind="ntbackup_logs")
    nothing = backed_up("SG9", 3 * HOUR, 1, 0)
    first, second = backed_up("SG1"), backed_up("SG2", HOUR)

    assert (
        shown(folder_of([first, second, short, logs, nothing]))["job_slowdown_ratio", "ex01"] == 1
    )
    assert ("slow_jobs", "ex01") not in shown(folder_of([first, short, logs, nothing]))


def test_sets_of_different_jobs_are_not_compared() -> None:
    found = shown(folder_of([backed_up("SG1"), backed_up("SG2", HOUR, gigabytes=9, job="b")]))

    assert ("slow_jobs", "ex01") not in found


def streamed_backup(group: str, start: float, hours: float, size: int, number: int) -> list[Record]:
    """The events of a streaming backup of a group with one database, numbered by time."""
    label = rf"e:\{group}\priv.edb"
    told: dict[str, Any] = {"ese_instance": group, **SCAN}
    first, last = number + int(start), number + int(start + hours * HOUR)
    return [
        event(210, start, first, **told),
        event(220, start + 1, first + 1, database=label, fields={"bytes": size}, **told),
        event(221, start + hours * HOUR - 1, last - 1, database=label, **told),
        event(213, start + hours * HOUR, last, **told),
    ]


def test_streaming_backups_one_after_another_are_a_job() -> None:
    records = [
        *streamed_backup("SG1", 0, 1, 36 * GB, 10),
        *streamed_backup("SG2", HOUR + 60, 1, 18 * GB, 20),
        *streamed_backup("SG3", 2 * HOUR + 120, 1, 9 * GB, 30),
    ]
    found = shown(folder_of(records))

    assert found["job_slowdown_ratio", "ex01"] == pytest.approx(0.25)
    assert found["slow_jobs", "ex01"] == 1


@pytest.mark.parametrize("start", [HOUR + 901, HOUR - 61, 10.0])
def test_streaming_backups_apart_or_side_by_side_are_none(start: float) -> None:
    records = [
        *streamed_backup("SG1", 0, 1, 36 * GB, 10),
        *streamed_backup("SG2", start, 1, 9 * GB, 20),
    ]

    assert ("slow_jobs", "ex01") not in shown(folder_of(records))


def test_the_same_group_again_is_another_job() -> None:
    records = [
        *streamed_backup("SG1", 0, 1, 36 * GB, 10),
        *streamed_backup("SG1", HOUR + 60, 1, 9 * GB, 20),
    ]

    assert ("slow_jobs", "ex01") not in shown(folder_of(records))


def test_a_job_that_its_log_tells_of_is_not_counted_again_from_events() -> None:
    records = [
        *streamed_backup("SG0", 5, 1, 36 * GB, 10),
        *streamed_backup("SG1", HOUR + 5, 1, 9 * GB, 20),
    ]

    assert shown(folder_of(records))["slow_jobs", "ex01"] == 1
    assert shown(folder_of([*records, *night(0)]))["slow_jobs", "ex01"] == 1
    assert shown(folder_of([*records, *night(1)]))["slow_jobs", "ex01"] == 2


def test_an_instance_keeps_its_last_streaming_backups_as_sets() -> None:
    records = [
        record
        for at in range(20)
        for record in streamed_backup("SG1", at * DAY, 1, GB, 10 + at * 10)
    ]
    instance = folder_of(records).state.instances["ex01", "sg1"]

    assert [each.started for each in streamed(instance)] == [
        EPOCH + at * DAY for at in range(12, 20)
    ]
    assert streamed(Instance(computer="ex01", ese_instance="x")) == []


def test_hostile_figures_make_no_error() -> None:
    sets = [
        BackupSet(ended, started, "a", "full", size, seconds, "j")
        for ended in (0.0, -1e300, 1e300)
        for started in (0.0, 1e300)
        for size in (-1.0, 0.0, 1e300)
        for seconds in (-1.0, 0.0, 1e300)
    ]

    jobs = latest_jobs(sets, sets)
    assert 0 <= slow_jobs(jobs) <= LATEST
