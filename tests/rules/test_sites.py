"""Two sites whose agents, computers and databases have the same names.

What tells them apart is a label of their targets. A rule that matches without it finds two series
where it needs one: then Prometheus records nothing, for no computer at all.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.rules.expressions import document_of
from tests.rules.promtool import TESTS, prepare
from tests.rules.promtool import run as ask_promtool

CASES = [path for path in TESTS if not path.stem.startswith("latched_")]
"""The latched ones have a story of two sites."""
QUICK = {"copies_days_test", "days_test"}
SEPARATE = {
    "database:ese_database_io:rate1d",
    "database:ese_backup_bytes_per_second:ratio_increase1d",
    "ese_instance:ese_maintenance_pages_read_per_scan_second:ratio_rate1d",
}
"""Series that each site has for itself, with its label."""


def in_both(one: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """A series or sample of a computer, and the same of a second site."""
    other = re.sub(r"\{(?=.*\bcomputer=)", '{site="b",', one[key], count=1)
    return [one] if other == one[key] else [one, {**one, key: other}]


def in_two_sites(case: dict[str, Any]) -> dict[str, Any]:
    """The case with each series of a computer in a second site as well."""
    series = [each for one in case["input_series"] for each in in_both(one, "series")]
    return {**case, "input_series": series}


def of_each_site(case: dict[str, Any]) -> dict[str, Any]:
    """The same, asked for what each site has for itself alone."""
    asked = [
        {**ask, "exp_samples": [s for one in ask["exp_samples"] for s in in_both(one, "labels")]}
        for ask in case.get("promql_expr_test", ())
        if any(name in ask["expr"] for name in SEPARATE)
    ]
    return {**in_two_sites(case), "alert_rule_test": [], "promql_expr_test": asked}


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)
        for path in CASES
    ],
)
def test_no_rule_fails_where_two_sites_have_the_same_names(path: Path, tmp_path: Path) -> None:
    cases = [in_two_sites(case) for case in document_of(path)["tests"]]
    done = ask_promtool(prepare(path, tmp_path, cases, exact=path.stem not in QUICK))

    assert "Unit Testing" in done.stdout
    assert not re.findall(r"rule: .* err: .*", done.stdout + done.stderr)


def test_each_site_has_its_own_figures(tmp_path: Path) -> None:
    told: set[str] = set()
    for path in CASES:
        cases = [case for each in document_of(path)["tests"] if asks(case := of_each_site(each))]
        (tmp_path / path.stem).mkdir()
        done = ask_promtool(prepare(path, tmp_path / path.stem, cases)) if cases else None

        assert done is None or done.returncode == 0, done.stdout + done.stderr
        told |= {name for name in SEPARATE for case in cases if name in str(asks(case))}
    assert told == SEPARATE


def asks(case: dict[str, Any]) -> list[dict[str, Any]]:
    """What a case asks of recorded series."""
    found: list[dict[str, Any]] = case["promql_expr_test"]
    return found
