"""Faults on request: each really happens, is found as what it is, and nothing else is."""

import random
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from esefiles.pages.checksum import diagnose
from esefiles.pages.kernels import classify
from esefiles.pages.layout import BLANK, GOOD, SUSPECT, block_size, offset_of
from eselab.base.clock import VirtualClock
from eselab.disk.disk import SECTOR, SimDisk
from eselab.machine.faults import Fault, FaultyDisk
from tests.eselab.page_sizes import SIZES
from tests.support.edb import page as page_of
from tests.support.edb import seal

PAGES = 6
UNUSED = 5
NAME = "a.edb"
START = 1.7e9


class Rig:
    """A database of pages that are all different; page UNUSED is blank."""

    def __init__(self, page_size: int) -> None:
        self.size = page_size
        self.clock = VirtualClock(START)
        self.below = SimDisk(random.Random(0))
        self.told: list[Fault] = []
        self.disk = FaultyDisk(self.below, self.clock, self.told.append)
        self.file = self.disk.open(NAME, create=True)
        self.file.write(0, bytes(2 * page_size))
        for number in range(1, PAGES + 1):
            self.put(number, 0 if number == UNUSED else 1)

    def put(self, number: int, version: int) -> None:
        self.file.write(offset_of(number, self.size), self.made(number, version))

    def made(self, number: int, version: int) -> bytes:
        """A whole page; version 0 is blank."""
        if version == 0:
            return bytes(self.size)
        return page_of(self.size, number, seed=version)

    def page(self, number: int) -> bytes:
        return self.below.open(NAME).read(offset_of(number, self.size), self.size)

    def suspects(self) -> list[int]:
        data = self.below.open(NAME).read(2 * self.size, PAGES * self.size)
        classes = classify(data, self.size, 1)
        return [at for at, found in enumerate(classes, start=1) if found == SUSPECT]

    def happened(self) -> list[tuple[int, str]]:
        return [(fault.page_number, fault.kind) for fault in self.told]


def bits_between(one: bytes, other: bytes) -> list[int]:
    changed = [at for at, (was, now) in enumerate(zip(one, other, strict=True)) if was != now]
    return [at * 8 + bit for at in changed for bit in range(8) if (one[at] ^ other[at]) >> bit & 1]


@pytest.fixture(params=SIZES)
def rig(request: pytest.FixtureRequest) -> Rig:
    return Rig(request.param)


def test_one_flipped_bit_is_correctable_and_the_only_one(rig: Rig) -> None:
    before = rig.page(3)
    for seed in range(20):
        fault = rig.disk.flip(NAME, 3, rig.size, 1, random.Random(seed))
        flipped = bits_between(before, rig.page(3))

        assert fault == Fault(time=START, database=NAME, page_number=3, kind="flip_one")
        assert len(flipped) == 1
        assert diagnose(rig.page(3), 3).bits == tuple(flipped)
        assert rig.suspects() == [3]
        rig.put(3, 1)


def test_two_flipped_bits_are_in_one_block_and_beyond_correction(rig: Rig) -> None:
    before = rig.page(3)
    for seed in range(20):
        rig.disk.flip(NAME, 3, rig.size, 2, random.Random(seed))
        first, second = bits_between(before, rig.page(3))

        assert first // (block_size(rig.size) * 8) == second // (block_size(rig.size) * 8)
        assert diagnose(rig.page(3), 3).fault == "checksum"
        assert rig.suspects() == [3]
        rig.put(3, 1)
    assert rig.happened() == [(3, "flip_two")] * 20


class Unlucky(random.Random):
    """Draws first what is never to be flipped."""

    def __init__(self, bits: list[int]) -> None:
        super().__init__(0)
        self.bits = bits

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return 0

    def sample(self, population: range, k: int) -> list[int]:  # type: ignore[override]
        drawn = [bit for bit in self.bits if bit in population][:k]
        del self.bits[:k]
        return drawn if len(drawn) == k else super().sample(population, k)


def test_the_bits_that_the_engine_never_corrects_are_not_flipped(rig: Rig) -> None:
    before = rig.page(1)
    rig.disk.flip(NAME, 1, rig.size, 1, Unlucky([301, 301, 5, 63]))
    (bit,) = bits_between(before, rig.page(1))

    assert bit >= 64
    assert bit != 301


def test_the_same_chance_flips_the_same_bits() -> None:
    pages = []
    for seed in (1, 1, 2):
        rig = Rig(8192)
        rig.disk.flip(NAME, 2, 8192, 2, random.Random(seed))
        pages.append(rig.page(2))

    assert pages[0] == pages[1] != pages[2]


def test_a_page_that_is_blank_bad_or_missing_is_not_flipped(rig: Rig) -> None:
    chance = random.Random(0)
    rig.disk.flip(NAME, 3, rig.size, 2, chance)
    bad = rig.page(3)

    for page in (3, UNUSED, PAGES + 9, 0, -1):
        assert rig.disk.flip(NAME, page, rig.size, 1, chance) is None
    assert rig.page(3) == bad
    assert rig.happened() == [(3, "flip_two")]


def test_one_or_two_bits_are_flipped_and_no_other_number() -> None:
    with pytest.raises(ValueError, match="only 1 or 2"):
        Rig(4096).disk.flip(NAME, 1, 4096, 3, random.Random(0))


def test_of_a_torn_write_the_first_sectors_come_to_the_disk(rig: Rig) -> None:
    before, after = rig.page(2), rig.made(2, 2)
    rig.disk.tear(NAME, 2, rig.size)
    rig.put(1, 2)
    nothing_yet = rig.happened()
    rig.clock.spend(7)
    rig.put(2, 2)
    cut = next(at for at in range(rig.size) if rig.page(2)[at:] == before[at:])

    assert nothing_yet == []
    assert rig.told == [Fault(time=START + 7, database=NAME, page_number=2, kind="tear")]
    assert 0 < -(-cut // SECTOR) * SECTOR < rig.size
    assert rig.page(2)[:cut] == after[:cut]
    assert diagnose(rig.page(2), 2).fault == "checksum"
    assert rig.suspects() == [2]


def test_a_tear_waits_for_a_write_in_which_it_shows(rig: Rig) -> None:
    content = bytearray(rig.page(2))
    content[SECTOR - 1] ^= 0x55
    first_sector_only = seal(bytes(content), 2)
    rig.disk.tear(NAME, 2, rig.size)
    for same in (rig.page(2), first_sector_only):
        rig.file.write(offset_of(2, rig.size), same)
        waiting = rig.happened()

        assert waiting == []
        assert rig.page(2) == same
    rig.put(2, 2)

    assert rig.happened() == [(2, "tear")]


def test_the_first_write_of_a_new_page_can_be_torn(rig: Rig) -> None:
    rig.disk.tear(NAME, UNUSED, rig.size)
    rig.put(UNUSED, 1)

    assert rig.suspects() == [UNUSED]


def test_a_lost_write_leaves_the_older_page_which_verifies(rig: Rig) -> None:
    before = rig.page(2)
    rig.disk.lose(NAME, 2, rig.size)
    rig.put(2, 2)
    lost = rig.page(2)
    rig.put(2, 3)

    assert lost == before
    assert rig.happened() == [(2, "lose")]
    assert rig.suspects() == []
    assert rig.page(2) == rig.made(2, 3)


def test_a_write_that_changes_nothing_and_the_first_of_a_page_are_not_lost(rig: Rig) -> None:
    for number, version in ((2, 1), (UNUSED, 1)):
        rig.disk.lose(NAME, number, rig.size)
        rig.put(number, version)

        assert rig.page(number) == rig.made(number, version)
    assert rig.happened() == []


def test_a_misdirected_write_makes_two_bad_pages(rig: Rig) -> None:
    before = rig.page(2)
    rig.disk.misdirect(NAME, 2, 4, rig.size)
    rig.put(2, 2)
    victim = diagnose(rig.page(4), 4)

    assert rig.page(2) == before
    assert rig.page(4) == rig.made(2, 2)
    assert (victim.fault, victim.written_as) == ("wrong_page", 2)
    assert rig.suspects() == [4]
    assert rig.happened() == [(2, "misdirect"), (4, "misdirect")]


@pytest.mark.parametrize("to", [2, UNUSED, PAGES + 9])
def test_a_write_goes_astray_only_to_another_page_that_is_in_use(rig: Rig, to: int) -> None:
    rig.disk.misdirect(NAME, 2, to, rig.size)
    rig.put(2, 2)

    assert rig.page(2) == rig.made(2, 2)
    assert rig.happened() == []


ASKING: dict[str, Callable[[Rig, int | None], None]] = {
    "tear": lambda rig, page: rig.disk.tear(NAME, page, rig.size),
    "lose": lambda rig, page: rig.disk.lose(NAME, page, rig.size),
    "misdirect": lambda rig, page: rig.disk.misdirect(NAME, page, 1, rig.size),
}


@pytest.mark.parametrize("kind", ASKING)
def test_without_a_page_it_is_the_next_one_written_but_no_header(rig: Rig, kind: str) -> None:
    ASKING[kind](rig, None)
    rig.file.write(0, page_of(rig.size, 0, seed=9) * 2)
    headers = rig.happened()
    rig.put(4, 2)
    rig.put(3, 2)

    assert headers == []
    assert rig.happened()[0] == (4, kind)
    assert rig.page(3) == rig.made(3, 2)


@pytest.mark.parametrize("kind", ASKING)
def test_of_several_pages_written_at_once_only_the_asked_one_fails(rig: Rig, kind: str) -> None:
    before = rig.page(3)
    ASKING[kind](rig, 3)
    rig.file.write(offset_of(1, rig.size), b"".join(rig.made(n, 2) for n in (1, 2, 3, 4)))
    bad = {page for page, _ in rig.happened()}

    assert bad == ({1, 3} if kind == "misdirect" else {3})
    for number in {1, 2, 4} - bad:
        assert rig.page(number) == rig.made(number, 2)
    assert rig.page(3) == before or kind == "tear"
    assert rig.suspects() == {"tear": [3], "lose": [], "misdirect": [1]}[kind]


def test_a_write_of_a_part_of_a_page_is_left_alone(rig: Rig) -> None:
    rig.disk.lose(NAME, None, rig.size)
    rig.file.write(offset_of(2, rig.size) + 100, b"abc")
    rig.file.write(offset_of(4, rig.size) - 50, bytes(100))

    assert rig.page(2)[100:103] == b"abc"
    assert rig.page(3)[-50:] == rig.page(4)[:50] == bytes(50)
    assert rig.happened() == []


def test_faults_of_one_page_happen_one_write_after_the_other(rig: Rig) -> None:
    rig.disk.lose(NAME, 2, rig.size)
    rig.disk.tear(NAME, 2, rig.size)
    for version in (2, 3, 4):
        rig.put(2, version)

    assert rig.happened() == [(2, "lose"), (2, "tear")]
    assert rig.page(2) == rig.made(2, 4)


def test_a_fault_stands_until_its_place_is_written_or_cut_off(rig: Rig) -> None:
    for number in (2, 3, 6):
        rig.disk.flip(NAME, number, rig.size, 1, random.Random(0))
    three = [fault.page_number for fault in rig.disk.standing()]
    rig.put(2, 2)
    rig.file.truncate(offset_of(6, rig.size))
    one = [fault.page_number for fault in rig.disk.standing()]
    rig.disk.remove(NAME)

    assert (three, one, rig.disk.standing()) == ([2, 3, 6], [3], [])
    assert len(rig.told) == 3


def test_only_databases_can_be_made_bad() -> None:
    told: list[Fault] = []
    disk = FaultyDisk(SimDisk(random.Random(0)), VirtualClock(START), told.append)
    disk.open("E00.log", create=True).write(0, b"abc")

    with pytest.raises(ValueError, match=r"E00\.log is no database"):
        disk.tear("E00.log", 1, 4096)
    with pytest.raises(ValueError, match=r"E00\.log is no database"):
        disk.flip("E00.log", 1, 4096, 1, random.Random(0))


def test_without_faults_the_disk_is_the_one_below(rig: Rig) -> None:
    rig.file.sync()
    rig.disk.sync()
    size = rig.file.size()
    read = rig.file.read(0, size)
    rig.file.close()

    assert size == (PAGES + 2) * rig.size
    assert read == rig.below.open(NAME).read(0, size)
    assert rig.disk.names() == [NAME]
    assert rig.suspects() == []
    assert set(classify(read[2 * rig.size :], rig.size, 1)) == {GOOD, BLANK}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_kill_lets_nothing_be_done_any_more() -> None:
    code = "import eselab.machine.faults as f\ntry: f.kill()\nfinally: print('left', flush=True)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert ended.returncode == -signal.SIGKILL
    assert ended.stdout == b""
