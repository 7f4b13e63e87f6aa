"""The pages as a person's browser gets them."""

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import Detail, Finding, not_heard
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.judgement import Judgement
from esewatch.advice.not_judged import Blind
from esewatch.advice.window.evidence import Evidence
from esewatch.advice.window.window import ACTIONS, WindowAdvice
from esewatch.config import DatabaseRule, Settings, default_settings
from esewatch.daemon.publisher import Pages
from esewatch.expose.formatting import (
    age_text,
    ago,
    as_of,
    count,
    days,
    duration,
    number,
    time_tag,
)
from esewatch.expose.pages.overview import DatabaseFigures, overview
from esewatch.expose.pages.rendering import (
    MAX_ROWS,
    MAX_SECTIONS,
    computer_link,
    database_link,
    folded,
    render_computer,
    render_computers,
    render_database,
    render_nothing,
    render_runbook,
    render_runbooks,
    render_status,
    row_of,
    shown_verdict,
    urgent,
    window_rows,
)
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from esewatch.fold.passes.transitions import pack
from esewatch.fold.state.state import BadPage, Database, SourceState, State
from tests.expose.examples import (
    DAY,
    HOSTILE,
    MBX,
    NOW,
    NTDS,
    PRIV03,
    PRIV06,
    STRANGE,
    damaged,
    domain_controller,
    example,
    exchange_2007,
    many,
    told_of,
    with_counted_ratios,
)
from tests.expose.html import Page, assert_self_contained
from tests.expose.pages.test_summary import seen
from tests.expose.pages_of import pages_of

READY = (True, "")


def shown_of(state: State, advice: Iterable[Judgement] | None = None) -> Pages:
    settings = default_settings()
    told = advise(state, settings, NOW) if advice is None else tuple(advice)
    return pages_of(state, settings, NOW, told)


def status_html(
    state: State, ready: tuple[bool, str] = READY, advice: Iterable[Judgement] | None = None
) -> str:
    shown = shown_of(state, advice)
    pages = [shown.database(state, *label) for label in labels(shown)]
    return render_status(
        shown.overview, [page for page in pages if page is not None], ready, Runbooks()
    )


def labels(shown: Pages) -> list[tuple[str, str]]:
    return [(each.computer, each.database) for each in urgent(shown.overview)]


def status(state: State | None = None, ready: tuple[bool, str] = READY) -> Page:
    return Page(status_html(state if state is not None else example(), ready))


def database_page(
    label: tuple[str, str],
    state: State | None = None,
    advice: Iterable[Judgement] | None = None,
) -> Page:
    state = state if state is not None else example()
    page = shown_of(state, advice).database(state, *label)
    assert page is not None
    found = Page(render_database(page, Runbooks()))
    assert_self_contained(found)
    return found


def tiles(page: Page) -> list[str]:
    """The four numbers as a machine reads them."""
    values = [attributes["value"] for name, attributes in page.elements if name == "data"]
    return values[:4]


def test_the_status_page_needs_nothing_else_and_is_accessible() -> None:
    page = status()
    assert_self_contained(page)
    assert {"/metrics", "/api/v1/databases", "/runbooks/", "/computer"} <= set(page.urls)
    assert "svg" in page.names()


def test_the_status_page_leads_with_four_numbers() -> None:
    page = status()
    assert tiles(page) == ["1", "2", "0", "2"]
    assert "✖ copy with bad pages" in page.text
    assert "○ hosts with missing or stale data" in page.text
    assert "ex01: perfmon_csv-1" in page.text
    assert page.text.startswith("✖ esewatch")


def test_what_is_most_urgent_comes_first_and_window_advice_after_all_databases() -> None:
    text = status().text
    order = [
        text.index(words)
        for words in (
            "✖ 3 pages (17, 4711 and 1 without a known number) of priv3.edb are bad",
            "copy with bad pages",
            "setting",
            "Most urgent first",
            "What is found",
            "action required",
            "Windows that should change come first",
            "Each source, and how far",
        )
    ]
    assert order == sorted(order)


@pytest.mark.parametrize(
    ("sources", "why"),
    [
        ({}, "no source of events or counters is configured"),
        ({"log": SourceState(name="log")}, "no source of events or counters is configured"),
    ],
    ids=["none", "never read"],
)
def test_an_agent_without_a_database_shows_no_zero_and_no_sign_for_good(
    sources: dict[str, SourceState], why: str
) -> None:
    page = status(State(sources=sources))
    assert_self_contained(page)
    assert page.text.count("not judged – ") == 4 - bool(sources)
    assert f"Not judged: {why}. To see what is missing, run: esewatch doctor" in page.text
    assert "●" not in page.text
    assert "0 ●" not in page.text


def test_while_every_source_is_down_no_tile_has_the_sign_for_good() -> None:
    page = status(seen(example(), up=False, caught_up=False))
    assert "0 ●" not in page.text
    assert "not judged – databases refusing writes" in page.text
    assert "Not judged: nothing current is known of 4 watched databases." in page.text


def test_ages_are_told_in_words_and_never_in_parts_of_a_second() -> None:
    assert [ago(each) for each in (0.0, 0.642, 59.9, 61, 7200, 3 * DAY, None)] == [
        "less than a minute ago",
        "less than a minute ago",
        "less than a minute ago",
        "1 min 1 s ago",
        "2 h ago",
        "3 days ago",
        "–",
    ]


@pytest.mark.parametrize(
    ("then", "today", "told"),
    [
        ("2024-03-28", "2026-11-29", "2 years 8 months"),
        ("2024-03-30", "2026-11-29", "2 years 7 months"),
        ("2025-11-29", "2026-11-29", "1 year"),
        ("2026-08-29", "2026-11-29", "3 months"),
        ("2026-10-28", "2026-11-29", "32 days"),
        ("2026-11-26", "2026-11-29", "3 days"),
        ("2026-11-27", "2026-11-29", ""),
        ("2026-12-01", "2026-11-29", ""),
    ],
)
def test_the_age_of_a_record_is_of_the_calendar(then: str, today: str, told: str) -> None:
    begin, end = (datetime.fromisoformat(f"{each}T12:00Z").timestamp() for each in (then, today))
    assert age_text(begin, end) == told


def test_as_of_names_the_last_record_and_the_oldest_of_the_computers() -> None:
    now = datetime(2026, 11, 29, tzinfo=UTC).timestamp()
    last, first = (datetime(2024, 3, day, tzinfo=UTC).timestamp() for day in (28, 3))
    assert as_of([last], now) == "As of 28 March 2024, 2 years 8 months before this report."
    assert as_of([last, first], now).endswith(" as of its last record, the oldest of 3 March 2024.")
    assert as_of([], now) == ""


def test_a_state_is_a_sign_and_a_word_beside_its_colour() -> None:
    text = status().text
    for words in ("✖ bad pages", "✖ cannot be read", "▲ reading", "● up to date"):
        assert words in text


def test_the_page_says_as_of_when_it_is_and_never_loads_itself_anew() -> None:
    page = status()
    assert "As of 2007-06-26 23:20 UTC." in page.text
    assert all("http-equiv" not in attributes for _, attributes in page.elements)


def test_a_domain_controller_shows_no_ratio_and_says_why() -> None:
    page = database_page(NTDS)
    assert "garbage collection" in page.text
    assert "No ratio is judged." in page.text
    assert "No window on this model" in page.text
    assert " : 1" not in page.text


def test_what_was_never_verified_is_not_called_ok() -> None:
    """Nothing proves the pages of a directory good: of it only the absence of problems is known."""
    text = database_page(NTDS).text
    assert "No verification is known" in text
    assert "□ not verified NTDSA on dc01" in text
    assert "●" not in text


def test_the_ratio_of_a_window_comes_with_its_verdict_and_evidence() -> None:
    advice = with_counted_ratios(example())
    text = " ".join(database_page(key, advice=advice).text for key in (PRIV06, PRIV03))
    assert "143.2 : 1 above the band 50 to 100: little is left to free" in text
    assert "29.03 : 1 below the band 50 to 100: much is left to free" in text
    assert "6,128,300 pages read, 42,794 freed" in text


def test_where_the_advice_has_no_ratio_the_page_shows_none() -> None:
    text = database_page(PRIV06).text
    assert "Read : freed no verdict: The counters" in text
    assert " : 1 " not in text
    assert " : 0 " not in text
    assert "6,128,300 pages read, 42,794 freed, from all counter samples" in text
    assert "counters cover" in text
    assert "confidence" in text


def advised(**changes: Any) -> str:
    """The text of the status page and of that of SG06 with this advice for it."""
    found = advise(example(), default_settings(), NOW)
    one = next(each for each in found if (each.computer, each.database) == PRIV06)
    advice = (msgspec.structs.replace(one, **changes),)
    whole = status_html(example(), advice=advice)
    return f"{Page(whole).text} {database_page(PRIV06, advice=advice).text}"


def test_the_advice_comes_with_the_lengths() -> None:
    shrink = WindowAdvice(
        action="shrink", rule="ratio_high", configured_seconds=14400, recommended_seconds=9900
    )
    assert "Window advice shrink 4 h → 2 h 45 min" in advised(window=shrink)
    assert "1 window: 1 to shrink" in advised(window=shrink)
    keep = WindowAdvice(
        action="keep", rule="otherwise", configured_seconds=14400, recommended_seconds=14400
    )
    assert "Window advice keep 4 h" in advised(window=keep)
    assert "→ 4 h" not in advised(window=keep)
    nothing = WindowAdvice(action="insufficient_evidence", rule="evidence")
    assert "Window advice not enough evidence yet" in advised(window=nothing)
    none = advised(window=WindowAdvice(action="not_applicable", rule="cycles"))
    assert "Window advice" not in none


def test_the_evidence_of_the_advice_says_of_which_days_it_is() -> None:
    """Of 12 weeks where windows are rare, of 4 d 19 h where the log is short: never of a month."""
    for whole, said in ((83.5, "83 d 12 h"), (4.8, "4 d 19 h")):
        window = WindowAdvice(
            action="keep",
            rule="otherwise",
            configured_seconds=14400,
            recommended_seconds=14400,
            evidence=Evidence(windows=4, passes=1, days=whole),
        )
        assert f"Evidence of {said}: No page counted in 4 windows" in advised(window=window)


def test_a_forecast_stands_against_its_deadline() -> None:
    known = Forecast(task="defrag", p50=NOW + 3600, p90=NOW + 7200, deadline=NOW + 86400)
    text = advised(forecasts=(known,))
    assert "defrag by 2007-06-27 01:20 deadline 2007-06-27 23:20" in text
    assert "done by 2007-06-27 01:20 (90 %), deadline 2007-06-27 23:20" in text
    late = Forecast(task="defrag", p50=NOW + 3600, p90=NOW + 7200, deadline=NOW + 4000)
    assert "defrag by 2007-06-27 01:20 ▲ after its deadline" in advised(forecasts=(late,))
    free = Forecast(task="checksum", p50=NOW, p90=NOW + 60)
    assert "done by 2007-06-26 23:21 (90 %)" in advised(forecasts=(free,))
    assert "done by" not in advised(forecasts=(Forecast(task="defrag", deadline=NOW),))


def test_what_no_finding_sums_up_is_said_where_it_leads_to_its_runbook() -> None:
    missing = Detail("backup_missing", "warning", "no backup of it has completed for 9 days")
    found = advise(example(), default_settings(), NOW)
    advice = [msgspec.structs.replace(each, details=(missing,)) for each in found]
    page = Page(status_html(example(), advice=advice))
    assert "no backup of it has completed for 9 days" in page.text
    assert any(url.startswith("/runbooks/EseBackupMissing") for url in page.urls)


def test_a_zero_of_a_computer_that_is_not_heard_is_no_zero() -> None:
    found = advise(example(), default_settings(), NOW)
    silent = not_heard(NOW - 20 * DAY, 14 * DAY, "warning", stopped=False)
    advice = [told_of(each, silent, verdict="blind") for each in found]
    assert "Known bad pages 0" in Page(status_html(example(), advice=found)).text
    assert "Known bad pages 0" not in Page(status_html(example(), advice=advice)).text


def test_a_finding_leads_to_its_runbook_where_there_is_one() -> None:
    found = advise(example(), default_settings(), NOW)
    late = Finding("verification_overdue", "last verified long ago")
    advice = [told_of(each, late) for each in found]
    page = Page(status_html(example(), advice=advice))
    assert "last verified long ago" in page.text
    linked = {
        url.removeprefix("/runbooks/").partition("?")[0]
        for url in page.urls
        if url.startswith("/runbooks/E")
    }
    assert {"EseVerificationOverdue", "EseKnownBadPage"} <= linked
    assert linked <= set(Runbooks().names())


def test_an_open_pass_says_how_often_it_was_interrupted() -> None:
    assert "interrupted 6 times so far" in database_page(PRIV06).text


def test_corrected_pages_are_no_known_bad_pages() -> None:
    state = State(databases={PRIV03: damaged()})
    said = "Known bad pages 3: 1 an old version, as a write was lost; 2 checksum, not correctable"
    assert f"{said} Corrected pages 1 Last verified without a bad page" in status(state).text
    state.databases[PRIV03].bad_pages = [BadPage(99, "corrected", NOW - DAY, NOW - DAY)]
    state.databases[PRIV03].transitions = pack([])
    assert "Known bad pages 0 Corrected pages 1 Last verified" in status(state).text
    assert "Corrected pages" not in status(State(databases={PRIV06: exchange_2007()})).text


def test_a_verification_stands_against_its_limit() -> None:
    text = status().text
    assert "2007-06-24 23:23 48 h ago, limit 7 days" in text
    assert "never seen limit 7 days" in text


def test_a_directory_that_nothing_ever_verified_has_no_limit() -> None:
    assert "never seen no limit" in status(State(databases={NTDS: domain_controller()})).text
    text = database_page(NTDS).text
    assert "All pages verified never seen; no limit Last defrag" in text
    assert "7 days" not in text
    without = Page(status_html(State(databases={NTDS: domain_controller()}), advice=())).text
    assert "no limit" not in without
    verified = example()
    verified.databases[NTDS].verified = {"page_scan": NOW - DAY}
    assert "to be done every 7 days" in database_page(NTDS, verified).text


def test_hidden_counters_come_with_the_commands_that_show_them() -> None:
    state = example()
    state.hosts["ex19"].counters_present = {"Online Defrag": False, "Database Maintenance": True}
    text = status(state).text
    assert "ex19: Online Defrag" in text
    assert (
        r'reg add "HKLM\SYSTEM\CurrentControlSet\Services\ESE\Performance"'
        ' /v "Show Advanced Counters" /t REG_DWORD /d 1 /f'
    ) in text
    assert "logman stop esewatch" in text
    assert (
        r'typeperf -sc 1 "\MSExchange Database ==> Instances(*)\Online Defrag Pages Read/sec"'
    ) in text
    assert r"\Services\ESENT\Performance" not in text


def test_an_empty_state_says_where_to_go_on() -> None:
    page = status(State())
    assert_self_contained(page)
    assert tiles(page) == []
    assert "No database has been seen yet." in page.text
    assert "esewatch doctor" in page.text
    assert "No source is configured." in page.text
    assert (
        "No database has been seen yet." in Page(render_computers(shown_of(State()).overview)).text
    )


def test_a_first_reading_that_goes_on_is_said() -> None:
    page = status(ready=(False, f"first reading of {HOSTILE}"))
    assert_self_contained(page)
    assert "Still reading for the first time: first reading of <script>" in page.text


def test_names_are_text_whatever_they_are() -> None:
    view = shown_of(example()).overview
    computer = render_computer(view, STRANGE[0])
    assert computer is not None
    for page in (status(), database_page(STRANGE), Page(computer)):
        assert_self_contained(page)
        assert "<script>alert(1)</script>" in page.text
        assert "{{ 7*7 }}" in page.text
        assert "\u202e" not in page.text


def test_a_page_leads_from_the_status_to_the_database_and_back() -> None:
    for label in (PRIV03, NTDS, STRANGE):
        assert database_link(*label) in status().urls
        assert {"/", computer_link(label[0])} <= set(database_page(label).urls)
    view = shown_of(example()).overview
    html = render_computer(view, STRANGE[0])
    assert html is not None
    assert {"/", database_link(*STRANGE)} <= set(Page(html).urls)
    assert computer_link(STRANGE[0]) in Page(render_computers(view)).urls


def test_a_database_has_all_its_passes_and_bad_pages_on_its_page() -> None:
    text = database_page(PRIV03).text
    assert "Unresolved bad pages" in text
    assert "4711" in text
    assert "Events about damaged pages: 3 checksum" in text
    older = database_page(PRIV06).text
    assert "Passes of SG06 on ex01, newest first" in older
    assert "Input and output: 3 slow reads (the last one 17 s" in older


def test_before_a_database_was_first_seen_no_events_are_said_to_be_missing() -> None:
    page = database_page(STRANGE)
    assert "events missing" not in page.text.lower()
    assert "no record" in page.text


def test_a_database_that_nothing_has_read_has_no_bad_page_that_is_known() -> None:
    assert re.search(r"Known bad pages\s+0\s", database_page(STRANGE).text)


def test_the_page_of_a_computer_has_its_sources_and_hidden_counters() -> None:
    view = shown_of(example()).overview
    html = render_computer(view, MBX[0])
    assert html is not None
    page = Page(html)
    assert_self_contained(page)
    assert "Hidden counters" in page.text
    blind = render_computer(view, "ex01")
    assert blind is not None
    assert "Missing or stale data: perfmon_csv-1" in Page(blind).text
    assert "evtx-1" in Page(blind).text
    assert render_computer(view, "nobody") is None


@pytest.mark.parametrize(
    ("why", "runbooks"),
    [
        ("log cannot be read", {"/runbooks/EsewatchRecordsMissed"}),
        ("events are missing", {"/runbooks/EsewatchRecordsMissed"}),
        (
            "log is not read to its end, events are missing",
            {"/runbooks/EsewatchBehind", "/runbooks/EsewatchRecordsMissed"},
        ),
    ],
)
def test_a_blind_computer_leads_to_the_runbook_of_its_cause(why: str, runbooks: set[str]) -> None:
    view = shown_of(example()).overview
    fleet = view.fleet._replace(blind=(Blind("ex01", why),))
    html = render_computer(msgspec.structs.replace(view, fleet=fleet), "ex01")
    assert html is not None
    assert {url for url in Page(html).urls if "Esewatch" in url} == runbooks


def test_what_is_not_known_is_one_sentence() -> None:
    page = Page(render_nothing("database", HOSTILE, "ws07"))
    assert_self_contained(page)
    assert "No database <script>alert(1)</script>" in page.text
    assert "is known here; the status page lists those that are." in page.text
    assert "No computer without a name is known" in Page(render_nothing("computer", "")).text


@pytest.mark.parametrize(
    "name", ["\0\x01\x1b[31m", "\x85\x9b", "a\u2066b\u2069c", "\ud800", "\u200f"]
)
def test_characters_that_hide_or_turn_text_round_are_replaced(name: str) -> None:
    state = State(databases={("x", name): Database(computer="x", database=name)})
    page = status(state)
    assert_self_contained(page)
    assert not set(name) & set(page.text) - set("abc[31m")
    (found,) = shown_of(state).overview.databases
    assert shown_of(state).database(state, found.computer, found.database) is not None


def test_a_database_in_a_place_that_is_ignored_is_on_every_page_by_its_damage() -> None:
    name = "c:\\users\\ann\\temp\\tmp.edb"
    bad = BadPage(page=4, kind="uncorrectable", first=NOW - DAY, last=NOW - DAY)
    temporary = Database(computer="ws1", database=name, bad_pages=[bad])
    state = State(databases={("ws1", name): temporary})
    view = shown_of(state).overview
    assert [(each.tier, each.verdict) for each in view.databases] == [("observed", "bad_pages")]
    ignoring = Settings(databases=[DatabaseRule(match="*", tier="ignored")])
    told = overview(state, ignoring, NOW).databases
    assert [(each.tier, each.verdict) for each in told] == [("ignored", None)]
    html = render_computer(view, "ws1")
    assert html is not None
    for page in (status(state), Page(html), database_page(("ws1", name), state)):
        assert_self_contained(page)
        assert "✖ bad pages" in page.text


def test_what_is_not_judged_yet_is_said_beside_the_four_numbers() -> None:
    assert "Not judged yet: 2 databases" in Page(status_html(many(2, 1)[0], advice=())).text
    assert "Not judged yet" not in status(many(2, 1)[0]).text


def test_a_computer_with_a_thousand_databases_shows_the_most_urgent_and_leads_to_the_others() -> (
    None
):
    state, advice = many(1000, 1)
    html = render_computer(shown_of(state, advice).overview, "ex000") or ""
    page = Page(html)
    assert len(html.encode()) < 300_000
    assert f"{1000 - MAX_ROWS} less urgent databases of this computer" in page.text
    assert "/databases?computer=ex000" in page.urls


def test_a_database_with_a_thousand_bad_pages_has_a_page_of_less_than_300_kb() -> None:
    state = example()
    state.databases[PRIV06].bad_pages = [
        BadPage(2 * page, "uncorrectable", NOW - 700 * page, NOW) for page in range(1, 1000)
    ]
    found = shown_of(state, None).database(state, *PRIV06)
    assert found is not None
    html = render_database(found, Runbooks())
    assert len(html.encode()) < 300_000
    assert "Page 2 was first reported: checksum, not correctable." in Page(html).text
    assert "799 more bad pages not listed" in Page(html).text


@pytest.mark.slow
@pytest.mark.parametrize("computers", [40, 1000])
def test_a_thousand_databases_are_folded_into_a_page_of_300_kb(computers: int) -> None:
    state, advice = many(1000, computers)
    html = status_html(state, advice=advice)
    page = Page(html)
    assert_self_contained(page)
    assert len(html.encode()) < 300_000
    assert tiles(page) == ["0", "1000", "0", "0"]
    assert f"{1000 - MAX_ROWS} less urgent databases on" in page.text
    assert page.names().count("article") == MAX_SECTIONS
    listed = Page(render_computers(shown_of(state, advice).overview))
    reachable = {*page.urls, *listed.urls}
    assert {computer_link(key[0]) for key in state.databases} <= reachable


def test_the_fold_counts_every_database_that_is_not_in_the_table() -> None:
    state, advice = many(MAX_ROWS + 30, 10)
    text = Page(status_html(state, advice=advice)).text
    _, _, fold = text.partition("30 less urgent databases on 3 computers")
    counts = re.findall(r"ex\d{3}: (\d+) ▲ unverified", fold)
    assert sum(map(int, counts)) == 30
    assert len(counts) == 3


def test_runbook_pages_lead_back() -> None:
    listed = Page(render_runbooks(Runbooks()), at="/runbooks/")
    assert_self_contained(listed)
    assert "/runbooks/EseKnownBadPage" in listed.urls
    assert "EseDiskFull The engine could not create its next log file (event 413)" in listed.text
    assert "no runbook" in Page(render_runbooks(Runbooks([])), at="/runbooks/").text
    shown = Page(render_runbook("EseKnownBadPage", "# EseKnownBadPage\n\nText."), at="/runbooks/x")
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


def test_numbers_are_grouped() -> None:
    assert (count(5_850_768), count(None), count(math.inf)) == ("5,850,768", "–", "–")


def test_an_age_is_told_in_days_or_hours() -> None:
    assert (days(604_800.0), days(200_000.0), days(90_000.0)) == ("7 days", "2.3 days", "25 h")
    assert (days(90.0), days(None), days(math.inf)) == ("1 min 30 s", "–", "–")


def test_a_figure_for_machines_is_that_of_the_json() -> None:
    assert (number(7200.0), number(0.25), number(143.20464)) == ("7200", "0.25", "143.20464")
    assert (number(None), number(math.nan)) == ("", "")


def test_a_time_that_is_none_is_a_dash_and_never_an_error() -> None:
    assert "2007-06-26 23:20" in time_tag(NOW)
    assert "never seen" in time_tag(None, "never seen")
    for strange in (1e300, 1e305, -1e305, math.inf, math.nan):
        assert "–" in time_tag(strange)


def figures() -> DatabaseFigures:
    """SG06, last verified two days ago."""
    settings = default_settings()
    view = overview(example(), settings, NOW, advise(example(), settings, NOW))
    return next(each for each in view.databases if (each.computer, each.database) == PRIV06)


@pytest.mark.parametrize("overdue", [False, True])
def test_a_verification_is_overdue_by_the_judgement(overdue: bool) -> None:
    of = figures()
    assert of.advice is not None
    assert not of.advice.overdue
    advice = msgspec.structs.replace(of.advice, overdue=overdue)
    row = row_of(msgspec.structs.replace(of, advice=advice), NOW)
    assert row.age == pytest.approx(2 * DAY - 208)
    assert row.overdue is overdue
    assert row_of(msgspec.structs.replace(of, verified={}), NOW).age is None


def test_the_forecast_is_the_one_with_least_time_left_and_has_a_date() -> None:
    one = figures()
    assert one.advice is not None
    dated = Forecast(task="checksum", p50=NOW, p90=NOW + 2, deadline=NOW + 1)
    free = Forecast(task="defrag", p50=NOW, p90=NOW + 9)
    told = msgspec.structs.replace(one.advice, forecasts=(free, dated))
    row = row_of(msgspec.structs.replace(one, advice=told), NOW)
    assert row.forecast == dated
    assert row.late
    undated = msgspec.structs.replace(
        one.advice, forecasts=(Forecast(task="defrag", deadline=1.0),)
    )
    assert row_of(msgspec.structs.replace(one, advice=undated), NOW).forecast is None
    assert not row_of(msgspec.structs.replace(one, advice=None), NOW).late


def test_windows_that_call_for_a_change_come_first_and_other_models_not_at_all() -> None:
    one = figures()
    assert one.advice is not None
    rows = []
    for action in ACTIONS:
        window = WindowAdvice(action=action, rule="any")
        told = msgspec.structs.replace(one.advice, window=window)
        rows.append(row_of(msgspec.structs.replace(one, advice=told), NOW))
    rows.append(row_of(msgspec.structs.replace(one, advice=None), NOW))
    found = [row.figures.advice.window.action for row in window_rows(rows) if row.figures.advice]
    assert found == ["move", "grow", "shrink", "keep", "insufficient_evidence"]


def test_the_fold_is_by_computer_worst_verdict_first() -> None:
    one = figures()
    found = folded(
        msgspec.structs.replace(one, computer=computer, verdict=verdict)
        for computer, verdict in (("b", "ok"), ("a", "look"), ("b", "bad_pages"), ("b", "ok"))
    )
    assert [(each.computer, each.databases, list(each.verdicts.items())) for each in found] == [
        ("b", 3, [("bad_pages", 1), ("ok", 2)]),
        ("a", 1, [("look", 1)]),
    ]


def test_an_ignored_database_is_shown_by_its_damage() -> None:
    ignored = msgspec.structs.replace(figures(), verdict=None, status="bad")
    assert shown_verdict(ignored) == "bad_pages"
    assert shown_verdict(msgspec.structs.replace(ignored, status="attention")) == "look"


def test_links_hold_any_name() -> None:
    assert database_link("ex01", 'e:\\a&b="<é>') == (
        "/database?computer=ex01&database=e%3A%5Ca%26b%3D%22%3C%C3%A9%3E"
    )
    assert computer_link("a b&c") == "/computer?name=a+b%26c"
