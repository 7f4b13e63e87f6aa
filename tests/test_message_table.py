"""The page of messages says what the fold does, and the table names what the fold uses."""

from pathlib import Path

import pytest

from esewatch.ese.events.message_table import MESSAGES, USED
from scripts import message_table_page

pytestmark = pytest.mark.lint
ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "message-table.md"


def test_what_the_fold_names_is_used_and_nothing_else() -> None:
    named = frozenset().union(*message_table_page.USES.values())

    assert sorted(named - USED) == [], (
        "add them to USED of ese/events/message_table.py, then: make docs"
    )
    assert sorted(USED - named) == [], (
        "no set of scripts/message_table_page.py has them: take them out"
    )


def test_the_page_has_one_line_for_each_id() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()

    for event_id, message in MESSAGES.items():
        assert sum(line.startswith(f"| {event_id} | `{message.name}` |") for line in lines) == 1


def test_the_page_says_who_uses_an_id_and_why_one_is_harmless() -> None:
    assert message_table_page.made_of(481) == "used by: I/O errors, engine errors (io)"
    assert message_table_page.made_of(1003) == "harmless: test hook: a failure on purpose"
    assert message_table_page.made_of(0) == "unexplained"
    assert message_table_page.line(MESSAGES[1]).split(" | ")[2] == "none"
