"""The page scan of the daemon, where it also judges whether a copy would mount."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sources.page_scans import Bench
from tests.support.logs import created, series, write_logs

DIRTY = {
    "state": 2,
    "required_first": 10,
    "required_last": 12,
    "committed_last": 12,
    "max_required_created": created(12),
}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, check="recovery")
    yield made
    made.close()


def test_a_copy_with_its_logs_is_restorable_as_of_its_content(bench: Bench) -> None:
    bench.database(pages=20, header=DIRTY)
    write_logs(bench.snap, series(range(9, 13)))

    (checked,) = bench.scanned()

    assert checked.verdict == "replay_needed"
    verdict = bench.known().copy_verdict
    assert verdict is not None
    assert (verdict.time, verdict.is_restorable()) == (checked.time, True)
    assert bench.known().restorable_last == checked.time


def test_a_copy_without_a_log_is_not_and_says_which(bench: Bench) -> None:
    bench.database(pages=20, header=DIRTY)
    write_logs(bench.snap, series(range(9, 13)))[11].unlink()

    (checked,) = bench.scanned()

    assert checked.verdict == "not_restorable"
    assert "log 11 is missing" in checked.verdict_reason
    assert bench.known().verified == {"page_scan": checked.time}, "its pages are good"
    assert bench.known().restorable_last == 0


def test_what_was_not_asked_is_not_judged(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.database(pages=20, header=DIRTY)
    (checked,) = bench.scanned()
    bench.close()

    assert (checked.verdict, bench.known().copy_verdict) == ("", None)
