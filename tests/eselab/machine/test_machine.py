"""The whole machine in virtual time: what it writes, how it goes on, what it says of itself."""

import random
import shutil
from pathlib import Path

import msgspec
import pytest

from esefiles.pages.layout import HEADER_PAGES
from eselab.__main__ import main as engine
from eselab.base.clock import VirtualClock
from eselab.base.plan import DAY, DatabasePlan, FaultPlan, MailPlan, Plan, WindowPlan
from eselab.machine.machine import InUseError, Machine
from esewatch.cli import main
from tests.eselab.page_sizes import SIZES
from tests.eselab.running import START, forget_filled, let_go, machine, random_plan, run
from tests.support.obvious_checksum import page_class

HOUR = 3600.0


def one(**changes: object) -> Plan:
    """One small database; `changes` to it."""
    database = DatabasePlan(name="a", pages=80, mail=MailPlan(kept=10.0), defrag_pause=5.0)
    return Plan(databases=[msgspec.structs.replace(database, **changes)], sample=300.0)


def files(folder: Path) -> dict[str, bytes]:
    """All files below `folder`."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def written(folder: Path, plan: Plan, *, seed: int) -> dict[str, bytes]:
    """What two runs in an empty folder leave there; it is empty again then."""
    forget_filled()
    run(folder, plan, 1.3, seed=seed)
    run(folder, plan, 1.1, seed=seed)
    found = files(folder)
    shutil.rmtree(folder)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_gives_the_same_bytes_and_another_one_does_not(
    tmp_path: Path, seed: int
) -> None:
    plan = random_plan(random.Random(seed), days=1.0, faults=6)
    first = written(tmp_path / "run", plan, seed=seed)
    assert len(first) > 8
    assert written(tmp_path / "run", plan, seed=seed) == first
    other = written(tmp_path / "run", plan, seed=seed + 100)
    for name in ("events.jsonl", "counters.csv", "db0/db0.edb"):
        assert first[name] != other[name]


def test_a_past_that_is_written_once_more_is_as_one_that_is_lived_anew(tmp_path: Path) -> None:
    """The helpers of these tests do so."""
    plan = Plan(databases=[DatabasePlan(name="a", pages=60), DatabasePlan(name="b", pages=60)])
    forget_filled()
    found = []
    for _ in range(2):
        run(tmp_path / "run", plan, 0.3)
        found.append(files(tmp_path / "run"))
        shutil.rmtree(tmp_path / "run")
    assert found[0] == found[1]
    forget_filled()
    run(tmp_path / "run", plan, 0.3)
    assert files(tmp_path / "run") == found[0]


def four_sizes() -> Plan:
    """A database of each page size, small enough to be checked bit by bit."""
    return Plan(
        databases=[
            DatabasePlan(
                name=f"p{size}",
                page_size=size,
                pages=(1 << 18) // size,
                cache_pages=10,
                mail=MailPlan(mailboxes=5, kept=20.0),
                defrag_pause=5.0,
            )
            for size in SIZES
        ],
        sample=900.0,
    )


def check_pages(file: Path, size: int) -> int:
    """All pages verify by the obvious checksum; how many are written."""
    pages = memoryview(file.read_bytes())[HEADER_PAGES * size :]
    found = [
        page_class(bytes(pages[at : at + size]), number)
        for number, at in enumerate(range(0, len(pages), size), start=1)
    ]
    assert set(found) <= {0, 1}
    return found.count(0)


@pytest.mark.slow
def test_after_two_months_every_page_passes_an_independent_checksum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "run"
    run(folder, four_sizes(), 30)
    run(folder, four_sizes(), 30)
    databases = [folder / f"p{size}" / f"p{size}.edb" for size in SIZES]
    for file, size in zip(databases, SIZES, strict=True):
        assert check_pages(file, size) > 8
    words = [str(file) for file in databases]
    assert engine(["check", str(folder)]) == 0
    assert capsys.readouterr().out.count(": sound: ") == len(words)
    assert main(["scan", "--format", "json", *words]) == 0
    scanned = [msgspec.json.decode(line) for line in capsys.readouterr().out.splitlines()]
    assert sorted(row["page_size"] for row in scanned) == sorted(SIZES)
    assert {(row["bad_checksums"], row["state"]) for row in scanned} == {(0, "clean")}
    for word in words:
        assert main(["header", "--format", "json", word]) == 0
        header = msgspec.json.decode(capsys.readouterr().out)
        assert (header["header_ok"], header["shadow_header_ok"], header["state"]) == (
            True,
            True,
            "clean",
        )


def test_a_second_engine_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    running = machine(tmp_path / "run", one())
    with pytest.raises(InUseError, match="another engine runs in this folder"):
        Machine(tmp_path / "run", one(), clock=VirtualClock(START), seed=1, computer="x")
    running.close()
    run(tmp_path / "run", one(), 0.1)


def test_a_run_goes_on_at_the_end_of_the_one_before(tmp_path: Path) -> None:
    first = machine(tmp_path, one())
    first.run(START + 2 * DAY)
    first.close()
    second = machine(tmp_path, one())
    assert START + 2 * DAY <= second.now() < START + 2 * DAY + HOUR
    second.close()


def told(folder: Path) -> list[dict[str, object]]:
    """The faults of `truth.json`."""
    faults: list[dict[str, object]] = msgspec.json.decode((folder / "truth.json").read_bytes())[
        "faults"
    ]
    return faults


def test_a_fault_is_in_the_truth_even_where_the_process_ends_at_once(tmp_path: Path) -> None:
    flip = FaultPlan(at=HOUR, database="a", kind="flip_two", page=50)
    plan = msgspec.structs.replace(one(), faults=[flip])
    dropped = machine(tmp_path / "run", plan)
    dropped.run(START + HOUR + 1.0)
    assert dropped.instances["a"].faults.standing() != []
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    again = machine(tmp_path / "copy", one())
    again.close()
    (fault,) = told(tmp_path / "copy")
    assert (fault["kind"], fault["page_number"]) == ("flip_two", 50)
    assert START + HOUR <= float(str(fault["time"])) <= START + HOUR + 1.0
    let_go(tmp_path, dropped)


def test_counters_are_sampled_at_even_times_however_slow_the_disk_is(tmp_path: Path) -> None:
    slow = FaultPlan(at=9 * HOUR, database="a", kind="slow", seconds=90.0, count=40)
    plan = msgspec.structs.replace(one(checkpoint_depth=1 << 16), faults=[slow])
    run(tmp_path, plan, 1.0)
    rows = (tmp_path / "counters.csv").read_text().splitlines()[1:]
    assert len(rows) == DAY / 300.0 + 1
    times = [row.split('"')[1][11:16] for row in rows]
    assert times[1:-1] == [f"{minute // 60:02}:{minute % 60:02}" for minute in range(5, 24 * 60, 5)]


def test_a_window_that_is_too_short_is_used_night_after_night(tmp_path: Path) -> None:
    run(tmp_path, one(window=WindowPlan(length=400.0), scan=False), 8)
    events = msgspec.json.decode((tmp_path / "truth.json").read_bytes())["events"]
    counts = {label.split('"')[1]: count for label, count in events.items()}
    assert counts["704"] >= 4
    assert counts["700"] + counts["702"] == 8
    assert "717" not in counts
