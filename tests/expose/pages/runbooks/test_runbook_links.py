"""Which runbooks a page names: those that there are, and for each thing that is found."""

import re
import shlex

import msgspec
import pytest

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import FINDINGS, RISKS, Cause, Finding, FindingName
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.judgement import blind_computers
from esewatch.advice.not_judged import MISSING
from esewatch.config import default_settings
from esewatch.expose.pages.overview import DatabaseFigures, overview
from esewatch.expose.pages.runbooks.runbook_files import Runbooks, Subject, filled
from esewatch.expose.pages.runbooks.runbook_links import runbook_links, stale_runbooks
from esewatch.fold.state.state import SourceState
from tests.expose.examples import HOSTILE, NOW, PRIV06, example
from tests.support.each import of_each


def figures(
    *findings: Finding, forecasts: tuple[Forecast, ...] = (), bad: tuple[str, ...] = ()
) -> DatabaseFigures:
    """SG06 with these findings and kinds of bad pages."""
    told = {(each.computer, each.database): each for each in advise(example(), SETTINGS, NOW)}
    advice = msgspec.structs.replace(told[PRIV06], findings=findings, forecasts=forecasts)
    view = overview(example(), SETTINGS, NOW, (advice,))
    one = next(each for each in view.databases if (each.computer, each.database) == PRIV06)
    return msgspec.structs.replace(one, bad_pages=dict.fromkeys(bad, 1), stale="")


SETTINGS = default_settings()
WITHOUT_RUNBOOK: dict[FindingName, str] = {
    "backup_slows": "no alert is raised, and the page of backups says what to do",
    "copy_failed": "it raises no alert, and runbooks are those of alerts",
    "directory_error": "it raises no alert, and runbooks are those of alerts",
    "investigate": "it sums up what other findings and the known bad pages say",
    "unexplained_error": "it raises no alert, and runbooks are those of alerts",
}
"""Finding -> why none is named for it."""


@pytest.mark.parametrize("finding", [each for each in FINDINGS if each not in WITHOUT_RUNBOOK])
def test_each_finding_has_a_runbook_of_this_version(finding: FindingName) -> None:
    names = runbook_links(figures(Finding(finding, "why")))
    assert len(names) == 1
    assert Runbooks().has(names[0])


@pytest.mark.parametrize("finding", WITHOUT_RUNBOOK)
def test_a_finding_without_a_runbook_names_none(finding: FindingName) -> None:
    assert runbook_links(figures(Finding(finding, "why"))) == ()


def test_damage_has_its_runbooks_after_bad_pages_and_before_all_else() -> None:
    found = figures(
        Finding("investigate", "why", ("io",)),
        Finding("copy_suspect", "why"),
        Finding("logical_damage", "why"),
        Finding("copy_divergence", "why"),
        bad=("corrected",),
    )
    assert runbook_links(found) == (
        "EseCorrectedPage",
        "EseCopyDivergence",
        "EseLogicalCorruption",
        "EseIoError",
    )


def test_damage_without_a_finding_of_its_own_has_its_runbook() -> None:
    told: dict[str, Cause] = {"EseEngineFailure": "index", "EseCopyDivergence": "revert_snapshot"}
    for name, kind in told.items():
        assert runbook_links(figures(Finding("investigate", "why", (kind,)))) == (name,)
        assert Runbooks().has(name)


def test_no_runbook_depends_on_the_words_of_a_finding() -> None:
    words = "1 I/O error in 7 days, 3 reports of indexes out of date"
    assert runbook_links(figures(Finding("investigate", words))) == ()


def test_what_endangers_writes_leads_to_its_own_runbook() -> None:
    for kind in RISKS:
        names = runbook_links(figures(Finding("writes_at_risk", "why", (kind,))))
        assert names[0] not in ("EseVersionBucketsHigh", "")
        assert Runbooks().has(names[0])
    assert runbook_links(figures(Finding("writes_at_risk", "71 of 100 version buckets"))) == (
        "EseVersionBucketsHigh",
    )


def test_bad_pages_come_first_and_each_runbook_once() -> None:
    found = figures(
        Finding("never_verified", "why"), bad=("corrected", "lost_flush", "no_data", "wrong_page")
    )
    assert runbook_links(found) == (
        "EseKnownBadPage",
        "EseCorrectedPage",
        "EseVerificationOverdue",
    )
    assert all(Runbooks().has(name) for name in runbook_links(found))


def test_a_pass_that_will_be_late_and_an_io_error_have_theirs() -> None:
    late = tuple(
        Forecast(task=task, p50=NOW, p90=NOW + 2, deadline=NOW + 1)
        for task in ("defrag", "checksum")
    )
    assert runbook_links(figures(forecasts=late)) == (
        "EseDefragIncomplete",
        "EseVerificationAtRisk",
    )
    in_time = (Forecast(task="defrag", p50=NOW, p90=NOW, deadline=NOW + 1),)
    assert runbook_links(figures(forecasts=in_time)) == ()
    assert runbook_links(figures(Finding("investigate", "why", ("io",)))) == ("EseIoError",)


DOWN, UNFINISHED = "log cannot be read", "log is not read to its end"


@pytest.mark.parametrize(
    ("why", "names"),
    [
        (DOWN, ("EsewatchRecordsMissed",)),
        (UNFINISHED, ("EsewatchBehind",)),
        (f"{UNFINISHED}, old {DOWN}", ("EsewatchRecordsMissed", "EsewatchBehind")),
        ("cannot be read; its computers are not known", ("EsewatchRecordsMissed",)),
    ],
)
def test_a_source_that_is_down_or_behind_has_its_runbook_on_every_page(
    why: str, names: tuple[str, ...]
) -> None:
    assert stale_runbooks(why) == names
    both = dict.fromkeys((*names, "EsewatchRecordsMissed"))
    assert stale_runbooks(f"{why}, {MISSING}") == tuple(both)
    assert runbook_links(msgspec.structs.replace(figures(), stale=why)) == names
    assert all(Runbooks().has(name) for name in names)
    worse = figures(Finding("unknown_since", "events lost"), bad=("no_data",))
    found = runbook_links(msgspec.structs.replace(worse, stale=why))
    assert found == tuple(dict.fromkeys(("EseKnownBadPage", "EsewatchRecordsMissed", *names)))


def test_the_reason_is_the_one_that_sources_have() -> None:
    sources = [
        SourceState(name="a", computers=["ex01"]),
        SourceState(name="b", up=True, computers=["ex02"]),
    ]
    found = {name: stale_runbooks(why) for name, why in blind_computers(sources).items()}
    assert found == {"ex01": ("EsewatchRecordsMissed",), "ex02": ("EsewatchBehind",)}


SUBJECT = Subject("EX07", "f:\\mail box\\it's 1.edb", "F:\\Mail Box\\it's 1.edb")
RUNBOOKS = Runbooks()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "    esewatch ack 'e:\\mdb06\\priv06.edb'",
            ["esewatch", "ack", "--computer", "EX07", SUBJECT.database],
        ),
        (
            "       esewatch forget --computer ex01 'e:\\mdb06\\priv06.edb'",
            ["esewatch", "forget", "--computer", "EX07", SUBJECT.database],
        ),
        (
            "    esewatch scan --throttle-ms 20 /snap/priv06.edb",
            ["esewatch", "scan", "--throttle-ms", "20", "/snap/it's 1.edb"],
        ),
        (
            "    curl -s http://127.0.0.1:19703/api/v1/databases",
            [
                "curl",
                "-s",
                "http://127.0.0.1:19703/api/v1/databases?computer=EX07"
                "&q=F%3A%5CMail+Box%5Cit%27s+1.edb",
            ],
        ),
        (
            "    esewatch events --companions --computer sql01 /logs/sql01/ERRORLOG*",
            [
                *[
                    "esewatch",
                    "events",
                    "--companions",
                    "--computer",
                    "sql01",
                    "/logs/sql01/ERRORLOG*",
                ]
            ],
        ),
    ],
)
def test_a_command_is_for_this_database_and_the_shell_reads_it_as_one(
    line: str, words: list[str]
) -> None:
    assert shlex.split(filled(line, SUBJECT)) == words


def test_text_that_is_no_command_stays_an_example() -> None:
    text = "Write `esewatch ack 'e:\\mdb06\\priv06.edb'`.\n\n    Get-MailboxDatabase 'DB06'\n"
    assert filled(text, SUBJECT) == text
    assert filled("    esewatch ack 'e:\\a\\b.edb'", SUBJECT._replace(database=HOSTILE)) == (
        "    esewatch ack 'e:\\a\\b.edb'"
    )


@of_each(RUNBOOKS.names())
def test_no_runbook_keeps_an_example_path_in_a_command_on_this_database(name: str) -> None:
    text = filled(RUNBOOKS.text(name) or "", SUBJECT)
    kept = re.findall(
        r"^ {4,}(?:esewatch (?:ack|forget|scan)|eseutil /mh).*(?:priv06|app\.edb).*$",
        text,
        re.MULTILINE,
    )
    assert kept == []


@of_each(RUNBOOKS.names())
def test_each_runbook_says_its_severity_and_subject(name: str) -> None:
    severity, subject = RUNBOOKS.head(name)
    assert severity
    assert subject
    assert RUNBOOKS.summary(name)
