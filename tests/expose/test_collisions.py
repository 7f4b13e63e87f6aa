"""Scans on the same disks at the same time."""

from collections.abc import Mapping

import msgspec
import pytest

from esewatch.advice.findings.scan_collisions import NAMED, colliding_scans, scans_in
from esewatch.config import DatabaseRule, Settings, default_settings
from esewatch.expose.pages.overview import DatabaseFigures, overview
from esewatch.fold.passes.transitions import pack
from esewatch.fold.state.state import Database, Host, Instance, State, Transition

NOW = 1_000_000.0
Night = tuple[float, float | None]
"""Seconds before NOW at which a scan began and ended; None: it goes on."""


def database(name: str, *nights: Night, computer: str = "ex01", end: int = 725) -> Database:
    events: list[Transition] = []
    for begin, until in nights:
        events.append(Transition(NOW - begin, len(events), 719))
        if until is not None:
            events.append(Transition(NOW - until, len(events), end))
    return Database(
        computer=computer,
        database=f"e:\\{name}.edb",
        ese_instance=name,
        first_seen=NOW - 1e6,
        last_seen=NOW,
        maintenance_seen=True,
        transitions=pack(events),
    )


def state_of(*databases: Database) -> State:
    return State(databases={(each.computer, each.database): each for each in databases})


def settings_of(devices: Mapping[str, str | None], model: str = "window") -> Settings:
    rules = [
        DatabaseRule(match=f"*\\{name}.edb", model=model, device=device)  # type: ignore[arg-type]
        for name, device in devices.items()
    ]
    return msgspec.structs.replace(default_settings(), databases=rules)


SAME = settings_of({"a": "lun7", "b": "lun7", "c": "lun7"})


def names(state: State, settings: Settings = SAME) -> dict[str, tuple[str, ...]]:
    found = colliding_scans(scans_in(state, settings), NOW)
    return {database[3]: others for (_, database), others in found.items()}


def test_two_scans_of_one_night_on_one_device_collide() -> None:
    state = state_of(database("a", (3600, 1800)), database("b", (3000, 1200)))
    assert names(state) == {"a": ("b",), "b": ("a",)}


def test_scans_one_after_the_other_do_not_collide_nor_do_those_that_only_touch() -> None:
    after = state_of(database("a", (3600, 1800)), database("b", (1800, 600)))
    touching = state_of(database("a", (3600, 1800)), database("b", (1900, 600)))
    assert names(after) == {}
    assert names(touching) == {}


def test_the_days_between_two_runs_of_one_pass_are_no_scan() -> None:
    state = state_of(
        database("a", (200_000, 190_000), (30_000, 20_000)), database("b", (120_000, 110_000))
    )
    assert names(state) == {}


def test_what_was_moved_apart_since_collides_no_more() -> None:
    state = state_of(
        database("a", (200_000, 190_000), (30_000, 20_000)),
        database("b", (200_000, 190_000), (15_000, 9_000)),
    )
    assert names(state) == {}


def test_scans_at_work_collide_and_stale_ones_do_not() -> None:
    state = state_of(database("a", (600, None)), database("b", (500, None)))
    long_ago = state_of(database("a", (900_000, None)), database("b", (900_000, None)))
    assert names(state) == {"a": ("b",), "b": ("a",)}
    assert names(long_ago) == {}


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(settings_of({"a": None, "b": None}), id="devices unknown"),
        pytest.param(settings_of({"a": "lun7", "b": "lun8"}), id="two devices"),
        pytest.param(settings_of({"a": "lun7", "b": "lun7"}, "background"), id="no windows"),
    ],
)
def test_without_a_shared_device_and_windows_nothing_is_said(settings: Settings) -> None:
    state = state_of(database("a", (3600, 1800)), database("b", (3600, 1800)))
    assert names(state, settings) == {}


def test_a_device_of_the_same_name_on_another_computer_is_another_one() -> None:
    state = state_of(database("a", (3600, 1800)), database("b", (3600, 1800), computer="ex02"))
    assert names(state) == {}


def test_devices_of_one_pool_share_their_disks() -> None:
    settings = msgspec.structs.replace(
        settings_of({"a": "lun7", "b": "lun8"}), pools={"array1": ["lun7", "lun8"]}
    )
    state = state_of(database("a", (3600, 1800)), database("b", (3600, 1800)))
    assert names(state, settings) == {"a": ("b",), "b": ("a",)}


def test_the_device_may_come_from_the_volumes_of_the_computer() -> None:
    state = state_of(database("a", (3600, 1800)), database("b", (3600, 1800)))
    state.hosts["ex01"] = Host(computer="ex01", volumes={"e:": "disk3"})
    assert names(state, settings_of({"a": None, "b": None})) == {"a": ("b",), "b": ("a",)}


def test_a_stop_of_the_instance_ends_its_scan() -> None:
    state = state_of(database("a", (3600, None)), database("b", (1800, 600)))
    state.instances["ex01", "a"] = Instance(
        computer="ex01", ese_instance="a", life=[(NOW - 3000, 0, 103)]
    )
    assert names(state) == {}


def test_of_many_others_some_are_named() -> None:
    many = [*"abcdefghi"]
    state = state_of(*(database(name, (3600, 1800)) for name in many))
    found = names(state, settings_of(dict.fromkeys(many, "lun7")))
    assert {len(others) for others in found.values()} == {NAMED}


def figures(state: State) -> DatabaseFigures:
    return next(each for each in overview(state, SAME, NOW).databases if each.name == "a")


def test_a_collision_is_a_reason_to_look() -> None:
    state = state_of(
        database("a", (3600, 1800), end=721), database("b", (3600, 1800)), database("c")
    )
    found = figures(state)
    assert found.collisions == ("b",)
    assert any("scanned at the same time as b on the same disks" in each for each in found.reasons)
    assert found.status == "attention"


def test_the_interruptions_of_an_open_pass_are_told_and_not_held_against_it() -> None:
    state = state_of(database("a", (9000, 8000), (3600, 1800)))
    state.databases["ex01", "e:\\a.edb"].verified = {"external": NOW}
    found = figures(state)
    assert found.interrupted == {"checksum": 2}
    assert (found.status, found.reasons) == ("ok", ())
    state.databases["ex01", "e:\\a.edb"] = database("a", (9000, 8000), (600, 500), end=721)
    assert figures(state).interrupted == {}
