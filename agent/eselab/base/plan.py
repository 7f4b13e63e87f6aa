"""The plan of an engine run: databases, their windows and workload, devices, faults.

`engine run --plan FILE` reads a Plan as JSON; the profiles are plans that are built in.
Times are seconds. Unknown keys are errors, and so are values that make no sense: the bounds are
checked where JSON is read, what one value says of another wherever a part is made (ValueError).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from eselab.base.programs import PROGRAMS, Generation, ProgramName, file_name

DAY = 86400.0
PAGE_SIZES: Final = (4096, 8192, 16384, 32768)

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9]([A-Za-z0-9 _-]*[A-Za-z0-9_-])?\Z", max_length=64)]
"""Of a folder, and of an instance in a counter: letters, digits, `_`, `-`, spaces within."""
ComputerName = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?\Z", max_length=63)
]
"""Of a computer and of its folder: letters, digits, `_` and `-` within."""
CachePages = Annotated[int, Meta(ge=4, le=1_000_000)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Pause = Annotated[float, Meta(ge=0.0, le=DAY)]
Bytes = Annotated[int, Meta(ge=0, le=1 << 40)]
ScanPace = Annotated[float, Meta(ge=0.001, le=1e12)]

_SEEK: Final = 0.004
_RATE: Final = 250e6

ModelName = Literal["sas-10k-2006", "sas-15k-2006", "sata-7k2-2006"]
"""Of a drive."""
LINK: Final = 400e6
"""Bytes a second between host and controller: Fibre Channel of 4 Gbit/s, 8 bits in 10."""

Role = Literal["active", "passive"]
"""Of a copy of a database."""
FaultKind = Literal[
    "flip_one", "flip_two", "tear", "lose", "misdirect", "slow", "skip", "clear", "kill"
]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class WindowPlan(_Part, frozen=True, kw_only=True):
    """The window is open at time t when (t - offset) modulo `period` is under `length`."""

    period: Annotated[float, Meta(ge=0.1, le=366 * DAY)] = DAY
    offset: Annotated[float, Meta(ge=0.0, le=366 * DAY)] = 3600.0
    length: Annotated[float, Meta(ge=0.01)] = 4 * 3600.0

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if not self.length <= self.period:
            raise ValueError(f"the length {self.length:g} is over the period {self.period:g}")


class MailPlan(_Part, frozen=True, kw_only=True):
    """Mailbox-like work; a day is the window's period.

    How many messages come on a day follows from the size that the database is made with and
    from `kept`: as many as go, so that it keeps its size.
    """

    mailboxes: Annotated[int, Meta(ge=1, le=10_000)] = 20
    kept: Annotated[float, Meta(ge=1.0, le=10_000.0)] = 30.0
    """Days until a message expires. The longer, the less is there to defragment each night."""
    read: Annotated[float, Meta(ge=0.0, le=1000.0)] = 0.5
    """Reads per delivery."""
    moved: Share = 0.1
    """Share of the messages that is moved to another folder."""
    deleted: Share = 0.25
    """Share of the messages that is deleted before it expires."""
    body: Annotated[int, Meta(ge=16, le=1 << 20)] = 1350
    """Mean bytes of a message, which has half to one and a half times of it, at most a quarter
    of a page."""


class BackupPlan(_Part, frozen=True, kw_only=True):
    """A streaming backup: it reads every page, to no medium, and stops online defragmentation."""

    period: Annotated[float, Meta(ge=0.1, le=366 * DAY)] = DAY
    offset: Annotated[float, Meta(ge=0.0, le=366 * DAY)] = 0.0
    """It begins where (t - offset) modulo `period` is 0."""
    pause: Pause = 30.0
    """After each read of 320 KB: the medium is slower than the disk."""


class CopyPlan(_Part, frozen=True, kw_only=True):
    """A passive copy of a database: closed logs are shipped to it, and replayed in batches."""

    computer: ComputerName
    device: str = ""
    """As that of a DatabasePlan."""
    cache: Literal["drop", "keep"] = "keep"
    """After a batch: Exchange 2007 dropped the cache, from SP1 on it keeps it."""
    cache_pages: CachePages | None = None
    """None: as many as the active copy has."""
    batch: Annotated[float, Meta(ge=0.01, le=DAY)] = 60.0
    """Seconds after which it looks for logs."""
    batch_logs: Annotated[int, Meta(ge=1, le=1000)] = 1
    """A batch begins where so many wait."""
    scan: bool = False
    """The copy is scanned in the background too, as a passive one. Of a `current` engine."""
    scan_pace: ScanPace | None = None
    """None: that of the active copy."""


class DatabasePlan(_Part, frozen=True, kw_only=True):
    """One database, in a folder of its own, with a log of its own: an instance of `name`."""

    name: Name
    page_size: int = 8192
    """One of PAGE_SIZES."""
    pages: Annotated[int, Meta(ge=16, le=1_000_000)] = 2000
    """Approximate number of its pages when it is made."""
    cache_pages: CachePages = 256
    device: str = ""
    """Name of a device of the plan. Empty: the machine's, unmodelled in real time."""
    checkpoint_depth: Bytes = 4 << 20
    """Bytes of log that a recovery may have to read, about."""
    window: WindowPlan = WindowPlan()
    mail: MailPlan = MailPlan()
    defrag_pause: Pause = 2.0
    """After each leaf that online defragmentation visited: it is a background task."""
    scan: bool = True
    """Online maintenance checksum: it has the second half of the window then."""
    scan_throttle: Pause = 0.02
    """After each read of 320 KB."""
    zero: bool = False
    """The scan zeroes pages too. It needs `scan`."""
    generation: Generation = "2007"
    """A `current` engine has no window, only its period counts: it scans and defragments in the
    background, day and night."""
    scan_pace: ScanPace = 100.0
    """Bytes a second of a background scan: 1 MB/s of 160 GB are 100 B/s of 16 MB."""
    program: ProgramName = "exchange"
    """Program whose names its logs have: a `directory` is that of a domain controller, NTDS.DIT."""
    backup: BackupPlan | None = None
    role: Role = "active"
    """Role whose events a `current` engine logs of its scan."""
    copies: Annotated[list[CopyPlan], Meta(max_length=4)] = []

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if self.page_size not in PAGE_SIZES:
            sizes = ", ".join(map(str, PAGE_SIZES))
            raise ValueError(f"page_size is {self.page_size}: it can be {sizes}")
        if self.zero and not self.scan:
            raise ValueError("zero needs scan: it is the scan that zeroes pages")
        if self.zero and self.generation == "current":
            raise ValueError("zero is of generation 2007: a background scan does not zero pages")
        if self.role == "passive" and self.generation != "current":
            raise ValueError("role passive is of generation current")
        if (self.program, self.generation) not in PROGRAMS:
            raise ValueError(f"program {self.program} is of generation 2007")
        if self.backup is not None and self.generation == "current":
            raise ValueError("backup is of generation 2007")
        if any(copy.scan for copy in self.copies) and self.generation != "current":
            raise ValueError("scan of a copy is of generation current")

    @property
    def file(self) -> str:
        """Name of its file, in a folder of its name."""
        return file_name(self.program, self.name)


class DisksPlan(_Part, frozen=True, kw_only=True):
    """A LUN: a stripe over drives of one model behind a controller."""

    model: ModelName = "sas-10k-2006"
    spindles: Annotated[int, Meta(ge=1, le=64)] = 8
    stripe: Annotated[int, Meta(ge=4096, le=16 << 20, multiple_of=4096)] = 65536
    """Bytes on one drive before the next has its turn."""
    write_cache: Annotated[int, Meta(ge=0, le=1 << 30)] = 0
    """Bytes of the controller's write-back cache, 0: it has none."""
    link: Annotated[float, Meta(ge=1e6, le=1e12)] = LINK
    """Bytes a second between host and controller."""


class DevicePlan(_Part, frozen=True, kw_only=True):
    """A disk: a request that goes on where the last one ended takes no `seek`.

    With `disks` it is a LUN of modelled drives, which have no `seek` and `rate` of a plan.
    """

    name: Name
    seek: Annotated[float, Meta(ge=0.0, le=60.0)] = _SEEK
    rate: Annotated[float, Meta(ge=1000.0, le=1e12)] = _RATE
    """Bytes a second."""
    disks: DisksPlan | None = None

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if self.disks is not None and (self.seek, self.rate) != (_SEEK, _RATE):
            raise ValueError(f"device {self.name} has disks: seek and rate are theirs")


class FaultPlan(_Part, frozen=True, kw_only=True):
    at: Annotated[float, Meta(ge=0.0, le=1e10)] = 0.0
    """Seconds after the start."""
    database: str
    """Of `skip`, which ends the window that is open, too."""
    kind: FaultKind
    page: Annotated[int, Meta(ge=1, le=(1 << 31) - 1)] | None = None
    """None: the seed chooses a page that is in use."""
    ahead: bool = False
    """Without `page`: of those that the scan at work will read next, where one is."""
    seconds: Annotated[float, Meta(gt=0.0, le=DAY)] = 20.0
    """Of `slow`: how much longer each request takes."""
    count: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    """Of `slow`: how many requests."""


class Plan(_Part, frozen=True, kw_only=True):
    databases: Annotated[list[DatabasePlan], Meta(min_length=1, max_length=100)]
    devices: Annotated[list[DevicePlan], Meta(max_length=100)] = []
    faults: Annotated[list[FaultPlan], Meta(max_length=100_000)] = []
    sample: Annotated[float, Meta(ge=0.01, le=600.0)] = 15.0
    """Between two samples of the counters."""
    slow: Annotated[float, Meta(gt=0.0, le=DAY)] = 15.0
    """A request that takes longer is reported."""

    def __post_init__(self) -> None:
        """Raises ValueError."""
        databases = [database.name for database in self.databases]
        devices = [device.name for device in self.devices]
        _check_unique("databases", databases)
        _check_unique("devices", devices)
        if len({(database.program, database.generation) for database in self.databases}) > 1:
            raise ValueError("databases of two generations or programs: a process is of one")
        for database in self.databases:
            for device in (database.device, *(copy.device for copy in database.copies)):
                if device and device not in devices:
                    raise ValueError(f"database {database.name}: there is no device {device}")
            _check_unique(f"copies of {database.name}", [copy.computer for copy in database.copies])
        # A folder of a run is that of a database, or of a computer.
        _check_unique("databases and computers", [*databases, *self.computers])
        for number, fault in enumerate(self.faults):
            if fault.database not in databases:
                raise ValueError(f"fault {number}: there is no database {fault.database}")

    @property
    def computers(self) -> list[str]:
        """Of the passive copies, in the order in which they are named first."""
        found = (copy.computer for database in self.databases for copy in database.copies)
        return list(dict.fromkeys(found))


def _check_unique(what: str, names: Sequence[str]) -> None:
    # Counters tell instances apart without regard to case, and so do some file systems.
    for name, count in Counter(name.lower() for name in names).items():
        if count > 1:
            raise ValueError(f"{what}: {count} of them have the name {name}")


ROUNDING: Final = 1e-3
"""Seconds: a time so shortly before an end is the end."""


class Opening(NamedTuple):
    """One opening of the window, in epoch seconds. `middle` is where the scan takes over."""

    begin: float
    middle: float
    end: float


def opening(window: WindowPlan, now: float, *, scan: bool) -> Opening:
    """The opening that `now` lies in, else the next one.

    Online defragmentation has all of it; with the scan on, the scan has the second half
    (published facts, P1).
    """
    phase = (now - window.offset) % window.period
    begin = now - phase if phase < window.length - ROUNDING else now - phase + window.period
    end = begin + window.length
    return Opening(begin, begin + window.length / 2 if scan else end, end)
