"""The kept corpus and the seeds, replayed: what fuzzing once reached stays sound."""

import random
import time

import pytest

from tests.fuzz.seeds import kept, seeds
from tests.fuzz.targets import TARGETS

SECONDS = 6.0
"""A target; all of them make about half a minute."""


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_the_kept_inputs_and_mutations_of_them_break_nothing(name: str) -> None:
    inputs = [*seeds(name), *kept(name)]
    assert len(inputs) > 50
    rng = random.Random(703)
    target = TARGETS[name]
    deadline = time.monotonic() + SECONDS
    replayed = 0
    for data in inputs:
        target(data)
        replayed += 1
    while time.monotonic() < deadline:
        target(_mutated(rng, rng.choice(inputs)))
        replayed += 1
    assert replayed >= len(inputs)


def _mutated(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(changed) + 1)
        kind = rng.randrange(3)
        if kind == 0 and at < len(changed):
            changed[at] = rng.randrange(256)
        elif kind == 1:
            del changed[at : at + rng.randrange(1, 16)]
        else:
            changed[at:at] = changed[at // 2 : at // 2 + rng.randrange(1, 32)]
    return bytes(changed)
