"""What holds for the whole repository: no foreign paths, no loose ends, no oversized files."""

import ast
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint
ROOT = Path(__file__).resolve().parents[1]
NOT_OURS = {"out", "build", "dist", "__pycache__", "node_modules"}
TEXT = {
    "", ".py", ".md", ".yml", ".yaml", ".toml", ".lock", ".json", ".sh", ".txt", ".j2",
    ".tmpl", ".css", ".html", ".js", ".svg", ".service", ".conf", ".prom", ".csv", ".ps1",
}  # fmt: skip
HOSTS = re.compile(
    r"files\.python" r"hosted|py" r"pi\.org/(?:simple|packages)|registry\.n" r"pmjs"
    r"|proxy\.go" r"lang|static\.crates|deb\.deb" r"ian\.org|repo1?\.maven|--index" r"-url"
)  # fmt: skip
MACHINE_PATHS = re.compile(r"(?<![\w/.-])/(?:work|root|farm)/|\.lib" r"rary\b")
UNFINISHED = re.compile(
    r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b|raise NotImplemented" r"Error"
)
MARKDOWN_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
MAKE_TARGET = re.compile(r"`make ([a-z0-9-]+)|^(?:\$ )?make ([a-z0-9-]+)", re.MULTILINE)


def files(*suffixes: str) -> list[Path]:
    """The files of the repository, without what git ignores by folder."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name
            for name in folders
            if name not in NOT_OURS and (name == ".ci" or not name.startswith("."))
        ]
        # The .git of a work tree is a file with a path of its machine.
        found += [Path(folder, name) for name in names if name != ".git"]
    return sorted(file for file in found if file.suffix in (suffixes or TEXT) and file.is_file())


def lines_that_match(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for file in files():
        text = file.read_text(encoding="utf-8", errors="replace")
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{file.relative_to(ROOT)}:{line}: {match.group()}")
    return found


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(HOSTS, id="no package registry by name"),
        pytest.param(MACHINE_PATHS, id="no path of one machine"),
        pytest.param(UNFINISHED, id="nothing unfinished"),
    ],
)
def test_no_file_has_what_belongs_in_none(pattern: re.Pattern[str]) -> None:
    assert lines_that_match(pattern) == []


def package_files() -> Iterator[tuple[str, str]]:
    for file in files(".py"):
        if file.is_relative_to(ROOT / "agent"):
            yield str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")


def test_no_room_of_a_package_has_more_than_15_entries() -> None:
    rooms = [folder.parent for folder in (ROOT / "agent").rglob("__init__.py")]
    entries = {
        str(room.relative_to(ROOT)): sum(
            each.suffix == ".py" or (each / "__init__.py").exists() for each in room.iterdir()
        )
        for room in rooms
    }

    assert len(entries) > 40
    assert {room: count for room, count in entries.items() if count > 15} == {}
    assert {room for room, count in entries.items() if count > 12 and "eselab" in room} == set()


def test_no_function_of_the_package_has_more_than_50_lines() -> None:
    long = [
        f"{name}:{node.lineno} {node.name}"
        for name, text in package_files()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > 50
    ]

    assert long == []


def asserts(function: ast.AST) -> bool:
    """Whether a test can fail by something it says: an assert, or a helper that is named so."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ("raises", "fail", "golden", "warns") or name.startswith(
                ("assert_", "check_", "expect")
            ):
                return True
    return False


def test_every_test_asserts_something() -> None:
    silent = [
        f"{file.relative_to(ROOT)}:{node.lineno} {node.name}"
        for file in files(".py")
        if file.name.startswith("test_")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not asserts(node)
    ]

    assert silent == []


def anchors(file: Path) -> set[str]:
    """Anchors of the headings of a Markdown file, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_of_the_documentation_leads_somewhere() -> None:
    dead = []
    for file in files(".md"):
        text = re.sub(r"^```.*?^```", "", file.read_text(encoding="utf-8"), flags=re.M | re.S)
        for link in MARKDOWN_LINK.findall(text):
            path, _, anchor = link.partition("#")
            target = (file.parent / path).resolve() if path else file
            if re.match(r"[a-z]+:", link) or path.startswith("/"):
                continue
            if not target.exists() or (anchor and anchor not in anchors(target)):
                dead.append(f"{file.relative_to(ROOT)}: {link}")

    assert dead == []


def test_every_make_target_that_the_documentation_names_exists() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        (file.name, target)
        for file in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        for pair in MAKE_TARGET.findall(file.read_text(encoding="utf-8"))
        for target in pair
        if target
    }

    assert {target for name, target in named if name == "README.md"} >= {"demo", "test"}
    assert {(name, target) for name, target in named if target not in targets} == set()


def test_the_changelog_says_in_60_lines_what_esewatch_does_and_each_change_in_one() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased = re.search(
        r"^## \[Unreleased\]\n(.*?)^### Changed\n\n(.*?)(?=^## |\Z)", text, re.M | re.S
    )

    assert unreleased is not None
    does, changed = (part.rstrip().splitlines() for part in unreleased.groups())
    assert 10 < len(does) <= 60
    assert [line for line in changed if not line.startswith("- ")] == []


def requirement_names(requirements: list[str]) -> list[str]:
    return [
        re.split(r"[^A-Za-z0-9_.-]", requirement, maxsplit=1)[0] for requirement in requirements
    ]


def test_every_runtime_dependency_has_a_decision() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    decided = "\n".join(
        file.read_text(encoding="utf-8") for file in (ROOT / "docs" / "decisions").glob("*.md")
    )

    undecided = [
        name
        for name in requirement_names(project["dependencies"])
        if not re.search(rf"\b{re.escape(name)}\b", decided, re.IGNORECASE)
    ]

    assert undecided == []


def test_decisions_are_numbered_and_have_three_headings_at_most_25_lines_and_no_table() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    texts = [page.read_text(encoding="utf-8") for page in pages]
    headings = [re.findall(r"^## (.*)$", text, re.M) for text in texts]

    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    assert headings == [["Context", "Choice", "Price"]] * len(pages)
    assert [text.splitlines()[0] for text in texts if text.count("\n") > 25 or "\n|" in text] == []


def test_the_locks_hold_every_requirement_with_its_hash() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = {
        "runtime": project["project"]["dependencies"],
        "dev": [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]],
        "build": project["dependency-groups"]["build"],
        "fuzz": project["dependency-groups"]["fuzz"],
        "audit": project["dependency-groups"]["audit"],
        "deploy": project["dependency-groups"]["deploy"],
    }
    for name, requirements in wanted.items():
        lock = (ROOT / "requirements" / f"{name}.lock").read_text()
        pins = re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)
        hashed = re.findall(r"^[\w.-]+==[^\n]* \\\n    --hash=sha256:", lock, re.MULTILINE)

        assert set(requirement_names(requirements)) <= set(pins)
        assert len(hashed) == len(pins)
