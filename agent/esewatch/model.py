"""The vocabulary every room shares: what a source hands to the fold.

Times are seconds since the Unix epoch, UTC, as floats (microseconds survive).
Names (`computer`, `database`) are as logged; the fold makes the labels.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, Protocol

import msgspec

Task = Literal[
    "defrag", "index_defrag", "checksum", "zeroing", "backup", "replay", "trim", "shrink"
]
Stage = Literal[
    "started", "resumed", "running", "completed", "interrupted", "failed", "late", "aborted"
]
Level = Literal["critical", "error", "warning", "information", "verbose"]
Kind = Literal["rate", "total", "level"]
FieldValue = int | float | str


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One logged event of an ESE provider, or a companion of semantics.md 4.

    `strings` are the positional insertion strings (item 0 is `%1`); empty when
    the input carried only rendered text. An empty string or None means unknown.
    """

    event_id: int
    provider: str
    time: float | None = None
    computer: str = ""
    channel: str = ""
    record_id: int | None = None
    level: Level | None = None
    process: str = ""
    instance_state: str = ""
    """State letter of `%2`: G P R U D T E or -; empty on engines that log only the pid."""
    engine_version: str = ""
    """Engine version of `%2` (`15.01.2507.012`), logged by current Exchange only."""
    ese_instance: str = ""
    database: str = ""
    task: Task | None = None
    stage: Stage | None = None
    fields: dict[str, FieldValue] = {}
    strings: tuple[str, ...] = ()
    companion: bool = False


class Reading(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One sample of a counter.

    `rate` is a formatted per-second value over the time since the previous
    sample, `total` a running count (32 bit may wrap), `level` a gauge.
    `metric` is the metric it feeds, empty when it feeds none; `ese_instance`
    the ESE instance it belongs to, empty for process objects and `_Total`.
    """

    time: float
    computer: str
    object: str
    counter: str
    instance: str
    value: float
    kind: Kind
    metric: str = ""
    ese_instance: str = ""


class Coverage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A complete channel was read from `first` to `last` record id, both included.

    Handed out after the events of that range. Only complete channels (`evtx`,
    `windows_log`) may send it: record ids missing between ranges are a gap.
    `first_time` and `last_time` are the times of the range's first and last record.
    """

    computer: str
    channel: str
    first: int
    last: int
    first_time: float
    last_time: float


class CountersSeen(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Which of the counters we look for an input exposes: `name` -> present.

    Tells "not exposed" (hidden behind Show Advanced Counters) from zero.
    """

    time: float
    computer: str
    present: dict[str, bool]


Record = Event | Reading | Coverage | CountersSeen


class Unreadable(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A piece of input that could not be read; the rest went on.

    `place` is where in the file (`line 12`, `chunk 3`, `offset 65536`).
    """

    path: str
    place: str
    reason: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.path, self.place, self.reason) if part)


class Batch(msgspec.Struct, kw_only=True, gc=False):
    """What a source hands out at once: at most a few thousand records.

    The records and the positions belong together: the journal commits both in
    one transaction. `positions` holds only what changed, one opaque value a
    file (None drops it). `caught_up` is True on the last batch of a poll when
    nothing more can be read now.
    """

    records: list[Record] = msgspec.field(default_factory=list)
    unreadable: list[Unreadable] = msgspec.field(default_factory=list)
    positions: dict[str, bytes | None] = msgspec.field(default_factory=dict)
    backlog_bytes: int = 0
    caught_up: bool = False


class Source(Protocol):
    """One kind of input. See `sources/` for the implementations.

    A source never raises on bad content: it hands out `Unreadable` and goes on.
    `SourceError` means nothing can be read at all (no file, no permission).
    """

    name: str

    def restore(self, positions: Mapping[str, bytes]) -> None:
        """Take up the positions of the journal, once, before the first poll."""

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        """Read what is new. The last batch of a poll says `caught_up`, even when empty.

        `final` says that no more will be written: a last line without newline
        and a last record without successor are complete.
        """

    def close(self) -> None:
        """Let go of files and processes."""


class EsewatchError(Exception):
    """Base of the errors a person is shown in one line (exit status 2)."""


class SourceError(EsewatchError):
    """An input cannot be read at all. The message names file, place and remedy."""


class UnsupportedError(SourceError):
    """An input is of a kind that is not read here. The message says what it is."""


class ConfigError(EsewatchError):
    """The configuration is wrong. The message names file, line, key, found, allowed."""


class JournalError(EsewatchError):
    """The journal cannot be opened or is locked by another process."""
