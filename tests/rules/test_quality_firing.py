"""When an alert fires by our reckoning is when it fires by promtool's."""

import random
import subprocess
from collections.abc import Callable, Collection
from pathlib import Path

import pytest
import yaml

from tests.rules.quality.firing import Firing, firing
from tests.support.patience import PATIENCE
from tests.support.tools import require

STEP = 300
LENGTH = 40
SERIES = 12
HOLDS = (0, 300, 900, 2100)
KEEPS = (0, 300, 900)

Reckoning = Callable[[Collection[float], Collection[float], float, float], list[Firing]]


def values(chance: random.Random) -> list[int]:
    """Runs of 0 and 1."""
    found: list[int] = []
    while len(found) < LENGTH:
        found += [chance.randint(0, 1)] * chance.choice((1, 1, 2, 3, 4, 8))
    return found[:LENGTH]


def name(hold: int, keep: int) -> str:
    return f"Fires{hold}Kept{keep}"


def promtool(folder: Path, seed: int, reckon: Reckoning) -> subprocess.CompletedProcess[str]:
    """What promtool says of the reckoning on random series."""
    chance = random.Random(seed)
    series = {f"s{number}": values(chance) for number in range(SERIES)}
    times = [STEP * at for at in range(LENGTH)]
    kinds = [(hold, keep) for hold in HOLDS for keep in KEEPS]
    rules = [
        {
            "alert": name(hold, keep),
            "expr": "x > 0",
            "for": f"{hold}s",
            "keep_firing_for": f"{keep}s",
        }
        for hold, keep in kinds
    ]
    expected = {}
    for hold, keep in kinds:
        for label, line in series.items():
            present = {time for time, value in zip(times, line, strict=True) if value}
            expected[hold, keep, label] = reckon(present, times, hold, keep)
    cases = [
        {
            "eval_time": f"{time}s",
            "alertname": name(hold, keep),
            "exp_alerts": [
                {"exp_labels": {"name": label}}
                for label in series
                if any(one.start <= time <= one.end for one in expected[hold, keep, label])
            ],
        }
        for hold, keep in kinds
        for time in times
    ]
    given = [
        {"series": f'x{{name="{label}"}}', "values": " ".join(map(str, line))}
        for label, line in series.items()
    ]
    test = {"interval": f"{STEP}s", "input_series": given, "alert_rule_test": cases}
    (folder / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": rules}]}))
    (folder / "test.yml").write_text(
        yaml.safe_dump(
            {"rule_files": ["rules.yml"], "evaluation_interval": f"{STEP}s", "tests": [test]}
        )
    )
    return subprocess.run(
        [require("promtool"), "test", "rules", str(folder / "test.yml")],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


@pytest.mark.parametrize("seed", range(4))
def test_an_alert_fires_when_promtool_says_so(tmp_path: Path, seed: int) -> None:
    done = promtool(tmp_path, seed, firing)

    assert done.returncode == 0, done.stdout + done.stderr


def without_hold(
    present: Collection[float], times: Collection[float], hold: float, keep: float
) -> list[Firing]:
    return firing(present, times, 0.0, keep)


def a_step_later(
    present: Collection[float], times: Collection[float], hold: float, keep: float
) -> list[Firing]:
    return firing(present, times, hold + STEP if hold else 0.0, keep)


def without_keep(
    present: Collection[float], times: Collection[float], hold: float, keep: float
) -> list[Firing]:
    return firing(present, times, hold, 0.0)


def kept_a_step_longer(
    present: Collection[float], times: Collection[float], hold: float, keep: float
) -> list[Firing]:
    return firing(present, times, hold, keep + STEP if keep else 0.0)


@pytest.mark.parametrize(
    "wrong",
    [without_hold, a_step_later, without_keep, kept_a_step_longer],
    ids=lambda f: f.__name__,
)
def test_promtool_notices_a_wrong_reckoning(tmp_path: Path, wrong: Reckoning) -> None:
    done = promtool(tmp_path, 0, wrong)

    assert done.returncode == 1
    assert "FAILED" in done.stdout + done.stderr


def test_the_reckoning_is_that_of_the_documented_example() -> None:
    times = range(0, 60, 10)

    assert firing({10, 20, 30, 50}, times, 10, 0) == [Firing(20, 30)]
    assert firing({10, 20, 30, 50}, times, 10, 20) == [Firing(20, 50)]
    assert firing(set(), times, 0, 0) == []
