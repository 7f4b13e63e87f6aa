"""The product against the second reading of semantics.md, on hard histories."""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from esewatch.cli import main
from tests.oracle.aftermath import HAPPENINGS, Happening, is_exported, with_one
from tests.oracle.compare import Difference, differences, of_seed
from tests.oracle.files import json_line, write_json
from tests.oracle.generate import before_aftermath, history
from tests.oracle.history import DAY, Acknowledged, Answers, History, Logged, Scanned
from tests.oracle.identity import is_nameless_snapshot
from tests.oracle.product import settings_of, told
from tests.oracle.reading import read
from tests.support import in_process
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
    other = strangers(seed + 1)
    before = product(made, tmp_path)
    after = product(made._replace(records=(*made.records, *other)), tmp_path)
    assert differences(before, {key: each for key, each in after.items() if key[0] != "far"}) == []


def strangers(seed: int) -> list[Logged]:
    """What another server logged, of databases that are no copies of those of other histories."""
    return [
        each._replace(computer="FAR.other.example")
        for each in logged(history(seed))
        if "MDB" not in "".join(each.strings) and "DB0" not in "".join(each.strings)
    ]


WORSE_THAN_BLIND = {"bad_pages", "writes_at_risk", "blind"}
LONGEST_PATIENCE = 14 * DAY


@by_part
def test_what_is_cut_off_is_never_better_than_blind(seeds: range, tmp_path: Path) -> None:
    check_each(seeds, check_that_what_is_cut_off_is_never_better_than_blind, tmp_path)


def check_that_what_is_cut_off_is_never_better_than_blind(seed: int, tmp_path: Path) -> None:
    made = only(history(seed), Logged)._replace(complete_channels=False)
    settings = {key: each for key, each in made.configuration.items() if key != "policy"}
    end = made.now - LONGEST_PATIENCE - 60
    kept = tuple(each for each in logged(made) if each.time < end and each.event_id != 1074)
    after = product(made._replace(records=kept, configuration=settings), tmp_path)
    for key, answer in after.items():
        if answer.tier == "watched" and not is_nameless_snapshot(key[1]):
            assert answer.verdict in WORSE_THAN_BLIND, key


@by_part
def test_records_of_other_programs_change_no_fact(seeds: range, tmp_path: Path) -> None:
    check_each(seeds, check_that_records_of_other_programs_change_no_fact, tmp_path)


def check_that_records_of_other_programs_change_no_fact(seed: int, tmp_path: Path) -> None:
    made = history(seed)
    rng = random.Random(seed)
    others = tuple(
        each._replace(
            time=min(each.time + rng.uniform(0, 5 * DAY), made.now),
            provider="Service Control Manager",
            event_id=7036,
            record_id=None,
            strings=(),
        )
        for each in rng.sample(logged(made), len(logged(made)) // 3)
    )
    before = product(made, tmp_path)
    after = product(made._replace(records=(*made.records, *others)), tmp_path)
    facts = ("known_bad", "damage", "verified", "totals", "role", "model", "tier")
    assert before.keys() == after.keys()
    for key, answer in before.items():
        for fact in facts:
            assert getattr(after[key], fact) == getattr(answer, fact), (key, fact)


def by_command(of: History, folder: Path, rng: random.Random) -> dict[tuple[str, str], Any]:
    """`esewatch advise --format json` of its events in files of random size and order."""
    lines = [json_line(each) for each in logged(of) if not each.file]
    rng.shuffle(lines)
    size = max(1, len(lines) // rng.randint(1, 5))
    parts = [lines[start : start + size] for start in range(0, len(lines), size)]
    for file in {each.file for each in logged(of)} - {0}:
        parts.append([json_line(each) for each in logged(of) if each.file == file])
    paths = []
    for number, part in enumerate(parts):
        path = folder / f"part-{number:05}.jsonl"
        path.write_text("\n".join(part) + "\n")
        paths.append(str(path))
    rng.shuffle(paths)
    return advised(of, folder, paths)


def advised(of: History, folder: Path, paths: Iterable[str]) -> dict[tuple[str, str], Any]:
    """What `esewatch advise --format json` says of the databases in these files."""
    settings_of(of, folder)
    config = ("--config.file", str(folder / "esewatch.yml"))
    said = in_process.run(main, "advise", "--format", "json", *config, *paths)
    told_of = [json.loads(line) for line in said.out.splitlines()]
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(range(5500, 6500), 50))
def test_files_that_share_no_computer_change_only_ages_and_forecasts(
    seed: int, tmp_path: Path
) -> None:
    made = history(seed)
    apart = random.Random(seed).uniform(-90, 90) * DAY
    other = [each._replace(time=each.time + apart) for each in strangers(seed + 1)]
    mine = str(write_json(tmp_path / "mine.jsonl", logged(made)))
    theirs = str(write_json(tmp_path / "theirs.jsonl", other))
    alone, both = advised(made, tmp_path, [mine]), advised(made, tmp_path, [mine, theirs])
    assert {key for key in both if key[0] != "far"} == alone.keys()
    for key, each in alone.items():
        changed = {name for name in {*each, *both[key]} if each.get(name) != both[key].get(name)}
        assert changed <= {"forecast", "as_of"}, key


def test_failovers_are_part_of_the_histories_and_end_passes() -> None:
    changed = 0
    for seed in range(60):
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
    assert changed >= 3


@pytest.mark.parametrize(
    "happening",
    [each for each in dict.fromkeys(HAPPENINGS) if each is not is_exported],
    ids=lambda each: each.__name__,
)
def test_what_befalls_a_log_changes_what_is_said(happening: Happening) -> None:
    def changes(seed: int) -> bool:
        made, world = before_aftermath(seed)
        return read(with_one(made, seed, world.logs, world.groups, happening)) != read(made)

    assert any(map(changes, range(60)))


def test_two_exports_say_what_the_log_said() -> None:
    exported = 0
    for seed in range(25):
        made, world = before_aftermath(seed)
        before = read(made)
        after = with_one(made, seed, world.logs, world.groups, is_exported)
        exported += any(each.file for each in logged(after))
        assert {(each.time, each.strings) for each in logged(after)} == {
            (each.time, each.strings) for each in logged(made)
        }
        for key, answer in read(after).items():
            assert answer.totals == before[key].totals
    assert exported >= 5


def test_an_acknowledgement_is_part_of_the_histories() -> None:
    made = [history(seed) for seed in range(200)]
    kinds = {type(each) for each in [record for one in made for record in one.records]}
    assert kinds == {Logged, Scanned, Acknowledged}
