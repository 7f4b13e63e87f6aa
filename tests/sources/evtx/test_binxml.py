"""Values of BinXML by their type: the text that Windows and other readers show."""

import struct
from itertools import product
from pathlib import Path

import pytest

from esewatch.sources.evtx.binxml import (
    integer_of,
    parsed_time,
    seconds_of,
    strings_of,
    text_of,
    texts_of,
    time_of,
)
from tests.support import evtx_writer
from tests.support.evtx_peer import by_ours, by_peer
from tests.support.evtx_records import START
from tests.support.evtx_writer import EvtxWriter

TICKS = 133_000_000_000_000_019
SYSTEM_TIME = struct.pack("<8H", 2024, 3, 5, 1, 2, 3, 4, 567)
SID = bytes.fromhex("0102000000000005") + struct.pack("<II", 32, 544)
GUID = bytes(range(16))


def utf_16(text: str) -> bytes:
    return text.encode("utf-16-le")


VALUES: list[tuple[int, bytes, list[str]]] = [
    (0x00, b"", [""]),
    (0x01, utf_16("e:\\priv.edb"), ["e:\\priv.edb"]),
    (0x01, utf_16("ended\0"), ["ended"]),
    (0x01, utf_16("a\0b"), ["a"]),
    (0x01, utf_16(" kept \r\n"), [" kept \r\n"]),
    (0x01, b"\x00\xd8" + utf_16("half a pair"), ["half a pair"]),
    (0x01, b"", [""]),
    (0x02, b"caf\xe9\0", ["café"]),
    (0x03, b"\xff", ["-1"]),
    (0x04, b"\xff", ["255"]),
    (0x05, struct.pack("<h", -5), ["-5"]),
    (0x06, struct.pack("<H", 65535), ["65535"]),
    (0x07, struct.pack("<i", -1018), ["-1018"]),
    (0x08, struct.pack("<I", 4294966278), ["4294966278"]),
    (0x09, struct.pack("<q", -9), ["-9"]),
    (0x0A, struct.pack("<Q", 2**63), ["9223372036854775808"]),
    (0x0B, struct.pack("<f", 0.1), ["0.1"]),
    (0x0C, struct.pack("<d", 0.1), ["0.1"]),
    (0x0D, struct.pack("<I", 1), ["true"]),
    (0x0D, struct.pack("<I", 0), ["false"]),
    (0x0D, struct.pack("<I", 7), ["7"]),
    (0x0E, b"\x01\xab", ["01AB"]),
    (0x0F, GUID, ["03020100-0504-0706-0809-0A0B0C0D0E0F"]),
    (0x10, struct.pack("<Q", 0xAB), ["0xab"]),
    (0x11, struct.pack("<Q", TICKS), ["2022-06-18T04:26:40.000001Z"]),
    (0x11, bytes(8), ["1601-01-01T00:00:00.000000Z"]),
    (0x12, SYSTEM_TIME, ["2024-03-01T02:03:04.567000Z"]),
    (0x13, SID, ["S-1-5-32-544"]),
    (0x14, struct.pack("<I", 0xFFFFFC06), ["0xfffffc06"]),
    (0x15, struct.pack("<Q", 0xABC), ["0xabc"]),
    (0x81, utf_16("a\0\0c\0"), ["a", "", "c"]),
    (0x81, utf_16("\0"), [""]),
    (0x81, b"", [""]),
    (0x83, b"\x01\xff", ["1", "-1"]),
    (0x86, struct.pack("<HH", 1, 2), ["1", "2"]),
    (0x86, b"", [""]),
    (0x88, struct.pack("<II", 1, 2), ["1", "2"]),
    (0x8A, struct.pack("<QQ", 1, 2), ["1", "2"]),
    (0x8B, struct.pack("<ff", 0.1, 2), ["0.1", "2.0"]),
    (0x8D, struct.pack("<II", 1, 0), ["true", "false"]),
    (0x8F, GUID, ["03020100-0504-0706-0809-0A0B0C0D0E0F"]),
    (0x91, struct.pack("<QQ", TICKS, TICKS), ["2022-06-18T04:26:40.000001Z"] * 2),
    (0x92, SYSTEM_TIME, ["2024-03-01T02:03:04.567000Z"]),
    (0x93, SID * 2, ["S-1-5-32-544"] * 2),
    (0x94, struct.pack("<II", 1, 0xAB), ["0x1", "0xab"]),
    (0x95, struct.pack("<Q", 0xAB), ["0xab"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "raw", "texts"), VALUES)
def test_a_value_is_shown_by_its_type(kind: int, raw: bytes, texts: list[str]) -> None:
    assert texts_of(kind, raw) == texts


@pytest.mark.parametrize(("kind", "raw", "texts"), VALUES)
def test_an_independent_reader_shows_it_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: int, raw: bytes, texts: list[str]
) -> None:
    data = evtx_writer.Element("Data", [evtx_writer.Slot(0, kind)])
    payload = evtx_writer.Element("EventData", [data])
    monkeypatch.setattr(evtx_writer, "_payload", lambda layout, count: payload)
    monkeypatch.setattr(evtx_writer, "_slots", lambda layout, strings: [(kind, raw)])
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        log.write(1, ["x"], time=START)
    (theirs,), (ours,) = by_peer(path), by_ours(path)
    assert ours == theirs
    assert tuple(texts) in ours


def test_a_string_at_the_end_of_an_array_may_lack_its_zero() -> None:
    assert texts_of(0x81, utf_16("a\0b")) == ["a", "b"]


def test_ansi_strings_of_an_array_are_taken_apart() -> None:
    assert texts_of(0x82, b"a\0b\0") == ["a", "b"]


@pytest.mark.parametrize("kind", [0x16, 0x20, 0x21, 0x22, 0x23, 0x80, 0x8E, 0x90, 0xA1, 0xFF])
def test_a_type_without_a_text_is_refused(kind: int) -> None:
    with pytest.raises(ValueError, match="not known"):
        texts_of(kind, b"12345678")


def test_bytes_that_are_no_value_raise_nothing_but_what_the_reader_expects() -> None:
    shown = 0
    for kind, size, filler in product(range(256), (0, 1, 3, 7, 8, 9, 17, 70), (0x00, 0x7F, 0xFF)):
        try:
            shown += len(texts_of(kind, bytes([filler]) * size))
        except (ValueError, struct.error) as error:
            assert str(error)
    assert shown > 1000


def test_strings_end_in_a_zero_each() -> None:
    assert strings_of(utf_16("one\0two\0")) == ["one", "two"]


@pytest.mark.parametrize(
    ("kind", "raw", "number"),
    [
        (0x06, struct.pack("<H", 703), 703),
        (0x01, utf_16("703"), 703),
        (0x01, utf_16("x"), None),
        (0x01, utf_16("9" * 30), None),
        (0x06, b"", None),
        (0x14, struct.pack("<I", 1), None),
    ],
)
def test_a_number_is_whole_and_decimal(kind: int, raw: bytes, number: int | None) -> None:
    assert integer_of(kind, raw) == number


def test_a_file_time_is_exact_to_the_microsecond() -> None:
    assert seconds_of(TICKS) == 1_655_526_400.000001
    assert time_of(0x11, struct.pack("<Q", TICKS)) == 1_655_526_400.000001
    assert time_of(0x01, utf_16("2022-06-18T04:26:40.000001900Z")) == 1_655_526_400.000001


@pytest.mark.parametrize("ticks", [2**63, 2**64 - 1, 2_650_467_744_000_000_000])
def test_a_time_beyond_the_year_9999_is_none(ticks: int) -> None:
    assert seconds_of(ticks) is None
    with pytest.raises(ValueError, match="9999"):
        text_of(0x11, struct.pack("<Q", ticks))


@pytest.mark.parametrize("text", ["", "yesterday", "2024-13-01"])
def test_what_is_no_time_is_none(text: str) -> None:
    assert parsed_time(text) is None
