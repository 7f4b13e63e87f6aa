"""The product against the second reading of semantics.md, on hard histories."""

import contextlib
import io
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from esewatch.cli import main
from tests.oracle.compare import Difference, differences, of_seed
from tests.oracle.files import json_line
from tests.oracle.generate import history
from tests.oracle.history import Acknowledged, Answers, History, Logged, Scanned
from tests.oracle.product import settings_of, told
from tests.oracle.reading import read
from tests.support.campaign import some
from tests.support.each import check_each

SEEDS = 1000
EACH_RUN = 80
PART = 20
MANY = 100_000


@pytest.mark.parametrize(
    "first",
    [
        first if first < EACH_RUN else pytest.param(first, marks=pytest.mark.slow)
        for first in range(0, SEEDS, PART)
    ],
)
def test_product_and_second_reading_agree(first: int, tmp_path: Path) -> None:
    assert differing(range(first, first + PART), tmp_path) == {}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SEEDS, MANY, 2000))
def test_they_agree_on_many_more(first: int, tmp_path: Path) -> None:
    assert differing(some(range(first, first + 2000), 40), tmp_path) == {}


def differing(seeds: Iterable[int], folder: Path) -> dict[int, list[Difference]]:
    """The differences of these seeds, by seed."""
    found = {seed: of_seed(seed, folder)[1] for seed in seeds}
    return {seed: each for seed, each in found.items() if each}


def logged(of: History) -> list[Logged]:
    """Its events."""
    return [each for each in of.records if isinstance(each, Logged)]


def only(of: History, *kinds: type) -> History:
    """The history without other records than these."""
    return of._replace(records=tuple(each for each in of.records if isinstance(each, kinds)))


def product(of: History, folder: Path) -> Answers:
    """The product's answers."""
    return told(of, settings_of(of, folder))


LAW_SEEDS = range(3000, 3120)
EACH_RUN_OF_A_LAW = 15

by_part = pytest.mark.parametrize(
    "seeds",
    [
        LAW_SEEDS[:EACH_RUN_OF_A_LAW],
        pytest.param(LAW_SEEDS[EACH_RUN_OF_A_LAW:], marks=pytest.mark.slow),
    ],
    ids=["first", "others"],
)


@by_part
def test_another_resume_makes_no_copy_healthier(seeds: range, tmp_path: Path) -> None:
    check_each(seeds, check_that_another_resume_makes_no_copy_healthier, tmp_path)


def check_that_another_resume_makes_no_copy_healthier(seed: int, tmp_path: Path) -> None:
    made = only(history(seed), Logged, Scanned)
    resumes = [each for each in logged(made) if each.event_id in {702, 719, 720, 738}]
    if not resumes:
        return
    rng = random.Random(seed)
    resume = rng.choice(resumes)
    later = resume._replace(time=resume.time + rng.uniform(60, 86400), record_id=None)
    before = product(made, tmp_path)
    after = product(made._replace(records=(*made.records, later)), tmp_path)
    for key, answer in before.items():
        assert after[key].known_bad >= answer.known_bad
        assert all(after[key].verified.get(by, 0.0) <= time for by, time in answer.verified.items())
        assert after[key].verified.keys() <= answer.verified.keys()


@by_part
def test_less_damage_makes_no_copy_sicker(seeds: range, tmp_path: Path) -> None:
    check_each(seeds, check_that_less_damage_makes_no_copy_sicker, tmp_path)


def check_that_less_damage_makes_no_copy_sicker(seed: int, tmp_path: Path) -> None:
    made = only(history(seed), Logged, Scanned)
    errors = [
        each for each in logged(made) if each.event_id in {398, 474, 475, 476, 516, 530, 539, 542}
    ]
    if not errors:
        return
    gone = random.Random(seed).choice(errors)
    twins = [each for each in made.records if each == gone]
    rest = tuple(each for each in made.records if each not in twins)
    before, after = product(made, tmp_path), product(made._replace(records=rest), tmp_path)
    for key, answer in after.items():
        # A scan that counted the page may stand for it once nothing names it any more.
        named = {each for each in answer.known_bad if each[0] != -1}
        assert named <= before[key].known_bad
        assert answer.damage <= before[key].damage
        assert answer.verified.keys() >= before[key].verified.keys()


@by_part
def test_another_server_changes_nothing_here(seeds: range, tmp_path: Path) -> None:
    check_each(seeds, check_that_another_server_changes_nothing_here, tmp_path)


def check_that_another_server_changes_nothing_here(seed: int, tmp_path: Path) -> None:
    made = only(history(seed), Logged, Scanned)
    other = [
        each._replace(computer="FAR.other.example")
        for each in logged(only(history(seed + 1), Logged))
        if "MDB" not in "".join(each.strings) and "DB0" not in "".join(each.strings)
    ]
    before = product(made, tmp_path)
    after = product(made._replace(records=(*made.records, *other)), tmp_path)
    assert differences(before, {key: each for key, each in after.items() if key[0] != "far"}) == []


def by_command(of: History, folder: Path, rng: random.Random) -> dict[tuple[str, str], Any]:
    """`esewatch advise --format json` of its events in files of random size and order."""
    lines = [json_line(each) for each in logged(of)]
    rng.shuffle(lines)
    size = max(1, len(lines) // rng.randint(1, 5))
    paths = []
    for start in range(0, len(lines), size):
        path = folder / f"part-{start:05}.jsonl"
        path.write_text("\n".join(lines[start : start + size]) + "\n")
        paths.append(str(path))
    rng.shuffle(paths)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        settings_of(of, folder)
        main(["advise", "--format", "json", "--config.file", str(folder / "esewatch.yml"), *paths])
    told_of = [json.loads(line) for line in out.getvalue().splitlines()]
    return {(each["computer"], each["database"]): each for each in told_of if "database" in each}


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(range(5000, 5500), 100))
def test_the_command_says_the_same_of_shuffled_files(seed: int, tmp_path: Path) -> None:
    made = only(history(seed), Logged)._replace(complete_channels=False)
    wanted = read(made)
    got = by_command(made, tmp_path, random.Random(seed))
    assert {key for key, each in wanted.items() if each.tier == "watched"} <= {
        key for key, each in got.items() if each["tier"] == "watched"
    }
    for key, each in got.items():
        if key in wanted and wanted[key].tier == "watched":
            assert each["model"] == wanted[key].model
            assert each.get("verified", {}).keys() == wanted[key].verified.keys()


def test_failovers_are_part_of_the_histories_and_end_passes() -> None:
    changed = 0
    for seed in range(120):
        made = history(seed)
        silent = tuple(
            each
            for each in made.records
            if not isinstance(each, Logged) or each.event_id not in {117, 126, 308, 2093}
        )
        if len(silent) < len(made.records):
            before, after = read(made._replace(records=silent)), read(made)
            changed += any(
                before[key].verified != after[key].verified
                or before[key].totals != after[key].totals
                for key in before.keys() & after.keys()
            )
    assert changed >= 5


def test_an_acknowledgement_is_part_of_the_histories() -> None:
    made = [history(seed) for seed in range(200)]
    kinds = {type(each) for each in [record for one in made for record in one.records]}
    assert kinds == {Logged, Scanned, Acknowledged}
