"""Each case of the alerts that moved has its half in records, or a reason why it has none."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec

from tests.rules.expressions import ROOT

TABLE = Path(__file__).with_name("moved_cases.yml")
PLACE = "tests/advice"
FILES = {
    "alone_test.yml": 2,
    "at_risk_test.yml": 13,
    "checkdb_test.yml": 11,
    "copies_days_test.yml": 3,
    "copies_of_test.yml": 19,
    "copies_test.yml": 35,
    "damage_test.yml": 27,
    "days_test.yml": 7,
    "engine_errors_test.yml": 8,
    "engine_test.yml": 28,
    "integrity_test.yml": 47,
    "recording_test.yml": 7,
    "repaired_days_test.yml": 9,
    "tiers_test.yml": 1,
    "verification_test.yml": 57,
    "window_findings_test.yml": 4,
    "window_test.yml": 6,
    "window_weeks_test.yml": 19,
}
"""Files of cases, and how many of them moved."""


class Case(msgspec.Struct, forbid_unknown_fields=True):
    case: str
    records: list[str] = []
    differs: str = ""
    none: str = ""


def cases() -> dict[str, list[Case]]:
    return msgspec.yaml.decode(TABLE.read_bytes(), type=dict[str, list[Case]])


def test_no_case_is_dropped_or_listed_twice_and_each_has_tests_or_a_reason() -> None:
    listed = cases()
    assert {name: len(each) for name, each in listed.items()} == FILES
    for each in listed.values():
        assert max(Counter(case.case for case in each).values()) == 1
        assert [case.case for case in each if bool(case.records) == bool(case.none)] == []
        assert [case.case for case in each if case.differs and case.none] == []


def test_each_test_that_is_named_is_there() -> None:
    named = {test for each in cases().values() for case in each for test in case.records}
    files = sorted({f"{PLACE}/{test.partition('::')[0]}" for test in named})
    command: list[str] = [sys.executable, "-m", "pytest", "--collect-only", "-q", *files]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    there = {line.removeprefix(f"{PLACE}/") for line in found.stdout.splitlines()}
    assert sorted(named - there) == []
