"""The cheap filter."""

from collections.abc import Callable

import pytest

from esewatch.ese.providers import ESE_PROVIDERS
from esewatch.sources.logs.formats.prefilter import Prefilter
from tests.sources.logs.formats.reading import STRINGS_703
from tests.support.each import of_each
from tests.support.ese_text import RENDERED, render


@pytest.mark.parametrize("process", ["3392", "3392,D,12", "3392,D,12,15.01.2507.012"])
@pytest.mark.parametrize("instance", ["SG06: ", ""])
@of_each(RENDERED)
def test_every_rendered_text_is_a_hit(event_id: int, process: str, instance: str) -> None:
    text = render(event_id, ("MSExchangeIS", process, instance, *STRINGS_703[3:]))
    assert Prefilter().hits(text.encode()) != []
    assert Prefilter().any_in(text.replace("\n", "\\n").encode())


@pytest.mark.parametrize(
    "text",
    [
        b'"ESENT"',
        b">ESE<",
        b"\tNTDS ISAM\t",
        b"x\\tESENT",
        b" ESE BACKUP ",
        b"ESE",
        b">ADAM [shop] ISAM<",
    ],
)
def test_a_provider_is_a_hit_as_a_word(text: bytes) -> None:
    assert Prefilter().any_in(text)


@pytest.mark.parametrize("text", [b"RESET", b"PRESENTED", b"these", b"took (500) ms", b"f(1)", b""])
def test_other_words_are_none(text: bytes) -> None:
    assert not Prefilter().any_in(text)
    assert Prefilter().hits(text) == []


def test_an_operators_provider_is_a_hit_in_any_case() -> None:
    needles = Prefilter(["MyApp"])
    assert all(needles.any_in(text) for text in (b"MyApp", b"myapp", b"MYAPP"))


def test_companions_are_hits_only_when_asked_for() -> None:
    names = (b"MSExchangeIS Mailbox Store", b"MSSQL$PROD", b"NTDS Database", b"MSSQLSERVER")
    assert not any(Prefilter().any_in(name) for name in names)
    assert all(Prefilter(companions=True).any_in(name) for name in names)


@pytest.mark.parametrize("spelt", [str, str.lower, str.title])
@pytest.mark.parametrize("name", [name for name in ESE_PROVIDERS if name != "ESE"])
def test_each_name_is_one_hit_in_its_usual_spellings(
    name: str, spelt: Callable[[str], str]
) -> None:
    line = spelt(name.replace("*", "a shop")).encode()
    assert len(Prefilter().hits(b"before\n" + line + b"\nbehind")) == 1


def test_names_that_begin_alike_are_told_apart() -> None:
    text = b"NTDS iSAM, ESEnt, eSe, esent; Ntds Isam ESENTx MyISAM ESE"
    assert Prefilter().hits(text) == [text.index(b"esent"), text.index(b"Isam"), len(text) - 3]
    assert 0 in Prefilter(companions=True).hits(text)
