from typing import Any

import pytest

from esewatch.advice.advise import advise
from esewatch.advice.findings.details import lone_instances
from esewatch.config import DatabaseRule, Settings
from esewatch.fold.identity.entities import OWNERS_A_DATABASE, long_paths
from esewatch.fold.identity.identity import tier
from esewatch.fold.instances.backups import completed, verified_by_streaming
from esewatch.fold.instances.counters import counters_present
from esewatch.fold.passes.transitions import count
from esewatch.model import Batch, CountersSeen, Event, Feed, Reading
from tests.support.records import DAY, EPOCH, HOUR, LABEL, event, folder_of, the_database, views


def companion(event_id: int, **fields: int | str) -> Event:
    return event(event_id, DAY, companion=True, provider="other", database="", fields=dict(fields))


def test_events_of_companions_are_not_counted_as_events_of_ese() -> None:
    folder = folder_of([event(700, 0), companion(9871)])
    assert folder.state.hosts["ex01"].events == {"ESE": {700: 1}}


def test_white_space_comes_from_1221_by_name_and_from_737_by_sums() -> None:
    named = companion(1221, database_name="SG06", free_bytes=3_565_158)
    folder = folder_of([event(700, 0), named])
    assert the_database(folder).free_bytes == 3_565_158
    pages = {
        "record_page_free_bytes": 100,
        "record_pages": 1000,
        "lv_page_free_bytes": 10,
        "lv_pages": 50,
    }
    folder.fold("logs", Batch(records=[event(737, 2 * DAY, fields=pages)]))
    assert the_database(folder).free_bytes == 100_500


def test_1646_speaks_of_the_directory_database() -> None:
    directory = event(700, 0, database="C:\\Windows\\NTDS\\ntds.dit", ese_instance="NTDSA")
    folder = folder_of([directory, companion(1646, free_bytes=5, size_bytes=50)])
    assert the_database(folder).free_bytes == 5
    assert the_database(folder).size_bytes == 50


@pytest.mark.parametrize(
    "path",
    [
        "C:\\Users\\a\\AppData\\Local\\Temp\\x.edb",
        "C:\\Windows\\System32\\sru\\SRUDB.dat",
        "C:\\Users\\a\\AppData\\Local\\Microsoft\\Windows\\WebCache\\WebCacheV01.dat",
    ],
)
def test_an_ignored_database_is_counted_but_kept_only_when_it_is_corrupt(path: str) -> None:
    folder = folder_of([event(326, 0, database=path, process="svchost")])
    assert folder.state.databases == {}
    assert folder.state.hosts["ex01"].events == {"ESE": {326: 1}}
    bad = event(474, HOUR, database=path, fields={"page_number": 3})
    folder.fold("logs", Batch(records=[bad]))
    assert the_database(folder).page_errors == {"checksum": 1}


def test_of_an_ignored_database_nothing_but_damage_is_kept_in_any_order() -> None:
    path = "C:\\Windows\\System32\\sru\\SRUDB.dat"
    bad = event(474, HOUR, database=path, fields={"page_number": 3})
    later = [event(700, 2 * HOUR, database=path), event(326, 9 * HOUR, database=path)]
    for records in ([bad, *later], [*later, bad]):
        entry = the_database(folder_of(records))
        assert entry.last_seen == EPOCH + HOUR
        assert not entry.maintenance_seen
        assert count(entry.transitions) == 0


def test_a_snapshot_is_its_origin_where_the_path_tells_it_and_nobody_elsewhere() -> None:
    of_c = event(326, 0, database="C:\\$SNAP_201911262355_VOLUMEC$\\Windows\\NTDS\\ntds.dit")
    shadow = event(
        326, 0, database="\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy3\\x\\ntds.dit"
    )
    folder = folder_of([of_c, shadow])
    assert list(folder.state.databases) == [("ex01", "c:\\windows\\ntds\\ntds.dit")]


def test_a_snapshot_does_not_speak_for_its_origin_except_of_damage() -> None:
    origin = "C:\\Windows\\NTDS\\ntds.dit"
    snapshot = "C:\\$SNAP_201911262355_VOLUMEC$\\Windows\\NTDS\\ntds.dit"
    own: dict[str, Any] = {"provider": "NTDS ISAM", "process": "NTDS", "ese_instance": "NTDSA"}
    other: dict[str, Any] = {"provider": "ESENT", "process": "ntdsutil", "ese_instance": ""}
    records = [
        event(700, 0, database=origin, **own),
        event(326, 60, database=snapshot, **other),
        event(327, 120, database=snapshot, **other),
    ]
    folder = folder_of(records)
    entry = the_database(folder)
    assert (entry.path, entry.provider, entry.ese_instance) == (origin, "NTDS ISAM", "NTDSA")
    assert views(folder)["defrag"].interrupted == 0
    bad = event(474, 180, database=snapshot, fields={"page_number": 3}, **other)
    folder.fold("logs", Batch(records=[bad]))
    assert the_database(folder).page_errors == {"checksum": 1}


def test_a_bad_page_in_a_snapshot_of_a_file_that_only_a_tool_named_is_watched() -> None:
    tool = event(326, 0, process="eseutil", ese_instance="")
    snapshot = "C:\\$SNAP_201911262355_VOLUMEE$\\MDB06\\priv06.edb"
    bad = event(474, HOUR, database=snapshot, fields={"page_number": 3})
    for records in ([tool, bad], [bad, tool]):
        assert tier(the_database(folder_of(records)), Settings()) == "watched"


def test_databases_beyond_the_limit_are_counted_and_configured_ones_never_dropped() -> None:
    settings = Settings(max_databases=1, databases=[DatabaseRule(match="*\\mine.edb")])
    records = [event(700, 0)]
    records += [event(700, n, database=f"d:\\{name}.edb") for n, name in enumerate("aab")]
    records.append(event(700, 9, database="d:\\mine.edb"))
    folder = folder_of(records, settings=settings)
    assert {key[1] for key in folder.state.databases} == {LABEL, "d:\\mine.edb"}
    assert folder.state.databases_dropped == 2
    assert folder.state.dropped == {"ex01|d:\\a.edb": 2, "ex01|d:\\b.edb": 1}


def test_a_path_too_long_for_a_label_makes_no_database_and_is_counted_and_told() -> None:
    fits = "d:\\" + "x" * 1021
    for event_id in (700, 474):
        beyond = [event(event_id, n, database=fits + end) for n, end in enumerate("aab")]
        state = folder_of([event(700, 0, database=fits), *beyond]).state
        assert [key[1] for key in state.databases] == [fits]
        assert state.databases_dropped == 2
        assert long_paths(state) == [("ex01", fits + "a"), ("ex01", fits + "b")]
    state = folder_of([event(700, 0, database=fits + "c" * 100_000)]).state
    assert [len(path) for _, path in long_paths(state)] == [1025]


def test_slow_io_counts_the_suppressed_reports_and_keeps_the_last_duration() -> None:
    first = event(507, 0, fields={"seconds": 17})
    again = event(509, HOUR, fields={"seconds": 31, "suppressed": 4})
    folder = folder_of([again, first])
    assert the_database(folder).slow_io == {"read": 6}
    assert the_database(folder).slow_io_last_seconds == {"read": 31}
    assert the_database(folder).slow_io_last == {"read": EPOCH + HOUR}


def test_slow_io_keeps_its_latest_time_also_of_a_report_without_a_duration() -> None:
    first = event(507, 0, fields={"seconds": 17})
    for records in ([first, event(507, HOUR)], [event(507, HOUR), first]):
        folder = folder_of(records)
        assert the_database(folder).slow_io_last == {"read": EPOCH + HOUR}
        assert the_database(folder).slow_io_last_seconds == {}


def test_hung_io_is_counted_and_keeps_its_latest_time_whatever_is_read_last() -> None:
    folder = folder_of([event(532, HOUR), event(532, 0), event(533, 0)])
    assert the_database(folder).hung_io == {"read": 2, "write": 1}
    assert the_database(folder).hung_io_last == {"read": EPOCH + HOUR, "write": EPOCH}


def test_slow_and_hung_io_on_a_log_are_of_each_database_of_its_instance() -> None:
    of_log: dict[str, Any] = {"database": "", "fields": {"file": "l:\\E06.log", "seconds": 20}}
    log = [event(510, HOUR, **of_log), *(event(533, HOUR + n, **of_log) for n in range(5))]
    own, other = event(700, 0), event(700, 0, database="e:\\other.edb")
    elsewhere = event(700, 0, database="e:\\third.edb", ese_instance="SG07")
    for databases in ([own], [own, other]):
        state = folder_of([*databases, elsewhere, *log]).state
        known = {name: (each.slow_io, each.hung_io) for (_, name), each in state.databases.items()}
        assert known.pop("e:\\third.edb") == ({}, {})
        assert list(known.values()) == [({"write": 1}, {"write": 5})] * len(databases)


def test_an_event_without_time_counts_and_only_a_bad_page_goes_further() -> None:
    records = [
        Event(event_id=700, provider="ESE", computer="EX01", database="d:\\x.edb"),
        Event(event_id=474, provider="ESE", computer="EX01", database="d:\\x.edb"),
    ]
    folder = folder_of(records)
    assert folder.state.hosts["ex01"].events == {"ESE": {700: 1, 474: 1}}
    assert the_database(folder).transitions == b""
    assert the_database(folder).bad_pages[0].last == EPOCH


def test_aliases_and_short_names_make_one_computer() -> None:
    settings = Settings(computers={"EX01-OLD": "ex01.corp.example"})
    records = [event(700, 0), event(704, 9, computer="EX01"), event(704, 9, computer="ex01-old")]
    folder = folder_of(records, settings=settings)
    assert list(folder.state.hosts) == ["ex01"]
    assert folder.state.hosts["ex01"].aliases_seen == ["EX01.corp.example", "EX01", "ex01-old"]


def test_only_silent_observed_databases_expire() -> None:
    observed = event(326, 0, database="d:\\app.edb", process="app")
    folder = folder_of([event(700, 0), observed])
    folder.expire(EPOCH + 91 * DAY)
    assert list(folder.state.databases) == [("ex01", LABEL)]


def test_the_event_spells_the_instance_and_counters_follow() -> None:
    reading = Reading(
        time=EPOCH,
        computer="EX01",
        object="Database ==> Instances",
        counter="Online Defrag Pages Read/sec",
        instance="store/sg06",
        value=1.0,
        kind="rate",
        feed=Feed(metric="ese_defrag_pages_read_total", name="sg06"),
    )
    folder = folder_of([reading, event(102, 0, database="")])
    assert folder.state.instances[("ex01", "sg06")].ese_instance == "SG06"


def test_counters_seen_are_kept_by_computer() -> None:
    seen = CountersSeen(time=EPOCH, computer="EX01", present={"Online Defrag": False})
    folder = folder_of([seen])
    assert folder.state.hosts["ex01"].counters_present == {"Online Defrag": False}


@pytest.mark.parametrize(("until", "there"), [(0, True), (-30, True), (2, False)])
def test_a_log_of_long_ago_or_of_few_counters_does_not_tell_that_sampled_ones_are_hidden(
    until: float, there: bool
) -> None:
    def sample(counter: str, metric: str, at: float) -> Reading:
        return Reading(
            time=EPOCH + at,
            computer="EX01",
            object="MSExchange Database ==> Instances",
            counter=counter,
            instance="store/sg06",
            value=1.0,
            kind="rate",
            feed=Feed(metric=metric, name="sg06"),
        )

    samples = [
        sample(f"Online Defrag Pages {what}/sec", f"ese_defrag_pages_{what.lower()}_total", 0)
        for what in ("Read", "Freed")
    ]
    other = sample("I/O Log Writes/sec", "ese_log_writes_total", until * DAY)
    hidden = {"Online Defrag": False, "Database Maintenance": False}
    seen = CountersSeen(time=EPOCH, computer="EX01", present=hidden)
    present = counters_present(folder_of([*samples, other, seen]).state)["ex01"]
    assert present == {"Online Defrag": there, "Database Maintenance": False}


def test_a_streaming_backup_of_every_file_is_kept_with_its_instance() -> None:
    names = [(210, ""), (220, LABEL), (221, LABEL), (213, "")]
    records = [event(e, n * HOUR, database=d) for n, (e, d) in enumerate(names)]
    folder = folder_of(records)
    (instance,) = folder.state.instances.values()
    backups = completed(instance.backup_events)
    assert verified_by_streaming(backups, instance) == {LABEL: [(EPOCH, EPOCH + 3 * HOUR)]}


def test_a_backup_event_without_a_size_counts_no_bytes() -> None:
    sized = event(220, HOUR, fields={"bytes": 4096})
    unsized = event(221, 2 * HOUR, fields={"bytes": "a lot"})
    (instance,) = folder_of([event(210, 0.0), sized, unsized]).state.instances.values()
    assert [each.bytes for each in instance.backup_events] == [0, 4096, 0]


@pytest.mark.parametrize(
    "feed",
    [
        {"metric": "ese_defrag_pages_read_total"},
        {"metric": "ese_device_reads_total", "owner": "device"},
        {"metric": "ese_cache_size_bytes", "owner": "computer"},
    ],
)
def test_names_of_counters_beyond_the_limit_are_dropped_and_counted(feed: dict[str, Any]) -> None:
    readings = [
        Reading(
            time=EPOCH,
            computer="EX01",
            object="o",
            counter="c",
            instance=f"i{number}",
            value=1.0,
            kind="level" if feed.get("owner") == "computer" else "total",
            feed=Feed(name=f"i{number}", labels=(f"i{number}",), **feed),
        )
        for number in (*range(50), *range(50))
    ]
    state = folder_of(readings, settings=Settings(max_databases=1)).state

    kept = (*state.instances, *state.devices, *state.hosts["ex01"].levels)
    assert len(kept) == OWNERS_A_DATABASE
    assert state.databases_dropped == 50 - OWNERS_A_DATABASE


@pytest.mark.parametrize("event_id", [398, 474, 475, 476, 530, 544, 727])
@pytest.mark.parametrize("known", [True, False])
def test_a_bad_page_whose_file_is_not_told_needs_a_person(event_id: int, known: bool) -> None:
    cut = event(event_id, HOUR, database="", level="error")
    folder = folder_of([event(700, 0), cut] if known else [cut])

    if known:
        (advice,) = advise(folder.state, Settings(), EPOCH + DAY)
        (first, *_) = advice.findings
    else:
        ((first, *_),) = (each.findings for each in lone_instances(folder.state, EPOCH + DAY))
    assert (first.finding, first.sentence) == ("investigate", "1 I/O error in the last 7 days")
    assert folder.state.instances["ex01", "sg06"].errors["io"] == (1, EPOCH + HOUR)


def test_a_corrected_page_whose_file_is_not_told_is_no_failed_read() -> None:
    folder = folder_of([event(399, HOUR, database="", level="warning")])
    assert folder.state.instances["ex01", "sg06"].errors == {}


def test_another_event_of_that_number_is_no_failed_read() -> None:
    other = event(474, HOUR, database="", provider="ESE BACKUP", level="error")
    assert all(not each.errors for each in folder_of([other]).state.instances.values())
