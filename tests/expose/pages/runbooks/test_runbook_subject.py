"""The commands of a runbook name the database that it was opened for."""

import re
import shlex

import pytest

from esewatch.expose.pages.runbooks.runbook_files import Runbooks, Subject, filled
from tests.expose.examples import HOSTILE
from tests.support.each import of_each

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
