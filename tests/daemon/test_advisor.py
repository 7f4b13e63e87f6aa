"""The advice of the daemon: as `advise` says it, judged no more often than needed."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from esewatch.advice import advise as advising
from esewatch.advice.advise import Judged, advise
from esewatch.advice.history.derived import derived
from esewatch.advice.history.history import History
from esewatch.advice.judgement import Judgement
from esewatch.config import DatabaseRule, Policy, Settings, default_settings
from esewatch.daemon import advisor
from esewatch.daemon.advisor import MOST, OLD_SECONDS, Advisor
from esewatch.fold.commands import acknowledge
from esewatch.fold.folder import Folder
from esewatch.fold.passes.transitions import pack
from esewatch.fold.state.state import BadPage, Damage, Database, State, Transition
from tests.advice.histories import NOON, passes, store
from tests.expose.examples import DAY, NOW, PRIV03, PRIV06, SEARCH, example

SETTINGS = default_settings()


@pytest.fixture(name="judged")
def _judged(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    """The databases judged, in order."""
    asked: list[tuple[str, str]] = []

    def judge(of: History, policy: Policy, now: float, held: float) -> Judged:
        asked.append((of.computer, of.database))
        return advising.judge(of, policy, now, held)

    monkeypatch.setattr(advisor, "judge", judge)
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
    advisor: Advisor, state: State, settings: Settings, now: float
) -> tuple[Judgement, ...]:
    """The advice of one snapshot."""
    derived(state, settings, judge=advisor.prepare(state, settings, now))
    return advisor.advise(state, settings, now)


def test_it_says_what_advise_says() -> None:
    assert advised(Advisor(), example(), SETTINGS, NOW) == advise(example(), SETTINGS, NOW)


def test_nothing_is_judged_twice_while_nothing_happens(judged: list[tuple[str, str]]) -> None:
    found, state = Advisor(), example()
    advised(found, state, SETTINGS, NOW)
    assert sorted(judged) == sorted(state.databases)
    judged.clear()
    advised(found, state, SETTINGS, NOW + OLD_SECONDS - 1)
    assert judged == []
    later = NOW + OLD_SECONDS
    assert advised(found, state, SETTINGS, later) == advise(state, SETTINGS, later)
    assert sorted(judged) == sorted(state.databases)


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
    found, state = Advisor(), example()
    advised(found, state, SETTINGS, NOW)
    judged.clear()
    advised(found, state, SETTINGS, NOW - DAY)
    assert sorted(judged) == sorted(state.databases)


def test_a_database_with_news_is_judged_at_once_and_alone(judged: list[tuple[str, str]]) -> None:
    found, state = Advisor(), example()
    advised(found, state, SETTINGS, NOW)
    judged.clear()
    state.databases[PRIV06].transitions = pack([Transition(NOW - 1, 1, 700)])
    state.databases[PRIV03].bad_pages = [
        BadPage(page=1, kind="corrected", first=NOW - 1, last=NOW - 1)
    ]
    assert advised(found, state, SETTINGS, NOW) == advise(state, SETTINGS, NOW)
    assert sorted(judged) == [PRIV06, PRIV03]


def test_a_database_that_its_copy_reports_of_is_judged_at_once() -> None:
    found, settings = Advisor(), SETTINGS
    active, passive = small(1), replace(small(1), computer="ex02")
    state = State(databases={(each.computer, each.database): each for each in (active, passive)})
    known = derived(state, settings, judge=found.prepare(state, settings, NOW))
    found.advise(state, settings, NOW)
    # 540: the two differ, and which of them is wrong is not known.
    passive.damage["suspect"] = passive.damage_of_active["suspect"] = Damage(1, [NOW], [540])

    derived(state, settings, known, judge=found.prepare(state, settings, NOW + 60))

    for each in found.advise(state, settings, NOW + 60):
        assert "copy_suspect" in {finding.finding for finding in each.findings}


@pytest.mark.parametrize("named", [[1], []])
def test_a_database_whose_errors_are_acknowledged_is_judged_at_once(named: list[int]) -> None:
    found, state = Advisor(), State(databases={PRIV06: replace(small(6), database=PRIV06[1])})
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
    found = Advisor()
    advised(found, example(), SETTINGS, NOW)
    other = Settings(databases=[DatabaseRule(match="*", tier="watched", model="window")])
    assert advised(found, example(), other, NOW) == advise(example(), other, NOW)


def test_what_is_gone_or_ignored_has_no_advice() -> None:
    found, state = Advisor(), example()
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
    found, state = Advisor(), fleet(2 * MOST + 1)
    assert advised(found, state, SETTINGS, NOW) == ()
    assert advised(found, state, SETTINGS, NOW) == ()
    assert len(judged) == 2 * MOST
    assert advised(found, state, SETTINGS, NOW) == advise(state, SETTINGS, NOW)
    assert len(judged) == len(set(judged)) == 2 * MOST + 1


def test_the_new_come_before_the_changed_and_these_before_the_old(
    judged: list[tuple[str, str]],
) -> None:
    found, state = Advisor(), fleet(MOST)
    advised(found, state, SETTINGS, NOW)
    judged.clear()
    new, changed = small(9999), state.databases["ex01", "e:\\0007.edb"]
    state.databases[new.computer, new.database] = new
    changed.last_seen = NOW
    advised(found, state, SETTINGS, NOW + OLD_SECONDS)
    assert len(judged) == MOST
    assert {f"e:\\{number}.edb" for number in ("9999", "0007", "0000")} <= {
        database for _, database in judged
    }
