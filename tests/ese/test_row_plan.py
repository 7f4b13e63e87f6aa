"""The prepared function of a row writes what its steps write one by one."""

import random

from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.dates import ORDERS, DateOrder
from esewatch.ese.events.from_strings import event_from_strings
from esewatch.ese.strings import WRITERS, Fields, add_page_number

ODD = (
    "", " ", "0", "7", " 42 ", "-1", "-1018", "4294966278", "2147483648", "9" * 9, "9" * 10,
    "9" * 18, "9" * 19, "9" * 20, "1,234", "1.234.567", "1 234", "12 (0x0c)", "0xfffffc06",
    "-1018 (0xfffffc06)", "8192 (0x00002000)", "12, 0", "-, 5", "2 Mb", "1,5 GB", "0.250", "3,5",
    "[1] 0.25", " / 40 = 12.5", "6/16/2007", "16.06.2007", "2007-06-16 01:00:00", "٣", "5x", "\n",
    "e:\\a.edb", "e:\\E0000012.log", "7\n8",
)  # fmt: skip
COUNT = 20_000


def step_by_step(event_id: int, params: list[str], order: DateOrder | None) -> Fields:
    """The fields of the row, each written by the writer of its kind, missing ones left out."""
    row = CATALOGUE[event_id]
    fields: Fields = dict(row.constants)
    for param, text in zip(row.params, params, strict=False):
        if param.kind in WRITERS:
            WRITERS[param.kind](fields, param.name, text, order)
    if row.page_error:
        add_page_number(fields)
    return fields


def test_made_up_strings_of_every_row_give_the_same_fields_in_the_same_order() -> None:
    rng = random.Random(703)
    different = []
    for event_id in rng.choices(list(CATALOGUE), k=COUNT):
        row = CATALOGUE[event_id]
        params = rng.choices(ODD, k=rng.randint(0, len(row.params) + 1))
        order = rng.choice((None, *ORDERS))
        expected = step_by_step(event_id, params, order)
        strings = ("MSExchangeIS", "3392", "SG06: ", *params)
        event = event_from_strings(
            provider="ESE", event_id=event_id, strings=strings, date_order=order
        )
        found = event.fields if event else {}
        if list(found.items()) != list(expected.items()):
            different.append((event_id, params, found, expected))

    assert different == []
