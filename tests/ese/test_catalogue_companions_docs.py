"""The table of companions in the guide: a line for each row, with its source."""

from pathlib import Path

from esewatch.ese.catalogue_companions import COMPANIONS
from esewatch.ese.catalogue_companions_row import Companion

PAGE = Path(__file__).parents[2] / "docs" / "inputs.md"
HEAD = "| event | provider | `state` | it says | described |"


def line(row: Companion) -> str:
    """The line of a row."""
    source = f"[page]({row.source})" if row.source.startswith("https://") else row.source
    state = f"`{row.state}`" if row.state else ""
    shown = "by its words" if row.event_id is None else row.event_id
    return f"| {shown} | {row.provider} | {state} | {row.says} | {source} |"


def table() -> list[str]:
    """The lines of the table, by provider and id."""
    rows = [row for rows in COMPANIONS.values() for row in rows]
    rows.sort(key=lambda row: (row.provider, row.event_id or 2**16))
    return [line(row) for row in rows]


def test_the_guide_has_the_table_of_companions() -> None:
    text = PAGE.read_text("utf-8")
    _, _, rest = text.partition(HEAD + "\n| --- | --- | --- | --- | --- |\n")
    written = rest.partition("\n\n")[0].splitlines()
    assert written == table(), "\n".join(table())


def test_every_row_names_its_source() -> None:
    assert all(row.source for rows in COMPANIONS.values() for row in rows)
