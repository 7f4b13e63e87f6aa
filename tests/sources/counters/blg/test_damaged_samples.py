"""Real logs that are cut short, or have a wrong byte: what is left of them is read."""

import math

import pytest

from esewatch.model import Reading, Record
from esewatch.sources.counters.blg.blg_decoder import BlgDecoder
from esewatch.sources.counters.blg.buffers import BUFFER_HEAD, buffer_size
from tests.support.campaign import some
from tests.support.samples import sample

SHORT = "powershell-CounterSamples.blg"
LONG = [pytest.mark.slow, pytest.mark.timeout(7200)]
"""Each takes minutes of a processor, and others may need it, too."""
STEPS = [
    pytest.param(SHORT, 401, 2000, id="quick"),
    pytest.param(SHORT, 1, 2000, id="every-byte", marks=LONG),
    pytest.param("powershell-BadCounterSamples.blg", 41, 250, id="bad-status", marks=LONG),
    pytest.param("pal-SampleLog.blg", 101, 250, id="whole-objects", marks=LONG),
]
"""Samples, the bytes from one place to the next, and how many places `make test-slow` tries."""


def readings(log: bytes) -> list[Record]:
    """What a decoder hands out of the log; none where its head is no log's."""
    if not buffer_size(log):
        return []
    fed = BlgDecoder(log, b"", computer="a", zone=None, ese_only=False).feed(log, final=True)
    assert fed.consumed == len(log)
    assert all(0 <= at <= len(log) and reason for at, reason in fed.unreadable)
    return fed.records


def places(name: str, step: int, part: int) -> tuple[bytes, list[int]]:
    """The log, and each `step` bytes of it and those in the heads of all buffers, or a part."""
    whole = sample(f"blg/{name}").read_bytes()
    size = buffer_size(whole)
    found = {*range(0, len(whole), step)}
    found |= {at + place for at in range(0, len(whole), size) for place in range(BUFFER_HEAD + 8)}
    return whole, some(sorted(found), part)


@pytest.mark.parametrize(("name", "step", "part"), STEPS)
def test_a_log_that_is_cut_gives_the_first_of_its_readings(name: str, step: int, part: int) -> None:
    whole = list(map(str, readings(sample(f"blg/{name}").read_bytes())))
    counts = []
    log, all_places = places(name, step, part)
    for at in all_places:
        found = list(map(str, readings(log[:at])))
        assert found == whole[: len(found)], f"cut at {at}"
        counts.append(len(found))
    assert counts == sorted(counts)
    assert 0 < counts[-1] <= len(whole)


@pytest.mark.parametrize(("name", "step", "part"), STEPS)
def test_a_wrong_byte_does_no_more_than_harm_readings(name: str, step: int, part: int) -> None:
    most = 2 * len(readings(sample(f"blg/{name}").read_bytes()))
    alike = 0
    log, all_places = places(name, step, part)
    for at in all_places:
        wrong = bytearray(log)
        wrong[at] ^= 0xFF
        found = readings(bytes(wrong))
        assert len(found) <= most, f"wrong byte at {at}"
        times = [each.time for each in found if isinstance(each, Reading)]
        assert all(map(math.isfinite, times)), f"wrong byte at {at}"
        alike += len(found) == most // 2
    assert alike > 0
