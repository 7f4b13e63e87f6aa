"""docs/message-table.md says what the fold does, and the table names what the fold uses."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

from esewatch.ese.events.message_table import MESSAGES, USED

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "message-table"
PAGE = ROOT / "docs" / "message-table.md"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    spec = spec_from_loader("message_table", SourceFileLoader("message_table", str(SCRIPT)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(script: Any) -> None:
    assert PAGE.read_text(encoding="utf-8") == script.markdown(), "run: make docs"


def test_what_the_fold_names_is_used_and_nothing_else(script: Any) -> None:
    named = frozenset().union(*script.USES.values())

    assert sorted(named - USED) == [], (
        "add them to USED of ese/events/message_table.py, then: make docs"
    )
    assert sorted(USED - named) == [], "no set of scripts/message-table has them: take them out"


def test_the_page_has_one_line_for_each_id() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()

    for event_id, message in MESSAGES.items():
        assert sum(line.startswith(f"| {event_id} | `{message.name}` |") for line in lines) == 1


def test_the_page_says_who_uses_an_id_and_why_one_is_harmless(script: Any) -> None:
    assert script.made_of(481) == "used by: I/O errors, engine errors (io)"
    assert script.made_of(1003) == "harmless: test hook: a failure on purpose"
    assert script.made_of(0) == "unexplained"
    assert script.line(MESSAGES[1]).split(" | ")[2] == "none"
