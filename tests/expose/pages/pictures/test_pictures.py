"""All pictures of a database together, of good histories and of damaged ones."""

import datetime
import math
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import not_heard
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.history.history import History, histories
from esewatch.config import DAYS, Policy, Window, default_settings
from esewatch.expose.pages.overview import overview
from esewatch.expose.pages.pictures import Pictures, pictures
from esewatch.expose.pages.pictures.nights import KINDS, nights
from esewatch.expose.pages.rendering import render
from esewatch.fold.instances.backups import Backup
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.rollups import Day, day_of
from esewatch.fold.state.state import Pass
from tests.advice.histories import DAY, HOUR, NOON, store
from tests.expose.examples import HOSTILE, NOW, example
from tests.expose.pages.pictures.drawn import check_sound
from tests.expose.pages.pictures.examples import (
    MORNING,
    advised,
    background,
    exchange,
    figured,
    garbage_collection,
)

NAMES = ("timeline", "window_bar", "sparkline", "forecast")
DUE = (
    Forecast(task="defrag", p50=NOON + DAY, p90=NOON + 3 * DAY, deadline=NOON + 9 * DAY),
    Forecast(task="checksum", p50=NOON + DAY, p90=NOON + 3 * DAY, deadline=NOON + 2 * DAY),
)


def made(history: History, now: float = MORNING, **advice: Any) -> Pictures:
    return pictures(history, advised(history, MORNING, **advice), figured(history), Policy(), now)


def drawn(found: Pictures) -> list[Markup]:
    return [picture for name in NAMES if (picture := getattr(found, name)) is not None]


def check_told(found: Pictures) -> None:
    """Each picture is there and sound, or there is a sentence why not."""
    assert found.sentence.endswith(".")
    for name in NAMES:
        assert (getattr(found, name) is None) == (name in found.why_not), name
    assert all(why.endswith(".") for why in found.why_not.values())
    for picture in drawn(found):
        check_sound(picture)


def test_a_store_has_all_of_them_in_14_kb() -> None:
    found = made(exchange(), forecasts=DUE)
    check_told(found)
    assert found.why_not == {}
    assert sum(len(picture.encode()) for picture in drawn(found)) < 14_000


@pytest.mark.parametrize(
    ("history", "why"),
    [
        (garbage_collection(), "garbage collection is meant to defragment it"),
        (background(), "its engine is meant to scan in the background, day and night"),
    ],
)
def test_without_a_window_two_pictures_say_why_not(history: History, why: str) -> None:
    found = made(history)
    check_told(found)
    assert found.timeline is not None
    assert found.why_not["window_bar"].startswith(f"No window on this model: {why}")
    no_ratio = f"No ratio is judged. No window on this model: {why}"
    assert found.why_not["sparkline"].startswith(no_ratio)


def test_a_database_of_which_little_is_known_says_what_is_missing() -> None:
    bare = History(computer="ex01", database="x.edb", model="window")
    reasons = (Forecast(task="defrag", reason="no pass is running"), Forecast(task="checksum"))
    found = made(bare, forecasts=reasons)
    check_told(found)
    assert found.why_not == {
        "timeline": "No maintenance and no backup is known in the 14 nights to 1 July 2007.",
        "window_bar": "No window is configured for this database.",
        "sparkline": "Online Defrag Pages Read/sec and Pages Freed/sec are not both in the input.",
        "forecast": "Defragmentation: no pass is running. Scan: no forecast.",
    }
    sampled = msgspec.structs.replace(bare, sampled_since=MORNING - DAY)
    assert made(sampled).why_not["sparkline"] == (
        "No page was read by online defragmentation in the last 28 days."
    )


def test_without_advice_there_is_no_forecast_yet() -> None:
    found = pictures(exchange(), None, figured(exchange()), Policy(), MORNING)
    check_told(found)
    assert found.why_not == {"forecast": "No forecast is made yet."}


def test_of_a_silent_computer_nothing_is_drawn_beyond_its_last_record() -> None:
    silent = not_heard(NOON - 40 * HOUR, DAY, "warning", stopped=False)
    heard, unheard = made(background()), made(background(), findings=(silent,))
    read = made(background(unread_since=NOON - 40 * HOUR))
    assert unheard.timeline == read.timeline != heard.timeline


def test_work_that_runs_is_drawn_until_the_last_record() -> None:
    heard = NOON - 40 * HOUR

    def drawn_of(history: History, heard: float) -> tuple[Pictures, Pictures]:
        advice, figures = advised(history, MORNING), figured(history)
        told = msgspec.structs.replace(history, heard=[(NOON - 20 * DAY, heard)])
        known = pictures(told, advice, figures, Policy(), MORNING)
        return known, pictures(history, advice, figures, Policy(), MORNING)

    running, until_now = drawn_of(background(), heard)
    assert running.timeline == made(background(unread_since=heard)).timeline != until_now.timeline
    ended, as_before = drawn_of(exchange(), MORNING - HOUR)
    assert ended.timeline == as_before.timeline


def test_every_database_of_a_state_has_its_pictures() -> None:
    state, settings = example(), default_settings()
    view = overview(state, settings, NOW, advise(state, settings, NOW))
    for figures in view.databases:
        known = histories(state, settings)[figures.computer, figures.database]
        found = pictures(known, figures.advice, figures, settings.policy, NOW)
        check_told(found)
        assert not any(HOSTILE[:8] in picture for picture in drawn(found))
    assert len(view.databases) == len(state.databases)


def test_many_short_runs_stay_small() -> None:
    def runs(every: float, long: float) -> list[Run]:
        starts = [NOON - 15 * DAY + n * every for n in range(int(15 * DAY / every))]
        return [Run(start, start + long) for start in starts]

    found = made(
        store(
            defrag_runs=runs(900, 500),
            scan_runs=runs(800, 400),
            defrag_passes=[],
            backups=[Backup("full", *run, {}, verifying=False) for run in runs(3000, 99)],  # type: ignore[arg-type]
            event_gaps=[(*run, 1) for run in runs(5000, 900)],
        ),
        forecasts=DUE,
    )
    check_told(found)
    assert sum(len(picture.encode()) for picture in drawn(found)) < 14_000


def test_the_style_sheet_knows_every_class_and_needs_nothing_else() -> None:
    css = render("pictures.css.j2")
    for picture in drawn(made(exchange(), forecasts=DUE)):
        classes = set(" ".join(re.findall('class="([^"]*)"', picture)).split())
        assert [name for name in classes - {"scroll"} if f".{name}" not in css] == []
    assert "url(" not in css
    assert "@import" not in css


TIMES = st.one_of(
    st.floats(MORNING - 40 * DAY, MORNING + DAY),
    st.integers(-960, 24).map(lambda hours: NOON + hours * HOUR),
    st.sampled_from([0.0, -1.0, math.nan, math.inf, -math.inf, 1e300]),
)
AMOUNTS = st.one_of(
    st.floats(0, 1e12), st.sampled_from([0.0, -1.0, math.nan, math.inf, 1e-300, 1e300])
)
RUN = st.tuples(TIMES, st.one_of(st.none(), TIMES)).map(lambda run: Run(*run))
RUNS = st.lists(RUN, max_size=40)
PASSES = st.lists(
    st.builds(
        Pass,
        task=st.just("checksum"),
        started=st.one_of(st.none(), TIMES),
        ended=st.one_of(st.none(), TIMES),
        outcome=st.sampled_from(["open", "completed", "partial", "abandoned"]),
        last_event=TIMES,
        pages_seen=st.one_of(st.none(), st.integers(-5, 2**70)),
    ),
    max_size=4,
)
WINDOWS = st.builds(
    Window,
    start=st.times().map(lambda time: time.replace(second=0, microsecond=0)),
    duration=st.integers(1, 96).map(lambda quarters: quarters * 900.0),
    days=st.lists(st.sampled_from(DAYS), max_size=7, unique=True),
    timezone=st.sampled_from(
        ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]
    ),
)
HISTORIES = st.builds(
    History,
    computer=st.just("c"),
    database=st.text(max_size=8),
    model=st.sampled_from(["window", "garbage_collection", "background", "application"]),
    window=st.one_of(st.none(), WINDOWS),
    days=st.lists(
        st.builds(
            Day,
            day=st.integers(-40, 1).map(lambda ago: day_of(MORNING) + ago),
            pages_read=AMOUNTS,
            pages_freed=AMOUNTS,
            log_bytes=st.just(0.0),
            scan_pages_read=st.just(0.0),
            log_generations=st.just(0.0),
        ),
        max_size=12,
    ),
    sampled_since=st.one_of(st.none(), TIMES),
    defrag_runs=RUNS,
    scan_runs=RUNS,
    defrag_passes=PASSES,
    checksum_passes=PASSES,
    failures=st.lists(TIMES, max_size=3),
    backups=st.lists(
        st.tuples(TIMES, TIMES).map(lambda each: Backup("full", *each, {}, verifying=False)),
        max_size=9,
    ),
    event_gaps=st.lists(st.tuples(TIMES, TIMES, st.integers(0, 9)), max_size=4),
    first_seen=TIMES,
    verified=st.dictionaries(st.sampled_from(["online_scan", "page_scan"]), TIMES),
)
NOWS = st.one_of(
    st.just(MORNING),
    st.floats(MORNING - DAY, MORNING + 400 * DAY),
    st.sampled_from([0.0, -1.0, 1e9, 1e12, 2.4e11]),
)


@given(history=HISTORIES, now=NOWS, dates=st.tuples(TIMES, TIMES, TIMES, AMOUNTS))
def test_whatever_a_history_holds_the_pictures_are_sound(
    history: History, now: float, dates: tuple[float, float, float, float]
) -> None:
    task = Forecast(task="defrag", p50=dates[0], p90=dates[1], deadline=dates[2], progress=dates[3])
    advice = advised(exchange(), MORNING, model=history.model, forecasts=(task,))
    found = pictures(history, advice, figured(history), Policy(), now)
    check_told(found)
    assert sum(len(picture.encode()) for picture in drawn(found)) < 16_000


@given(history=HISTORIES)
def test_whatever_a_history_holds_the_spans_lie_within_their_night(history: History) -> None:
    found = nights(history, MORNING)
    for night in found.nights:
        assert 22 * HOUR < night.end - night.start < 26 * HOUR
        for kind in KINDS:
            ends = [time for span in night.spans[kind] for time in (span.start, span.end)]
            assert ends == sorted(ends)
            assert all(night.start <= time <= night.end for time in ends)
            assert len(night.spans[kind]) <= 6
            assert all(0 <= s.seconds <= s.end - s.start + 1e-3 for s in night.spans[kind])
    assert datetime.timedelta(seconds=found.nights[-1].end - found.nights[0].start).days in (13, 14)
