"""The page_scan source: windows, positions, crashes, and its scanning process."""

import datetime
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from esewatch.config import Settings, Window
from esewatch.model import Event, HeaderSeen, PagesScanned
from esewatch.sources.files.file_search import FolderScan
from esewatch.sources.page_scan import page_scan_source
from esewatch.sources.page_scan.copy_passes import GONE_SECONDS
from esewatch.sources.page_scan.page_scan_source import MAX_CRASHES, PROGRAM, Crashes
from tests.sources.page_scans import COMPUTER, LABEL, SLOW, SLOWEST, Bench, stamp
from tests.support.edb import page, write_edb

Make = Callable[..., Bench]
FLIPPED = 8 * 1000
"""A bit of a page that can be corrected."""
TWO = (8 * 1000, 8 * 1010)
BIG = 2500
"""Pages that take some seconds when it reads slowly, half a minute when the slowest."""


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Bench] = []

    def bench(**entry: Any) -> Bench:
        made.append(Bench(tmp_path, **entry))
        return made[-1]

    yield bench
    for each in made:
        each.close()


def event(event_id: int, time: float, **fields: Any) -> Event:
    return Event(
        event_id=event_id,
        provider="ESE",
        time=time,
        computer="EX01",
        database="E:\\mdb06\\priv06.edb",
        fields=fields,
    )


def windowed(make: Make, seconds: float, **entry: Any) -> Bench:
    """A bench whose daily window of 15 minutes closes `seconds` from now."""
    end = (time.time() // 60.0 + 1.0) * 60.0
    start = datetime.datetime.fromtimestamp(end - 900.0, datetime.UTC).time()
    settings = Settings(windows={"nightly": Window(start=start, duration=900.0)})
    bench = make(settings=settings, window="nightly", **entry)
    bench.shift = end - seconds - time.time()
    return bench


def test_a_clean_copy_is_verified_as_of_its_last_write(make: Make) -> None:
    bench = make()
    made = bench.database(pages=50)

    (checked,) = bench.scanned()

    assert checked.time == pytest.approx(made.path.stat().st_mtime, abs=1e-3)
    assert (checked.pages_seen, checked.bad, checked.bad_pages) == (50, 0, ())
    assert checked.size_bytes == made.path.stat().st_size
    assert bench.known().verified == {"page_scan": checked.time}
    assert bench.pages() == 50
    assert bench.known().page_size == 4096
    assert bench.positions.keys() == {str(made.path)}


def test_the_program_of_the_daemon_scans_on_the_devices_of_the_machine(make: Make) -> None:
    bench = make()
    bench.program = PROGRAM
    bench.restart()
    bench.database(pages=50)

    # Other scans on the device come first.
    bench.until(bench.ended, 300.0)

    assert [checked.pages_seen for checked in bench.ended()] == [50]


def test_the_first_poll_scans_nothing_and_ends_the_first_reading(make: Make) -> None:
    bench = make()
    bench.database()

    bench.poll()

    assert bench.batch.caught_up
    assert bench.process() is None
    assert not bench.folder.state.sources["page_scan-1"].baseline


def test_every_kind_of_bad_page_is_found_and_latched(make: Make) -> None:
    bench = make()
    made = bench.database(pages=50)
    made.flip(3, FLIPPED)
    made.flip(5, *TWO)
    made.misplace(7, 40)
    made.cut(made.path.stat().st_size - 100)
    stamp(made.path, bench.clock() - 120)

    (checked,) = bench.scanned()

    kinds = {3: "corrected", 5: "uncorrectable", 7: "wrong_page", 50: "uncorrectable"}
    assert dict(checked.bad_pages) == kinds == bench.bad()
    assert checked.bad == 4
    assert bench.known().page_scan["bad_pages"] == 4
    assert bench.known().verified == {}


def test_a_repaired_copy_clears_the_page_as_of_its_snapshot(make: Make) -> None:
    bench = make()
    made = bench.database(pages=50)
    made.flip(5, *TWO)
    stamp(made.path, bench.clock() - 120)
    bench.scanned()
    assert bench.bad() == {5: "uncorrectable"}

    made.flip(5, *TWO)
    bench.shift = 600.0
    stamp(made.path, bench.clock() - 10)
    bench.scanned(2)

    assert bench.bad() == {}
    assert bench.known().verified["page_scan"] == pytest.approx(made.path.stat().st_mtime, abs=1e-3)


def test_a_known_page_that_reads_good_is_cleared_before_the_pass_ends(make: Make) -> None:
    bench = make(**SLOWEST)
    bench.tell(event(474, bench.clock() - 3600, page_number=BIG - 10))
    bench.database(pages=BIG)
    assert bench.bad() == {BIG - 10: "uncorrectable"}

    bench.until(lambda: not bench.bad())

    assert not bench.ended()
    assert bench.pages() < BIG


def test_an_error_younger_than_the_snapshot_is_not_cleared_by_it(make: Make) -> None:
    bench = make()
    bench.tell(event(474, bench.clock() - 60, page_number=5))
    bench.database(pages=50)

    bench.scanned()

    assert bench.bad() == {5: "uncorrectable"}


def test_a_copy_without_news_is_read_once_a_day(make: Make) -> None:
    bench = make()
    bench.database(pages=50)
    bench.scanned()
    bench.rest()
    assert bench.process() is None

    bench.shift = 86500.0
    bench.scanned(2)

    assert bench.pages() == 100


def test_a_new_snapshot_is_read_at_once(make: Make) -> None:
    bench = make()
    made = bench.database(pages=50)
    first = bench.scanned()[0]

    other = write_edb(bench.snap / "new", pages=60, seed=1)
    stamp(other.path, bench.clock() - 20)
    other.path.replace(made.path)
    second = bench.scanned(2)[1]

    assert (first.pages_seen, second.pages_seen) == (50, 60)
    assert second.time > first.time


def test_a_live_database_is_true_as_of_the_start_of_the_pass(make: Make) -> None:
    bench = make(database=None, computer=None)
    made = bench.database(pages=50)
    before = bench.clock()

    (checked,) = bench.scanned()

    assert before <= checked.time <= bench.clock()
    assert checked.database == str(made.path)
    assert checked.computer == socket.gethostname()
    stamp(made.path, bench.clock() - 50)
    bench.rest()
    assert len(bench.ended()) == 1


def test_a_copy_that_is_still_written_is_waited_for(make: Make) -> None:
    bench = make()
    made = bench.database(pages=50)
    stamp(made.path, bench.clock() - 1)
    bench.rest()
    assert bench.process() is None

    bench.shift = 10.0

    assert bench.scanned()[0].pages_seen == 50


def test_a_window_opens_and_closes_it(make: Make) -> None:
    bench = windowed(make, 6.0, **SLOWEST)
    made = bench.database(pages=BIG)
    bench.until(lambda: bench.pages() > 0)
    assert 0 < bench.batch.backlog_bytes < made.path.stat().st_size
    opening = bench.source._opening(bench.clock())
    assert opening is not None

    bench.until(lambda: bench.process() is None)

    # Left alone it would go on for a long time.
    assert -1.0 < bench.clock() - opening.end < 10.0
    part = bench.pages()
    bench.rest()
    assert part == bench.pages() < BIG
    assert bench.batch.backlog_bytes == 0

    bench.hurry()
    bench.shift += 86400 - 600
    bench.scanned()
    assert bench.pages() == BIG
    bench.rest()
    assert len(bench.ended()) == 1

    bench.shift += 86400
    bench.scanned(2)
    assert bench.pages() == 2 * BIG


def test_a_process_that_does_not_end_with_its_window_is_ended(make: Make) -> None:
    bench = windowed(make, 2.0)
    opening = bench.source._opening(bench.clock())
    bench.program = (sys.executable, "-S", "-c", "import time; time.sleep(600)")
    bench.restart()
    bench.database()
    bench.until(lambda: bench.process() is not None)
    pid = bench.process()

    bench.until(lambda: bench.process() is None)

    assert opening is not None
    assert bench.clock() >= opening.end
    assert pid is not None
    assert not psutil.pid_exists(pid)


def test_nothing_is_left_running_when_it_is_closed(make: Make) -> None:
    bench = make(**SLOWEST)
    bench.database(pages=BIG)
    bench.until(lambda: bench.pages() > 0)
    pid = bench.process()

    bench.close()

    assert pid is not None
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_kills_of_the_daemon_lose_no_page_and_count_none_twice(make: Make, seed: int) -> None:
    bench = make(**SLOW)
    made = bench.database(pages=BIG, seed=seed)
    made.flip(10, FLIPPED)
    made.flip(BIG - 10, FLIPPED)
    stamp(made.path, bench.clock() - 120)
    for part in (1, 2, 3):
        goal = part * BIG // 5 + seed * 50
        bench.until(lambda goal=goal: bench.pages() > goal)  # type: ignore[misc]
        bench.restart()

    (checked,) = bench.scanned()

    assert checked.pages_seen == bench.pages() == BIG
    assert checked.bad == bench.known().page_scan["bad_pages"] == 2
    assert bench.known().page_scan["bytes"] == made.path.stat().st_size
    assert bench.bad() == {10: "corrected", BIG - 10: "corrected"}


@pytest.mark.fault(
    "the process that scans pages is killed, as by a machine that is out of memory",
    provoked="`kill -9` of that process, twice",
    lost="nothing: every page is counted once",
    again="a pause of seconds: the scan restarts by itself",
)
def test_kills_of_the_process_lose_no_page_and_are_one_line_each(make: Make) -> None:
    bench = make(**SLOWEST)
    made = bench.database(pages=BIG)
    for part in (1, 2):
        bench.until(lambda part=part: bench.pages() > part * BIG // 20)  # type: ignore[misc]
        pid = bench.process()
        assert pid is not None
        if part == 2:
            bench.hurry()
        os.kill(pid, signal.SIGKILL)
        bench.until(lambda part=part: len(bench.unreadable) == 1)  # type: ignore[misc]
    bench.scanned()

    assert bench.pages() == BIG
    line = f"{made.path}: begun again: the process that scans it was ended by signal 9"
    assert bench.unreadable == [line]
    assert bench.trouble == ""


def test_a_file_at_which_the_process_crashes_is_left_out_and_the_others_are_scanned(
    make: Make, tmp_path: Path
) -> None:
    script = tmp_path / "crashing.py"
    script.write_text(
        "import os, sys\n"
        "from esefiles.scans import child\n"
        "scan = child.scan_file\n"
        "def crash(path, *rest, **more):\n"
        "    if 'poison' in path:\n"
        "        os.kill(os.getpid(), 9)\n"
        "    return scan(path, *rest, **more)\n"
        "child.scan_file = crash\n"
        "os._exit(child.main())\n"
    )
    bench = make()
    bench.program = (sys.executable, str(script))
    bench.restart()
    bench.database("priv06.edb", pages=50)
    poison = bench.database("poison.edb", pages=50)

    bench.until(lambda: any("left out" in line for line in bench.unreadable))
    bench.scanned()

    assert bench.pages() == 50
    assert bench.bad() == {}
    again, out = bench.unreadable
    assert again.startswith(str(poison.path))
    assert out.startswith(f"{poison.path}: left out until the next window: the process that scans")
    bench.rest()
    assert bench.process() is None


def test_a_process_that_cannot_work_is_a_failure_of_the_source(make: Make) -> None:
    bench = make()
    bench.program = (sys.executable, "-S", "-c", "raise SystemExit('no such module')")
    bench.restart()
    bench.database()

    bench.until(lambda: bench.trouble)

    assert bench.trouble == "the process that scans ended with status 1: no such module"
    bench.program = PROGRAM
    bench.restart()
    bench.scanned()
    assert bench.trouble == ""


def test_a_program_that_is_not_there_is_a_failure_of_the_source(make: Make) -> None:
    bench = make()
    bench.program = ("no-such-python",)
    bench.restart()
    bench.database()
    bench.until(lambda: bench.trouble)
    assert "no-such-python" in bench.trouble


def test_a_new_snapshot_of_the_same_database_goes_on_at_the_place(make: Make) -> None:
    bench = make(**SLOWEST)
    made = bench.database(pages=BIG)
    older = made.path.stat().st_mtime
    bench.until(lambda: bench.pages() > BIG // 20)
    bench.source.close()
    bench.hurry()

    other = write_edb(bench.snap / "new", pages=BIG)
    stamp(other.path, bench.clock() - 20)
    other.path.replace(made.path)
    bench.restart()
    (checked,) = bench.scanned()

    assert checked.pages_seen == bench.pages() == BIG
    assert checked.time == pytest.approx(older, abs=1e-3)


def test_another_database_in_the_place_of_one_is_begun_anew(make: Make) -> None:
    bench = make(**SLOWEST)
    made = bench.database(pages=BIG)
    bench.until(lambda: bench.pages() > BIG // 20)
    bench.source.close()
    bench.hurry()
    part = bench.pages()

    other = write_edb(bench.snap / "new", pages=100, header={"signature_random": 7})
    stamp(other.path, bench.clock() - 20)
    other.path.replace(made.path)
    bench.restart()
    (checked,) = bench.scanned()

    assert checked.pages_seen == 100
    assert bench.pages() == part + 100
    assert checked.time == pytest.approx(made.path.stat().st_mtime, abs=1e-3)


def test_a_snapshot_under_another_name_goes_on_with_the_pass_of_the_one_that_is_gone(
    make: Make,
) -> None:
    bench = make(database=LABEL, **SLOWEST)
    made = bench.database("2026-11-20.edb", pages=BIG)
    bench.until(lambda: bench.pages() > BIG // 20)
    bench.source.close()
    bench.hurry()

    tomorrow = bench.snap / "2026-11-21.edb"
    made.path.rename(tomorrow)
    bench.restart()
    (checked,) = bench.scanned()

    assert checked.pages_seen == bench.pages() == BIG
    assert bench.positions.keys() == {str(tomorrow)}


def test_a_snapshot_that_takes_the_place_of_one_that_is_being_read_goes_on_with_its_pass(
    make: Make,
) -> None:
    bench = make(database=LABEL, **SLOWEST)
    made = bench.database("2026-11-20.edb", pages=BIG)
    bench.until(lambda: bench.pages() > BIG // 20)
    bench.hurry()

    tomorrow = bench.snap / "2026-11-21.edb"
    made.path.rename(tomorrow)
    (checked,) = bench.scanned()

    assert checked.pages_seen == bench.pages() == BIG
    assert bench.positions.keys() == {str(tomorrow)}


def test_where_a_pass_stands_is_forgotten_long_after_its_copy_is_gone(make: Make) -> None:
    bench = make()
    made = bench.database()
    bench.scanned()
    made.path.unlink()
    bench.rest()
    assert bench.positions.keys() == {str(made.path)}

    bench.shift = GONE_SECONDS + 10
    bench.rest()

    assert bench.positions == {}


def test_a_position_that_is_not_understood_begins_anew(make: Make) -> None:
    bench = make()
    made = bench.database(pages=50)
    bench.positions[str(made.path)] = b"\xc1"
    bench.restart()

    assert bench.scanned()[0].pages_seen == 50


def test_what_is_no_database_is_one_line_and_the_rest_goes_on(make: Make) -> None:
    bench = make()
    bench.database(pages=50)
    text = bench.snap / "text.edb"
    text.write_text("no database " * 1000)
    stamp(text, bench.clock() - 120)

    bench.scanned()
    bench.rest()

    (line,) = bench.unreadable
    assert line.startswith(f"{text}: ")
    assert bench.pages() == 50
    assert bench.process() is None


@pytest.mark.parametrize("check", ["pages", "recovery"])
def test_a_lost_copy_would_not_mount(make: Make, check: str) -> None:
    bench = make(check=check)
    lost = bench.snap / "priv06.edb"
    lost.write_bytes(bytes(1 << 16))
    stamp(lost, bench.clock() - 120)

    bench.until(lambda: bench.unreadable)

    verdicts = [each.verdict for each in bench.ended()]
    assert verdicts == (["not_restorable"] if check == "recovery" else [])
    (line,) = bench.unreadable
    assert line == f"{lost}: not an ESE database: its first 65536 bytes are zero"


def test_a_temporary_database_is_read_by_nobody(make: Make) -> None:
    bench = make()
    bench.database(pages=50)
    temporary = write_edb(bench.snap / "temp.edb", header={"state": 1}).path
    stamp(temporary, bench.clock() - 120)

    assert len(bench.scanned()) == 1
    bench.rest()
    assert (bench.unreadable, bench.pages(), bench.process()) == ([], 50, None)


def test_a_file_that_vanishes_while_it_is_read_harms_nobody(make: Make) -> None:
    bench = make(**SLOW)
    made = bench.database(pages=BIG)
    bench.until(lambda: bench.pages() > 0)

    made.path.unlink()
    bench.until(lambda: bench.unreadable)
    bench.rest()

    assert 0 < bench.pages() < BIG
    assert bench.unreadable == [f"{made.path}: it was deleted or renamed while it was read"]


def test_a_path_that_leads_nowhere_is_a_failure_and_a_pattern_is_not(make: Make) -> None:
    bench = make(paths=["/nowhere/*.edb"])
    bench.rest()
    assert bench.trouble == ""

    bench = make(paths=["/nowhere/a.edb"])
    bench.rest()
    assert bench.trouble == "/nowhere/a.edb: no such file; name an existing file or a pattern"


def test_a_barred_folder_is_a_failure_until_something_is_found(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_scan_source, "LOOK_SECONDS", 0.0)
    bench = make(paths=[f"{tmp_path}/snap/*.edb"])
    with monkeypatch.context() as barred:
        denied = FolderScan(troubles={f"{tmp_path}/snap": "Permission denied"})
        barred.setattr(page_scan_source, "look", lambda *_: denied)
        bench.rest()
        assert bench.trouble == f"{tmp_path}/snap: Permission denied"
    assert bench.unreadable == [bench.trouble]
    bench.database(pages=50)
    bench.scanned()
    assert bench.trouble == ""


def test_a_missing_file_beside_others_is_one_line(make: Make, tmp_path: Path) -> None:
    bench = make(paths=[f"{tmp_path}/snap/*.edb", "/nowhere/a.edb"])
    bench.database(pages=50)

    bench.scanned()
    bench.rest()

    assert bench.unreadable == ["/nowhere/a.edb: no such file"]
    assert bench.trouble == ""


def test_a_damaged_header_is_told_and_both_of_them_are_a_bad_page(make: Make) -> None:
    bench = make()
    one, both = bench.database("one.edb"), bench.database("both.edb")
    one.flip(-1, 100)
    both.flip(-1, 100)
    both.flip(0, 100)
    for made in (one, both):
        stamp(made.path, bench.clock() - 120)

    found = {record.database: record for record in bench.scanned(2)}

    assert sorted(line.split(": ")[1] for line in bench.unreadable) == ["header", "header"]
    assert found["E:\\mdb06\\one.edb"].bad == 0
    assert found["E:\\mdb06\\both.edb"].bad_pages == ((-1, "uncorrectable"),)


def test_the_header_tells_state_and_counters(make: Make) -> None:
    bench = make()
    bench.database(header={"state": 2, "bad_checksums": 3, "corrected": 4, "correction_failed": 5})

    bench.scanned()

    (seen,) = (record for record in bench.records if isinstance(record, HeaderSeen))
    assert (seen.state, seen.page_size) == ("dirty shutdown", 4096)
    assert (seen.bad_checksums, seen.corrected, seen.correction_failed) == (3, 4, 5)


def test_the_oldest_verified_database_is_read_first(make: Make) -> None:
    bench = make(**SLOW)
    bench.database("a.edb", pages=50)
    bench.scanned()
    bench.database("b.edb", pages=50)
    bench.scanned(2)
    bench.database("c.edb", pages=50)
    bench.shift = 90000.0

    bench.scanned(5)

    order = [checked.database[-5:] for checked in bench.ended()]
    assert order == ["a.edb", "b.edb", "c.edb", "a.edb", "b.edb"]


def test_a_file_that_comes_while_others_are_read_does_not_wait_for_their_end(make: Make) -> None:
    bench = make(throttle_ms=100, read_size=64 << 10)
    bench.database("big.edb", pages=BIG)
    big, new = "e:\\mdb06\\big.edb", "e:\\mdb06\\ahead.edb"
    bench.until(lambda: bench.pages(big) > 0)
    bench.database("ahead.edb", pages=50)

    bench.shift = page_scan_source.RESTART_SECONDS + 1
    bench.until(lambda: bench.pages(new) == 50)

    assert 0 < bench.pages(big) < BIG


def test_two_sources_read_one_device_one_after_the_other(make: Make, tmp_path: Path) -> None:
    first = make(paths=[f"{tmp_path}/snap/a.edb"], **SLOW)
    second = make(paths=[f"{tmp_path}/snap/b.edb"])
    first.database("a.edb", pages=BIG)
    second.database("b.edb", pages=50)
    a, b = "e:\\mdb06\\a.edb", "e:\\mdb06\\b.edb"
    first.until(lambda: first.pages(a) > 0)
    second.until(lambda: second.process() is not None)

    def is_over() -> bool:
        second.poll()
        read = second.pages(b)
        first.poll()
        # It reports its end before it gives way.
        assert read == 0 or first.ended()
        return bool(first.ended())

    first.until(is_over)
    second.until(lambda: second.pages(b) == 50)


def test_a_snapshot_of_an_unknown_origin_is_told_once(make: Make) -> None:
    bench = make(database="\\\\?\\GLOBALROOT\\HarddiskVolumeShadowCopy7\\{name}")
    bench.database(pages=50)

    bench.scanned()
    bench.rest()

    (line,) = bench.unreadable
    assert "is the snapshot of an unknown database" in line


def test_a_copy_from_the_future_is_no_younger_than_now(make: Make) -> None:
    bench = make()
    made = bench.database(pages=50)
    stamp(made.path, bench.clock() + 1e6)

    (checked,) = bench.scanned()

    assert checked.time <= bench.clock()


def test_a_bad_page_is_handed_out_long_before_the_pass_ends(make: Make) -> None:
    bench = make(**SLOWEST)
    made = bench.database(pages=BIG)
    made.write(20, page(4096, 21))
    stamp(made.path, bench.clock() - 120)

    bench.until(bench.bad)

    assert bench.pages() < BIG // 4
    pieces = [record for record in bench.records if isinstance(record, PagesScanned)]
    assert [piece.found for piece in pieces if piece.found] == [((20, "wrong_page"),)]
    assert {piece.computer for piece in pieces} == {COMPUTER}


def test_a_process_of_another_version_is_a_failure_of_the_source(make: Make) -> None:
    bench = make()
    bench.program = (sys.executable, "-S", "-c", "print('{}')")
    bench.restart()
    bench.database()

    bench.until(lambda: bench.trouble)

    assert bench.trouble.startswith("the process that scans is of another version")


def test_a_file_of_foreign_bytes_is_a_thousand_bad_pages_and_a_count(make: Make) -> None:
    bench = make()
    made = bench.database(pages=3000)
    for number in range(1, 3001):
        made.write(number, b"\xa5" * 4096)
    stamp(made.path, bench.clock() - 120)

    (checked,) = bench.scanned()

    assert (checked.bad, len(checked.bad_pages)) == (3000, 1000)
    assert bench.known().page_scan["bad_pages"] == 3000
    assert len(bench.bad()) >= 1000


class Run:
    """A process as far as the blame goes."""

    def __init__(self, *in_work: str, progressed: bool = False) -> None:
        self.in_work = list(in_work)
        self.tasks = dict.fromkeys(in_work)
        self._progressed = progressed

    def progressed(self, path: str) -> bool:
        return self._progressed


def run(*in_work: str, progressed: bool = False) -> Any:
    return Run(*in_work, progressed=progressed)


def test_a_file_that_was_read_at_a_crash_is_tried_alone_until_it_is_cleared() -> None:
    crashes = Crashes()
    assert crashes.suspect(["a", "b"]) is None

    assert crashes.crashed(run("b", "c")) == []

    assert crashes.suspect(["a", "b", "c"]) == "b"
    crashes.ended_well(run("b"))
    assert crashes.suspect(["a", "b", "c"]) == "c"
    assert crashes.suspect(["a", "b"]) is None


def test_a_file_at_which_it_crashes_again_and_again_is_guilty() -> None:
    crashes = Crashes()
    found = [crashes.crashed(run("a")) for _ in range(MAX_CRASHES)]

    assert found == [[]] * (MAX_CRASHES - 1) + [["a"]]
    assert crashes.suspect(["a"]) is None
    assert crashes.in_a_row == MAX_CRASHES


def test_crashes_with_progress_between_them_make_no_file_guilty() -> None:
    crashes = Crashes()

    assert [crashes.crashed(run("a", progressed=True)) for _ in range(10)] == [[]] * 10
