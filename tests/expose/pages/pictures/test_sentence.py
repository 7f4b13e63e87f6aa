"""The sentence says what is known, and no more."""

import math
from typing import Any

import msgspec
import pytest

from esewatch.advice.base.finding import Finding, not_heard
from esewatch.advice.history.history import History
from esewatch.advice.judgement import VERDICTS, Verdict
from esewatch.advice.window.window import WindowAdvice
from esewatch.expose.formatting import duration
from esewatch.expose.pages.pictures.sentence import BEHIND, no_window, sentence
from esewatch.fold.state.state import Damage
from tests.advice.histories import DAY, HOUR, NOON, opening, store
from tests.expose.pages.pictures.examples import (
    MORNING,
    advised,
    background,
    exchange,
    figured,
    garbage_collection,
    scan,
)

REASON = "It read 143.2 pages for each one freed, above 100: little is left to free."
SHRINK = WindowAdvice(
    action="shrink",
    rule="ratio_high",
    configured_seconds=4 * HOUR,
    recommended_seconds=2.75 * HOUR,
    reasons=(REASON, "More."),
)


def said(history: History, advice: dict[str, Any] | None = None, **figures: Any) -> str:
    made = advised(history, MORNING, **(advice or {}))
    return sentence(figured(history, **figures), made, history, MORNING)


def test_all_is_in_order() -> None:
    assert said(exchange(), {"window": SHRINK}) == (
        "All 5,850,768 pages verified 1 July 2007 by online scan; 0 bad. Window 4 h, advice shrink"
        " to 2 h 45 min, because it read 143.2 pages for each one freed, above 100: little is left"
        " to free."
    )


def test_its_figures_are_those_of_the_advice() -> None:
    history = exchange()
    made = advised(history, MORNING)
    assert made.window.action == "shrink"
    text = sentence(figured(history), made, history, MORNING)
    changed = f"Window 4 h, advice shrink to {duration(made.window.recommended_seconds)}, because "
    reason = made.window.reasons[0]
    assert f"{changed}{reason[0].lower()}{reason[1:]}" in text


@pytest.mark.parametrize("pages", [None, 0, -5, 2**80])
def test_a_number_of_pages_that_the_scan_did_not_count_is_not_said(pages: int | None) -> None:
    end = opening(0) + 3 * HOUR
    history = exchange(checksum_passes=[scan(end - 600, end, pages)], verified={"online_scan": end})
    assert said(history).startswith("All pages verified 1 July 2007 by online scan; 0 bad. ")


def test_the_number_of_pages_is_of_the_scan_that_is_the_proof() -> None:
    later = {"online_scan": opening(0) + 2 * HOUR + 600, "page_scan": MORNING - 60}
    assert said(exchange(verified=later)).startswith(
        "All pages verified 1 July 2007 by page scan; 0 bad"
    )


def test_never_verified_claims_nothing() -> None:
    text = said(exchange(verified={}, checksum_passes=[]))
    assert text.startswith(
        "No verification is known: nothing shows that its pages are good. Window 4 h, advice"
    )
    assert "0 bad" not in text


def test_overdue_says_since_when_and_the_deadline() -> None:
    old = MORNING - 34 * DAY
    history = exchange(verified={"external": old}, first_seen=NOON - 60 * DAY)
    assert said(history).startswith(
        "All pages last verified 28 May 2007 by eseutil /k, 34 d ago: overdue, the deadline is 7 d;"
        " 0 bad. "
    )


WRONG = "page 299 of priv06.edb is bad (checksum, not correctable)"


def test_what_is_wrong_with_its_pages_comes_first_and_the_window_is_another_sentence() -> None:
    text = said(exchange(), bad_pages={"uncorrectable": 1}, reasons=(WRONG, "another reason"))
    assert text.startswith(f"P{WRONG[1:]}. Window 4 h, advice ")
    assert "verified" not in text and "0 bad" not in text


def test_logical_corruption_is_said_though_no_page_is_bad() -> None:
    wrong = "1 report of logical corruption"
    text = said(exchange(damage={"logical": Damage(1, [1.0], [447])}), reasons=(wrong,))
    assert text.startswith("1 report of logical corruption; all 5,850,768 pages verified")


def test_missing_events_are_said_first() -> None:
    gap = (MORNING - 6 * DAY, MORNING - 3 * DAY, 12)
    history = exchange(verified={"page_scan": MORNING - 8 * DAY}, event_gaps=[gap])
    assert said(history).startswith(
        "Unknown since 25 June 2007: events are missing; the last verification of all pages was"
        " 23 June 2007 by page scan;"
    )
    never = said(exchange(verified={}, event_gaps=[gap]))
    assert never.startswith(
        "Unknown since 25 June 2007: events are missing; no verification is known: "
    )


def test_what_may_hide_bad_pages_leaves_no_0_bad() -> None:
    gap = (MORNING - 6 * DAY, MORNING - 3 * DAY, 12)
    missing = said(exchange(verified={"page_scan": MORNING - 8 * DAY}, event_gaps=[gap]))
    for text in (missing, said(exchange(), stale="log")):
        assert "; no bad page is known. Window 4 h" in text
        assert "0 bad" not in text


@pytest.mark.parametrize("verdict", [*VERDICTS, None])
def test_a_source_that_is_behind_is_said_whatever_the_verdict(verdict: Verdict | None) -> None:
    text = said(exchange(), stale="log", verdict=verdict)
    assert text.startswith(
        "The data may be old: a source of its computer is behind; the last verification"
        " of all 5,850,768 pages was 1 July 2007 by online scan; no bad page is known. Window 4 h, "
    )


def test_where_it_is_blind_the_date_of_the_last_verification_stays_and_the_word_does_not() -> None:
    """semantics.md 5a, for any reason that it is blind: nothing of it is called verified."""
    text = said(exchange(), verdict="blind")
    assert text.startswith(
        "The last verification of all 5,850,768 pages was 1 July 2007 by online scan;"
    )
    assert "; no bad page is known. " in text
    assert "verified" not in text


def test_what_is_not_heard_is_not_called_verified_beside_a_worse_verdict_either() -> None:
    findings = (
        Finding("writes_at_risk", "the log could not be written"),
        not_heard(MORNING - 9 * DAY, 2 * DAY, "warning", stopped=False),
    )
    text = said(exchange(), {"findings": findings}, verdict="writes_at_risk")
    assert "; the last verification of all 5,850,768 pages was 1 July 2007 by online scan;" in text
    assert "verified" not in text


def test_what_may_be_old_is_said_after_what_is_worse_and_before_the_pages() -> None:
    text = said(exchange(), stale="log", bad_pages={"uncorrectable": 2}, reasons=(WRONG,))
    assert text.startswith(f"P{WRONG[1:]}; {BEHIND}. Window 4 h")
    assert "0 bad" not in text
    assert "no bad page" not in text
    risk = (Finding("writes_at_risk", "log_disk_low 5 min ago"),)
    text = said(exchange(), {"findings": risk}, stale="log", verdict="writes_at_risk")
    assert text.startswith(
        f"Writes at risk: log_disk_low 5 min ago; {BEHIND}; the last verification"
    )
    assert "; no bad page is known. Window 4 h" in text


def test_what_may_be_old_is_said_of_what_is_overdue_or_never_verified() -> None:
    old = exchange(verified={"external": MORNING - 34 * DAY}, first_seen=NOON - 60 * DAY)
    assert said(old, stale="log", verdict="unverified").startswith(
        f"{BEHIND.capitalize()}; the last verification of all pages was 28 May 2007 by"
        " eseutil /k, 34 d ago: overdue, the deadline is 7 d; no bad page is known. "
    )
    never = said(exchange(verified={}, checksum_passes=[]), stale="log", verdict="unverified")
    assert never.startswith(f"{BEHIND.capitalize()}; no verification is known: nothing shows")


def test_missing_events_and_a_source_that_is_behind_are_both_said() -> None:
    gap = (MORNING - 6 * DAY, MORNING - 3 * DAY, 12)
    history = exchange(verified={"page_scan": MORNING - 8 * DAY}, event_gaps=[gap])
    assert said(history, stale="log").startswith(
        f"{BEHIND.capitalize()}; unknown since 25 June 2007: events are missing; the last"
        " verification of all pages was 23 June 2007 by page scan; no bad page is known. "
    )


def test_writes_at_risk_come_before_the_pages() -> None:
    finding = Finding("writes_at_risk", "log_disk_low 5 min ago")
    text = said(exchange(), {"findings": (finding,)}, verdict="writes_at_risk")
    assert text.startswith("Writes at risk: log_disk_low 5 min ago; all 5,850,768 pages verified")


@pytest.mark.parametrize(
    ("history", "why"),
    [
        (garbage_collection(), "garbage collection is meant to defragment it"),
        (background(), "its engine is meant to scan in the background, day and night"),
        (store(model="application"), "its application decides when it is maintained"),
    ],
)
def test_other_models_say_why_there_is_no_window(history: History, why: str) -> None:
    text = said(history)
    assert f". No window: {why}" in text
    assert "advice" not in text
    assert no_window(history.model).startswith(f"No window on this model: {why}")


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        (
            {"action": "keep", "recommended_seconds": 4 * HOUR},
            "Window 4 h, advice keep, because it read 143.2",
        ),
        (
            {"action": "keep", "rule": "bad_pages", "reasons": ("To be looked into: 1 page.",)},
            "Window 4 h, advice keep to 2 h 45 min: to be looked into: 1 page.",
        ),
        (
            {"action": "insufficient_evidence", "reasons": ("I/O is not known.",)},
            "Window 4 h, no advice yet: I/O is not known.",
        ),
        ({"action": "insufficient_evidence", "reasons": ()}, "Window 4 h, no advice yet."),
        ({"reasons": ()}, "Window 4 h, advice shrink to 2 h 45 min."),
    ],
)
def test_the_advice_is_said_as_it_is(changes: dict[str, Any], end: str) -> None:
    assert end in said(exchange(), {"window": msgspec.structs.replace(SHRINK, **changes)})


def test_without_a_window_or_advice_it_says_so() -> None:
    assert ". No window configured, advice keep" in said(
        exchange(window=None),
        {"window": WindowAdvice(action="keep", rule="otherwise", reasons=(REASON,))},
    )
    history = exchange()
    assert sentence(figured(history), None, history, MORNING) == (
        "All 5,850,768 pages verified 1 July 2007 by online scan; 0 bad. Window 4 h, no advice yet."
    )


def test_damaged_proofs_do_not_count() -> None:
    history = exchange(verified={"page_scan": math.nan, "external": math.inf})
    assert said(history).startswith("No verification is known")
    assert advised(history, MORNING).ledger.last is None
