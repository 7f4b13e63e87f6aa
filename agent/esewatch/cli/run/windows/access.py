"""Rights on Windows as text: security identifiers, and descriptors in SDDL. "Security Descriptor
Definition Language" and "Well-known SIDs" of the Windows documentation."""

import hashlib
import re
import struct
from typing import Final

SERVICE: Final = "esewatch"
VIRTUAL_ACCOUNT: Final = rf"NT SERVICE\{SERVICE}"
"""Windows makes it for the service alone: it has no password."""

EVENT_LOG_READERS: Final = "S-1-5-32-573"
PERFORMANCE_MONITOR_USERS: Final = "S-1-5-32-558"

_OWNED: Final = "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
"""Administrators own it; SYSTEM and they may do all; nothing is inherited."""
_READ, _MODIFY = "0x1200a9", "0x1301bf"
_ENTRY: Final = re.compile(r"\([^()]*(?:\([^()]*\)[^()]*)*\)")


def service_sid(name: str) -> str:
    """The identifier of the virtual account of a service: it follows from its name."""
    digest = hashlib.sha1(name.upper().encode("utf-16-le"), usedforsecurity=False).digest()
    return "S-1-5-80-" + "-".join(map(str, struct.unpack("<5I", digest)))


def folder_descriptor(sid: str, *, writes: bool) -> str:
    """A folder for administrators, which `sid` may read, or also write in."""
    return f"{_OWNED}(A;OICI;{_MODIFY if writes else _READ};;;{sid})"


def with_entry(descriptor: str, sid: str, right: str) -> str:
    """`descriptor` with one entry more at the end of its access list: `sid` may `right`. One that
    `sid` has already is replaced."""
    head, entries, tail = _parts(without_entries(descriptor, sid))
    return f"{head}{''.join(entries)}(A;;{right};;;{sid}){tail}"


def without_entries(descriptor: str, sid: str) -> str:
    """`descriptor` without what its access list says of `sid`."""
    head, entries, tail = _parts(descriptor)
    return head + "".join(each for each in entries if not each.endswith(f";{sid})")) + tail


def _parts(descriptor: str) -> tuple[str, list[str], str]:
    """Text before the entries of the access list, the entries, and the text behind them (audit)."""
    found = re.match(r"(?P<head>.*?D:[A-Z]*)(?P<list>(?:\(.*?\))*)(?P<tail>(?:S:.*)?)$", descriptor)
    if found is None:
        raise ValueError(f"no access list: {descriptor}")
    return found["head"], _ENTRY.findall(found["list"]), found["tail"]
