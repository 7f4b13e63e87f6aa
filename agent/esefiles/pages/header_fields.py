"""The fields of a database header, and the layout of each in the bytes. Source: DBFILEHDR,
SIGNATURE, BKINFO, LE_LGPOS and LOGTIME in daedef.hxx of the published engine."""

import struct
from datetime import UTC, datetime
from typing import Final, Literal

import msgspec

BackupKind = Literal["streaming", "shadow_copy", "snapshot", "unknown"]

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_POSITION = struct.Struct("<HHI")
_COMPUTER_NAME = 16
_BACKUP_KINDS: tuple[BackupKind, ...] = ("streaming", "shadow_copy", "snapshot")


class Signature(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Identity of a database (or series of logs). `random` is 8 hex digits."""

    random: str = "00000000"
    created: datetime | None = None
    computer: str = ""
    """Name of the computer where it was created; current engines leave it out."""


class LogPosition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    generation: int
    sector: int
    byte: int

    def __str__(self) -> str:
        """As the tools of the engine print it."""
        return f"0x{self.generation:X},{self.sector:X},{self.byte:X}"


class HeaderTime(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Time and position in the log of the last action. Both None: never."""

    time: datetime | None = None
    position: LogPosition | None = None


class LogRange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Generations of the log, both included; 0 and 0: none."""

    first: int = 0
    last: int = 0


class HeaderCounter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Number of times that something happened, and the last time."""

    count: int = 0
    last: datetime | None = None
    before_repair: int = 0
    """The count before the last repair set it to zero."""


class BackupRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A backup of the database that was done."""

    kind: BackupKind
    time: datetime | None
    position: LogPosition | None
    logs: LogRange


def u32(page: bytes | memoryview, at: int) -> int:
    value: int = _U32.unpack_from(page, at)[0]
    return value


def u64(page: bytes | memoryview, at: int) -> int:
    value: int = _U64.unpack_from(page, at)[0]
    return value


def time(page: bytes, at: int) -> datetime | None:
    """The time at `at`, None where it is not set or damaged."""
    return parse_log_time(page[at : at + LOG_TIME_BYTES])


def position(page: bytes, at: int) -> LogPosition | None:
    """The log position at `at`, None where it is not set."""
    byte, sector, generation = _POSITION.unpack_from(page, at)
    if not (byte or sector or generation):
        return None
    return LogPosition(generation=generation, sector=sector, byte=byte)


def signature(page: bytes, at: int) -> Signature:
    name = page[at + 12 : at + 12 + _COMPUTER_NAME].split(b"\0")[0]
    return Signature(
        random=f"{u32(page, at):08x}", created=time(page, at + 4), computer=name.decode("latin-1")
    )


def count(page: bytes, at: int, *, old_at: int | None = None) -> HeaderCounter:
    """Count, time and old count, which stand one after the other unless `old_at` says where."""
    old_at = at + 12 if old_at is None else old_at
    return HeaderCounter(
        count=u32(page, at), last=time(page, at + 4), before_repair=u32(page, old_at)
    )


def backup(page: bytes, at: int, kind_at: int) -> BackupRecord | None:
    """The 24 bytes of a backup, None where there was none. Its kind stands elsewhere."""
    if not any(page[at : at + 24]):
        return None
    kind = u32(page, kind_at)
    return BackupRecord(
        kind=_BACKUP_KINDS[kind] if kind < len(_BACKUP_KINDS) else "unknown",
        time=time(page, at + 8),
        position=position(page, at),
        logs=LogRange(first=u32(page, at + 16), last=u32(page, at + 20)),
    )


LOG_TIME_BYTES: Final = 8


def parse_log_time(raw: bytes) -> datetime | None:
    """The time in these 8 bytes: aware where it is UTC, naive where it is local to its server.
    None: not set, or damaged (a month 13)."""
    second, minute, hour, day, month, year, low, high = raw
    milliseconds = low >> 1 | (high >> 1 & 0x7) << 7
    zone = UTC if low & 1 else None
    try:
        return datetime(
            1900 + year, month, day, hour, minute, second, milliseconds * 1000, tzinfo=zone
        )
    except ValueError:
        return None
