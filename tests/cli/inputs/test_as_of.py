"""As of when logs that end at different times are judged."""

from esewatch.cli.inputs.reading import as_of
from esewatch.fold.state.database_state import Untimed
from esewatch.fold.state.state import BackupSet, CounterState, Database, Host, Instance, State

DAY = 86400.0


def test_computers_whose_logs_end_together_are_judged_together() -> None:
    ends = {"a": 100 * DAY, "b": 100.5 * DAY, "c": 300 * DAY, "d": 900 * DAY}
    state = State(
        databases={
            (name, "x"): Database(computer=name, database="x", last_seen=end)
            for name, end in ends.items()
        }
    )
    groups = list(as_of(state, 800 * DAY))

    assert [(each.computers, each.time / DAY) for each in groups] == [
        (("a", "b"), 100.5),
        (("c",), 300),
        (("d",), 800),
    ]
    assert [sorted(each.state.databases) for each in groups] == [
        [("a", "x"), ("b", "x")],
        [("c", "x")],
        [("d", "x")],
    ]


def test_logs_collected_over_several_days_are_not_all_judged_as_of_the_last() -> None:
    """No computer is judged more than a day after its last record."""
    ends = {"a": 100.0, "b": 100.8, "c": 101.6, "d": 102.4, "e": 103.2}
    state = State(
        databases={
            (name, "x"): Database(computer=name, database="x", last_seen=end * DAY)
            for name, end in ends.items()
        }
    )
    groups = list(as_of(state, 800 * DAY))

    assert [(each.computers, each.time / DAY) for each in groups] == [
        (("a", "b"), 100.8),
        (("c", "d"), 102.4),
        (("e",), 103.2),
    ]


def test_samples_within_a_day_of_the_last_event_move_the_moment() -> None:
    def ended(days: float) -> float:
        column = CounterState(last_time=days * DAY, last_value=0.0)
        instance = Instance(computer="a", ese_instance="x", counters={"column": column})
        entry = Database(computer="a", database="x", last_seen=100 * DAY)
        state = State(databases={("a", "x"): entry}, instances={("a", "x"): instance})
        (group,) = as_of(state, 800 * DAY)
        return group.time / DAY

    assert [ended(days) for days in (90, 100.5, 101, 130)] == [100, 100.5, 101, 100]


def test_an_event_that_names_no_database_is_the_last_record_too() -> None:
    """The end of a streaming backup (213) comes after the last file, and proves it."""
    entry = Database(computer="a", database="x", last_seen=100 * DAY)
    state = State(
        databases={("a", "x"): entry}, hosts={"a": Host(computer="a", last_heard=101 * DAY)}
    )
    (group,) = as_of(state, 800 * DAY)
    assert group.time == 101 * DAY


def test_what_has_no_time_is_judged_as_of_now() -> None:
    dated = Database(computer="b", database="x", last_seen=100 * DAY)
    undated = Database(
        computer="a", database="x", last_seen=800 * DAY, untimed=Untimed(events={703: 1})
    )
    state = State(databases={("a", "x"): undated, ("b", "x"): dated})
    groups = list(as_of(state, 800 * DAY))

    assert [(each.computers, each.time / DAY, each.dated) for each in groups] == [
        (("b",), 100, True),
        (("a",), 800, False),
    ]


def test_a_computer_of_which_only_backups_are_known_ends_with_the_last() -> None:
    done = BackupSet(100 * DAY, 99 * DAY, "sg", "ntbackup", 1.0, DAY)
    state = State(hosts={"a": Host(computer="a", backup_sets=[done])})
    (group,) = as_of(state, 800 * DAY)
    assert (group.computers, group.time / DAY) == (("a",), 100)
