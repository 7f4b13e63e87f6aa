"""Which records of a chunk are decoded: all that may be wanted, few others, and nothing is lost."""

import struct
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esewatch.sources.evtx.chunks import Chunk, examine
from esewatch.sources.evtx.evtx_records import ChunkDecoder
from esewatch.sources.evtx.evtx_select import Selection, Selector
from esewatch.sources.evtx.evtx_source import EvtxSource
from tests.sources.evtx.test_evtx_damage import reseal
from tests.support import evtx_writer
from tests.support.evtx_records import COMPLETED, START, harvest
from tests.support.evtx_writer import EvtxWriter, Layout, overwrite, read_chunk, record_offsets

_DEFINITION = 34
"""Where in a record the offset of its template's definition stands."""


class Written:
    """One record to be written."""

    def __init__(
        self, provider: str, strings: Sequence[str] = COMPLETED, layout: Layout = "array"
    ) -> None:
        self.provider, self.strings, self.layout = provider, strings, layout


def chunk_of(path: Path, records: Sequence[Written]) -> Chunk:
    """The one chunk of a log of these records; their ids count from 1."""
    with EvtxWriter(path) as log:
        for number, record in enumerate(records):
            time = START + timedelta(seconds=number)
            log.write(
                701, record.strings, provider=record.provider, time=time, layout=record.layout
            )
    chunk = examine(read_chunk(path, 0))
    assert chunk is not None
    assert (chunk.problem, chunk.last) == ("", len(records))
    return chunk


def others(count: int) -> list[Written]:
    return [Written(("Userenv", "VSS", "MsiInstaller")[n % 3], ["a", "b"]) for n in range(count)]


def decoded(chunk: Chunk, selection: Selection | None) -> list[int]:
    """Ids of the records the decoder sees of the selection, whatever their provider."""
    assert selection is not None
    decoder = ChunkDecoder(providers=["Userenv", "VSS", "MsiInstaller", "MyApp"])
    found = decoder.decode(selection.chunk._replace(problem="all of it"))
    assert (found.failed, len(found.events)) == (0, selection.kept)
    return [event.record_id for event in found.events if event.record_id is not None]


def ese() -> Selector:
    return Selector({"ese", "ntds isam"})


def test_of_a_chunk_without_a_wanted_name_the_first_and_the_last_record_are_decoded(
    tmp_path: Path,
) -> None:
    chunk = chunk_of(tmp_path / "a.evtx", others(50))
    assert decoded(chunk, ese().select(chunk, -1)) == [1, 50]


def test_of_a_single_record_there_is_one(tmp_path: Path) -> None:
    chunk = chunk_of(tmp_path / "a.evtx", others(1))
    assert decoded(chunk, ese().select(chunk, -1)) == [1]


def test_a_record_whose_provider_stands_only_in_the_first_ones_template_is_decoded(
    tmp_path: Path,
) -> None:
    records = others(50)
    for number in (7, 8, 30, 44):
        records[number] = Written("ESENT", ["x"])
    chunk = chunk_of(tmp_path / "a.evtx", records)
    name = "ESENT".encode("utf-16-le")
    assert chunk.data.count(name) == 1
    assert decoded(chunk, ese().select(chunk, -1)) == [1, 8, 9, 31, 45, 50]


def test_a_name_among_the_strings_of_another_provider_costs_that_record_only(
    tmp_path: Path,
) -> None:
    records = others(50)
    records[3] = Written("Userenv", ["these words", "b"])
    chunk = chunk_of(tmp_path / "a.evtx", records)
    assert decoded(chunk, ese().select(chunk, -1)) == [1, 4, 50]


def test_what_was_handed_out_before_is_not_decoded_again(tmp_path: Path) -> None:
    records = others(50)
    for number in (7, 8, 30, 44):
        records[number] = Written("ESENT", ["x"])
    chunk = chunk_of(tmp_path / "a.evtx", records)
    assert decoded(chunk, ese().select(chunk, 9)) == [1, 31, 45, 50]


def test_a_name_in_the_template_of_a_value_is_left_to_the_decoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = evtx_writer.Element("EventData", [evtx_writer.Element("Preset", ["x"])])
    monkeypatch.setattr(evtx_writer, "_payload", lambda layout, count: inner)
    chunk = chunk_of(tmp_path / "a.evtx", others(20))
    assert ese().select(chunk, -1) is None
    assert ChunkDecoder().decode(chunk).coverage is not None


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (_DEFINITION, struct.pack("<I", 700)),
        (_DEFINITION, struct.pack("<I", 0xFFFFFFF0)),
        (24, b"\x0f\x01\x02\0"),
        (28, b"\x01"),
        (4, struct.pack("<I", 24)),
        (4, struct.pack("<I", 0xFFFFFFFF)),
        (0, b"\0\0\0\0"),
    ],
)
def test_records_of_an_unusual_form_are_left_to_the_decoder(
    tmp_path: Path, place: int, value: bytes
) -> None:
    path = tmp_path / "a.evtx"
    records = others(40)
    records[20] = Written("ESE")
    chunk = chunk_of(path, records)
    at = record_offsets(chunk.data)[30] + place
    data = chunk.data[:at] + value + chunk.data[at + len(value) :]
    assert ese().select(chunk._replace(data=data), -1) is None
    overwrite(path, evtx_writer.chunk_start(0) + at, value)
    reseal(path, 0)
    assert harvest(EvtxSource("log", [str(path)]).poll()).ids == [21]


@pytest.mark.timeout(20)
def test_a_record_full_of_definitions_within_each_other_does_not_hold_the_reader(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.evtx"
    size = 60_000
    chunk = chunk_of(path, [Written("ESE"), Written("Userenv", ["these" + "x" * (size // 2)])])
    data = bytearray(chunk.data)
    begin = data.index("x".encode("utf-16-le") * 100)
    for at in range(begin, begin + size - 100, 10):
        struct.pack_into("<BBII", data, at, 0x0C, 1, 0, at + 10)
    crafted = chunk._replace(data=bytes(data))
    assert ese().select(crafted, -1) is None


@pytest.mark.parametrize("text", ["**", "****", "a ** b *** c", "*"])
def test_stars_in_a_text_do_not_shift_what_is_found(tmp_path: Path, text: str) -> None:
    records = [Written("Userenv", [text, "b"]) for _ in range(40)]
    for number in (1, 20, 21):
        records[number] = Written("ESE", [text, "x"])
    chunk = chunk_of(tmp_path / "a.evtx", records)
    assert decoded(chunk, ese().select(chunk, -1)) == [1, 2, 21, 22, 40]


@pytest.mark.parametrize(
    ("configured", "logged"),
    [
        ("myapp", "MyApp"),
        (" MYAPP ", "MyApp"),
        ("Dienst für ESE", "DIENST FÜR ESE"),
        ("ß漢", "ß漢"),
    ],
)
def test_a_further_provider_is_found_in_any_case(
    tmp_path: Path, configured: str, logged: str
) -> None:
    path = tmp_path / "a.evtx"
    chunk_of(path, [*others(20), Written(logged), *others(20), Written(logged), *others(5)])
    found = harvest(EvtxSource("log", [str(path)], providers=[configured]).poll())
    assert (found.ids, found.unreadable) == ([21, 42], [])


def test_another_providers_record_that_cannot_be_decoded_is_not_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    records = others(40)
    records[20] = Written("ESE")
    chunk = chunk_of(path, records)
    at = record_offsets(chunk.data)[30]
    overwrite(path, evtx_writer.chunk_start(0) + at + 38, struct.pack("<I", 0xFFFF))
    reseal(path, 0)
    found = harvest(EvtxSource("log", [str(path)]).poll())
    assert (found.ids, found.unreadable) == ([21], [])
    assert [(covered.first, covered.last) for covered in found.coverage] == [(1, 40)]


def test_a_wanted_record_that_cannot_be_decoded_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    records = others(40)
    for number in (20, 25, 30):
        records[number] = Written("ESE")
    chunk = chunk_of(path, records)
    at = record_offsets(chunk.data)[25]
    overwrite(path, evtx_writer.chunk_start(0) + at + 38, struct.pack("<I", 0xFFFF))
    reseal(path, 0)
    found = harvest(EvtxSource("log", [str(path)]).poll())
    assert (found.ids, found.coverage) == ([21, 31], [])
    assert [complaint.place for complaint in found.unreadable] == ["chunk 0"]


class _WholeChunks(Selector):
    """Leaves everything to the decoder."""

    def select(self, chunk: Chunk, after: int) -> Selection | None:
        return None


words = st.sampled_from(
    ["a", "", "these", "Reset", "**", "ESE", "ESENT", "ntds isam", "e:\\priv.edb", "漢字", "\0e\0s"]
)
written = st.builds(
    Written,
    st.sampled_from(
        [
            *(
                "ESE",
                "ESENT",
                "NTDS ISAM",
                "ADAM [a] ISAM",
                "ESET",
                "Userenv",
                "VSS",
                "MSExchangeIS",
            ),
            *("Microsoft-Windows-CertificateServicesClient", "MyApp", "sese"),
        ]
    ),
    st.lists(words, max_size=5),
    st.sampled_from(["array", "elements", "named", "user"]),
)


@given(
    records=st.lists(written, min_size=1, max_size=40),
    after=st.integers(-1, 30),
    companions=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_what_is_selected_gives_what_the_whole_chunk_gives(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[Written],
    after: int,
    companions: bool,
) -> None:
    chunk = chunk_of(tmp_path_factory.mktemp("select") / "a.evtx", records)
    selecting = ChunkDecoder(providers=["myapp"], companions=companions)
    whole = ChunkDecoder(providers=["myapp"], companions=companions)
    whole._selector = _WholeChunks({"ese"})
    ours, theirs = (decoder.decode(chunk, after=after) for decoder in (selecting, whole))
    assert (ours.events, ours.coverage, ours.failed) == (
        theirs.events,
        theirs.coverage,
        theirs.failed,
    )
