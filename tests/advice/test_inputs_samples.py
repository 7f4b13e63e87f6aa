"""Real logs that nobody made for this: no window is advised where none is."""

import json

import pytest

from tests.advice.inputs import read_json, told
from tests.support.samples import ROOT, sample

CONTROLLERS = (
    "csv/get-winevent-directory-service-a.csv",
    "csv/get-winevent-directory-service-b.csv",
    "csv/get-winevent-directory-service-c.csv",
    "evtx/dc_applog_ntdsutil_dfir_325_326_327.evtx",
    "evtx/lab-ec2-dc-application-1.evtx",
    "json/otrf-ntdsutil.jsonl",
)
FOLDERS = ("csv", "evtx", "json", "text", "other", "perf")
HINTS = ("--format", "json", "--date-order", "mdy", "--computer", "unnamed")


@pytest.mark.parametrize("name", CONTROLLERS)
def test_a_domain_controller_gets_no_window_advice(name: str) -> None:
    found = told(None, [str(sample(name))], *HINTS)
    advice = [read_json(line) for line in found.out.splitlines()]

    assert found.status in (0, 1)
    assert advice != []
    for each in advice:
        assert each["action"] == "not_applicable"
        assert each["model"] in {"garbage_collection", "application"}
        assert each.keys().isdisjoint({"evidence", "recommended_seconds", "configured_seconds"})
        assert "pages for each one freed" not in json.dumps(each)


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_real_log_gets_advice_to_change_a_window_without_evidence(folder: str) -> None:
    sample(folder)
    for path in sorted((ROOT / folder).iterdir()):
        found = told(None, [str(path)], *HINTS)
        assert found.status in (0, 1, 2)
        for line in found.out.splitlines():
            advice = read_json(line)
            assert advice["action"] in {"not_applicable", "insufficient_evidence"}, path
            assert (advice["action"] == "insufficient_evidence") == (advice["model"] == "window")


def test_all_real_logs_together_get_no_advice_to_change_a_window() -> None:
    sample("evtx")
    found = told(None, [str(ROOT / folder) for folder in FOLDERS], *HINTS)
    advice = [read_json(line) for line in found.out.splitlines()]

    assert len(advice) > 10
    assert {each["action"] for each in advice} <= {"not_applicable", "insufficient_evidence"}
    places = [(each["computer"], each["database"]) for each in advice]
    assert len(set(places)) == len(places)
