"""Which databases of an instance are attached, as its events tell."""

import pytest

from esewatch.advice.history.attached import attached
from esewatch.fold.passes.transitions import pack
from esewatch.fold.state.state import Database, Transition

OLD, MOVED, RENAMED = "e:\\mdb06\\priv06.edb", "f:\\mdb06\\priv06.edb", "f:\\mdb06\\new.edb"
DETACHED = 327


def seen(database: str, first: float, last: float, *events: int) -> Database:
    entry = Database(computer="ex01", database=database, ese_instance="SG06")
    entry.first_seen, entry.last_seen = first, last
    entry.transitions = pack(Transition(last, 0, each) for each in events)
    return entry


def of_instance(*databases: Database) -> set[str]:
    return attached(databases)["ex01", "sg06"]


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
    assert of_instance(*stopped) == {OLD, RENAMED}


def test_another_instance_says_nothing_of_it() -> None:
    elsewhere = seen(MOVED, 200, 300)
    elsewhere.ese_instance = "SG07"
    assert of_instance(seen(OLD, 0, 100, DETACHED), elsewhere) == {OLD}
