"""One word for a database, the worst first."""

import itertools

import pytest

from esewatch.advice.base.finding import FINDINGS, FindingName
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.forecast.verdict import (
    VERDICTS,
    Trouble,
    Verdict,
    blind_computers,
    trouble,
    verdict,
)
from esewatch.fold.state.state import BadPage, SourceState
from tests.support.each import of_each

NONE = trouble((), {}, ())
LATE = trouble((), {}, (), [Forecast(task="defrag", p50=1.0, p90=3.0, deadline=2.0)])
BAD = trouble([BadPage(17, "uncorrectable", 1.0, 1.0)], {}, ())


def page(kind: str, pages: int = 1) -> BadPage:
    return BadPage(17, kind, 1.0, 1.0, pages=pages)  # type: ignore[arg-type]


EXPECTED: dict[FindingName, Verdict] = {
    "writes_at_risk": "writes_at_risk",
    "never_verified": "unverified",
    "verification_overdue": "unverified",
    "unknown_since": "blind",
    "cache_small": "ok",
    "unexplained_error": "ok",
}


@of_each(FINDINGS)
def test_every_finding_has_its_verdict_and_all_others_ask_for_a_look(finding: FindingName) -> None:
    assert verdict(NONE, {finding}, unproven=False, blind=False) == EXPECTED.get(finding, "look")


def test_nothing_found_is_ok() -> None:
    assert verdict(NONE, (), unproven=False, blind=False) == "ok"


@pytest.mark.parametrize("kind", ["uncorrectable", "wrong_page", "lost_flush", "no_data"])
def test_a_page_that_is_not_corrected_is_bad(kind: str) -> None:
    told = trouble([page("corrected"), page(kind, pages=7)], {}, ())
    assert (told.bad, told.corrected) == (7, 1)
    assert verdict(told, FINDINGS, unproven=True, blind=True) == "bad_pages"


@pytest.mark.parametrize(
    "told",
    [
        trouble([page("corrected")], {}, ()),
        trouble((), {}, ("checksum",)),
        LATE,
    ],
    ids=["corrected", "failed", "late"],
)
def test_other_trouble_asks_for_a_look(told: Trouble) -> None:
    assert verdict(told, (), unproven=False, blind=False) == "look"


def test_a_watched_database_that_was_never_seen_verified_asks_for_a_look() -> None:
    assert verdict(NONE, (), unproven=True, blind=False) == "look"


def test_a_blind_computer_makes_ok_to_blind_and_hides_nothing_worse() -> None:
    assert verdict(NONE, (), unproven=True, blind=True) == "blind"
    assert verdict(NONE, {"never_verified"}, unproven=True, blind=True) == "unverified"


def test_of_several_the_worst_holds() -> None:
    def worst(bad: bool, risk: bool, late: bool, blind: bool, look: bool) -> Verdict:
        findings: list[FindingName] = ["writes_at_risk"] * risk
        findings += ["verification_overdue"] * late
        findings += ["stops_early"] * look
        return verdict(BAD if bad else NONE, findings, unproven=False, blind=blind)

    for holds in itertools.product((True, False), repeat=5):
        assert worst(*holds) == VERDICTS[(*holds, True).index(True)]


def test_a_computer_is_blind_while_one_of_its_sources_is_behind() -> None:
    sources = [
        SourceState(name="log", up=True, caught_up=True, computers=["ex01", "ex02"]),
        SourceState(name="down", up=False, computers=["ex02", "ex03"]),
        SourceState(name="behind", up=True, computers=["ex03"]),
        SourceState(name="mute", up=False),
    ]
    assert blind_computers(sources) == {
        "ex02": "down cannot be read",
        "ex03": "behind is not read to its end, down cannot be read",
    }
