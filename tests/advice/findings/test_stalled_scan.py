"""A background scan that stands still: accused only of what its engine would have logged."""

import math
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import Finding
from esewatch.advice.findings.maintenance import stalled_scan
from esewatch.advice.history.history import History
from esewatch.advice.history.passes import Liveness, Mark
from esewatch.advice.judgement import Judgement
from esewatch.config import Policy, Settings
from esewatch.fold.state.rollups import day_of
from esewatch.model import Coverage, Event, Feed, HeaderSeen, Reading, Record
from tests.advice.histories import NOON, one_pass, store
from tests.support.records import DATABASE, DAY, EPOCH, HOUR, event, folder_of

START = 10 * DAY
"""When the pass begins, seconds after EPOCH."""
KNOWN = START - 14 * DAY
"""When the database is first heard of."""
STOPS = START + 30 * HOUR
"""The last that it logs about itself, unless a test says otherwise."""
SCAN = "ese_maintenance_pages_read_total"
SETTINGS = Settings(policy=Policy(verify_within=45 * DAY))
"""No verification falls due while a scan stands still."""


def told(event_id: int, time: float, **changes: Any) -> Record:
    """An event of a store of Exchange 2013; its record id goes up with its time."""
    given: dict[str, Any] = {
        "process": "Microsoft.Exchange.Store.Worker",
        **changes,
    }
    return event(event_id, time, round(time), **given)


def notices(begin: float = START, end: float = STOPS, step: float = 1000) -> list[Record]:
    """744 every six hours after `begin`, up to `end`: so many pages more each time."""
    count = round((end - begin) / (6 * HOUR))
    seen = [(begin + n * 6 * HOUR, {"pages_seen": int(n * step)}) for n in range(1, count + 1)]
    return [told(744, time, fields=fields) for time, fields in seen]


def chatter(until: float, begin: float = 0.0, channel: str = "Application") -> list[Record]:
    """Events of another database in the same log, every five hours."""
    times = range(int(begin) + 1, int(until) + 1, 5 * 3600)
    other = {"database": "f:\\other.edb", "ese_instance": "other", "channel": channel}
    return [told(507, float(time), **other) for time in [*times, int(until)]]


def sampled(until: float, grows_until: float, name: str = "SG06") -> list[Record]:
    """The pages that scans read, every ten minutes from the beginning on."""
    return [
        Reading(
            time=EPOCH + time,
            computer="EX01",
            object="MSExchange Database ==> Instances",
            counter="Database Maintenance Pages Read",
            instance=f"Worker/{name}",
            value=float(min(time, grows_until)),
            kind="total",
            feed=Feed(metric=SCAN, name=name),
        )
        for time in range(0, int(until), 600)
    ]


def _time_of(record: Record) -> float:
    """Ranges that were read whole come behind what was read in them."""
    return math.inf if isinstance(record, Coverage) else record.time or 0.0


def advised(records: Iterable[Record], now: float, *, caught_up: bool = True) -> Judgement:
    """The advice for `priv06.edb`, `now` seconds after EPOCH."""
    ordered = sorted(records, key=_time_of)
    attached = event(326, KNOWN, process="Microsoft.Exchange.Store.Worker")
    state = folder_of([attached, *ordered], settings=SETTINGS, caught_up=caught_up).state
    (one,) = (
        each
        for each in advise(state, SETTINGS, EPOCH + now)
        if each.database.endswith("priv06.edb")
    )
    return one


def stalled(records: Iterable[Record], now: float, *, caught_up: bool = True) -> list[str]:
    """The sentences of the finding."""
    found = advised(records, now, caught_up=caught_up).findings
    return [each.sentence for each in found if each.finding == "scan_stalled"]


def told_of(*more: Record, until: float = STOPS + 3 * DAY) -> list[Record]:
    """A pass that logs events for 30 hours, `more`, and a log that goes on."""
    return [told(736, START), *notices(), *chatter(until), *more]


def test_a_scan_of_which_nothing_is_told_for_two_days_stands_still() -> None:
    assert stalled(told_of(), STOPS + 48 * HOUR) != []
    assert stalled(told_of(), STOPS + 47 * HOUR) == []
    assert advised(told_of(), STOPS + 49 * HOUR).verdict == "look"


def test_a_scan_stands_still_in_inputs_without_record_numbers_too() -> None:
    def plain(until: float) -> list[Record]:
        records = [each for each in told_of(until=until) if isinstance(each, Event)]
        return [msgspec.structs.replace(each, record_id=None, channel="") for each in records]

    (sentence,) = stalled(plain(STOPS + 3 * DAY), STOPS + 3 * DAY)
    assert "its log was read for 3 days of that time" in sentence
    assert stalled(plain(STOPS + 3 * DAY), STOPS + 47 * HOUR) == []
    assert stalled(plain(STOPS + 20 * HOUR), STOPS + 4 * DAY) == []
    assert stalled(plain(STOPS + 3 * DAY), STOPS + 30 * DAY) != []


def test_the_sentence_has_its_figures() -> None:
    size = HeaderSeen(
        time=EPOCH, computer="EX01", database=DATABASE, page_size=8192, size_bytes=8192 * 20_000
    )

    assert stalled(told_of(), STOPS + 50 * HOUR) == [
        "its scan has stalled: no progress since 2007-06-27 19:20 UTC (after 5,000 pages), although"
        " its log was read for 2.1 days of that time"
    ]
    (known,) = stalled(told_of(size), STOPS + 50 * HOUR)
    assert "(after 5,000 of 20,000 pages)," in known


def test_the_same_page_again_and_again_is_no_progress() -> None:
    again = [
        told(744, STOPS + n * 6 * HOUR, fields={"pages_seen": 5000, "hours": 30 + 6 * n})
        for n in range(1, 11)
    ]

    (sentence,) = stalled(told_of(*again), STOPS + 50 * HOUR)
    assert "since 2007-06-27 19:20 UTC" in sentence
    further = told(744, STOPS + 47 * HOUR, fields={"pages_seen": 5001})
    assert stalled(told_of(*again, further), STOPS + 50 * HOUR) == []


def test_a_notice_that_names_no_page_is_taken_for_progress() -> None:
    nameless = told(744, STOPS + 20 * HOUR)

    assert stalled(told_of(nameless), STOPS + 67 * HOUR) == []
    assert stalled(told_of(nameless), STOPS + 68 * HOUR) != []


def test_an_engine_that_tells_nothing_at_its_level_is_never_accused() -> None:
    """736 and 737 are logged at any level, 738 and 744 from medium on."""
    silent = [told(736, START), *chatter(START + 20 * DAY)]
    resumed = [told(738, START + n * DAY, fields={"resume_page": 10 * n}) for n in range(3)]

    assert stalled(silent, START + 20 * DAY) == []
    assert stalled([*silent, *resumed], START + 20 * DAY) == []
    before = [told(736, 0), *notices(0, 2 * DAY), told(737, 3 * DAY)]
    assert stalled([*before, *silent], START + 20 * DAY) == []


@pytest.mark.parametrize("event_id", [103, 104, 327, 745, 734, 723])
def test_a_scan_that_was_interrupted_or_failed_does_not_stand_still(event_id: int) -> None:
    stop = told(event_id, STOPS + HOUR)

    assert stalled(told_of(stop), STOPS + 60 * HOUR) == []


@pytest.mark.parametrize("event_id", [732, 735, 737, 721, 746, 747])
def test_between_passes_and_in_partial_ones_nothing_stands_still(event_id: int) -> None:
    end = told(event_id, STOPS + HOUR)

    assert stalled(told_of(end), STOPS + 60 * HOUR) == []


def test_a_scan_that_was_resumed_has_two_days_again() -> None:
    """Where it goes on it stopped before: that page again is no standstill of days."""
    resumes = STOPS + 40 * HOUR
    life = [
        told(103, STOPS + HOUR),
        told(738, resumes, fields={"resume_page": 5000}),
        told(744, resumes + 6 * HOUR, fields={"pages_seen": 5000}),
    ]

    assert stalled(told_of(*life, until=STOPS + 6 * DAY), resumes + 47 * HOUR) == []
    assert stalled(told_of(*life, until=STOPS + 6 * DAY), resumes + 48 * HOUR) != []


def test_a_stop_whose_resumption_was_not_told_counts_until_the_scan_tells_of_itself() -> None:
    again = STOPS + 40 * HOUR
    life = [told(103, STOPS + HOUR), told(744, again, fields={"pages_seen": 5000})]

    assert stalled(told_of(*life, until=STOPS + 6 * DAY), again + 47 * HOUR) == []
    assert stalled(told_of(*life, until=STOPS + 6 * DAY), again + 48 * HOUR) != []


def test_a_silent_log_is_no_scan_that_stands_still() -> None:
    """Only the time counts in which the log was read: 20 hours of it here."""
    assert stalled(told_of(until=STOPS + 20 * HOUR), STOPS + 4 * DAY) == []
    assert stalled(told_of(until=STOPS + 47 * HOUR), STOPS + 4 * DAY) == []


def test_that_a_scan_stands_still_is_not_over_because_nothing_is_heard_any_more() -> None:
    assert stalled(told_of(until=STOPS + 3 * DAY), STOPS + 5 * DAY) != []
    assert stalled(told_of(until=STOPS + 3 * DAY), STOPS + 30 * DAY) != []


def test_a_computer_that_slept_or_whose_log_was_cleared_has_two_days_again() -> None:
    """Asleep, its engine logged nothing; what came before the clearing may not have been read.

    A day of silence is one; half a day is nothing to ask an explanation for.
    """
    wakes, until = STOPS + 60 * HOUR, STOPS + 6 * DAY
    asleep = [told(736, START), *notices(), *chatter(STOPS + HOUR), *chatter(until, wakes)]
    other = {"database": "f:\\other.edb", "ese_instance": "other"}
    anew = [event(507, wakes + n * HOUR, n + 1, **other) for n in range(50)]
    cleared = [told(736, START), *notices(), *chatter(STOPS + HOUR), *anew]
    short = [*chatter(STOPS + HOUR), *chatter(until, STOPS + 13 * HOUR)]

    assert stalled(asleep, wakes + HOUR) == []
    assert stalled(cleared, wakes + HOUR) == []
    (sentence,) = stalled(asleep, wakes + 49 * HOUR)
    assert "since 2007-06-27 19:20 UTC" in sentence
    assert "its log was read for 2 days of that time" in sentence
    assert stalled(cleared, wakes + 49 * HOUR) != []
    assert stalled([told(736, START), *notices(), *short], STOPS + 50 * HOUR) != []


def test_a_range_that_was_read_whole_may_have_a_silence_in_it() -> None:
    wakes = STOPS + 60 * HOUR
    whole = Coverage(
        computer="EX01",
        channel="Application",
        first=1,
        last=5000,
        first_time=EPOCH,
        last_time=EPOCH + wakes,
    )

    assert stalled([*told_of(until=STOPS), whole], wakes) == []


def test_a_record_of_a_clock_that_was_wrong_is_no_sign_of_life() -> None:
    ahead = chatter(STOPS + 400 * DAY, STOPS + 399 * DAY)

    assert stalled([*told_of(until=STOPS + HOUR), *ahead], STOPS + 60 * HOUR) == []
    assert stalled([*told_of(), *ahead], STOPS + 60 * HOUR) != []


def test_the_pages_of_the_pass_before_are_not_those_of_one_whose_start_was_not_read() -> None:
    """744 reported the first; the second is a copy's, which says only that it is late."""
    before = [told(744, n * 6 * HOUR, fields={"pages_seen": 1000 * n}) for n in range(1, 9)]
    records = [*before, told(737, 5 * DAY), told(733, START), *chatter(START + 4 * DAY)]

    assert stalled(records, START + 3 * DAY) == []
    again = notices(START, START + DAY)
    (sentence,) = stalled([*records, *again], START + 3 * DAY + HOUR)
    assert "(after 4,000 pages)" in sentence


def test_another_log_of_the_computer_says_nothing_of_this_one() -> None:
    other = chatter(STOPS + 3 * DAY, STOPS, channel="System")

    assert stalled([*told_of(until=STOPS), *other], STOPS + 60 * HOUR) == []


def test_what_was_read_whole_counts_too_where_it_tells_of_no_engine() -> None:
    whole = Coverage(
        computer="EX01",
        channel="Application",
        first=1,
        last=10**7,
        first_time=EPOCH,
        last_time=EPOCH + STOPS + 50 * HOUR,
    )

    assert stalled([*told_of(until=STOPS), whole], STOPS + 50 * HOUR) != []


def test_missing_events_may_have_told_of_progress() -> None:
    def covered(first: float, last: float) -> Coverage:
        return Coverage(
            computer="EX01",
            channel="Application",
            first=round(first),
            last=round(last),
            first_time=EPOCH + first,
            last_time=EPOCH + last,
        )

    until = STOPS + 3 * DAY
    lost = [covered(1, STOPS + HOUR), covered(STOPS + 30 * HOUR, until)]
    before = [covered(1, START), covered(STOPS - 10, until)]
    quiet = [told(736, START), *notices(), *chatter(until, STOPS + 30 * HOUR)]

    assert stalled([*quiet, *lost], STOPS + 60 * HOUR) == []
    assert stalled([*quiet, *before], STOPS + 60 * HOUR) != []


def test_nothing_is_said_while_a_source_of_the_computer_is_behind() -> None:
    assert stalled(told_of(), STOPS + 60 * HOUR, caught_up=False) == []


def test_a_copy_that_became_passive_does_not_tell_of_the_scan_of_the_active_one() -> None:
    """Its store died: nothing interrupted the scan, and its copy replays logs since."""
    replays = told(507, STOPS + 2 * HOUR, instance_state="R")

    assert stalled(told_of(replays), STOPS + 60 * HOUR) == []


def test_only_the_background_model_and_watched_databases_are_judged() -> None:
    history = standing()

    assert stalled_scan(history, NOON) is not None
    for change in ({"model": "window"}, {"model": "application"}, {"tier": "observed"}):
        assert stalled_scan(msgspec.structs.replace(history, **change), NOON) is None


def test_the_counters_tell_of_a_scan_whose_engine_logs_nothing() -> None:
    """By days from noon to noon: the last in which pages were read ends at noon of the 29th."""
    until = START + 6 * DAY
    records = [told(736, START), *chatter(until), *sampled(until, START + 2 * DAY)]
    noon = (day_of(EPOCH + START + 2 * DAY) + 1) * DAY - DAY / 2 - EPOCH

    assert stalled(records, noon + 47.8 * HOUR) == []
    (sentence,) = stalled(records, noon + 48.2 * HOUR)
    assert sentence == (
        "its scan has stalled: no progress since 2007-06-29 12:00 UTC, although its log was read"
        " for 2 days of that time"
    )


def test_counters_that_go_on_outweigh_what_is_not_told() -> None:
    until = STOPS + 3 * DAY
    records = [*told_of(), *sampled(until, until)]

    assert stalled(records, STOPS + 60 * HOUR) == []


def test_counters_that_were_not_sampled_for_two_days_say_nothing() -> None:
    until = START + 6 * DAY
    records = [told(736, START), *chatter(until), *sampled(START + 3 * DAY, START + 2 * DAY)]

    assert stalled(records, until) == []


def test_a_scan_that_read_no_page_in_this_pass_is_not_accused_by_counters() -> None:
    """They are there, but the last pages were read in the pass before."""
    until = START + 6 * DAY
    records = [told(736, START), *chatter(until), *sampled(until, START - 2 * DAY)]

    assert stalled(records, until) == []


def test_counters_of_several_databases_say_nothing_of_one() -> None:
    until = START + 6 * DAY
    beside = told(736, 5.0, database="e:\\MDB06\\pub06.edb")
    records = [told(736, START), beside, *chatter(until), *sampled(until, START + 2 * DAY)]

    assert stalled(records, until) == []
    assert stalled([*told_of(beside), *sampled(STOPS + 3 * DAY, 1e9)], STOPS + 60 * HOUR) != []


def test_nothing_is_said_of_a_database_that_is_known_for_less_than_14_days() -> None:
    assert stalled_scan(standing(), NOON) is not None
    assert stalled_scan(standing(first_seen=NOON - 13.9 * DAY), NOON) is None
    assert stalled_scan(standing(first_seen=0.0), NOON) is None


def test_a_start_of_the_instance_begins_the_two_days_anew() -> None:
    """After a loss of power no stop is logged, and the pass seems to go on."""
    assert stalled_scan(standing(started=NOON - 2.1 * DAY), NOON) is not None
    assert stalled_scan(standing(started=NOON - 1.9 * DAY), NOON) is None


HEARD = [NOON - n * HOUR for n in range(120, -1, -1)]


def standing(**changes: Any) -> History:
    """A pass whose last 744 came three days before NOON."""
    given: dict[str, Any] = {
        "model": "background",
        "window": None,
        "days": [],
        "checksum_passes": [
            one_pass(NOON - 9 * DAY, None, task="checksum", last_event=NOON - 3 * DAY)
        ],
        "marks": [Mark(NOON - 4 * DAY, 70.0), Mark(NOON - 3 * DAY, 80.0)],
        "liveness": Liveness(heard=HEARD, told=NOON - 3 * DAY, role="active", sampled=None),
        "role": "active",
        **changes,
    }
    return store(**given)


ANY = st.floats(allow_nan=True, allow_infinity=True)


@given(ANY, ANY, ANY, ANY, ANY)
def test_no_figure_raises(
    heard: float, told: float, pages: float, started: float, now: float
) -> None:
    damaged = standing(
        liveness=Liveness(heard=[heard, told, NOON], told=told, role="", sampled=told),
        marks=[Mark(told, pages), Mark(heard, pages)],
        checksum_passes=[one_pass(started, None, task="checksum", last_event=told)],
        pages=pages,
    )

    found = stalled_scan(damaged, now)

    assert found is None or isinstance(found, Finding)


@pytest.mark.parametrize("heard", [[math.nan], [], [-math.inf], [math.inf]])
def test_a_time_that_cannot_be_is_not_known(heard: list[float]) -> None:
    signs = Liveness(heard=heard, told=NOON - 3 * DAY, role="active", sampled=None)

    assert stalled_scan(standing(liveness=signs), NOON) is None
