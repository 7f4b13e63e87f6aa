"""The parameters of a catalogue row as one prepared function, from texts to fields.

Most parameters are short numbers: these are written without a call.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from esewatch.ese.dates import DateOrder
from esewatch.ese.strings import PLAIN_NUMBERS, SHORT_DIGITS, Fields, Writer
from esewatch.model import FieldValue

RowPlan = Callable[[Sequence[str], DateOrder | None], Fields]
"""Texts and the order of dates -> fields."""


class FieldStep(NamedTuple):
    """One text becomes one field."""

    place: int
    name: str
    writer: Writer
    digits: bool = False
    """The text is the number itself: decimal digits, and nothing else."""


def prepared(constants: Mapping[str, FieldValue], steps: Sequence[FieldStep]) -> RowPlan:
    """The function that writes `constants` and the fields of all steps, in their order."""
    written: Fields = dict(constants)
    told = tuple((*step, step.writer in PLAIN_NUMBERS) for step in steps)

    def plan(texts: Sequence[str], order: DateOrder | None) -> Fields:
        fields = written.copy()
        for place, name, write, digits, plain in told:
            text = texts[place]
            if digits or (plain and len(text) <= SHORT_DIGITS and text.isdecimal()):
                fields[name] = int(text)
            else:
                write(fields, name, text, order)
        return fields

    return plan
