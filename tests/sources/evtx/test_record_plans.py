"""Records taken many at once: never another result than that of each read by itself."""

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esewatch.ese.events.from_strings import Around
from esewatch.sources.evtx import record_plans, record_reader
from esewatch.sources.evtx.chunks import CHUNK_BYTES, chunk_offset
from esewatch.sources.evtx.record_reader import RecordReader
from esewatch.sources.evtx.templates import Templates
from tests.fuzz.seeds import kept
from tests.fuzz.targets import event_log
from tests.support.campaign import EXAMPLES
from tests.support.evtx_peer import chunks_of, offsets_of
from tests.support.evtx_records import COMPLETED, START
from tests.support.evtx_writer import EvtxWriter, Layout
from tests.support.kernels import compiled_records
from tests.support.samples import sample

SAMPLES = [
    "Application_no_crc32.evtx",
    "bad-chunk-magic.evtx",
    "dc_applog_ntdsutil_dfir_325_326_327.evtx",
    "deepbluecli-many-events-application.evtx",
    "lab-ec2-dc-application-1.evtx",
]
LEVELS = tuple([None] * 256)
Found = tuple[Around, list[str]]
Row = tuple[str, int, Sequence[str], Layout, str, int]

texts = st.text(st.characters(exclude_characters="\0"), max_size=40) | st.sampled_from(
    ["", "e:\\MDB06\\priv06.edb", "漢字😀", "\ud800", "a\udc00b", "\udbff"]
)
rows = st.tuples(
    st.sampled_from(["ESE", "ESENT", "Userenv", "ünï"]),
    st.integers(0, 65535),
    st.lists(texts, max_size=6),
    st.sampled_from(["array", "array", "array", "elements", "named", "user"]),
    st.sampled_from(["EX01.corp.example", ""]),
    st.integers(0, 255),
)


@pytest.fixture(name="alike", scope="module")
def _alike() -> Callable[..., Any]:
    return compiled_records()


def read(path: Path, after: int, wanted: Callable[[str], bool]) -> Iterator[list[Found | str]]:
    """By chunk the records that are read, and what is said of the others."""
    templates = Templates(wanted)
    for chunk in chunks_of(path):
        reader = RecordReader(chunk.data, templates)
        yield [*reader.wanted(list(offsets_of(chunk)), after), *reader.failures]


def check(path: Path, after: int = -1, wanted: Callable[[str], bool] = lambda name: True) -> int:
    """Read the log in both ways; how many records it has."""
    at_once = list(read(path, after, wanted))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_reader, "COMPILED", False)
        one_by_one = list(read(path, after, wanted))
    assert at_once == one_by_one
    return sum(map(len, at_once))


def is_ese(provider: str) -> bool:
    return provider.startswith("ESE")


@pytest.mark.usefixtures("alike")
@pytest.mark.parametrize("name", SAMPLES)
def test_a_real_log_is_read_the_same_in_both_ways(name: str) -> None:
    path = sample(f"evtx/{name}")
    assert check(path) > 0
    check(path, wanted=is_ese)


@pytest.mark.usefixtures("alike")
def test_a_log_that_fuzzing_made_is_read_the_same_in_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    for data in kept("evtx"):
        path.write_bytes(event_log(data))
        assert check(path) > 0


@pytest.mark.usefixtures("alike")
@given(st.lists(rows, min_size=1, max_size=60), st.integers(-1, 70))
@settings(max_examples=3 * EXAMPLES // 2, deadline=None)
def test_a_made_up_log_is_read_the_same_in_both_ways(
    tmp_path_factory: pytest.TempPathFactory, written: list[Row], after: int
) -> None:
    path = tmp_path_factory.mktemp("made") / "a.evtx"
    with EvtxWriter(path) as log:
        for number, (provider, event_id, strings, layout, computer, level) in enumerate(written):
            log.write(
                event_id,
                strings,
                provider=provider,
                time=START + timedelta(microseconds=1_234_567 * number),
                layout=layout,
                computer=computer,
                level=level,
            )
    assert check(path, after) == max(len(written) - max(after, 0), 0)
    check(path, after, is_ese)


@pytest.mark.usefixtures("alike")
@given(st.lists(st.tuples(st.integers(0, 12_000), st.integers(0, 255)), min_size=1, max_size=12))
@settings(max_examples=4 * EXAMPLES, deadline=None)
def test_an_edited_log_is_read_the_same_in_both_ways(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[int, int]]
) -> None:
    path = tmp_path_factory.mktemp("edited") / "a.evtx"
    with EvtxWriter(path) as log:
        for number in range(40):
            log.write(701, COMPLETED, time=START + timedelta(seconds=number))
    data = bytearray(path.read_bytes())
    for at, value in edits:
        data[chunk_offset(0) + 512 + at] = value
    path.write_bytes(data)
    assert check(path) > 0


@pytest.mark.usefixtures("alike")
@pytest.mark.parametrize("ticks", [0, 1, 2**53, 2**62, 2**64 - 1, 0x7FFFFFFFFFFFFFFF])
def test_any_time_is_read_the_same_in_both_ways(tmp_path: Path, ticks: int) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        for _ in range(5):
            log.write(701, COMPLETED, time=START)
    data = path.read_bytes()
    time = data[data.rindex(b"\x2a\x2a\0\0") + 16 :][:8]
    path.write_bytes(data.replace(time, struct.pack("<Q", ticks)))
    assert check(path) == 5


@pytest.mark.usefixtures("alike")
@pytest.mark.parametrize("after", [2**63 - 1, 2**63, 2**64 - 1])
def test_no_record_is_above_the_largest_id(tmp_path: Path, after: int) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path, first_record_id=2**63 - 3) as log:
        for _ in range(6):
            log.write(701, COMPLETED, time=START)
    assert check(path, after) == max(2**63 + 2 - after, 0)


def test_nearly_all_records_of_a_log_of_ese_are_taken_at_once(
    tmp_path: Path, alike: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        for number in range(400):
            provider = ("ESE", "ESENT", "Userenv")[number % 3]
            log.write(701, COMPLETED[: 1 + number % 7], provider=provider, time=START)
    taken = []

    def counted(*arguments: Any) -> tuple[list[Found], int]:
        found, index = alike(*arguments)
        taken.extend(found)
        return found, index

    monkeypatch.setattr("esewatch.sources.evtx._records.alike", counted)
    events = sum(map(len, read(path, -1, is_ese)))
    assert events == 267
    assert len(taken) > 250


@pytest.mark.parametrize("seed", range(4))
def test_a_hostile_plan_never_leads_beyond_the_chunk(
    seed: int, tmp_path: Path, alike: Callable[..., Any]
) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        for _ in range(60):
            log.write(701, COMPLETED, time=START)
    (chunk,) = chunks_of(path)
    offsets = list(offsets_of(chunk))
    chance = random.Random(seed)
    definitions = {struct.unpack_from("<I", chunk.data, at + 34)[0] for at in offsets}
    edges = [0, 1, 8, 100, CHUNK_BYTES - 40, CHUNK_BYTES, 2**31, 2**32 - 1]
    for _ in range(3000):
        numbers = [chance.choice([*edges, chance.randrange(CHUNK_BYTES)]) for _ in range(8)]
        shape = struct.pack("<8I", *numbers) + bytes(chance.choice([0, 0, 1, 4]))
        plan = (shape[: chance.choice([len(shape), len(shape), 31, 0])], "ESE", "EX01", "System")
        begin = chance.choice([0, CHUNK_BYTES - 38, CHUNK_BYTES - 8, 2**63, chance.choice(offsets)])
        found, index = alike(
            chunk.data, [begin, *offsets], 0, -1, dict.fromkeys(definitions, (plan,)), LEVELS
        )
        assert len(found) == index <= 61


@pytest.mark.parametrize(
    "arguments",
    [
        ("text", [], 0, -1, {}, LEVELS),
        (b"", (), 0, -1, {}, LEVELS),
        (b"", [], 0, -1, [], LEVELS),
        (b"", [], 0, -1, {}, ()),
        (b"", [], -1, -1, {}, LEVELS),
        (b"", ["0"], 0, -1, {}, LEVELS),
        (b"", [-1], 0, -1, {}, LEVELS),
        (b"", [], 0, 2**63, {}, LEVELS),
        (b"",),
    ],
)
def test_arguments_of_another_kind_are_refused(
    arguments: tuple[Any, ...], alike: Callable[..., Any]
) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        alike(*arguments)


@pytest.mark.parametrize("plans", [("no plan",), ((),), ((1, "", "", ""),), [], 5])
def test_what_is_no_plan_is_refused(
    plans: object, tmp_path: Path, alike: Callable[..., Any]
) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        log.write(701, COMPLETED, time=START)
    (chunk,) = chunks_of(path)
    offsets = list(offsets_of(chunk))
    (definition,) = struct.unpack_from("<I", chunk.data, offsets[0] + 34)
    with pytest.raises((TypeError, IndexError, SystemError)):
        alike(chunk.data, offsets, 0, -1, {definition: plans}, LEVELS)


@pytest.mark.usefixtures("alike")
def test_a_log_is_read_where_nothing_could_be_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        for _ in range(30):
            log.write(701, COMPLETED, time=START)
    monkeypatch.setattr(record_reader, "COMPILED", False)
    monkeypatch.setattr(record_plans, "_records", None)
    assert sum(map(len, read(path, -1, is_ese))) == 30
