import datetime
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from esewatch.advice.advise import advise, without_past
from esewatch.advice.base.finding import FINDINGS, PERSON
from esewatch.advice.forecast.forecast import PAST
from esewatch.advice.judgement import Judgement
from esewatch.config import DatabaseRule, Policy, Settings, Window
from esewatch.expose.metrics.families import families
from esewatch.fold.state.rollups import PAGES_FREED, PAGES_READ
from esewatch.fold.state.state import State
from esewatch.model import CopyChecked, Event, Feed, Reading, Record
from tests.support.records import DAY, EPOCH, HOUR, event, folder_of

OPEN = "ese_engine_errors_open"
NIGHTLY = Window(start=datetime.time(1), duration=4 * HOUR)
SETTINGS = Settings(
    windows={"nightly": NIGHTLY},
    databases=[DatabaseRule(match="*.edb", window="nightly")],
    policy=Policy(min_pages_read=1000),
)
NIGHT = -EPOCH % DAY + HOUR
"""01:00 UTC of the first night, seconds after EPOCH."""
PATH = "e:\\MDB06\\{}.edb"


def nights(
    count: int, name: str = "priv06", every: int = 2, instance: str = "SG06", scan: float = 2.0
) -> list[Record]:
    """So many nights, a pass of defragmentation in each `every`, a scan behind it of 20 minutes."""
    of: dict[str, Any] = {"database": PATH.format(name), "ese_instance": instance}
    found: list[Record] = []
    for number in range(count):
        start, place = NIGHT + number * DAY, number % every
        found.append(event(700 if place == 0 else 702, start, **of))
        numbers = {"seconds": every * 7200, "invocations": every, "pages_freed": 1000}
        last = place == every - 1
        found.append(event(703 if last else 704, start + 2 * HOUR, fields=numbers, **of))
        scanned = {"seconds": 1200, "invocations": 1, "pages_seen": 5_000, "bad_checksums": 0}
        found.append(event(717, start + scan * HOUR, **of))
        found.append(event(721, start + scan * HOUR + 1200, fields=scanned, **of))
    return found


def counters(count: int, read: float, freed: float, instance: str = "SG06") -> list[Record]:
    """Samples every 10 minutes through the nights, pages a second while it defragments."""
    found: list[Record] = []
    for number in range(0, int(count * DAY), 600):
        within = (number - NIGHT) % DAY
        for metric, name, value in ((PAGES_READ, "Read", read), (PAGES_FREED, "Freed", freed)):
            found.append(
                Reading(
                    time=EPOCH + number,
                    computer="EX01",
                    object="MSExchange Database ==> Instances",
                    counter=f"Online Defrag Pages {name}/sec",
                    instance=f"Information Store/{instance}",
                    value=value if 0 < within <= 2 * HOUR else 0.0,
                    kind="rate",
                    feed=Feed(metric=metric, name=instance),
                )
            )
    return found


def advised(*records: Record, days: float = 36, settings: Settings = SETTINGS) -> list[Judgement]:
    state = folder_of(records, settings=settings).state
    return list(advise(state, settings, EPOCH + NIGHT + days * DAY))


def test_a_database_has_its_window_forecasts_ledger_and_findings() -> None:
    (one,) = advised(*nights(36), *counters(36, 800.0, 5.6), days=35.5)

    assert (one.computer, one.ese_instance, one.name) == ("ex01", "SG06", "SG06")
    assert (one.tier, one.model) == ("watched", "window")
    assert (one.window.action, one.window.rule) == ("shrink", "ratio_high")
    assert one.window.recommended_seconds == 9900
    assert [each.task for each in one.forecasts] == ["defrag", "checksum"]
    assert one.ledger.standing == "verified"
    assert one.findings == ()
    assert one.slot is None


def test_a_forecast_has_its_deadline() -> None:
    (one,) = advised(*nights(35), days=34.5)
    defrag, checksum = one.forecasts

    last_pass, last_scan = EPOCH + NIGHT + 33 * DAY, EPOCH + NIGHT + 34 * DAY
    assert defrag.deadline == last_pass + 2 * HOUR + 14 * DAY
    assert checksum.deadline == last_scan + 2 * HOUR + 1200 + 7 * DAY
    assert defrag.p50 is not None and defrag.p50 > last_scan
    assert (checksum.p50, checksum.reason) == (None, "no pass is running")


def test_a_bad_page_is_to_be_investigated_and_the_window_stays() -> None:
    bad = event(474, NIGHT + 34.3 * DAY, fields={"page_number": 17, "offset": 147456})
    (one,) = advised(*nights(35), bad, days=35)

    assert [each.finding for each in one.findings] == ["investigate"]
    assert one.findings[0].sentence.startswith("page 17 of priv06.edb is bad (checksum, not corr")
    assert (one.window.action, one.window.rule) == ("keep", "bad_pages")


@pytest.mark.parametrize("event_id", [481, 482, 551])
def test_an_io_error_is_to_be_investigated_for_a_week(event_id: int) -> None:
    records = [*nights(35), *counters(35, 800.0, 5.6), event(event_id, NIGHT + 33.3 * DAY)]
    (soon,), (later,) = (advised(*records, days=days) for days in (34.5, 40.5))

    assert [each.sentence for each in soon.findings] == ["1 I/O error in the last 7 days"]
    assert (soon.window.action, soon.window.rule) == ("keep", "bad_pages")
    assert later.findings == ()
    assert later.window.rule == "ratio_high"


STOPS_WRITES = [492, 413, 429, 428, 623, 624, 630, 445, 755, 104, 454, 455, 465, 494]


@pytest.mark.parametrize("event_id", STOPS_WRITES)
def test_a_database_whose_instance_stops_writing_is_at_risk_until_it_came_up(event_id: int) -> None:
    at = NIGHT + 34.5 * DAY
    records = [*nights(35), event(event_id, at - 600, database="")]
    (soon,), (later,) = (advised(*records, days=days) for days in (34.5, 37.5))
    (up,) = advised(*records, event(105, at + DAY, database=""), days=37.5)

    assert [each.finding for each in soon.findings] == ["writes_at_risk"]
    assert [each.finding for each in later.findings] == ["writes_at_risk"]
    verdict = "look" if event_id in {428, 623, 624, 630, 445, 755} else "writes_at_risk"
    assert (soon.verdict, later.verdict) == (verdict, verdict)
    assert (up.findings, up.verdict) == ((), "ok")


def test_an_instance_is_at_risk_as_long_as_its_alert_says_so() -> None:
    """`ack` of one of its databases is for the instance: its alert ends, and so do the findings."""

    def told() -> tuple[list[str], list[float]]:
        found = families(folder.state, SETTINGS, now)
        still = [s.value for each in found for s in each.samples if s.name == OPEN]
        return [each.verdict for each in advise(folder.state, SETTINGS, now)], still

    at = NIGHT + 34.5 * DAY
    halted = event(492, at - 600, database="")
    folder = folder_of([*nights(35), *nights(35, "priv07"), halted], settings=SETTINGS)
    now = EPOCH + at + DAY
    assert told() == (["writes_at_risk", "writes_at_risk"], [1.0])
    folder.acknowledge(
        "ex01", PATH.format("priv06").lower(), {}, {"error log_sequence": EPOCH + at - 600}
    )
    assert told() == (["ok", "ok"], [0.0])


@pytest.mark.parametrize("ids", [(705,), (723,), (717, 723, 717, 725), (700, 705, 700, 704)])
def test_a_task_that_failed_and_has_not_completed_since_is_to_be_looked_at(
    ids: tuple[int, ...],
) -> None:
    at = NIGHT + 34.4 * DAY
    more = [event(each, at + place * 60) for place, each in enumerate(ids)]
    (one,) = advised(*nights(35), *more, days=34.9)
    (completed,) = advised(*nights(35), *more, *nights(37)[35 * 4 :], days=36.5)

    assert one.verdict == "look"
    assert completed.verdict == "ok"


def test_used_version_buckets_are_held_against_the_policy_of_the_database() -> None:
    held = Reading(
        time=EPOCH + NIGHT + 34.5 * DAY - 15,
        computer="EX01",
        object="MSExchange Database ==> Instances",
        counter="Version Buckets Allocated",
        instance="Information Store/SG06",
        value=12000.0,
        kind="level",
        feed=Feed(metric="ese_version_buckets_allocated", name="SG06"),
    )
    records = [*nights(35), held]
    (unknown,) = advised(*records, days=34.5)
    few = msgspec.structs.replace(SETTINGS, policy=Policy(version_buckets=16384))
    (one,) = advised(*records, days=34.5, settings=few)
    (stale,) = advised(*records, days=35, settings=few)

    assert unknown.verdict == "ok"
    assert one.verdict == "look"
    assert one.findings[0].sentence == (
        "its instance uses 12,000 of at most 16,384 version buckets"
    )
    assert stale.verdict == "ok"


def test_an_observed_database_is_not_told_to_be_at_risk() -> None:
    observing = Settings(databases=[DatabaseRule(match="*", tier="observed")])
    full = event(413, NIGHT + 34.5 * DAY - 600)
    (one,) = advised(*nights(35), full, days=34.5, settings=observing)

    assert (one.tier, one.findings, one.verdict) == ("observed", (), "ok")


def test_a_copy_that_became_passive_owes_no_defragmentation() -> None:
    stopped = event(103, 31 * DAY, database="")
    passive: dict[str, Any] = {"process": "MSExchangeRepl", "database": PATH.format("priv06")}
    replaying = [event(301, (32 + n) * DAY, **passive) for n in range(28)]
    (one,) = advised(
        *nights(30), stopped, event(326, 31 * DAY + 60, **passive), *replaying, days=58
    )
    (still,) = advised(*nights(30), event(301, 57 * DAY, database=PATH.format("priv06")), days=58)

    assert {each.task: each.deadline is None for each in one.forecasts}["defrag"]
    assert not {each.task: each.deadline is None for each in still.forecasts}["defrag"]


def test_a_copy_that_became_active_again_has_the_whole_time_to_defragment() -> None:
    came_back: dict[str, Any] = {
        "provider": "MSExchangeRepl",
        "process": "",
        "database": "",
        "ese_instance": "",
        "companion": True,
        "strings": ("SG06",),
        "fields": {"state": "failover"},
    }
    (one,) = advised(*nights(30), event(308, 58 * DAY, **came_back), days=59)

    deadlines = {each.task: each.deadline for each in one.forecasts}
    assert deadlines["defrag"] == EPOCH + (58 + 14) * DAY


@pytest.mark.parametrize("age", [5, 40])
def test_an_application_that_was_verified_is_late_only_where_somebody_asks(age: int) -> None:
    of: dict[str, Any] = {
        "provider": "ESENT",
        "process": "certsrv",
        "ese_instance": "",
        "database": "c:\\windows\\system32\\certlog\\ca.edb",
    }
    checked = CopyChecked(
        time=EPOCH + (50 - age) * DAY,
        computer="EX01",
        database=of["database"],
        by="page_scan",
        complete=True,
        pages_seen=1000,
        bad=0,
    )
    known = [event(326, n * DAY, **of) for n in range(50)]
    (one,) = advised(*known, checked, days=50, settings=Settings())

    assert (one.model, one.tier, one.findings) == ("application", "watched", ())
    assert one.verdict == "ok"
    asked = Settings(policy=Policy(verify_within=30 * DAY))
    (one,) = advised(*known, checked, days=50, settings=asked)
    assert one.verdict == ("ok" if age < 30 else "unverified")


def test_what_its_source_did_not_read_to_the_end_makes_it_blind() -> None:
    folder = folder_of(nights(35), settings=SETTINGS, caught_up=False)
    (one,) = advise(folder.state, SETTINGS, EPOCH + NIGHT + 34.5 * DAY)

    assert (one.findings, one.verdict) == ((), "blind")


def test_an_io_error_that_is_acknowledged_is_dealt_with() -> None:
    folder = folder_of([*nights(35), event(481, NIGHT + 33.3 * DAY)], settings=SETTINGS)
    now = EPOCH + NIGHT + 34.5 * DAY
    folder.acknowledge("ex01", PATH.format("priv06").lower(), {}, {"io": now})

    (one,) = advise(folder.state, SETTINGS, now)
    assert one.findings == ()


def test_databases_of_an_instance_have_one_advice_and_it_says_who_decides() -> None:
    late = nights(35, "priv07", every=99, scan=2.5)
    first, second = advised(*nights(35, "priv06"), *late, *counters(35, 800.0, 5.6), days=34.5)

    assert {first.window.rule, second.window.rule} == {"late"}
    assert {first.window.action, second.window.action} == {"grow"}
    assert first.window.reasons[:-1] == second.window.reasons
    assert first.window.reasons[-1] == (
        "This advice is that of e:\\mdb06\\priv07.edb, a database of the same instance."
    )
    assert "for all 2 databases of instance SG06" in second.window.reasons[-1]


def test_a_database_that_is_gone_does_not_decide_for_its_instance() -> None:
    gone = nights(3, "old", every=99, scan=2.5)
    first, second = advised(*gone, *nights(70), *counters(70, 800.0, 5.6), days=69.5)

    assert first.database.endswith("old.edb")
    assert {first.window.action, second.window.action} == {"shrink"}


@pytest.mark.parametrize("since", [9, 20, 27])
def test_a_database_that_was_moved_to_another_path_has_its_own_advice(since: int) -> None:
    """The old path says nothing of it, and it does not say so of its instance."""
    old, new = nights(40, every=1), nights(40 + since, "to\\priv06", every=1)
    first, second = advised(*old, *new[4 * 40 :], days=39.5 + since)

    assert first.database.endswith("\\mdb06\\priv06.edb")
    assert first.window.rule == "evidence"
    assert (second.window.action, second.window.rule) == ("shrink", "completes_often")
    assert not [each for each in second.window.reasons if "2 databases" in each]


def test_a_database_that_was_moved_does_not_decide_for_the_others_of_its_instance() -> None:
    new = nights(50, "to\\priv06", every=1)[4 * 40 :]
    found = advised(*nights(40, every=1), *nights(50, "pub06", every=1), *new, days=49.5)

    assert {each.window.rule for each in found} == {"completes_often"}
    assert all("for all 2 databases" in each.window.reasons[1] for each in found)


def test_scans_that_collide_are_found_and_a_time_is_given() -> None:
    settings = Settings(
        windows={"nightly": NIGHTLY},
        databases=[DatabaseRule(match="*.edb", window="nightly", device="lun7")],
    )
    both = [*nights(10, "priv06"), *nights(10, "priv07", instance="SG07")]
    found = advised(*both, days=9.5, settings=settings)

    assert [[f.finding for f in each.findings] for each in found] == [["scans_collide"]] * 2
    first, second = (each.slot for each in found)
    assert first is not None and second is not None
    assert second.start - first.end == 900
    # The first half of the window is that of defragmentation.
    assert first.start == EPOCH + NIGHT + 10 * DAY + 2 * HOUR


def test_where_no_defragmentation_is_logged_the_scan_has_the_whole_window() -> None:
    settings = Settings(
        windows={"nightly": NIGHTLY},
        databases=[DatabaseRule(match="*.edb", window="nightly", device="lun7")],
    )
    both = [*nights(10, "priv06"), *nights(10, "priv07", instance="SG07")]
    scans = [each for each in both if isinstance(each, Event) and each.event_id > 704]
    first, second = (each.slot for each in advised(*scans, days=9.5, settings=settings))

    assert first is not None and second is not None
    assert first.start == EPOCH + NIGHT + 10 * DAY


def test_scans_that_do_not_collide_are_not_moved() -> None:
    settings = Settings(
        windows={"nightly": NIGHTLY},
        databases=[DatabaseRule(match="*.edb", window="nightly", device="lun7")],
    )
    both = [*nights(10, "priv06"), *nights(10, "priv07", instance="SG07", scan=3.0)]
    found = advised(*both, days=9.5, settings=settings)

    assert [(each.findings, each.slot) for each in found] == [((), None)] * 2


def test_an_ignored_database_has_no_advice() -> None:
    found = advised(event(700, 0, database="C:\\Temp\\x.edb"), settings=Settings())

    assert found == []


def test_nothing_known_is_nothing_advised() -> None:
    assert advise(State(), Settings(), EPOCH) == ()


def test_a_domain_controller_has_no_window() -> None:
    given: dict[str, Any] = {
        "provider": "NTDS ISAM",
        "process": "NTDS",
        "ese_instance": "NTDSA",
        "database": "C:\\Windows\\NTDS\\ntds.dit",
    }
    cycles = [
        event(event_id, half * DAY / 2 + at, **given)
        for half in range(60)
        for event_id, at in ((700, 0), (701, 1))
    ]
    (one,) = advised(*cycles, days=29, settings=Settings())

    assert (one.model, one.window.action) == ("garbage_collection", "not_applicable")
    last = EPOCH + 59 * DAY / 2 + 1
    assert one.forecasts[0].deadline == pytest.approx(last + 36 * HOUR)


def test_advice_is_the_same_in_any_order_of_the_records() -> None:
    records = [*nights(35), *nights(35, "priv07", instance="SG07", scan=3.0)]

    assert advised(*records) == advised(*reversed(records))


def test_the_page_has_every_finding_with_the_exit_status_that_it_makes() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "advice.md"
    _, _, table = page.read_text(encoding="utf-8").partition("| exit status |\n")
    told: dict[str, str] = {}
    for row in table.partition("\n\n")[0].splitlines()[1:]:
        names, *_, status = row.strip("| ").split(" | ")
        told.update(dict.fromkeys(re.findall(r"`(\w+)`", names), status))
    assert told == {name: "1" if name in PERSON else "0" for name in FINDINGS}


def test_a_forecast_of_a_server_that_is_not_heard_does_not_follow_the_clock() -> None:
    """A pass of two nights: nothing was read since the first one, three days ago."""
    records = [*nights(35), *counters(35, 800.0, 5.6)]
    (heard,) = advised(*records, days=34.5)
    (unheard,) = advised(*records, days=37.5)
    assert heard.forecasts[0].p90 is not None
    assert (unheard.forecasts[0].p90, unheard.forecasts[0].reason) == (None, PAST)


def test_a_forecast_that_is_over_is_none() -> None:
    (one,) = advised(*nights(35), *counters(35, 800.0, 5.6), days=34.5)
    over = one.forecasts[0].p90
    assert over is not None
    assert without_past([one], over) == (one,)
    ((late, _),) = [each.forecasts for each in without_past([one], over + 1)]
    assert (late.p50, late.p90, late.reason) == (None, None, PAST)
