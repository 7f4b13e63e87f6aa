"""All sentences that the product can say, for somebody to read as a whole: `make sentences`.

Taken from the source: texts of the package of two words and more that are no documentation, and
the text of the templates. `{…}` stands for a value.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
AGENT = ROOT / "agent"
FOREIGN = (
    "eselab",
    *(f"esewatch/ese/{room}" for room in ("catalogue", "companions", "programs", "text")),
)
"""Rooms whose texts are those of other programs, to be recognised, and the engine's."""
_WORDS = re.compile(r"[A-Za-z]{2,}")
_BLOCK = re.compile(r"{#.*?#}|{%.*?%}|<style>.*?</style>", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")


class Sentence(NamedTuple):
    """One text and where it is said."""

    place: str
    text: str


def sentences() -> list[Sentence]:
    """By place."""
    found = [*_of_modules(), *_of_templates()]
    return sorted(each for each in found if len(_WORDS.findall(each.text)) > 1)


def _of_modules() -> Iterator[Sentence]:
    for path in AGENT.rglob("*.py"):
        room = path.relative_to(AGENT).as_posix()
        if room.startswith(FOREIGN):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        skipped = _documentation(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                skipped.update(id(part) for part in ast.walk(node) if part is not node)
        for node in ast.walk(tree):
            text = None if id(node) in skipped else _text(node)
            if text is not None and " " in text.strip():
                yield Sentence(f"{room}:{getattr(node, 'lineno', 0)}", " ".join(text.split()))


def _documentation(tree: ast.AST) -> set[int]:
    """Texts that stand alone: they are read in the source only."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values
        )
    return None


def _of_templates() -> Iterator[Sentence]:
    for path in AGENT.rglob("esewatch/**/*.html.j2"):
        text = _BLOCK.sub("", path.read_text(encoding="utf-8"))
        text = re.sub(r"{{.*?}}", "{…}", text, flags=re.DOTALL)
        room = path.relative_to(AGENT).as_posix()
        for number, line in enumerate(text.splitlines(), 1):
            said = " ".join(_TAG.sub(" ", line).split())
            if said:
                yield Sentence(f"{room}:{number}", said)


if __name__ == "__main__":
    for each in sentences():
        print(f"{each.place}: {each.text}")
