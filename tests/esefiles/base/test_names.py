import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from esefiles.base import names

ANY = st.text(st.characters(codec=None, categories=None), max_size=20)


@given(ANY)
@example("b\udcff\x1a\ud800")
@example("\x1adcff")
def test_a_name_is_the_same_behind_text_that_anything_can_store(name: str) -> None:
    text = names.to_text(name)
    text.encode()
    assert names.from_text(text) == name


def test_a_name_that_is_text_is_stored_as_ever() -> None:
    assert names.to_text("/logs/ä.evtx") == "/logs/ä.evtx"


@given(ANY)
@example("b\udcff\n")
def test_what_is_packed_as_a_line_is_one_line_and_the_same_again(name: str) -> None:
    class Line(msgspec.Struct):
        path: str

    line = names.pack_line(Line(name))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert names.unpack_line(line, Line) == Line(name)
