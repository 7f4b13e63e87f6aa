"""Streams of requests that each hand in the next when the last one is done."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from eselab.disk.lun import Lun

SCAN = 320 * 1024

Stream = Iterator[tuple[int, int, bool]]
"""(offset, length, whether it is a write)."""


class Figures(NamedTuple):
    """Of some streams together, in a run."""

    rate: float
    """Bytes a second."""
    iops: float
    mean: float
    """Seconds a request."""


def sequential(begin: int, length: int, *, write: bool = False) -> Stream:
    offset = begin
    while True:
        yield offset, length, write
        offset += length


def scattered(lun: Lun, seed: int, length: int = 8192, *, write: bool = False) -> Stream:
    chance = random.Random(seed)
    while True:
        yield chance.randrange(lun.capacity // length) * length, length, write


def run(lun: Lun, streams: list[Stream], seconds: float) -> list[Figures]:
    """The figures of each stream; one that is in the list n times has n requests at once."""
    owners: dict[int, tuple[int, float, int]] = {}
    done = [[0, 0, 0.0] for _ in streams]

    def go_on(number: int, at: float) -> None:
        offset, length, write = next(streams[number])
        owners[lun.submit(at, offset, length, write=write)] = number, at, length

    for number in range(len(streams)):
        go_on(number, 0.0)
    while (answer := lun.next_done()) is not None and answer[1] < seconds:
        number, since, length = owners.pop(answer[0])
        count, size, waited = done[number]
        done[number] = [count + 1, size + length, waited + answer[1] - since]
        go_on(number, answer[1])
    return [
        Figures(size / seconds, count / seconds, waited / max(1, count))
        for count, size, waited in done
    ]


def total(figures: list[Figures]) -> Figures:
    iops = sum(one.iops for one in figures)
    waited = sum(one.mean * one.iops for one in figures)
    return Figures(sum(one.rate for one in figures), iops, waited / max(iops, 1e-9))
