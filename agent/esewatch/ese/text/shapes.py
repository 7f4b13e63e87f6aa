"""Text in any language: facts that its shape alone gives.

The engine prints offsets with 16 hexadecimal digits, sizes with 8 and errors as
signed numbers with their 32-bit form, whatever language surrounds them. So a bad
page that was logged in another language is not missed.
"""

import re

from esewatch.ese.catalogue.event_row import Kind
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.strings import Fields, add_page_number, is_database_path
from esewatch.ese.text.text_paths import quoted_paths

_LONGEST = 8_192
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
    """Database and fields that the shapes give, added to the `known` fields.

    A page is a number that is neither offset nor size nor error: its hexadecimal
    form has no leading zeros to 8 or 16 digits.
    """
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
