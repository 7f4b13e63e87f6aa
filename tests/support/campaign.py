"""How much of a long test is tried.

`make test-slow` tries a part, spread over the whole and the same each time, so that a failure can
be repeated. `make test-campaign` sets ESEWATCH_CAMPAIGN and tries all of it: every seed, every
mutant, every byte. What depends on it records its figure with COMMAND, so that a part never takes
the place of the whole in docs/reliability.md.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

VARIABLE = "ESEWATCH_CAMPAIGN"
WHOLE = bool(os.environ.get(VARIABLE))
EXAMPLES = int(os.environ.get("ESEWATCH_EXAMPLES", "10"))
"""Of a property of hypothesis, where it asks for no others; the slow runs set it, see Makefile."""
COMMAND = "make test-campaign" if WHOLE else "make test-slow"

T = TypeVar("T")


def number_of(whole: int, part: int) -> int:
    """So many, or a part: kills, days, seconds."""
    return whole if WHOLE else part


def some(whole: Sequence[T], part: int) -> list[T]:
    """All, or `part` of them (no more than there are), evenly spread from the first one on."""
    count = min(number_of(len(whole), part), len(whole))
    return [whole[number * len(whole) // count] for number in range(count)]
