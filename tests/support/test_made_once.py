"""Who asks at the same time gets what one made; what was left half made is made anew."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.made_once import made_once, value_made_once
from tests.support.run_folder import RUN, run_folder


def _write(folder: Path) -> None:
    with (folder / "made").open("x") as file:
        file.write("begun")
        time.sleep(0.1)
        file.write(", done")


def _fail(folder: Path) -> None:
    (folder / "made").touch()
    raise RuntimeError("half made")


def test_of_four_who_ask_at_once_one_makes_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(made_once, tmp_path_factory, "asked-at-once", _write) for _ in "four"]
        folders = {each.result() for each in asked}
    (folder,) = folders
    assert (folder / "made").read_text() == "begun, done"


def test_what_was_left_half_made_is_made_anew(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(RuntimeError, match="half made"):
        made_once(tmp_path_factory, "half-made", _fail)
    folder = made_once(tmp_path_factory, "half-made", _write)
    assert (folder / "made").read_text() == "begun, done"


class Maker:
    """Counts how often it made something."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> tuple[int, str]:
        time.sleep(0.1)
        self.count += 1
        return self.count, "made"


def test_a_value_is_made_once_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RUN, str(tmp_path))
    make = Maker()
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(value_made_once, "World(seed=1)", make) for _ in "four"]
    assert {each.result() for each in asked} == {(1, "made")}
    assert value_made_once("World(seed=2)", make) == (2, "made")


def test_where_no_tests_run_a_value_is_made_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RUN)
    make = Maker()
    assert [value_made_once("a", make) for _ in "ab"] == [(1, "made"), (2, "made")]


def test_all_workers_know_the_folder_of_their_run(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    assert os.environ[RUN] == str(run_folder(tmp_path_factory))
