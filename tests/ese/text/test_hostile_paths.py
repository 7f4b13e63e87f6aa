"""Paths that are hard to tell from their sentence, in every event that names a file."""

from itertools import chain

import pytest

from esewatch.ese.catalogue.event_row import EventRow, Kind, Param
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.model import Event
from tests.support.decoding import event_from_strings, event_from_text

PATHS = [
    r"D:\Dr. Who\my data.base\a.edb",
    r"C:\Program Files\x y\b.edb",
    r"D:\it's\c.edb",
    r"D:\a [1]\c.edb",
    r"D:\a (1)\c.edb",
    r"D:\a, b\c.edb",
    r"D:\x.\c.edb",
    r"D:\данные\почта.edb",
    r"D:\资料 库\数据.edb",
    r"\\?\C:\a b\c.edb",
    r"\\server\share$\a b\c.edb",
    r"C:\Windows\NTDS\ntds.dit",
]
FILES = (Kind.DATABASE, Kind.FILE)
VALUES = {
    Kind.TEXT: "zz", Kind.DATE: "6/21/2021", Kind.STATS: "3, 4", Kind.SIZE: "2 Mb",
    Kind.ERROR: "-1018 (0xfffffc06)", Kind.TIMING: "[1] 0.5", Kind.OWNED: " / 5 = 6",
}  # fmt: skip
ROWS = [
    row
    for row in CATALOGUE.values()
    if row.phrases and any(param.kind in FILES and param.hints for param in row.params)
]


def value_of(param: Param, path: str) -> str:
    return path if param.kind in FILES else VALUES.get(param.kind, "17")


def sentence(row: EventRow, path: str) -> str:
    """The words around each value, as the hints have them, then the phrases that are not among
    them. Where the words behind one value are those before the next, they stand once."""
    text = "Of the engine:"
    for param in row.params:
        if not param.hints:
            continue
        hint, value = param.hints[0].replace("#", "17"), value_of(param, path)
        if hint.startswith("="):
            text += f"\n{hint[1:]}: {value}"
            continue
        left = hint.partition("{}")[0].strip()
        quoted = f'"{value}"' if "'" in value else f"'{value}'"
        piece = hint.replace("'{}'", quoted).replace("{}", value).strip()
        once = max(
            (size for size in range(4, len(left) + 1) if text.endswith(left[:size])), default=0
        )
        text += piece[once:] if once else f"\n{piece}"
    more = (phrase for phrase in row.phrases if phrase not in text.lower())
    return f"{text}\n" + "\n".join(more)


def files_of(event: Event | None, row: EventRow) -> list[object]:
    assert event is not None
    names = [param.name for param in row.params if param.kind is Kind.FILE and param.hints]
    return [event.database, *(event.fields.get(name) for name in names)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.event_id))
def test_a_path_in_a_sentence_is_that_of_the_positional_form(row: EventRow) -> None:
    for path in PATHS:
        head = ("svchost", "1,D,0", "one: ")
        strings = (*head, *(value_of(param, path) for param in row.params))
        event_id = row.event_id
        expected = event_from_strings(provider="ESENT", event_id=event_id, strings=strings)
        text = f"svchost (1,D,0) one: {sentence(row, path)}"

        found = event_from_text(message=text, provider="ESENT", event_id=event_id)
        assert files_of(found, row) == files_of(expected, row), text


@pytest.mark.parametrize(
    ("event_id", "text"),
    [
        (218, "Error (-1018) during copy or backup of file {}."),
        (221, "Ending the copy or backup of the file {}."),
        (443, "File system error -1022 during IO or flush on logfile {}."),
        (653, "An operation in the Extent Page Count Cache table failed.\nDatabase: {}\nErr: 5\n"),
        (657, "It has no persisted auto-increment value.\nDatabase: {}\nObjid: 5\n"),
        (903, "illegally trying to update the same record\n\n\tDatabase: {}\n\n\tTable: t\n"),
    ],
)
def test_a_path_is_neither_cut_at_a_dot_nor_at_a_blank(event_id: int, text: str) -> None:
    for path, ending in chain(((path, "") for path in PATHS), ((path, "\n") for path in PATHS)):
        message = f"svchost (1,D,0) one: {text.format(path)}{ending}"

        found = event_from_text(message=message, provider="ESENT", event_id=event_id)
        assert found is not None
        assert found.fields.get("file", found.database) == path
