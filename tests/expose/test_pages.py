"""The pages as a person's browser gets them."""

import math
from typing import Any

import msgspec
import pytest

from esewatch.advice.advise import advise
from esewatch.advice.forecast import Forecast
from esewatch.advice.window import WindowAdvice
from esewatch.config import default_settings
from esewatch.expose.overview import overview
from esewatch.expose.pages import (
    count,
    duration,
    render_runbook,
    render_runbooks,
    render_status,
    size,
    time_tag,
)
from esewatch.fold.state import Database, State
from tests.expose.examples import HOSTILE, NOW, PRIV06, example
from tests.expose.html import Page, assert_self_contained

READY = (True, "")


def status(state: State | None = None, ready: tuple[bool, str] = READY) -> Page:
    view = overview(state if state is not None else example(), default_settings(), NOW)
    return Page(render_status(view, ready))


def test_the_status_page_needs_nothing_else_and_is_accessible() -> None:
    page = status()
    assert_self_contained(page)
    assert page.names().count("table") == 2
    assert {"/metrics", "/api/v1/databases", "/runbooks/"} <= set(page.urls)


def test_the_status_page_says_first_what_is_wrong() -> None:
    page = status()
    assert "1 database has bad pages, of 6 databases." in page.text
    assert page.text.index("3 known bad pages") < page.text.index("NTDSA")
    assert page.text.startswith("✖ esewatch")


def test_a_state_is_a_sign_and_a_word_beside_its_colour() -> None:
    text = status().text
    for words in ("✖ bad", "● ok", "✖ cannot be read", "▲ reading", "● up to date"):
        assert words in text


def test_a_domain_controller_shows_no_ratio() -> None:
    page = status(
        State(databases={key: db for key, db in example().databases.items() if key[0] == "dc01"})
    )
    assert "garbage collection" in page.text
    assert "not judged" in page.text
    assert " : 1" not in page.text


def test_the_ratio_of_a_window_comes_with_its_verdict() -> None:
    text = status().text
    assert "143.2 : 1 above the band 50 to 100: little is left to free" in text
    assert "29.03 : 1 below the band 50 to 100: much is left to free" in text


def advised(**changes: Any) -> str:
    """The text of the page with this advice for SG06."""
    found = advise(example(), default_settings(), NOW)
    one = next(each for each in found if (each.computer, each.database) == PRIV06)
    advice = (msgspec.structs.replace(one, **changes),)
    return Page(render_status(overview(example(), default_settings(), NOW, advice), READY)).text


def test_the_advice_is_one_line_with_the_lengths() -> None:
    shrink = WindowAdvice(
        action="shrink", rule="ratio_high", configured_seconds=14400, recommended_seconds=9900
    )
    assert "window: shrink 4 h → 2 h 45 min" in advised(window=shrink)
    keep = WindowAdvice(
        action="keep", rule="otherwise", configured_seconds=14400, recommended_seconds=14400
    )
    assert "window: keep 4 h" in advised(window=keep)
    assert "→ 4 h" not in advised(window=keep)
    nothing = WindowAdvice(action="insufficient_evidence", rule="evidence")
    assert "window: not enough evidence yet" in advised(window=nothing)
    assert "window: " not in advised(window=WindowAdvice(action="not_applicable", rule="cycles"))


def test_a_forecast_stands_against_its_deadline() -> None:
    known = Forecast(task="defrag", p50=NOW + 3600, p90=NOW + 7200, deadline=NOW + 86400)
    assert "done by 2007-06-27 01:20 (90 %), deadline 2007-06-27 23:20" in advised(
        forecasts=(known,)
    )
    free = Forecast(task="checksum", p50=NOW, p90=NOW + 60)
    assert "done by 2007-06-26 23:21 (90 %)" in advised(forecasts=(free,))
    assert "deadline" not in advised(forecasts=(free,))
    assert "done by" not in advised(forecasts=(Forecast(task="defrag", deadline=NOW),))


def test_an_open_pass_says_how_often_it_was_interrupted() -> None:
    assert "interrupted 6 times so far" in status().text


def test_hidden_counters_come_with_the_value_that_shows_them() -> None:
    text = status().text
    assert "ex19: Online Defrag Pages Freed/sec, Online Defrag Pages Read/sec" in text
    assert r"HKLM\SYSTEM\CurrentControlSet\Services\ESE\Performance" in text
    assert "Show Advanced Counters" in text


def test_an_empty_state_says_where_to_go_on() -> None:
    page = status(State())
    assert_self_contained(page)
    assert "No database has been seen yet." in page.text
    assert "esewatch doctor" in page.text
    assert "No source is configured." in page.text


def test_a_first_reading_that_goes_on_is_said() -> None:
    page = status(ready=(False, f"first reading of {HOSTILE}"))
    assert_self_contained(page)
    assert "Still reading for the first time: first reading of <script>" in page.text


def test_names_are_text_whatever_they_are() -> None:
    page = status()
    assert "<script>alert(1)</script>" in page.text
    assert "{{ 7*7 }}" in page.text
    assert "\u202e" not in page.text


@pytest.mark.parametrize(
    "name", ["\0\x01\x1b[31m", "\x85\x9b", "a\u2066b\u2069c", "\ud800", "\u200f"]
)
def test_characters_that_hide_or_turn_text_round_are_replaced(name: str) -> None:
    page = status(State(databases={("x", name): Database(computer="x", database=name)}))
    assert_self_contained(page)
    assert not set(name) & set(page.text) - set("abc[31m")


def test_a_thousand_databases_fit_in_a_page() -> None:
    databases = {
        ("ex01", f"e:\\{n}.edb"): Database(computer="ex01", database=f"e:\\{n}.edb")
        for n in range(1000)
    }
    page = status(State(databases=databases))
    assert "1,000 databases, no bad page known." in page.text


def test_runbook_pages_lead_back() -> None:
    listed = Page(render_runbooks(["EseKnownBadPage"]))
    assert_self_contained(listed)
    assert "/runbooks/EseKnownBadPage" in listed.urls
    assert "no runbook" in Page(render_runbooks([])).text
    shown = Page(render_runbook("EseKnownBadPage", "# EseKnownBadPage\n\nText."))
    assert_self_contained(shown)
    assert {"/", "/runbooks/"} <= set(shown.urls)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (0.0, "0 s"),
        (0.25, "0.25 s"),
        (59.6, "1 min"),
        (208.0, "3 min 28 s"),
        (3600.0, "1 h"),
        (124_919.0, "34 h 42 min"),
        (1_987_200.0, "23 d"),
        (90_000_000.0, "1,041 d 16 h"),
    ],
)
def test_durations_are_short(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_numbers_are_grouped_and_sizes_have_a_unit() -> None:
    assert (count(5_850_768), count(None), count(math.inf)) == ("5,850,768", "–", "–")
    assert (size(512), size(47_929_491_456), size(5e15)) == ("512 bytes", "44.6 GiB", "4,547.5 TiB")
    assert size(None) == "–"


def test_a_time_that_is_none_is_a_dash_and_never_an_error() -> None:
    assert "2007-06-26 23:20" in time_tag(NOW)
    assert "never seen" in time_tag(None, "never seen")
    assert "–" in time_tag(1e300)
