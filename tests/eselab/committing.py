"""A process that commits numbered transactions, and says which are flushed, until it is killed.

python -m tests.eselab.committing FOLDER SEED
"""

import os
import random
import sys
from pathlib import Path

from eselab.disk.disk import RealDisk
from eselab.storage.store import Store, Transaction

NAME = "numbered.edb"
PAGE_SIZE = 4096
FIRST = 128
MOST_PAGES = 150
Model = dict[int, bytearray]


def writes(number: int, pages: int) -> tuple[int, list[tuple[int, int, bytes]]]:
    """Transaction `number`: pages to add, then (page, offset, data); page 1 has the number."""
    chance = random.Random(number)
    added = chance.randrange(1, 4) if pages < MOST_PAGES else 0
    places = [
        (chance.randrange(1, pages + added + 1), chance.randrange(FIRST + 8, PAGE_SIZE - 100))
        for _ in range(chance.randrange(1, 8))
    ]
    made = [(page, at, chance.randbytes(chance.randrange(1, 100))) for page, at in places]
    return added, [*made, (1, FIRST, number.to_bytes(8, "little"))]


def last_of(store: Store) -> int:
    """Number of the last transaction that is in the store."""
    if not store.pages:
        return 0
    return int.from_bytes(store.read(1)[FIRST : FIRST + 8], "little")


def make(transaction: Transaction, number: int) -> None:
    """Transaction `number` in the store."""
    added, made = writes(number, transaction.pages)
    transaction.extend(added)
    for page, at, data in made:
        transaction.page(page)[at : at + len(data)] = data


def advance(model: Model, number: int) -> None:
    """Transaction `number` in the model: page -> what it has from FIRST on."""
    added, made = writes(number, len(model))
    for _ in range(added):
        model[len(model) + 1] = bytearray(PAGE_SIZE - FIRST)
    for page, at, data in made:
        model[page][at - FIRST : at - FIRST + len(data)] = data


def tell(word: str) -> None:
    """One line, at once and whole."""
    os.write(sys.stdout.fileno(), f"{word}\n".encode())


def main(folder: str, seed: str) -> None:
    """Go on from what is in the store, without an end."""
    chance = random.Random(int(seed))
    tell("opening")
    store = Store.open(RealDisk(Path(folder)), NAME, cache_pages=chance.choice([2, 20]), now=2e9)
    number = last_of(store)
    while True:
        for _ in range(chance.randrange(1, 6)):
            number += 1
            with store.begin() as transaction:
                make(transaction, number)
        store.flush()
        tell(str(number))
        if chance.random() < 0.2:
            store.checkpoint(chance.choice([0, 5000, 100_000]))


if __name__ == "__main__":
    main(*sys.argv[1:])
