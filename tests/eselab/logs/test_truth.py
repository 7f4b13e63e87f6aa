"""What the engine says of its logs is what the agent reads in them, also after a kill."""

import random
import shutil
import time
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eselab.logs.reports import ScanSummary
from eselab.logs.truth import Truth, TruthError
from tests.eselab.killing import killed
from tests.eselab.logging_engine import (
    COMPUTER,
    START,
    Logs,
    begin,
    path_of,
    summary_of_scan,
    trouble,
    work,
)
from tests.support.engine_truth import agent_families, differences

LONGEST = 0.1
"""Seconds from the opening of the logs to the kill, at most."""


def written(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode((folder / "truth.json").read_bytes())
    return found


def expect_agreement(folder: Path, now: float) -> None:
    assert differences(folder / "truth.json", agent_families(folder, now)) == []


def scan_with(now: float, bad: int) -> ScanSummary:
    return msgspec.structs.replace(summary_of_scan(now, random.Random(1)), bad_checksums=bad)


@pytest.mark.parametrize("seed", range(6))
def test_random_events_and_counters_are_read_as_they_were_meant(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    when = START
    for _ in range(3):
        logs = Logs(tmp_path, time=when, buffered=bool(seed % 2))
        begin(logs)
        for _ in range(150):
            work(logs, chance)
        logs.close()
        expect_agreement(tmp_path, logs.clock.time)
        when = logs.clock.time + chance.choice((0.0, 30.0, 90_000.0))
    truth = written(tmp_path)
    assert len(truth["events"]) > 15
    assert truth["instances"]["db1"]["ese_defrag_pages_read_total"][""] > 1000


def test_the_comparer_names_what_differs(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    begin(logs)
    logs.close()
    changed = written(tmp_path)
    changed["events"]['event_id="102",provider="ESE"'] += 1
    changed["instances"]["db1"]["ese_checkpoint_depth_logs"][""] = 77
    (tmp_path / "truth.json").write_bytes(msgspec.json.encode(changed))

    found = differences(tmp_path / "truth.json", agent_families(tmp_path, START))

    assert [line.split(":")[0] for line in found] == [
        "ese_checkpoint_depth_logs{db1|}",
        'ese_events_total{|event_id="102",provider="ESE"}',
    ]


def test_an_entry_whose_line_was_not_written_does_not_count(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    begin(logs)
    logs.reports["db1"].defrag_begun()
    logs.close()
    events = tmp_path / "events.jsonl"
    events.write_bytes(events.read_bytes()[:-30])

    # The second run must not count it either, when the file has grown again.
    for _ in range(2):
        logs = Logs(tmp_path, time=START + 60)
        begin(logs)
        logs.close()
        expect_agreement(tmp_path, logs.clock.time)
    assert 'event_id="700",provider="ESE"' not in written(tmp_path)["events"]


def test_a_row_that_was_torn_off_does_not_count(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    begin(logs)
    logs.clock.time += 15
    logs.counters["db1"].defrag_pages_read = 500
    logs.sample()
    logs.close()
    rows = tmp_path / "counters.csv"
    rows.write_bytes(rows.read_bytes()[:-9])
    logs = Logs(tmp_path, time=START + 60)
    begin(logs)
    logs.close()

    expect_agreement(tmp_path, logs.clock.time)
    assert written(tmp_path)["instances"]["db1"]["ese_defrag_pages_read_total"] == {"": 0}


def test_a_torn_entry_of_the_ledger_has_no_line_yet(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    begin(logs)
    logs.close()
    before = (tmp_path / "truth.json").read_bytes()
    with (tmp_path / "truth.jsonl").open("ab") as ledger:
        ledger.write(b'{"type":"event","event_id":7')
    Logs(tmp_path, time=START + 60).close()

    assert (tmp_path / "truth.json").read_bytes() == before


def test_logs_that_the_ledger_does_not_know_are_refused(tmp_path: Path) -> None:
    for _ in range(2):
        logs = Logs(tmp_path)
        begin(logs)
        logs.close()
    (tmp_path / "events.jsonl").unlink()

    with pytest.raises(TruthError, match=r"events\.jsonl has 0 bytes of whole lines"):
        Truth(tmp_path, computer=COMPUTER, provider="ESE", buffered=False)


def test_what_is_held_back_reaches_the_ledger_before_the_log(tmp_path: Path) -> None:
    logs = Logs(tmp_path, buffered=True)
    begin(logs)
    assert (tmp_path / "events.jsonl").stat().st_size == 0
    logs.events.flush()
    # A kill here leaves rows that were noted and not written.
    shutil.copytree(tmp_path, tmp_path / "copy")
    copied = Logs(tmp_path / "copy")
    copied.close()

    expect_agreement(tmp_path / "copy", START)
    assert sum(written(tmp_path / "copy")["events"].values()) == 6
    assert written(tmp_path / "copy")["instances"] == {}
    logs.close()
    expect_agreement(tmp_path, START)


def test_a_scan_with_that_began_after_the_error_clears_it(tmp_path: Path) -> None:
    logs = Logs(tmp_path, instances=1)
    begin(logs)
    reports, chance = logs.reports["db1"], random.Random(2)
    path, kinds = path_of(tmp_path, "db1"), []
    for begun_first in (True, False):
        for step in (reports.scan_begun, lambda: reports.page_error(trouble(chance)))[
            :: 1 if begun_first else -1
        ]:
            logs.clock.time += 60
            step()
        logs.clock.time += 60
        reports.scan_completed(scan_with(logs.clock.time, bad=0))
        logs.truth.write()
        bad = written(tmp_path)["databases"][path]["ese_known_bad_pages"]
        kinds.append(sum(bad.values()))
    logs.close()

    assert kinds == [1, 0]
    expect_agreement(tmp_path, logs.clock.time)


def test_bad_pages_of_a_scan_that_named_none_are_one_that_is_not_located(tmp_path: Path) -> None:
    logs = Logs(tmp_path, instances=1)
    begin(logs)
    reports = logs.reports["db1"]
    reports.scan_begun()
    logs.clock.time += 60
    reports.scan_completed(scan_with(logs.clock.time, bad=4))
    logs.close()

    bad = written(tmp_path)["databases"][path_of(tmp_path, "db1")]["ese_known_bad_pages"]
    assert bad == {'kind="uncorrectable"': 1}
    expect_agreement(tmp_path, logs.clock.time)


def test_faults_are_kept_over_a_restart(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    logs.truth.fault(START, "/d/db1.edb", 17, "flip_two")
    logs.close()
    Logs(tmp_path).close()

    assert written(tmp_path)["faults"] == [
        {"time": START, "database": "/d/db1.edb", "page_number": 17, "kind": "flip_two"}
    ]


def check_kills(folder: Path, kills: int, seed: int, *, every: int = 1) -> None:
    chance = random.Random(seed)
    live, spare = folder / "live", folder / "spare"
    live.mkdir()
    for run in range(kills):
        moment = chance.uniform(0, LONGEST)
        killed(
            "tests.eselab.logging_engine",
            live,
            run,
            says=[b"opened\n"],
            moment=partial(time.sleep, moment),
        )
        if run % every:
            continue
        # The next process has to open what this one left.
        shutil.copytree(live, spare)
        logs = Logs(live)
        begin(logs)
        logs.close()
        assert logs.truth.state.events
        expect_agreement(live, logs.clock.time)
        shutil.rmtree(live)
        spare.rename(live)


@pytest.mark.slow
def test_five_kills_leave_the_truth_of_what_is_in_the_logs(tmp_path: Path) -> None:
    check_kills(tmp_path, 5, 1)


@pytest.mark.slow
def test_fifty_kills_leave_the_truth_of_what_is_in_the_logs(tmp_path: Path) -> None:
    check_kills(tmp_path, 50, 2, every=7)
