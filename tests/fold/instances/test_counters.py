"""The volumes that logs are on: which are kept, and whose they are."""

from typing import Any

import pytest

from esewatch.config import DatabaseRule, Settings
from esewatch.ese.volumes import NOT_KNOWN, free_space
from esewatch.fold.folder import Folder
from esewatch.fold.instances.counters import log_disks, volume_levels
from esewatch.fold.state.state import State
from esewatch.model import Batch, Reading, Record
from tests.support.records import EPOCH, event

GIGABYTE = 2.0**30


def free(volume: str, value: float, time: float = 0.0, computer: str = "EX01") -> Reading:
    feed = free_space(volume)
    assert feed is not None
    return Reading(
        time=EPOCH + time,
        computer=computer,
        object="LogicalDisk",
        counter="Free Megabytes",
        instance=volume,
        value=value,
        kind="level",
        feed=feed,
    )


def logs_on(*paths: str, **more: Any) -> Settings:
    """Rules of priv06, priv07 and so on, each with its `log_path`."""
    rules = [
        DatabaseRule(match=f"*priv0{number}.edb", log_path=path, **more)
        for number, path in enumerate(paths, 6)
    ]
    return Settings(databases=rules)


def folded(settings: Settings, *records: Record) -> State:
    folder = Folder(State(), settings)
    folder.open_source("s", EPOCH)
    folder.fold("s", Batch(records=list(records)))
    return folder.state


def test_an_instance_has_the_free_space_of_the_volume_of_its_logs() -> None:
    settings = logs_on("L:\\SG06")
    state = folded(settings, event(700, 0.0), free("L:", GIGABYTE), free("E:", 5.0))

    assert log_disks(state, settings, EPOCH) == {("ex01", "SG06"): GIGABYTE}


def test_only_volumes_that_may_hold_logs_are_kept() -> None:
    settings = logs_on("C:\\Mounts\\SG06\\logs")
    volumes = ("C:", "C:\\Mounts\\SG06", "C:\\Mounts\\SG07", "E:", "/")
    state = folded(settings, *(free(volume, 1.0) for volume in volumes))

    assert volume_levels(state.hosts["ex01"]).keys() == {"c:", "c:\\mounts\\sg06"}
    assert state.hosts["ex01"].levels.keys() == {
        "ese_volume_free_bytes\x1fc:",
        "ese_volume_free_bytes\x1fc:\\mounts\\sg06",
    }


def test_without_a_path_of_logs_nothing_is_kept_and_nothing_said() -> None:
    settings = Settings(databases=[DatabaseRule(match="*")])
    state = folded(settings, event(700, 0.0), free("L:", 1.0))

    assert state.hosts["ex01"].levels == {}
    assert log_disks(state, settings, EPOCH) == {}


def test_a_rule_of_another_computer_keeps_nothing() -> None:
    settings = logs_on("L:\\SG06", computer="ex02")
    state = folded(
        settings, event(700, 0.0), free("L:", 1.0), free("L:", 2.0, computer="EX02.example")
    )

    assert volume_levels(state.hosts["ex01"]) == {}
    assert volume_levels(state.hosts["ex02"]).keys() == {"l:"}
    assert log_disks(state, settings, EPOCH) == {}


@pytest.mark.parametrize("order", [1, -1])
def test_the_longest_volume_counts_whatever_comes_first(order: int) -> None:
    settings = logs_on("C:\\Mounts\\SG06\\logs")
    both = [free("C:\\", 100.0), free("C:\\Mounts\\SG06\\", 7.0)]
    state = folded(settings, event(700, 0.0), *both[::order])

    assert log_disks(state, settings, EPOCH) == {("ex01", "SG06"): 7.0}


def test_a_mount_point_that_is_silent_is_not_replaced_by_the_drive_around_it() -> None:
    settings = logs_on("C:\\Mounts\\SG06\\logs")
    state = folded(
        settings,
        event(700, 0.0),
        free("C:\\Mounts\\SG06", 7.0),
        free("C:", 100.0),
        free("C:", 100.0, 1000.0),
    )

    assert log_disks(state, settings, EPOCH + 900) == {("ex01", "SG06"): 7.0}
    assert log_disks(state, settings, EPOCH + 1000) == {}


@pytest.mark.parametrize("value", [NOT_KNOWN, -1e300])
def test_a_volume_that_does_not_tell_its_free_space_is_not_known(value: float) -> None:
    settings = logs_on("/srv/logs")
    state = folded(settings, event(700, 0.0), free("/", 100.0), free("/srv/logs", value))

    assert log_disks(state, settings, EPOCH) == {}


def test_what_is_no_number_leaves_what_was_known() -> None:
    settings = logs_on("L:\\SG06")
    state = folded(
        settings,
        event(700, 0.0),
        free("L:", 5.0),
        free("L:", float("nan"), 15.0),
        free("L:", float("inf"), 30.0),
    )

    assert log_disks(state, settings, EPOCH + 30) == {("ex01", "SG06"): 5.0}


def test_a_full_volume_is_told() -> None:
    settings = logs_on("L:\\SG06")
    state = folded(settings, event(700, 0.0), free("L:", 0.0))

    assert log_disks(state, settings, EPOCH) == {("ex01", "SG06"): 0.0}


def test_databases_of_one_instance_on_one_volume_are_one() -> None:
    settings = logs_on("L:\\SG06", "L:\\SG06\\")
    other = event(700, 1.0, database="E:\\MDB06\\priv07.edb")
    state = folded(settings, event(700, 0.0), other, free("L:", 5.0))

    assert log_disks(state, settings, EPOCH) == {("ex01", "SG06"): 5.0}


@pytest.mark.parametrize("second", ["M:\\SG06", "N:\\SG06"])
def test_an_instance_that_is_said_to_log_to_two_volumes_has_none(second: str) -> None:
    settings = logs_on("L:\\SG06", second)
    other = event(700, 1.0, database="E:\\MDB06\\priv07.edb")
    state = folded(settings, event(700, 0.0), other, free("L:", 5.0), free("M:", 6.0))

    assert log_disks(state, settings, EPOCH) == {}


def test_a_database_without_an_instance_has_that_of_its_process() -> None:
    settings = logs_on("L:\\SG06")
    state = folded(settings, event(700, 0.0, ese_instance=""), free("L:", 5.0))

    assert log_disks(state, settings, EPOCH) == {("ex01", "MSExchangeIS"): 5.0}


def test_the_instance_is_spelled_as_its_counters_are() -> None:
    settings = logs_on("L:\\SG06")
    state = folded(settings, event(700, 0.0), free("L:", 5.0))
    state.databases["ex01", "e:\\mdb06\\priv06.edb"].ese_instance = "sg06"

    assert log_disks(state, settings, EPOCH) == {("ex01", "SG06"): 5.0}


def test_an_ignored_database_has_no_log_disk() -> None:
    settings = logs_on("L:\\SG06", tier="ignored")
    damaged = event(474, 0.0, fields={"page_number": 17})
    state = folded(settings, damaged, free("L:", 5.0))

    assert state.databases
    assert log_disks(state, settings, EPOCH) == {}
