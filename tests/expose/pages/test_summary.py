"""Which computers nobody can see, and the four numbers of the page."""

import json
from collections.abc import Callable

import msgspec
import pytest

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import Finding, not_heard
from esewatch.advice.judgement import VERDICTS, Judgement
from esewatch.advice.not_judged import Blind, blind_places
from esewatch.config import DatabaseRule, Policy, Settings, default_settings
from esewatch.expose.http.database_list import overview_json
from esewatch.expose.metrics.advice_families import advice_families
from esewatch.expose.pages.overview import DatabaseFigures, overview
from esewatch.fold.state.state import BadPage, Damage, SourceState, State
from tests.expose.examples import (
    DAY,
    HOSTILE,
    MBX,
    NOW,
    NTDS,
    PRIV03,
    PRIV06,
    SEARCH,
    example,
    many,
    told_of,
)

SETTINGS = msgspec.structs.replace(default_settings(), policy=Policy(backup_within=float("inf")))
ASKED = msgspec.structs.replace(
    SETTINGS, policy=Policy(verify_within=7 * 86400, backup_within=float("inf"))
)
"""Whoever asks for it learns that a directory was never verified."""


def seen(state: State, *, up: bool = True, caught_up: bool = True) -> State:
    """The state with one source of all its servers."""
    servers = ["ex01", "ex02", "dc01", "ex19"]
    log = SourceState(name="log", up=up, caught_up=caught_up, computers=servers)
    state.sources = {"log": log}
    return state


def troubled() -> State:
    """A database of each verdict among the watched, all seen."""
    state = seen(example())
    state.channels.clear()
    state.instances["ex01", "sg06"].errors = {"disk_full": (1, NOW - 60)}
    state.instances["ex01", "sg06"].error_times = {"disk_full": [NOW - 60]}
    return state


def shown(state: State, settings: Settings = SETTINGS) -> tuple[DatabaseFigures, ...]:
    return overview(state, settings, NOW, advise(state, settings, NOW)).databases


def of_metric(state: State, settings: Settings = SETTINGS) -> dict[tuple[str, str], str]:
    (family,) = (
        each
        for each in advice_families(advise(state, settings, NOW))
        if each.name == "ese_database_verdict"
    )
    assert all(sample.value == 1 for sample in family.samples)
    found = {
        (each.labels["computer"], each.labels["database"]): each.labels["verdict"]
        for each in family.samples
    }
    assert len(found) == len(family.samples)
    return found


STATES: dict[str, Callable[[], State]] = {
    "example": example,
    "troubled": troubled,
    "seen": lambda: seen(example()),
    "down": lambda: seen(example(), up=False, caught_up=False),
    "behind": lambda: seen(example(), caught_up=False),
}


@pytest.mark.parametrize("name", STATES)
def test_page_interface_and_metric_say_the_same_verdict(name: str) -> None:
    state = STATES[name]()
    databases = shown(state)
    watched = [each for each in databases if each.tier == "watched"]
    assert {(each.computer, each.database): each.verdict for each in watched} == of_metric(state)
    view = overview(state, SETTINGS, NOW, advise(state, SETTINGS, NOW))
    told = json.loads(overview_json(view))["databases"]
    assert [each["verdict"] for each in told] == [each.verdict for each in databases]


def test_the_most_urgent_database_comes_first() -> None:
    found = shown(troubled())
    order = [VERDICTS.index(each.verdict) for each in found if each.tier == "watched"]
    assert order == sorted(order)
    first, second = found[:2]
    assert ((first.computer, first.database), first.verdict) == (PRIV03, "bad_pages")
    assert ((second.computer, second.database), second.verdict) == (PRIV06, "writes_at_risk")


def test_status_is_the_verdict_in_short() -> None:
    short = {"bad_pages": "bad", "unproven": "unproven", "ok": "ok"}
    for name, state in STATES.items():
        for each in shown(state()):
            assert each.status == short.get(str(each.verdict), "attention"), name
            assert each.reasons or each.verdict == "ok", each


def test_a_blind_computer_leaves_no_database_of_it_ok() -> None:
    whole = {(each.computer, each.database): each for each in shown(seen(example()))}
    blind = {
        (each.computer, each.database): each
        for each in shown(seen(example(), up=False, caught_up=False))
    }
    assert (whole[PRIV06].verdict, blind[PRIV06].verdict) == ("ok", "blind")
    assert blind[PRIV06].reasons == ("may be old: log cannot be read",)
    assert (whole[PRIV03].verdict, blind[PRIV03].verdict) == ("bad_pages", "bad_pages")


@pytest.mark.parametrize("name", ["down", "behind"])
def test_that_a_source_is_behind_is_told_beside_a_worse_verdict(name: str) -> None:
    state = STATES[name]()
    found = {(each.computer, each.database): each for each in shown(state, ASKED)}
    assert {each.verdict for each in found.values() if each.behind} == {"bad_pages", "blind"}
    assert all(each.behind for each in found.values() if each.computer in ("ex01", "ex02"))
    assert not any(each.behind for each in shown(seen(example())))
    view = overview(state, ASKED, NOW, advise(state, ASKED, NOW))
    told = json.loads(overview_json(view))["databases"]
    assert [each["behind"] for each in told] == [each.behind for each in found.values()]


def test_an_ignored_database_with_damage_tells_that_its_source_is_behind() -> None:
    ignoring = Settings(databases=[DatabaseRule(match="*priv3.edb", tier="ignored")])
    last = shown(STATES["down"](), ignoring)[-1]
    assert (last.verdict, last.behind) == (None, True)


def test_an_ignored_database_has_no_verdict_and_comes_last() -> None:
    ignoring = Settings(databases=[DatabaseRule(match="*priv3.edb", tier="ignored")])
    last = shown(example(), ignoring)[-1]
    assert ((last.computer, last.database), last.verdict, last.status) == (PRIV03, None, "bad")
    assert PRIV03 not in of_metric(example(), ignoring)


def test_an_observed_database_is_neither_unverified_nor_at_risk() -> None:
    observing = Settings(databases=[DatabaseRule(match="*.edb", tier="observed")])
    found = {(each.computer, each.database): each for each in shown(troubled(), observing)}
    assert found[PRIV06].verdict == "ok"
    assert found[PRIV03].verdict == "bad_pages"
    assert {each.verdict for each in found.values() if each.tier == "observed"} <= {
        "bad_pages",
        "ok",
        "look",
        "unproven",
    }


def test_databases_are_counted_by_trouble_and_one_may_have_two() -> None:
    state = troubled()
    state.databases[PRIV06].bad_pages = [BadPage(3, "wrong_page", NOW - 60, NOW - 60)]
    advice = advise(state, ASKED, NOW)
    fleet = overview(state, ASKED, NOW, advice).fleet
    late = {"never_verified", "verification_overdue"}
    assert (fleet.bad, fleet.writes_at_risk) == (2, 1)
    assert fleet.unverified == sum(
        any(found.finding in late for found in each.findings) for each in advice
    )
    assert fleet.unverified >= 2
    assert fleet.blind == ()


def test_a_computer_is_named_once_with_all_that_makes_it_blind() -> None:
    state = example()
    (of_ex02,) = (each for each in advise(state, SETTINGS, NOW) if each.computer == PRIV03[0])
    lost = msgspec.structs.replace(of_ex02, findings=(Finding("unknown_since", "events lost"),))
    assert overview(state, SETTINGS, NOW, (lost,)).fleet.blind == (
        Blind("ex01", "perfmon_csv-1 is not read to its end"),
        Blind("ex02", "events are missing"),
        Blind("gone", "cannot be read; its computers are not known"),
    )


def test_missing_events_and_a_source_that_is_down_are_told_together() -> None:
    down = SourceState(name="log", computers=["ex01"])
    lost = [told_of(each, Finding("unknown_since", "events lost")) for each in many(2, 1)[1]]
    on_it = [msgspec.structs.replace(each, computer="ex01") for each in lost]
    assert blind_places(on_it, [down]) == (Blind("ex01", "log cannot be read, events are missing"),)


def test_a_computer_of_which_one_log_is_silent_is_blind_since_that_ones_last_record() -> None:
    heard, *silent = many(3, 1)[1]
    told = [heard, *(told_of(each, not_heard(NOW - days * DAY, DAY, "info", stopped=False))
                     for days, each in enumerate(silent, 3))]  # fmt: skip
    assert blind_places(told, []) == (
        Blind(heard.computer, "nothing was read of it since 2007-06-23 23:20 UTC"),
    )


def test_names_of_sources_and_computers_are_made_harmless() -> None:
    state = State(
        sources={
            HOSTILE: SourceState(name=HOSTILE, up=True, computers=["a\ud800b"]),
            "mute": SourceState(name="\udfff" + "x" * 1000),
        }
    )
    view = overview(state, SETTINGS, NOW)
    names = ["a?b", "?" + "x" * 498 + "…"]
    assert [each.name for each in view.fleet.blind] == names
    assert [each["name"] for each in json.loads(overview_json(view))["fleet"]["blind"]] == names


def test_the_deadline_is_that_of_the_ledger_and_absent_without_advice() -> None:
    found = {(each.computer, each.database): each for each in shown(example())}
    assert found[PRIV06].verification_deadline == 7 * 86400
    assert found[MBX].verification_deadline == 7 * 86400
    assert all(each.verification_deadline is None for each in overview_without_advice())


def test_a_directory_has_a_deadline_when_one_is_set_or_it_was_verified() -> None:
    """docs/advice.md: with `verify_within`, and from the first verification on."""

    def deadline(state: State, settings: Settings = SETTINGS) -> tuple[float | None, list[float]]:
        (shown_one,) = (each for each in shown(state, settings) if each.computer == NTDS[0])
        families = advice_families(advise(state, settings, NOW))
        return shown_one.verification_deadline, [
            sample.value
            for family in families
            for sample in family.samples
            if sample.name == "ese_verification_deadline_seconds"
            and sample.labels["computer"] == NTDS[0]
        ]

    assert deadline(example()) == (None, [])
    assert deadline(example(), ASKED) == (7 * 86400, [7 * 86400])
    verified = example()
    verified.databases[NTDS].verified = {"page_scan": NOW - 3600}
    assert deadline(verified) == (7 * 86400, [7 * 86400])


def test_nothing_is_asked_of_the_pages_of_a_database_that_is_not_watched() -> None:
    """No finding and no metric holds its verification against a deadline: neither does a page."""
    found = {(each.computer, each.database): each for each in shown(example())}
    assert found[SEARCH].tier == "observed"
    assert found[SEARCH].verification_deadline is None


def overview_without_advice() -> tuple[DatabaseFigures, ...]:
    return overview(example(), SETTINGS, NOW, ()).databases


def test_what_is_not_judged_yet_is_told_by_its_pages_and_never_in_order() -> None:
    found = {(each.computer, each.database): each for each in overview_without_advice()}
    assert found[PRIV03].verdict == "bad_pages"
    assert found[PRIV06].verdict == "blind"
    assert found[NTDS].verdict == "look"
    assert found[MBX].verdict == "look"


def test_an_acknowledged_corruption_is_no_trouble_any_more() -> None:
    state = seen(example())
    entry = state.databases[PRIV06]
    entry.damage = {"logical": Damage(2, [NOW - 60], [448])}
    assert [each.verdict for each in shown(state) if each.database == PRIV06[1]] == ["bad_pages"]
    assert of_metric(state)[PRIV06] == "bad_pages"
    entry.damage_mended = NOW
    assert [each.verdict for each in shown(state) if each.database == PRIV06[1]] == ["ok"]
    assert of_metric(state)[PRIV06] == "ok"


def test_a_failed_task_asks_for_a_look_on_the_page_and_in_the_metric() -> None:
    state = seen(example())
    clean: tuple[Judgement, ...] = advise(state, SETTINGS, NOW)
    failed = next(each for each in clean if (each.computer, each.database) == PRIV03)
    assert failed.verdict == "bad_pages"
    state.databases[PRIV03].bad_pages = []
    state.databases[PRIV03].verified = {"external": NOW - 3600}
    found = {(each.computer, each.database): each for each in shown(state)}
    assert "checksum failed and has not completed since" in found[PRIV03].reasons
    assert found[PRIV03].verdict == of_metric(state)[PRIV03]
