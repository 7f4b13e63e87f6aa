"""The kept corpus and the seeds, replayed: what fuzzing once reached stays sound."""

import random
import re

import pytest

from tests.fuzz.seeds import kept, seeds
from tests.fuzz.targets import TARGETS
from tests.sources.logs.formats.reading import read
from tests.support.campaign import number_of

FEW, MANY = 50, number_of(20_000, 2000)
"""Mutations a target, the same each time: in each run, and in the slow tests."""


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_the_kept_inputs_and_mutations_of_them_break_nothing(name: str) -> None:
    check_target(name, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_many_mutations_break_nothing(name: str) -> None:
    check_target(name, MANY)


def check_target(name: str, mutations: int) -> None:
    inputs = [*seeds(name), *kept(name)]
    assert len(inputs) > 50
    rng = random.Random(703)
    target = TARGETS[name]
    for data in inputs:
        target(data)
    for _ in range(mutations):
        target(_mutated(rng, rng.choice(inputs)))


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


NAMED = re.compile(
    rb"(?:Source(?:Name)?|[Pp]rovider(?:[ _]?[Nn]ame)?|Name)[\"']?\s*[:=]\s*[\"']?"
    rb"(?:ESE|ESENT|NTDS ISAM)(?![\w\x80-\xff-])"
    rb"|\b(?:ESE|ESENT|NTDS ISAM)[ :]+\d{3}\b[^\n]{0,80}\(\d+"
)
"""An event source of ESE in the place of a source, or before a process."""


def test_no_kept_input_that_names_a_source_of_ese_is_passed_over_without_a_word() -> None:
    named = [data for data in (*seeds("event_stream"), *kept("event_stream")) if NAMED.search(data)]
    assert len(named) > 80
    silent = [data for data in named if not (fed := read(data)).records and not fed.unreadable]
    assert silent == []
