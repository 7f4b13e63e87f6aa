"""The figures of the status page."""

import json
import math

import msgspec
import pytest

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import Finding
from esewatch.advice.judgement import HEALTHY, Judgement
from esewatch.config import DatabaseRule, Policy, Settings, default_settings
from esewatch.expose.formatting import MAX_TEXT, iso_time
from esewatch.expose.http.database_list import overview_json
from esewatch.expose.pages.overview import DatabaseFigures, Overview, overview
from esewatch.fold.state.state import BackupEvent, BadPage, Database, Instance, State
from tests.expose.examples import (
    DAY,
    HOSTILE,
    MBX,
    NOW,
    NTDS,
    PRIV03,
    PRIV06,
    SEARCH,
    damaged,
    example,
    exchange_2007,
    told_of,
)

UNASKED = msgspec.structs.replace(default_settings(), policy=Policy(backup_within=math.inf))
"""Nobody asks for backups."""

BAD_PAGES = (
    "3 pages (17, 4711 and 1 without a known number) of priv3.edb are bad (checksum, not"
    " correctable; an old version, as a write was lost), first seen 17 May 2007 23:20 UTC, last"
    " seen 25 June 2007 23:20 UTC; page 99 of priv3.edb was corrected when read (one-bit error),"
    " first seen 21 June 2007 23:20 UTC; no clean scan is known"
)


def view(
    state: State | None = None,
    settings: Settings | None = None,
    advice: tuple[Judgement, ...] | None = None,
) -> Overview:
    return overview(state or example(), settings or UNASKED, NOW, advice)


def figures(of: tuple[str, str], state: State | None = None) -> DatabaseFigures:
    found = view(state).databases
    return next(each for each in found if (each.computer, each.database) == of)


def state_of(*databases: Database) -> State:
    return State(databases={(each.computer, each.database): each for each in databases})


def test_the_worst_database_comes_first_and_observed_ones_last() -> None:
    found = view().databases
    assert (found[0].computer, found[0].database) == PRIV03
    assert [each.tier for each in found] == ["watched"] * 4 + ["observed"] * 2
    healthy = [each.verdict in HEALTHY for each in found]
    assert healthy == sorted(healthy)
    assert found[0].status == "bad"
    assert figures(PRIV06).reasons == ("may be old: perfmon_csv-1 is not read to its end",)


def test_only_a_database_with_a_window_has_a_ratio() -> None:
    models = {each.model: each.ratio is not None for each in view().databases}
    assert models == {
        "window": True,
        "garbage_collection": False,
        "background": False,
        "application": False,
    }


def test_the_last_completions_and_the_verification_are_those_of_the_passes() -> None:
    priv06 = figures(PRIV06)
    assert priv06.last_checksum == NOW - 2 * DAY + 208
    assert priv06.last_defrag == NOW - 8 * DAY + 4000
    assert priv06.verified == {"online_scan": priv06.last_checksum}
    assert figures(NTDS).verified == {}
    assert figures(MBX).running == ("checksum",)


def test_what_is_not_judged_yet_has_its_bad_pages_and_is_never_in_order() -> None:
    found = {(each.computer, each.database): each for each in view(advice=()).databases}
    assert found[PRIV03].status == "bad"
    assert found[PRIV03].reasons == (BAD_PAGES,)
    assert found[NTDS].status == "attention"
    assert found[NTDS].ratio is None


def test_findings_are_reasons_and_say_nothing_twice() -> None:
    found = view(advice=advise(example(), default_settings(), NOW))
    reasons = next(each.reasons for each in found.databases if each.database == PRIV03[1])
    assert reasons[:2] == (BAD_PAGES, "checksum failed and has not completed since")
    assert "no verification is known" not in reasons
    assert any("nothing has verified all of its pages" in each for each in reasons[2:])


def test_a_finding_alone_asks_for_a_look() -> None:
    advice = next(
        each
        for each in advise(example(), default_settings(), NOW)
        if (each.computer, each.database) == PRIV06
    )
    failed = Finding("investigate", "1 I/O error in 7 days")
    late = Finding("verification_overdue", "last verified long ago")
    collide = Finding("scans_collide", f"scanned at the same time as {HOSTILE}")
    said = told_of(advice, failed, late, collide)
    found = next(
        each for each in view(advice=(said,)).databases if (each.computer, each.database) == PRIV06
    )
    assert (found.status, found.reasons) == (
        "attention",
        (
            "1 I/O error in 7 days",
            "last verified long ago",
            f"scanned at the same time as {HOSTILE}",
            "may be old: perfmon_csv-1 is not read to its end",
        ),
    )


def test_the_keys_of_the_interface_stay_with_advice() -> None:
    plain = json.loads(overview_json(view(advice=())))
    advised = json.loads(overview_json(view()))
    more = {"verification_deadline_seconds", "ratio"}
    keys = {each["database"]: each.keys() for each in plain["databases"]}
    assert {each["database"]: each.keys() - more for each in advised["databases"]} == keys
    assert sum("verification_deadline_seconds" in each for each in advised["databases"]) == 3


def test_corrected_pages_alone_ask_for_a_look_and_are_not_bad() -> None:
    database = exchange_2007()
    database.bad_pages = [BadPage(page=5, kind="corrected", first=NOW, last=NOW)]
    found = figures(PRIV06, state_of(database))
    (reason,) = found.reasons
    assert found.status == "attention"
    assert reason.startswith("page 5 of priv06.edb was corrected when read (one-bit error), first")


def test_ignored_databases_are_counted_and_shown_only_when_damaged() -> None:
    clean = Database(computer="ws07", database="c:\\windows\\temp\\tmp.edb")
    hurt = Database(
        computer="ws07",
        database="c:\\windows\\temp\\b.edb",
        bad_pages=[BadPage(page=1, kind="uncorrectable", first=NOW, last=NOW)],
    )
    found = view(state_of(clean, hurt))
    assert [each.database for each in found.databases] == [hurt.database]
    assert found.ignored == 1


def test_a_streaming_backup_verifies() -> None:
    state = state_of(damaged())
    state.instances[PRIV03[0], "sg03"] = Instance(
        computer=PRIV03[0],
        ese_instance="SG03",
        backup_events=[
            BackupEvent(NOW - 100, 1, 210),
            BackupEvent(NOW - 90, 2, 220, PRIV03[1], 1000),
            BackupEvent(NOW - 20, 3, 221, PRIV03[1]),
            BackupEvent(NOW - 10, 4, 213),
        ],
    )
    assert figures(PRIV03, state).verified == {"streaming_backup": NOW - 10}


def test_databases_of_one_instance_know_that_the_ratio_is_shared() -> None:
    first, second = exchange_2007(), exchange_2007()
    second.database = "e:\\mdb06\\pub06.edb"
    found = view(state_of(first, second)).databases
    assert [each.shares_instance for each in found] == [2, 2]


def test_a_database_that_was_moved_shares_no_ratio_with_itself() -> None:
    old, moved = exchange_2007(), exchange_2007()
    moved.database = "f:\\mdb06\\priv06.edb"
    moved.first_seen = old.last_seen + 600
    moved.last_seen = old.last_seen + 1200
    found = view(state_of(old, moved)).databases
    assert [each.shares_instance for each in found] == [1, 1]


def test_the_configuration_decides_model_tier_and_name() -> None:
    rule = DatabaseRule(match="*windows.edb", tier="watched", model="window", name="search")
    settings = msgspec.structs.replace(default_settings(), databases=(rule,))
    found = view(settings=settings).databases
    search = next(each for each in found if each.database == SEARCH[1])
    assert (search.tier, search.model, search.name) == ("watched", "window", "search")
    assert search.ratio is not None
    assert search.ratio.verdict == "none"


def test_a_configured_role_holds_only_where_no_event_tells_another() -> None:
    settings = Settings(databases=[DatabaseRule(match="*", role="passive")])
    roles = {(each.computer, each.database): each.role for each in view().databases}
    found = {
        (each.computer, each.database): each.role for each in view(settings=settings).databases
    }
    assert found == {key: role or "passive" for key, role in roles.items()}
    assert {"", "active"} <= set(roles.values())


def test_hidden_counters_are_named_and_present_ones_are_not() -> None:
    (hidden,) = view().hidden
    assert hidden.computer == "ex19"
    assert hidden.counters == ("Online Defrag Pages Freed/sec", "Online Defrag Pages Read/sec")


def test_an_empty_state_is_an_empty_view() -> None:
    found = view(State())
    assert (found.databases, found.sources, found.hidden, found.ignored) == ((), (), (), 0)
    assert json.loads(overview_json(found)) == {
        "time": "2007-06-26T23:20:00.000Z",
        "fleet": {
            "blind": [],
            "unproven": 0,
            "judged": 0,
            "not_judged": "not judged: no source of events or counters is configured. To see what"
            " is missing, run: esewatch doctor",
        },
        "databases": [],
    }


def test_names_that_no_one_can_encode_or_read_are_made_harmless() -> None:
    strange = Database(computer="a\ud800b", database="c:\\" + "x" * 10_000, ese_instance="\udfff")
    found = view(state_of(strange))
    assert found.databases[0].computer == "a?b"
    assert len(found.databases[0].database) == MAX_TEXT
    assert json.loads(overview_json(found))["databases"][0]["ese_instance"] == "?"


@pytest.mark.parametrize("time", [None, math.nan, math.inf, -math.inf, 1e300, -1e300, 1e13])
def test_what_is_no_time_has_no_text(time: float | None) -> None:
    assert iso_time(time) is None


def test_times_are_utc_with_milliseconds() -> None:
    assert iso_time(1_182_395_655.123) == "2007-06-21T03:14:15.123Z"
    assert iso_time(0.0) == "1970-01-01T00:00:00.000Z"
