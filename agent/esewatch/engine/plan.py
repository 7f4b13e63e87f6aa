"""What an engine is to run: databases, their windows and workload, devices, faults.

`engine run --plan FILE` reads a Plan as JSON; the profiles are plans that are built in.
Times are seconds. Unknown keys are errors.
"""

from typing import Literal

import msgspec

DAY = 86400.0

FaultKind = Literal["flip_one", "flip_two", "tear", "lose", "misdirect", "slow", "kill"]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class WindowPlan(_Part, frozen=True, kw_only=True):
    """The window is open at time t when (t - offset) modulo `period` is under `length`."""

    period: float = DAY
    offset: float = 3600.0
    length: float = 4 * 3600.0


class MailPlan(_Part, frozen=True, kw_only=True):
    """Mailbox-like work; a day is the window's period.

    How many messages come on a day follows from the size that the database is made with and
    from `kept`: as many as go, so that it keeps its size.
    """

    mailboxes: int = 20
    kept: float = 30.0
    """Days until a message expires. The longer, the less is there to defragment each night."""
    read: float = 0.5
    """Reads per delivery."""
    moved: float = 0.1
    """Share of the messages that is moved to another folder."""
    deleted: float = 0.25
    """Share of the messages that is deleted before it expires."""
    body: int = 1350
    """Mean bytes of a message, which has half to one and a half times of it, at most a quarter
    of a page."""


class DatabasePlan(_Part, frozen=True, kw_only=True):
    """One database, in a folder of its own, with a log of its own: an instance of `name`."""

    name: str
    page_size: int = 8192
    pages: int = 2000
    """How many it has, about, when it is made."""
    cache_pages: int = 256
    device: str = ""
    """Name of a device of the plan. Empty: the machine's, unmodelled in real time."""
    checkpoint_depth: int = 4 << 20
    """Bytes of log that a recovery may have to read, about."""
    window: WindowPlan = WindowPlan()
    mail: MailPlan = MailPlan()
    defrag_pause: float = 2.0
    """After each leaf that online defragmentation looked at: it is a background task."""
    scan: bool = True
    """Online maintenance checksum: it has the second half of the window then."""
    scan_throttle: float = 0.02
    """After each read of 320 KB."""


class DevicePlan(_Part, frozen=True, kw_only=True):
    """A disk: a request that goes on where the last one ended takes no `seek`."""

    name: str
    seek: float = 0.004
    rate: float = 250e6
    """Bytes a second."""


class FaultPlan(_Part, frozen=True, kw_only=True):
    """A fault on request."""

    at: float
    """Seconds after the start."""
    database: str
    kind: FaultKind
    page: int | None = None
    """None: the seed chooses a page that is in use."""
    seconds: float = 20.0
    """Of `slow`: how much longer each request takes."""
    count: int = 1
    """Of `slow`: how many requests."""


class Plan(_Part, frozen=True, kw_only=True):
    """All of it."""

    databases: list[DatabasePlan]
    devices: list[DevicePlan] = []
    faults: list[FaultPlan] = []
    sample: float = 15.0
    """Between two samples of the counters."""
    slow: float = 15.0
    """A request that takes longer is reported."""
