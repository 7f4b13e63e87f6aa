"""A partition moves to another worker: no alert is sent twice, and none is resolved by it."""

from pathlib import Path
from typing import Any

import pytest

from tests.rules.expressions import document_of
from tests.rules.moved import doubled, moved, parts
from tests.rules.page_scanner import INSTANCE, beside_page_scanner
from tests.rules.promtool import TESTS, prepare
from tests.rules.promtool import run as ask_promtool

SLOW = pytest.mark.slow
QUICK = {"findings_test"}
each_file = pytest.mark.parametrize(
    ("path", "exact"),
    [
        *(pytest.param(each, False, id=each.stem) for each in TESTS if each.stem in QUICK),
        *(pytest.param(each, True, id=f"{each.stem} exact", marks=SLOW) for each in TESTS),
    ],
)
"""One as often as its cases ask; in the slow tests all as often as they say."""
ADDS_UP_WORKERS = {
    "EsewatchPartitionUnowned": "it is about the workers",
}
LATER = {
    # It takes 35 minutes of a worker's own until a fall of free space is reported.
    "of a few minutes nothing is said",
    # Of what both counted within the hour the larger count holds: two agents of one computer count
    # the same requests.
    "three slow requests within an hour are a ticket, reads and writes together",
    # Its median is of what it reported itself, so that it comes a minute earlier.
    "reads that were half as slow before and are after it are told (critical) while it lasts",
    # They are about the workers.
    "what a worker owned that died is told after a quarter of an hour, until another one has it",
    "partitions without an owner are told without a break where the worker is scraped each five"
    " minutes, now and then late",
}
"""Cases in which a move is noticed, with the reason."""
READ_BY_SCANNER = (
    "nothing tells whether its logs are read",
    "a missing backup is not told of a computer whose state of reading is unknown",
)
"""Cases in which no agent tells whether logs are read; one that scans pages tells it of itself."""


def read_without(path: Path) -> list[dict[str, Any]]:
    """The cases in which an agent that scans pages tells nothing new."""
    return [
        case for case in document_of(path)["tests"] if not case["name"].endswith(READ_BY_SCANNER)
    ]


@each_file
def test_what_two_workers_tell_is_told_once(path: Path, exact: bool, tmp_path: Path) -> None:
    cases = document_of(path)["tests"]
    twice = [each for case in cases if (each := doubled(case, ADDS_UP_WORKERS))]
    done = ask_promtool(prepare(path, tmp_path, twice, exact=exact)) if twice else None

    assert done is None or done.returncode == 0, done.stdout + done.stderr


@each_file
def test_an_alert_goes_on_through_a_move(path: Path, exact: bool, tmp_path: Path) -> None:
    cases = [case for case in document_of(path)["tests"] if case["name"] not in LATER]
    over_a_move = [each for case in cases if (each := moved(case))]
    done = ask_promtool(prepare(path, tmp_path, over_a_move, exact=exact)) if over_a_move else None

    assert done is None or done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_an_alert_goes_on_through_a_move_beside_an_agent_that_only_scans_pages(
    path: Path, tmp_path: Path
) -> None:
    cases = [case for case in read_without(path) if case["name"] not in LATER]
    beside = [each for case in cases if (each := beside_page_scanner(case))]
    over_a_move = [each for case in beside if (each := moved(case, stays=INSTANCE))]
    done = ask_promtool(prepare(path, tmp_path, over_a_move, exact=True)) if over_a_move else None

    assert done is None or done.returncode == 0, done.stdout + done.stderr


@each_file
def test_an_agent_that_only_scans_pages_changes_no_alert(
    path: Path, exact: bool, tmp_path: Path
) -> None:
    cases = read_without(path)
    beside = [each for case in cases if (each := beside_page_scanner(case))]
    done = ask_promtool(prepare(path, tmp_path, beside, exact=exact)) if beside else None

    assert done is None or done.returncode == 0, done.stdout + done.stderr


def test_each_case_that_notices_a_move_is_there() -> None:
    names = {case["name"] for path in TESTS for case in document_of(path)["tests"]}

    assert names >= LATER
    for end in READ_BY_SCANNER:
        assert any(name.endswith(end) for name in names)


@pytest.mark.parametrize(
    ("values", "at", "before", "after"),
    [
        ("0+2x9", 4, ["0+2x3"], ["8+2x5"]),
        ("1x3 _x2 5", 5, ["1x3", "_x1"], ["_x1", "5"]),
        ("1 2 3", 1, ["1"], ["2", "3"]),
        ("3-1x2", 9, ["3-1x2"], []),
        ("3-1x2", 0, [], ["3-1x2"]),
        ("-2x3", 2, ["-2+0x1"], ["-2+0x1"]),
        ("1 stale", 1, ["1"], ["stale"]),
    ],
)
def test_the_values_of_a_series_in_two_parts(
    values: str, at: int, before: list[str], after: list[str]
) -> None:
    assert parts(values, at) == (before, after)
