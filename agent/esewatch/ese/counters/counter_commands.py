"""Commands that show hidden counters, and commands that verify this.

Counters that the engine's table marks dev-only are hidden until the DWORD `Show Advanced
Counters` is 1 under `HKLM\\SYSTEM\\CurrentControlSet\\Services\\<library>\\Performance`. The
library is ESE in Exchange (object `MSExchange Database`), ESENT in Windows (`Database`).
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from esewatch.ese.counters.counter_feeds import DATABASE_MAINTENANCE, ONLINE_DEFRAG
from esewatch.ese.counters.counter_names import Library

LIBRARIES: dict[Library, str] = {
    "ESE": "Exchange",
    "ESENT": "Active Directory and all other databases of Windows",
}
"""The owner of the counters of each library, in words."""

_OBJECTS: dict[Library, str] = {
    "ESE": "MSExchange Database ==> Instances",
    "ESENT": "Database ==> Instances",
}
_COUNTERS: dict[str, tuple[str, ...]] = {
    ONLINE_DEFRAG: ("Online Defrag Pages Read/sec", "Online Defrag Pages Freed/sec"),
    DATABASE_MAINTENANCE: ("Database Maintenance Pages Read/sec",),
}
_FORMER = {DATABASE_MAINTENANCE: ("Online Maintenance (DB Scan) Pages Read/sec",)}
"""Names of Exchange 2007, where they differ."""


class VisibilityProof(NamedTuple):
    """`command` asks for one sample; counters that are still hidden are an error of it."""

    what: str
    command: str


class CounterCommands(msgspec.Struct, frozen=True, kw_only=True):
    """For an elevated prompt (cmd) of the computer itself, in this order."""

    whose: str
    show: str
    """Sets the value in the registry."""
    begin_anew: tuple[str, ...]
    """Stops and starts the counter log of docs/inputs.md: it goes on with the names it found."""
    proofs: tuple[VisibilityProof, ...]


def counter_commands(groups: Iterable[str], library: Library) -> CounterCommands | None:
    """Those for the groups that `counter_feeds.present` names; None where it names none."""
    proofs = [
        VisibilityProof(group + era, _typeperf(library, names))
        for group in groups
        for era, names in _names(group, library)
    ]
    if not proofs:
        return None
    key = f"HKLM\\SYSTEM\\CurrentControlSet\\Services\\{library}\\Performance"
    return CounterCommands(
        whose=LIBRARIES[library],
        show=f'reg add "{key}" /v "Show Advanced Counters" /t REG_DWORD /d 1 /f',
        begin_anew=("logman stop esewatch", "logman start esewatch"),
        proofs=tuple(proofs),
    )


def library_of(provider: str) -> Library:
    """The library that serves a database, from the provider of its events."""
    return "ESE" if provider.upper() == "ESE" else "ESENT"


def _names(group: str, library: Library) -> list[tuple[str, tuple[str, ...]]]:
    found = [("", _COUNTERS[group])] if group in _COUNTERS else []
    if library == "ESE" and group in _FORMER:
        found.append((", Exchange 2007", _FORMER[group]))
    return found


def _typeperf(library: Library, names: Iterable[str]) -> str:
    paths = " ".join(f'"\\{_OBJECTS[library]}(*)\\{name}"' for name in names)
    return f"typeperf -sc 1 {paths}"
