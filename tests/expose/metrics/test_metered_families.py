"""Totals and levels of instances, computers and devices as samples."""

import pytest

from esewatch.config import DatabaseRule, Settings
from esewatch.expose.metrics.families import families
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import Host, State
from esewatch.model import Batch, Event, Feed, Kind, Reading, VolumesSeen

NOW = 1_182_500_000.0
INSTANCES = "MSExchange Database ==> Instances"


def reading(feed: Feed, time: float, value: float, kind: Kind = "level") -> Reading:
    return Reading(
        time=time,
        computer="EX01",
        object=INSTANCES,
        counter=f"{feed.metric} {feed.labels}",
        instance=feed.name,
        value=value,
        kind=kind,
        feed=feed,
    )


def state_of(*records: Event | Reading | VolumesSeen, settings: Settings | None = None) -> State:
    folder = Folder(State(), settings or Settings())
    folder.open_source("s", NOW)
    folder.fold("s", Batch(records=list(records)))
    return folder.state


def shown(
    state: State, name: str, now: float = NOW, settings: Settings | None = None
) -> dict[tuple[str, ...], float]:
    """Samples of a metric by the values of their labels, `computer` left out."""
    return {
        tuple(value for label, value in sample.labels.items() if label != "computer"): sample.value
        for family in families(state, settings or Settings(), now)
        for sample in family.samples
        if sample.name == name
    }


def latency(phase: str, operation: str = "read", name: str = "SG06") -> Feed:
    return Feed(
        metric="ese_io_latency_seconds",
        name=name,
        labels=("database", operation, phase),
        scale=0.001,
    )


def test_a_level_is_in_base_units_under_all_its_labels() -> None:
    state = state_of(reading(latency("attached"), NOW, 3.4))

    assert shown(state, "ese_io_latency_seconds") == {
        ("SG06", "database", "read", "attached"): pytest.approx(0.0034)
    }


def test_what_counts_all_phases_is_hidden_where_the_engine_tells_them_apart() -> None:
    state = state_of(
        reading(latency("all"), NOW, 9),
        reading(latency("recovery"), NOW, 80),
        reading(latency("all", "write"), NOW, 5),
        reading(latency("all", name="SG07"), NOW, 7),
    )

    assert shown(state, "ese_io_latency_seconds") == {
        ("SG06", "database", "read", "recovery"): 0.08,
        ("SG06", "database", "write", "all"): 0.005,
        ("SG07", "database", "read", "all"): 0.007,
    }


def test_a_level_that_nobody_samples_any_more_is_absent() -> None:
    state = state_of(reading(latency("attached"), NOW, 3.4))

    assert shown(state, "ese_io_latency_seconds", NOW + 900) != {}
    assert shown(state, "ese_io_latency_seconds", NOW + 901) == {}


def test_a_level_sampled_rarely_lives_three_of_its_intervals() -> None:
    feed = latency("attached")
    state = state_of(reading(feed, NOW, 1), reading(feed, NOW + 1800, 2))

    assert shown(state, "ese_io_latency_seconds", NOW + 1800 + 5400) != {}
    assert shown(state, "ese_io_latency_seconds", NOW + 1800 + 5401) == {}


def test_the_cache_is_of_a_computer_and_a_process() -> None:
    feed = Feed(metric="ese_cache_size_bytes", owner="computer", labels=("store",), scale=2.0**20)
    state = state_of(reading(feed, NOW, 20480))

    assert shown(state, "ese_cache_size_bytes") == {("store",): 20480 * 2**20}


def test_running_totals_of_a_device_grow_from_the_first_sample_on() -> None:
    feed = Feed(
        metric="ese_device_read_seconds_total", owner="device", name="sda", scale=0.001, wraps=True
    )
    values = (2**32 - 1500, 500, 2500)
    state = state_of(
        *(reading(feed, NOW + 15 * at, value, "total") for at, value in enumerate(values))
    )

    assert shown(state, "ese_device_read_seconds_total") == {("sda",): pytest.approx(4.0)}


def test_a_total_of_64_bits_never_wraps() -> None:
    feed = Feed(metric="ese_device_reads_total", owner="device", name="sda", wraps=False)
    values = (2**32 - 1500, 500)
    state = state_of(
        *(reading(feed, NOW + 15 * at, value, "total") for at, value in enumerate(values))
    )

    assert shown(state, "ese_device_reads_total") == {("sda",): 500}


@pytest.mark.parametrize(
    ("volumes", "device"),
    [
        ({"E:": "disk 1", "C:": "disk 0"}, "disk 1"),
        ({"e:\\": "disk 1", "e:\\MDB06": "disk 2"}, "disk 2"),
        ({"e:\\mdb0": "disk 2"}, None),
        ({}, None),
    ],
)
def test_a_database_lies_on_the_device_of_its_longest_volume(
    volumes: dict[str, str], device: str | None
) -> None:
    event = Event(
        event_id=700,
        provider="ESE",
        computer="EX01",
        time=NOW,
        process="MSExchangeIS",
        database="E:\\MDB06\\priv06.edb",
    )
    state = state_of(event, VolumesSeen(time=NOW, computer="ex01", devices=volumes))

    expected = {("e:\\mdb06\\priv06.edb", device): 1.0} if device else {}
    assert shown(state, "ese_database_device_info") == expected


def test_the_configured_device_outranks_the_volumes() -> None:
    event = Event(
        event_id=700,
        provider="ESE",
        computer="EX01",
        time=NOW,
        process="MSExchangeIS",
        database="/srv/a.edb",
    )
    state = state_of(event, VolumesSeen(time=NOW, computer="ex01", devices={"/srv": "sdb"}))
    settings = Settings(databases=[DatabaseRule(match="*", device="lun7")])

    assert shown(state, "ese_database_device_info", settings=settings) == {
        ("/srv/a.edb", "lun7"): 1
    }
    assert shown(state, "ese_database_device_info") == {("/srv/a.edb", "sdb"): 1}


def test_volumes_of_a_computer_are_those_seen_last() -> None:
    seen = [
        VolumesSeen(time=NOW, computer="EX01", devices={"e:": "1"}),
        VolumesSeen(time=NOW + 1, computer="EX01", devices={"f:": "2"}),
    ]

    assert state_of(*seen).hosts["ex01"] == Host(
        computer="ex01", aliases_seen=["EX01"], volumes={"f:": "2"}
    )


def priv06(time: float = NOW) -> Event:
    return Event(
        event_id=700,
        provider="ESE",
        computer="EX01",
        time=time,
        process="MSExchangeIS",
        ese_instance="SG06",
        database="E:\\MDB06\\priv06.edb",
    )


def free_on(volume: str, value: float, time: float = NOW) -> Reading:
    feed = Feed(metric="ese_volume_free_bytes", owner="computer", labels=(volume,))
    return reading(feed, time, value)


def test_free_space_is_exposed_as_that_of_the_logs_and_of_nothing_else() -> None:
    settings = Settings(databases=[DatabaseRule(match="*", log_path="L:\\SG06")])
    state = state_of(priv06(), free_on("l:", 5e9), free_on("e:", 6e9), settings=settings)

    assert shown(state, "ese_log_disk_free_bytes", settings=settings) == {("SG06",): 5e9}
    assert shown(state, "ese_volume_free_bytes", settings=settings) == {}
    assert shown(state, "ese_log_disk_free_bytes") == {}


def test_free_space_that_nobody_samples_any_more_is_absent() -> None:
    settings = Settings(databases=[DatabaseRule(match="*", log_path="L:\\SG06")])
    state = state_of(
        priv06(), free_on("l:", 5e9), free_on("l:", 4e9, NOW + 1800), settings=settings
    )
    late = NOW + 1800 + 3 * 1800

    assert shown(state, "ese_log_disk_free_bytes", late, settings) == {("SG06",): 4e9}
    assert shown(state, "ese_log_disk_free_bytes", late + 1, settings) == {}
