"""Which databases of an instance are attached, as its events tell."""

import pytest

from esewatch.advice.history.history import Members, members
from esewatch.fold.passes.transitions import name_number, pack
from esewatch.fold.state.state import Database, Instance, Transition

OLD, MOVED, RENAMED = "e:\\mdb06\\priv06.edb", "f:\\mdb06\\priv06.edb", "f:\\mdb06\\new.edb"
ATTACHED, DETACHED = 326, 327
OF_LIFE: dict[str, int | float] = {"instance": name_number("SG06")}


def seen(database: str, first: float, last: float, *events: int) -> Database:
    entry = Database(computer="ex01", database=database, ese_instance="SG06")
    entry.first_seen, entry.last_seen = first, last
    told = dict.fromkeys((ATTACHED, DETACHED), OF_LIFE)
    entry.transitions = pack(Transition(last, 0, each, told.get(each, {})) for each in events)
    return entry


def known(*databases: Database, stopped: float | None = None) -> Members:
    life = [(stopped, 0, 103)] if stopped is not None else []
    instance = Instance(computer="ex01", ese_instance="SG06", life=life)
    return members(databases, {("ex01", "sg06"): instance})["ex01", "sg06"]


def of_instance(*databases: Database) -> set[str]:
    return known(*databases).attached


@pytest.mark.parametrize("moved", [MOVED, "/srv/mdb06/priv06.edb"])
def test_one_whose_file_name_is_seen_elsewhere_after_its_last_event_was_moved(moved: str) -> None:
    assert of_instance(seen(OLD, 0, 100, 703), seen(moved, 200, 300)) == {moved}


def test_of_several_moves_the_last_path_is_attached_and_a_path_can_be_taken_again() -> None:
    paths = [seen(OLD, 0, 100), seen(MOVED, 200, 300), seen("g:\\priv06.edb", 400, 500)]
    assert of_instance(*paths) == {"g:\\priv06.edb"}
    paths[0].last_seen = 600
    assert of_instance(*paths) == {OLD, "g:\\priv06.edb"}


def test_one_that_was_detached_before_another_was_first_seen_is_not_attached() -> None:
    later = seen(RENAMED, 200, 300)
    assert of_instance(seen(OLD, 0, 100, 703, DETACHED), later) == {RENAMED}
    assert of_instance(seen(OLD, 0, 100, 703), later) == {OLD, RENAMED}


def test_databases_that_were_seen_beside_each_other_are_attached() -> None:
    assert of_instance(seen(OLD, 0, 250), seen(MOVED, 200, 300)) == {OLD, MOVED}
    stopped = (seen(OLD, 0, 300, DETACHED), seen(RENAMED, 0, 300, DETACHED))
    assert known(*stopped, stopped=301).attached == {OLD, RENAMED}
    assert known(*stopped) == Members(set(), set())


def test_one_that_was_detached_was_moved_where_its_file_name_is_attached_elsewhere_later() -> None:
    before = seen(MOVED, 50, 400, ATTACHED)
    assert known(seen(OLD, 0, 300, DETACHED), before) == Members({MOVED}, {OLD})
    assert known(seen(OLD, 0, 300, 703), before) == Members({OLD, MOVED}, set())
    assert known(seen(OLD, 0, 300, DETACHED), seen(MOVED, 50, 400, 703)).moved == set()


def test_one_whose_instance_stopped_was_moved_and_one_that_went_silent_may_be_due() -> None:
    later = seen(MOVED, 200, 300, 703)
    assert known(seen(OLD, 0, 100, 703), later, stopped=150) == Members({MOVED}, {OLD})
    assert known(seen(OLD, 0, 100, 703), later) == Members({MOVED}, set())
    assert known(seen(OLD, 0, 100, 703), later, stopped=90) == Members({MOVED}, set())


def test_another_instance_says_nothing_of_it() -> None:
    elsewhere = seen(MOVED, 200, 300)
    elsewhere.ese_instance = "SG07"
    assert known(seen(OLD, 0, 100, 703), elsewhere) == Members({OLD}, set())
