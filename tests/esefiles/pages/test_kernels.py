"""All kernels beside the obvious checksum, on pages of every size and in every state."""

import functools
import gzip
import importlib
import importlib.util
import random
import sys
import threading
from array import array
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import pytest

from esefiles.pages import kernels
from esefiles.pages.kernels import Kernel
from esefiles.pages.layout import BLANK, GOOD, LARGEST_SMALL, PAGE_SIZES, SUSPECT
from tests.support.kernels import KERNELS, compiled_kernel
from tests.support.obvious_checksum import flipped, page_class, seal
from tests.support.samples import sample

FIRST = 70_001
LAST_NUMBER = 0xFFFFFFFF
STATES = {
    "good": GOOD,
    "blank": BLANK,
    "one bit flipped": SUSPECT,
    "two bits flipped": SUSPECT,
    "of another number": SUSPECT,
    "never sealed": SUSPECT,
    "one bit set": SUSPECT,
    "old": GOOD,
    "old, one bit flipped": SUSPECT,
    "old, of another number": SUSPECT,
}
"""State -> class, but no large page is good in the old format."""


@pytest.fixture(name="kernel", params=sorted(KERNELS))
def _kernel(request: pytest.FixtureRequest) -> Kernel:
    return KERNELS[request.param]()


def content(chance: random.Random, size: int) -> bytes:
    """Full, half full, or empty but for the header, as pages are."""
    used = chance.choice((size, chance.randrange(80, size), 80))
    return chance.randbytes(used) + bytes(size - used)


def page_in(state: str, chance: random.Random, size: int, number: int) -> bytes:
    """A random page in one of STATES, in the place of page `number`."""
    page, old = content(chance, size), state.startswith("old")
    if state == "blank":
        return bytes(size)
    if state == "never sealed":
        return page
    if state == "one bit set":
        return flipped(bytes(size), chance.randrange(size * 8))
    if state.endswith("another number"):
        number += chance.choice((-1, 1, 1 << 16))
    flips = {"one bit flipped": 1, "two bits flipped": 2}.get(state.removeprefix("old, "), 0)
    return flipped(seal(page, number, old=old), *chance.sample(range(size * 8), flips))


@functools.cache
def mixed(size: int) -> tuple[bytes, bytes]:
    """Pages from FIRST on in all states, and their classes by the obvious checksum."""
    chance = random.Random(size)
    states = list(STATES) * (3 if size > LARGEST_SMALL else 8)
    chance.shuffle(states)
    pages, classes = [], bytearray()
    for number, state in enumerate(states, FIRST):
        pages.append(page_in(state, chance, size, number))
        classes.append(page_class(pages[-1], number))
        large = size > LARGEST_SMALL and state == "old"
        assert classes[-1] == (SUSPECT if large else STATES[state]), state
    return b"".join(pages), bytes(classes)


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_a_kernel_agrees_with_the_obvious_checksum_on_pages_in_every_state(
    kernel: Kernel, size: int
) -> None:
    pages, classes = mixed(size)

    assert kernel(memoryview(pages), size, FIRST) == classes


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_a_kernel_reads_pages_at_any_address(kernel: Kernel, size: int) -> None:
    pages, classes = mixed(size)
    for shift in (1, 2, 3, 4, 5, 7, 8, 31, 63):
        moved = memoryview(bytearray(shift) + pages)[shift:]

        assert kernel(moved, size, FIRST) == classes


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_every_single_flipped_bit_makes_a_page_suspect(size: int) -> None:
    compiled = compiled_kernel()
    page = bytearray(seal(random.Random(1).randbytes(size), FIRST))
    view, missed = memoryview(page), []
    for bit in range(size * 8):
        page[bit >> 3] ^= 1 << (bit & 7)
        if compiled(view, size, FIRST)[0] != SUSPECT:
            missed.append(bit)
        page[bit >> 3] ^= 1 << (bit & 7)

    assert missed == []
    assert compiled(view, size, FIRST) == bytes([GOOD])


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_one_byte_that_is_not_zero_is_seen_wherever_it_is(kernel: Kernel, size: int) -> None:
    step = size // 64
    for at in [*range(0, size, step), size - 1]:
        page = bytearray(size)
        page[at] = 0x80

        assert kernel(memoryview(page), size, FIRST) == bytes([SUSPECT])
    assert kernel(memoryview(bytes(size)), size, FIRST) == bytes([BLANK])


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_words_that_cancel_each_other_out_do_not_make_a_page_blank(
    kernel: Kernel, size: int
) -> None:
    page = bytearray(size)
    for at in (1024, 1024 + 8, size - 512, size - 512 + 8):
        page[at] ^= 0xFF

    assert kernel(memoryview(page), size, 0) == bytes([page_class(bytes(page), 0)])


@pytest.mark.parametrize("number", [0, 1, 0x7FFFFFFF, 0x80000000, LAST_NUMBER])
@pytest.mark.parametrize("size", [4096, 32768])
def test_every_number_of_32_bits_is_a_page_number(kernel: Kernel, size: int, number: int) -> None:
    page = memoryview(seal(random.Random(2).randbytes(size), number))

    assert kernel(page, size, number) == bytes([GOOD])
    assert kernel(page, size, number ^ 1) == bytes([SUSPECT])


@pytest.mark.parametrize("first", [LAST_NUMBER, -1, LAST_NUMBER + (5 << 32), -(7 << 32) - 1])
def test_numbers_count_modulo_2_to_the_32(kernel: Kernel, first: int) -> None:
    chance = random.Random(3)
    pages = [seal(chance.randbytes(2048), number) for number in (LAST_NUMBER, 0, 1)]

    assert kernel(memoryview(b"".join(pages)), 2048, first) == bytes([GOOD] * 3)


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_a_rest_shorter_than_a_page_is_left_out(kernel: Kernel, size: int) -> None:
    pages, classes = mixed(size)

    assert kernel(memoryview(pages)[: 3 * size - 1], size, FIRST) == classes[:2]
    assert kernel(memoryview(pages)[: size - 1], size, FIRST) == b""
    assert kernel(memoryview(b""), size, FIRST) == b""


def test_kernels_work_in_many_threads_at_once(kernel: Kernel) -> None:
    work = [(size, *mixed(size)) for size in PAGE_SIZES] * 4
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda one: kernel(memoryview(one[1]), one[0], FIRST), work))

    assert found == [classes for _, _, classes in work]


def test_the_compiled_kernel_lets_other_threads_run_while_it_works() -> None:
    compiled, most = compiled_kernel(), 2000
    pages = memoryview(bytearray(b"\1") * (4 << 20))
    begun, stop = threading.Event(), threading.Event()
    calls: list[bytes] = []

    def work() -> None:
        begun.set()
        while not stop.is_set() and len(calls) < most:
            calls.append(compiled(pages, 4096, 1))

    interval = sys.getswitchinterval()
    # No thread is made to give up the GIL: only one that lets go of it does.
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        begun.wait()
        stop.set()
        thread.join()
    finally:
        sys.setswitchinterval(interval)

    assert len(calls) < most


@pytest.mark.parametrize("size", [0, -1, 1, 1024, 4095, 24576, 65536, 1 << 63, -(1 << 70)])
def test_a_page_size_that_no_database_has_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="page size"):
        kernels.classify(bytes(65536), size, 1)


@pytest.mark.parametrize("size", [0, -1, 1, 1024, 4095, 24576, 65536])
def test_the_compiled_kernel_itself_refuses_a_wrong_page_size(size: int) -> None:
    with pytest.raises(ValueError, match=f"page size {size}$"):
        compiled_kernel()(memoryview(bytes(65536)), size, 1)


def test_a_generation_of_processors_below_the_first_is_refused() -> None:
    compiled_kernel()
    module = importlib.import_module("esefiles.pages._kernel")

    assert module.generation() in (0, 1, 2)
    with pytest.raises(ValueError, match="newest is below 0"):
        module.classify(memoryview(bytes(4096)), 4096, 1, -1)
    assert module.classify(memoryview(bytes(4096)), 4096, 1, 99) == bytes([BLANK])


def test_any_contiguous_buffer_is_taken_and_others_are_refused() -> None:
    pages, classes = mixed(4096)
    words = array("I", pages)

    for buffer in (pages, bytearray(pages), memoryview(pages), memoryview(words)):
        assert kernels.classify(buffer, 4096, FIRST) == classes
    assert kernels.classify(memoryview(pages)[4096:], 4096, FIRST + 1) == classes[1:]
    with pytest.raises(TypeError):
        kernels.classify(memoryview(pages)[::2], 4096, FIRST)
    with pytest.raises(TypeError):
        kernels.classify("page", 4096, FIRST)  # type: ignore[arg-type]
    with pytest.raises((TypeError, BufferError)):
        compiled_kernel()(memoryview(pages)[::2], 4096, FIRST)


def chosen() -> ModuleType:
    """`kernels` loaded anew, beside the one that is loaded."""
    spec = importlib.util.spec_from_file_location("kernels_anew", kernels.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_compiled_kernel_is_chosen_where_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_kernel()
    pages, classes = mixed(8192)
    names = []
    for missing in (None, "esefiles.pages._kernel"):
        if missing:
            monkeypatch.setitem(sys.modules, missing, None)
        module = chosen()
        names.append(module.NAME)

        assert module.classify(pages, 8192, FIRST) == classes
    assert names == ["compiled", "python"]


@pytest.mark.parametrize(
    ("name", "size", "counts"),
    [
        ("dissect-SRUDB-16-bad-pages.dat.gz", 4096, [79, 63, 16]),
        ("strozfriedberg-decompress_test-8k.edb.gz", 8192, [18, 236, 0]),
        ("dissect-large-32k.edb.gz", 32768, [381, 385, 0]),
    ],
)
def test_a_kernel_finds_the_bad_pages_of_real_databases(
    kernel: Kernel, name: str, size: int, counts: list[int]
) -> None:
    data = gzip.decompress(sample(f"db/{name}").read_bytes())
    classes = kernel(memoryview(data)[2 * size :], size, 1)

    assert [classes.count(one) for one in (GOOD, BLANK, SUSPECT)] == counts
