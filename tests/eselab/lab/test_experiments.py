"""Each experiment in a form that takes seconds; all of them in full where time is no matter."""

import os
import re
from collections.abc import Callable
from itertools import repeat
from pathlib import Path

import msgspec
import pytest

from esefiles.scans.devices.topology import Topology
from esefiles.scans.plan import ScanTarget, plan
from eselab.lab import readings, real_files
from eselab.lab.bench import Bench, Run
from eselab.lab.experiments import (
    EXPERIMENTS,
    backup_buffered,
    checkdb_luns,
    checksum_parallel,
    old_ratio,
    run_all,
    scan_kindness,
    write_cache,
    zeroing,
)
from eselab.lab.experiments.checkdb_luns import PATH_RATE, Course
from eselab.lab.frame import ARTICLES, Findings, Result, ResultRow
from eselab.lab.output import objects
from tests.support.campaign import some

PAGES, SECONDS = 200, 1.0
"""Of the scans on one LUN and on two: few, so that all of it takes seconds."""
STREAMS = ("one stream", "each of two streams")


class Told:
    """A bench, and how often it was called."""

    def __init__(self, folder: Path, seed: int = 1) -> None:
        self.count = 0
        self.bench = Bench(folder, seed, self._tell)

    def _tell(self) -> None:
        self.count += 1


def row(findings: Findings, quantity: str, case: str) -> ResultRow:
    (found,) = [each for each in findings.rows if (each.quantity, each.case) == (quantity, case)]
    return found


def number(findings: Findings, quantity: str, case: str) -> float:
    ours = row(findings, quantity, case).ours
    assert isinstance(ours, float)
    return ours


def repeatable_bytes(result: Result) -> list[bytes]:
    """What the same seed must give again."""
    return [
        msgspec.json.encode(each, order="sorted") for each in objects(result) if each["repeatable"]
    ]


def test_each_experiment_asks_one_question_and_names_its_article() -> None:
    assert list(EXPERIMENTS) == [each.name for each in EXPERIMENTS.values()]
    for each in EXPERIMENTS.values():
        assert re.fullmatch(r"[A-Z][^.?!]*\?", each.question)
        assert each.article in ARTICLES
        assert all(sentence.endswith(".") for sentence in each.setup)


@pytest.mark.slow
def test_old_ratio_says_what_advise_says(tmp_path: Path) -> None:
    told = Told(tmp_path)
    findings = old_ratio.run(told.bench, pages=200, days=3.0)

    made = Run(tmp_path / "month").advice(old_ratio.configuration(200))
    advice = {each.ese_instance: each for each in made}
    assert told.count == EXPERIMENTS["old-ratio"].steps
    for churn in old_ratio.CHURNS:
        told_of = advice[churn.name]
        assert row(findings, "window", churn.name).ours == told_of.action
        ratio = row(findings, "pages read for each page freed", churn.name)
        assert ratio.ours == told_of.ratio
    assert row(findings, "703: invocations", "nightly").ours == 1.0


@pytest.fixture(scope="module")
def parallel(tmp_path_factory: pytest.TempPathFactory) -> tuple[Told, Findings]:
    """Scans on one LUN and on two, of seed 1, once."""
    told = Told(tmp_path_factory.mktemp("a"))
    return told, checksum_parallel.run(told.bench, pages=PAGES, seconds=SECONDS)


@pytest.mark.slow
def test_two_scans_on_one_lun_are_slower_and_on_two_are_not(
    parallel: tuple[Told, Findings],
) -> None:
    told, findings = parallel

    one = number(findings, "read", "one database")
    assert number(findings, "read", "two on one LUN, sum of both") < one
    each = number(findings, "pages read", "two on one LUN, each")
    assert each == pytest.approx(number(findings, "read", "two on one LUN, each") * 1e6 / 8192)
    assert number(findings, "read", "two on two LUNs, sum of both") > 1.5 * one
    latency = number(findings, "read latency", "one database")
    assert number(findings, "read latency", "two on one LUN, each") > latency > 0
    assert told.count == EXPERIMENTS["checksum-parallel"].steps
    assert [each.holds for each in findings.comparisons[3:]] == [True, True]
    # The second published row is read in both ways.
    total, alone = findings.comparisons[:2]
    assert total.published == alone.published == pytest.approx(250 / 67)
    assert isinstance(total.ours, float)
    assert isinstance(alone.ours, float)
    assert alone.ours > total.ours


@pytest.fixture(scope="module")
def kindness(tmp_path_factory: pytest.TempPathFactory) -> tuple[Told, Findings]:
    """Users beside each scan, once."""
    told = Told(tmp_path_factory.mktemp("kindness"))
    return told, scan_kindness.run(told.bench, seconds=1.0)


@pytest.mark.slow
def test_users_wait_for_eseutil_and_hardly_for_the_online_scan(
    kindness: tuple[Told, Findings],
) -> None:
    told, findings = kindness

    def waited(case: str) -> float:
        return number(findings, "users' read latency", case)

    alone = waited("alone")
    gentle = ["online scan", "online scan without pauses", "eseutil throttled"]
    assert all(0.8 * alone < waited(case) < 1.5 * alone for case in gentle)
    assert waited("eseutil") > 5 * alone
    assert number(findings, "users' reads", "eseutil") < number(findings, "users' reads", "alone")
    fast = number(findings, "verified", "eseutil")
    assert fast > number(findings, "verified", "online scan without pauses")
    assert told.count == EXPERIMENTS["scan-kindness"].steps


@pytest.mark.slow
def test_what_the_article_says_in_words_gets_no_figure(kindness: tuple[Told, Findings]) -> None:
    _, findings = kindness

    (kinder,) = findings.comparisons
    assert (kinder.published, kinder.ours, kinder.holds) == ("online scan", "online scan", True)
    assert all(each.published is None for each in findings.rows)


@pytest.mark.slow
def test_the_first_pass_of_zeroing_makes_more_logs_than_a_later_one(tmp_path: Path) -> None:
    told = Told(tmp_path)
    findings = zeroing.run(told.bench, pages=600, nights=3, seconds=1.0)

    first = number(findings, "logs", "first pass")
    assert first > number(findings, "logs", "later pass") >= 0
    zeroed = number(findings, "pages zeroed", "one database")
    assert number(findings, "written", "one database") == pytest.approx(zeroed * 8192 / 1e6)
    assert 0 < zeroed * 8192 / 1e6 <= 1.01 * number(findings, "read", "one database")
    both, each = (number(findings, "read", f"two, {of}") for of in ("sum of both", "each"))
    assert both == pytest.approx(2 * each)
    alone, beside = (number(findings, "read", case) for case in STREAMS)
    assert alone > beside > 0
    quick, slow = (number(findings, "read latency", case) for case in STREAMS)
    # Little's law: a stream has one request outstanding, of which not all are reads.
    assert alone * quick / 1e3 < checksum_parallel.READ / 1e6
    assert slow > quick
    unchanged = number(findings, "pages unchanged since the pass before", "later pass")
    assert 0 < unchanged < 100
    streamed = [each for each in findings.comparisons if each.what.endswith(": streams")]
    assert [each.ours for each in streamed] == pytest.approx(
        [alone / beside / 2, alone / beside, slow / quick]
    )
    assert told.count == EXPERIMENTS["zeroing"].steps


@pytest.mark.slow
def test_without_a_completed_pass_nothing_is_made_up(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 1, lambda: None)
    run = bench.engine("quiet", checksum_parallel.plan(["lun7"], 100), 30.0)
    nothing = checksum_parallel.Measured(readings.scans(run.events()), None)

    assert (nothing.pages, nothing.each) == (None, None)


def test_files_of_a_lane_are_read_one_behind_the_other() -> None:
    found = Course([[100_000_000, 300_000_000]], 100e6)

    assert [found.seconds, found.busy] == pytest.approx([4.0, 1.0])


def test_lanes_go_on_together_and_share_the_path_to_the_host() -> None:
    alone = Course([[100_000_000], [300_000_000]], 100e6)
    crowded = Course([[1_000_000_000]] * 8, PATH_RATE)

    assert [alone.seconds, alone.busy] == pytest.approx([3.0, 4 / 3])
    assert [crowded.seconds, crowded.busy] == pytest.approx([10.0, 8.0])


@pytest.mark.parametrize("by_device", [False, True])
def test_lanes_are_those_that_the_page_scan_plans(tmp_path: Path, by_device: bool) -> None:
    targets = [
        ScanTarget(
            path=f"e:\\mounted\\lun{number}\\data{number}.mdf",
            size=checkdb_luns.SIZE,
            device=f"lun{number}" if by_device else "e:",
        )
        for number in range(1, checkdb_luns.FILES + 1)
    ]
    # An empty root: what the machine at hand is made of has no part in it.
    planned = plan(targets, Topology(tmp_path, linux=False))

    sizes = [[target.size for target in lane.targets] for lane in planned]
    assert checkdb_luns.lanes(by_device=by_device) == sizes


@pytest.mark.slow
def test_by_letter_one_lun_is_busy_at_a_time_by_device_all_are(tmp_path: Path) -> None:
    told = Told(tmp_path)
    findings = checkdb_luns.run(told.bench, pages=400)

    assert number(findings, "LUNs busy", "planned by letter") == pytest.approx(1.0)
    assert number(findings, "LUNs busy", "planned by device") == pytest.approx(8.0)
    rate = number(findings, "read from a LUN", "alone") * 1e6
    hours = checkdb_luns.FILES * checkdb_luns.SIZE / rate / 3600
    assert number(findings, "time", "planned by letter") == pytest.approx(hours)
    assert told.count == EXPERIMENTS["checkdb-luns"].steps


@pytest.mark.slow
def test_without_a_write_cache_log_writes_wait_for_the_platter(tmp_path: Path) -> None:
    told = Told(tmp_path)
    findings = write_cache.run(told.bench, seconds=5.0, created=1 << 20)

    slow = number(findings, "log write", "write cache off")
    assert slow > 5 * number(findings, "log write", "write cache on")
    fast = number(findings, "requests", "write cache on")
    assert fast > number(findings, "requests", "write cache off")
    assert {each.kind for each in findings.comparisons} == {"modelled disk", "real files"}
    assert told.count == EXPERIMENTS["write-cache"].steps
    assert not (tmp_path / "written.bin").exists()


def test_what_o_dsync_cannot_do_here_is_told_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_files, "_O_DSYNC", 0)
    # The modelled runs have a test of their own.
    modelled = write_cache.Modelled(iops=1.0, seconds=1.0, latency=1.0)
    monkeypatch.setattr(write_cache, "_modelled", lambda *_: modelled)
    findings = write_cache.run(Bench(tmp_path, 1, lambda: None), created=1 << 20)

    real = [each for each in findings.comparisons if each.kind == "real files"]
    assert [(each.holds, each.why) for each in real] == [
        (None, "not run: there is no O_DSYNC here")
    ] * 2
    assert row(findings, "file created", "write-through (O_DSYNC)").ours is None


@pytest.mark.slow
def test_a_backup_past_the_cache_leaves_nothing_in_it(tmp_path: Path) -> None:
    told = Told(tmp_path)
    findings = backup_buffered.run(told.bench, total=64 << 20)

    assert told.count == EXPERIMENTS["backup-buffered"].steps
    assert {path.suffix for path in tmp_path.iterdir()} == {".json"}
    left = row(findings, "copies left in the page cache", "direct").ours
    assert left in {0.0, None}
    assert row(findings, "whole job", "buffered").published == pytest.approx(5.97, abs=0.01)
    assert row(findings, "Fourth set", "direct").published == pytest.approx(18.51, abs=0.01)
    assert number(findings, "whole job", "buffered") > 0
    *real, fall, whole = findings.comparisons
    assert {each.kind for each in real} == {"real files"}
    assert {fall.kind, whole.kind} == {"modelled disk"}
    assert whole.holds is True
    small = number(findings, "whole job", "buffered, modelled")
    assert number(findings, "whole job", "direct, modelled") > 2 * small
    # The memory is full after a part of the first set: the sets are alike from then on.
    first, last = (
        number(findings, f"{name} set", "buffered, modelled") for name in ("First", "Fourth")
    )
    assert first == pytest.approx(last, rel=0.1)
    assert fall.holds is False


def without_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modelled jobs, which have a test of their own, would take most of the time."""
    alike = backup_buffered.Job(sizes=[1] * 4, seconds=[1.0] * 4, left=None, victim=None)
    monkeypatch.setattr(backup_buffered, "_modelled", lambda *_: alike)


def test_without_o_direct_the_other_half_is_still_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_files, "_O_DIRECT", 0)
    without_models(monkeypatch)
    findings = backup_buffered.run(Bench(tmp_path, 1, lambda: None), total=64 << 20)

    assert [(each.holds, each.why) for each in findings.comparisons[:2]] == [
        (None, "not run: there is no O_DIRECT here")
    ] * 2
    assert number(findings, "whole job", "buffered") > 0
    assert row(findings, "whole job", "direct").ours is None


def backups_in_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, buffered: list[float], left: float | None
) -> Findings:
    """Past the cache a set takes 1 s; buffered jobs take so long for each. `left` of the victim."""
    seconds = {False: iter([each for each in buffered for _ in range(4)]), True: repeat(1.0)}

    def copied(source: Path, target: Path, *, direct: bool) -> float:
        target.write_bytes(b"")
        os.truncate(target, source.stat().st_size)
        return next(seconds[direct])

    without_models(monkeypatch)
    monkeypatch.setattr(real_files, "copy", copied)
    monkeypatch.setattr(real_files, "cached", lambda _: left)
    return backup_buffered.run(Bench(tmp_path, 1, lambda: None), total=64 << 20)


@pytest.mark.parametrize(
    ("buffered", "left", "holds"),
    [
        ([2.5] * 5, 0.3, True),
        ([1.1] * 5, 0.3, False),
        ([2.5, 2.5, 1.0, 2.5, 2.5], 0.3, None),
        ([2.5] * 5, 1.0, None),
        ([2.5] * 5, None, None),
    ],
)
def test_a_backup_that_had_room_in_the_cache_or_swings_decides_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    buffered: list[float],
    left: float | None,
    holds: bool | None,
) -> None:
    findings = backups_in_turns(tmp_path, monkeypatch, buffered, left)

    _, whole, *_ = findings.comparisons
    assert whole.holds is holds
    assert whole.ours == pytest.approx(buffered[0])
    assert whole.why.startswith("not decided: ") is (holds is None)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(
    tmp_path: Path, parallel: tuple[Told, Findings]
) -> None:
    def lines(findings: Findings) -> list[bytes]:
        experiment = EXPERIMENTS["checksum-parallel"]
        return repeatable_bytes(Result(experiment=experiment, findings=findings))

    def made(name: str, seed: int) -> Findings:
        return checksum_parallel.run(
            Bench(tmp_path / name, seed, lambda: None), pages=PAGES, seconds=SECONDS
        )

    first = lines(parallel[1])
    assert len(first) == 22
    assert lines(made("a much longer name of a folder", 1)) == first
    assert lines(made("c", 2)) != first


# Of a machine and of streams of requests; the long test below has all experiments.
SMALL: dict[str, Callable[[Bench], Findings]] = {
    "old-ratio": lambda bench: old_ratio.run(bench, pages=100, days=1.5),
    "scan-kindness": lambda bench: scan_kindness.run(bench, seconds=0.1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["old-ratio", "scan-kindness"])
def test_what_is_repeatable_comes_out_the_same_a_second_time(name: str, tmp_path: Path) -> None:
    def lines(folder: str) -> list[bytes]:
        findings = SMALL[name](Bench(tmp_path / folder, 3, lambda: None))
        return repeatable_bytes(Result(experiment=EXPERIMENTS[name], findings=findings))

    first = lines("a")
    assert any(b'"ours"' in line for line in first)
    assert lines("b") == first


@pytest.mark.minutes
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", some(list(EXPERIMENTS), 5))
def test_an_experiment_gives_the_same_bytes_twice(name: str, tmp_path: Path) -> None:
    told: list[str] = []
    chosen = EXPERIMENTS[name]
    (first,) = run_all([chosen], tmp_path / "a", 1, lambda each: told.append(each.name))
    (second,) = run_all([chosen], tmp_path / "b", 1, lambda _: None)

    assert repeatable_bytes(first) == repeatable_bytes(second)
    assert told == [name] * chosen.steps
