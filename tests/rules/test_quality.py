"""Healthy months wake nobody; a month with a fault raises its alert, in time."""

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.harness import serving
from tests.rules.expressions import ROOT, alerts
from tests.rules.quality import backfill, page, replaying
from tests.rules.quality.built import PAGES, background, controller, search
from tests.rules.quality.engine_made import World, exchange
from tests.rules.quality.faults import (
    FAULTS,
    backup_in_window,
    failing_reads,
    flipped_bit,
    flipped_bits,
    short_window,
)
from tests.rules.quality.month import END, START, Month
from tests.rules.quality.verdict import Verdict, verdicts
from tests.support import campaign
from tests.support.campaign import some

pytestmark = pytest.mark.e2e

AT_ONCE = 6
"""Months in one Prometheus: each takes some 100 MB of text."""


def judged(folder: Path, months: Sequence[Month]) -> list[Verdict]:
    """What all rules make of the months, which share one Prometheus."""
    folder.mkdir(exist_ok=True)
    text, data = folder / "months.om", folder / "data"
    replaying.write(text, months)
    backfill.load(text, data)
    text.unlink()
    backfill.record(folder, data, START, END, backfill.asked_by_alerts())
    with serving(folder, data) as prometheus:
        return verdicts(months, backfill.fired(prometheus, START, END))


def problems(found: Sequence[Verdict]) -> list[str]:
    return [problem for each in found for problem in each.problems()]


def test_each_metric_of_a_rule_is_in_the_months() -> None:
    assert replaying.unmade() == set()


@pytest.mark.minutes
@pytest.mark.slow
def test_a_healthy_month_wakes_nobody_and_a_fault_raises_its_alert(tmp_path: Path) -> None:
    found = check_months(tmp_path, [controller("dc1", 1), flipped_bits("ex2", 1)], healthy=1)

    # Before its fault, and beside it, the month of Exchange is a healthy one.
    assert [each.others for each in found] == [(), ("EseMaintenanceError",)]


@pytest.mark.minutes
@pytest.mark.slow
def test_so_do_months_of_exchange(tmp_path: Path) -> None:
    check_months(tmp_path, [exchange("ex1", World(1)), short_window("ex3", 1)], healthy=1)


@pytest.mark.minutes
@pytest.mark.slow
def test_so_do_months_of_other_engines_and_with_other_faults(tmp_path: Path) -> None:
    months = [
        background("ex2013", 1),
        search("pc1", 1),
        flipped_bit("ex2", 1),
        failing_reads("ex4", 1),
        backup_in_window("ex5", 1),
    ]
    check_months(tmp_path, months, healthy=2)


def check_months(folder: Path, months: Sequence[Month], *, healthy: int) -> list[Verdict]:
    """The first of them wake nobody, each of the others raises its alert."""
    found = judged(folder, months)

    assert problems(found) == []
    assert [bool(each.alert) for each in found] == [at >= healthy for at in range(len(months))]
    return found


HEALTHY = 30


def sixty_months() -> Iterator[Callable[[], Month]]:
    """What makes thirty healthy ones, then thirty with a fault each."""
    for seed in range(1, 16):
        yield partial(exchange, f"ex{seed}", World(seed, scan=seed < 11))
    for seed in range(5):
        yield partial(controller, f"dc{seed}", seed)
        yield partial(background, f"ex2013-{seed}", seed, pages=PAGES * (1, 4, 8)[seed % 3])
        yield partial(search, f"pc{seed}", seed)
    for number in range(30):
        round_, kind = divmod(number, len(FAULTS))
        yield partial(FAULTS[kind], f"faulty{number}", 20 + round_)


@pytest.mark.minutes
@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_more_healthy_months_wake_nobody_and_each_fault_raises_its_alert(tmp_path: Path) -> None:
    # Six of them share one Prometheus; three have a fault.
    chosen = some(list(enumerate(sixty_months())), 6)
    found: list[Verdict] = []
    for first in range(0, len(chosen), AT_ONCE):
        folder = tmp_path / f"part-{first}"
        part = [make() for _, make in chosen[first : first + AT_ONCE]]
        found += judged(folder, part)
        shutil.rmtree(folder)

    page.write(found)
    assert problems(found) == []
    assert [bool(each.alert) for each in found] == [number >= HEALTHY for number, _ in chosen]


def test_a_month_that_is_not_as_it_should_be_is_told() -> None:
    right = Verdict("a", "b", "EseX (warning)", 600.0, 300.0, ("EseY",), ("EseZ",))

    assert right.problems() == []
    assert right._replace(after=None).problems() == ["a, b: EseX (warning) does not fire"]
    assert "0.17 h" in right._replace(after=601.0).problems()[0]
    assert len(right._replace(after=-300.0).problems()) == 1
    assert "EseW, EseY" in right._replace(others=("EseW", "EseY")).problems()[0]
    assert Verdict("a", "", "", 0.0, None, (), ("EseZ",)).problems() == []
    assert Verdict("a", "", "", 0.0, None, ("EseY",), ()).problems() == ["a, healthy: EseY fires"]


def test_the_page_of_alerts_leads_to_their_runbooks() -> None:
    assert page.alerts_part().count("](../runbooks/") >= 40


def test_the_page_of_alerts_tells_which_alert_carries_a_finding() -> None:
    (first, *_, last) = page.alerts_part().rpartition("## Findings without an alert")
    rows = dict(re.findall(r"^\| \[(\w+)\].* \| (`.*`) \| ", first, re.MULTILINE))

    assert rows["EseVerificationOverdue"].startswith("`never_verified`, ")
    assert rows["EsewatchComputerSilent"] == "`not_heard`"
    assert rows["SqlserverCheckdbFailed"] == "`checkdb_aborted`, `checkdb_failed`"
    assert "EseBadPageAdded" not in rows
    assert "`cache_small`" in last
    assert "`hung_io`" not in last


def test_the_page_of_alerts_names_none_that_is_gone() -> None:
    text = (ROOT / "docs" / "reference" / "alerts.md").read_text()

    assert set(re.findall(r"\b(?:Ese|Sqlserver)[A-Za-z]+", text)) <= {
        it["alert"] for it in alerts()
    }


def test_the_page_takes_new_verdicts_and_keeps_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ESEWATCH_FIGURES", str(tmp_path / "figures.jsonl"))
    monkeypatch.setattr(campaign, "WHOLE", True)
    made = [
        Verdict("Exchange", "", "", 0.0, None, (), ("EseInfo",)),
        Verdict("Exchange", "a fault", "EseX (warning)", 172_800.0, 900.0, ("EseY",), ()),
        Verdict("Exchange", "a fault", "EseX (warning)", 172_800.0, 31_320.0, (), ()),
    ]
    page.write(made)

    written = page.written_anew("")
    assert "| Exchange | 1 | – | EseInfo (1) |" in written
    assert "| a fault | 2 | EseX (warning) | 2.0 days | 8.7 h | EseY (1) | – |" in written
    (tmp_path / page.NAME).unlink()
    assert page.written_anew(written) == written


def test_the_verdicts_of_some_months_leave_the_table_of_all_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ESEWATCH_FIGURES", str(tmp_path / "figures.jsonl"))
    monkeypatch.setattr(campaign, "WHOLE", False)
    page.write([Verdict("Exchange", "", "", 0.0, None, (), ())])

    assert list(tmp_path.iterdir()) == []
