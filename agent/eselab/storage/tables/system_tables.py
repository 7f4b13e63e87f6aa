"""The tables MSysObjids and MSysLocales: every object by its id, and versions of locales.

Of the thirteen real databases of format 0x620.20 that were read for it, written by Windows 6.2
to 10.0.20348, each has both, with these columns, flags, indexes and rows. The published engine
makes them when it makes a database, or attaches one without (`ErrDBProbeOrCreateSystemTable`,
db.cxx). Rows of locales beyond these are of indexes over Unicode text, which there are none of.
"""

from typing import Final, NamedTuple

from eselab.storage.tables.record import BINARY, LONG, SHORT, UNSIGNED_BYTE, Column, Layout

OBJECT_IDS: Final = Layout(
    "MSysObjids",
    [
        Column("objid", LONG, tagged=True),
        Column("objidTable", LONG, tagged=True),
        Column("type", SHORT, tagged=True),
    ],
    key=1,
)
"""Its rows: an object id, that of the table, and the kind of object as the catalog has it."""

LOCALES: Final = Layout(
    "MSysLocales",
    [Column("Type", UNSIGNED_BYTE), Column("iValue", LONG), Column("Key", BINARY)],
    key=1,
    key_at=2,
)

_VERSION: Final = 1
_STATE: Final = 2
_ROWS: Final = (
    *(
        (_VERSION, int(part == "Major"), f".Schema\\{side}\\{part}")
        for side in ("External", "Internal")
        for part in ("Major", "Minor", "Update")
    ),
    (_STATE, 1, "MSysLocalesConsistent"),
)


class Kept(NamedTuple):
    """Entry of the catalog for a table of the system, beside its columns."""

    flags: int
    density: int
    """Percent."""
    primary: str
    """Name of the primary index."""
    index_flags: int
    column_flags: tuple[int, ...]
    defaults: tuple[bytes | None, ...]


KEPT: Final = {
    OBJECT_IDS.name: Kept(-0x38000000, 100, "primary", 0x1002F, (0, 0, 0), (None, None, None)),
    LOCALES.name: Kept(
        -0x78000000, 92, "KeyPrimary", 0x1402F, (1, 0x30, 0), (None, bytes(4), None)
    ),
}


def rows_of_locales(page_size: int) -> list[tuple[bytes, bytes]]:
    """Keys and records of MSysLocales of a database without indexes over Unicode text."""
    rows = []
    for kind, number, text in _ROWS:
        name = f"{text}\0".encode("utf-16-le")
        rows.append((LOCALES.key(name), LOCALES.record(page_size, kind, number, name)))
    return rows
