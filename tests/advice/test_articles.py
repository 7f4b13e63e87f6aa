"""The published examples, read from events and counters, get the published advice.

Sources: published facts P1 (events 703 and 721, the ratio and its bounds), semantics.md 5 (2 TB
in the background), and event logs of real domain controllers.
"""

import datetime
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from esewatch.advice.history.history import histories
from esewatch.advice.window.window import WindowAdvice, window_advice
from esewatch.config import DatabaseRule, Settings, Window, policy_for
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.model import Batch, HeaderSeen, Record, Source
from esewatch.sources.counters.perfmon_csv import perfmon_csv_source
from esewatch.sources.kind import EventOptions
from esewatch.sources.logs.event_stream import event_stream_source
from tests.support.samples import sample

DAY = 86400.0
HOUR = 3600.0
BEGIN = datetime.datetime(2007, 6, 16, tzinfo=datetime.UTC)
"""The day on which the published pass started."""
DATABASE = "e:\\MDB06\\priv06.edb"
STORE = ("MSExchangeIS", "3392", "SG06: ", DATABASE)
WORKER = ("Microsoft.Exchange.Store.Worker", "7128,D,12,15.01.2507.012", "DB01: ")
FREED = 42_794
"""Pages of the published pass."""
WINDOW = 5 * HOUR
"""Its 124,919 s in 7 invocations are 5 h each."""
NIGHTS = 56

Line = tuple[float, int, tuple[str, ...]]
"""Seconds after BEGIN, event id, insertion strings."""


class Pace(NamedTuple):
    """How a store is defragmented."""

    every: int
    """Nights from the end of a pass to the end of the next."""
    ratio: float
    """Pages read for each one freed."""


PUBLISHED = Pace(every=5, ratio=120.0)
"""14 passes in 73 days; little is left to free."""


def text(seconds: float, form: str) -> str:
    return f"{BEGIN + datetime.timedelta(seconds=seconds):{form}}"


def write_events(path: Path, lines: Iterable[Line]) -> None:
    """As `evtx_dump -o jsonl` prints them."""
    with path.open("w") as file:
        for number, (seconds, event_id, strings) in enumerate(sorted(lines), start=1):
            system = {
                "Provider": {"#attributes": {"Name": "ESE"}},
                "EventID": event_id,
                "Level": 4,
                "TimeCreated": {"#attributes": {"SystemTime": text(seconds, "%Y-%m-%dT%H:%M:%SZ")}},
                "EventRecordID": number,
                "Channel": "Application",
                "Computer": "EX01",
            }
            data = {"Data": {"#text": strings}}
            file.write(json.dumps({"Event": {"System": system, "EventData": data}}) + "\n")


def write_counters(path: Path, pace: Pace) -> None:
    """A sample each quarter of an hour; both rates are even in the window and 0 outside."""
    freed = FREED / (pace.every * WINDOW)
    names = ("Online Defrag Pages Read/sec", "Online Defrag Pages Freed/sec")
    columns = [
        f"\\\\EX01\\MSExchange Database ==> Instances(Information Store/SG06)\\{name}"
        for name in names
    ]
    rows = [["(PDH-CSV 4.0) (UTC)(0)", *columns]]
    for number in range(NIGHTS * 96):
        seconds = number * 900.0
        rate = freed if HOUR < seconds % DAY <= HOUR + WINDOW else 0.0
        rows.append([text(seconds, "%m/%d/%Y %H:%M:%S.000"), f"{rate * pace.ratio}", f"{rate}"])
    path.write_text("".join(",".join(f'"{cell}"' for cell in row) + "\r\n" for row in rows))


def nights(every: int) -> Iterator[Line]:
    """Windows from 01:00 on; every so many of them a pass is done, as the published one."""
    for night in range(NIGHTS):
        begin = night * DAY + HOUR
        first = night - night % every
        date = text(first * DAY, "%-m/%-d/%Y")
        yield begin, 700 if night == first else 702, (*STORE, date, str(night - first))
        if (night + 1) % every:
            yield begin + WINDOW, 704, STORE
        else:
            done = 701 if every == 1 else 703
            figures = (FREED, date, 124919, 7, 4, 14, 73)
            yield (
                begin + WINDOW - 60,
                done,
                (*STORE, *map(str, figures[:1]), *map(str, figures[1:])),
            )


def folded(sources: Iterable[Source]) -> Folder:
    folder = Folder(State(), Settings())
    for source in sources:
        folder.open_source(source.name, 0.0)
        for batch in source.poll(final=True):
            assert batch.unreadable == []
            folder.fold(source.name, batch)
        source.close()
    return folder


def judged(folder: Folder, settings: Settings, now: float) -> WindowAdvice:
    ((computer, database),) = folder.state.databases
    found = histories(folder.state, settings)[computer, database]
    return window_advice(found, policy_for(settings, computer, database), now)


def store(tmp_path: Path, pace: Pace, *, counters: bool = True) -> WindowAdvice:
    """The advice on the published store, at noon after the last of its windows."""
    write_events(tmp_path / "events.jsonl", nights(pace.every))
    sources = [
        event_stream_source(
            "events", [str(tmp_path / "events.jsonl")], EventOptions(date_order="mdy")
        )
    ]
    if counters:
        write_counters(tmp_path / "counters.csv", pace)
        sources.append(perfmon_csv_source("counters", [str(tmp_path / "counters.csv")]))
    settings = Settings(
        windows={"night": Window(start=datetime.time(1), duration=WINDOW)},
        databases=[DatabaseRule(match="*priv06.edb", window="night")],
    )
    return judged(folded(sources), settings, BEGIN.timestamp() + (NIGHTS - 0.5) * DAY)


def test_over_100_pages_read_for_each_freed_the_window_can_be_reduced(tmp_path: Path) -> None:
    advice = store(tmp_path, PUBLISHED)

    assert (advice.action, advice.rule) == ("shrink", "ratio_high")
    assert advice.evidence.ratio == pytest.approx(120, rel=1e-6)
    # 5 h x 100 / 120, in whole quarters.
    assert advice.recommended_seconds == 4 * HOUR
    assert advice.evidence.missing == ()


@pytest.mark.parametrize("ratio", [50.5, 75.0, 99.5])
def test_from_50_to_100_nothing_is_changed(tmp_path: Path, ratio: float) -> None:
    advice = store(tmp_path, PUBLISHED._replace(ratio=ratio))

    assert (advice.action, advice.recommended_seconds) == ("keep", WINDOW)
    assert advice.evidence.ratio == pytest.approx(ratio, rel=1e-6)


def test_under_50_the_window_should_be_longer(tmp_path: Path) -> None:
    advice = store(tmp_path, PUBLISHED._replace(ratio=40.0))

    assert (advice.action, advice.rule) == ("grow", "ratio_low")
    assert advice.recommended_seconds == 6.25 * HOUR


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("counters", [True, False])
def test_passes_done_every_day_or_two_mean_that_the_window_can_shrink(
    tmp_path: Path, every: int, counters: bool
) -> None:
    advice = store(tmp_path, Pace(every=every, ratio=75.0), counters=counters)

    assert (advice.action, advice.rule) == ("shrink", "completes_often")
    assert advice.recommended_seconds is not None
    assert WINDOW / 2 <= advice.recommended_seconds < WINDOW
    assert (advice.evidence.ratio is None) != counters


def test_the_published_pass_alone_is_not_enough_to_say_anything(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    figures = ("42794", "6/16/2007", "124919", "7", "4", "14", "73")
    scan = ("6/19/2007", "208", "2", "1", "5850768", "0", "72682")
    write_events(
        path,
        [(0.0, 700, STORE), (4 * DAY, 703, (*STORE, *figures)), (4.1 * DAY, 721, (*STORE, *scan))],
    )

    folder = folded([event_stream_source("events", [str(path)], EventOptions(date_order="mdy"))])
    advice = judged(folder, Settings(), BEGIN.timestamp() + 5 * DAY)

    assert (advice.action, advice.recommended_seconds) == ("insufficient_evidence", None)
    assert "Advice needs 7 days with online defragmentation" in advice.reasons[0]


def background(tmp_path: Path, days: float, *, size: int | None, before: bool) -> WindowAdvice:
    """A scan of a current engine that has been running for so many days."""
    pages, took = 2_000_000_000_000 // 32768, 2_000_000.0
    active = (*WORKER, "e:\\DB01\\DB01.edb")
    date = text(0.0, "%-m/%-d/%Y")
    lines: list[Line] = [(took, 736, active), (took + days * DAY, 744, (*active, date, "1", "1"))]
    if before:
        done = (date, str(int(took)), str(pages))
        lines += [(0.0, 736, active), (took - 1.0, 737, (*active, *done))]
    path = tmp_path / "events.jsonl"
    write_events(path, lines)
    folder = folded([event_stream_source("events", [str(path)], EventOptions(date_order="mdy"))])
    now = BEGIN.timestamp() + took + days * DAY
    if size is not None:
        seen: list[Record] = [
            HeaderSeen(
                time=now, computer="EX01", database=active[-1], page_size=32768, size_bytes=size
            )
        ]
        folder.open_source("header", 0.0)
        folder.fold("header", Batch(records=seen, caught_up=True))
    return judged(folder, Settings(), now)


@pytest.mark.parametrize(
    ("size", "before"), [(2 * 10**12, True), (2 * 10**12, False), (None, True)]
)
def test_two_terabytes_at_a_megabyte_a_second_are_late_after_a_month_and_not_at_day_20(
    tmp_path: Path, size: int | None, before: bool
) -> None:
    at_day_20 = background(tmp_path, 20, size=size, before=before)
    later = background(tmp_path, 36, size=size, before=before)

    assert (at_day_20.action, at_day_20.rule) == ("not_applicable", "background")
    assert "running for 20 days" in at_day_20.reasons[1]
    assert (later.action, later.rule) == ("not_applicable", "scan_late")
    assert later.recommended_seconds is None


def test_a_first_scan_of_a_database_of_unknown_size_that_goes_on_is_late_after_45_days(
    tmp_path: Path,
) -> None:
    advice = background(tmp_path, 23, size=None, before=False)
    later = background(tmp_path, 46, size=None, before=False)

    assert (advice.action, advice.rule) == ("not_applicable", "background")
    assert "1.5 times the 23 days for which its first scan has been running" in advice.reasons[1]
    assert (later.action, later.rule) == ("not_applicable", "scan_late")


@pytest.mark.parametrize("name", "abc")
def test_real_domain_controllers_have_no_window(name: str) -> None:
    path = sample(f"csv/get-winevent-directory-service-{name}.csv")
    source = event_stream_source("events", [str(path)], EventOptions(date_order="mdy"))
    folder = folded([source])
    state = folder.state

    for computer, database in state.databases:
        now = state.databases[(computer, database)].last_seen + HOUR
        found = histories(state, Settings())[computer, database]
        advice = window_advice(found, policy_for(Settings(), computer, database), now)
        assert (advice.action, advice.rule) == ("not_applicable", "cycles")
        assert advice.recommended_seconds is None
    assert [database.endswith("ntds.dit") for _, database in state.databases] == [True]
