"""What a compiled kernel says of many pages, as digests: run by the Pythons of two systems.

`python kernel_check.py FOLDER` prints JSON: for each machine code that the processor knows, the
digest of the classes of all files NAME.SIZE.FIRST in FOLDER, how the sealed pages among them
fare with each of their bits flipped, and how many GB of them a second of processor time is for.
"""

import hashlib
import json
import sys
import time
from pathlib import Path

from esefiles.pages import _kernel

ROUNDS, TIMES = 3, 12_000


def flips(page: bytes, number: int, newest: int) -> bytes:
    """The class of `page` with each of its bits flipped, then of itself."""
    changed, classes = bytearray(page), bytearray()
    view = memoryview(changed)
    for bit in range(len(page) * 8):
        changed[bit >> 3] ^= 1 << (bit & 7)
        classes += _kernel.classify(view, len(page), number, newest)
        changed[bit >> 3] ^= 1 << (bit & 7)
    return bytes(classes + _kernel.classify(view, len(page), number, newest))


def bytes_a_second(page: bytes, newest: int) -> float:
    """Of the best of some rounds, over pages that are in the cache of the processor."""
    data = memoryview(page * ((1 << 20) // len(page)))
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.process_time()
        for _ in range(TIMES):
            _kernel.classify(data, len(page), 0, newest)
        best = min(best, time.process_time() - begin)
    return len(data) * TIMES / best


def main(folder: Path) -> None:
    """Print what is said above."""
    found = {}
    for newest in range(_kernel.generation() + 1):
        classes = {}
        for file in sorted(folder.iterdir()):
            name, size, first = file.name.rsplit(".", 2)
            data = memoryview(file.read_bytes())
            said = _kernel.classify(data, int(size), int(first), newest)
            classes[file.name] = hashlib.sha256(said).hexdigest()
            if name == "sealed":
                said = flips(bytes(data), int(first), newest)
                classes[f"{file.name}, flipped"] = f"{said.count(said[-1])} of {len(said)}"
        speed = bytes_a_second((folder / "sealed.32768.7").read_bytes(), newest)
        found[newest] = {"classes": classes, "gb_a_second": round(speed / 1e9, 1)}
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
