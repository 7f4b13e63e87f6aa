"""Mapping from maintenance events to the facts of a pass (semantics.md 2)."""

from typing import Final, Literal

Task = Literal["defrag", "checksum", "zeroing"]

STARTED: Final[dict[int, Task]] = {700: "defrag", 717: "checksum", 718: "zeroing", 736: "checksum"}
RESUMED: Final[dict[int, Task]] = {702: "defrag", 719: "checksum", 720: "zeroing", 738: "checksum"}
COMPLETED: Final[dict[int, Task]] = {
    701: "defrag",
    703: "defrag",
    721: "checksum",
    732: "checksum",
    735: "checksum",
    737: "checksum",
}
INTERRUPTED: Final[dict[int, Task]] = {
    704: "defrag",
    725: "checksum",
    726: "zeroing",
    745: "checksum",
}
FAILED: Final[dict[int, Task]] = {705: "defrag", 723: "checksum", 724: "zeroing", 734: "checksum"}
GIVEN_UP: Final[dict[int, Task]] = {746: "checksum"}
"""A pass is over that was not whole."""
RUNNING: Final[dict[int, Task]] = {733: "checksum", 744: "checksum"}
LATE: Final = frozenset({733, 735, 745})
"""Events that report a scan as late, or as aborted."""
WALL_CLOCK: Final = frozenset({732, 735, 737})
"""Their seconds are from start to end, their bad pages those of the last run."""
TREE: Final = 728
"""Reports a tree that a current engine defragmented."""
ZEROED: Final = 722
"""Completes a pass of zeroing, which was one of the checksum scan too."""
DETACHED: Final = 327
STOPPED: Final = 103
ACTIVE: Final = frozenset({735, 736, 737, 738, 744})
PASSIVE: Final = frozenset({717, 719, 732, 733, 745, 746})
"""Events of a passive copy's scan; a copy with one of the other kind has changed its role."""
COPY_SCAN_END: Final = 732
BROKEN_OFF: Final = 745
