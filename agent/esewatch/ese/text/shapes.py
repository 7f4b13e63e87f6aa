"""Text in any language: paths, and facts that its shape alone gives.

The engine prints offsets with 16 hexadecimal digits, sizes with 8 and errors as
signed numbers with their 32-bit form, whatever language surrounds them. So a bad
page that was logged in another language is not missed.

A path is known by its form and by the quotation marks around it. English and other texts of some
events (447, 467) have no quotes: there a whole path with the extension of a database is taken, if
it is the only one.
"""

import re

from esewatch.ese.catalogue.event_row import Kind
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.strings import Fields, add_page_number, is_database_path, parse_path

_LONGEST = 8_192
_SPACED = {"«": "»", "‹": "›"}
"""Marks with a blank inside, as French has them."""
_CLOSINGS = {
    '"': '"“”', "„": '“”"', "“": '”"', "”": "”",
    "»": "«»", "›": "‹›", "「": "」", "『": "』", **_SPACED,
}  # fmt: skip
"""Opening mark -> marks that close it, by language."""
_APOSTROPHES = {"'": "'", "‚": "‘’'", "‘": "’'", "’": "’"}
"""The same of marks that may stand inside a path or a word: no letter follows the closing one."""
_ROOT = r"(?:[A-Za-z]:|\\\\|/)"


def _between(opening: str, closings: str) -> str:
    blank = r"\s?" if opening in _SPACED else ""
    inside = rf"[^{closings}]"
    path = rf"({_ROOT}{inside}{{1,1024}}?|[^\s\\/:{closings}]{{1,255}}\.\w{{1,8}})"
    return rf"{opening}{blank}{path}{blank}[{closings}]"


def _apostrophes(opening: str, closings: str) -> str:
    path = rf"({_ROOT}.{{1,1024}}?|[^\s\\/:{closings}]{{1,255}}\.\w{{1,8}})"
    return rf"{opening}{path}[{closings}](?![A-Za-z0-9\\])"


_QUOTED = re.compile(
    "(?<![A-Za-z0-9])(?:"
    + "|".join(
        [_between(*pair) for pair in _CLOSINGS.items()]
        + [_apostrophes(*pair) for pair in _APOSTROPHES.items()]
    )
    + ")"
)
_KNOWN = r"\.(?:edb|dit|mdb|sdb|dat|db|que)"
_BARE = re.compile(
    rf"(?<!\w)(?:[A-Za-z]:\\|\\\\)[^\"'<>|*?:\n]{{1,255}}?{_KNOWN}(?![a-z0-9_\\/-]|\.\w)",
    re.IGNORECASE | re.ASCII,
)
_DATABASE = re.compile(rf"{_ROOT}.*[^\\/.]\.\w{{1,8}}|.+{_KNOWN}", re.IGNORECASE)


def quoted_paths(text: str) -> list[str]:
    """The paths in quotation marks of any language, in their order, each once."""
    flat = text[:_LONGEST].replace("\n", " ")
    found = (parse_path(match[match.lastindex or 0]) for match in _QUOTED.finditer(flat))
    return list(dict.fromkeys(filter(None, found)))


def named_database(event_id: int, text: str, *, whole: bool) -> str:
    """The database of an event whose row has one, empty where the text does not show it. Of several
    paths the first is taken only where the path is the event's first parameter. `whole`: the text
    is not cut."""
    params = CATALOGUE[event_id].params if event_id in CATALOGUE else ()
    if not any(param.kind in (Kind.DATABASE, Kind.FILE) for param in params):
        return ""
    # Not a log or a folder; a name without a folder only with the extension of a database.
    paths = quoted_paths(text)
    found = [path for path in paths if is_database_path(path) and _DATABASE.fullmatch(path)]
    if not found and whole:
        flat = text[:_LONGEST].replace("\n", " ")
        found = list(dict.fromkeys(_BARE.findall(flat)))
    if len(found) == 1 or (found and params[0].kind is Kind.DATABASE):
        return found[0]
    return ""


_NUMBER = re.compile(r"(?<![\w.])(-?\d{1,20})\s*\(\s*0x([0-9a-fA-F]{1,16})\s*\)")

SHAPED: frozenset[int] = frozenset(
    row.event_id
    for row in CATALOGUE.values()
    if any(param.kind is Kind.FILE for param in row.params)
    and any(param.name == "offset" for param in row.params)
)
"""Events whose file, offset, size, error and page stand in the text by shape."""


def _add_pages(event_id: int, fields: Fields, pages: list[int]) -> None:
    """A page that the text names goes first, unless it may be that of another place; else offset
    and size give it exactly."""
    if len(pages) == 1 and event_id != 475:
        fields.setdefault("page_number", pages[0])
    add_page_number(fields)
    if pages:
        fields.setdefault("page_number", pages[0])
    if event_id == 475 and "page_number" in fields:
        lies = fields["page_number"]
        fields.setdefault("expected", lies)
        for page in pages:
            if page != lies:
                fields.setdefault("actual", page)


def fields_of_shapes(event_id: int, text: str, known: Fields) -> tuple[str, Fields]:
    """Database and fields that the shapes give, added to the `known` fields. A page is a number
    that is neither offset nor size nor error: its hexadecimal form has no leading zeros to 8 or 16
    digits."""
    row = CATALOGUE[event_id]
    names = {param.name for param in row.params}
    fields: Fields = dict(known)
    flat = text[:_LONGEST].replace("\n", " ")
    pages = []
    for match in _NUMBER.finditer(flat):
        value, digits = int(match[1]), len(match[2])
        if int(match[2], 16) not in (value, value + 2**32):
            continue  # a number that does not print both forms alike
        if value < 0:
            fields.setdefault("error", value)
        elif digits == 16:
            fields.setdefault("offset", value)
        elif digits == 8 and "bytes" in names:
            fields.setdefault("bytes", value)
        elif digits < 8:
            pages.append(value)
    if paths := quoted_paths(flat):
        fields.setdefault("file", paths[0])
    if row.page_error:
        _add_pages(event_id, fields, pages)
    file = fields.get("file")
    return (file if isinstance(file, str) and is_database_path(file) else ""), fields
