"""What the product reports a month of an estate is what must be reported, and nothing else."""

from pathlib import Path

import pytest

from tests.estate.alerting.alarms import Alarms
from tests.estate.alerting.messages import messages
from tests.estate.alerting.scrapes import Scrapes, fired
from tests.estate.incidents import INCIDENTS
from tests.estate.month import DAYS
from tests.estate.script import Month, month
from tests.estate.table import Raised, write_alerts, write_told
from tests.estate.watching import watched
from tests.support import figures
from tests.support.campaign import number_of


def test_of_a_small_estate_all_is_told_and_nothing_else(tmp_path: Path) -> None:
    found = watched(month(9), 9, tmp_path)

    assert found.differences == []


def test_of_a_healthy_estate_nothing_is_told(tmp_path: Path) -> None:
    found = watched(month(0, healthy=True), 0, tmp_path)

    assert found.differences == []


@pytest.mark.minutes
@pytest.mark.slow
def test_of_ten_estates_all_is_told_and_nothing_else(tmp_path: Path) -> None:
    found = [watched(month(seed), seed, tmp_path / str(seed)) for seed in range(number_of(40, 10))]

    write_told(found)
    assert [each.differences for each in found] == [[]] * len(found)
    assert len({kind for each in found for kind in each.month.kinds}) == len(INCIDENTS)


@pytest.mark.minutes
@pytest.mark.slow
def test_of_300_databases_on_40_servers_all_is_told_and_nothing_else(tmp_path: Path) -> None:
    found = watched(month(0, large=True), 0, tmp_path)

    what = f"a month of {len(found.month.homes)} databases on {len(found.month.servers)} servers"
    figures.record(what, f"{found.seconds:.0f} s of a processor, {found.moments} moments")
    assert found.differences == []


@pytest.mark.e2e
@pytest.mark.minutes
@pytest.mark.slow
def test_the_alerts_of_a_month_are_those_that_must_fire_and_no_others(tmp_path: Path) -> None:
    found = [raised(month(seed), seed, tmp_path / str(seed)) for seed in (2, 9)]
    healthy = raised(month(0, healthy=True), 0, tmp_path / "healthy")

    write_alerts([healthy, *found])
    assert [each.differences for each in (healthy, *found)] == [[], [], []]
    assert len(healthy.messages) <= DAYS


def raised(of: Month, seed: int, folder: Path) -> Raised:
    scrapes = Scrapes()
    watched(of, seed, folder, scrapes)
    found = fired(scrapes, folder)
    return Raised(of, Alarms(of, found).differences(), messages(found))
