"""Each rule is held by a test: a rule that is broken on purpose makes a promtool case fail.

What a mutant is says mutants.py. A fixed sample of them is tried in each run, more of them in
the slow tests, all in the campaign, as many at once as there are processors. A worker of pytest
tries just those of its own tests: it does not know which of them are left to the others.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.rules.expressions import ALERT_FILES, RULE_FILES, document_of
from tests.rules.mutants import Mutant, changed_expressions, half, mutants_of, noticed
from tests.rules.needed import FILES, dependents, name_of, rules_in
from tests.support.campaign import COMMAND, some
from tests.support.figures import record

MUTANTS = [mutant for path in FILES for mutant in mutants_of(path)]
SAMPLE = random.Random(7).sample(MUTANTS, 3)
LONGER = some(MUTANTS, 108)


def key_of(mutant: Mutant) -> tuple[Path, int, str]:
    return mutant.path, mutant.rule, mutant.change


class Verdicts:
    """Answers to the chosen mutants, worked out by threads: promtool is a process of its own."""

    def __init__(self, mutants: list[Mutant], folder: Path) -> None:
        self.began = time.monotonic()
        self.counts: Counter[str] = Counter()
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1)
        self._answers: dict[tuple[Path, int, str], Future[bool | None]] = {}
        self._folder = folder
        for mutant in mutants:
            self._ask(mutant)

    def _ask(self, mutant: Mutant) -> None:
        place = self._folder / str(len(self._answers))
        place.mkdir()
        self._answers[key_of(mutant)] = self._pool.submit(noticed, mutant, place)

    def of(self, mutant: Mutant) -> bool | None:
        """True: noticed. False: no case notices. None: Prometheus would not load it."""
        if key_of(mutant) not in self._answers:
            self._ask(mutant)
        answer = self._answers[key_of(mutant)].result()
        self.counts[{True: "noticed", False: "survived", None: "refused"}[answer]] += 1
        return answer

    def close(self) -> None:
        """Start nothing more."""
        self._pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def verdicts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Verdicts]:
    """The answers to the mutants of all tests that were selected, in their order."""
    parameters = [
        item.callspec.params.get("mutant")
        for item in request.session.items
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
    ]
    chosen = {key_of(mutant): mutant for mutant in parameters if isinstance(mutant, Mutant)}
    at_once = [] if "PYTEST_XDIST_WORKER" in os.environ else list(chosen.values())
    found = Verdicts(at_once, tmp_path_factory.mktemp("mutants"))
    yield found
    found.close()
    counts = found.counts
    if len(chosen) >= len(LONGER) and not counts["survived"]:
        minutes = (time.monotonic() - found.began) / 60
        record(
            "rules and alerts with one thing changed (expression, comparison, number, hold time)",
            f"{counts['noticed']} mutants, all noticed ({counts['refused']} more do not load), "
            f"in {minutes:.0f} minutes",
            COMMAND,
        )


def unbroken(name: str) -> Mutant:
    """The first rule of a name as it is."""
    return next(
        Mutant(path, index, name, "nothing", rule)
        for path in FILES
        for index, rule in enumerate(rules_in(document_of(path)))
        if name_of(rule) == name
    )


@pytest.mark.parametrize(
    "name",
    [
        "EseCopyBehind",
        "EsewatchDown",
        "EsewatchRecordsMissed",
        pytest.param("EseKnownBadPage", marks=pytest.mark.slow),
        pytest.param("database:ese_database_io:rate1d", marks=pytest.mark.slow),
    ],
)
def test_an_unbroken_rule_is_not_noticed(name: str, tmp_path: Path) -> None:
    assert noticed(unbroken(name), tmp_path) is False


def test_a_rule_that_does_not_load_is_told_from_one_that_is_noticed(tmp_path: Path) -> None:
    rule = unbroken("EsewatchRecordsMissed")
    broken = rule._replace(changed={**rule.changed, "expr": "increase("})
    gone = rule._replace(changed={**rule.changed, "expr": "vector(1) < 0"})

    assert noticed(broken, tmp_path) is None
    assert noticed(gone, tmp_path) is True


def test_there_are_mutants_of_each_rule() -> None:
    assert len(MUTANTS) > 100
    assert len({key_of(mutant) for mutant in MUTANTS}) == len(MUTANTS)
    assert {(m.path, m.rule) for m in MUTANTS if m.change == "expression gone"} == {
        (path, index) for path in FILES for index, _ in enumerate(rules_in(document_of(path)))
    }
    assert {m.path for m in MUTANTS} == {*RULE_FILES, *ALERT_FILES}


def test_a_mutant_differs_from_its_rule_and_from_its_neighbours() -> None:
    for path in FILES:
        rules = rules_in(document_of(path))
        for mutant in mutants_of(path):
            assert mutant.changed != rules[mutant.rule]


def test_the_changes_of_an_expression() -> None:
    found = [
        after for _, after in changed_expressions('a{b!="x-1"} > 14 * 86400 unless c[1h] == 1')
    ]

    assert found == [
        'a{b="x-1"} > 14 * 86400 unless c[1h] == 1',
        'a{b!="x-1"} <= 14 * 86400 unless c[1h] == 1',
        'a{b!="x-1"} > 28 * 86400 unless c[1h] == 1',
        'a{b!="x-1"} > 7 * 86400 unless c[1h] == 1',
        'a{b!="x-1"} > 14 / 86400 unless c[1h] == 1',
        'a{b!="x-1"} > 14 * 86400 and c[1h] == 1',
        'a{b!="x-1"} > 14 * 86400 unless c[1h] != 1',
        'a{b!="x-1"} > 14 * 86400 unless c[1h] == 2',
    ]
    assert [after for _, after in changed_expressions("a > 0.5")] == [
        "a <= 0.5",
        "a > 1",
        "a > 0.25",
    ]
    assert [after for _, after in changed_expressions("a < 0")] == ["a >= 0"]


def test_half_of_a_hold_time() -> None:
    assert [half(text) for text in ("10m", "1h", "1d", "15m")] == ["5m", "30m", "12h", "7m30s"]


def test_what_takes_a_recorded_series_is_asked_too() -> None:
    found = dependents("database:ese_finding:last15m")

    assert "EseDefragRatioDrift" in found
    assert "EseKnownBadPage" not in found
    assert dependents("EseKnownBadPage") == {"EseKnownBadPage"}


@pytest.mark.parametrize("mutant", SAMPLE, ids=str)
def test_a_broken_rule_of_the_sample_is_noticed(mutant: Mutant, verdicts: Verdicts) -> None:
    assert verdicts.of(mutant) is not False


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("mutant", LONGER, ids=str)
def test_a_broken_rule_is_noticed(mutant: Mutant, verdicts: Verdicts) -> None:
    assert verdicts.of(mutant) is not False
