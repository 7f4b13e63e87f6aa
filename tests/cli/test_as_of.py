"""As of when logs that end at different times are judged."""

from esewatch.cli.as_of import as_of
from esewatch.fold.state import CounterState, Database, Instance, State

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


def test_samples_count_for_a_day_after_the_last_event() -> None:
    def ended(days: float) -> float:
        column = CounterState(last_time=days * DAY, last_value=0.0)
        instance = Instance(computer="a", ese_instance="x", counters={"column": column})
        entry = Database(computer="a", database="x", last_seen=100 * DAY)
        state = State(databases={("a", "x"): entry}, instances={("a", "x"): instance})
        (group,) = as_of(state, 800 * DAY)
        return group.time / DAY

    assert [ended(days) for days in (90, 100.5, 101, 130)] == [100, 100.5, 101, 101]
