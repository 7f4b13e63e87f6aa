import datetime
from typing import Any

import msgspec
import pytest

from esewatch.advice.history.history import History, Members, as_copy, histories, members
from esewatch.advice.history.passes import Mark
from esewatch.advice.window.window import window_advice
from esewatch.config import CopyOf, DatabaseRule, Policy, Settings, Window
from esewatch.fold.passes.runs import Run
from esewatch.fold.passes.transitions import name_number, pack
from esewatch.fold.state.rollups import PAGES_FREED, PAGES_READ, day_of
from esewatch.fold.state.state import BackupEvent, Database, Instance, Transition
from esewatch.model import Coverage, Feed, HeaderSeen, Reading, Record
from tests.support.records import DATABASE, DAY, EPOCH, HOUR, LABEL, event, folder_of

SETTINGS = Settings(
    windows={"nightly": Window(start=datetime.time(1), duration=4 * HOUR)},
    databases=[DatabaseRule(match="*priv06.edb", window="nightly", name="priv06")],
)
NIGHT = -EPOCH % DAY + HOUR
"""01:00 UTC of the first night, seconds after EPOCH."""


def gathered(*records: Record, settings: Settings = SETTINGS) -> History:
    return histories(folder_of(records, settings=settings).state, settings)["ex01", LABEL]


def sample(time: float, value: float, metric: str = PAGES_READ) -> Reading:
    names = {
        PAGES_READ: "Online Defrag Pages Read/sec",
        PAGES_FREED: "Online Defrag Pages Freed/sec",
    }
    return Reading(
        time=EPOCH + time,
        computer="EX01",
        object="MSExchange Database ==> Instances",
        counter=names[metric],
        instance="Information Store/SG06",
        value=value,
        kind="rate",
        feed=Feed(metric=metric, name="SG06"),
    )


def night(number: int, last: int, **fields: Any) -> list[Record]:
    """The number-th of `last` nights of one pass: events at the ends of its window."""
    start = NIGHT + number * DAY
    begin = event(700 if number == 0 else 702, start)
    end = event(703 if number == last else 704, start + 4 * HOUR, fields=fields)
    return [begin, end]


def test_passes_and_runs_come_from_the_events() -> None:
    numbers = {"seconds": 43200, "invocations": 3, "days": 2, "pages_freed": 42794}
    found = gathered(*night(0, 2), *night(1, 2), *night(2, 2, **numbers), event(700, 4 * DAY))

    done, running = found.defrag_passes
    assert (done.outcome, done.pages_freed, running.outcome) == ("completed", 42794, "open")
    assert found.defrag_runs == [
        *(Run(EPOCH + NIGHT + n * DAY, EPOCH + NIGHT + n * DAY + 4 * HOUR) for n in range(3)),
        Run(EPOCH + 4 * DAY, None),
    ]
    assert found.scan_runs == []
    assert (found.model, found.tier, found.name) == ("window", "watched", "priv06")
    assert found.window == SETTINGS.windows["nightly"]
    assert found.shares_instance == 1
    assert (found.first_seen, found.last_seen) == (EPOCH + NIGHT, EPOCH + 4 * DAY)


def test_days_and_gaps_come_from_the_counters() -> None:
    readings = [
        sample(at, value, metric)
        for at in (0, 600, 1200, 1200 + HOUR)
        for metric, value in ((PAGES_READ, 10.0), (PAGES_FREED, 0.1))
    ]
    found = gathered(event(700, 0), *readings)

    (day,) = found.days
    assert (day.day, day.pages_read) == (day_of(EPOCH + 600), 12_000)
    assert day.pages_freed == pytest.approx(120)
    assert (found.sampled_since, found.sampled_until) == (EPOCH, EPOCH + 1200 + HOUR)
    assert found.unsampled == [(EPOCH + 1200, EPOCH + 1200 + HOUR)]


def test_time_without_samples_counts_however_many_pauses_there_are() -> None:
    readings = [
        sample(60 * minute, value, metric)
        for minute in range(0, 35 * 24 * 60, 10)
        for metric, value in ((PAGES_READ, 100.0), (PAGES_FREED, 1.0))
        if minute % 60 < 30
    ]
    nights = [each for number in range(35) for each in night(number, 34)]

    found = gathered(*nights, *readings)
    advice = window_advice(found, Policy(), EPOCH + 35 * DAY - HOUR)

    assert advice.action == "insufficient_evidence"
    # Of each hour 20 minutes are sampled.
    assert advice.evidence.counter_coverage <= 1 / 3


@pytest.mark.parametrize("stopped", [PAGES_READ, PAGES_FREED])
def test_the_ratio_is_sampled_until_the_first_of_its_counters_stops(stopped: str) -> None:
    (other,) = {PAGES_READ, PAGES_FREED} - {stopped}
    readings = [sample(600 * n, 10.0, other) for n in range(100)]
    found = gathered(event(700, 0), *readings, sample(0, 1.0, stopped), sample(600, 1.0, stopped))

    assert (found.sampled_since, found.sampled_until) == (EPOCH, EPOCH + 600)


def test_one_counter_alone_is_no_sample_of_the_ratio() -> None:
    found = gathered(event(700, 0), sample(0, 10.0), sample(600, 10.0))

    assert (found.sampled_since, found.sampled_until) == (None, None)


def test_the_size_in_pages_is_the_headers_else_that_of_the_last_scan() -> None:
    scan = event(
        721,
        HOUR,
        fields={
            "seconds": 208,
            "invocations": 1,
            "days": 1,
            "pages_seen": 5_850_768,
            "bad_checksums": 0,
        },
    )
    header = HeaderSeen(
        time=EPOCH, computer="EX01", database=DATABASE, page_size=8192, size_bytes=8192 * 1000
    )

    assert gathered(event(700, 0)).pages is None
    assert gathered(event(719, 0), scan).pages == 5_850_768
    assert gathered(event(719, 0), scan, header).pages == 1000
    assert gathered(event(719, 0), scan).verified == {"online_scan": EPOCH + HOUR}


def test_an_instance_with_several_databases_is_told() -> None:
    other = event(700, 1, database="e:\\mdb06\\pub06.edb")
    elsewhere = event(700, 2, computer="EX02")

    assert gathered(event(700, 0), other, elsewhere).shares_instance == 2


def test_bad_pages_backups_and_logical_errors_are_there_until_dealt_with() -> None:
    bad = event(474, 5, fields={"page_number": 7})
    backup = [event(210, 10), event(220, 11), event(221, 12), event(213, 900)]
    folder = folder_of([event(700, 0), bad, event(447, 6), *backup], settings=SETTINGS)

    found = histories(folder.state, SETTINGS)["ex01", LABEL]
    folder.acknowledge("ex01", LABEL, {7: EPOCH + 5}, {"damage logical": EPOCH + 100})
    cleared = histories(folder.state, SETTINGS)["ex01", LABEL]

    assert ([each.page for each in found.bad_pages], found.damage["logical"].count) == ([7], 1)
    assert [(each.started, each.ended) for each in found.backups] == [(EPOCH + 10, EPOCH + 900)]
    assert found.verified["streaming_backup"] == EPOCH + 900
    assert (cleared.bad_pages, cleared.damage) == ([], {})


def test_gaps_of_its_computer_are_its_own() -> None:
    ranges = [(1, 2, 0.0, 60.0), (10, 11, 5 * DAY, 5 * DAY + 60)]
    covered = [
        Coverage(
            computer="EX01",
            channel="Application",
            first=first,
            last=last,
            first_time=EPOCH + start,
            last_time=EPOCH + end,
        )
        for first, last, start, end in ranges
    ]
    events = [event(700, 0, 1), event(704, 60, 2), event(702, 5 * DAY, 10)]

    assert gathered(*events, *covered).event_gaps == [(EPOCH + 60, EPOCH + 5 * DAY, 7)]


def test_what_is_later_than_the_last_event_is_not_read_where_a_source_is_behind() -> None:
    state = folder_of([event(700, 0), event(704, 60)], settings=SETTINGS).state
    (source,) = state.sources.values()
    source.up = source.caught_up = True
    assert histories(state, SETTINGS)["ex01", LABEL].unread_since is None
    source.caught_up = False
    assert histories(state, SETTINGS)["ex01", LABEL].unread_since == EPOCH + 60
    source.up, source.caught_up = False, True
    assert histories(state, SETTINGS)["ex01", LABEL].unread_since == EPOCH + 60
    source.computers = ["ex02"]
    assert histories(state, SETTINGS)["ex01", LABEL].unread_since is None


def test_a_configured_role_is_judged_where_no_event_tells_another() -> None:
    passive = Settings(databases=[DatabaseRule(match="*", role="passive")])
    old = gathered(event(700, 0), settings=passive)
    assert (old.role, as_copy(old, Policy()).role) == ("passive", "passive")
    assert gathered(event(700, 0)).role == ""
    assert gathered(event(736, 0), settings=passive).role == "active"


def test_a_change_of_role_is_told_by_the_family_of_events() -> None:
    current: dict[str, Any] = {"engine_version": "15.01.2507.012", "instance_state": ""}
    events = [event(n, at, **current) for at, n in enumerate((736, 744, 737, 717, 732, 736))]

    assert gathered(*events).role_changes == [EPOCH + 3, EPOCH + 5]
    assert gathered(event(717, 0), event(721, 1), event(719, 2)).role_changes == []


def test_a_change_of_the_engine_is_that_of_all_databases_of_the_instance() -> None:
    old: dict[str, Any] = {"engine_version": "14.03.0123.004"}
    new: dict[str, Any] = {"engine_version": "14.03.0513.000"}
    beside = event(701, 5, database="e:\\MDB06\\priv07.edb", **new)
    elsewhere = event(701, 9, computer="EX02", **new)
    state = folder_of([event(700, 0, **old), beside, elsewhere], settings=SETTINGS).state

    found = {key: each.engine_changes for key, each in histories(state, SETTINGS).items()}

    assert found == {
        ("ex01", LABEL): [EPOCH + 5],
        ("ex01", "e:\\mdb06\\priv07.edb"): [EPOCH + 5],
        ("ex02", LABEL): [],
    }
    assert gathered(event(701, 0, ese_instance="", **old)).engine_changes == []


def test_configured_names_and_copies_reach_the_ledger_by_their_labels() -> None:
    snapshot = "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy3\\priv06.edb"
    rule = DatabaseRule(
        match="*priv06.edb",
        name="MDB06",
        copies=[
            CopyOf(computer="EX02.corp.example", database="\\\\?\\F:\\Priv06.edb"),
            CopyOf(computer="EX03", database=snapshot),
        ],
    )
    copy = as_copy(gathered(event(700, 0), settings=Settings(databases=[rule])), Policy())
    assert (copy.name, copy.named, copy.copies) == ("MDB06", True, [("ex02", "f:\\priv06.edb")])

    plain = as_copy(gathered(event(700, 0), settings=Settings()), Policy())
    assert (plain.name, plain.named, plain.copies) == ("SG06", False, [])


def test_a_backup_that_names_no_instance_is_of_all_of_its_process() -> None:
    """A shadow copy is one of the process, and each instance is frozen by it."""
    state = folder_of([event(700, 0, ese_instance=each) for each in ("SG06", "SG07")]).state
    nameless = Instance(
        computer="ex01",
        ese_instance="",
        process="msexchangeis",
        backup_events=[BackupEvent(EPOCH + at, at, n) for at, n in ((5, 2005), (9, 2006))],
    )
    own = [BackupEvent(EPOCH + at, at, n) for at, n in ((1, 210), (3, 213))]
    state.instances["ex01", "sg07"].backup_events = own
    elsewhere = msgspec.structs.replace(nameless, process="certsrv")
    for found, others in ((nameless, [(EPOCH + 5, EPOCH + 9)]), (elsewhere, [])):
        state.instances.pop(("ex01", "msexchangeis"), None)
        state.instances["ex01", found.process] = found
        told = histories(state, SETTINGS)["ex01", LABEL]
        assert told.backup_spans == [(EPOCH + 1, EPOCH + 3), *others]
        assert next(iter(histories(state, SETTINGS).values())).backup_spans == told.backup_spans


def test_an_unknown_database_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        histories(folder_of([]).state, SETTINGS)["ex01", "nowhere.edb"]


def test_the_ledger_gets_ended_scans_and_the_configured_deadline() -> None:
    found = gathered(event(717, 0), event(721, 60, fields={"bad_checksums": 0}), event(717, 90))

    copy = as_copy(found, Policy(verify_within=3 * DAY))

    assert [done.outcome for done in copy.scans] == ["completed"]
    assert (copy.name, copy.configured_deadline) == ("priv06", 3 * DAY)


def test_a_month_of_records_gives_the_advice_of_the_published_example() -> None:
    records: list[Record] = []
    for number in range(42):
        start = NIGHT + number * DAY
        of_pass = number % 6
        done = {"seconds": 86400, "invocations": 6, "days": 5, "pages_freed": 600}
        records.append(event(702 if of_pass else 700, start))
        records.append(
            event(703, start + 4 * HOUR, fields=done)
            if of_pass == 5
            else event(704, start + 4 * HOUR)
        )
        for step in range(145):
            busy = 0 < step <= 24
            records.append(sample(start + step * 600, 14.32 if busy else 0.0))
            records.append(sample(start + step * 600, 0.1 if busy else 0.0, PAGES_FREED))
    found = gathered(*records)

    advice = window_advice(found, Policy(), EPOCH + NIGHT + 42 * DAY)

    assert advice.evidence.missing == ()
    assert advice.evidence.ratio == pytest.approx(143.2)
    assert (advice.action, advice.recommended_seconds) == ("shrink", 9900)


def test_a_running_scan_tells_how_far_it_is() -> None:
    found = gathered(
        event(736, 0),
        event(744, 6 * HOUR, fields={"pages_seen": 9_000}),
        event(737, 8 * HOUR, fields={"seconds": 28_800, "pages_seen": 12_000}),
        event(736, DAY),
        event(744, DAY + 6 * HOUR, fields={"hours": 6, "pages_seen": 8_000}),
        event(738, DAY + 7 * HOUR, fields={"resume_page": 8_500}),
    )

    assert found.marks == [
        Mark(EPOCH + DAY + 6 * HOUR, 8_000),
        Mark(EPOCH + DAY + 7 * HOUR, 8_500),
    ]


def test_between_scans_nothing_tells_how_far_one_is() -> None:
    done = event(737, 8 * HOUR, fields={"seconds": 28_800, "pages_seen": 12_000})
    found = gathered(event(736, 0), event(744, HOUR, fields={"pages_seen": 9_000}), done)

    assert found.marks == []


def test_the_threshold_of_the_engine_is_the_deadline_of_verification() -> None:
    late = {"seconds": 9 * DAY, "threshold_days": 5, "pages_seen": 12_000}
    found = gathered(event(736, 0), event(735, 9 * DAY, fields=late))

    assert found.engine_threshold == 5 * DAY
    assert as_copy(found, Policy()).engine_threshold == 5 * DAY
    assert as_copy(gathered(event(736, 0)), Policy()).engine_threshold is None


@pytest.mark.parametrize("resumed", [False, True])
def test_a_zeroing_pass_that_is_open_is_the_scan_that_runs(resumed: bool) -> None:
    more = [event(726, 4 * HOUR), event(720, DAY)] if resumed else []
    found = gathered(event(718, 0), *more)

    (running,) = found.checksum_passes
    assert (running.task, running.outcome, running.started) == ("checksum", "open", EPOCH)
    assert running.interruptions == int(resumed)


def test_a_scan_that_began_after_a_zeroing_pass_is_the_one_that_runs() -> None:
    found = gathered(event(718, 0), event(717, DAY))

    assert [each.started for each in found.checksum_passes] == [EPOCH + DAY]


def test_a_zeroing_pass_that_began_after_a_scan_is_the_one_that_runs() -> None:
    found = gathered(event(717, 0), event(718, DAY))

    assert [each.started for each in found.checksum_passes] == [EPOCH + DAY]


def test_the_histories_are_of_all_but_the_ignored() -> None:
    records = [
        event(700, 0),
        event(700, 1, database="E:\\a.edb"),
        event(700, 2, database="C:\\Temp\\x.edb"),
    ]
    state = folder_of(records, settings=SETTINGS).state
    found = histories(state, SETTINGS)

    assert list(found) == [("ex01", "e:\\a.edb"), ("ex01", LABEL)]
    assert {each.shares_instance for each in found.values()} == {2}


OLD, MOVED, RENAMED = "e:\\mdb06\\priv06.edb", "f:\\mdb06\\priv06.edb", "f:\\mdb06\\new.edb"
ATTACHED, DETACHED = 326, 327
OF_LIFE: dict[str, int | float] = {"instance": name_number("SG06")}


def seen(database: str, first: float, last: float, *events: int) -> Database:
    entry = Database(computer="ex01", database=database, ese_instance="SG06")
    entry.first_seen, entry.last_seen = first, last
    told = dict.fromkeys((ATTACHED, DETACHED), OF_LIFE)
    entry.transitions = pack(Transition(last, 0, each, told.get(each, {})) for each in events)
    return entry


def known(*databases: Database, stopped: float | None = None) -> Members:
    life = [(stopped, 0, 103)] if stopped is not None else []
    instance = Instance(computer="ex01", ese_instance="SG06", life=life)
    return members(databases, {("ex01", "sg06"): instance})["ex01", "sg06"]


def of_instance(*databases: Database) -> set[str]:
    return known(*databases).attached


@pytest.mark.parametrize("moved", [MOVED, "/srv/mdb06/priv06.edb"])
def test_one_whose_file_name_is_seen_elsewhere_after_its_last_event_was_moved(moved: str) -> None:
    assert of_instance(seen(OLD, 0, 100, 703), seen(moved, 200, 300)) == {moved}


def test_of_several_moves_the_last_path_is_attached_and_a_path_can_be_taken_again() -> None:
    paths = [seen(OLD, 0, 100), seen(MOVED, 200, 300), seen("g:\\priv06.edb", 400, 500)]
    assert of_instance(*paths) == {"g:\\priv06.edb"}
    paths[0].last_seen = 600
    assert of_instance(*paths) == {OLD, "g:\\priv06.edb"}


def test_one_that_was_detached_before_another_was_first_seen_is_not_attached() -> None:
    later = seen(RENAMED, 200, 300)
    assert of_instance(seen(OLD, 0, 100, 703, DETACHED), later) == {RENAMED}
    assert of_instance(seen(OLD, 0, 100, 703), later) == {OLD, RENAMED}


def test_databases_that_were_seen_beside_each_other_are_attached() -> None:
    assert of_instance(seen(OLD, 0, 250), seen(MOVED, 200, 300)) == {OLD, MOVED}
    stopped = (seen(OLD, 0, 300, DETACHED), seen(RENAMED, 0, 300, DETACHED))
    assert known(*stopped, stopped=301).attached == {OLD, RENAMED}
    assert known(*stopped) == Members(set(), set())


def test_one_that_was_detached_was_moved_where_its_file_name_is_attached_elsewhere_later() -> None:
    before = seen(MOVED, 50, 400, ATTACHED)
    assert known(seen(OLD, 0, 300, DETACHED), before) == Members({MOVED}, {OLD})
    assert known(seen(OLD, 0, 300, 703), before) == Members({OLD, MOVED}, set())
    assert known(seen(OLD, 0, 300, DETACHED), seen(MOVED, 50, 400, 703)).moved == set()


def test_one_whose_instance_stopped_was_moved_and_one_that_went_silent_may_be_due() -> None:
    later = seen(MOVED, 200, 300, 703)
    assert known(seen(OLD, 0, 100, 703), later, stopped=150) == Members({MOVED}, {OLD})
    assert known(seen(OLD, 0, 100, 703), later) == Members({MOVED}, set())
    assert known(seen(OLD, 0, 100, 703), later, stopped=90) == Members({MOVED}, set())


def test_another_instance_says_nothing_of_it() -> None:
    elsewhere = seen(MOVED, 200, 300)
    elsewhere.ese_instance = "SG07"
    assert known(seen(OLD, 0, 100, 703), elsewhere) == Members({OLD}, set())
