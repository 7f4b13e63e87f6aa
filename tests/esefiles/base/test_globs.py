import glob
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from esefiles.base.globs import base, fits, matches, search

DEPTH = 1100
"""More folders than Python calls a function in itself."""
NOBODY = 65534
FOLDERS_SEEN = ("", "/[x]", "/sub", "/sub/deep")


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
    every = [str(path) for path in folder.rglob("*.*") if ".hidden" not in path.parts]
    assert sorted(p for p in every if fits(p, f"{folder}/{pattern}") and Path(p).is_file()) == [
        f"{folder}/{name}" for name in expected
    ]
    monkeypatch.chdir(folder)
    assert matches(pattern) == expected


NAMES = (
    "a",
    "b",
    "ab",
    "A",
    ".a",
    ".h",
    "[x]",
    "a]b",
    "!a",
    "x\ny",
    "é",
    "\udcff",
    "a.log",
    "^",
    "\\",
)
PIECES = (
    *NAMES,
    "*",
    "?",
    "[!a]",
    "[a-b]",
    "[]x]",
    "[^a]",
    "[",
    "[[]",
    "]",
    ".",
    "[!]]",
    "[!",
    "[.]",
)


def planted(chance: random.Random, folder: Path, depth: int) -> None:
    """Names that are hard to compare, of files, folders, pipes, and links that lead anywhere."""
    for name in chance.sample(NAMES, chance.randrange(6)):
        path, kind = folder / name, chance.randrange(8)
        if kind < 4 and depth:
            path.mkdir()
            planted(chance, path, depth - 1)
        elif kind == 4:
            path.symlink_to(chance.choice((".", "..", name, "nowhere", "a")))
        elif kind == 5:
            os.mkfifo(path)
        else:
            path.touch()


@pytest.mark.parametrize("seed", range(40))
def test_a_pattern_without_two_stars_finds_what_the_glob_of_python_finds(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    planted(chance, tmp_path, 3)
    monkeypatch.chdir(tmp_path)
    for _ in range(50):
        wild = ["".join(chance.choices(PIECES, k=chance.randrange(1, 3))) for _ in range(3)]
        parts = [chance.choice(("*", ".*", each, each)) for each in wild]
        # Another form of a path names the same: glob keeps it, here it is that of pathlib.
        pattern = str(Path(*parts[: chance.randrange(1, 4)]))
        if pattern == "." or "**" in pattern:
            continue
        for each in (pattern, f"{tmp_path}/{pattern}"):
            found = search(each)
            assert (found.paths, found.barred) == (sorted(glob.glob(each)), {}), each  # noqa: PTH207
            assert all(fits(path, each) for path in found.paths), each


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("/a/b/*.log", "/a/b"),
        ("/a/./b//[c]/../d?.log", "/a/b"),
        ("/*", "/"),
        ("/a/b", "/a/b"),
        ("a/../b/**/*.log", "a/../b"),
        ("*.log", "."),
        ("**", "."),
    ],
)
def test_the_base_of_a_pattern_is_the_folder_that_all_of_it_is_below(
    pattern: str, expected: str
) -> None:
    assert base(pattern) == expected


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


@contextmanager
def as_anybody() -> Iterator[None]:
    """For root, which may read everything: as a user with no rights of its own."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize(
    "case",
    [
        ("*/c.log", 0, [], ["link", "sub"]),
        ("*/*.log", 0, ["[x]/f.log"], ["link", "sub"]),
        ("*/deep/*.log", 0, [], ["link", "sub"]),
        ("s*/deep/d.log", 0, [], ["sub"]),
        ("sub/deep/*.log", 0, [], ["sub"]),
        ("sub/*/*.log", 0, [], ["sub"]),
        ("sub/**/d.log", 0, [], ["sub"]),
        ("**/c.log", 0, [], ["sub"]),
        ("**/*.log", 0, ["[x]/f.log", "a.log"], ["sub"]),
        ("**", 0, ["[x]/f.log", "a.log", "b.txt", "gone", "loop"], ["sub"]),
        ("li*/c.log", 0, [], ["link"]),
        ("link/*.log", 0, [], ["link"]),
        ("**/x/*.log", 0, [], ["sub"]),
        ("*.log", 0, ["a.log"], []),
        ("*/f.log", 0, ["[x]/f.log"], ["link", "sub"]),
        ("[[]x]/*.log", 0, ["[x]/f.log"], []),
        # What may be passed and not be listed shows what is named.
        ("*/c.log", 0o111, ["link/c.log", "sub/c.log"], []),
        ("**/c.log", 0o111, ["sub/c.log"], ["sub"]),
        ("s*/*.log", 0o111, [], ["sub"]),
        # What may be listed and not be passed shows names and no files.
        ("s*/*.log", 0o444, ["sub/c.log"], []),
        ("s*/c.log", 0o444, [], ["sub"]),
        ("**/d.log", 0o444, [], ["sub"]),
    ],
)
def test_a_folder_that_bars_the_way_is_told(
    folder: Path, case: tuple[str, int, list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern, mode, expected, barred = case
    (folder / "link").symlink_to("sub")
    (folder / "loop").symlink_to("loop")
    (folder / "gone").symlink_to("nowhere")
    folder.chmod(0o755)
    monkeypatch.chdir(folder)
    (folder / "sub").chmod(mode)
    try:
        with as_anybody():
            found = search(pattern)
    finally:
        (folder / "sub").chmod(0o755)
    assert found.paths == expected
    assert found.barred == dict.fromkeys(barred, "Permission denied")


def test_of_a_folder_that_may_be_read_nothing_is_told(folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    for pattern in ("*/*.log", "**/*.log", "*/none/*.log", "a.log/*", "none/*", "loop/*", "*/*/*"):
        assert search(f"{folder}/{pattern}").barred == {}


def test_a_search_looks_once_at_each_folder_and_at_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A poll costs so much; beside these a name that stands behind a star is checked itself."""
    asked: list[str] = []

    def counted(name: str) -> None:
        real = getattr(os, name)

        def call(path: object, *rest: object, **options: object) -> object:
            asked.append(f"{name} {str(path).removeprefix(str(folder))}")
            return real(path, *rest, **options)

        monkeypatch.setattr(os, name, call)

    for name in ("scandir", "stat", "lstat", "access"):
        counted(name)
    assert len(search(f"{folder}/*/*.log").paths) == 2
    assert sorted(asked) == ["scandir ", "scandir /[x]", "scandir /sub"]
    asked.clear()
    assert search(f"{folder}/s*/c.log").paths == [f"{folder}/sub/c.log"]
    assert sorted(asked) == ["lstat /sub/c.log", "scandir "]
    asked.clear()
    assert len(search(f"{folder}/**/*.log").paths) == 4
    assert sorted(asked) == sorted(f"scandir {name}" for name in FOLDERS_SEEN)
