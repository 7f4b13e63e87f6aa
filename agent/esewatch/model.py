"""The vocabulary every room shares: the records that a source gives to the fold.

Times are seconds since the Unix epoch, UTC, as floats (microseconds survive).
Names (`computer`, `database`) are as logged; the fold makes the labels.
"""

from collections.abc import Iterable, Iterator, Mapping
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
Owner = Literal["instance", "computer", "device"]
PageFault = Literal["uncorrectable", "corrected", "wrong_page", "lost_flush", "no_data"]
FieldValue = int | float | str


class Event(msgspec.Struct, frozen=True, gc=False):
    """One logged event of an ESE provider, or a companion of semantics.md 4.

    `strings` are the positional insertion strings (item 0 is `%1`); empty when
    the input carried only rendered text. An empty string or None means unknown.
    Decoding makes one by the places of the fields: names cost three times as much.
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


class Feed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The series that a counter feeds: whose it is, and how to come to base units.

    A `rate` or `total` feeds a counter of that name, a `level` a gauge.
    """

    metric: str
    owner: Owner = "instance"
    name: str = ""
    """ESE instance or device, as the data has it; empty for counters of the computer."""
    labels: tuple[str, ...] = ()
    """Values of the metric's labels beyond those of its owner, in the order of the metrics page."""
    scale: float = 1.0
    """Base units (seconds, bytes, ratio) in one unit of the counter."""
    wraps: bool = True
    """A running total starts again at 2^32, not only with its process."""
    absolute: bool = False
    """A `total` is a position that no start resets: a fall is a new baseline, 0 no sample."""


class Reading(msgspec.Struct, frozen=True, gc=False):
    """One sample of a counter, in the counter's own unit.

    `rate` is a formatted per-second value over the time since the previous
    sample, `total` a running count, `level` a gauge. `feed` is None when it feeds
    no metric: unknown counters, those of process objects and of `_Total`.
    """

    time: float
    computer: str
    object: str
    counter: str
    instance: str
    value: float
    kind: Kind
    feed: Feed | None = None
    raw: int | None = None
    """The count that a binary log stores, from which `value` was formatted. A `total` with it is
    that count, and its value, not a number in the first sample, is for people.
    """


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


class Heard(msgspec.Struct, frozen=True, gc=False):
    """Records of other providers than ESE in the log that events come by: they show that the
    computer was heard (semantics.md 5a).

    `times` has at least the first and the last of each few hours, in epoch seconds.
    """

    computer: str
    channel: str
    times: tuple[float, ...]


class CountersSeen(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The counters that are looked for, and whether an input exposes them: `name` -> present.

    Tells "not exposed" (hidden behind Show Advanced Counters) from zero.
    """

    time: float
    computer: str
    present: dict[str, bool]


class VolumesSeen(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The device of each volume of a computer; volumes on unknown devices are left out.

    `devices`: mount point or drive (`e:`, `/srv`) -> identity of the whole disk.
    """

    time: float
    computer: str
    devices: dict[str, str]


class HeaderSeen(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The content of a database header at `time`. None: the input does not say.

    `bad_checksums`, `corrected` and `correction_failed` are the header's own counters
    since its patch dates. `state` is the engine's word (`clean shutdown`).
    """

    time: float
    computer: str
    database: str
    page_size: int | None = None
    size_bytes: int | None = None
    state: str = ""
    bad_checksums: int | None = None
    corrected: int | None = None
    correction_failed: int | None = None
    signature: str = ""
    """Identity of the database: one that is created anew has another."""


class CopyChecked(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The pages of a copy of a database were read and verified; `time` is that of its content.

    `pages_seen` is without the header and its shadow. `bad_pages` are (page number, fault),
    the number -1 where a fault was counted and its page not named; `bad` is of all pages.
    Only a `complete` one without a bad page verifies the database.
    """

    time: float
    computer: str
    database: str
    by: Literal["page_scan", "external"]
    complete: bool
    pages_seen: int
    bad: int
    uninitialized: int | None = None
    size_bytes: int | None = None
    bad_pages: tuple[tuple[int, PageFault], ...] = ()
    unnamed: dict[PageFault, int] = {}
    """Pages that were counted and not named, by fault."""
    verdict: str = ""
    """Verdict of `check` on a mount of the copy; empty: it was not asked."""
    verdict_reason: str = ""
    confirmed: tuple[int, ...] = ()
    """Known bad pages that are as the flush map of the copy says, so that no write was lost."""


class PagesScanned(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A piece of a page scan: the pages read since the last piece.

    `time` is that of the content (of the snapshot), for which a good page is proof; `read` is
    when it was read, from when on a bad page is known: an old copy must not hide it. `found`
    are the bad pages met in it, `good` known bad pages that now read good.
    """

    time: float
    computer: str
    database: str
    read: float = 0.0
    pages: int = 0
    bytes: int = 0
    bad: int = 0
    """Bad pages of every kind, those without a number in `found` too."""
    found: tuple[tuple[int, PageFault], ...] = ()
    good: tuple[int, ...] = ()


SetKind = Literal["ntbackup", "ntbackup_logs"]


class SetBackedUp(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A backup program says that it copied an instance (storage group); `time` is the end.

    `kind`: `ntbackup` copied databases and logs, `ntbackup_logs` (incremental, differential) log
    files only. `bytes` and `seconds` are of all databases of the instance together. `job` is the
    same for the sets of one job and for no others of the computer.
    """

    time: float
    computer: str
    ese_instance: str
    kind: SetKind
    started: float
    seconds: float
    bytes: int
    job: str


Record = (
    Event
    | Reading
    | Coverage
    | CountersSeen
    | VolumesSeen
    | HeaderSeen
    | CopyChecked
    | PagesScanned
    | SetBackedUp
)


class Unreadable(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A piece of input that could not be read; the rest went on.

    `place` is where in the file (`line 12`, `chunk 3`, `offset 65536`).
    """

    path: str
    place: str
    reason: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.path, self.place, self.reason) if part)


class FileTold(msgspec.Struct, gc=False):
    """The content of a file: computers as logged, its youngest time (epoch seconds). Times after
    `until` are impossible."""

    until: float
    computers: set[str] = msgspec.field(default_factory=set)
    youngest: float = 0.0

    def note(self, records: Iterable[Record], heard: Iterable[Heard]) -> None:
        for record in records:
            self.computers.add(record.computer)
            time = record.last_time if isinstance(record, Coverage) else record.time
            if time is not None and self.youngest < time <= self.until:
                self.youngest = time
        for each in heard:
            self.computers.add(each.computer)
            possible = (time for time in each.times if time <= self.until)
            self.youngest = max(self.youngest, *possible, 0.0)


FromInput = tuple[int, Record]
"""The number of its input (`Batch.inputs`), and a record."""


class Batch(msgspec.Struct, kw_only=True, gc=False):
    """The records that a source hands out at once: at most a few thousand.

    The records and the positions belong together: the journal commits both in
    one transaction. `positions` holds only what changed, one opaque value a
    file (None drops it). `caught_up` is True on the last batch of a poll when
    nothing more can be read now.
    """

    records: list[Record] = msgspec.field(default_factory=list)
    heard: list[Heard] = msgspec.field(default_factory=list)
    files: dict[str, FileTold] = msgspec.field(default_factory=dict)
    """By path, of a final poll: what its records come from."""
    unreadable: list[Unreadable] = msgspec.field(default_factory=list)
    remarks: list[tuple[str, str]] = msgspec.field(default_factory=list)
    """(path, how its times were read), as `the times in PATH …` goes on; may repeat."""
    copies: list[tuple[str, str]] = msgspec.field(default_factory=list)
    """(path, path of another file that has all that is in it): counted once."""
    positions: dict[str, bytes | None] = msgspec.field(default_factory=dict)
    paths: list[str] = msgspec.field(default_factory=list)
    """The files that were read, where the keys of `positions` are other names of theirs."""
    backlog_bytes: int = 0
    backlog_files: int = 0
    """Files of which something is not read yet."""
    caught_up: bool = False
    partitions: tuple[int, int] | None = None
    """All partitions of a topic, and those that this process owns."""
    folded: bool = False
    """The source has folded records into states of its own."""
    inputs: list[tuple[int, int]] = msgspec.field(default_factory=list)
    """(number of a record, input that it and the next ones are from: `fold.channels.overlaps`);
    empty where all are from one, the source."""


class Source(Protocol):
    """One kind of input. See `sources/` for the implementations.

    A source never raises on bad content: it hands out `Unreadable` and goes on.
    `SourceError` means nothing can be read at all (no file, no permission).
    """

    name: str

    def restore(self, positions: Mapping[str, bytes]) -> None:
        """Take up the positions of the journal, once, before the first poll."""

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        """Read new records. The last batch of a poll says `caught_up`, even when empty.

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
    """An input is of a kind that is not supported. The message says which."""


class ConfigError(EsewatchError):
    """The configuration is wrong. The message names file, line, key, found, allowed."""


class JournalError(EsewatchError):
    """The journal cannot be opened or is locked by another process."""
