"""What a replay says changed is what the whole exposition, computed anew, would say."""

import datetime
import math
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from esewatch.advice.advise import advise
from esewatch.advice.findings.details import of_instances
from esewatch.advice.judgement import Judgement
from esewatch.advice.statements import restate
from esewatch.config import (
    DatabaseRule,
    Settings,
    Window,
)
from esewatch.expose.metrics.advice_families import advice_families
from esewatch.expose.metrics.families import families
from esewatch.expose.metrics.metric_catalogue import CATALOGUE
from esewatch.expose.replay import series_changes
from esewatch.expose.replay.series_changes import (
    JUDGED,
    OF_NOW,
    PREFIXES,
    Replay,
    SeriesChange,
    milliseconds,
    replayed_metrics,
)
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.model import (
    Batch,
    EsewatchError,
    Event,
    Feed,
    Kind,
    Reading,
    Record,
    SetBackedUp,
    VolumesSeen,
)
from tests.support.records import DATABASE, DAY, EPOCH, HOUR, backed_up, checkdb, event

STEP = 300_000
ALL = replayed_metrics(()) - JUDGED
"""What is made of records alone."""
BEGIN = milliseconds(EPOCH)
Key = tuple[str, frozenset[tuple[str, str]]]


def moments(records: Iterable[Record]) -> list[tuple[int, Batch]]:
    def at(record: Record) -> int:
        assert record.time is not None  # type: ignore[union-attr]
        return milliseconds(record.time)  # type: ignore[union-attr]

    ordered = sorted(records, key=at)
    return [(time, Batch(records=list(group))) for time, group in groupby(ordered, key=at)]


def replayed(
    records: Iterable[Record],
    settings: Settings | None = None,
    names: Iterable[str] = ALL,
    step: int = STEP,
    shown_from: int = 0,
) -> tuple[Replay, list[SeriesChange]]:
    ordered = moments(records)
    first = ordered[0][0] if ordered else BEGIN
    replay = Replay(settings or Settings(), first, step, frozenset(names), shown_from)
    return replay, list(replay.changes(ordered))


def shown_at(replay: Replay, changes: list[SeriesChange], time: int) -> dict[str, float]:
    """Series text -> value at `time`."""
    found: dict[str, float] = {}
    for change in changes:
        if change.time <= time:
            found[replay.series[change.series].text] = change.value
    return {text: value for text, value in found.items() if not math.isnan(value)}


def naive(state: State, settings: Settings, now: float) -> dict[str, float]:
    """The same, of the whole state."""
    return {
        sample.name
        + "{"
        + ",".join(
            '{}="{}"'.format(
                name, value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
            )
            for name, value in sample.labels.items()
        )
        + "}": sample.value
        for family in families(state, settings, now)
        for sample in family.samples
        if sample.name.startswith(PREFIXES) and sample.name not in OF_NOW
    }


SETTINGS = Settings(
    windows={"nightly": Window(start=datetime.time(1), duration=4 * HOUR)},
    databases=[
        DatabaseRule(match="*\\priv06.edb", window="nightly", log_path="C:\\mnt\\SG06"),
        DatabaseRule(match="f:\\*", log_path="C:\\SG06"),
        DatabaseRule(match="stock", policy={"checkdb_within": 35 * DAY}),
    ],
)
DATABASES: tuple[dict[str, Any], ...] = (
    {},
    {"database": "e:\\MDB07\\priv07.edb"},
    {"database": 'f:\\q"\n.edb', "process": "svchost", "provider": "ESENT", "ese_instance": ""},
    {"computer": "EX02", "ese_instance": "sg06"},
    {"ese_instance": "SG09"},
    {"ese_instance": ""},
)
IDS = (700, 701, 702, 703, 704, 717, 719, 721, 722, 725, 732, 736, 474, 399, 905, 103, 327, 509)
ERRORS = (104, 413, 481, 733)
BACKUP_IDS = (210, 220, 221, 213, 217, 2005, 2006)


@st.composite
def events(draw: st.DrawFn) -> Event:
    changes = dict(draw(st.sampled_from(DATABASES)))
    identifier = draw(st.sampled_from(IDS + BACKUP_IDS + ERRORS))
    if identifier in (103, 104, 210, 213, 217, 413, 2005, 2006):
        changes["database"] = ""
    fields = {"pages_freed": 7, "seconds": 60, "invocations": 1, "page_number": 17}
    fields |= {"pages_seen": 1000, "bad_checksums": draw(st.integers(0, 1)), "bytes": 4096}
    time = draw(st.integers(0, 12 * 24 * 60)) * 60.0 + draw(st.sampled_from((0.0, 0.0004, 0.25)))
    record = draw(st.one_of(st.none(), st.integers(1, 40)))
    return event(identifier, time, record, fields=fields, **changes)


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    kinds: tuple[Kind, ...] = ("rate", "level")
    kind = draw(st.sampled_from(kinds))
    metric = "ese_defrag_pages_read_total" if kind == "rate" else "ese_checkpoint_depth_logs"
    return Reading(
        time=EPOCH + draw(st.integers(0, 12 * 24 * 12)) * 300.0 + draw(st.sampled_from((0.0, 0.1))),
        computer="EX01",
        object="MSExchange Database ==> Instances",
        counter=kind,
        instance="Information Store/sg06",
        value=draw(st.sampled_from((0.0, 1.5, 800.0))),
        kind=kind,
        feed=Feed(metric=metric, name=draw(st.sampled_from(("sg06", "SG08")))),
    )


@st.composite
def free_space(draw: st.DrawFn) -> Reading:
    volume = draw(st.sampled_from(("c:", "c:\\mnt", "e:")))
    return Reading(
        time=EPOCH + draw(st.integers(0, 12 * 24 * 12)) * 300.0 + draw(st.sampled_from((0.0, 0.1))),
        computer=draw(st.sampled_from(("EX01", "EX02"))),
        object="LogicalDisk",
        counter="Free Megabytes",
        instance=volume,
        value=draw(st.sampled_from((-1.0, 0.0, 1e9))),
        kind="level",
        feed=Feed(metric="ese_volume_free_bytes", owner="computer", labels=(volume,)),
    )


@st.composite
def volumes(draw: st.DrawFn) -> VolumesSeen:
    return VolumesSeen(
        time=EPOCH + draw(st.integers(0, 12 * 24)) * 3600.0,
        computer="EX01",
        devices=draw(st.sampled_from(({"e:": "lun7"}, {"e:": "lun8", "f:": "lun9"}, {}))),
    )


@st.composite
def checks(draw: st.DrawFn) -> Event:
    time = draw(st.integers(0, 12 * 24)) * 3600.0
    name = draw(st.sampled_from(("Sales", "Stock")))
    kind = draw(st.sampled_from((8957, 8957, 5235)))
    errors = draw(st.integers(0, 2))
    return checkdb(time, errors, full=draw(st.booleans()), database=name, event_id=kind)


@st.composite
def sets(draw: st.DrawFn) -> SetBackedUp:
    group = draw(st.sampled_from(("SG06", "SG07", "SG09")))
    start = draw(st.integers(0, 12 * 24)) * 3600.0
    size = draw(st.sampled_from((9, 36)))
    return backed_up(group, start, gigabytes=size, job=draw(st.sampled_from(("a", "b"))))


ANYTHING = st.one_of(events(), events(), readings(), volumes(), checks(), sets())


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("settings", [Settings(retention=3 * DAY), SETTINGS], ids=["plain", "rule"])
@given(records=st.lists(st.one_of(ANYTHING, free_space()), max_size=30))
def test_the_series_of_steps_are_those_of_the_whole_exposition(
    settings: Settings, every: int, records: list[Record]
) -> None:
    """Of the first step behind each record, and of every so many of the others."""
    step = 3_600_000
    ordered = moments(records)
    replay, changes = replayed(records, settings, step=step)
    folder = Folder(State(), settings)
    folder.open_source("logs", (ordered[0][0] if ordered else BEGIN) / 1000)
    times = sorted({time for time, _ in ordered})
    steps = set(range(-(-times[0] // step) * step, times[-1] + 1, step)) if times else set()
    by_time = dict(ordered)
    seen: dict[str, float] = {}
    pending = iter(changes)
    change = next(pending, None)
    is_news = False

    for time in sorted(steps | set(times)):
        folder.fold("logs", by_time.get(time, Batch()))
        is_news |= time in by_time
        if time not in steps:
            continue
        folder.expire(time / 1000)
        while change is not None and change.time <= time:
            seen[replay.series[change.series].text] = change.value
            change = next(pending, None)
        if is_news or time // step % every == 0:
            shown = {text: value for text, value in seen.items() if not math.isnan(value)}
            assert shown == naive(folder.state, settings, time / 1000), time
            is_news = False


@given(records=st.lists(st.one_of(events(), readings()), max_size=30))
def test_changes_ascend_and_a_series_has_one_at_a_time_and_only_real_ones(
    records: list[Record],
) -> None:
    _, changes = replayed(records)
    last: dict[int, float] = {}

    assert [change.time for change in changes] == sorted(change.time for change in changes)
    assert len({(change.time, change.series) for change in changes}) == len(changes)
    for change in changes:
        assert change.value != last.get(change.series), "nothing changed"
        assert not math.isnan(change.value) or not math.isnan(last.get(change.series, math.nan))
        last[change.series] = change.value


def test_a_value_changes_at_the_time_of_its_record() -> None:
    replay, changes = replayed(
        [event(700, 0.0), event(703, 7200.123, fields={"pages_freed": 42794, "seconds": 7200})]
    )
    freed = [
        (change.time - BEGIN, change.value)
        for change in changes
        if replay.series[change.series].name == "ese_defrag_reported_pages_freed_total"
    ]

    assert freed == [(0, 0.0), (7_200_123, 42794.0)]


def test_a_pass_that_falls_silent_stops_running_at_the_first_step_after_seven_days() -> None:
    replay, changes = replayed([event(700, 10.0), event(507, 20 * DAY)])
    running = [
        (change.time, change.value)
        for change in changes
        if replay.series[change.series].name == "ese_pass_running"
        and 'task="defrag"' in replay.series[change.series].text
    ]
    silent = milliseconds(EPOCH + 10.0 + 7 * DAY)

    assert running == [(milliseconds(EPOCH + 10.0), 1.0), (silent // STEP * STEP + STEP, 0.0)]


def test_a_window_opens_and_closes_between_records_at_the_steps() -> None:
    replay, changes = replayed(
        [event(700, 0.0), event(704, 3 * DAY)], SETTINGS, ["ese_window_open"]
    )
    midnight = EPOCH // DAY * DAY

    assert [(change.time / 1000 - midnight, change.value) for change in changes] == [
        (EPOCH - midnight, 0.0),
        *(
            (day * DAY + hour * HOUR, value)
            for day in (1, 2, 3)
            for hour, value in ((1, 1.0), (5, 0.0))
        ),
    ]
    assert {replay.series[change.series].name for change in changes} == {"ese_window_open"}


def level(seconds: float, value: float) -> Reading:
    """A sample of the depth of the checkpoint, that long after EPOCH."""
    return Reading(
        time=EPOCH + seconds,
        computer="EX01",
        object="MSExchange Database ==> Instances",
        counter="Log Generation Checkpoint Depth",
        instance="Information Store/SG06",
        value=value,
        kind="level",
        feed=Feed(metric="ese_checkpoint_depth_logs", name="SG06"),
    )


def test_a_level_ends_at_the_first_step_after_its_samples_ceased() -> None:
    _, changes = replayed([level(0.0, 12.0), event(700, DAY)], names=["ese_checkpoint_depth_logs"])

    assert [change.time - BEGIN for change in changes] == [0, 900_000 + STEP - BEGIN % STEP]
    assert changes[0].value == 12.0
    assert math.isnan(changes[1].value)


def test_a_level_ends_sooner_when_its_samples_have_become_denser() -> None:
    sampled = [level(time, value) for time, value in ((0.0, 5.0), (600.0, 6.0), (900.0, 6.0))]
    _, changes = replayed([*sampled, event(700, DAY)], names=["ese_checkpoint_depth_logs"])

    # A quarter of an hour behind the last one; behind the one before it was half an hour.
    times = [0, 600_000, 1_800_000 + STEP - BEGIN % STEP]
    assert [change.time - BEGIN for change in changes] == times
    assert [change.value for change in changes[:2]] == [5.0, 6.0]
    assert math.isnan(changes[2].value)


def test_a_level_that_comes_back_with_its_old_value_is_shown_again() -> None:
    def sample(kind: Kind, metric: str, time: float) -> Reading:
        return Reading(
            time=EPOCH + time,
            computer="EX01",
            object="o",
            counter=kind,
            instance="i",
            value=0.0,
            kind=kind,
            feed=Feed(metric=metric, name="SG06"),
        )

    depth, rate = "ese_checkpoint_depth_logs", "ese_defrag_pages_read_total"
    _, changes = replayed(
        [
            sample("level", depth, 0.0),
            event(700, 0.0),
            sample("rate", rate, 900.1),
            sample("rate", rate, 1200.0),
            sample("level", depth, DAY),
        ],
        names=[depth],
    )

    assert [change.time - BEGIN for change in changes] == [0, 900_100, 86_400_000]


def test_the_free_space_of_logs_changes_ends_and_comes_back() -> None:
    def sample(value: float, time: float) -> Reading:
        return Reading(
            time=EPOCH + time,
            computer="EX01",
            object="LogicalDisk",
            counter="Free Megabytes",
            instance="C:",
            value=value,
            kind="level",
            feed=Feed(metric="ese_volume_free_bytes", owner="computer", labels=("c:",)),
        )

    samples = [sample(5.0, 60.0), sample(5.0, 120.0), sample(4.0, 180.0), sample(4.0, DAY)]
    replay, changes = replayed(
        [event(700, 0.0), *samples], SETTINGS, names=["ese_log_disk_free_bytes"]
    )

    assert [(change.time - BEGIN, change.value) for change in changes if change.value > 0] == [
        (60_000, 5.0),
        (180_000, 4.0),
        (86_400_000, 4.0),
    ]
    assert sum(math.isnan(change.value) for change in changes) == 1
    assert [series.text for series in replay.series] == [
        'ese_log_disk_free_bytes{computer="ex01",ese_instance="SG06"}'
    ]


def test_a_silent_observed_database_ends_with_its_retention_and_comes_back() -> None:
    changes_of: dict[str, Any] = {
        "database": "c:\\app\\x.edb",
        "process": "svchost",
        "ese_instance": "",
    }
    replay, changes = replayed(
        [
            event(507, 0.0, **changes_of),
            event(700, 100 * DAY),
            event(507, 101 * DAY, **changes_of),
        ]
    )
    info = [
        (change.time, math.isnan(change.value))
        for change in changes
        if replay.series[change.series].text.startswith("ese_database_info")
        and "x.edb" in replay.series[change.series].text
    ]

    gone = milliseconds(EPOCH + 90 * DAY) // STEP * STEP + STEP
    assert info == [(BEGIN, False), (gone, True), (milliseconds(EPOCH + 101 * DAY), False)]


def test_a_silent_database_of_sql_server_ends_with_its_retention() -> None:
    replay, changes = replayed([checkdb(0.0), event(700, 100 * DAY)])
    ends = {
        change.time
        for change in changes
        if math.isnan(change.value) and 'database="sales"' in replay.series[change.series].text
    }

    assert ends == {milliseconds(EPOCH + 90 * DAY) // STEP * STEP + STEP}


def test_a_set_is_no_longer_of_one_database_when_its_instance_has_a_second() -> None:
    replay, changes = replayed(
        [event(700, 0.0), backed_up(start=0), event(700, 2 * HOUR, database=r"e:\mdb06\b.edb")]
    )
    found = [
        (change.time - BEGIN, change.value)
        for change in changes
        if replay.series[change.series].name == "ese_backup_bytes_total"
    ]

    assert found[0] == (3_600_000, 36e9)
    assert found[1][0] == 7_200_000
    assert math.isnan(found[1][1])
    assert len(found) == 2


@pytest.mark.parametrize("of", ["SG06", ""])
def test_a_shadow_copy_is_no_longer_of_one_database_when_there_is_a_second(of: str) -> None:
    shadow: dict[str, Any] = {"database": "", "ese_instance": of}
    second = event(700, 2 * HOUR, database=r"e:\mdb06\b.edb", ese_instance=of or "SG09")
    copy = [event(2005, 1.0, **shadow), event(2006, HOUR, **shadow)]
    replay, changes = replayed([event(700, 0.0), *copy, second])
    found = [
        (change.time - BEGIN, change.value)
        for change in changes
        if replay.series[change.series].name == "ese_backup_last_completion_timestamp_seconds"
    ]

    assert found[0] == (3_600_000, EPOCH + HOUR)
    assert found[1][0] == 7_200_000
    assert math.isnan(found[1][1])


def test_a_backup_counts_for_its_file_whichever_instance_made_it() -> None:
    of_other: dict[str, Any] = {"ese_instance": "SG09"}
    file = {"bytes": 4096}
    replay, changes = replayed(
        [
            event(210, 1.0, database="", **of_other),
            event(220, 2.0, fields=file, **of_other),
            event(221, 3.0, **of_other),
            event(700, 4.0),
            event(213, 5.0, database="", **of_other),
            event(704, 6.0),
        ]
    )
    found = [
        (change.time - BEGIN, change.value)
        for change in changes
        if replay.series[change.series].name == "ese_backup_bytes_total"
    ]

    assert found == [(5000, 4096.0)]


def test_nothing_in_a_replay_is_history_to_it() -> None:
    bad = {"page_number": 17}
    replay, changes = replayed([event(474, 0.0, fields=bad), event(700, 400 * DAY)])
    shown = shown_at(replay, changes, changes[-1].time)
    of_kind = f'{{computer="ex01",database="{DATABASE.lower()}",kind="uncorrectable"}}'.replace(
        "\\", "\\\\"
    )

    assert shown[f"ese_known_bad_pages{of_kind}"] == 1
    assert shown[f"ese_known_bad_pages_found_in_history{of_kind}"] == 0


def test_the_agent_its_sources_and_judgements_of_the_present_have_no_past() -> None:
    assert {name for name in CATALOGUE if name not in ALL} == {
        name
        for name in CATALOGUE
        if name.startswith(("esewatch_", "process_"))
        or CATALOGUE[name].labels == ("source",)
        or name in JUDGED | OF_NOW
    }


def test_no_metric_of_advice_is_made_of_records_alone() -> None:
    records = [event(700, 0, 1), event(704, HOUR, 2), event(702, DAY, 3)]
    folder = Folder(State(), SETTINGS)
    folder.open_source("a", EPOCH)
    folder.fold("a", Batch(records=list(records)))
    made = families(folder.state, SETTINGS, EPOCH + 2 * DAY)

    assert len(JUDGED) >= 8
    assert JUDGED.isdisjoint(family.name for family in made)


@pytest.mark.slow
@given(records=st.lists(st.one_of(events(), events(), readings(), volumes()), max_size=30))
def test_advice_where_it_changes_is_that_of_the_whole_state(records: list[Record]) -> None:
    ordered = moments(records)
    replay, changes = replayed(records, SETTINGS, JUDGED)
    folder = Folder(State(), SETTINGS)
    before = (ordered[0][0] if ordered else BEGIN) / 1000
    folder.open_source("logs", before)
    pending = iter(ordered)
    moment = next(pending, None)

    for step in sorted({change.time for change in changes}):
        while moment is not None and moment[0] <= step:
            moment[1].caught_up = True
            folder.fold("logs", moment[1])
            moment = next(pending, None)
        now = step / 1000
        folder.expire(now)
        judged = advise(folder.state, SETTINGS, now)
        details = of_instances(folder.state, SETTINGS, now)
        list(restate(folder.state, SETTINGS, judged, details, now - before))
        before = now
        made = advice_families(judged, details, folder.state)
        expected = sorted(str((s.name, s.labels, s.value)) for f in made for s in f.samples)
        assert told(replay, changes, step) == expected


def judged_at(
    records: Iterable[Record],
    settings: Settings,
    patch: pytest.MonkeyPatch,
    shown_from: float = 0.0,
) -> list[float]:
    """Times, in seconds after EPOCH, at which a replay judges."""
    found = []

    def judge(state: State, of: Settings, now: float) -> tuple[Judgement, ...]:
        found.append(now - EPOCH)
        return advise(state, of, now)

    patch.setattr(series_changes, "advise", judge)
    replayed(records, settings, ["ese_finding"], shown_from=milliseconds(EPOCH + shown_from))
    return found


def finding(name: str, records: Iterable[Record]) -> list[tuple[float, float]]:
    """(seconds after EPOCH, value) of the changes of a finding."""
    replay, changes = replayed(records, SETTINGS, ["ese_finding"])
    return [
        (change.time / 1000 - EPOCH, change.value)
        for change in changes
        if f'finding="{name}"' in replay.series[change.series].text
    ]


def test_a_finding_begins_with_the_record_that_makes_it() -> None:
    page = event(474, DAY + 77.25, fields={"page_number": 17})

    assert finding("known_bad_page", [event(700, 0.0), page, event(701, 2 * DAY)]) == [
        (DAY + 77.25, 1.0)
    ]


def test_records_that_follow_each_other_are_judged_once_a_minute_and_the_last_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records = [event(704, second) for second in (0.0, 5.0, 59.0, 75.5, 300.0, 301.5)]

    assert judged_at(records, Settings(), monkeypatch) == [0.0, 60.0, 120.0, 300.0, 301.5]


def test_what_is_long_before_the_first_sample_is_not_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records = [event(704, day * DAY) for day in (0, 20 * 365, 20 * 365 + 1)]
    found = judged_at(records, Settings(), monkeypatch, shown_from=(20 * 365 + 1) * DAY)

    assert 25 <= len(found) <= 28
    assert found[0] == (20 * 365 * DAY) - HOUR


def test_without_records_it_is_judged_hourly_and_where_a_window_opens_or_closes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    window = Window(start=datetime.time(1, 25), duration=1.25 * HOUR)
    settings = Settings(
        windows={"nightly": window}, databases=[DatabaseRule(match="*", window="nightly")]
    )
    midnight = DAY - EPOCH % DAY
    records = [event(704, midnight), event(704, midnight + 4 * HOUR)]
    found = judged_at(records, settings, monkeypatch)

    minutes = [round((time - midnight) / 60) for time in found]
    assert minutes == [0, 60, 85, 145, 160, 220, 240]


def test_readings_are_judged_where_a_level_passes_its_limit_and_where_it_is_not_read_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def depth(minute: int, value: float) -> Reading:
        return Reading(
            time=EPOCH + minute * 60.0,
            computer="EX01",
            object="MSExchange Database ==> Instances",
            counter="depth",
            instance="Information Store/sg06",
            value=value,
            kind="level",
            feed=Feed(metric="ese_checkpoint_depth_logs", name="SG06"),
        )

    deep = {7, 8, 9, 30}
    read = [depth(minute, 600.0 if minute in deep else 10.0) for minute in range(1, 31)]
    records: list[Record] = [event(704, 0.0), *read, event(704, 55 * 60.0)]

    assert finding("checkpoint_deep", records) == [
        (7 * 60.0, 1.0),
        (10 * 60.0, 0.0),
        (30 * 60.0, 1.0),
        (45 * 60.0, 0.0),
    ]
    assert len(judged_at(records, SETTINGS, monkeypatch)) == 6


def told(replay: Replay, changes: list[SeriesChange], time: int) -> list[str]:
    """What is shown at `time`, each series with its labels and value."""
    found = []
    for text, value in shown_at(replay, changes, time).items():
        (family,) = text_string_to_metric_families(f"{text} {value}\n")
        found += [str((sample.name, sample.labels, sample.value)) for sample in family.samples]
    return sorted(found)


def test_advice_moves_on_between_records_and_its_series_end() -> None:
    scanned = event(721, 40 * DAY + HOUR, fields={"pages_seen": 1000, "bad_checksums": 0})
    records = [
        event(700, 0.0),
        event(701, HOUR),
        event(717, 40 * DAY),
        scanned,
        event(700, 42 * DAY),
    ]
    never = finding("never_verified", records)

    (begun, stands), over, (gone, ended) = never
    assert stands == 1.0
    assert 7 * DAY < begun <= 7 * DAY + HOUR
    assert over == (40 * DAY + HOUR, 0.0)
    assert 41 * DAY + HOUR <= gone <= 41 * DAY + 2 * HOUR
    assert math.isnan(ended)


def test_a_backup_without_an_end_is_at_work_for_a_day() -> None:
    records = [event(700, 0.0), event(210, HOUR, database=""), event(704, 3 * DAY)]
    replay, changes = replayed(records, SETTINGS, ["ese_backup_running"])

    end = (math.floor(EPOCH + HOUR + DAY) * 1000 // STEP + 1) * STEP
    assert {each.name for each in replay.series} == {"ese_backup_running"}
    assert [(each.time, each.value) for each in changes] == [
        (milliseconds(EPOCH + HOUR), 1),
        (end, 0),
    ]


def test_a_replayed_source_is_never_behind() -> None:
    scanned = event(721, HOUR, fields={"pages_seen": 1000, "bad_checksums": 0})
    records = [event(717, 0.0), scanned, event(700, 2 * DAY)]
    names = ["ese_database_verdict"]
    replay, changes = replayed(records, SETTINGS, names)
    last = [replay.series[each.series].text for each in changes if each.value == 1][-1]

    assert 'verdict="blind"' not in " ".join(each.text for each in replay.series)
    assert 'verdict="ok"' in last


def test_where_no_metric_of_it_is_wanted_nothing_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(series_changes, "advise")
    _, changes = replayed([event(700, 0.0), event(704, DAY)], SETTINGS)

    assert changes != []


def test_match_is_an_expression_of_whole_names_and_may_be_repeated() -> None:
    assert replayed_metrics(["ese_pass_running", "ese_defrag_pages_.*"]) == {
        "ese_pass_running",
        "ese_defrag_pages_read_total",
        "ese_defrag_pages_freed_total",
    }


@pytest.mark.parametrize("pattern", ["ese_pass_runnin", "(", "esewatch_build_info", ""])
def test_an_expression_that_matches_nothing_or_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(EsewatchError, match="--match"):
        replayed_metrics([pattern])


@given(records=st.lists(st.one_of(events(), readings()), min_size=1, max_size=15))
def test_a_limited_replay_has_the_same_values_for_what_it_has(records: list[Record]) -> None:
    names = {"ese_pass_running", "ese_events_total", "ese_checkpoint_depth_logs"}
    whole, all_changes = replayed(records)
    part, some = replayed(records, names=names)
    expected = [
        (change.time, whole.series[change.series].text, str(change.value))
        for change in all_changes
        if whole.series[change.series].name in names
    ]

    found = [(c.time, part.series[c.series].text, str(c.value)) for c in some]
    assert sorted(found) == sorted(expected)
