"""The contract of a kind of source: its module has these functions.

The settings of an entry are a struct of `config`, which checks all entries and imports no kind.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from esewatch.config import Settings
from esewatch.ese.dates import DateOrder
from esewatch.model import Source


class RecordSelection(NamedTuple):
    """Selection of the records that a source hands out."""

    companions: bool = True
    """The events of semantics.md 4 too."""
    ese_only: bool = True
    """Of counters only those that feed a metric."""


class EventOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Selection of events, and facts that their inputs lack."""

    providers: tuple[str, ...] = ()
    """Further event sources of ESE."""
    computer: str = ""
    """For records that name none."""
    timezone: str | None = None
    """Of times without offset: a name of zoneinfo."""
    date_order: DateOrder | None = None
    companions: bool = False
    """The events of semantics.md 4 too."""

    @classmethod
    def of(cls, entry: Any, settings: Settings, wanted: RecordSelection) -> "EventOptions":
        return cls(
            providers=tuple(settings.providers),
            computer=entry.computer or "",
            timezone=getattr(entry, "timezone", None),
            date_order=getattr(entry, "date_order", None),
            companions=wanted.companions,
        )


USUAL_OPTIONS = EventOptions()


class Described(NamedTuple):
    """Facts in the beginning of a file."""

    remarks: Sequence[str] = ()
    """On its times, as `Batch.remarks`."""
    assumed_order: DateOrder | None = None
    """The order in which its ambiguous dates are read, where nothing proves it."""
    counters: Sequence[tuple[str, str]] = ()
    """Objects and counters of a counter log."""
    feeds: bool = False
    """True if one of them feeds a metric."""


class SourceKind(Protocol):
    """The module of a kind. `describe` and `beside` are there where they say more than nothing."""

    def open(self, entry: Any, settings: Settings, wanted: RecordSelection, /) -> Source:
        """The source of an entry. Raises SourceError."""

    def recognise(self, head: bytes, stored: bytes, /) -> bool:
        """Is a file that begins so (decompressed, as UTF-8; as stored) of this kind? Only kinds of
        files have it."""

    def describe(self, entry: Any, path: str, head: bytes, /) -> Described:
        """Facts in the first 64 KiB of a file, as UTF-8. Raises SourceError."""

    def beside(self, entry: Any, settings: Settings, /) -> object:
        """The settings that a source uses besides its entry, where they are not the providers."""
