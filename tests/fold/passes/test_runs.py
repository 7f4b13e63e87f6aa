"""When a database was worked on."""

import pytest

from esewatch.fold.passes.runs import DEFRAG, SCANS, Run, runs
from esewatch.fold.state.state import Transition


def logged(*events: tuple[float, int]) -> list[Transition]:
    return [Transition(time, number, event) for number, (time, event) in enumerate(events)]


def test_a_pass_that_took_two_nights_is_two_runs() -> None:
    events = logged((10, 717), (20, 725), (110, 719), (115, 721))
    assert runs(events, SCANS) == [Run(10, 20), Run(110, 115)]


def test_defragmentation_is_no_scan() -> None:
    assert runs(logged((10, 700), (20, 704), (30, 702), (40, 703)), SCANS) == []


@pytest.mark.parametrize("end", [721, 722, 723, 724, 725, 726, 732, 737, 745, 746])
def test_a_run_ends_with_what_ends_stops_or_fails_a_scan(end: int) -> None:
    assert runs(logged((10, 717), (20, end)), SCANS) == [Run(10, 20)]


@pytest.mark.parametrize("begin", [717, 718, 719, 720, 736, 738])
def test_a_run_that_goes_on_has_no_end(begin: int) -> None:
    assert runs(logged((10, begin)), SCANS) == [Run(10, None)]


def test_a_run_whose_end_was_not_logged_is_left_out() -> None:
    assert runs(logged((10, 717), (50, 719), (60, 721)), SCANS) == [Run(50, 60)]


def test_an_end_without_a_start_is_no_run() -> None:
    assert runs(logged((10, 721), (20, 725)), SCANS) == []


def test_a_run_ends_where_the_instance_stops() -> None:
    assert runs(logged((10, 717), (50, 719)), SCANS, [30.0]) == [Run(10, 30), Run(50, None)]


def test_each_night_of_defragmentation_is_a_run() -> None:
    events = logged((10, 700), (20, 704), (110, 702), (115, 703), (210, 700), (220, 701))
    assert runs(events, DEFRAG) == [Run(10, 20), Run(110, 115), Run(210, 220)]


@pytest.mark.parametrize("end", [701, 703, 704, 705])
def test_a_run_of_defragmentation_ends_with_what_ends_stops_or_fails_it(end: int) -> None:
    assert runs(logged((10, 702), (20, end)), DEFRAG) == [Run(10, 20)]


def test_a_scan_does_not_end_a_run_of_defragmentation() -> None:
    events = logged((10, 700), (11, 717), (15, 721), (16, 746), (20, 704))
    assert runs(events, DEFRAG) == [Run(10, 20)]


def test_a_run_of_defragmentation_ends_where_the_instance_stops() -> None:
    assert runs(logged((10, 700)), DEFRAG, [30.0]) == [Run(10, 30)]


def test_tasks_are_taken_as_one_work() -> None:
    events = logged((10, 718), (20, 722))
    assert runs(events, {"checksum"}) == []
    assert runs(events, {"zeroing"}) == runs(events, SCANS) == [Run(10, 20)]
