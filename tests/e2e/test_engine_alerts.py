"""Faults of the engine, from its logs to the message a person gets, through the real servers.

Some alerts have to hold for hours, of what shows over nights. Nobody waits for that here: the
engine writes weeks of nights in virtual time, which end now, and in the copy of the rules that
Prometheus loads `for` is `faster` times shorter, as the calls say, and all is evaluated each
second. Of those it is shown that they arrive, alone and with their text; how soon, of what holds
for no time and of a dead agent.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from eselab.base.plan import FaultPlan
from tests.e2e.engine_logs import at_work, events, label, past_days, sources
from tests.e2e.harness import GROUP_SECONDS, LEAST_HOLD, get, hold_of, seconds_of, wait_for
from tests.e2e.stage import Site, Stage
from tests.reliability.test_storm import RATE, WRITER
from tests.support.ese_text import render
from tests.support.figures import record

pytestmark = pytest.mark.e2e

HOUR = 3600.0
MOST_SECONDS = 1.0 + 1.0 + 5.0
"""From what happens to the message, where nothing has to hold: a scrape, an evaluation, and 5 s."""
NIGHTS = seconds_of("24h") / LEAST_HOLD
"""How much faster, where a fault shows over nights: all hold for LEAST_HOLD then."""
DURATION = re.compile(r"(\d+d )?(\d+h )?(\d+m )?\d+s ago")


def told(site: Site, name: str, **labels: str) -> dict[str, Any]:
    """The first message that an alert with these labels fires; waits for it."""

    def found() -> list[dict[str, Any]]:
        alerts = site.webhook.alerts(name, "firing")
        return [alert for alert in alerts if labels.items() <= alert["labels"].items()]

    return wait_for(f"{name} {labels}", found)[0]


def text(alert: dict[str, Any]) -> str:
    """Its description, with `N ago` in the place of a time that depends on the clock."""
    return DURATION.sub("N ago", alert["annotations"]["description"])


def assert_told_of_nothing_else(site: Site, expected: set[tuple[str, str, str]]) -> None:
    """Of these (alert, severity, database) and no others, also some evaluations later. A scan that
    its bad page ended has a ticket, too."""
    site.prometheus.wait_for_evaluations(3)
    bad = {database for name, _, database in expected if name == "EseKnownBadPage"}
    failed = {("EseMaintenanceError", "warning", database) for database in bad}
    assert expected <= site.told() <= expected | failed
    assert site.prometheus.rule_errors() == []


def assert_told_of_bad_pages_alone(site: Site, databases: Sequence[str]) -> None:
    assert_told_of_nothing_else(
        site, {("EseKnownBadPage", "critical", database) for database in databases}
    )


def says_bad_page(told: str, database: str) -> bool:
    """Whether it is the text of a bad page, with its number and time."""
    return bool(
        re.fullmatch(
            r"Page \d+ of "
            + re.escape(f"{database} on ex01 is bad ")
            + r"\([a-z ]+\), last error [-0-9]+ [:.0-9]+ \+0000 UTC; (no|last) clean scan .+?\."
            + re.escape(
                " Keep the database as it is. First activate or check another copy, on other"
                " storage if writes were lost; then reseed or restore. The page of the database in"
                " the agent names the bad pages. Reported by "
            )
            + r"127\.0\.0\.1:\d+\. "
            + re.escape(f'When it is resolved: esewatch ack "{database}"'),
            told,
        )
    )


def test_flipped_bits_page_at_once_and_one_that_is_corrected_makes_a_ticket(
    stage: Stage, tmp_path: Path
) -> None:
    engine = tmp_path / "engine"
    lost, corrected = label(engine, "lost"), label(engine, "corrected")
    site = stage.start(*sources(engine))
    faults = [
        FaultPlan(at=2.0, database="lost", kind="flip_two"),
        FaultPlan(at=2.0, database="corrected", kind="flip_one"),
    ]
    # A page that is corrected is good again once it is written: a scan, which takes a second
    # here and days elsewhere, would say so before the ticket is sent.
    with at_work(engine, ["lost", "corrected"], faults, unscanned=["corrected"]):
        page = told(site, "EseKnownBadPage", database=lost)
        ticket = told(site, "EseCorrectedPage", database=corrected)
        # Online defragmentation fails at that page: no second message, the page explains it.
        wait_for("a pass that failed", lambda: events(engine, 705))
        wait_for(
            "its alert",
            lambda: site.prometheus.query('ALERTS{alertname="EseMaintenanceError"}'),
        )
        assert_told_of_nothing_else(
            site,
            {
                ("EseKnownBadPage", "critical", lost),
                ("EseCorrectedPage", "warning", corrected),
            },
        )
    assert (page["path"], ticket["path"]) == ("/page", "/ticket")
    assert says_bad_page(text(page), lost), text(page)
    assert text(ticket).startswith(
        f"{corrected} on ex01 has a page with a single-bit error, which the engine corrects when it"
        " reads the page, or a page of it was repaired from another copy (event 905 or 911)."
    )
    assert page["arrived"] - events(engine, 474)[0] < MOST_SECONDS
    assert ticket["arrived"] - events(engine, 399)[0] < MOST_SECONDS + GROUP_SECONDS


@pytest.mark.slow
def test_a_window_that_is_too_short_makes_a_ticket_and_a_note_with_the_length_advised(
    stage: Stage, tmp_path: Path
) -> None:
    settings = past_days(tmp_path, 18, ["short"], window=HOUR, kept=15.0, pause=20.0)
    settings["policy"]["min_pages_read"] = 700  # the database has some megabytes
    site = stage.start(*sources(tmp_path), faster=NIGHTS, **settings)
    database = label(tmp_path / "engine", "short")

    ticket = told(site, "EseDefragIncomplete", database=database)
    note = told(site, "EseWindowAdviceChanged", database=database, action="grow")

    assert_told_of_nothing_else(
        site,
        {
            ("EseDefragIncomplete", "warning", database),
            ("EseWindowAdviceChanged", "info", database),
        },
    )
    assert (ticket["path"], note["path"]) == ("/ticket", "/digest")
    assert text(ticket) == (
        f"Online defragmentation of {database} on ex01 should have completed N ago and has not."
        " Find out what interrupts it, then make its window longer: esewatch advise"
        " --config.file /etc/esewatch/esewatch.yml"
    )
    # How sure it is depends on the hour at which the logs end.
    (advised,) = json.loads(get(f"{site.agent.url}/api/v1/advice"))["advice"]
    assert text(note) == (
        f"Advised for {database} on ex01, action grow: make the window longer from 1h to 2h"
        f" (confidence {advised['confidence']:.0%}). For the reasons: esewatch advise"
        " --explain --config.file /etc/esewatch/esewatch.yml"
    )


@pytest.mark.slow
def test_two_scans_on_one_disk_make_a_note_for_each_database(stage: Stage, tmp_path: Path) -> None:
    names = ["left", "right"]
    settings = past_days(tmp_path, 9, names, window=3 * HOUR, kept=250.0, pause=13.5, device="lun7")
    site = stage.start(*sources(tmp_path), faster=NIGHTS, **settings)
    databases = [label(tmp_path / "engine", name) for name in names]

    notes = [told(site, "EseScansCollide", database=database) for database in databases]

    assert_told_of_nothing_else(site, {("EseScansCollide", "info", each) for each in databases})
    assert [note["path"] for note in notes] == ["/digest"] * 2
    assert [text(note) for note in notes] == [
        f"{database} on ex01 is scanned at the same time as other databases on its disks, or their"
        " scans leave it no time. Each scan slows the others. Give each its own time or more hours,"
        " or put a database on other disks. The status page of the agent proposes times. To see how"
        " much time is missing: esewatch advise --config.file /etc/esewatch/esewatch.yml"
        for database in databases
    ]


def test_an_agent_that_was_killed_makes_a_ticket_then_a_page_and_misses_nothing(
    stage: Stage, tmp_path: Path
) -> None:
    engine, faster = tmp_path / "engine", 1440.0
    database = label(engine, "lost")
    site = stage.start(*sources(engine), faster=faster)
    with at_work(engine, ["lost"], []):
        wait_for("a scrape", lambda: site.prometheus.query("ese_database_info"))
    killed = time.time()
    site.agent.kill()
    with at_work(engine, ["lost"], [FaultPlan(at=1.0, database="lost", kind="flip_two")]):
        ticket = told(site, "EsewatchDown", severity="warning")
        page = told(site, "EsewatchDown", severity="critical")
        wait_for("a bad page that nobody reads of", lambda: events(engine, 474))
        down = {("EsewatchDown", "warning", ""), ("EsewatchDown", "critical", "")}
        assert_told_of_nothing_else(site, down)

        site.agent.start()
        told(site, "EseKnownBadPage", database=database)
        wait_for("the end of it", lambda: site.webhook.alerts("EsewatchDown", "resolved"))
        assert_told_of_nothing_else(site, {*down, ("EseKnownBadPage", "critical", database)})
    assert (ticket["path"], page["path"]) == ("/ticket", "/page")
    begins = f"Prometheus has had no answer from esewatch {site.agent.address} for"
    assert text(ticket) == (
        f"{begins} 10 minutes, so no ESE alert of its databases can be trusted. Start with:"
        " systemctl status esewatch"
    )
    assert text(page) == (
        f"{begins} 4 hours: bad pages go unnoticed. Start with: systemctl status esewatch"
    )
    for alert, hold in ((ticket, "10m"), (page, "4h")):
        held = hold_of({"for": hold}, faster)
        assert held < alert["arrived"] - killed < held + MOST_SECONDS + GROUP_SECONDS


@contextmanager
def storm(log: Path) -> Iterator[Callable[[], float]]:
    """RATE harmless events a second into a text log; gives how many there were since the first."""
    strings = ["MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb"]
    line = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} EX02 Information ESE 704 {render(704, strings)}"
    pair = f"{line}\n{line}\n".encode()
    command = [sys.executable, "-c", WRITER, str(log), str(RATE), "600"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as writer:
        try:
            assert writer.stdin is not None
            writer.stdin.write(pair)
            writer.stdin.close()
            wait_for("the first events", lambda: log.stat().st_size)
            size, begin = log.stat().st_size, time.monotonic()
            yield lambda: (log.stat().st_size - size) / len(pair) * 2 / (time.monotonic() - begin)
            assert writer.poll() is None
        finally:
            writer.kill()


def in_a_storm(stage: Stage, folder: Path, names: Sequence[str], apart: float) -> list[float]:
    """A page of each database goes bad, `apart` seconds each, while noise comes in.

    Seconds from the event of the first bad read of each to its message, sorted.
    """
    engine, noise = folder / "engine", folder / "noise.log"
    noise.touch()
    site = stage.start({"type": "event_stream", "path": str(noise)}, *sources(engine))
    faults = [
        FaultPlan(at=3.0 + apart * number, database=name, kind="flip_two")
        for number, name in enumerate(names)
    ]
    databases = [label(engine, name) for name in names]
    with storm(noise) as rate, at_work(engine, names, faults):
        last = 30.0 + apart * len(names)
        wait_for(
            "all pages", lambda: len(site.webhook.alerts("EseKnownBadPage")) >= len(names), last
        )
        alerts = [told(site, "EseKnownBadPage", database=database) for database in databases]
        # The writer makes good what it could not write while others had the machine.
        wait_for("a storm", lambda: rate() > 0.9 * RATE)
        assert_told_of_bad_pages_alone(site, databases)
    for alert, each in zip(alerts, databases, strict=True):
        assert says_bad_page(text(alert), each), text(alert)
    backlog = 'max_over_time(esewatch_source_backlog_bytes{source="event_stream-1"}[5m])'
    assert site.prometheus.value(backlog)
    return sorted(
        alert["arrived"] - events(engine, 474, database)[0]
        for alert, database in zip(alerts, databases, strict=True)
    )


@pytest.mark.slow
@pytest.mark.timed
def test_a_bad_page_arrives_in_time_while_100000_events_a_second_come_in(
    stage: Stage, tmp_path: Path
) -> None:
    (seconds,) = in_a_storm(stage, tmp_path, ["lost"], 0.0)

    assert seconds < MOST_SECONDS


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.timeout(600)
def test_ten_bad_pages_arrive_in_time_in_a_storm(stage: Stage, tmp_path: Path) -> None:
    found = in_a_storm(stage, tmp_path, [f"lost{number}" for number in range(10)], 5.0)

    record(
        "from the read of a bad page to the webhook, 100,000 other events a second coming in",
        f"{len(found)} pages of 10 databases: median {median(found):.1f} s, slowest"
        f" {found[-1]:.1f} s; a scrape and an evaluation each second",
    )
    assert found[-1] < MOST_SECONDS


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.timeout(600)
def test_twenty_bad_pages_arrive_in_time(stage: Stage, tmp_path: Path) -> None:
    engine = tmp_path / "engine"
    names = [f"lost{number}" for number in range(20)]
    faults = [
        FaultPlan(at=3.0 + 1.7 * number, database=name, kind="flip_two")
        for number, name in enumerate(names)
    ]
    databases = [label(engine, name) for name in names]
    site = stage.start(*sources(engine))
    with at_work(engine, names, faults):
        wait_for("all pages", lambda: len(site.webhook.alerts("EseKnownBadPage")) >= 20)
        alerts = [told(site, "EseKnownBadPage", database=database) for database in databases]
        assert_told_of_bad_pages_alone(site, databases)

    found = sorted(
        alert["arrived"] - events(engine, 474, database)[0]
        for alert, database in zip(alerts, databases, strict=True)
    )
    record(
        "from the read of a bad page to the webhook",
        f"{len(found)} pages of 20 databases: median {median(found):.1f} s, slowest"
        f" {found[-1]:.1f} s; a scrape and an evaluation each second",
    )
    assert found[-1] < MOST_SECONDS
