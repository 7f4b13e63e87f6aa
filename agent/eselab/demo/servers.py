"""The servers of the demo as plans of the engine.

All times of day are relative to `live`, the minute in which the past ends and the demo begins to
be watched: a window opened so many seconds before it, so that the events to show happen then.
"""

from typing import Any, Final, NamedTuple

DAY: Final = 86400.0
HOUR: Final = 3600.0
NIGHTS: Final = 30
"""That lie behind the demo when it begins."""

SHRINK, KEEP, GROW, NIGHTLY = "shrink", "keep", "grow", "nightly"
TOGETHER, BACKUP, BAD = ("together-1", "together-2"), "backup", "bad-page"
DIRECTORY, PAIR = "NTDSA", "DB01"
DEVICE: Final = "lun7"
"""The device of the two of TOGETHER."""

MAIL, MAIL2, CONTROLLER, ACTIVE, PASSIVE = "MAIL01", "MAIL02", "DC01", "EX01", "EX02"

_READS: Final = 26
"""Reads of 320 KB that the file of 1,000 pages takes, about."""


class DemoWindow(NamedTuple):
    """A nightly window: seconds that it opened before `live`, and its length."""

    before: float
    length: float

    def begin(self, live: float) -> float:
        """Seconds after midnight, UTC."""
        return (live - self.before) % DAY


class DemoServer(NamedTuple):
    computer: str
    plan: dict[str, Any]
    """As `engine run --plan` reads it."""
    has_binary_log: bool = False
    """Logs its counters as `counters.blg`, too."""


WINDOWS: Final = {
    SHRINK: DemoWindow(90 * 60, 4 * HOUR),
    # The scans, the second half, began ten minutes ago and begin in ten.
    KEEP: DemoWindow(40 * 60, 1 * HOUR),
    GROW: DemoWindow(20 * 60, 1 * HOUR),
    # Its scan, the second half, began 15 minutes ago.
    NIGHTLY: DemoWindow(2 * HOUR + 15 * 60, 4 * HOUR),
    # Their scans, the second half, begin in a minute.
    **dict.fromkeys(TOGETHER, DemoWindow(29 * 60, 1 * HOUR)),
    BACKUP: DemoWindow(1 * HOUR, 4 * HOUR),
    # Its scan began a minute ago and goes on for seventeen more.
    BAD: DemoWindow(31 * 60, 1 * HOUR),
}


def servers(live: float) -> list[DemoServer]:
    """All of them; `live` is epoch seconds, of a whole minute."""
    return [
        DemoServer(MAIL, _mail(live)),
        DemoServer(MAIL2, _second_mail(live)),
        DemoServer(CONTROLLER, _controller(live), has_binary_log=True),
        DemoServer(ACTIVE, _pair()),
    ]


def _mail(live: float) -> dict[str, Any]:
    """Scans end one after the other: however late the first page is there, one is to be seen."""
    return _plan(
        _windowed(SHRINK, live, kept=240.0),
        _windowed(KEEP, live, kept=280.0, scan_throttle=_throttle(-10 * 60, 500)),
        _windowed(GROW, live, kept=28.0, scan_throttle=_throttle(10 * 60, 745)),
        _windowed(NIGHTLY, live, kept=63.0, scan_throttle=_throttle(-15 * 60, 75)),
    )


def _throttle(begin: float, end: float) -> float:
    """Seconds between two reads of a scan that is at work from `begin` to `end` behind `live`."""
    return (end - begin) / (_READS + 1)


def _second_mail(live: float) -> dict[str, Any]:
    backup = {"offset": (live - 40 * 60) % DAY, "pause": 240.0}
    return _plan(
        *(_windowed(name, live, kept=300.0, device=DEVICE, scan_throttle=8.0) for name in TOGETHER),
        _windowed(BACKUP, live, kept=63.0, backup=backup),
        _windowed(BAD, live, kept=200.0, scan_throttle=40.0),
        devices=[{"name": DEVICE}],
    )


def _controller(live: float) -> dict[str, Any]:
    """It collects garbage every 12 hours and defragments behind it."""
    half = DAY / 2
    return _plan(
        {
            "name": DIRECTORY, "program": "directory", "pages": 600, "scan": False,
            "window": {"period": half, "offset": (live - 5 * HOUR) % half, "length": half},
            "mail": {"kept": 400.0}, "defrag_pause": 0.05,
        }
    )  # fmt: skip


def _pair() -> dict[str, Any]:
    """The scan of the passive copy is too slow for its size: it needs two months."""
    return _plan(
        {
            "name": PAIR, "generation": "current", "pages": 1000, "cache_pages": 100,
            "window": {"period": DAY, "offset": 0.0, "length": 4 * HOUR},
            "mail": {"kept": 90.0}, "scan_pace": 30.0,
            "copies": [{"computer": PASSIVE, "scan": True, "scan_pace": 1.6}],
        }
    )  # fmt: skip


def _windowed(name: str, live: float, *, kept: float, **more: Any) -> dict[str, Any]:
    window = WINDOWS[name]
    return {
        "name": name,
        "pages": 1000,
        "cache_pages": 50,
        "defrag_pause": 6.0,
        "window": {"offset": window.begin(live), "length": window.length},
        "mail": {"kept": kept},
        **more,
    }


def _plan(*databases: dict[str, Any], devices: Any = ()) -> dict[str, Any]:
    return {"databases": databases, "devices": devices, "sample": 300.0}
