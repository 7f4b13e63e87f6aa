"""Damaged logs end in a line for each piece and in advice, never in a traceback or a NaN."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.advice.inputs import Case, read_json, told, write, write_counters, write_evtx

Damage = Callable[[bytes, random.Random], bytes]
ODD = ("NaN", "-Infinity", "1e308", "-1e308", "1e400", "-1", "99999999999999999999", "0x10", "")
NUMBER = re.compile(rb'(?<=["/ :,])\d[\d.]*(?=["/ :,])')
NOT_A_NUMBER = re.compile(r"\b(nan|inf|infinity)\b", re.IGNORECASE)


def cut_off(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def holed(data: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(len(data))
    return data[:begin] + data[begin + chance.randrange(1, len(data) // 4) :]


def flipped(data: bytes, chance: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(chance.choice((1, 20, 2000))):
        found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
    return bytes(found)


def zeroed(data: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(len(data))
    length = min(chance.randrange(1, 65536), len(data) - begin)
    return data[:begin] + bytes(length) + data[begin + length :]


def shuffled(data: bytes, chance: random.Random) -> bytes:
    head, *lines = data.splitlines(keepends=True)
    chance.shuffle(lines)
    return head + b"".join(lines)


def repeated(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(line * chance.choice((1, 1, 1, 3)) for line in lines)


def odd_numbers(data: bytes, chance: random.Random) -> bytes:
    """Some of the numbers, those of times, dates and ids among them, are none or huge."""
    share = chance.choice((0.0005, 0.02, 0.5))

    def odd(found: re.Match[bytes]) -> bytes:
        return chance.choice(ODD).encode() if chance.random() < share else found[0]

    return NUMBER.sub(odd, data)


def years_apart(data: bytes, chance: random.Random) -> bytes:
    years = (b"1601", b"1970", b"2038", b"9999", b"0001", b"2007")

    def other(found: re.Match[bytes]) -> bytes:
        return chance.choice(years) if chance.random() < 0.02 else found[0]

    return re.sub(rb"2007", other, data)


DAMAGES: tuple[Damage, ...] = (
    cut_off,
    holed,
    flipped,
    zeroed,
    shuffled,
    repeated,
    odd_numbers,
    years_apart,
)


def write_damaged(case: Case, folder: Path, damage: Damage, chance: random.Random) -> list[str]:
    """One or both of the logs damaged, the events as text or as Windows keeps them."""
    if chance.random() < 0.3:
        write_evtx(folder / "log.evtx", case.logs.events)
        write_counters(folder / "counters.csv", case.logs)
    else:
        write(folder, case.logs)
    files = sorted(path for path in folder.iterdir() if path.is_file())
    for path in chance.sample(files, chance.randint(1, len(files))):
        path.write_bytes(damage(path.read_bytes(), chance))
    return [str(path) for path in files]


def check_told(case: Case, files: list[str]) -> None:
    """Each way to say it ends well, in lines, and says no number that is none."""
    shapes = (("--format", "json"), ("--format", "json", "--explain"), (), ("--explain",))
    for shape in shapes:
        found = told(case.configuration, files, *(shape or ("--format", "text")))
        assert found.status in (0, 1, 2)
        assert "Traceback" not in found.error
        if "json" in shape:
            for line in found.out.splitlines():
                check_object(read_json(line))
        else:
            assert not NOT_A_NUMBER.search(found.out)


def check_object(advice: dict[str, object]) -> None:
    """What every object keeps to, whatever was read."""
    assert not NOT_A_NUMBER.search(json.dumps(advice))
    assert advice["action"] in {
        "shrink", "keep", "grow", "move", "insufficient_evidence", "not_applicable",
    }  # fmt: skip
    confidence = advice["confidence"]
    assert isinstance(confidence, int | float) and 0 <= confidence <= 1
    evidence = advice.get("evidence", {})
    assert isinstance(evidence, dict)
    assert all(value >= 0 for value in evidence.values())
    assert evidence.get("counter_coverage", 0) <= 1
    recommended = advice.get("recommended_seconds")
    if recommended is not None:
        configured = advice["configured_seconds"]
        assert isinstance(configured, int | float) and isinstance(recommended, int | float)
        assert configured / 2 <= recommended <= 2 * configured


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3, 4))])
def test_no_damage_ends_in_a_traceback_or_a_number_that_is_none(
    cases: dict[str, Case], tmp_path: Path, damage: Damage, seed: int
) -> None:
    chance = random.Random(f"{seed} {damage.__name__}")
    case = cases["insufficient_evidence" if seed == 1 else chance.choice(list(cases))]

    check_told(case, write_damaged(case, tmp_path, damage, chance))


@pytest.mark.parametrize("value", ODD)
def test_odd_values_in_the_ratio_do_not_spread(
    cases: dict[str, Case], tmp_path: Path, value: str
) -> None:
    """One sample in twenty of each counter is no amount that any disk reads."""
    case = cases["grow"]
    rows = [
        row._replace(cells=(value, value, value)) if place % 20 == 0 else row
        for place, row in enumerate(case.logs.rows)
    ]
    found = told(case.configuration, write(tmp_path, case.logs._replace(rows=rows)))

    check_object(found.advice)
    assert "Traceback" not in found.error


@pytest.mark.parametrize("value", ["1e10", "1e300"])
@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("action", ["shrink", "grow"])
def test_one_impossible_sample_does_not_turn_the_advice(
    cases: dict[str, Case], tmp_path: Path, action: str, column: int, value: str
) -> None:
    """A rate that no disk has: its day is left out."""
    case = cases[action]
    rows = list(case.logs.rows)
    place = next(n for n, row in enumerate(rows) if row.time > case.days_ago(10.4))
    cells = list(rows[place].cells)
    cells[column] = value
    rows[place] = rows[place]._replace(cells=tuple(cells))
    advice = told(case.configuration, write(tmp_path, case.logs._replace(rows=rows))).advice

    assert advice["action"] == action
    assert advice["evidence"]["ratio"] == pytest.approx(case.ratio(case.logs), rel=0.1)
