"""The wall between the rooms, where import-linter (`make lint`) does not look."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.each import of_each

pytestmark = pytest.mark.lint
ROOT = Path(__file__).resolve().parents[1]
AGENT = ROOT / "agent"
PURE = ("esefiles/pages", "esefiles/logs", "esewatch/ese", "esewatch/fold", "esewatch/advice")
CLOCKS = {"now", "today", "utcnow"}
SIDE_EFFECTS = {"open", "print", "input", "exec", "eval", "__import__"}


def pure_files() -> list[Path]:
    return sorted(file for room in PURE for file in (AGENT / room).rglob("*.py"))


def calls(file: Path) -> Iterator[tuple[str, bool]]:
    """Name of each called function of `file`, and whether it is called on something."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                yield node.func.attr, True
            elif isinstance(node.func, ast.Name):
                yield node.func.id, False


@of_each(pure_files(), lambda file: str(file.relative_to(AGENT)))
def test_what_is_pure_asks_no_clock_and_touches_nothing(file: Path) -> None:
    found = {name for name, on_something in calls(file) if on_something and name in CLOCKS}
    found |= {name for name, on_something in calls(file) if not on_something} & SIDE_EFFECTS

    assert not found


def test_every_room_is_a_package_so_that_the_wall_sees_it() -> None:
    folders = {file.parent for file in AGENT.rglob("*.py")}

    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_the_guide_and_the_wall_name_the_same_order() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [re.sub(r"[()]", "", layer) for layer in contracts["contracts"][0]["layers"]]
    order = " → ".join(
        "{" + layer.replace(" | ", ", ") + "}" if "|" in layer else layer
        for layer in layers
        if layer != "__main__"
    )

    assert f"`{order}`" in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
