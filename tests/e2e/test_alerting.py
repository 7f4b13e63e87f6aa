"""From a record in a log to the message a person gets, through the real servers."""

from datetime import UTC, datetime, timedelta
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import Prometheus, get, wait_for
from tests.e2e.logs import (
    DATABASE,
    LABEL,
    SAMPLE_SECONDS,
    CounterLog,
    utc_now,
    write_bad_page,
    write_checksum_pass,
    write_defrag_pass,
    write_garbage_collection,
)
from tests.e2e.stage import Stage
from tests.support.evtx_writer import EvtxWriter
from tests.support.samples import sample

pytestmark = pytest.mark.e2e

RATIO = "increase(ese_defrag_pages_read_total[1d]) / increase(ese_defrag_pages_freed_total[1d])"


def evtx(path: Path) -> dict[str, Any]:
    return {"type": "evtx", "path": str(path)}


def firing_names(prometheus: Prometheus) -> set[str]:
    return {labels["alertname"] for labels in prometheus.firing()}


def test_prometheus_reads_back_the_figures_of_the_published_passes(
    stage: Stage, tmp_path: Path
) -> None:
    end = datetime(2007, 6, 21, 3, 14, 15, tzinfo=UTC)
    with EvtxWriter(tmp_path / "app.evtx") as log:
        write_defrag_pass(log, end)
        write_checksum_pass(log, end + timedelta(days=1))

    prometheus = stage.start(evtx(tmp_path / "app.evtx")).prometheus

    labels = f'computer="ex01",database="{LABEL}"'.replace("\\", "\\\\")
    defrag, scan = f'{{{labels},task="defrag"}}', f'{{{labels},task="checksum"}}'
    for expression, value in {
        f"ese_defrag_reported_pages_freed_total{{{labels}}}": 42_794,
        f"ese_pass_last_work_seconds{defrag}": 124_919,
        f"ese_pass_last_invocations{defrag}": 7,
        f"ese_passes_completed_total{defrag}": 1,
        f"ese_pass_last_completion_timestamp_seconds{defrag}": end.timestamp(),
        f"ese_pass_last_work_seconds{scan}": 208,
        f"ese_pass_last_invocations{scan}": 2,
        f"ese_pass_pages_seen_total{scan}": 5_850_768,
        f"ese_pass_bad_checksums_total{scan}": 0,
        f"sum(ese_known_bad_pages{{{labels}}})": 0,
        f'ese_database_info{{{labels},ese_instance="SG06",model="window",tier="watched"}}': 1,
    }.items():
        prometheus.wait_for_value(expression, value)
    prometheus.wait_for_evaluations(3)
    assert prometheus.firing() == []
    assert prometheus.rule_errors() == []


def test_the_ratio_is_that_of_the_sums_in_the_counter_log(stage: Stage, tmp_path: Path) -> None:
    now = utc_now()
    with EvtxWriter(tmp_path / "app.evtx") as log:
        write_defrag_pass(log, now - timedelta(days=1))
    counters = CounterLog(tmp_path / "perf.csv", "Information Store/SG06", now - timedelta(hours=1))
    counters.sample(1430, 10, count=5)

    prometheus = stage.start(
        evtx(tmp_path / "app.evtx"), {"type": "perfmon_csv", "path": str(tmp_path / "perf.csv")}
    ).prometheus
    instance = '{computer="ex01",ese_instance="SG06"}'
    for_read, for_freed = (f"ese_defrag_pages_{name}_total{instance}" for name in ("read", "freed"))
    prometheus.wait_for_value(for_read, 4 * SAMPLE_SECONDS * 1430)
    prometheus.wait_for_value(for_freed, 4 * SAMPLE_SECONDS * 10)
    counters.sample(2860, 20, count=20)

    prometheus.wait_for_value(for_read, (4 * 1430 + 20 * 2860) * SAMPLE_SECONDS)
    prometheus.wait_for_value(for_freed, (4 * 10 + 20 * 20) * SAMPLE_SECONDS)
    # That over 28 days is of whole days: tests/rules/days_test.yml.
    wait_for("a ratio over a day", partial(prometheus.query, RATIO))
    assert prometheus.value(RATIO) == pytest.approx(143, rel=1e-9)
    prometheus.wait_for_value('esewatch_perf_object_present{name="Online Defrag"}', 1)


@pytest.mark.parametrize(
    "stage", ["installed", pytest.param("newest", marks=pytest.mark.slow)], indirect=True
)
def test_a_fresh_bad_page_pages_stays_through_restarts_and_is_cleared_by_ack(
    stage: Stage, tmp_path: Path
) -> None:
    log = EvtxWriter(tmp_path / "app.evtx")
    write_defrag_pass(log, utc_now() - timedelta(days=1))
    log.flush()
    agent, prometheus, webhook = stage.start(evtx(tmp_path / "app.evtx"))
    prometheus.wait_for_value('ese_known_bad_pages{kind="uncorrectable"}', 0)
    assert webhook.alerts("EseKnownBadPage") == []

    write_bad_page(log, utc_now(), page=4711)
    log.close()
    alert = wait_for("the page", lambda: webhook.alerts("EseKnownBadPage", "firing"))[0]

    assert alert["path"] == "/page"
    assert alert["labels"] == {
        "alertname": "EseKnownBadPage",
        "severity": "critical",
        "computer": "ex01",
        "database": LABEL,
        "finding": "known_bad_page",
        "job": "esewatch",
    }
    said = alert["annotations"]["description"]
    assert f"Page 4711 of {LABEL} on ex01 is bad (uncorrectable), last error 20" in said
    assert f"Reported by {agent.address}." in said
    assert '"known_bad_pages":{"uncorrectable":1}' in get(f"{agent.url}/api/v1/databases")
    page = alert["annotations"]["runbook_url"].rpartition("/")[2]
    runbook = unescape(get(f"{agent.url}/runbooks/{page}"))
    assert "Mitigation" in runbook
    assert f"esewatch ack --computer ex01 '{LABEL}'" in runbook

    prometheus.wait_for_evaluations(5)
    agent.stop()
    prometheus.wait_for_value("up", 0)
    prometheus.wait_for_evaluations(3)
    agent.start()
    prometheus.wait_for_value("up", 1)
    agent.kill()
    prometheus.wait_for_value("up", 0)
    prometheus.wait_for_evaluations(5)
    assert firing_names(prometheus) == {"EseKnownBadPage"}
    agent.start()
    prometheus.wait_for_value("up", 1)
    prometheus.wait_for_evaluations(3)
    assert firing_names(prometheus) == {"EseKnownBadPage"}
    assert webhook.alerts("EseKnownBadPage", "resolved") == []

    done = agent.ack(LABEL, 4711)
    assert done.returncode == 0, done.stderr
    wait_for("the end of it", lambda: webhook.alerts("EseKnownBadPage", "resolved"))
    prometheus.wait_for_value('ese_known_bad_pages{kind="uncorrectable"}', 0)
    prometheus.wait_for_value('ese_page_error_events_total{kind="checksum"}', 1)
    assert firing_names(prometheus) == set()


def test_a_bad_page_of_yesterday_pages_although_it_is_in_the_first_reading(
    stage: Stage, tmp_path: Path
) -> None:
    with EvtxWriter(tmp_path / "app.evtx") as log:
        write_defrag_pass(log, utc_now() - timedelta(days=2))
        write_bad_page(log, utc_now() - timedelta(days=1), page=17)

    webhook = stage.start(evtx(tmp_path / "app.evtx")).webhook

    assert wait_for("the page", lambda: webhook.alerts("EseKnownBadPage", "firing"))


def test_three_years_of_old_logs_with_an_old_bad_page_give_a_warning_and_no_page(
    stage: Stage, tmp_path: Path
) -> None:
    now = utc_now()
    with EvtxWriter(tmp_path / "app.evtx") as log:
        for day in range(3 * 365, 0, -5):
            write_defrag_pass(log, now - timedelta(days=day))
            if day == 730:
                write_bad_page(log, now - timedelta(days=729), page=17)

    _, prometheus, webhook = stage.start(evtx(tmp_path / "app.evtx"))
    warning = wait_for("the warning", lambda: webhook.alerts("EseKnownBadPage"))[0]
    prometheus.wait_for_evaluations(5)

    assert warning["path"] == "/ticket"
    assert warning["labels"]["severity"] == "warning"
    assert warning["labels"]["database"] == LABEL
    assert firing_names(prometheus) == {"EseKnownBadPage"}
    named = {alert["labels"]["alertname"] for alert in webhook.alerts()}
    assert named <= {"EseKnownBadPage", "Watchdog"}
    prometheus.wait_for_value('ese_passes_completed_total{task="defrag"}', 219)


def test_a_domain_controller_has_no_ratio_and_no_alert(stage: Stage, tmp_path: Path) -> None:
    now = utc_now()
    with EvtxWriter(tmp_path / "ds.evtx", "DC01.corp.example", "Directory Service") as log:
        write_garbage_collection(log, now - timedelta(hours=1), count=20)
    counters = CounterLog(tmp_path / "perf.csv", "lsass/NTDSA", now - timedelta(hours=1), "DC01")
    counters.sample(3000, 0, count=5)

    _, prometheus, webhook = stage.start(
        evtx(tmp_path / "ds.evtx"),
        {"type": "perfmon_csv", "path": str(tmp_path / "perf.csv")},
    )
    prometheus.wait_for_value('ese_database_info{model="garbage_collection"}', 1)
    prometheus.wait_for_value(
        'ese_defrag_pages_read_total{computer="dc01",ese_instance="NTDSA"}', 3000 * 60
    )
    counters.sample(3000, 0, count=20)
    prometheus.wait_for_value("ese_defrag_pages_read_total", 3000 * 360)
    prometheus.wait_for_evaluations(5)

    prometheus.wait_for_value('ese_passes_completed_total{task="defrag"}', 20)
    prometheus.wait_for_value("ese_defrag_reported_pages_freed_total", 0)
    assert prometheus.query('{__name__=~".+:ese_defrag_.+"}') == []
    assert prometheus.query('ALERTS{alertname=~"EseDefrag.+"}') == []
    assert firing_names(prometheus) == set()
    assert {alert["labels"]["alertname"] for alert in webhook.alerts()} <= {"Watchdog"}


@pytest.mark.slow
def test_real_logs_of_domain_controllers_have_no_ratio_and_no_alert(stage: Stage) -> None:
    names = [f"csv/get-winevent-directory-service-{letter}.csv" for letter in "abc"]

    _, prometheus, webhook = stage.start(
        *(
            {"type": "event_stream", "path": str(sample(name)), "date_order": "mdy"}
            for name in names
        )
    )
    prometheus.wait_for_value('sum(ese_passes_completed_total{task="defrag"})', 27)
    prometheus.wait_for_evaluations(3)

    models = {labels["model"] for labels, _ in prometheus.query("ese_database_info")}
    assert models == {"garbage_collection"}
    prometheus.wait_for_value("sum(ese_defrag_reported_pages_freed_total)", 0)
    assert prometheus.query('{__name__=~".+:ese_defrag_.+"}') == []
    assert firing_names(prometheus) == set()
    assert {alert["labels"]["alertname"] for alert in webhook.alerts()} <= {"Watchdog"}


def test_the_watchdog_reaches_the_dead_man_switch(stage: Stage, tmp_path: Path) -> None:
    EvtxWriter(tmp_path / "none.evtx").close()
    webhook = stage.start(evtx(tmp_path / "none.evtx")).webhook

    alert = wait_for("the watchdog", lambda: webhook.alerts("Watchdog", "firing"))[0]

    assert alert["path"] == "/dead-man"
    assert DATABASE not in str(alert)
