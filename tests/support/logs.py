"""Transaction logs and checkpoints made for tests, as the engine writes them.

The offsets stand here once more, apart from those of the code under test. The same arguments
give the same bytes.
"""

import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import xor
from pathlib import Path

from tests.support.edb import CREATED, log_time, seal, sealed_header

SEGMENT = 4096
SEGMENTS = 16
"""Of a whole file, header included."""

BEGAN = datetime(2026, 3, 1, 2, 0, 0, tzinfo=UTC)
RANDOM = 77


def created(generation: int) -> datetime:
    """When the log of a generation was begun."""
    return BEGAN + timedelta(minutes=generation)


def signature(number: int = RANDOM) -> bytes:
    """The log signature that databases of `write_edb` have, or another one."""
    return struct.pack("<I", number) + log_time(CREATED) + bytes(16)


def attachment(path: str, *, number: int = 1, signature_random: int = 443_294_687) -> bytes:
    """An entry of the attached databases."""
    names = (path + "\0\0").encode("utf-16-le")
    database = struct.pack("<I", signature_random) + log_time(CREATED) + bytes(16)
    fixed = struct.pack("<BBHQIIQQ", number, 0x20, len(names), 5, 6, 0, 1 << 32, 0)
    return fixed + database + names


@dataclass(frozen=True)
class Log:
    """A log of `used` segments. `content` makes other records of it, all else the same."""

    generation: int
    used: int = SEGMENTS - 3
    segments: int = SEGMENTS
    previous_checksum: int = 0
    series: int = RANDOM
    version: tuple[int, int, int, int] = (8, 4000, 5, 16)
    attached: tuple[bytes, ...] = ()
    content: int = 0
    first: bool = False
    fields: dict[str, int] = field(default_factory=dict)

    def header(self) -> bytes:
        """Its header page, sealed."""
        page = bytearray(SEGMENT)
        struct.pack_into("<I4H", page, 4, self.generation, SEGMENT, 1, self.segments, SEGMENT)
        page[16:24] = log_time(created(self.generation))
        page[24:32] = log_time(None if self.first else created(self.generation - 1))
        struct.pack_into("<3I", page, 32, *self.version[:3])
        page[44:72] = signature(self.series)
        page[72:80] = b"C:\\Logs\\"
        page[333:341] = b"C:\\Logs\\"
        struct.pack_into("<7I", page, 595, 64, 300, 128, 1024, 126, self.segments, 496)
        page[639] = 0x02 | 0x04
        struct.pack_into("<I", page, 648, self.version[3])
        struct.pack_into("<I", page, 661, 9180)
        struct.pack_into("<Q", page, 653, self.previous_checksum)
        struct.pack_into("<I", page, 667, 3)
        entries = b"".join(self.attached)
        page[671 : 671 + len(entries)] = entries
        return sealed_header(bytes(page))

    def body(self) -> list[bytes]:
        """The segments that were written, from number 1 on."""
        return [self.segment(number) for number in range(1, self.used + 1)]

    def segment(self, number: int) -> bytes:
        """One segment, sealed."""
        rng = random.Random(f"{self.generation} {number} {self.content}")
        head = struct.pack("<8xHHI", 0, number, self.generation) + log_time(
            created(self.generation)
        )
        return seal((head + bytes(16) + rng.randbytes(SEGMENT - 40)), number)

    def checksum(self) -> int:
        """What the header of the next log has of this one."""
        return reduce(xor, (struct.unpack_from("<Q", segment)[0] for segment in self.body()), 0)

    def data(self, *, shadow: bool = True) -> bytes:
        """The whole file: header, segments, the shadow of the last one, zeros."""
        body = self.body()
        if shadow and body:
            body.append(body[-1])
        whole = self.header() + b"".join(body)
        return whole.ljust(self.segments * SEGMENT, b"\0")[: self.segments * SEGMENT]


def series(generations: Sequence[int], *, used: int = SEGMENTS - 3) -> list[Log]:
    """Logs that follow one another; each header has the checksum of the log before."""
    logs: list[Log] = []
    for generation in generations:
        before = logs[-1].checksum() if logs else 0
        logs.append(Log(generation, used=used, previous_checksum=before))
    return logs


def write_logs(folder: Path, logs: Sequence[Log], *, current: bool = True) -> dict[int, Path]:
    """Write the logs, the last one as edb.log where it is `current`; generation -> path."""
    paths: dict[int, Path] = {}
    for log in logs:
        name = f"edb{log.generation:05X}.log"
        if current and log is logs[-1]:
            name = "edb.log"
        paths[log.generation] = folder / name
        paths[log.generation].write_bytes(log.data())
    return paths


def checkpoint(generation: int, sector: int = 1, *, series: int = RANDOM) -> bytes:
    """A checkpoint file: one page, twice."""
    page = bytearray(SEGMENT)
    struct.pack_into("<HHI", page, 12, 0, sector, generation)
    page[20:48] = signature(series)
    struct.pack_into("<HHI", page, 648, 0, sector, generation)
    struct.pack_into("<I", page, 667, 4)
    return sealed_header(bytes(page)) * 2


def flip(path: Path, at: int, mask: int = 0xFF) -> None:
    """Change one byte of a file."""
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ mask]))
