"""The formulas of docs/advice.md are those of the program: worked out by hand beside it."""

import json
import math
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from esewatch.advice.findings import maintenance
from esewatch.advice.forecast import forecast, window_usage
from esewatch.advice.forecast.forecast import PredictionInterval
from esewatch.advice.history import ledger, passes
from esewatch.advice.window import evidence, window
from esewatch.cli import main
from esewatch.config import Policy
from esewatch.fold.state.rollups import day_start
from tests.support.farm import build

pytestmark = pytest.mark.lint
PAGE = Path(__file__).resolve().parents[1] / "docs" / "advice.md"
QUARTER = 900
CONFIGURATION = (
    'windows: {nightly: {start: "01:00", duration: 4h}}\n'
    'databases: [{match: "*priv*.edb", window: nightly}]\n'
)


def formulas() -> str:
    """The section of the page, on one line."""
    found = re.search(r"^## Formulas\n(.*?)^## ", PAGE.read_text("utf-8"), re.M | re.S)
    assert found is not None
    return " ".join(found[1].split())


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the logs of the farm."""
    folder = tmp_path_factory.mktemp("farm")
    build(folder / "logs", datetime(2007, 6, 21, 12, tzinfo=UTC))
    return folder


def advised(farm: Path, capsys: pytest.CaptureFixture[str], policy: str = "") -> dict[str, Any]:
    """What `advise --format json` says of the farm, by instance."""
    config = farm / "esewatch.yml"
    config.write_text(CONFIGURATION + policy)
    main(["advise", "--format", "json", "--config.file", str(config), str(farm / "logs")])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {row["ese_instance"]: row for row in rows}


@pytest.mark.parametrize(
    "sentence",
    [
        f"two sums over {evidence.PERIOD_DAYS} days",
        "Days begin at noon UTC" * (day_start(0) % 86400 == 43200),
        f"a whole pass, or {evidence.LEAST_DAYS:g} days",
        "a tenth of the database" * (evidence.SHARE_OF_PAGES == 0.1),
        f"counters for {100 * evidence.LEAST_COVERAGE:g} % of the time",
        "rounded down to a quarter of an hour" * (window.STEP == QUARTER),
        f"`{window.OTHER_TASKS / 60:g} min + 2 x scan`",
        "The least is an hour" * (window.LEAST == 3600),
        f"no more than twice the length nor {window.LONGEST / 3600:g} hours",
        f"`days / {2 * evidence.LEAST_DAYS:g}`",
        f"the latest {passes.LATEST_PASSES} whole passes",
        f"the latest {window_usage.LATEST_NIGHTS} nights",
        f"In {forecast.AHEAD} days it is so much more",
        f"{forecast.CASES} passes are played through",
    ],
)
def test_the_figures_of_the_formulas_are_those_of_the_program(sentence: str) -> None:
    assert sentence
    assert sentence in formulas()


def test_the_deadline_of_verification_has_the_figures_that_the_page_says() -> None:
    text = " ".join(PAGE.read_text("utf-8").split())
    most = ledger.MOST_DEADLINE / 86400
    pace = ledger.BACKGROUND_BYTES_PER_SECOND / 1e6

    assert f"else the longest of these, and at most `verify_within_most`, {most:g} days" in text
    assert f"- {ledger.LEAST_DEADLINE / 86400:g} days, or until the next end of a window" in text
    assert f"- {ledger.SLACK:g} times the median time from one completion of its scan" in text
    assert f"{ledger.SLACK:g} times as long as it takes at {pace:g} MB/s" in text


def test_a_scan_stands_still_after_the_hours_that_the_page_says() -> None:
    text = " ".join(PAGE.read_text("utf-8").split())
    hours = f"{maintenance.STANDSTILL / 3600:g} hours"

    assert f"`until - since` is {hours} or more" in text


def test_the_lengths_of_the_example_follow_from_ratio_and_factor(
    farm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    advice, policy = advised(farm, capsys), Policy()
    ratios = {}
    for name in ("SG06", "SG07"):
        found = advice[name]["evidence"]
        ratios[name] = found["pages_read"] / found["pages_freed"]
    down = 4 * policy.ratio_high / ratios["SG06"]
    up = 4 * policy.ratio_low / ratios["SG07"]

    assert advice["SG06"]["recommended_seconds"] == math.floor(down * 4) * QUARTER == 9900
    assert advice["SG07"]["recommended_seconds"] == math.ceil(up * 4) * QUARTER == 23400
    shown = f"4 h x 100 / {ratios['SG06']:.1f} = {down:.1f} h: 2 h 45 min"
    assert shown in formulas()
    shown = f"4 h x 50 / {ratios['SG07']:.1f} = {up:.2f} h: 6 h 30 min"
    assert shown in formulas()


def test_confidence_is_depth_by_cover_by_agreement(
    farm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    advice = advised(farm, capsys, "policy: {min_windows: 20}\n")["SG06"]
    found = advice["evidence"]
    depth = min(found["windows"] / (2 * 20), found["passes"] / 2)

    assert depth < 1
    assert advice["confidence"] == round(depth * found["counter_coverage"] * 7 / 7, 2)


def test_the_next_value_lies_in_each_gap_with_the_same_chance() -> None:
    spread = PredictionInterval([100.0, 200.0, 400.0])

    quarters = [spread.quantile(share) for share in (0.25, 0.5, 0.75)]

    assert quarters == pytest.approx([100.0, 200.0, 400.0], rel=0.02)
    assert spread.beyond(200.0, 0.5) == pytest.approx(400.0, rel=0.02)
