"""Hidden counters: one set of commands for all computers that need the same."""

from esewatch.config import default_settings
from esewatch.expose.pages.overview import overview
from esewatch.expose.pages.problems.problems import MAX_NAMED, Hidden, grouped
from esewatch.fold.state.state import Database, Host, State
from tests.expose.examples import NOW

OLD, SCAN = "Online Defrag", "Database Maintenance"


def hidden(computer: str, *counters: str, provider: str = "ESE") -> State:
    return State(
        hosts={computer: Host(computer=computer, counters_present=dict.fromkeys(counters, False))},
        databases={
            (computer, "x"): Database(computer=computer, database="x", provider=provider),
        },
    )


def of(state: State) -> tuple[Hidden, ...]:
    return overview(state, default_settings(), NOW).hidden


def test_the_library_is_that_of_the_databases_of_the_computer() -> None:
    (exchange,) = grouped(of(hidden("ex01", OLD)))
    (directory,) = grouped(of(hidden("dc01", OLD, provider="NTDS ISAM")))
    assert [each.whose for each in exchange.commands] == ["Exchange"]
    assert [each.whose.split()[0] for each in directory.commands] == ["Active"]


def test_where_no_database_is_known_both_libraries_have_their_commands() -> None:
    state = hidden("ex01", OLD, SCAN)
    state.databases.clear()
    (group,) = grouped(of(state))
    assert len(group.commands) == 2
    assert [proof.what for proof in group.commands[0].proofs] == [
        SCAN,
        f"{SCAN}, Exchange 2007",
        OLD,
    ]


def test_a_farm_has_one_group_for_what_is_the_same_everywhere() -> None:
    many = [
        Hidden(computer=f"ex{number}", counters=(OLD,), libraries=("ESE",)) for number in range(500)
    ]
    other = Hidden(computer="dc01", counters=(OLD,), libraries=("ESENT",))
    first, second = grouped([*many, other])
    assert (len(first.computers), first.more) == (MAX_NAMED, 500 - MAX_NAMED)
    assert (second.computers, second.more) == (("dc01",), 0)


def test_a_counter_without_a_known_command_is_named_alone() -> None:
    (group,) = grouped([Hidden(computer="ex01", counters=("x & del",), libraries=("ESE",))])
    assert group.counters == ("x & del",)
    assert group.commands == ()
