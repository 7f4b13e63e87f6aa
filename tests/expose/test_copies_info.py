"""`ese_database_copies_info`: what rules join the copies of a database by."""

from typing import Any

import pytest

from esewatch.config import CopyOf, DatabaseRule, Settings
from esewatch.expose.metrics.families import families
from esewatch.expose.pages.overview import overview
from esewatch.fold.state.state import Database, State

PATH = "e:\\mdb06\\priv06.edb"
NOW = 1_182_900_000.0


def store(computer: str = "ex01", database: str = PATH, **traits: Any) -> Database:
    """A database of Exchange, active unless the test says otherwise."""
    owner = {"provider": "ESE", "process": "Information Store", "ese_instance": "SG06"}
    return Database(
        computer=computer,
        database=database,
        maintenance_seen=True,
        **{**owner, "role": "active", **traits},
    )


def told(*databases: Database, settings: Settings | None = None) -> dict[str, str]:
    """By computer what its database is a copy of."""
    state = State(databases={(each.computer, each.database): each for each in databases})
    found = families(state, settings or Settings(), NOW)
    samples = [each for family in found for each in family.samples]
    return {
        each.labels["computer"]: each.labels["copies_of"]
        for each in samples
        if each.name == "ese_database_copies_info" and each.value == 1
    }


BACKGROUND = Settings(databases=[DatabaseRule(match="*", model="background")])


def test_agents_of_two_servers_tell_the_same_of_their_copies() -> None:
    active, passive = store(), store("ex02", role="passive")
    shared = f"sg06 at {PATH}"
    assert told(active, passive, settings=BACKGROUND) == {"ex01": shared, "ex02": shared}
    assert told(active, settings=BACKGROUND) == {"ex01": shared}
    assert told(passive, settings=BACKGROUND) == {"ex02": shared}


def test_a_copy_tells_the_same_before_and_after_a_failover() -> None:
    told_in = [told(store(role=role), settings=BACKGROUND) for role in ("active", "passive")]
    assert told_in[0] == told_in[1] != {}


@pytest.mark.parametrize("model", ["garbage_collection", "application"])
def test_of_what_does_not_replicate_there_is_none(model: Any) -> None:
    settings = Settings(databases=[DatabaseRule(match="*", model=model, name="ntds")])
    assert told(store(), store("dc02"), settings=settings) == {}


def test_of_an_unknown_role_there_is_none_until_it_is_configured() -> None:
    copies = [CopyOf(computer="ex02", database="f:\\db.edb")]
    rule = DatabaseRule(match="*", copies=copies)
    assert told(store(role=""), settings=Settings(databases=[rule])) == {}
    rule = DatabaseRule(match="*", copies=copies, role="passive")
    shared = f"copies of {PATH} on ex01"
    assert told(store(role=""), settings=Settings(databases=[rule])) == {"ex01": shared}


def test_a_copy_that_another_one_names_tells_the_same() -> None:
    rule = DatabaseRule(
        match=PATH, computer="ex02", copies=[CopyOf(computer="ex01", database="f:\\db.edb")]
    )
    named = store("ex01", "f:\\db.edb", role="passive")
    shared = "copies of f:\\db.edb on ex01"
    found = told(store("ex02"), named, settings=Settings(databases=[rule]))
    assert found == {"ex01": shared, "ex02": shared}


def problems(rule: DatabaseRule) -> set[str]:
    databases = [store(role="", last_seen=NOW), store("ex02", role="", last_seen=NOW)]
    state = State(databases={(each.computer, each.database): each for each in databases})
    return {each.problem for each in overview(state, Settings(databases=[rule]), NOW).problems}


def test_a_role_is_asked_for_where_a_name_makes_copies_of_databases() -> None:
    named = DatabaseRule(match="*", name="mdb06", model="background")
    assert "copy_role_unknown" in problems(named)
    for changes in ({"role": "active"}, {"model": "garbage_collection"}, {"name": None}):
        rule = {"match": "*", "name": "mdb06", "model": "background"} | changes
        assert "copy_role_unknown" not in problems(DatabaseRule(**rule))
