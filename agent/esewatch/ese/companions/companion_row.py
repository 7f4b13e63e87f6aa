"""The shape of a row of the companions: one event of another provider, and where it is described.

A row is data and one function that reads the strings or the rendered text. The function
gives None where the id alone does not tell (another error code, other words).
"""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from esewatch.ese.strings import Fields, parse_int
from esewatch.model import Level

State = Literal[
    "", "failover_started", "failover", "failover_failed", "failed", "suspended", "seeding_failed",
    "replication_stopped", "usn_rollback", "database_error",
]  # fmt: skip
"""The state of a copy or of a directory that a companion reports; the field `state`. Empty:
none."""

LONGEST_NAME = 512


class CompanionFound(NamedTuple):
    """The content of a companion: fields, instance and database as named there."""

    fields: Fields
    ese_instance: str = ""
    database: str = ""


class CompanionText(NamedTuple):
    """The text to read: one of strings and text, or both empty."""

    computer: str
    """That of the event."""
    strings: tuple[str, ...]
    text: str

    @property
    def words(self) -> str:
        """The text; a text that was handed over as strings."""
        return self.text or "\n".join(self.strings)


Decoder = Callable[[CompanionText], CompanionFound | None]


class Companion(NamedTuple):
    """One event of another provider. `event_id` is None where the words tell it, whatever the id.
    `source` is the address of the public page that describes the event, with a word on what else is
    needed."""

    event_id: int | None
    provider: str
    level: Level
    says: str
    source: str
    decode: Decoder
    state: State = ""
    by_words: bool = False
    """Only the words or the strings show that it is one: `decode` may give None."""


def nothing_more(_: CompanionText) -> CompanionFound:
    """The id says all that is known."""
    return CompanionFound({})


def put_text(fields: Fields, name: str, value: str) -> None:
    """Put words into the fields, cut to the length of a name; nothing if there are none."""
    if value := value.strip()[:LONGEST_NAME]:
        fields[name] = value


def put_name(fields: Fields, name: str, value: str) -> None:
    value = value.strip().strip("'\"")
    if 0 < len(value) <= LONGEST_NAME:
        fields[name] = value


MEBIBYTE = 2**20


def bytes_of(megabytes: str) -> int | None:
    """Bytes of a number of megabytes, perhaps with a fraction; three digits make a group."""
    text = megabytes.strip()
    whole = parse_int(text) if "." not in text else None
    if whole is not None:
        return whole * MEBIBYTE if 0 <= whole < 2**40 else None
    number = text.replace(",", "" if "." in text else ".")
    try:
        return round(float(number) * MEBIBYTE) if re.fullmatch(r"[\d.]+", number) else None
    except ValueError:
        return None
