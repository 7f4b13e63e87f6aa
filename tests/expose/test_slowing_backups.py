"""Backup jobs that slow, from the logs of NTBACKUP to what a person reads."""

from esewatch.advice.advise import advise
from esewatch.config import Settings
from esewatch.daemon.publisher import PageCache
from esewatch.expose.metrics.families import families
from esewatch.expose.metrics.snapshot import Snapshot
from esewatch.expose.pages.rendering import render_status, urgent
from esewatch.expose.pages.report.database_pages import Advised
from esewatch.expose.pages.report.report_page import build_report, render_report
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from esewatch.fold.state.state import State
from tests.expose.html import Page, assert_self_contained
from tests.support.records import DAY, EPOCH, HOUR, backed_up, event, folder_of

NOW = EPOCH + 5 * DAY
SAID = (
    "in 3 of the last 3 backup jobs the last set ran at less than half the throughput of the"
    " first; in the job that ended "
)


def slowing(last: float = 9) -> State:
    """Three nights of two storage groups, an hour each: 10 MB/s, then `last` GB in the hour."""
    jobs = [
        backed_up(group, night * DAY + number * HOUR, gigabytes=size, job=str(night))
        for night in range(3)
        for number, (group, size) in enumerate((("SG06", 36), ("SG07", last)))
    ]
    known = event(700, -DAY, database=r"e:\sg06\priv.edb", ese_instance="SG06")
    return folder_of([known, *jobs]).state


def status(state: State) -> Page:
    settings = Settings()
    shown = PageCache(Snapshot(()), state, settings, NOW, tuple(advise(state, settings, NOW)))
    labels = [(each.computer, each.database) for each in urgent(shown.overview)]
    pages = [page for label in labels if (page := shown.database(state, *label)) is not None]
    read = Page(render_status(shown.overview, pages, (True, ""), Runbooks()))
    assert_self_contained(read)
    return read


def test_the_status_page_says_it_of_the_database_and_names_the_runbook() -> None:
    page = status(slowing())

    assert SAID in page.text


def test_the_report_says_it_too() -> None:
    state, settings = slowing(), Settings()
    advised = [Advised(NOW, tuple(advise(state, settings, NOW)))]
    page = Page(
        render_report(build_report(state, settings, NOW, inputs=[], unreadable=[], advised=advised))
    )

    assert SAID in page.text


def test_the_jobs_that_it_counts_are_those_of_the_metric() -> None:
    samples = {
        each.name: each.value
        for family in families(slowing(), Settings(), NOW)
        for each in family.samples
        if each.name.startswith("ese_backup_job") or each.name == "ese_backup_slow_jobs"
    }

    assert samples["ese_backup_slow_jobs"] == 3
    assert samples["ese_backup_job_slowdown_ratio"] == 0.25


def test_jobs_as_fast_at_their_end_are_not_spoken_of() -> None:
    page = status(slowing(last=36))

    assert "backup jobs" not in page.text
