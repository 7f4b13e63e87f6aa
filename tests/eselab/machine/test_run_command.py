"""`engine run` as a user meets it: what it is given, how it ends, how it goes on."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import msgspec
import pytest

from eselab.__main__ import main
from eselab.logs.lines import FULL
from tests.e2e.harness import wait_for
from tests.eselab.commanding import (
    QUICK,
    REAL,
    SMALL,
    VIRTUAL,
    at_work,
    command,
    content,
    events,
    expect_one_line,
    finished,
    killed,
    last_time,
    made,
    run,
    started,
)
from tests.support.patience import PATIENCE


def example(words: list[str]) -> list[str]:
    """The words of the example that a help has, without `esewatch engine`."""
    done = command(*words, "--help")
    assert (done.status, done.error) == (0, "")
    return done.out.rpartition("example: esewatch engine ")[2].split()


def test_the_examples_of_the_help_are_of_a_run_and_its_check() -> None:
    whole, of_run, of_check = (example(words) for words in ([], ["run"], ["check"]))
    assert whole == of_run
    assert of_run[:3] == ["run", "--dir", "/tmp/month"]
    assert of_check == ["check", "/tmp/month"]


@pytest.mark.slow
def test_the_examples_of_the_help_work(tmp_path: Path) -> None:
    folder = str(tmp_path / "month")
    of_run, of_check = (
        [folder if word == "/tmp/month" else word for word in example(words)]
        for words in (["run"], ["check"])
    )
    assert command(*of_run, "--days", "0.01").status == 0
    assert command(*of_check).status == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "COMMAND"),
        ("burn", "burn is not a command"),
        ("run", "--dir"),
        ("run --dir x --days nan", "nan: more than 0"),
        ("run --dir x --days inf", "inf: more than 0"),
        ("run --dir x --days 0", "0: more than 0"),
        ("run --dir x --days -3", "-3: more than 0"),
        ("run --dir x --days 1e9", "at most 36500 days"),
        ("run --dir x --days week", "week: more than 0"),
        ("run --dir x --start tomorrow", "tomorrow: no day like 2007-06-18"),
        ("run --dir x --start 1850-01-01", "from 1980 to 2149"),
        ("run --dir x --start 9999-12-31", "from 1980 to 2149"),
        ("run --dir x --seed many", "'many'"),
        ("run --dir x --clock fast", "fast is not a value of --clock"),
        ("run --dir x --profile none", "none is not a value of --profile"),
        ("run --dir x --computer a,b", "'a,b': letters"),
        ("run --dir x --start 2149-12-20", "until after 2150-01-01"),
        ("run --dir x --plan nothing.json", "nothing.json: No such file or directory"),
        ("check", "PATH"),
        ("check --format xml .", "xml is not a value of --format"),
        ("check nothing", "nothing: no database"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_status_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        status: int | str | None = main(words.split())
    except SystemExit as ended:
        status = ended.code
    printed = capsys.readouterr()
    assert (status, printed.out) == (2, "")
    assert said in printed.err
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "truncated"),
        (b"databases: [a]", "malformed"),
        (b"\xff\xfe\x00", "malformed"),
        (b"[" * 100_000, "Expected `object`"),
        (b'{"databases": ' + b'[{"mail":' * 50_000, "mail"),
        (b'{"databases": []}', "length >= 1 - at `$.databases`"),
        (b" " * (1 << 24) + b"{}", "at most"),
    ],
)
def test_a_plan_that_is_none_is_one_line(tmp_path: Path, text: bytes, said: str) -> None:
    plan = tmp_path / "plan.json"
    plan.write_bytes(text)
    done = command("run", "--dir", tmp_path / "run", "--plan", plan)
    expect_one_line(done, f"{plan}: ", said)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_made_or_has_no_name_in_utf_8_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    below = command("run", "--dir", tmp_path / "file" / "run")
    expect_one_line(below, str(tmp_path / "file"), "Not a directory")
    raw = os.fsencode(tmp_path) + b"/\xff"
    expect_one_line(command("run", "--dir", os.fsdecode(raw)), "not UTF-8")


def test_a_folder_in_use_is_one_line_and_nothing_happens_to_it(tmp_path: Path) -> None:
    process = at_work(tmp_path / "run", "--clock", "real", plan=REAL)
    expect_one_line(run(tmp_path / "run"), "another engine runs in this folder")
    process.terminate()
    assert finished(process).status == 0
    assert command("check", tmp_path / "run").status == 0


NAMES = ("events.jsonl", "counters.csv", "truth.jsonl")
FOREIGN = (b"{}\n", b"one line without an end", b"\0" * 5000)
EACH_ONCE = [*zip(NAMES, FOREIGN, strict=True)]


@pytest.mark.parametrize(
    ("name", "foreign"),
    [
        *EACH_ONCE,
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in product(NAMES, FOREIGN)
            if each not in EACH_ONCE
        ),
    ],
)
def test_files_of_others_in_the_folder_are_left_as_they_are(
    tmp_path: Path, name: str, foreign: bytes
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / name).write_bytes(foreign)
    if name != "truth.jsonl" or foreign == b"{}\n":
        expect_one_line(run(folder), name)
        assert (folder / name).read_bytes() == foreign
    assert not (folder / "a").exists()


def damage_header(folder: Path) -> None:
    with (folder / "a" / "a.edb").open("r+b") as file:
        file.write(b"\xff" * 20_000)


def lose_log(folder: Path) -> None:
    for log in (folder / "a").glob("*.log"):
        log.unlink()


def lose_checkpoint(folder: Path) -> None:
    (folder / "a" / "E00.chk").unlink()


def lose_database(folder: Path) -> None:
    (folder / "a" / "a.edb").unlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (damage_header, "not an ESE database"),
        (lose_log, "of the log is missing"),
        (lose_checkpoint, "E00.chk is missing"),
        (lose_database, "No such file"),
    ],
)
def test_a_database_that_cannot_be_opened_is_named_in_one_line(
    tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    folder = killed(tmp_path / "run")
    damage(folder)
    expect_one_line(run(folder, "--clock", "real", plan=REAL), str(folder / "a" / "a.edb"), said)
    found = command("check", folder)
    assert "Traceback" not in found.error
    assert found.status == (2 if damage is lose_database else 1)


@pytest.mark.slow
def test_one_that_cannot_be_opened_ends_the_run_for_the_others_which_recover_later(
    tmp_path: Path,
) -> None:
    folder = made(tmp_path / "run")
    kept = (folder / "b" / "b.edb").read_bytes()
    (folder / "b" / "b.edb").write_bytes(b"\xff" * 100_000)
    expect_one_line(run(folder), "b.edb")
    (folder / "b" / "b.edb").write_bytes(kept)
    assert run(folder, "--days", 0.1).status == 0
    assert command("check", folder).status == 0
    assert [found for found, _ in events(folder)].count(300) == 1


@pytest.mark.slow
def test_another_page_size_than_that_of_the_database_is_one_line(tmp_path: Path) -> None:
    folder = made(tmp_path / "run")
    other = msgspec.structs.replace(SMALL, page_size=4096)
    done = run(folder, plan=msgspec.structs.replace(VIRTUAL, databases=[other]))
    expect_one_line(done, "its page_size is 8192, in the plan 4096")


@pytest.mark.slow
def test_a_damaged_last_line_of_a_log_is_one_line(tmp_path: Path) -> None:
    folder = made(tmp_path / "run")
    log = (folder / "events.jsonl").read_bytes()
    (folder / "events.jsonl").write_bytes(log[:-100] + b"#" * 99 + b"\n")
    expect_one_line(run(folder), "the last line of a log")


@pytest.mark.slow
def test_a_run_of_a_fraction_of_a_day_goes_on_where_it_ended(tmp_path: Path) -> None:
    folder = made(tmp_path / "run", 0.25)
    assert last_time(folder).startswith("06/18/2007 06:00:00")
    assert run(folder, "--days", 0.5, "--start", "2001-01-01").status == 0
    assert last_time(folder).startswith("06/18/2007 18:00:00")
    assert [found for found, _ in events(folder)].count(326) == 2


def test_a_run_may_start_on_another_day_with_a_negative_seed(tmp_path: Path) -> None:
    words = ("--start", "2031-02-03T12:00+02:00", "--seed", -7, "--days", 0.1)
    assert run(tmp_path / "run", *words).status == 0
    assert last_time(tmp_path / "run").startswith("02/03/2031 12:24:00")


@pytest.mark.slow
def test_real_time_goes_on_after_virtual_time_that_is_past_and_not_before_it_is(
    tmp_path: Path,
) -> None:
    real = ("--clock", "real", "--days", 1e-6)
    folder = made(tmp_path / "past")
    assert run(folder, *real).status == 0
    assert [found for found, _ in events(folder)].count(103) == 4
    assert command("check", folder).status == 0
    assert run(tmp_path / "future", "--days", 0.1, "--start", "2140-01-01").status == 0
    before = content(tmp_path / "future")
    expect_one_line(run(tmp_path / "future", *real), "end at 2140-01-01 02:24 UTC", "yet to come")
    after = content(tmp_path / "future")
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} <= {"truth.jsonl"}


def test_paced_time_comes_to_the_present_and_takes_faults_from_its_standard_input(
    tmp_path: Path,
) -> None:
    begun = time.time()
    start = datetime.fromtimestamp(begun - 2 * 86400, UTC).isoformat()
    plan = tmp_path / "plan.json"
    plan.write_bytes(msgspec.json.encode(VIRTUAL))
    words = ("--clock", "paced", "--start", start, "--until-eof", "--plan", plan)
    with started("run", "--dir", tmp_path / "run", *words, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        said: list[bytes] = []
        while not said or b"the present is reached" not in said[-1]:
            said.append(process.stderr.readline())
            assert said[-1], said
        assert [line for line in said if line.endswith(b" of 2.0 days\n")]
        truth = tmp_path / "run" / "truth.jsonl"
        process.stdin.write(b'nonsense\n{"database":"c","kind":"skip"}\n')
        process.stdin.write(b'{"database":"a","kind":"flip_two"}\n')
        process.stdin.flush()
        wait_for("the fault", lambda: b'"flip_two"' in truth.read_bytes())
        process.stdin.close()
        rest = process.stderr.read().decode()
        assert process.wait(PATIENCE) == 0
        assert "a line of the standard input is no fault: " in rest
        assert "a line of the standard input: there is no database c" in rest
    last = datetime.strptime(last_time(tmp_path / "run"), "%m/%d/%Y %H:%M:%S.%f")
    assert last.replace(tzinfo=UTC).timestamp() > begun


@pytest.mark.slow
def test_in_virtual_time_the_logs_are_written_day_by_day_for_a_kill_may_come(
    tmp_path: Path,
) -> None:
    process = at_work(tmp_path / "run", "--days", 30000, plan=VIRTUAL)
    log = tmp_path / "run" / "events.jsonl"
    wait_for("an event of the second day", lambda: b"2007-06-19T" in log.read_bytes())
    # Long before there are so many that they are written in any case.
    assert log.stat().st_size < FULL // 2
    process.kill()
    finished(process)
    assert run(tmp_path / "run", "--days", 0.1).status == 0
    assert command("check", tmp_path / "run").status == 0


@pytest.fixture
def little(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MiB."""
    place = tmp_path / "little"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system of its own can only be mounted by root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_one_line_and_with_more_room_the_run_goes_on(little: Path) -> None:
    folder, plan = little / "run", little.parent / "plan.json"
    plan.write_bytes(msgspec.json.encode(msgspec.structs.replace(VIRTUAL, databases=[SMALL])))
    words = ("run", "--dir", folder, "--plan", plan, "--days")
    ballast = little / "ballast"
    # First there is no room for the database, then none to work for long.
    for room in (300_000, 2_300_000):
        ballast.write_bytes(bytes((3 << 20) - room))
        expect_one_line(command(*words, 1000), "No space left on device", str(little))
        ballast.unlink()
    larger = ["mount", "-o", "remount,size=64m", str(little)]
    subprocess.run(larger, check=True)
    again = command(*words, 3)
    assert (again.status, again.out) == (0, "")
    assert 300 in [found for found, _ in events(folder)]
    assert command("check", folder).status == 0


@pytest.mark.slow
@pytest.mark.parametrize("clock", ["real", "virtual"])
def test_a_folder_that_vanishes_is_one_line(tmp_path: Path, clock: str) -> None:
    plan = msgspec.structs.replace(
        REAL if clock == "real" else VIRTUAL,
        databases=[msgspec.structs.replace(QUICK, checkpoint_depth=0)],
    )
    process = at_work(tmp_path / "run", "--clock", clock, "--days", 30000, plan=plan)
    (tmp_path / "run").rename(tmp_path / "away")
    expect_one_line(finished(process), str(tmp_path / "run"), "No such file or directory")
    (tmp_path / "away").rename(tmp_path / "run")
    assert run(tmp_path / "run", "--days", 1e-6, plan=plan).status == 0
    assert command("check", tmp_path / "run").status == 0
