"""A log file is bytes behind a header to the engine, and segments that verify to all others."""

import random
import struct
from pathlib import Path

import pytest

from esefiles.logs.log_header import LogHeader, parse_log_header
from esefiles.logs.segments import SegmentCheck, Segments
from eselab.disk.disk import RealDisk, SimDisk, SimFile, _Content
from eselab.disk.file import File
from eselab.disk.log_file import FILE_BYTES, GENERATION_BYTES, HEADER_BYTES, LogFile
from eselab.storage.transaction_log.log import header_page
from tests.support.each import of_each

GENERATION = 7
NAME = f"E00{GENERATION:08X}.log"
HEADER = header_page(GENERATION, 5, began=1e9, created=1.1e9)
CAPACITY = GENERATION_BYTES - HEADER_BYTES


class Watched(SimFile):
    """Keeps each page of 4 KiB that was written: a kill may come behind any of them."""

    def __init__(self) -> None:
        super().__init__(_Content())
        self.pages: list[tuple[int, bytes]] = []

    def write(self, offset: int, data: bytes) -> None:
        super().write(offset, data)
        self.pages += [(offset + at, data[at : at + 4096]) for at in range(0, len(data), 4096)]

    def now(self) -> bytes:
        return self.read(0, FILE_BYTES)


def none() -> File:
    raise FileNotFoundError


def made() -> tuple[LogFile, Watched]:
    raw = Watched()
    log = LogFile(raw, GENERATION, before=none)
    log.write(0, HEADER)
    return log, raw


def segments(data: bytes) -> Segments:
    """What a reader of ESE's logs says of a file."""
    header = parse_log_header(data[:HEADER_BYTES])
    assert isinstance(header, LogHeader)
    assert header.file_bytes() == len(data) == FILE_BYTES
    check = SegmentCheck(header)
    check.add(memoryview(data)[HEADER_BYTES:])
    return check.result()


def step(log: LogFile, content: bytearray, chance: random.Random) -> None:
    """Something is written behind what is there, sometimes after its end was cut off."""
    if chance.random() < 0.2:
        del content[chance.randrange(len(content) + 1) :]
        log.truncate(HEADER_BYTES + len(content))
    data = chance.randbytes(min(chance.choice((1, 300, 4056, 20_000)), CAPACITY - len(content)))
    log.write(HEADER_BYTES + len(content), data)
    content += data


@of_each(range(3))
def test_what_is_written_is_read_and_each_state_on_the_way_verifies(seed: int) -> None:
    (log, raw), chance, content = made(), random.Random(seed), bytearray()
    for _ in range(8):
        step(log, content, chance)
        assert log.size() == HEADER_BYTES + len(content)
        assert log.read(0, GENERATION_BYTES) == HEADER + content
        at = chance.randrange(len(content) + 1)
        assert log.read(HEADER_BYTES + at, 9000) == content[at : at + 9000]
        found = segments(raw.now())
        assert (found.bad, found.torn) == (None, None)
        assert (found.last, found.checksum) == (-(-len(content) // 4056), log.checksum())
    state = bytearray(FILE_BYTES)
    for at, page in raw.pages:
        state[at : at + len(page)] = page
        assert segments(bytes(state)).bad is None


def test_a_whole_generation_has_room_and_a_shadow() -> None:
    log, raw = made()
    content = random.Random(1).randbytes(CAPACITY)
    log.write(HEADER_BYTES, content)
    assert log.read(HEADER_BYTES, CAPACITY) == content
    assert segments(raw.now()) == Segments(last=258, checksum=log.checksum())


@pytest.mark.parametrize("sector", range(8))
@pytest.mark.parametrize("more", [100, 3000, 9000])
def test_a_write_that_is_torn_in_its_first_segment_costs_nothing(sector: int, more: int) -> None:
    log, raw = made()
    chance = random.Random(2)
    content = chance.randbytes(5000)
    log.write(HEADER_BYTES, content)
    before = raw.now()
    log.write(HEADER_BYTES + len(content), chance.randbytes(more))
    at = 2 * 4096 + sector * 512
    torn = raw.now()[:at] + before[at:]
    raw.write(0, torn)
    found = segments(torn)
    assert (found.bad, found.last) == (None, 2)
    assert log.read(HEADER_BYTES, 5000) == content


def test_the_header_names_the_log_before() -> None:
    disk = SimDisk(random.Random(1))
    before = disk.open("E0000000006.log", create=True)
    before.write(0, header_page(6, 5, began=1e9, created=1.05e9) + b"content" * 999)
    for page, is_other in ((HEADER, False), (header_page(7, 6, began=1e9, created=1e9), True)):
        log = disk.open(NAME, create=True)
        log.write(0, page)
        found = parse_log_header(log.read(0, HEADER_BYTES))
        assert isinstance(found, LogHeader)
        assert (found.previous_created is None, found.previous_checksum == 0) == (is_other,) * 2
        again = disk.open("E0000000008.log", create=True)
        # One that names its own already is left as it is: it was shipped.
        again.write(0, named := HEADER[:24] + struct.pack("<Q", 9) + HEADER[32:])
        assert again.read(0, HEADER_BYTES) == named


def test_a_log_is_not_there_before_it_has_a_header(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    (tmp_path / "E00tmp.log").write_bytes(b"of an earlier life" * 999)
    with pytest.raises(FileNotFoundError):
        disk.open(NAME)
    file = disk.open(NAME, create=True)
    assert disk.names() == ["E00tmp.log"]
    file.write(0, HEADER)
    file.write(HEADER_BYTES, b"abc")
    file.close()
    assert disk.names() == [NAME]
    again = disk.open(NAME, create=True)
    assert again.read(0, 9999) == HEADER + b"abc"
    assert (tmp_path / NAME).stat().st_size == FILE_BYTES
    again.close()
