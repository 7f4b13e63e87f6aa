"""Which records of a chunk become events, and what records built to do harm cost."""

import struct
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from esewatch.sources.evtx.chunks import Chunk, examine
from esewatch.sources.evtx.evtx_records import ChunkDecoder
from esewatch.sources.evtx.evtx_source import EvtxSource
from esewatch.sources.kind import EventOptions
from tests.sources.evtx.test_evtx_damage import reseal
from tests.support import evtx_writer
from tests.support.evtx_peer import by_ours, by_peer
from tests.support.evtx_records import COMPLETED, START, Harvest, harvest
from tests.support.evtx_writer import (
    Element,
    EvtxWriter,
    Layout,
    Slot,
    chunk_start,
    overwrite,
    read_chunk,
    record_offsets,
)

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


def edited(chunk: Chunk, at: int, value: bytes) -> Chunk:
    return chunk._replace(data=chunk.data[:at] + value + chunk.data[at + len(value) :])


def polled(path: Path, **options: object) -> Harvest:
    return harvest(EvtxSource("log", [str(path)], EventOptions(**options)).poll())  # type: ignore[arg-type]


def test_records_whose_provider_stands_only_in_the_first_ones_template_come_out(
    tmp_path: Path,
) -> None:
    records = others(50)
    for number in (7, 8, 30, 44):
        records[number] = Written("ESENT", ["x"])
    chunk = chunk_of(tmp_path / "a.evtx", records)
    assert chunk.data.count("ESENT".encode("utf-16-le")) == 1
    found = ChunkDecoder().decode(chunk)
    assert [event.record_id for event in found.events] == [8, 9, 31, 45]
    assert [event.record_id for event in ChunkDecoder().decode(chunk, after=9).events] == [31, 45]


@pytest.mark.parametrize("text", ["**", "****", "a ** b *** c", "these words", "ESE"])
def test_what_a_text_holds_does_not_shift_what_is_found(tmp_path: Path, text: str) -> None:
    records = [Written("Userenv", [text, "b"]) for _ in range(40)]
    for number in (1, 20, 21):
        records[number] = Written("ESE", [text, "x"])
    found = ChunkDecoder().decode(chunk_of(tmp_path / "a.evtx", records))
    assert [(event.record_id, event.strings) for event in found.events] == [
        (number, (text, "x")) for number in (2, 21, 22)
    ]


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
    found = polled(path, providers=(configured,))
    assert (found.ids, found.unreadable) == ([21, 42], [])


@pytest.mark.parametrize("wrap", [False, True])
def test_names_that_are_values_of_the_record_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrap: bool
) -> None:
    """So manifest-based providers log: one template, the provider and the channel in slots."""
    whole = evtx_writer._event("x", "y", "EX01")
    system = whole.content[0] if whole.content else None
    assert isinstance(system, Element)
    assert system.content
    system = Element(
        "System",
        [
            Element("Provider", None, [("Name", Slot(14, 0x01))]),
            *system.content[1:-3],
            Element("Channel", [Slot(16, 0x01)]),
            *system.content[-2:],
        ],
    )
    last: Element | Slot = Element("EventData", [Slot(19, 0x21)]) if wrap else Slot(19, 0x21)
    names: list[str] = []
    write = evtx_writer._Encoder.instance

    def instance(self: object, root: Element, values: list[evtx_writer.Value]) -> None:
        if root.name == "Event":
            values[14] = (0x01, names[-1].encode("utf-16-le"))
            values[16] = (0x01, "Application".encode("utf-16-le"))
        write(self, root, values)  # type: ignore[arg-type]

    monkeypatch.setattr(evtx_writer._Encoder, "instance", instance)
    monkeypatch.setattr(evtx_writer, "_event", lambda *_: Element("Event", [system, last]))
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        for number in range(30):
            names.append(("ESENT", "Userenv", "NTDS ISAM")[number % 3])
            log.write(701, COMPLETED, time=START)
    found = polled(path)
    assert found.ids == [number for number in range(1, 31) if number % 3 != 2]
    assert {event.provider for event in found.events} == {"ESENT", "NTDS ISAM"}
    assert {event.channel for event in found.events} == {"Application"}
    assert {event.strings for event in found.events} == {tuple(COMPLETED)}
    assert by_ours(path) == by_peer(path)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (_DEFINITION, struct.pack("<I", 700)),
        (_DEFINITION, struct.pack("<I", 0xFFFFFFF0)),
        (24, b"\x7f\x01\x01\0"),
        (28, b"\x01"),
        (4, struct.pack("<I", 24)),
        (4, struct.pack("<I", 0xFFFFFFFF)),
        (0, b"\0\0\0\0"),
    ],
)
def test_a_record_that_does_not_say_whose_it_is_is_told_and_costs_itself(
    tmp_path: Path, place: int, value: bytes
) -> None:
    path = tmp_path / "a.evtx"
    records = others(40)
    records[20] = Written("ESE")
    chunk = chunk_of(path, records)
    overwrite(path, chunk_start(0) + record_offsets(chunk.data)[30] + place, value)
    reseal(path, 0)
    found = polled(path)
    assert found.ids == [21]
    assert found.coverage == []
    assert [complaint.place for complaint in found.unreadable] == ["chunk 0"]


def test_another_providers_record_that_cannot_be_decoded_is_not_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    records = others(40)
    records[20] = Written("ESE")
    chunk = chunk_of(path, records)
    at = record_offsets(chunk.data)[30]
    overwrite(path, chunk_start(0) + at + 38, struct.pack("<I", 0xFFFF))
    reseal(path, 0)
    found = polled(path)
    assert (found.ids, found.unreadable) == ([21], [])
    assert [(covered.first, covered.last) for covered in found.coverage] == [(1, 40)]


def test_a_wanted_record_that_cannot_be_decoded_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    records = others(40)
    for number in (20, 25, 30):
        records[number] = Written("ESE")
    chunk = chunk_of(path, records)
    at = record_offsets(chunk.data)[25]
    overwrite(path, chunk_start(0) + at + 38, struct.pack("<I", 0xFFFF))
    reseal(path, 0)
    found = polled(path)
    assert (found.ids, found.coverage) == ([21, 31], [])
    assert [str(complaint) for complaint in found.unreadable] == [
        f"{path}: chunk 0: 1 records cannot be decoded: record at offset {at}: 65535 values"
    ]


@pytest.mark.timeout(20)
def test_definitions_within_each_other_do_not_hold_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    long = "x" * 25_000
    chunk = chunk_of(path, [Written("ESE"), Written("ESE", [long]), *others(40)])
    begin = chunk.data.index(long.encode("utf-16-le"))
    data = bytearray(chunk.data)
    for at in range(begin, begin + 40_000, 60):
        struct.pack_into("<I", data, at + 20, 8000)
    for number, at in enumerate(record_offsets(chunk.data)[2:]):
        struct.pack_into("<I", data, at + _DEFINITION, begin + 60 * number)
    found = ChunkDecoder().decode(chunk._replace(data=bytes(data)))
    assert [event.record_id for event in found.events] == [1, 2]
    assert found.failed == 40


@pytest.mark.timeout(20)
def test_elements_and_values_within_each_other_beyond_all_measure_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = Element("Data", [Slot(0, 0x01)])
    for _ in range(80):
        deep = Element("Data", [deep])
    monkeypatch.setattr(evtx_writer, "_payload", lambda layout, count: Element("EventData", [deep]))
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        log.write(701, COMPLETED, time=START, layout="elements")
    found = polled(path)
    assert found.events == []
    assert "elements within each other deeper than 64" in found.unreadable[0].reason


def test_a_value_that_leads_beyond_its_record_is_bounded(tmp_path: Path) -> None:
    chunk = chunk_of(tmp_path / "a.evtx", [Written("ESE", [str(n)]) for n in range(150)])
    at = record_offsets(chunk.data)[20]
    descriptor = chunk.data.index(b"\x06\0\x81\0", at)
    found = ChunkDecoder().decode(edited(chunk, descriptor, struct.pack("<H", 40_000)))
    assert [event.record_id for event in found.events] == list(range(1, 151))
    assert sum(len("".join(event.strings)) for event in found.events) < 25_000


def test_a_template_is_told_apart_from_one_that_only_begins_like_it(tmp_path: Path) -> None:
    """Two logs whose templates have one GUID and one size, and another provider each."""
    decoder = ChunkDecoder()
    for provider in ("ESENT", "ESENU", "ESENT"):
        path = tmp_path / f"{provider}.evtx"
        path.unlink(missing_ok=True)
        chunk = chunk_of(path, [Written("ESENT"), Written("ESENT")])
        one, other = ("ESENT".encode("utf-16-le"), provider.encode("utf-16-le"))
        found = decoder.decode(chunk._replace(data=chunk.data.replace(one, other)))
        assert len(found.events) == (2 if provider == "ESENT" else 0)


@pytest.mark.slow
def test_the_memory_for_templates_is_bounded(tmp_path: Path) -> None:
    decoder = ChunkDecoder(EventOptions(providers=tuple(f"P{n}" for n in range(3000))))
    for number in range(0, 3000, 20):
        path = tmp_path / f"{number}.evtx"
        chunk = chunk_of(path, [Written(f"P{number + n}") for n in range(20)])
        assert len(decoder.decode(chunk).events) == 20
        path.unlink()
    assert decoder._templates.weight <= 1 << 20
