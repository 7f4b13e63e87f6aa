"""Which databases are copies of one another, and whether roles tell them apart."""

from typing import Any

import pytest

from esewatch.advice.history.copies import Member, comparable, copies_of, member_of
from esewatch.config import CopyOf, DatabaseRule, Settings
from esewatch.fold.state.state import Database

PATH = "e:\\mdb06\\priv06.edb"


def member(**changes: Any) -> Member:
    base = {"computer": "ex01", "database": PATH, "name": "SG06", "model": "window", "role": ""}
    return Member(**(base | changes))


def test_by_name_copies_have_the_same_path() -> None:
    members = [member(), member(computer="ex02", name="sg06"), member(database="f:\\other.edb")]
    assert copies_of(members) == [f"sg06 at {PATH}", f"sg06 at {PATH}", "sg06 at f:\\other.edb"]


def test_by_a_configured_name_copies_have_any_path_and_none_of_other_databases() -> None:
    members = [
        member(named=True, name="MDB06"),
        member(named=True, name="mdb06", database="f:\\other.edb"),
        member(name="mdb06"),
    ]
    assert copies_of(members) == ["mdb06", "mdb06", f"mdb06 at {PATH}"]


def test_a_snapshot_is_no_copy_even_where_its_name_is_configured() -> None:
    shadow = "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy7\\MDB06\\priv06.edb"
    assert copies_of([member(named=True, database=shadow)]) == [None]


@pytest.mark.parametrize("model", ["garbage_collection", "application"])
def test_what_does_not_replicate_is_a_copy_only_where_it_is_configured(model: str) -> None:
    assert copies_of([member(model=model, named=True)]) == [None]
    configured = member(model=model, copies=[("ex02", PATH)])
    assert copies_of([configured]) == [f"copies of {PATH} on ex01"]


def test_agents_that_know_one_server_each_say_the_same_as_one_that_knows_all() -> None:
    others = [("ex01", PATH), ("ex02", "f:\\db.edb"), ("ex03", "g:\\db.edb")]
    members = [
        member(
            computer=computer,
            database=database,
            copies=[each for each in others if each[0] != computer],
        )
        for computer, database in others
    ]
    together = copies_of(members)
    assert together == [copies_of([each])[0] for each in members]
    assert together == [f"copies of {PATH} on ex01"] * 3
    named = [member(), member(computer="ex02"), member(model="application")]
    assert copies_of(named) == [copies_of([each])[0] for each in named]


def test_a_role_that_is_unknown_or_changes_makes_no_other_copy_of_it() -> None:
    roles = [copies_of([member(role=role)]) for role in ("", "active", "passive")]
    assert roles == [[f"sg06 at {PATH}"]] * 3


def test_copies_are_compared_where_roles_tell_them_apart() -> None:
    active, passive = member(role="active"), member(computer="ex02", role="passive")
    assert comparable([active, passive])
    assert not comparable([active, passive, member(computer="ex03")])
    assert not comparable([active, member(computer="ex02", role="active")])
    assert not comparable([active, member(database="f:\\other.edb", role="passive")])


def test_what_is_known_of_a_database_comes_from_its_rule_and_its_events() -> None:
    database = Database(
        computer="ex01", database=PATH, ese_instance="SG06", role="passive", process="MSExchangeIS"
    )
    found = member_of(database, Settings())
    assert (found.name, found.named, found.copies, found.role) == ("SG06", False, [], "passive")
    rule = DatabaseRule(
        match="*",
        name="mdb06",
        model="background",
        copies=[
            CopyOf(computer="EX02.corp.example", database="F:\\DB.edb"),
            CopyOf(computer="ex03", database="\\\\?\\HarddiskVolumeShadowCopy7\\db.edb"),
        ],
    )
    found = member_of(database, Settings(databases=[rule]))
    assert (found.name, found.named, found.model) == ("mdb06", True, "background")
    assert found.copies == [("ex02", "f:\\db.edb")]
