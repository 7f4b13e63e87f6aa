"""Families of a state: tiers, absence, order, hostile values."""

import math
from itertools import permutations
from typing import Any

import msgspec
import pytest
from prometheus_client.core import Metric

from esewatch.config import DatabaseRule, Settings
from esewatch.expose.metrics.families import families
from esewatch.expose.metrics.snapshot import commit_histogram, own_families
from esewatch.fold.instances.backups import insert
from esewatch.fold.passes.transitions import pack
from esewatch.fold.state.state import (
    BackupEvent,
    BadPage,
    Damage,
    Database,
    Host,
    Instance,
    SourceState,
    State,
    Transition,
)

NOW = 1_700_000_000.0
DAY = 86400.0
PRIV = r"e:\mdb06\priv06.edb"
APP = r"c:\programdata\app\app.edb"
TEMP = r"c:\windows\temp\scratch.edb"

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def database(label: str = PRIV, **traits: Any) -> Database:
    return Database(computer="ex01", database=label, path=label.upper(), provider="ESE", **traits)


IN_SG06: dict[str, Any] = {
    "process": "MSExchangeIS",
    "maintenance_seen": True,
    "ese_instance": "SG06",
}


def watched(**traits: Any) -> Database:
    return database(**IN_SG06, **traits)


def state_of(*databases: Database, instances: tuple[Instance, ...] = ()) -> State:
    return State(
        databases={(each.computer, each.database): each for each in databases},
        instances={(each.computer, each.ese_instance.lower()): each for each in instances},
    )


def series(metrics: list[Metric]) -> Series:
    """All samples by name and labels; fails on a series that is there twice."""
    result: Series = {}
    for metric in metrics:
        for sample in metric.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in result
            result[key] = sample.value
    return result


def values(state: State, name: str, settings: Settings | None = None) -> dict[str, float]:
    """Values of `name` by the one label that is not the computer or database."""
    found: dict[str, float] = {}
    for (sample, labels), value in series(families(state, settings or Settings(), NOW)).items():
        if sample == name:
            own = {k: v for k, v in labels if k not in ("computer", "database")}
            found[",".join(own[key] for key in sorted(own))] = value
    return found


def names(state: State, settings: Settings | None = None) -> set[str]:
    return {name for name, _ in series(families(state, settings or Settings(), NOW))}


def test_an_empty_state_has_only_the_dropped_databases() -> None:
    found = series(families(State(), Settings(), NOW))

    assert {name for name, _ in found} == {
        "esewatch_databases_dropped_total",
    }
    assert {labels for _, labels in found} == {frozenset()}


@pytest.mark.parametrize("change", ["started", "completed", "interrupted"])
def test_a_watched_database_is_born_with_each_pass_counter_at_zero(change: str) -> None:
    found = values(state_of(watched()), f"ese_passes_{change}_total")

    assert found == {"defrag": 0, "checksum": 0}


def test_a_watched_database_is_born_with_slow_requests_and_bad_checksums_at_zero() -> None:
    state = state_of(watched())

    assert values(state, "ese_known_bad_pages") == {"uncorrectable": 0}
    assert values(state, "ese_slow_io_reports_total") == {"read": 0, "write": 0}
    assert values(state, "ese_pass_bad_checksums_total") == {"checksum": 0}


def test_what_most_databases_never_have_begins_with_its_first_event() -> None:
    quiet = state_of(watched())
    assert not names(quiet) & {
        "ese_known_damage",
        "ese_known_bad_pages_found_in_history",
        "ese_page_error_events_total",
        "ese_hung_io_reports_total",
        "ese_passes_failed_total",
    }

    zeroing = state_of(watched(transitions=pack([Transition(NOW - 60, 1, 718)])))
    assert values(zeroing, "ese_passes_started_total") == {"defrag": 0, "checksum": 0, "zeroing": 1}
    assert values(zeroing, "ese_pass_pages_seen_total") == {"checksum": 0, "zeroing": 0}


def test_damage_that_was_dealt_with_stays_with_0() -> None:
    hurt = watched(
        damage={"logical_nonfatal": Damage(1, [NOW - 60], [447])}, damage_mended=NOW - 30
    )

    assert values(state_of(hurt), "ese_known_damage") == {"logical": 0}
    observed = database(APP, process="app.exe", damage=hurt.damage, damage_mended=NOW - 30)
    assert values(state_of(observed), "ese_known_damage") == {}


def test_what_has_not_happened_or_was_not_measured_is_absent() -> None:
    absent = names(state_of(watched()))

    assert not {name for name in absent if "timestamp" in name or "_last_" in name}
    assert "ese_database_size_bytes" not in absent
    assert "ese_database_free_bytes" not in absent
    assert "ese_index_defrag_pages_freed_total" not in absent
    assert "ese_zeroing_pages_total" not in absent
    assert "ese_backup_bytes_total" not in absent


def test_an_observed_database_has_its_state_and_what_happened() -> None:
    quiet = names(state_of(database(APP, process="app.exe", first_seen=NOW)))
    hurt = database(
        APP,
        process="app.exe",
        page_errors={"checksum": 2},
        page_error_last={"checksum": NOW},
        bad_pages=[BadPage(page=7, kind="uncorrectable", first=NOW, last=NOW)],
        slow_io={"read": 3},
        slow_io_last={"read": NOW - 60},
    )

    assert quiet == {
        "ese_database_info",
        "ese_database_first_seen_timestamp_seconds",
        "esewatch_databases_dropped_total",
    }
    assert values(state_of(hurt), "ese_page_error_events_total") == {"checksum": 2}
    assert values(state_of(hurt), "ese_known_bad_pages") == {"uncorrectable": 1}
    assert values(state_of(hurt), "ese_known_bad_pages_found_in_history") == {"uncorrectable": 0}
    assert values(state_of(hurt), "ese_known_bad_page_last_number") == {"": 7}
    assert values(state_of(hurt), "ese_slow_io_reports_total") == {"read": 3}
    assert values(state_of(hurt), "ese_slow_io_last_timestamp_seconds") == {"read": NOW - 60}
    assert not {name for name in names(state_of(hurt)) if name.startswith("ese_pass")}
    assert not {name for name in names(state_of(hurt)) if "policy" in name}


def test_an_ignored_database_is_observed_once_it_is_damaged() -> None:
    hurt = database(TEMP, page_errors={"checksum": 1}, slow_io={"read": 3}, first_seen=NOW)

    assert names(state_of(database(TEMP))) == {"esewatch_databases_dropped_total"}
    assert names(state_of(hurt)) == {
        "ese_database_first_seen_timestamp_seconds",
        "ese_database_info",
        "ese_page_error_events_total",
        "ese_slow_io_reports_total",
        "esewatch_databases_dropped_total",
    }


def test_the_configuration_decides_the_tier() -> None:
    settings = Settings(databases=[DatabaseRule(match="*app.edb", tier="watched")])
    state = state_of(database(APP, process="app.exe"))

    assert values(state, "ese_passes_started_total", settings)["checksum"] == 0


def test_the_latest_completed_pass_is_told_with_its_own_clock() -> None:
    fields: dict[str, int | float] = {
        "seconds": 208,
        "invocations": 1,
        "pages_seen": 5850768,
        "bad_checksums": 3,
    }
    state = state_of(
        watched(
            transitions=pack(
                [
                    Transition(NOW - 3 * DAY, 1, 717),
                    Transition(NOW - 2 * DAY, 2, 721, fields),
                    Transition(NOW - DAY, 3, 700),
                ]
            ),
            pages_seen={"checksum": 5850768},
            bad_checksums={"checksum": 3},
        )
    )

    assert values(state, "ese_pass_last_completion_timestamp_seconds") == {
        "checksum": NOW - 2 * DAY
    }
    assert values(state, "ese_pass_last_start_timestamp_seconds") == {
        "checksum": NOW - 3 * DAY,
        "defrag": NOW - DAY,
    }
    assert values(state, "ese_pass_last_work_seconds") == {"checksum": 208}
    assert values(state, "ese_pass_last_wall_seconds") == {}
    assert values(state, "ese_pass_last_invocations") == {"checksum": 1}
    assert values(state, "ese_pass_last_bad_checksums") == {"checksum": 3}
    assert values(state, "ese_pass_pages_seen_total") == {"checksum": 5850768}
    assert values(state, "ese_pass_running") == {"defrag": 1, "checksum": 0}


def test_a_stopped_instance_interrupts_its_pass() -> None:
    one = watched(transitions=pack([Transition(NOW - 600, 1, 700)]))
    stopped = Instance(computer="ex01", ese_instance="SG06", life=[(NOW - 60, 0, 103)])

    assert values(state_of(one), "ese_pass_running")["defrag"] == 1
    after = state_of(one, instances=(stopped,))
    assert values(after, "ese_pass_running")["defrag"] == 0
    assert values(after, "ese_passes_interrupted_total")["defrag"] == 1


@pytest.mark.parametrize(("age", "running"), [(6.9 * DAY, 1), (7.1 * DAY, 0)])
def test_a_pass_that_fell_silent_is_not_running(age: float, running: int) -> None:
    state = state_of(watched(transitions=pack([Transition(NOW - age, 1, 700)])))

    assert values(state, "ese_pass_running")["defrag"] == running


def test_known_bad_pages_are_counted_by_kind_with_their_history() -> None:
    state = state_of(
        watched(
            bad_pages=[
                BadPage(page=1, kind="uncorrectable", first=NOW, last=NOW, age="history"),
                BadPage(page=2, kind="uncorrectable", first=NOW, last=NOW),
                BadPage(page=2, kind="lost_flush", first=NOW, last=NOW),
                BadPage(page=9, kind="corrected", first=NOW, last=NOW),
            ],
            good_ranges=[(9, 9, NOW + 1)],
        )
    )

    known = values(state, "ese_known_bad_pages")
    assert known == {"uncorrectable": 2, "lost_flush": 1, "corrected": 0}
    assert values(state, "ese_known_bad_pages_found_in_history")["uncorrectable"] == 1


def test_verification_is_told_by_verifier_and_a_backup_counts_with_the_ledger() -> None:
    state = state_of(
        watched(verified={"external": NOW - DAY, "streaming_backup": NOW - 9 * DAY}),
        instances=(backed_up(),),
    )

    assert values(state, "ese_last_full_verification_timestamp_seconds") == {
        "external": NOW - DAY,
        "streaming_backup": NOW - 100,
    }


def backed_up() -> Instance:
    return Instance(
        computer="ex01",
        ese_instance="SG06",
        backup_events=[
            BackupEvent(NOW - 400, 1, 210),
            BackupEvent(NOW - 390, 2, 220, PRIV, 2048),
            BackupEvent(NOW - 110, 3, 221, PRIV),
            BackupEvent(NOW - 100, 4, 213),
        ],
    )


def test_a_completed_backup_has_its_bytes_seconds_and_end() -> None:
    state = state_of(watched(), instances=(backed_up(),))

    assert values(state, "ese_backup_bytes_total") == {"full": 2048}
    assert values(state, "ese_backup_seconds_total") == {"full": 300}
    assert values(state, "ese_backup_last_completion_timestamp_seconds") == {"full": NOW - 100}


def test_backups_of_a_database_count_whatever_its_instance_is_called() -> None:
    """The last one does not become older, in whatever order the instances are read."""
    before, after = backed_up(), backed_up()
    after.ese_instance = "SG09"
    after.backup_events = [
        msgspec.structs.replace(each, time=each.time + 50) for each in after.backup_events
    ]
    for of in permutations((before, after)):
        state = state_of(watched(), instances=of)
        assert values(state, "ese_backup_bytes_total") == {"full": 4096}
        assert values(state, "ese_backup_seconds_total") == {"full": 600}
        assert values(state, "ese_backup_last_completion_timestamp_seconds") == {"full": NOW - 50}
        # What is exposed is no sum of what was exposed before.
        assert values(state, "ese_backup_bytes_total") == {"full": 4096}


def snapshot_of(name: str, *event_ids: int) -> Instance:
    """An instance, or a process, of which a shadow copy was made: its events name no database."""
    events = [BackupEvent(NOW - 400 + 100 * n, n + 1, each) for n, each in enumerate(event_ids)]
    return Instance(computer="ex01", ese_instance=name, backup_events=events)


LAST_BACKUP = "ese_backup_last_completion_timestamp_seconds"


@pytest.mark.parametrize("name", ["SG06", "MSExchangeIS"])
@pytest.mark.parametrize(("start", "kind"), [(2005, "shadow_full"), (2009, "shadow_copy")])
def test_a_completed_shadow_copy_is_a_backup_of_the_only_database(
    name: str, start: int, kind: str
) -> None:
    """Of its instance, or of its process where the events name that alone; it reads no pages."""
    state = state_of(watched(), instances=(snapshot_of(name, start, 2001, 2003, 2006),))
    assert values(state, LAST_BACKUP) == {kind: NOW - 100}
    assert values(state, "ese_backup_seconds_total") == {kind: 300}
    assert values(state, "ese_backup_bytes_total") == {}
    assert values(state, "ese_last_full_verification_timestamp_seconds") == {}
    assert values(state, "ese_backup_slow_jobs") == {}


@pytest.mark.parametrize("name", ["SG06", "MSExchangeIS"])
def test_a_shadow_copy_of_several_databases_tells_of_none(name: str) -> None:
    copy = snapshot_of(name, 2005, 2006)
    state = state_of(watched(), database(r"e:\b.edb", **IN_SG06), instances=(copy,))
    assert values(state, LAST_BACKUP) == {}


@pytest.mark.parametrize("events", [(2005,), (2006,), (2005, 2007), (2005, 2004, 2006), (211, 215)])
def test_a_shadow_copy_that_failed_or_is_known_in_part_is_no_backup(
    events: tuple[int, ...],
) -> None:
    assert values(state_of(watched(), instances=(snapshot_of("SG06", *events),)), LAST_BACKUP) == {}


def test_shadow_copies_whose_events_are_not_kept_any_more_count() -> None:
    instance = snapshot_of("SG06")
    for n in range(1000):
        for half, event_id in enumerate((2005, 2006)):
            insert(instance, BackupEvent(NOW - DAY + 60 * n + 10 * half, 2 * n + half, event_id))
    state = state_of(watched(), instances=(instance,))
    assert values(state, "ese_backup_seconds_total") == {"shadow_full": 10_000}


def test_a_backup_at_work_shows_on_every_watched_database_of_its_instance() -> None:
    begun = backed_up()
    del begun.backup_events[-1]

    def running(*instances: Instance, now: float = NOW) -> list[float]:
        state = state_of(watched(), instances=instances)
        found = series(families(state, Settings(), now))
        return [value for (name, _), value in found.items() if name == "ese_backup_running"]

    assert running(begun) == [1]
    assert running(begun, now=NOW + 2 * DAY) == [0]
    assert running(backed_up()) == [0]
    assert running(Instance(computer="ex01", ese_instance="SG06")) == []
    assert running() == []


def test_a_backup_without_sizes_has_no_bytes() -> None:
    instance = backed_up()
    instance.backup_events[1] = BackupEvent(NOW - 390, 2, 220, PRIV, 0)

    assert values(state_of(watched(), instances=(instance,)), "ese_backup_bytes_total") == {}


def test_index_defragmentation_is_there_once_it_was_logged() -> None:
    state = state_of(watched(index_pages_visited=10))

    assert values(state, "ese_index_defrag_pages_visited_total") == {"": 10}
    assert values(state, "ese_index_defrag_pages_freed_total") == {"": 0}


def test_counters_of_an_instance_are_there_once_sampled_and_only_if_catalogued() -> None:
    totals = {"ese_defrag_pages_read_total": 5.5, "": 1.0, "somebody_elses_total": 2.0}
    state = state_of(instances=(Instance(computer="ex01", ese_instance="SG06", totals=totals),))

    assert values(state, "ese_defrag_pages_read_total") == {"SG06": 5.5}
    assert names(state) == {"ese_defrag_pages_read_total", "esewatch_databases_dropped_total"}


def test_database_info_spells_the_instance_as_its_counters_do() -> None:
    counters = Instance(computer="ex01", ese_instance="sg06", totals={})
    settings = Settings(databases=[DatabaseRule(match="*priv*", name="priv06")])
    info = [
        dict(labels)
        for (name, labels) in series(
            families(state_of(watched(), instances=(counters,)), settings, NOW)
        )
        if name == "ese_database_info"
    ]

    assert info == [
        {
            "computer": "ex01",
            "database": PRIV,
            "ese_instance": "sg06",
            "database_name": "priv06",
            "path": PRIV.upper(),
            "role": "",
            "model": "application",
            "tier": "watched",
            "generation": "",
            "page_size": "",
        }
    ]


def test_a_computer_is_up_while_all_its_sources_are_and_each_counts_its_computers() -> None:
    sources = {
        "a": SourceState(name="a", up=True, computers=["ex01", "ex02"]),
        "b": SourceState(name="b", up=False, computers=["ex02"]),
        "mute": SourceState(name="mute", up=False),
    }
    found = series(families(State(sources=sources), Settings(), NOW))

    assert found["esewatch_host_up", frozenset({("computer", "ex01")})] == 1
    assert found["esewatch_host_up", frozenset({("computer", "ex02")})] == 0
    told = {
        dict(labels)["source"]: value
        for (name, labels), value in found.items()
        if name == "esewatch_source_computers"
    }
    assert told == {"a": 2, "b": 1, "mute": 0}


def test_a_computer_has_caught_up_when_all_its_sources_have() -> None:
    sources = {
        "a": SourceState(name="a", up=True, caught_up=True, computers=["ex01", "ex02"]),
        "b": SourceState(name="b", up=True, caught_up=False, computers=["ex02"]),
        "c": SourceState(name="c", up=True, caught_up=True, computers=["ex02"]),
    }

    found = series(families(State(sources=sources), Settings(), NOW))
    assert found["esewatch_host_caught_up", frozenset({("computer", "ex01")})] == 1
    assert found["esewatch_host_caught_up", frozenset({("computer", "ex02")})] == 0


def test_a_source_without_records_has_no_last_record() -> None:
    state = State(sources={"a": SourceState(name="a", unreadable=2, missed=3, duplicates=4)})

    assert values(state, "esewatch_source_last_record_timestamp_seconds") == {}
    assert values(state, "esewatch_source_up") == {"a": 0}
    assert values(state, "esewatch_source_unreadable_total") == {"a": 2}
    assert values(state, "esewatch_source_missed_records_total") == {"a": 3}
    assert values(state, "esewatch_source_duplicates_total") == {"a": 4}


def test_events_and_hidden_counters_are_told_by_computer() -> None:
    host = Host(
        computer="ex01",
        events={"ESE": {703: 2, 101: 1}},
        counters_present={"Online Defrag Pages Read/sec": False, "Log Threads Waiting": True},
    )
    state = State(hosts={"ex01": host})

    assert values(state, "ese_events_total") == {"101,ESE": 1, "703,ESE": 2}
    assert values(state, "esewatch_perf_object_present") == {
        "Log Threads Waiting": 1,
        "Online Defrag Pages Read/sec": 0,
    }


def test_output_is_sorted_and_does_not_depend_on_the_order_of_the_state() -> None:
    many = [watched(), database(APP, process="app.exe"), database(r"f:\a.edb", slow_io={"x": 1})]
    there = families(state_of(*many), Settings(), NOW)
    back = families(state_of(*reversed(many)), Settings(), NOW)

    assert there == back
    assert [metric.name for metric in there] == sorted(metric.name for metric in there)


def test_families_are_fresh_each_time_and_leave_the_state_alone() -> None:
    state = state_of(watched(transitions=pack([Transition(NOW - 600, 1, 700)])))
    first = families(state, Settings(), NOW)
    size = sum(len(metric.samples) for metric in first)
    for metric in first:
        metric.samples.clear()

    assert sum(len(metric.samples) for metric in families(state, Settings(), NOW)) == size


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400])
def test_a_number_that_is_none_is_absent(value: float) -> None:
    state = state_of(watched(size_bytes=value, reported_pages_freed=value))

    assert values(state, "ese_database_size_bytes") == {}
    assert values(state, "ese_defrag_reported_pages_freed_total") == {}


def test_own_families_tell_build_and_commits_and_never_when_they_were_born() -> None:
    commits = commit_histogram()
    commits.observe(0.004)
    own = own_families(
        commits, version="9.9", python_version="3.11.2", kernel="python", proc="/nowhere"
    )
    found = series(own)

    build = frozenset({("version", "9.9"), ("python_version", "3.11.2"), ("kernel", "python")})
    assert found["esewatch_build_info", build] == 1
    assert found["esewatch_journal_commit_duration_seconds_count", frozenset()] == 1
    assert not {name for name, _ in found if name.endswith("_created")}
    assert not {name for name, _ in found if name.startswith("process_")}
