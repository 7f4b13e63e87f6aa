"""Backup jobs that slow from storage group to storage group."""

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import Finding
from esewatch.config import Settings
from esewatch.expose.metrics.families import families
from esewatch.expose.pages.rendering import render_database
from esewatch.expose.pages.report.database_pages import Advised
from esewatch.expose.pages.report.report_page import build_report, render_report
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from esewatch.fold.state.state import State
from esewatch.model import Record
from tests.expose.html import Page, assert_self_contained
from tests.expose.pages_of import pages_of
from tests.support.records import DAY, EPOCH, GB, HOUR, backed_up, event, folder_of


def night(at: int, last: float = 9) -> list[Record]:
    """SG06 and SG07 one after the other, an hour each; the first at 10 MB/s."""
    job = str(at)
    return [
        backed_up("SG06", at * DAY, job=job),
        backed_up("SG07", at * DAY + HOUR, gigabytes=last, job=job),
    ]


def stores(*groups: str) -> list[Record]:
    return [
        event(700, number - DAY, database=rf"e:\{group}\priv.edb", ese_instance=group)
        for number, group in enumerate(groups)
    ]


def found(records: list[Record], now: float = 5 * DAY) -> dict[str, list[Finding]]:
    state = folder_of(records).state
    return {
        each.ese_instance: [one for one in each.findings if one.finding == "backup_slows"]
        for each in advise(state, Settings(), EPOCH + now)
    }


def test_three_slow_jobs_of_five_are_told_with_their_figures() -> None:
    records = [record for at in range(3) for record in night(at)]

    assert found([*records, *stores("SG06", "SG07", "SG08")]) == {
        "SG06": [
            Finding(
                "backup_slows",
                "in 3 of the last 3 backup jobs the last set ran at less than half the throughput"
                " of the first; in the job that ended 2007-06-18 15:20 UTC it fell from 10.0 to"
                " 2.5 MB/s over 2 sets",
                severity="info",
            )
        ],
        "SG07": found([*records, *stores("SG06")])["SG06"],
        "SG08": [],
    }


def test_two_slow_jobs_are_not_told() -> None:
    records = [*night(0), *night(1), *night(2, 36), *stores("SG06")]

    assert found(records) == {"SG06": []}


def test_good_jobs_push_slow_ones_out() -> None:
    slow = [record for at in range(4) for record in night(at)]
    good = [record for at in range(4, 7) for record in night(at, 36)]

    assert found([*slow, *stores("SG06")])["SG06"] != []
    assert found([*slow, *good, *stores("SG06")], 8 * DAY)["SG06"] == []


def test_nothing_is_told_fourteen_days_after_the_last_job() -> None:
    records = [record for at in range(3) for record in night(at)] + stores("SG06")
    ended = 2 * DAY + 2 * HOUR

    assert found(records, ended + 14 * DAY)["SG06"] != []
    assert found(records, ended + 14 * DAY + 1)["SG06"] == []


def test_streaming_backups_tell_it_too() -> None:
    records: list[Record] = stores("SG06", "SG07")
    for at in range(3):
        for number, size in enumerate((36, 9)):
            group = f"SG0{6 + number}"
            begin = at * DAY + number * HOUR
            told = {"database": rf"e:\{group}\priv.edb", "ese_instance": group}
            first = 100 * at + 10 * number
            records += [
                event(210, begin, first + 1, **told),
                event(220, begin + 1, first + 2, fields={"bytes": size * GB}, **told),
                event(221, begin + HOUR - 60, first + 3, **told),
                event(213, begin + HOUR - 60, first + 4, **told),
            ]

    assert [len(each) for each in found(records).values()] == [1, 1]


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


def database_page(state: State) -> Page:
    settings = Settings()
    shown = pages_of(state, settings, NOW, advise(state, settings, NOW))
    (figures,) = shown.overview.databases
    page = shown.database(state, figures.computer, figures.database)
    assert page is not None
    read = Page(render_database(page, Runbooks()))
    assert_self_contained(read)
    return read


def test_the_page_of_the_database_says_it() -> None:
    page = database_page(slowing())

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
    page = database_page(slowing(last=36))

    assert "backup jobs" not in page.text
