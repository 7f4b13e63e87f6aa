"""The parameters of a catalogue row as one compiled function, from texts to fields.

A row is a list of steps, and most steps write a short number: a function made once for the row
does that without a loop and without a call.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from esewatch.ese.dates import DateOrder
from esewatch.ese.strings import PLAIN_NUMBERS, SHORT_DIGITS, Fields, Writer
from esewatch.model import FieldValue

RowPlan = Callable[[Sequence[str], DateOrder | None], Fields]
"""Texts and the order of dates -> fields."""


class Step(NamedTuple):
    """One text becomes one field."""

    place: int
    name: str
    writer: Writer


def compiled(constants: Mapping[str, FieldValue], steps: Sequence[Step]) -> RowPlan:
    """The function that writes `constants` and the fields of all steps, in their order.

    The source of the function is made of the catalogue alone, never of what was read.
    """
    lines = ["def plan(texts, order):", f"    fields = {dict(constants)!r}"]
    known: dict[str, Any] = {}
    for place, name, writer in steps:
        known[f"write_{place}"] = writer
        lines.append(f"    text = texts[{place}]")
        call = f"write_{place}(fields, {name!r}, text, order)"
        if writer in PLAIN_NUMBERS:
            lines.append(f"    if len(text) <= {SHORT_DIGITS} and text.isdecimal():")
            lines.append(f"        fields[{name!r}] = int(text)")
            lines.append(f"    else: {call}")
        else:
            lines.append(f"    {call}")
    lines.append("    return fields")
    exec("\n".join(lines), known)
    plan: RowPlan = known["plan"]
    return plan
