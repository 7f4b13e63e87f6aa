"""One word for a database, the worst first (semantics.md 5a)."""

import itertools
from collections.abc import Sequence

import pytest

from esewatch.advice.base.finding import FINDINGS, RISKS, Finding, FindingName
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.judgement import (
    HEALTHY,
    TEXTS,
    VERDICTS,
    Trouble,
    Verdict,
    blind_computers,
    trouble,
    verdict,
)
from esewatch.fold.state.state import BadPage, EngineErrorKind, SourceState
from tests.support.each import of_each

NONE = trouble((), {}, ())
LATE = trouble((), {}, (), [Forecast(task="defrag", p50=1.0, p90=3.0, deadline=2.0)])
BAD = trouble([BadPage(17, "uncorrectable", 1.0, 1.0)], {}, ())
FULL = Finding("writes_at_risk", "the log disk is full", ("disk_full",))


def page(kind: str, pages: int = 1) -> BadPage:
    return BadPage(17, kind, 1.0, 1.0, pages=pages)  # type: ignore[arg-type]


def said(*names: str) -> list[Finding]:
    return [Finding(name, "") for name in names]  # type: ignore[arg-type]


EXPECTED: dict[FindingName, Verdict] = {
    "never_verified": "unverified",
    "verification_overdue": "unverified",
    "unknown_since": "blind",
    "not_heard": "blind",
    **dict.fromkeys(
        ("backup_slows", "cache_small", "scans_collide", "scans_do_not_fit", "unexplained_error"),
        "ok",
    ),
}


def test_the_order_is_that_of_the_document_and_the_last_two_ask_for_nothing() -> None:
    order = "bad_pages writes_at_risk blind unverified look unproven ok"
    assert " ".join(VERDICTS) == order
    assert set(VERDICTS[-2:]) == HEALTHY


def test_each_verdict_has_a_sign_and_words_of_its_own() -> None:
    assert tuple(TEXTS) == VERDICTS
    assert len({each.sign for each in TEXTS.values()}) == len(VERDICTS)
    assert len({each.words for each in TEXTS.values()}) == len(VERDICTS)
    assert TEXTS["unproven"].words == "not verified"


@of_each(FINDINGS)
def test_every_finding_has_its_verdict_and_all_others_ask_for_a_look(finding: FindingName) -> None:
    found = verdict(NONE, said(finding), unproven=False, blind=False)
    assert found == EXPECTED.get(finding, "look")


@of_each(tuple(RISKS))
def test_writes_are_at_risk_by_what_the_document_names(kind: EngineErrorKind) -> None:
    """413, 429 (disk_full), 492 (log_sequence), 454 and 465 (recovery); the others are warnings."""
    told = [Finding("writes_at_risk", "", (kind,))]
    at_once = kind in ("disk_full", "log_sequence", "recovery")
    expected = "writes_at_risk" if at_once else "look"
    assert verdict(NONE, told, unproven=True, blind=False) == expected


def test_a_computer_that_is_not_heard_is_blind() -> None:
    assert verdict(NONE, said("not_heard"), unproven=True, blind=False) == "blind"


def test_nothing_found_is_ok() -> None:
    assert verdict(NONE, (), unproven=False, blind=False) == "ok"


@pytest.mark.parametrize("kind", ["uncorrectable", "wrong_page", "lost_flush", "no_data"])
def test_a_page_that_is_not_corrected_is_bad(kind: str) -> None:
    told = trouble([page("corrected"), page(kind, pages=7)], {}, ())
    assert (told.bad, told.corrected) == (7, 1)
    assert verdict(told, said(*FINDINGS), unproven=True, blind=True) == "bad_pages"


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
    assert verdict(told, (), unproven=True, blind=False) == "look"


@pytest.mark.parametrize("others", [(), ("cache_small",)])
def test_what_nothing_verified_and_nobody_asks_for_is_never_ok(others: Sequence[str]) -> None:
    assert verdict(NONE, said(*others), unproven=True, blind=False) == "unproven"


def test_a_blind_computer_hides_what_is_less_urgent() -> None:
    assert verdict(NONE, (), unproven=True, blind=True) == "blind"
    assert verdict(NONE, said("never_verified"), unproven=True, blind=True) == "blind"
    assert verdict(NONE, [FULL], unproven=True, blind=True) == "writes_at_risk"


def test_of_several_the_worst_holds() -> None:
    for holds in itertools.product((True, False), repeat=6):
        bad, risk, blind, late, look, unproven = holds
        findings = [FULL] * risk + said(*["verification_overdue"] * late, *["stops_early"] * look)
        found = verdict(BAD if bad else NONE, findings, unproven=unproven, blind=blind)
        assert found == VERDICTS[(*holds, True).index(True)]


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
