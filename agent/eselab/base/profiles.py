"""Plans that are built in.

"quiet", "steady" and "busy" differ in how long messages are kept, so in how much comes and goes
on a day, and with it in the pages that online defragmentation reads from disk for each page
that it frees: over 100, 50 to 100, under 50. Their windows are open from 01:00 to 05:00; the
first half is enough for a whole pass each night.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from eselab.base.plan import DatabasePlan, DevicePlan, FaultPlan, MailPlan, Plan, WindowPlan

CACHE: Final = 100
"""Pages, a twentieth of the database: pages that are found in the cache are not read."""

PAUSE: Final = 3.0
"""Seconds after each leaf: 2,000 of them take 100 minutes of the 2 hours."""

KEPT: Final = {"quiet": 240.0, "steady": 63.0, "busy": 28.0}
"""Days. Measured: about as many pages are read for each that is freed."""

SAMPLE: Final = 300.0
"""Seconds: a month has 8,640 rows of counters."""

_DAY: Final = 20.0
"""Seconds of a day of the demo."""


def _database(name: str) -> DatabasePlan:
    mail = MailPlan(kept=KEPT[name])
    return DatabasePlan(name=name, cache_pages=CACHE, defrag_pause=PAUSE, mail=mail)


def _nightly(*names: str) -> Plan:
    return Plan(databases=[_database(name) for name in names], sample=SAMPLE)


def _month() -> Plan:
    return _nightly(*KEPT)


def _quiet() -> Plan:
    return _nightly("quiet")


def _steady() -> Plan:
    return _nightly("steady")


def _busy() -> Plan:
    return _nightly("busy")


def _server() -> Plan:
    """A database as of a mailbox server that is large enough for advice without a configuration.

    In 28 nights online defragmentation reads more than the 100,000 pages that advice needs. It
    has the time of two hours for them, too.
    """
    large = msgspec.structs.replace(
        _database("quiet"), name="SG1", pages=4200, cache_pages=210, defrag_pause=PAUSE / 2
    )
    return Plan(databases=[large], sample=SAMPLE)


def _demo() -> Plan:
    """Five stories; a day takes 20 s.

    Two databases share a disk and a window, so their scans take turns on it; "bad-page" is one
    of them. "too-short" needs ten windows for a pass of defragmentation or scan.
    """
    wide = WindowPlan(period=_DAY, offset=0.0, length=12.0)
    short = WindowPlan(period=_DAY, offset=13.0, length=4.0)
    return Plan(
        databases=[
            DatabasePlan(
                name="healthy", pages=900, cache_pages=48, device="disk-1", window=wide,
                mail=MailPlan(kept=75.0), defrag_pause=0.0005, scan_throttle=0.005,
            ),
            DatabasePlan(
                name="too-long", pages=400, cache_pages=32, window=wide,
                mail=MailPlan(kept=500.0), defrag_pause=0.001,
            ),
            DatabasePlan(
                name="too-short", pages=1000, cache_pages=48, window=short,
                mail=MailPlan(kept=15.0), defrag_pause=0.02, scan_throttle=1.0,
            ),
            *(
                DatabasePlan(
                    name=name, pages=850, cache_pages=48, device="disk-2", window=wide,
                    mail=MailPlan(kept=125.0), defrag_pause=0.0005, scan_throttle=0.005,
                )
                for name in ("shared-disk", "bad-page")
            ),
        ],
        devices=[DevicePlan(name=name, seek=0.001, rate=3.4e6) for name in ("disk-1", "disk-2")],
        faults=[
            FaultPlan(at=25.0, database="bad-page", kind="flip_one"),
            FaultPlan(at=70.0, database="bad-page", kind="flip_two"),
        ],
        sample=1.0,
    )  # fmt: skip


PROFILES: Final[dict[str, Callable[[], Plan]]] = {
    "quiet": _quiet,
    "steady": _steady,
    "busy": _busy,
    "month": _month,
    "server": _server,
    "demo": _demo,
}
"""By name, as `engine run --profile` takes it."""
