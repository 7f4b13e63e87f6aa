"""Who asks at the same time gets what one made; what was left half made is made anew."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.made_once import made_once


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
