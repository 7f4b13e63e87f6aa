"""What is shown of groups of computers: as it would be of all, made no more often than needed."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from esewatch.advice import advise as advising
from esewatch.advice.advise import Judged, advise
from esewatch.advice.history.history import History
from esewatch.advice.judgement import Judgement
from esewatch.config import DatabaseRule, Policy, Settings, default_settings
from esewatch.daemon import shown_groups
from esewatch.daemon.shown_groups import MOST, OLD_SECONDS, ShownGroups
from esewatch.fold.commands import acknowledge
from esewatch.fold.folder import Folder
from esewatch.fold.passes.transitions import pack
from esewatch.fold.state.state import BadPage, Damage, Database, Instance, State, Transition
from tests.advice.histories import NOON, passes, store
from tests.expose.examples import DAY, NOW, PRIV03, PRIV06, SEARCH, example

SETTINGS = default_settings()


@pytest.fixture(name="judged")
def _judged(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    """The databases judged, in order; of what moves with time a judgement is made twice."""
    asked: list[tuple[str, str]] = []

    def judge(of: History, policy: Policy, now: float, held: float) -> Judged:
        if (key := (of.computer, of.database)) not in asked:
            asked.append(key)
        return advising.judge(of, policy, now, held)

    monkeypatch.setattr(shown_groups, "judge", judge)
    yield asked


def small(number: int) -> Database:
    return Database(
        computer="ex01",
        database=f"e:\\{number:04}.edb",
        process="MSExchangeIS",
        provider="ESE",
        first_seen=NOW - DAY,
        last_seen=NOW - 60,
        maintenance_seen=True,
        transitions=pack([Transition(NOW - 60, 1, 700)]),
    )


def fleet(count: int) -> State:
    made = [small(number) for number in range(count)]
    return State(databases={(each.computer, each.database): each for each in made})


def advised(
    groups: ShownGroups, state: State, settings: Settings, now: float
) -> tuple[Judgement, ...]:
    """The advice of one snapshot; any database may have changed."""
    groups.show(state, settings, now, [("database", *key) for key in state.databases])
    advice = [each for shown in groups.groups.values() for each in shown.advice]
    return tuple(sorted(advice, key=lambda each: (each.computer, each.database)))


def test_it_says_what_advise_says() -> None:
    assert advised(ShownGroups(), example(), SETTINGS, NOW) == advise(example(), SETTINGS, NOW)


def test_nothing_is_judged_twice_while_nothing_happens(judged: list[tuple[str, str]]) -> None:
    found, state = ShownGroups(), example()
    advised(found, state, SETTINGS, NOW + 2.5)
    assert sorted(judged) == sorted(state.databases)
    judged.clear()
    advised(found, state, SETTINGS, NOW + 3)
    assert judged == []


def test_grown_counters_are_judged_after_a_while(judged: list[tuple[str, str]]) -> None:
    found, state = ShownGroups(), State(databases={PRIV06: replace(small(6), database=PRIV06[1])})
    (entry,) = state.databases.values()
    entry.ese_instance = "SG06"
    instance = state.instances["ex01", "sg06"] = Instance(computer="ex01", ese_instance="SG06")
    advised(found, state, SETTINGS, NOW + 0.5)
    judged.clear()
    instance.totals["ese_defrag_pages_read_total"] = 1.0
    advised(found, state, SETTINGS, NOW + 1)
    assert judged == []
    advised(found, state, SETTINGS, NOW + 0.5 + OLD_SECONDS)
    assert judged == [PRIV06]


def test_what_it_remembers_of_a_database_does_not_grow_with_its_history() -> None:
    def remembered(nights: int) -> str:
        done = passes(2, 1, count=nights // 2)
        of = store(nights=nights, defrag_passes=done, checksum_passes=done)
        judged = advising.judge(of, Policy(), NOON, NOON)
        return repr((judged.history, judged.copy))

    assert len(remembered(360)) < len(remembered(60)) + 50


def test_a_clock_that_was_set_back_does_not_keep_old_advice(
    judged: list[tuple[str, str]],
) -> None:
    found, state = ShownGroups(), example()
    advised(found, state, SETTINGS, NOW)
    judged.clear()
    advised(found, state, SETTINGS, NOW - DAY)
    assert sorted(judged) == sorted(state.databases)


def test_a_database_with_news_is_judged_at_once_and_alone(judged: list[tuple[str, str]]) -> None:
    found, state = ShownGroups(), example()
    advised(found, state, SETTINGS, NOW)
    judged.clear()
    state.databases[PRIV06].transitions = pack([Transition(NOW - 1, 1, 700)])
    state.databases[PRIV03].bad_pages = [
        BadPage(page=1, kind="corrected", first=NOW - 1, last=NOW - 1)
    ]
    assert advised(found, state, SETTINGS, NOW) == advise(state, SETTINGS, NOW)
    assert sorted(judged) == [PRIV06, PRIV03]


def test_a_database_that_its_copy_reports_of_is_judged_at_once() -> None:
    found, settings = ShownGroups(), SETTINGS
    active, passive = small(1), replace(small(1), computer="ex02")
    state = State(databases={(each.computer, each.database): each for each in (active, passive)})
    advised(found, state, settings, NOW)
    # 540: the two differ, and which of them is wrong is not known.
    passive.damage["suspect"] = passive.damage_of_active["suspect"] = Damage(1, [NOW], [540])

    for each in advised(found, state, settings, NOW + 60):
        assert "copy_suspect" in {finding.finding for finding in each.findings}


@pytest.mark.parametrize("named", [[1], []])
def test_a_database_whose_errors_are_acknowledged_is_judged_at_once(named: list[int]) -> None:
    found, state = ShownGroups(), State(databases={PRIV06: replace(small(6), database=PRIV06[1])})
    folder = Folder(state, SETTINGS)
    state.databases[PRIV06].bad_pages = [
        BadPage(page=1, kind="uncorrectable", first=NOW - 90, last=NOW - 90)
    ]
    (before,) = advised(found, state, SETTINGS, NOW)
    assert "investigate" in {each.finding for each in before.findings}

    acknowledge(folder, *PRIV06, named)

    (after,) = advised(found, state, SETTINGS, NOW)
    assert "investigate" not in {each.finding for each in after.findings}


def test_new_settings_are_taken_up_at_once() -> None:
    found = ShownGroups()
    advised(found, example(), SETTINGS, NOW)
    other = Settings(databases=[DatabaseRule(match="*", tier="watched", model="window")])
    assert advised(found, example(), other, NOW) == advise(example(), other, NOW)


def test_what_is_gone_or_ignored_has_no_advice() -> None:
    found, state = ShownGroups(), example()
    advised(found, state, SETTINGS, NOW)
    del state.databases[PRIV06]
    places = [(each.computer, each.database) for each in advised(found, state, SETTINGS, NOW)]
    assert places == sorted(state.databases)
    ignoring = Settings(databases=[DatabaseRule(match="*search*", tier="ignored")])
    left = {(each.computer, each.database) for each in advised(found, state, ignoring, NOW)}
    assert left == state.databases.keys() - {SEARCH}


def test_a_large_fleet_is_judged_in_parts_and_advised_when_all_are(
    judged: list[tuple[str, str]],
) -> None:
    found, state = ShownGroups(), fleet(2 * MOST + 1)
    assert advised(found, state, SETTINGS, NOW) == ()
    assert advised(found, state, SETTINGS, NOW) == ()
    assert len(judged) == 2 * MOST
    assert advised(found, state, SETTINGS, NOW) == advise(state, SETTINGS, NOW)
    assert len(judged) == 2 * MOST + 1
