"""What a person reads is written in the words of the field: CONTRIBUTING.md, Style."""

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.rules.expressions import alerts
from tests.support.sentences import Sentence, sentences

pytestmark = pytest.mark.lint
ROOT = Path(__file__).resolve().parents[1]
PRIVATE = re.compile(
    r"\b(blind|mend(s|ed|ing)?|tells? of|told|as dealt with|no leave to|broken off|need be"
    r"|pile of|(is|are) asked for|middle one|looked (at|into)|for ever|begins? anew|taken up"
    r"|nine times in ten|openings of|left out in which|it should within"
    r"|what \w+( \w+){0,6},? and what)\b",
    re.IGNORECASE,
)
"""Words and phrases that only this project used, and those that need a second reading."""
IN_COMMENTS = re.compile(
    r"\b(mend(s|ed|ing)?|tells? of|told|as dealt with|broken off|need be|pile of"
    r"|looked (at|into)|for ever|begins? anew|openings of)\b",
    re.IGNORECASE,
)
"""Those that comments and docstrings do without, too."""
AFTER_HASH = re.compile(r"#.*")
"""A comment, whatever else: a file is taken apart, which is slow, only if one is suspect."""
QUESTION = re.compile(r"(what|whether|which|how|when|where|who|whose|why)\b(?!-)", re.IGNORECASE)
CODE = re.compile(r"```.*?```|^ {4,}.*$|`[^`\n]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
SHOWN = {"title", "description", "noValue", "displayName", "text", "label"}
"""Settings of a dashboard whose text a person reads."""


def pages() -> list[Path]:
    folders = (ROOT / "docs", ROOT / "docs" / "reference", ROOT / "docs" / "runbooks")
    others = [ROOT / each / "README.md" for each in (".", "alerts", "dashboards")]
    return sorted([*(page for folder in folders for page in folder.glob("*.md")), *others])


def private(sentence: str) -> list[str]:
    return [found[0] for found in PRIVATE.finditer(sentence)]


@cache
def of_the_program() -> list[Sentence]:
    return sentences()


def test_the_program_says_nothing_in_private_words() -> None:
    found = of_the_program()
    assert len(found) > 1500
    assert [f"{each.place}: {each.text}" for each in found if private(each.text)] == []


def prose(file: Path) -> Iterator[str]:
    """Docstrings, and the comments of a file that has a suspect one; without code in backticks."""
    text = file.read_text(encoding="utf-8")
    if any(map(IN_COMMENTS.search, AFTER_HASH.findall(text))):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield re.sub(r"`[^`]*`", "", token.string)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield CODE.sub("", str(node.value.value))


def test_comments_and_docstrings_use_no_private_words() -> None:
    files = [file for room in ("agent", "tests") for file in sorted((ROOT / room).rglob("*.py"))]
    suspects = [file for file in files if IN_COMMENTS.search(file.read_text(encoding="utf-8"))]
    assert len(files) > len(suspects) > 50, "`told` and `mend` are names, too"
    found = [(file.name, text) for file in suspects for text in prose(file)]
    assert [f"{name}: {text}" for name, text in found if IN_COMMENTS.search(text)] == []


def suspect(file: Path) -> list[str]:
    return [text for text in prose(file) if IN_COMMENTS.search(text)]


def test_a_comment_and_a_docstring_in_private_words_are_found(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text('"""Told once."""\n# plain\nmend = 1  # `mend` is told\ntold = "# told"\n')
    assert suspect(file) == ["#  is told", "Told once."]
    file.write_text('told = 1  # plain\n"""It mends."""\n')
    assert suspect(file) == ["It mends."]


def docstrings(file: Path) -> Iterator[str]:
    """Those of the module, its classes and functions, and those behind attributes."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value).strip()


def test_a_docstring_begins_with_the_thing_and_not_with_a_question() -> None:
    found = [
        (file.name, text)
        for file in sorted((ROOT / "agent").rglob("*.py"))
        for text in docstrings(file)
    ]
    assert len(found) > 3000
    assert [f"{name}: {text}" for name, text in found if QUESTION.match(text)] == []


def test_no_alert_says_anything_in_private_words() -> None:
    said = [note for rule in alerts() for note in rule["annotations"].values()]
    assert len(said) > 150
    assert [note for note in said if private(note)] == []


def shown(board: Any) -> Iterator[str]:
    """All that a dashboard shows: of titles, descriptions, links, empty panels and values."""
    if isinstance(board, list):
        for each in board:
            yield from shown(each)
    elif isinstance(board, dict):
        for key, value in board.items():
            if isinstance(value, str) and key in SHOWN:
                yield value
            yield from shown(value)


def test_no_dashboard_says_anything_in_private_words() -> None:
    boards = sorted((ROOT / "dashboards").glob("*.json"))
    said = [text for path in boards for text in shown(json.loads(path.read_text()))]
    assert len(said) > 500
    assert [text for text in said if private(text)] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_no_page_of_the_guide_uses_private_words(page: Path) -> None:
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    assert [line for line in text.splitlines() if private(line)] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "blind hosts: what is known may be old",
        "11 problems to mend",
        "take known bad pages as dealt with",
        "the window is longer than it need be",
        "7 days are asked for",
        "what it costs and what it gives",
    ],
)
def test_such_a_sentence_is_refused(sentence: str) -> None:
    assert private(sentence)


def test_the_list_has_the_texts_of_modules_and_of_templates() -> None:
    found = of_the_program()
    assert Sentence("esewatch/expose/pages/templates/list.html.j2", "") < found[-1]
    said = {each.text for each in found}
    assert "No database matches." in said
    assert "no bad page is known" in said
