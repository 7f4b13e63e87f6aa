"""What an engine is to run: databases, their windows and workload, devices, faults.

`engine run --plan FILE` reads a Plan as JSON; the profiles are plans that are built in.
Times are seconds. Unknown keys are errors, and so are values that make no sense: the bounds are
checked where JSON is read, what one value says of another wherever a part is made (ValueError).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

DAY = 86400.0
PAGE_SIZES: Final = (4096, 8192, 16384, 32768)

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9]([A-Za-z0-9 _-]*[A-Za-z0-9_-])?\Z", max_length=64)]
"""Of a folder, and of an instance in a counter: letters, digits, `_`, `-`, spaces within."""
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Pause = Annotated[float, Meta(ge=0.0, le=DAY)]
Bytes = Annotated[int, Meta(ge=0, le=1 << 40)]

FaultKind = Literal["flip_one", "flip_two", "tear", "lose", "misdirect", "slow", "kill"]


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


class DatabasePlan(_Part, frozen=True, kw_only=True):
    """One database, in a folder of its own, with a log of its own: an instance of `name`."""

    name: Name
    page_size: int = 8192
    """One of PAGE_SIZES."""
    pages: Annotated[int, Meta(ge=16, le=1_000_000)] = 2000
    """How many it has, about, when it is made."""
    cache_pages: Annotated[int, Meta(ge=4, le=1_000_000)] = 256
    device: str = ""
    """Name of a device of the plan. Empty: the machine's, unmodelled in real time."""
    checkpoint_depth: Bytes = 4 << 20
    """Bytes of log that a recovery may have to read, about."""
    window: WindowPlan = WindowPlan()
    mail: MailPlan = MailPlan()
    defrag_pause: Pause = 2.0
    """After each leaf that online defragmentation looked at: it is a background task."""
    scan: bool = True
    """Online maintenance checksum: it has the second half of the window then."""
    scan_throttle: Pause = 0.02
    """After each read of 320 KB."""

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if self.page_size not in PAGE_SIZES:
            sizes = ", ".join(map(str, PAGE_SIZES))
            raise ValueError(f"page_size is {self.page_size}: it can be {sizes}")


class DevicePlan(_Part, frozen=True, kw_only=True):
    """A disk: a request that goes on where the last one ended takes no `seek`."""

    name: Name
    seek: Annotated[float, Meta(ge=0.0, le=60.0)] = 0.004
    rate: Annotated[float, Meta(ge=1000.0, le=1e12)] = 250e6
    """Bytes a second."""


class FaultPlan(_Part, frozen=True, kw_only=True):
    """A fault on request."""

    at: Annotated[float, Meta(ge=0.0, le=1e10)]
    """Seconds after the start."""
    database: str
    kind: FaultKind
    page: Annotated[int, Meta(ge=1, le=(1 << 31) - 1)] | None = None
    """None: the seed chooses a page that is in use."""
    seconds: Annotated[float, Meta(gt=0.0, le=DAY)] = 20.0
    """Of `slow`: how much longer each request takes."""
    count: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    """Of `slow`: how many requests."""


class Plan(_Part, frozen=True, kw_only=True):
    """All of it."""

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
        for database in self.databases:
            if database.device and database.device not in devices:
                raise ValueError(f"database {database.name}: there is no device {database.device}")
        for number, fault in enumerate(self.faults):
            if fault.database not in databases:
                raise ValueError(f"fault {number}: there is no database {fault.database}")


def _check_unique(what: str, names: Sequence[str]) -> None:
    # Counters tell instances apart without regard to case, and so do some file systems.
    for name, count in Counter(name.lower() for name in names).items():
        if count > 1:
            raise ValueError(f"{what}: {count} of them have the name {name}")
