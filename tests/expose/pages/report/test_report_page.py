"""`report`: what it says of each kind of database, and what it never says."""

import re
from collections.abc import Sequence

import msgspec
import pytest
from markupsafe import Markup

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import Finding, not_heard
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.window.window import WindowAdvice
from esewatch.config import default_settings
from esewatch.expose.formatting import time_tag
from esewatch.expose.pages.report.database_pages import Advised
from esewatch.expose.pages.report.report_page import (
    ReportPage,
    build_report,
    render_report,
    result_sentence,
)
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from esewatch.fold.passes.transitions import pack
from esewatch.fold.state.checkdb_results import SqlDatabase
from esewatch.fold.state.state import BadPage, Damage, Database, State, Transition
from esewatch.model import Unreadable
from tests.expose.examples import (
    DAY,
    HOSTILE,
    NOW,
    NTDS,
    current_exchange,
    damaged,
    domain_controller,
    example,
    exchange_2007,
    told_of,
    with_counted_ratios,
)
from tests.expose.html import Page, assert_self_contained
from tests.support.calls import Calls

PIECES = [
    Unreadable(path="/logs/a.evtx", place="chunk 3", reason="wrong checksum"),
    Unreadable(path=HOSTILE, place="", reason=HOSTILE),
]


def report(
    state: State | None = None,
    unreadable: Sequence[Unreadable] = (),
    advised: Sequence[Advised] = (),
) -> ReportPage:
    return build_report(
        state if state is not None else example(),
        default_settings(),
        NOW,
        inputs=["/logs/a.evtx"],
        unreadable=unreadable,
        advised=advised,
    )


def page(
    state: State | None = None,
    unreadable: Sequence[Unreadable] = (),
    advised: Sequence[Advised] = (),
) -> Page:
    built = build_report(
        state if state is not None else example(),
        default_settings(),
        NOW,
        inputs=["/logs/a.evtx", HOSTILE],
        unreadable=unreadable,
        advised=advised,
    )
    html = render_report(built)
    found = Page(html)
    assert_self_contained(found)
    return found


def state_of(*databases: Database) -> State:
    return State(databases={(each.computer, each.database): each for each in databases})


def test_the_headline_names_the_databases_with_bad_pages() -> None:
    assert report().headline == "1 of 6 databases has bad pages: SG03 on ex02."
    many = []
    for number in range(5):
        each = damaged()
        each.computer = f"ex{number}"
        many.append(each)
    assert report(state_of(*many)).headline == (
        "5 of 5 databases have bad pages: SG03 on ex0, SG03 on ex1, SG03 on ex2 and 2 more."
    )


def torn(computer: str = "ex07") -> Database:
    """No page of it is bad: its content is."""
    each = exchange_2007()
    each.computer = computer
    each.damage = {"logical": Damage(1, [NOW - 3600], [467])}
    return each


def test_damage_without_a_bad_page_is_called_damage() -> None:
    alone = report(state_of(torn()))
    assert alone.headline == "1 of 1 database has damage: SG06 on ex07."
    assert result_sentence(alone).startswith("1 database: 1 with damage")
    text = page(state_of(torn())).text.partition("What to do The runb")[0]
    assert "✖ copy with bad pages or damage" in text
    assert "✖ damage SG06 on ex07" in text
    assert "Known bad pages 0" in text
    assert "✖ bad pages" not in text
    assert not re.search("ha(s|ve) bad pages", text)


def test_damage_beside_bad_pages_is_told_from_them() -> None:
    both = report(state_of(torn(), torn("ex08"), damaged()))
    assert both.headline.startswith("3 of 3 databases have bad pages or damage: SG03 on ex02, SG06")
    assert result_sentence(both).startswith("3 databases: 3 with bad pages or damage")
    text = page(state_of(torn(), damaged())).text
    assert "✖ 1 report of logical corruption. SG06 on ex07" in text
    assert "✖ damage SG06 on ex07" in text
    assert "✖ bad pages SG03 on ex02" in text
    bad = torn()
    bad.bad_pages = damaged().bad_pages
    assert report(state_of(bad)).headline == "1 of 1 database has bad pages: SG06 on ex07."


def test_without_a_bad_page_the_headline_does_not_claim_that_all_is_verified() -> None:
    found = report(state_of(exchange_2007(), domain_controller()))
    assert found.headline == "No bad page is known in 2 databases on 2 computers."
    assert found.remark.startswith("1 of 2 watched databases has never been fully verified")
    assert report(state_of(exchange_2007())).remark == (
        "Every page of every watched database was verified at least once."
    )


def test_a_zero_says_of_how_many_where_a_server_is_silent() -> None:
    state = state_of(exchange_2007(), current_exchange())
    given = advise(state, default_settings(), NOW)
    of_silent = (not_heard(NOW - 30 * DAY, 14 * DAY, "warning", stopped=False),)
    silent = msgspec.structs.replace(given[0], findings=of_silent, verdict="blind")
    found = page(state, advised=[Advised(NOW, (silent, given[1]))]).text
    assert (
        "No bad page is known in 1 database on 1 computer; nothing current is known of 1" in found
    )
    assert "● databases refusing writes, or about to, of 1 heard" in found
    none = page(
        state,
        advised=[
            Advised(
                NOW,
                tuple(
                    msgspec.structs.replace(each, findings=of_silent, verdict="blind")
                    for each in given
                ),
            )
        ],
    ).text
    assert "Not judged: nothing current is known of 2 databases." in none


def test_logs_without_a_database_make_a_page_all_the_same() -> None:
    text = page(State()).text
    assert "Not judged: no ESE database is named in these logs" in text
    assert text.count("not judged – ") == 4
    assert "wevtutil epl Application Application.evtx" in text
    assert "●" not in text


def test_the_first_line_says_as_of_when_and_how_long_ago_that_is() -> None:
    old = Advised(NOW - 62 * 86400.0, (), computers=["ex01"])
    first = page(advised=[old]).text.removeprefix(
        "✖ ESE maintenance report ESE maintenance report "
    )
    assert first.startswith("As of 25 April 2007, 2 months before this report. ")
    now = page(advised=[Advised(NOW, (), computers=["ex01"])]).text
    assert "As of 26 June 2007 23:20 UTC. " in now


def test_two_that_nobody_verified_are_no_zero_unverified() -> None:
    controllers = [domain_controller(), domain_controller()]
    controllers[1].computer = "dc02"
    state = state_of(*controllers)
    found = page(state, advised=[Advised(NOW, advise(state, default_settings(), NOW))]).text
    assert "2 □ copies never verified, and nothing asks for it" in found
    assert "not judged – copies with bad pages or damage" in found
    assert "0 ● copies unverified" not in found
    assert "Not judged: no verification of 2 watched databases is known." in found
    assert "□ not verified" in found


def test_inputs_that_could_not_be_read_stand_at_the_top() -> None:
    built = build_report(
        example(),
        default_settings(),
        NOW,
        inputs=["/logs/a.evtx", "/logs/b.evtx"],
        unreadable=[],
        unread=["/logs/b.evtx: no such file"],
        advised=[],
    )
    text = Page(render_report(built)).text
    assert text.index("1 of 2 inputs could not be read") < text.index("Databases")
    assert "/logs/b.evtx: no such file" in text
    assert result_sentence(built).endswith("; 1 input could not be read")


def test_watched_databases_come_before_the_folded_others() -> None:
    found = report()
    assert [each.figures.tier for each in found.watched] == ["watched"] * 4
    assert [each.figures.tier for each in found.others] == ["observed"] * 2
    shown = page()
    assert shown.names().count("details") >= 2
    assert shown.text.index("DB01") < shown.text.index("Other ESE databases")


def test_a_domain_controller_shows_no_ratio_no_cadence_and_says_why() -> None:
    state = state_of(domain_controller())
    state.instances = {key: each for key, each in example().instances.items() if key[0] == NTDS[0]}
    text = page(state).text
    assert "has no maintenance window: garbage collection is meant to defragment it" in text
    assert "No ratio and no window is judged, but whether that completes." in text
    assert "Read : freed not judged" not in text
    assert " : 1" not in text
    assert "band" not in text
    assert "40 completed" in text


def test_a_background_scan_shows_no_ratio_and_no_window() -> None:
    text = page(state_of(current_exchange())).text
    assert "no ratio and no window is judged" in text
    assert "running, late" in text
    assert "23 d" in text


def test_the_advice_is_shown_with_the_moment_it_is_of() -> None:
    moment = NOW - 86400
    (one,) = advise(state_of(exchange_2007()), default_settings(), moment)
    told = msgspec.structs.replace(
        one,
        window=WindowAdvice(
            action="shrink", rule="ratio_high", configured_seconds=14400, recommended_seconds=9900
        ),
        forecasts=(Forecast(task="defrag", p50=NOW, p90=NOW + 3600, deadline=NOW),),
    )
    told = told_of(told, Finding("verification_overdue", "last verified long ago"))
    found = page(state_of(exchange_2007()), advised=[Advised(moment, (told,))])
    shown = str(Markup(time_tag(moment)).striptags())
    done, deadline = (Markup(time_tag(at)).striptags() for at in (NOW + 3600, NOW))

    assert f"Judged as of {shown}" in found.text
    assert "Window advice shrink 4 h → 2 h 45 min" in found.text
    assert f"done by {done} (90 %), deadline {deadline}" in found.text
    assert "last verified long ago" in found.text


def test_a_database_without_advice_is_not_judged() -> None:
    assert "Judged as of" not in page(state_of(exchange_2007())).text


def test_the_report_leads_with_the_four_numbers_and_has_a_sentence_for_each_database() -> None:
    found = page()
    values = [attributes["value"] for name, attributes in found.elements if name == "data"]
    assert values[0] == "1"
    assert "✖ copy with bad pages" in found.text
    sentences = [each for name, each in found.elements if each.get("class") == "sentence"]
    assert len(sentences) == len(report().watched) + len(report().others)
    assert found.text.index("copy with bad pages") < found.text.index("Most urgent first")
    assert "svg" in found.names()


def test_each_database_is_shown_as_of_its_advice() -> None:
    moment = NOW - 86400
    state = state_of(exchange_2007(), domain_controller())
    told = advise(state, default_settings(), moment)
    found = report(state, advised=[Advised(moment, told[:1])])
    assert sorted(each.now for each in found.watched) == [moment, NOW]
    assert sorted(row.now for row in found.rows) == [moment, NOW]


def test_the_age_of_what_is_not_heard_is_as_of_the_others() -> None:
    """Judged as of its last record it would have been verified a minute before it fell silent."""
    state = state_of(exchange_2007())
    (told,) = advise(state, default_settings(), NOW - 60 * DAY)
    silent = not_heard(NOW - 60 * DAY, 2 * DAY, "warning", stopped=False)
    advised = [Advised(NOW - 60 * DAY, (told_of(told, silent, verdict="blind"),))]

    assert [row.now for row in report(state, advised=advised).rows] == [NOW]
    state.clocks = {told.computer: NOW - 10 * DAY}
    assert [row.now for row in report(state, advised=advised).rows] == [NOW - 10 * DAY]


def test_what_is_not_heard_is_not_called_verified_beside_a_worse_verdict() -> None:
    state = state_of(exchange_2007())
    (told,) = advise(state, default_settings(), NOW)
    silent = not_heard(NOW - 60 * DAY, 2 * DAY, "warning", stopped=False)
    for findings, verified in (((), True), ((silent,), False)):
        risk = told_of(told, Finding("writes_at_risk", "x"), *findings, verdict="writes_at_risk")
        remark = report(state, advised=[Advised(NOW, (risk,))]).remark
        assert ("was verified" in remark) is verified


def test_the_report_names_runbooks_and_has_no_link_to_an_agent() -> None:
    found = page()
    assert "What to do: EseKnownBadPage" in found.text
    assert all(url == "data:," or url.startswith("#") for url in found.urls)


def test_advice_without_a_window_or_a_forecast_is_its_moment_alone() -> None:
    (one,) = advise(state_of(domain_controller()), default_settings(), NOW)
    found = page(state_of(domain_controller()), advised=[Advised(NOW, (one,))]).text
    assert "Judged as of" in found
    assert "Window advice" not in found
    assert "done by" not in found


def test_the_ratio_is_that_of_the_counters_with_its_band() -> None:
    text = page(advised=[Advised(NOW, tuple(with_counted_ratios(example())))]).text
    assert "143.2 : 1 above the band 50 to 100" in text
    assert "6,128,300 pages read, 42,794 freed" in text
    assert "except for 1 h 30 min without samples" in text


def test_an_instance_without_a_database_is_listed_and_not_judged() -> None:
    (instance,) = report().instances
    assert (instance.computer, instance.ese_instance) == ("ex05", "SG01")
    assert (instance.pages_read, instance.pages_freed) == (5_000_000.0, 0.0)
    assert "their ratio is not judged" in page().text


def test_passes_come_newest_first_with_what_their_events_say() -> None:
    priv06 = report(state_of(exchange_2007())).watched[0]
    assert [row.outcome for row in priv06.passes] == [
        "interrupted, not resumed yet (6 interruptions)",
        "completed",
        "completed (6 interruptions)",
        "completed (6 interruptions)",
    ]
    scan, defrag = priv06.passes[1].done, priv06.passes[2].done
    assert (scan.pages_seen, scan.bad_checksums, scan.work_seconds) == (5_850_768, 0, 208.0)
    assert (defrag.pages_freed, defrag.invocations) == (42_794, 7)
    text = page(state_of(exchange_2007())).text
    assert "5,850,768" in text
    assert "34 h 42 min" in text


def test_a_failed_pass_and_its_totals_are_shown() -> None:
    found = report(state_of(damaged())).watched[0]
    assert found.passes[0].outcome == "failed, not completed since (1 failure)"
    totals = {row.task: (row.started, row.completed, row.failed) for row in found.tasks}
    assert totals["checksum"] == (1, 1, 1)


def test_many_passes_are_folded_and_none_is_lost() -> None:
    found = report(state_of(domain_controller())).watched[0]
    assert len(found.passes) == 40
    assert "28 older passes" in page(state_of(domain_controller())).text


def test_bad_pages_are_listed_with_number_kind_and_times() -> None:
    rows = report(state_of(damaged())).watched[0].bad_pages
    assert [(row.page, row.kind, row.history) for row in rows] == [
        (17, "lost_flush", True),
        (4711, "uncorrectable", False),
        (None, "uncorrectable", False),
        (99, "corrected", False),
    ]
    text = page(state_of(damaged())).text
    assert "4711 checksum, not correctable 2007-06-23 23:20 2007-06-25 23:20" in text
    assert "an old version, as a write was lost; found in history" in text


def test_a_thousand_bad_pages_are_counted_and_the_first_listed() -> None:
    database = damaged()
    database.bad_pages = [
        BadPage(page=number, kind="uncorrectable", first=NOW, last=NOW) for number in range(1000)
    ]
    database.bad_pages_overflow = {"uncorrectable": (50, NOW)}
    found = report(state_of(database)).watched[0]
    assert len(found.bad_pages) == 200
    assert found.more_bad_pages == 851
    assert "851 more bad pages not listed." in page(state_of(database)).text


def test_slow_and_hung_requests_are_told_apart() -> None:
    text = page().text
    assert "3 slow reads (the last one 17 s, 2007-06-23 23:20)." in text
    assert "1 write that had not returned when reported." in text


def test_gaps_and_unreadable_pieces_are_said_at_the_top_and_listed() -> None:
    text = page(unreadable=PIECES).text
    assert (
        "These logs are not complete: 2 pieces could not be read and 1,234 records are missing"
        in text
    )
    assert "/logs/a.evtx chunk 3 wrong checksum" in text
    assert "ex02 Application 2007-06-17 23:20 2007-06-18 23:20 1,234" in text


def test_a_flood_of_unreadable_pieces_is_counted() -> None:
    found = report(unreadable=[PIECES[0]] * 3000)
    assert (len(found.read.unreadable), found.read.more_unreadable) == (500, 2500)
    assert "3,000 pieces could not be read" in page(unreadable=[PIECES[0]] * 3000).text


def test_the_period_and_the_time_zone_are_said() -> None:
    text = page().text
    assert "Events from 2007-04-27 23:20 to 2007-06-26 23:20." in text
    assert "All times are UTC." in text


def test_hostile_names_stay_text_wherever_they_stand() -> None:
    hostile = exchange_2007()
    hostile.computer = hostile.database = hostile.path = hostile.ese_instance = HOSTILE
    hostile.role = hostile.process = HOSTILE
    hostile.page_errors = {HOSTILE: 1}
    hostile.slow_io = {HOSTILE: 1}
    hostile.maintenance_seen = True
    state = state_of(hostile)
    found = page(state, unreadable=PIECES)
    assert found.text.count("<script>alert(1)</script>") >= 8
    assert "49" not in found.text.replace("{{ 7*7 }}", "")[:200]


@pytest.mark.parametrize("moment", [1e300, -1e300, float("nan"), float("inf"), -5e10])
def test_times_beyond_the_calendar_break_nothing(moment: float) -> None:
    database = damaged()
    database.first_seen = database.last_seen = moment
    database.bad_pages = [BadPage(page=1, kind="no_data", first=moment, last=moment)]
    database.transitions = pack(
        [Transition(moment, 1, 700), Transition(moment, 2, 703, {"seconds": 1e300})]
    )
    assert "SG03 on ex02" in page(state_of(database)).text


def test_the_work_for_a_page_grows_with_the_databases_and_no_faster() -> None:
    pages: list[str] = []

    def render(count: int) -> None:
        databases = []
        for number in range(count):
            each = exchange_2007()
            each.computer = f"ex{number}"
            databases.append(each)
        state = state_of(*databases)
        pages.append(
            render_report(
                build_report(state, default_settings(), NOW, inputs=[], unreadable=[], advised=[])
            )
        )

    render(1)
    with Calls() as calls:
        few = calls.of(lambda: render(20))
        many = calls.of(lambda: render(100))
    # Five times as many; 25 times the work would be their square.
    assert 0 < many < 6 * few
    render(300)
    html = pages[-1]
    assert len(html) < 5_000_000
    assert "ex299" in html


def many(count: int) -> State:
    databases = []
    for number in range(count):
        each = damaged() if number % 50 == 0 else exchange_2007()
        each.computer = f"ex{number:04}"
        databases.append(each)
    return state_of(*databases)


def test_a_thousand_databases_fit_into_a_mail_and_the_urgent_ones_are_in_full() -> None:
    state = many(1000)
    moment = NOW - 86400
    html = render_report(
        build_report(
            state,
            default_settings(),
            NOW,
            inputs=[],
            unreadable=[],
            advised=[Advised(moment, tuple(advise(state, default_settings(), moment)))],
        )
    )
    assert len(html.encode()) < 2_000_000
    found = Page(html)
    assert_self_contained(found)
    assert found.text.count("ex0999") >= 1
    assert found.names().count("article") - len(Runbooks().names()) <= 20
    assert "Shown in full below: the 20 most urgent of 1,000 databases" in found.text


def test_the_runbooks_of_what_was_found_are_in_the_page() -> None:
    found = page(state_of(damaged()))
    assert "#runbook-EseKnownBadPage" in found.urls
    text = found.text.partition("What to do The runbooks")[2]
    assert "esewatch ack" in text
    assert not [url for url in found.urls if url.startswith("/runbooks")]
    assert "What to do The runbooks" not in page(State()).text


def test_checks_that_never_ended_are_not_called_free_of_errors() -> None:
    entry = SqlDatabase(computer="sql01", database="sales", first_seen=NOW, last_seen=NOW)
    entry.full.aborted = NOW
    found = report(State(sql_databases={("sql01", "sales"): entry}))
    assert result_sentence(found) == "1 database of SQL Server: 1 not checked to the end in time"
