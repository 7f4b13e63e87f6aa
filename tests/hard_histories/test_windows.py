"""Windows: what is advised where maintenance has hours of its own, and to whom."""

import csv
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from tests.hard_histories import Said, judged, judged_files, numbered, old_store
from tests.oracle.history import DAY, HOUR, Logged

STORE = old_store()
ALERTS = Path(__file__).parents[2] / "alerts"


class Nights(NamedTuple):
    """Nights of a store: its events, and when online defragmentation ran."""

    first: float
    events: list[Logged]
    runs: list[tuple[float, float]]


def nights(
    begin: Callable[[int], float], count: int, *, backup: bool = False, every: int = 5
) -> Nights:
    """A night of 4 hours each day; with a backup that stops it after two, else a pass in five, or
    `every` so many."""
    events: list[Logged] = []
    runs = []
    start = begin(0)
    for night in range(count):
        opening = begin(night)
        closing = opening + (2 if backup else 4) * HOUR
        fresh = start == opening
        events.append(STORE.defrag_start(opening) if fresh else STORE.defrag_resume(opening, start))
        if backup:
            events += [
                STORE.log(closing - 1, 210),
                STORE.defrag_stop(closing),
                STORE.log(closing + 1, 220, STORE.database, "40000 Mb"),
                STORE.log(closing + 3 * HOUR, 221, STORE.database),
                STORE.log(closing + 3 * HOUR + 1, 213),
            ]
        elif night % every == every - 1:
            events.append(STORE.defrag_end(closing, start, resumed=True))
            start = begin(night + 1)
        else:
            events.append(STORE.defrag_stop(closing))
        runs.append((opening, closing))
    return Nights(begin(0), events, runs)


def counters(
    path: Path, seen: Nights, rates: tuple[float, float] = (150, 2), without: Sequence[int] = ()
) -> Path:
    """Samples of a counter log, each half hour: 75 pages read for each one freed. Freed ones are
    not sampled in the days `without`."""
    which = r"\\EX01\MSExchange Database ==> Instances(Information Store/SG01)\Online Defrag "
    lines = [f'"(PDH-CSV 4.0) (UTC)(0)","{which}Pages Read/sec","{which}Pages Freed/sec"']
    step = HOUR / 2
    busy = {
        opening + turn * step
        for opening, closing in seen.runs
        for turn in range(1, int((closing - opening) / step) + 1)
    }
    samples = int((seen.runs[-1][1] - seen.first) / step) + 4
    for time in (seen.first + (turn - 2) * step for turn in range(samples)):
        stamp = datetime.fromtimestamp(time, UTC).strftime("%m/%d/%Y %H:%M:%S.000")
        read, freed = (rate * (time in busy) for rate in rates)
        lost = (time - seen.first) // DAY in without
        lines.append(f'"{stamp}","{read}","{" " if lost else freed}"')
    path.write_text("\r\n".join(lines) + "\r\n")
    return path


def advised(
    folder: Path,
    seen: Nights,
    zone: str = "UTC",
    rates: tuple[float, float] = (150, 2),
    without: Sequence[int] = (),
) -> Said:
    """What is advised to a store whose window is from 1 to 5 o'clock."""
    configuration = (
        f'windows: {{nightly: {{start: "01:00", duration: 4h, timezone: {zone}}}}}\n'
        'databases: [{match: "*priv01.edb", window: nightly}]\n'
    )
    file = counters(folder / "counters.csv", seen, rates, without)
    return judged(folder, numbered(seen.events), configuration, [file]).of(STORE)


def test_a_backup_that_stops_defragmentation_each_night_calls_for_another_time(
    tmp_path: Path,
) -> None:
    first = datetime(2024, 1, 15, 1, tzinfo=UTC).timestamp()
    said = advised(tmp_path, nights(lambda night: first + night * DAY, 32, backup=True))
    assert (said.model, said.action) == ("window", "move")


def test_evidence_of_hours_that_lie_in_the_window_remains_when_the_clock_has_changed(
    tmp_path: Path,
) -> None:
    first = datetime(2024, 3, 14, tzinfo=UTC).timestamp()
    seen = nights(lambda night: first + night * DAY, 40)
    said = advised(tmp_path, seen, "Europe/Berlin")
    assert (said.model, said.action) == ("window", "keep")
    assert said.windows >= 27


def test_defragmentation_that_follows_the_clock_keeps_its_evidence(tmp_path: Path) -> None:
    first = datetime(2024, 3, 14, tzinfo=UTC).timestamp()
    change = datetime(2024, 3, 31, 1, tzinfo=UTC).timestamp()

    def begin(night: int) -> float:
        opening = first + night * DAY
        return opening - HOUR * (opening > change)

    said = advised(tmp_path, nights(begin, 40), "Europe/Berlin")
    assert (said.model, said.action) == ("window", "keep")
    assert said.windows >= 27


@pytest.mark.parametrize(
    ("without", "action"),
    [((), "keep"), ((20, 21), "keep"), ((18, 19, 20, 21), "insufficient_evidence")],
)
def test_what_was_read_while_freeing_was_not_sampled_makes_no_ratio_higher(
    tmp_path: Path, without: Sequence[int], action: str
) -> None:
    first = datetime(2024, 1, 15, 1, tzinfo=UTC).timestamp()
    seen = nights(lambda night: first + night * DAY, 32)
    said = advised(tmp_path, seen, rates=(950, 10), without=without)
    assert said.action == action
    assert said.ratio == pytest.approx(95.0)


def without_column(folder: Path, left_out: str) -> Said:
    """What is advised with the same logs, but for a column of the counters."""
    rows = list(csv.reader((folder / "counters.csv").read_text().splitlines()))
    kept = [place for place, name in enumerate(rows[0]) if left_out not in name]
    with (folder / "one.csv").open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(
            [row[place] for place in kept] for row in rows
        )
    files = [folder / "events.jsonl", folder / "one.csv"]
    return judged_files(folder, files, (folder / "esewatch.yml").read_text()).of(STORE)


COLUMNS = ("Pages Read", "Pages Freed")


@pytest.mark.parametrize("left_out", COLUMNS)
@pytest.mark.parametrize(("rates", "every"), [((150, 2), 5), ((80, 2), 2)])
def test_a_counter_that_is_left_out_makes_of_keep_at_most_too_little_evidence(
    tmp_path: Path, rates: tuple[float, float], every: int, left_out: str
) -> None:
    first = datetime(2024, 1, 15, 1, tzinfo=UTC).timestamp()
    seen = nights(lambda night: first + night * DAY, 32, every=every)
    assert advised(tmp_path, seen, rates=rates).action == "keep"
    assert without_column(tmp_path, left_out).action == "insufficient_evidence"


@pytest.mark.parametrize("seed", range(8))
def test_so_it_does_whatever_the_nights_are_like(tmp_path: Path, seed: int) -> None:
    dice = Random(seed)
    first = datetime(2024, 1, 15, 1, tzinfo=UTC).timestamp()
    count, every = dice.randint(16, 44), dice.randint(1, 7)
    seen = nights(lambda night: first + night * DAY, count, every=every, backup=dice.random() < 0.2)
    rates = (dice.uniform(60, 900), dice.choice([0, 0.01, 0.5, 2, 10]))
    days = dice.sample(range(count), dice.choice([0, 0, 1, 3]))
    whole = advised(tmp_path, seen, rates=rates, without=days).action
    allowed = {whole, "insufficient_evidence"} | (
        {"keep"} if whole != "insufficient_evidence" else set()
    )
    assert {without_column(tmp_path, each).action for each in COLUMNS} <= allowed
