"""Which runbooks a page names: those that there are, and for each thing that is found."""

import msgspec
import pytest

from esewatch.advice.advise import advise
from esewatch.advice.findings import FINDINGS, Finding, FindingName
from esewatch.advice.forecast import Forecast
from esewatch.advice.risk import RISKS
from esewatch.config import default_settings
from esewatch.expose.overview import DatabaseFigures, overview
from esewatch.expose.remedies import remedies
from esewatch.expose.runbooks import Runbooks
from tests.expose.examples import NOW, PRIV06, example


def figures(
    *findings: Finding, forecasts: tuple[Forecast, ...] = (), bad: tuple[str, ...] = ()
) -> DatabaseFigures:
    """SG06 with these findings and kinds of bad pages."""
    told = {(each.computer, each.database): each for each in advise(example(), SETTINGS, NOW)}
    advice = msgspec.structs.replace(told[PRIV06], findings=findings, forecasts=forecasts)
    view = overview(example(), SETTINGS, NOW, (advice,))
    one = next(each for each in view.databases if (each.computer, each.database) == PRIV06)
    return msgspec.structs.replace(one, bad_pages=dict.fromkeys(bad, 1), behind=False)


SETTINGS = default_settings()


@pytest.mark.parametrize("finding", [each for each in FINDINGS if each != "investigate"])
def test_each_finding_has_a_runbook_of_this_version(finding: FindingName) -> None:
    names = remedies(figures(Finding(finding, "why")))
    assert len(names) == 1
    assert Runbooks().has(names[0])


def test_what_endangers_writes_leads_to_its_own_runbook() -> None:
    for says in RISKS.values():
        names = remedies(figures(Finding("writes_at_risk", f"{says}, last 2007-06-21")))
        assert names[0] not in ("EseVersionBucketsHigh", "")
        assert Runbooks().has(names[0])
    assert remedies(figures(Finding("writes_at_risk", "71 of 100 version buckets"))) == (
        "EseVersionBucketsHigh",
    )


def test_bad_pages_come_first_and_each_runbook_once() -> None:
    found = figures(
        Finding("never_verified", "why"), bad=("corrected", "lost_flush", "no_data", "wrong_page")
    )
    assert remedies(found) == (
        "EseKnownBadPage",
        "EseLostFlush",
        "EseCorrectedPage",
        "EseNeverVerified",
    )
    assert all(Runbooks().has(name) for name in remedies(found))


def test_a_pass_that_will_be_late_and_an_io_error_have_theirs() -> None:
    late = tuple(
        Forecast(task=task, p50=NOW, p90=NOW + 2, deadline=NOW + 1)
        for task in ("defrag", "checksum")
    )
    assert remedies(figures(forecasts=late)) == ("EseDefragIncomplete", "EseScanWillMissDeadline")
    in_time = (Forecast(task="defrag", p50=NOW, p90=NOW, deadline=NOW + 1),)
    assert remedies(figures(forecasts=in_time)) == ()
    assert remedies(figures(Finding("investigate", "1 I/O error in 7 days"))) == ("EseIoError",)


def test_a_source_that_is_behind_has_its_runbook_after_what_is_worse() -> None:
    behind = msgspec.structs.replace(figures(), behind=True)
    assert remedies(behind) == ("EsewatchSourceDown",)
    worse = figures(Finding("unknown_since", "events lost"), bad=("no_data",))
    assert remedies(msgspec.structs.replace(worse, behind=True)) == (
        "EseKnownBadPage",
        "EsewatchRecordsMissed",
        "EsewatchSourceDown",
    )
