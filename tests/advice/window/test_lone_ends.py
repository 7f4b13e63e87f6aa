"""An end without its start, or without a time, is reported with its figures."""

import msgspec
import pytest

from esewatch.advice.advise import advise
from esewatch.advice.window.evidence import NOTHING, pass_figures
from esewatch.config import Settings
from esewatch.fold.state.state import Pass
from esewatch.model import Event, FieldValue
from tests.support.records import EPOCH, HOUR, event, folder_of

FREED: dict[str, FieldValue] = {
    "pages_freed": 42794, "seconds": 124919, "invocations": 7, "days": 4,
}  # fmt: skip
TOLD = "42,794 pages freed, 34 h 42 min of work, 7 runs over 4 days"


def reasons(*events: Event) -> tuple[str, ...]:
    (one,) = advise(folder_of(events).state, Settings(), EPOCH + HOUR)
    assert one.model == "window"
    return one.window.reasons


def test_a_lone_703_is_an_end_with_its_figures() -> None:
    (first, *_) = reasons(event(703, 0, fields=FREED))
    assert first == (
        f"Online defragmentation completed at 2007-06-16 13:20 UTC ({TOLD}), but the"
        " events do not have its start."
    )


def test_a_703_without_a_time_too() -> None:
    (first, *_) = reasons(msgspec.structs.replace(event(703, 0, fields=FREED), time=None))
    assert first == (f"Online defragmentation completed ({TOLD}), but its events have no time.")


@pytest.mark.parametrize("event_id", [700, 704])
def test_a_start_without_a_time_is_not_said_to_be_missing(event_id: int) -> None:
    (first, *_) = reasons(msgspec.structs.replace(event(event_id, 0), time=None))
    assert first == "The times of online defragmentation are not known: its events have no time."


def test_a_lone_704_is_no_end_of_a_pass() -> None:
    assert reasons(event(704, 0))[0] == NOTHING


def test_of_the_scan_alone_its_window_is_spoken_of() -> None:
    summary = {"pages_seen": 100, "bad_checksums": 0}
    (first, *_) = reasons(event(704, -HOUR), event(721, 0, fields=summary))
    assert first == f"Of the tasks of the window, the events have only the database scan. {NOTHING}"


def test_figures_that_are_not_told_are_left_out() -> None:
    bare = Pass(task="defrag", started=None, ended=EPOCH, outcome="completed")
    assert pass_figures(bare) == ""
    scan = msgspec.structs.replace(
        bare, task="checksum", wall_seconds=7200.0, pages_seen=1, bad_checksums=0
    )
    assert pass_figures(scan) == "1 page seen, 0 bad checksums, 2 h from start to end"
