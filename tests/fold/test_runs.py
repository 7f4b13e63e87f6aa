"""When a database was scanned."""

import pytest

from esewatch.fold.runs import Run, scan_runs
from esewatch.fold.state import Transition


def logged(*events: tuple[float, int]) -> list[Transition]:
    return [Transition(time, number, event) for number, (time, event) in enumerate(events)]


def test_a_pass_that_took_two_nights_is_two_runs() -> None:
    events = logged((10, 717), (20, 725), (110, 719), (115, 721))
    assert scan_runs(events) == [Run(10, 20), Run(110, 115)]


def test_defragmentation_is_no_scan() -> None:
    assert scan_runs(logged((10, 700), (20, 704), (30, 702), (40, 703))) == []


@pytest.mark.parametrize("end", [721, 722, 723, 724, 725, 726, 732, 737, 745, 746, 327])
def test_a_run_ends_with_what_ends_stops_or_fails_a_scan(end: int) -> None:
    assert scan_runs(logged((10, 717), (20, end))) == [Run(10, 20)]


@pytest.mark.parametrize("begin", [717, 718, 719, 720, 736, 738])
def test_a_run_that_goes_on_has_no_end(begin: int) -> None:
    assert scan_runs(logged((10, begin))) == [Run(10, None)]


def test_a_run_whose_end_was_not_logged_is_left_out() -> None:
    assert scan_runs(logged((10, 717), (50, 719), (60, 721))) == [Run(50, 60)]


def test_an_end_without_a_start_is_no_run() -> None:
    assert scan_runs(logged((10, 721), (20, 725))) == []


def test_a_run_ends_where_the_instance_stops() -> None:
    assert scan_runs(logged((10, 717), (50, 719)), [30.0]) == [Run(10, 30), Run(50, None)]
