"""The table of companions in the guide: a line for each row, with its source."""

from pathlib import Path

from esewatch.ese.companions.companion_row import Companion
from esewatch.ese.companions.companion_table import COMPANIONS
from esewatch.fold.companions import OF_COPIES, OF_DIRECTORIES
from esewatch.fold.state import checkdb_results

PAGE = Path(__file__).parents[3] / "docs" / "inputs.md"
HEAD = "| event | provider | `state` | it says | used for | described |"
USES: dict[str | int | None, str] = {
    "failover_started": "what its 308 moved",
    "failover": "the end of an open pass",
    "failover_failed": "nothing",
    **dict.fromkeys(OF_COPIES, "`copy_failed`"),
    **dict.fromkeys(OF_DIRECTORIES, "`directory_error`"),
    **dict.fromkeys((1221, 1646), "`ese_database_free_bytes`"),
    **dict.fromkeys((3027, 9871), "nothing"),
    **dict.fromkeys(checkdb_results.EVENTS, "`sqlserver_checkdb_*`"),
    **dict.fromkeys((1074, 6005, 6006), "`not_heard`"),
    None: "its `state`",
}
"""What becomes of an event, by its `state`, else by its id."""


def line(row: Companion) -> str:
    """The line of a row."""
    source = f"[page]({row.source})" if row.source.startswith("https://") else row.source
    state = f"`{row.state}`" if row.state else ""
    shown = "by its words" if row.event_id is None else row.event_id
    use = USES[row.state or row.event_id]
    return f"| {shown} | {row.provider} | {state} | {row.says} | {use} | {source} |"


def table() -> list[str]:
    """The lines of the table, by provider and id."""
    rows = [row for rows in COMPANIONS.values() for row in rows]
    rows.sort(key=lambda row: (row.provider, row.event_id or 2**16))
    return [line(row) for row in rows]


def test_the_guide_has_the_table_of_companions() -> None:
    text = PAGE.read_text("utf-8")
    _, _, rest = text.partition(HEAD + "\n| --- | --- | --- | --- | --- | --- |\n")
    written = rest.partition("\n\n")[0].splitlines()
    assert written == table(), "\n".join(table())


def test_every_row_names_its_source() -> None:
    assert all(row.source for rows in COMPANIONS.values() for row in rows)
