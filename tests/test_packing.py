import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from esewatch.packing import pack, unpack

ANY = st.text(st.characters(codec=None, categories=None), max_size=20)


class Kept(msgspec.Struct, kw_only=True):
    path: str
    data: bytes = b"\x1a\xff"
    other: dict[str, list[str]] = {}


class Listed(msgspec.Struct, array_like=True):
    path: str
    days: bytearray
    at: tuple[float, float] = (0.0, 0.0)


@given(ANY, ANY)
@example("b\udcff", "\x1adcff")
def test_what_is_packed_is_the_same_again(one: str, other: str) -> None:
    kept = Kept(path=one, other={other: [one, other]})
    assert unpack(pack(kept), Kept) == kept
    listed = Listed(one, bytearray(b"\xff\x1a"), (1.5, 2.5))
    assert unpack(pack(listed), Listed) == listed


def test_names_that_are_text_are_stored_as_ever() -> None:
    kept = Kept(path="/logs/ä.evtx")
    assert pack(kept) == msgspec.msgpack.encode(kept)


@pytest.mark.parametrize("damaged", [b"\xc7", b"\xc7\x05\x01abc", b"\xd4\x01\xff", b"", b"\x93"])
def test_damage_is_an_error_that_is_expected(damaged: bytes) -> None:
    with pytest.raises((msgspec.MsgspecError, UnicodeError)):
        unpack(damaged, Listed)
