"""`runbook`: what to do, at the prompt."""

import pytest

from esewatch.cli import main
from esewatch.expose.pages.runbooks.runbook_files import Runbooks


def test_the_runbook_of_an_alert_is_printed_however_its_name_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("EseKnownBadPage", "eseknownbadpage"):
        assert main(["runbook", name]) == 0
        assert capsys.readouterr().out == Runbooks().text("EseKnownBadPage")


def test_without_a_name_all_names_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runbook"]) == 0
    assert capsys.readouterr().out.split() == Runbooks().names()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("EseKnowBadPage", 'did you mean "EseKnownBadPage"?'),
        ("../../etc/passwd", "esewatch runbook lists the names"),
    ],
)
def test_a_name_that_is_none_is_status_2(
    name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runbook", name]) == 2
    assert capsys.readouterr().err == f"esewatch: {name}: no alert has this name: {said}\n"
