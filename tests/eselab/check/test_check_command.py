"""`engine check` as a user meets it: it looks and changes nothing."""

import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eselab.__main__ import main
from eselab.base.plan import DAY, FaultPlan
from tests.eselab.commanding import (
    REAL,
    ROOT,
    VIRTUAL,
    at_work,
    command,
    content,
    expect_one_line,
    finished,
    killed,
    made,
    run,
)
from tests.support.campaign import COMMAND, some
from tests.support.figures import record
from tests.support.patience import PATIENCE


def checked(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, list[Any], str]:
    """Exit status of `engine check`, what it says in JSON, what it complains of."""
    capsys.readouterr()
    status = main(["check", "--format", "json", *map(str, words)])
    printed = capsys.readouterr()
    return status, [msgspec.json.decode(line) for line in printed.out.splitlines()], printed.err


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has ended. Not to be changed."""
    return made(tmp_path_factory.mktemp("kept") / "run", 1.5)


@pytest.fixture(scope="module")
def dirty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was killed in virtual time. Not to be changed."""
    folder = tmp_path_factory.mktemp("dirty") / "run"
    plan = msgspec.structs.replace(
        VIRTUAL, faults=[FaultPlan(at=1.4 * DAY, database="a", kind="kill")]
    )
    assert run(folder, plan=plan).status == -signal.SIGKILL
    return folder


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    """A run that has ended."""
    return shutil.copytree(kept, tmp_path / "run")


def test_a_run_a_database_s_folder_and_a_file_can_be_checked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(folder)
    status, whole, _ = checked(capsys, folder)
    assert status == 0
    assert [row["path"] for row in whole] == [str(folder / name / f"{name}.edb") for name in "ab"]
    assert all(row["faults"] == row["bad"] == [] for row in whole)
    assert all(row["tables"]["Msg"] > 100 for row in whole)
    assert checked(capsys, folder / "b") == checked(capsys, folder / "b" / "b.edb")
    assert checked(capsys, folder / "b")[1] == whole[1:]
    assert content(folder) == before


def test_the_text_has_a_line_for_each_database_and_one_for_each_fault(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (folder / "a" / "a.edb").open("r+b") as file:
        file.seek(8192 * 7 + 100)
        file.write(b"\xff" * 50)
    assert main(["check", str(folder)]) == 1
    first, *faults, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{folder / 'a' / 'a.edb'}: {len(faults)} fault")
    assert "  page 6: the checksum is wrong" in faults
    assert last.startswith(f"{folder / 'b' / 'b.edb'}: sound: ")
    status, (bad, good), _ = checked(capsys, folder)
    assert (status, bad["bad"], good["bad"]) == (1, [6], [])


def test_what_is_no_database_is_status_2_and_the_others_are_checked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found, said = checked(capsys, folder / "none", folder)
    assert (status, len(found)) == (2, 2)
    assert said == f"esewatch engine: {folder / 'none'}: no database of the engine is there\n"
    (folder / "empty").mkdir()
    assert checked(capsys, folder / "empty")[0] == 2


def test_a_database_that_was_killed_is_sound_and_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = killed(tmp_path / "run")
    before = content(folder)
    status, (found,), _ = checked(capsys, folder)
    assert (status, found["faults"]) == (0, [])
    assert content(folder) == before


def test_one_that_is_being_made_is_not_looked_at(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder / "a", folder / "c.new")
    (folder / "c.new" / "a.edb").rename(folder / "c.new" / "c.edb")
    assert len(checked(capsys, folder)[1]) == 2


def test_no_database_is_looked_at_while_an_engine_works_on_it(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = at_work(folder, "--clock", "real", plan=REAL)
    for path in (folder, folder / "a", folder / "a" / "a.edb"):
        expect_one_line(command("check", path), f"{folder}: another engine runs in this folder")
    process.kill()
    finished(process)
    assert command("check", folder).status == 0


def test_a_reader_that_has_seen_enough_is_no_failure(folder: Path) -> None:
    words = [sys.executable, "-m", "esewatch", "engine", "check", *[str(folder)] * 3]
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 0


def damaged(folder: Path, chance: random.Random) -> str:
    """Do something to a file of a run; what."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    path = chance.choice(files)
    data = bytearray(path.read_bytes())
    how = chance.choice(("flip", "cut", "zero", "lose", "grow", "swap"))
    at = chance.randrange(len(data))
    if how == "flip":
        for _ in range(chance.randint(1, 30)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif how == "cut":
        del data[at:]
    elif how == "zero":
        end = min(len(data), at + chance.choice((1, 600, 9000)))
        data[at:end] = bytes(end - at)
    elif how == "grow":
        data += chance.randbytes(chance.choice((1, 5000)))
    elif how == "swap":
        data = bytearray(chance.choice(files).read_bytes())
    path.write_bytes(data)
    if how == "lose":
        path.unlink()
    return f"{how} {path.relative_to(folder)} at {at}"


def check_damage(kept: Path, place: Path, seed: int) -> None:
    """Damage, check, run: no traceback, and check says what is wrong or all is well."""
    chance = random.Random(seed)
    folder = shutil.copytree(kept, place / "run")
    what = [damaged(folder, chance) for _ in range(chance.choice((1, 1, 3)))]
    before = content(folder)
    found = command("check", folder)
    assert found.status in {0, 1, 2}, what
    assert "Traceback" not in found.error, (what, found.error)
    assert content(folder) == before
    ran = run(folder, "--days", 1.2)
    assert ran.status in {0, 2}, (what, ran.error)
    assert "Traceback" not in ran.error, (what, ran.error)
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(each, marks=pytest.mark.slow) for each in range(2, 6))]
)
def test_damage_to_any_file_of_a_run_is_never_a_traceback(
    kept: Path, dirty: Path, tmp_path: Path, seed: int
) -> None:
    check_damage((kept, dirty)[seed % 2], tmp_path, seed)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_damage_to_any_file_of_a_run_is_never_a_traceback_for_long(
    kept: Path, dirty: Path, tmp_path: Path
) -> None:
    seeds = some(range(100, 300), 60)
    for seed in seeds:
        check_damage((kept, dirty)[seed % 2], tmp_path, seed)
    record(
        "damage to a random file of a run of the bundled engine, 6 kinds",
        f"{len(seeds)} runs, each ended well or with one line; `check` changed nothing",
        COMMAND,
    )
