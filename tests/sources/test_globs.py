import os
from pathlib import Path

import pytest

from esewatch.sources.globs import matches

DEPTH = 1100
"""More folders than Python calls a function in itself."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.log", "b.txt", "sub/c.log", "sub/deep/d.log", ".hidden/e.log", "[x]/f.log"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.log", ["a.log"]),
        ("none*.log", []),
        ("a.log", ["a.log"]),
        ("**/*.log", ["[x]/f.log", "a.log", "sub/c.log", "sub/deep/d.log"]),
        ("**/**/*.log", ["[x]/f.log", "a.log", "sub/c.log", "sub/deep/d.log"]),
        ("sub/**/d.log", ["sub/deep/d.log"]),
        ("s*/**/*.log", ["sub/c.log", "sub/deep/d.log"]),
        ("**/deep/**/*.log", ["sub/deep/d.log"]),
        ("**/**", ["[x]/f.log", "a.log", "b.txt", "sub/c.log", "sub/deep/d.log"]),
        ("none/**/*.log", []),
    ],
)
def test_two_stars_are_any_folders(
    folder: Path, pattern: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert matches(f"{folder}/{pattern}") == [f"{folder}/{name}" for name in expected]
    monkeypatch.chdir(folder)
    assert matches(pattern) == expected


def test_links_that_lead_back_are_not_followed_for_ever(folder: Path) -> None:
    for name in ("one", "two", "sub/three"):
        (folder / name).symlink_to(folder)
    found = matches(f"{folder}/**/*.log")
    assert found == [
        f"{folder}/{name}" for name in ("[x]/f.log", "a.log", "sub/c.log", "sub/deep/d.log")
    ]


def test_folders_a_thousand_deep_end_no_search(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may write beside the logs may nest as deep as the disk takes it."""
    monkeypatch.chdir(folder / "sub")
    for _ in range(DEPTH):
        Path("d").mkdir()
        os.chdir("d")
    Path("e.log").touch()
    try:
        found = matches(f"{folder}/**/*.log")
    finally:
        for _ in range(DEPTH):  # shutil.rmtree would go no deeper than Python's stack
            Path("e.log").unlink(missing_ok=True)
            os.chdir("..")
            Path("d").rmdir()
    deep = f"{folder}/sub/{'d/' * DEPTH}e.log"
    assert deep in found
    assert len(found) == 5


def test_a_link_that_the_pattern_names_or_that_is_a_file_is_followed(folder: Path) -> None:
    (folder / "today.log").symlink_to("sub/c.log")
    (folder / "link").symlink_to("sub")
    assert f"{folder}/today.log" in matches(f"{folder}/**/*.log")
    assert matches(f"{folder}/link/*.log") == [f"{folder}/link/c.log"]
    assert matches(f"{folder}/link/**/*.log") == [
        f"{folder}/link/c.log",
        f"{folder}/link/deep/d.log",
    ]
    assert f"{folder}/link/c.log" in matches(f"{folder}/*/*.log")
