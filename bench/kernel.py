"""The compiled kernel beside a plain 64-bit XOR sum over the same pages.

The sum is compiled here with the compiler, the flags and the choice of processors that the
kernel is built with.
"""

import ctypes
import importlib
import os
import random
import shlex
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.figure import Figure, paired
from esefiles.pages.checksum import page_checksums
from esefiles.pages.kernels import Kernel
from esefiles.pages.layout import BLOCK_CHECKSUMS, FLAGS_OFFSET, GOOD, NEW_FORMAT, NUMBER_OFFSET

PIECE: Final = 1 << 20
"""Bytes a call, as a scan reads them."""
PIECES: Final = 256
"""Together more than a processor caches: what is read from a disk is in no cache either."""
FIRST: Final = 1
ROUNDS: Final = 15
OPTIONS: Final = ("-O3",)
"""As in setup.py."""

Pass = Callable[[memoryview], None]


def run() -> list[Figure]:
    """Pages of 8 and 32 KiB."""
    compiled = _compiled()
    with tempfile.TemporaryDirectory() as folder:
        xor_sum = _xor_sum(Path(folder))
        return [_figure(size, _pass(compiled, size), xor_sum) for size in (8192, 32768)]


def _figure(page_size: int, ours: Pass, peer: Pass) -> Figure:
    memory = memoryview(bytearray(_pages(page_size) * PIECES))
    mine, theirs, ratio = paired(
        lambda: ours(memory), lambda: peer(memory), ROUNDS, time.process_time
    )
    cached = memory[:PIECE]

    def again(work: Pass) -> None:
        for _ in range(PIECES):
            work(cached)

    my_cached, their_cached, _ = paired(
        lambda: again(ours), lambda: again(peer), ROUNDS, time.process_time
    )
    speed = PIECE * PIECES / 1e9
    return Figure(
        what=f"page kernel, {page_size // 1024} KiB pages: bytes/s beside a plain 64-bit XOR sum "
        "in C, same compiler and flags",
        measured=ratio,
        unit="x",
        must_be="at least",
        limit=0.4,
        details=(
            f"{PIECES} MiB in memory, 1 MiB a call, one core: compiled {speed / mine:.1f} GB/s, "
            f"XOR sum {speed / theirs:.1f}; the same 1 MiB from the cache: "
            f"compiled {speed / my_cached:.0f}, XOR sum {speed / their_cached:.0f}"
        ),
    )


def _pages(page_size: int) -> bytes:
    """One piece of good random pages, FIRST and following."""
    chance, pages = random.Random(page_size), bytearray()
    for number in range(FIRST, FIRST + PIECE // page_size):
        page = bytearray(chance.randbytes(page_size))
        page[FLAGS_OFFSET : FLAGS_OFFSET + 4] = NEW_FORMAT.to_bytes(4, "little")
        page[NUMBER_OFFSET : NUMBER_OFFSET + 4] = number.to_bytes(4, "little")
        # The checksums of blocks 2 to 4 lie in block 1, which is therefore summed last.
        for at, checksum in enumerate(page_checksums(bytes(page), number)[1:]):
            place = BLOCK_CHECKSUMS + at * 8
            page[place : place + 8] = checksum.to_bytes(8, "little")
        page[:8] = page_checksums(bytes(page), number)[0].to_bytes(8, "little")
        pages += page
    return bytes(pages)


def _compiled() -> Kernel:
    try:
        kernel: Kernel = importlib.import_module("esefiles.pages._kernel").classify
    except ImportError as error:
        raise RuntimeError(f"{error} (scripts/setup)") from error
    return kernel


def _pass(kernel: Kernel, page_size: int) -> Pass:
    """Judges all pieces; RuntimeError unless all pages are good, as they are."""
    good = bytes([GOOD]) * (PIECE // page_size)

    def judge(pages: memoryview) -> None:
        for begin in range(0, len(pages), PIECE):
            if kernel(pages[begin : begin + PIECE], page_size, FIRST) != good:
                raise RuntimeError(f"good pages of {page_size} bytes are not found good")

    return judge


def _xor_sum(folder: Path) -> Pass:
    """The sum of all pieces; RuntimeError where it cannot be compiled."""
    library = folder / "xor_sum.so"
    source = Path(__file__).with_name("xor_sum.c")
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    flags = f"{sysconfig.get_config_var('CFLAGS') or ''} {os.environ.get('CFLAGS', '')}"
    command = [*shlex.split(compiler), *shlex.split(flags), *OPTIONS, "-fPIC", "-shared"]
    try:
        subprocess.run([*command, "-o", str(library), str(source)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(f"no XOR sum to compare with: {error}") from error
    function = ctypes.CDLL(str(library)).xor_sum
    function.restype, function.argtypes = ctypes.c_uint64, (ctypes.c_void_p, ctypes.c_size_t)

    def add(pages: memoryview) -> None:
        base = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        for begin in range(0, len(pages), PIECE):
            function(base + begin, PIECE)

    return add
