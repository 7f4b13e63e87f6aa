"""The page scan of the daemon, where it also judges whether a copy would mount."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sources.page_scans import Bench, stamp
from tests.support import ese_database, flush_maps
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


def test_logs_of_a_copy_may_lie_in_folders_of_their_own(tmp_path: Path) -> None:
    bench = Bench(tmp_path, check="recovery", logs=[f"{tmp_path}/logs-*"])
    bench.database(pages=20, header=DIRTY)
    for name in ("logs-of-another", "logs-1"):
        (tmp_path / name).mkdir()
    write_logs(tmp_path / "logs-1", series(range(9, 13)))
    (checked,) = bench.scanned()
    bench.close()

    assert checked.verdict == "replay_needed"


def test_a_folder_of_logs_that_is_not_there_leaves_the_verdict_open(tmp_path: Path) -> None:
    bench = Bench(tmp_path, check="recovery", logs=[f"{tmp_path}/gone"])
    bench.database(pages=20, header=DIRTY)
    write_logs(bench.snap, series(range(9, 13)))
    (checked,) = bench.scanned()
    bench.close()

    assert checked.verdict == "unknown"
    assert f"{tmp_path}/gone" in checked.verdict_reason


def broken(bench: Bench) -> None:
    """A copy whose pages all verify, and one of them follows another than its neighbour says."""
    made = ese_database.database()
    made.pages[35].previous = 36
    stamp(made.write(bench.snap / "priv06.edb"), bench.clock() - 120)


def test_the_structure_decides_where_it_is_asked_for(tmp_path: Path) -> None:
    bench = Bench(tmp_path, check="deep")
    broken(bench)
    (checked,) = bench.scanned()
    bench.close()

    assert checked.verdict == "not_restorable"
    assert checked.verdict_reason.startswith("1 error in the structure")


def test_recovery_alone_does_not_read_the_structure(bench: Bench) -> None:
    broken(bench)
    (checked,) = bench.scanned()

    assert checked.verdict == "restorable"


def test_a_lost_write_decides(bench: Bench) -> None:
    types = dict.fromkeys(range(1, 9), 1)
    path = flush_maps.database(bench.snap / "priv06.edb", types)
    pages = flush_maps.map_page({**types, 4: 2})
    path.with_suffix(".jfm").write_bytes(flush_maps.map_header() + pages)
    stamp(path, bench.clock() - 120)
    (checked,) = bench.scanned()

    assert checked.verdict == "not_restorable"
    assert "The last write of 1 page never reached the disk" in checked.verdict_reason


def test_what_was_not_asked_is_not_judged(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.database(pages=20, header=DIRTY)
    (checked,) = bench.scanned()
    bench.close()

    assert (checked.verdict, bench.known().copy_verdict) == ("", None)
