"""Channels of the Windows event log through wevtutil: position, coverage, failures."""

import contextlib
import itertools
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from esewatch.config import Settings
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.model import Batch, Coverage, Event, SourceError
from esewatch.sources.kind import EventOptions
from esewatch.sources.process import Child
from esewatch.sources.windows import windows_log
from esewatch.sources.windows.windows_log import Output, WindowsLogSource, bookmark_at, bookmark_id
from tests.sources.windows_programs import WEVTUTIL, Clock, Keeper, event, program
from tests.support.each import of_each

BOTH = ("Application", "Directory Service")
BOOKMARK = (
    "<BookmarkList>\r\n  <Bookmark Channel='Application' RecordId='4711' IsCurrent='true'/>\r\n"
    "</BookmarkList>"
)
_made: list[WindowsLogSource] = []


@pytest.fixture(autouse=True)
def _closing() -> Iterator[None]:
    yield
    while _made:
        _made.pop().close()


def source(
    home: Path, *channels: str, keeper: Keeper | None = None, **settings: Any
) -> WindowsLogSource:
    settings = {"interval": 0.01, "program": program(home, WEVTUTIL), **settings}
    made = WindowsLogSource(
        "log", channels or ("Application",), EventOptions(companions=True), **settings
    )
    made.restore(keeper.positions if keeper else {})
    _made.append(made)
    return made


def log(home: Path, *records: str, channel: str = "Application") -> None:
    text = "".join(f"{record}\n" for record in records)
    (home / f"{channel}.log").write_text(text, encoding="utf-8")


def mode(home: Path, name: str) -> None:
    (home / "mode").write_text(name)


def runs(home: Path) -> list[str]:
    return (home / "runs").read_text().splitlines()


def other(record_id: int, **details: Any) -> str:
    return event(record_id, provider="Perflib", event_id=1008, strings=("Lsa", "x"), **details)


def folded(keeper: Keeper) -> Folder:
    """What the fold makes of all that was kept."""
    folder = Folder(State(), Settings())
    folder.open_source("log", 0.0)
    folder.fold("log", Batch(records=keeper.records, caught_up=True))
    return folder


def read(home: Path, *channels: str, keeper: Keeper | None = None, **settings: Any) -> Keeper:
    """Read until all is read."""
    keeper = keeper or Keeper()
    made = source(home, *channels, keeper=keeper, **settings)
    keeper.caught_up = False
    keeper.until(made, lambda: keeper.caught_up)
    made.close()
    return keeper


def test_the_first_reading_begins_at_the_oldest_record_and_decodes_its_strings(
    tmp_path: Path,
) -> None:
    log(tmp_path, other(10), event(11), other(12))
    keeper = read(tmp_path)
    [found] = [record for record in keeper.records if isinstance(record, Event)]
    assert (found.event_id, found.record_id, found.channel) == (703, 11, "Application")
    assert found.computer == "EX01.corp.example"
    assert found.database == "e:\\MDB06\\priv06.edb"
    assert found.time == 1182394811.123


def test_the_records_of_all_providers_are_covered(tmp_path: Path) -> None:
    log(tmp_path, other(10), event(11), other(12))
    [covered] = [r for r in read(tmp_path).records if isinstance(r, Coverage)]
    assert (covered.first, covered.last) == (10, 12)
    assert (covered.first_time, covered.last_time) == (1182394810.123, 1182394812.123)
    assert (covered.computer, covered.channel) == ("EX01.corp.example", "Application")


def test_the_position_is_the_bookmark_that_wevtutil_saved(tmp_path: Path) -> None:
    log(tmp_path, event(10), event(11))
    keeper = read(tmp_path)
    assert keeper.positions == {"Application": keeper.positions["Application"]}
    assert "RecordId='11'" in keeper.positions["Application"].decode("utf-16")


def test_reading_goes_on_behind_the_bookmark(tmp_path: Path) -> None:
    log(tmp_path, event(10), event(11))
    keeper = read(tmp_path)
    log(tmp_path, event(10), event(11), other(12), event(13))
    read(tmp_path, keeper=keeper)
    assert keeper.ids == [10, 11, 13]
    assert keeper.covered == [("Application", 10, 11), ("Application", 12, 13)]


def test_a_log_without_news_costs_one_record_a_look(tmp_path: Path) -> None:
    log(tmp_path, event(10))
    keeper = read(tmp_path)
    (tmp_path / "runs").unlink()
    before = len(keeper.records)
    read(tmp_path, keeper=keeper)
    assert runs(tmp_path) == ["Application c f rd uni"]
    assert len(keeper.records) == before


def test_a_long_log_comes_in_batches_each_with_its_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows_log, "_RUN_EVENTS", 10)
    log(tmp_path, *(event(number) for number in range(1, 36)))
    keeper = read(tmp_path)
    assert keeper.ids == list(range(1, 36))
    assert [last for _, _, last in keeper.covered] == [10, 20, 30, 35]
    assert bookmark_id(keeper.positions["Application"]) == 35


@pytest.mark.parametrize("kills", [1, 2, 3])
def test_a_crash_at_any_commit_loses_nothing_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: int
) -> None:
    monkeypatch.setattr(windows_log, "_RUN_EVENTS", 4)
    log(tmp_path, *(event(number) for number in range(1, 24)))
    keeper = Keeper()
    for _ in range(kills):
        made = source(tmp_path, keeper=keeper)
        goal = len(keeper.ids) + 1
        keeper.until(made, lambda goal=goal: len(keeper.ids) >= goal)  # type: ignore[misc]
        # The next run is under way and is lost with the source; its bookmark was never kept.
        made.close()
    read(tmp_path, keeper=keeper)
    assert keeper.ids == list(range(1, 24))


def test_what_was_read_and_not_committed_is_read_again(tmp_path: Path) -> None:
    log(tmp_path, event(1), event(2))
    lost = read(tmp_path)
    assert lost.ids == [1, 2]
    assert read(tmp_path, keeper=Keeper()).ids == [1, 2]


def test_a_bookmark_ahead_of_the_last_event_written_is_set_back_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows_log, "_RUN_EVENTS", 3)
    log(tmp_path, *(event(number) for number in range(1, 9)))
    mode(tmp_path, "ahead")
    assert read(tmp_path).ids == list(range(1, 9))


def test_a_run_that_begins_with_the_bookmarked_event_itself_comes_to_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows_log, "_RUN_EVENTS", 3)
    log(tmp_path, *(event(number) for number in range(1, 9)))
    mode(tmp_path, "inclusive")
    keeper = read(tmp_path)
    assert sorted(set(keeper.ids)) == list(range(1, 9))  # type: ignore[type-var]
    assert len(keeper.ids) > 8
    folder = folded(keeper)
    assert folder.state.hosts["ex01"].events["ESE"][703] == 8
    assert folder.state.sources["log"].missed == 0


def test_a_newest_record_that_never_comes_is_waited_for_without_a_busy_loop(
    tmp_path: Path,
) -> None:
    log(tmp_path, event(1), event(2))
    keeper = read(tmp_path)
    log(tmp_path, event(1), event(2), event(3))
    mode(tmp_path, "inclusive stuck")
    made = source(tmp_path, keeper=keeper, clock=Clock())
    keeper.until(made, lambda: keeper.ids == [1, 2, 2])
    for _ in range(3):
        keeper.take(made)
        assert made._readers[0]._child is None
    assert keeper.errors == []


def test_a_log_that_was_cleared_is_read_from_its_new_beginning(tmp_path: Path) -> None:
    log(tmp_path, event(100), event(101))
    keeper = read(tmp_path)
    log(tmp_path, event(1, second=200), event(2, second=201))
    read(tmp_path, keeper=keeper)
    assert keeper.ids == [100, 101, 1, 2]
    assert keeper.told == []
    assert bookmark_id(keeper.positions["Application"]) == 2


def test_an_emptied_log_keeps_the_bookmark_until_there_are_records(tmp_path: Path) -> None:
    log(tmp_path, event(100))
    keeper = read(tmp_path)
    log(tmp_path)
    read(tmp_path, keeper=keeper)
    assert bookmark_id(keeper.positions["Application"]) == 100
    log(tmp_path, event(101))
    read(tmp_path, keeper=keeper)
    assert keeper.ids == [100, 101]


def test_a_bookmark_that_is_refused_means_reading_from_the_oldest_record(tmp_path: Path) -> None:
    log(tmp_path, event(1))
    keeper = read(tmp_path)
    log(tmp_path, event(1), event(2))
    mode(tmp_path, "refuse")
    read(tmp_path, keeper=keeper)
    assert keeper.ids == [1, 1, 2]
    assert folded(keeper).state.hosts["ex01"].events["ESE"][703] == 2
    assert keeper.told == [
        "Application: bookmark at record 1: Application: wevtutil: The query result is not "
        f"positioned on a valid event. (exit status {15012 % 256}); reading from the oldest record"
    ]


def test_a_second_refusal_is_an_error_and_no_circle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows_log, "_RUN_EVENTS", 2)
    log(tmp_path, *(event(number) for number in range(1, 9)))
    mode(tmp_path, "refuse")
    keeper = Keeper()
    made = source(tmp_path, clock=Clock())
    keeper.until(made, lambda: keeper.errors)
    assert "a bookmark that wevtutil saved itself was refused" in keeper.errors[0]
    assert keeper.ids == [1, 2, 1, 2]


def test_a_damaged_position_means_reading_from_the_oldest_record(tmp_path: Path) -> None:
    log(tmp_path, event(1))
    keeper = Keeper()
    for damage in (b"\xff\xfe\xff", b"<BookmarkList/>", b"RecordId='12", b"\0" * 100):
        keeper.positions = {"Application": damage}
        read(tmp_path, keeper=keeper)
    assert keeper.ids == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("channel", "unreadable"),
    [("Directory Service", []), ("Aplication", ["Aplication: this machine has no such channel"])],
)
def test_a_channel_that_this_machine_does_not_have_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, channel: str, unreadable: list[str]
) -> None:
    """Of the channel of domain controllers that is no fault: most servers lack it."""
    caplog.set_level("INFO")
    log(tmp_path, event(1))
    clock = Clock()
    keeper = Keeper()
    made = source(tmp_path, "Application", channel, clock=clock)
    keeper.until(made, lambda: keeper.caught_up)
    clock.now += 299
    keeper.take(made)
    assert made._readers[1]._child is None
    keeper.until(made, lambda: not any(reader._child for reader in made._readers))
    for _ in range(3):
        clock.now += 1000
        keeper.take(made)
        keeper.until(made, lambda: not any(reader._child for reader in made._readers))
    assert runs(tmp_path).count(f"{channel} c f rd uni") == 4
    assert keeper.ids == [1]
    assert keeper.errors == []
    assert keeper.told == unreadable
    said = [] if unreadable else [f"{channel}: this machine has no such channel"]
    assert [record.getMessage() for record in caplog.records] == said


def test_a_missing_channel_is_known_by_the_exit_status_in_any_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class German:
        ended, status = True, 15007
        complaint = "Der angegebene Kanal wurde nicht gefunden."

        def __init__(self, *_: object) -> None: ...
        def read(self) -> bytes:
            return b""

        def close(self) -> None: ...

    monkeypatch.setattr(windows_log, "Child", German)
    with pytest.raises(SourceError, match="Application: no such channel"):
        list(source(tmp_path).poll())


def test_a_source_without_any_channel_fails(tmp_path: Path) -> None:
    keeper = Keeper()
    made = source(tmp_path, *BOTH, clock=Clock())
    keeper.until(made, lambda: keeper.errors)
    assert keeper.errors[-1] == ("Application: no such channel; Directory Service: no such channel")


def test_access_denied_names_the_group_to_join_and_lasts_until_a_run_succeeds(
    tmp_path: Path,
) -> None:
    log(tmp_path, event(1))
    mode(tmp_path, "denied")
    clock = Clock()
    keeper = Keeper()
    made = source(tmp_path, clock=clock)
    keeper.until(made, lambda: keeper.errors)
    assert keeper.errors[0].startswith("Application: access denied: add the account")
    assert "Event Log Readers" in keeper.errors[0]
    keeper.take(made)
    assert len(keeper.errors) == 2
    assert not keeper.caught_up
    mode(tmp_path, "")
    clock.now += 1000
    keeper.until(made, lambda: keeper.caught_up)
    assert keeper.ids == [1]


def test_a_log_of_forwarded_events_is_refused_with_the_way_that_works(tmp_path: Path) -> None:
    forwarded = event(7, channel="Directory Service", computer="DC01.corp.example")
    log(tmp_path, forwarded, channel="ForwardedEvents")
    made = source(tmp_path, "ForwardedEvents")
    batches = []
    with pytest.raises(SourceError, match=r"wevtutil epl ForwardedEvents FILE\.evtx"):
        while True:
            batches += [batch for batch in made.poll() if batch.records or batch.positions]
    assert batches == []


def test_failures_are_tried_again_after_growing_pauses(tmp_path: Path) -> None:
    log(tmp_path, event(1))
    mode(tmp_path, "stopped")
    clock = Clock()
    keeper = Keeper()
    made = source(tmp_path, clock=clock, interval=10.0)
    for count, wait in ((1, 20), (2, 40), (3, 80)):
        keeper.errors.clear()
        keeper.until(made, lambda: keeper.errors and made._readers[0]._child is None)
        assert len(runs(tmp_path)) == count
        clock.now += wait - 1
        keeper.take(made)
        assert made._readers[0]._child is None
        clock.now += 1
        keeper.until(made, lambda count=count: len(runs(tmp_path)) > count)  # type: ignore[misc]
    assert "The RPC server is unavailable." in keeper.errors[0]


def test_a_failing_channel_does_not_hold_up_the_others(tmp_path: Path) -> None:
    log(tmp_path, event(1), channel="Application")
    log(tmp_path, event(5, channel="Directory Service"), channel="Directory Service")
    keeper = Keeper()
    made = source(tmp_path, *BOTH)
    made._readers[0]._program = [sys.executable, "-c", "raise SystemExit(5)"]
    keeper.until(made, lambda: keeper.ids and keeper.errors)
    assert keeper.ids == [5]
    assert set(keeper.errors) == {f"Application: {windows_log._DENIED}"}


def test_a_run_that_hangs_is_ended_and_told(tmp_path: Path) -> None:
    log(tmp_path, event(1))
    mode(tmp_path, "hang")
    clock = Clock()
    keeper = Keeper()
    made = source(tmp_path, clock=clock, silence_seconds=120.0)
    keeper.take(made)
    clock.now += 121
    keeper.take(made)
    assert keeper.errors == ["Application: wevtutil was silent for 120 s and was ended"]
    assert made._readers[0]._child is None


def test_a_run_that_still_writes_is_not_ended(tmp_path: Path) -> None:
    log(tmp_path, event(1), event(2))
    mode(tmp_path, "drip")
    clock = Clock()
    keeper = Keeper()
    made = source(tmp_path, clock=clock, silence_seconds=120.0)
    [reader] = made._readers
    keeper.until(made, lambda: reader._step == "events")
    clock.now += 100
    keeper.until(made, lambda: reader._output.last_id == 2)
    clock.now += 100
    keeper.take(made)
    assert keeper.errors == []
    assert reader._child is not None


def test_a_run_that_was_ended_half_way_leaves_the_position_alone(tmp_path: Path) -> None:
    log(tmp_path, event(1), event(2))
    mode(tmp_path, "drip")
    clock = Clock()
    keeper = Keeper()
    made = source(tmp_path, clock=clock)
    [reader] = made._readers
    keeper.until(made, lambda: reader._step == "events" and reader._output.last_id == 2)
    clock.now += 1000
    keeper.take(made)
    assert len(keeper.errors) == 1
    assert (keeper.records, keeper.positions) == ([], {})
    mode(tmp_path, "")
    assert read(tmp_path, keeper=keeper).ids == [1, 2]


def test_output_that_ends_within_an_event_is_read_again(tmp_path: Path) -> None:
    log(tmp_path, event(1), event(2))
    mode(tmp_path, "cut")
    keeper = Keeper()
    made = source(tmp_path, clock=Clock())
    keeper.until(made, lambda: keeper.errors)
    assert keeper.errors[0] == "Application: the output of wevtutil ends within an event"
    assert (keeper.records, keeper.positions) == ([], {})
    mode(tmp_path, "")
    assert read(tmp_path, keeper=keeper).ids == [1, 2]


def test_events_are_handed_out_when_the_run_behind_them_cannot_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows_log, "_RUN_EVENTS", 2)
    log(tmp_path, *(event(number) for number in range(1, 8)))
    started = itertools.count(1)

    def sometimes(*arguments: Any) -> Any:
        if next(started) % 3 == 0:
            raise SourceError("wevtutil: cannot be started: out of handles")
        return Child(*arguments)

    monkeypatch.setattr(windows_log, "Child", sometimes)
    keeper = Keeper()
    keeper.until(source(tmp_path), lambda: keeper.caught_up)
    assert keeper.ids == list(range(1, 8))
    assert set(keeper.errors) == {"wevtutil: cannot be started: out of handles"}


def test_a_cleaned_up_temporary_folder_is_made_again(tmp_path: Path) -> None:
    log(tmp_path, event(1))
    keeper = Keeper()
    made = source(tmp_path)
    keeper.until(made, lambda: keeper.ids)
    shutil.rmtree(made._folder.path(""))
    log(tmp_path, event(1), event(2))
    keeper.until(made, lambda: len(keeper.ids) == 2)
    assert keeper.errors == []


def test_a_run_that_fails_behind_some_events_keeps_the_bookmark(tmp_path: Path) -> None:
    log(tmp_path, event(1))
    keeper = read(tmp_path)
    log(tmp_path, event(1), event(2), event(3))
    mode(tmp_path, "corrupt")
    made = source(tmp_path, keeper=keeper, clock=Clock())
    keeper.until(made, lambda: keeper.errors)
    assert keeper.errors[0] == (
        "Application: wevtutil: Failed to read events. The event log file is corrupted. "
        f"(exit status {1500 % 256})"
    )
    assert keeper.ids == [1]
    mode(tmp_path, "")
    assert read(tmp_path, keeper=keeper).ids == [1, 2, 3]


def test_short_words_on_the_output_are_the_reason_of_a_failure(tmp_path: Path) -> None:
    keeper = Keeper()
    made = source(tmp_path, program=[sys.executable, "-c", "print('No.'); raise SystemExit(9)"])
    keeper.until(made, lambda: keeper.errors)
    assert keeper.errors[0] == "Application: wevtutil: No. (exit status 9)"


def test_events_without_a_saved_bookmark_are_not_taken(tmp_path: Path) -> None:
    log(tmp_path, event(1))
    mode(tmp_path, "unsaved")
    keeper = Keeper()
    made = source(tmp_path, clock=Clock())
    keeper.until(made, lambda: keeper.errors)
    assert keeper.errors[0] == "Application: wevtutil saved no bookmark (/sbm)"
    assert (keeper.records, keeper.positions) == ([], {})


def test_a_bookmark_of_an_earlier_run_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    log(tmp_path, event(1))
    keeper = Keeper()
    made = source(tmp_path)
    keeper.until(made, lambda: keeper.ids)
    mode(tmp_path, "unsaved")
    log(tmp_path, event(1), event(2))
    keeper.until(made, lambda: keeper.errors)
    assert keeper.ids == [1]


def test_without_wevtutil_the_first_poll_says_so_in_one_line() -> None:
    made = WindowsLogSource("log", ["Application"], EventOptions(), program=("no-wevtutil",))
    _made.append(made)
    with pytest.raises(
        SourceError, match=r"^no-wevtutil: no such program: it is a part of Windows"
    ):
        list(made.poll())


@pytest.mark.timeout(60)
def test_a_poll_does_not_wait_for_the_program(tmp_path: Path) -> None:
    log(tmp_path, event(1))
    mode(tmp_path, "hang")
    made = source(tmp_path)
    [batch] = list(made.poll())
    assert not batch.caught_up


def test_closing_removes_the_temporary_bookmarks(tmp_path: Path) -> None:
    log(tmp_path, event(1))
    keeper = Keeper()
    made = source(tmp_path)
    keeper.until(made, lambda: keeper.ids)
    folder = made._folder.path("")
    assert folder.is_dir()
    made.close()
    assert not folder.exists()


def test_missing_record_ids_are_counted_by_the_fold(tmp_path: Path) -> None:
    log(tmp_path, event(1), event(2))
    keeper = read(tmp_path)
    log(tmp_path, event(7), event(8))
    read(tmp_path, keeper=keeper)
    assert folded(keeper).state.sources["log"].missed == 4


# The output alone


def output(text: str, *, encoding: str = "utf-16-le", step: int = 0, **options: Any) -> Output:
    made = Output("Application", EventOptions(**options))
    raw = text.encode(encoding)
    for at in range(0, len(raw), step or max(len(raw), 1)):
        made.feed(raw[at : at + (step or len(raw))])
    return made


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16", "utf-8", "utf-8-sig"])
@of_each([1, 2, 3, 7, 63, 64, 65, 1000])
def test_output_may_come_in_any_pieces_and_encoding(step: int, encoding: str) -> None:
    strings = ("MSExchangeIS", "3228", "SG06: ", "e:\\Müller 数据\\priv06.edb")
    text = other(1) + "\r\n" + event(2, strings=strings) + "\r\n" + event(3) + "\r\n"
    found, _, covered = output(text, encoding=encoding, step=step).finish()
    assert isinstance(found, Event)
    assert found.database == "e:\\Müller 数据\\priv06.edb"
    assert isinstance(covered, Coverage)
    assert (covered.first, covered.last) == (1, 3)


def test_events_may_stand_on_one_line_or_within_a_root() -> None:
    for text in (event(1) + event(2), f"<Events>{event(1)}\n{event(2)}</Events>"):
        assert [r.record_id for r in output(text).finish() if isinstance(r, Event)] == [1, 2]


def test_a_hole_in_the_record_ids_divides_the_coverage() -> None:
    text = "\n".join(event(number) for number in (1, 2, 5, 6))
    ranges = [(r.first, r.last) for r in output(text).finish() if isinstance(r, Coverage)]
    assert ranges == [(1, 2), (5, 6)]


def test_a_new_name_of_the_computer_divides_the_coverage() -> None:
    text = event(1) + event(2, computer="NEW")
    ranges = [(r.computer, r.first) for r in output(text).finish() if isinstance(r, Coverage)]
    assert ranges == [("EX01.corp.example", 1), ("NEW", 2)]


def test_an_event_of_ours_that_is_damaged_is_named_by_its_record() -> None:
    broken = event(2).replace("</Data>", "", 1)
    made = output(event(1) + broken + event(3))
    assert [r.record_id for r in made.finish() if isinstance(r, Event)] == [1, 3]
    [told] = made.unreadable
    assert str(told).startswith("Application: record 2: not a readable <Event> element")


def test_an_event_that_does_not_end_costs_itself_only() -> None:
    made = output(event(1) + event(2)[:-20] + event(3))
    assert [r.record_id for r in made.finish() if isinstance(r, Event)] == [1, 3]
    assert [str(item) for item in made.unreadable] == [
        "Application: an <Event> element that does not end"
    ]


def test_an_endless_event_is_an_error_of_bounded_size() -> None:
    made = Output("Application", EventOptions())
    made.feed(b"<Event>")
    with pytest.raises(SourceError, match="without an end"):
        for _ in range(100):
            made.feed(b"x" * 100_000)
    assert len(made._rest) < 1_300_000


def test_a_flood_of_broken_events_is_told_in_bounded_space() -> None:
    made = output("<Event >" * 10_000 + event(1))
    assert len(made.unreadable) == 1000
    assert "more places" in made.unreadable[-1].reason


def test_words_instead_of_events_are_kept_for_the_error() -> None:
    made = output("The service is not started.\r\n", encoding="cp850")
    assert made.finish() == []
    assert made.stray == "The service is not started."


PIECES = st.sampled_from(
    [
        event(1),
        event(2)[:300],
        other(3),
        "<Event",
        "</Event>",
        "<Event>",
        "<EventRecordID>9</EventRecordID>",
        "<!DOCTYPE x>",
        "ESE",
        "\0",
        "\ud800",
        "\r\n",
    ]
)


@example(["\0" * 4, event(1)], "utf-16-le", 1)
@given(st.lists(PIECES, max_size=12), st.sampled_from(["utf-16-le", "utf-8"]), st.integers(1, 400))
def test_no_output_whatever_is_more_than_an_error_of_the_source(
    pieces: list[str], encoding: str, step: int
) -> None:
    raw = "".join(pieces).encode(encoding, "surrogatepass")
    made = Output("Application", EventOptions(companions=True))
    with contextlib.suppress(SourceError):
        for at in range(0, len(raw), step):
            made.feed(raw[at : at + step])
        records = made.finish()
        whole = Output("Application", EventOptions(companions=True))
        whole.feed(raw)
        assert whole.finish() == records
    assert len(made.unreadable) <= len(pieces)


@given(st.binary(max_size=300))
def test_no_bytes_whatever_break_the_reading_of_output_or_bookmark(raw: bytes) -> None:
    made = Output("Application", EventOptions())
    made.feed(raw)
    with contextlib.suppress(SourceError):
        assert made.finish() == []
    assert bookmark_id(raw) is None


def test_a_bookmark_is_read_and_moved_in_its_own_encoding() -> None:
    for encoding, first in itertools.product(("utf-16", "utf-16-le", "utf-8", "utf-8-sig"), "'\""):
        saved = BOOKMARK.replace("'", first).encode(encoding)
        assert bookmark_id(saved) == 4711
        assert bookmark_at(saved, 4711) == saved
        moved = bookmark_at(saved, 9)
        assert moved.decode(encoding) == BOOKMARK.replace("'", first).replace("4711", "9")
