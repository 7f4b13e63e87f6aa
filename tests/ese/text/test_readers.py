"""A text whose like was read before gives what the hints give, faster."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.ese.catalogue.event_row import Kind
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.events import from_text
from esewatch.ese.text import readers as text_readers
from esewatch.ese.text.readers import recalled
from esewatch.model import Event
from tests.support.decoding import event_from_text
from tests.support.ese_text import RENDERED, render

HEAD = ("MSExchangeIS", "3392", "SG06: ")
PRIV06 = "e:\\MDB06\\priv06.edb"
NUMBERS = st.one_of(
    st.integers(0, 10**14).map(str),
    st.integers(0, 10**9).map("{:,}".format),
    st.integers(0, 2**40).map(lambda number: f"{number} (0x{number:x})"),
    st.integers(0, 2**40).map(lambda number: f"{number} (0x{number:016X})"),
)
PATHS = st.sampled_from(
    [
        PRIV06,
        "c:\\a b\\freeing 5 pages 7.edb",
        "c:\\error5\\offset 12.edb",
        "x\\E00.log",
        "it's 'a.edb",
        *("e:\\logs\\E000000A1F2.log", "e:\\logs\\E0000123456.log", "e:\\logs\\E00DEADBEEF.log"),
        *(
            "00000123",
            "1234567b",
            "abcdef01",
            "[00c0ffee12345678]",
            "error 12345678 5",
            "e0001234 kb",
        ),
    ]
)
TEXTS = st.one_of(NUMBERS, PATHS)
DATES = st.sampled_from(["6/16/2007", "16.6.2007", "12/24/2026", "6/16/2007 01:00:00", "on 1/1/1"])
INSTANCES = st.sampled_from(["SG06: ", "", "DB 01: ", "error 5: ", "a: b: "])


@pytest.fixture(autouse=True)
def _nothing_read_before() -> None:
    text_readers._readers.clear()


def read(event_id: int, message: str) -> Event | None:
    """The event of this text."""
    return event_from_text(provider="ESE", event_id=event_id, message=message)


def behind(message: str) -> str:
    """What stands behind the process."""
    return message.partition(") ")[2]


@st.composite
def texts(draw: st.DrawFn) -> tuple[int, str]:
    """An event id and a text of it: whole, cut, wrapped, or with words in another order."""
    event_id = draw(st.sampled_from([number for number in RENDERED if number in CATALOGUE]))
    values = {Kind.DATABASE: PATHS, Kind.FILE: PATHS, Kind.DATE: DATES, Kind.TEXT: TEXTS}
    given = [draw(values.get(param.kind, NUMBERS)) for param in CATALOGUE[event_id].params]
    message = render(event_id, [*HEAD[:2], draw(INSTANCES), *given, *["5"] * 12])
    words = message.split(" ")
    at, end = sorted((draw(st.integers(3, len(words))), draw(st.integers(3, len(words)))))
    match draw(st.integers(0, 7)):
        case 0:
            message = " ".join(words[:at])
        case 1:
            message = " ".join([*words[:at], *words[end:], *words[at:end]])
        case 2:
            message = " ".join([*words, *words[at:end]])
        case 3:
            message = " ".join(words[:at]) + "..."
        case 4:
            message = message.replace(" ", "\n", at)
    return event_id, message


@given(st.lists(texts(), min_size=1, max_size=12))
def test_a_text_reads_the_same_whatever_was_read_before(read_before: list[tuple[int, str]]) -> None:
    for event_id, message in [*read_before, *read_before]:
        event = read(event_id, message)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(from_text, "recalled", lambda *_: None)
            patch.setattr(from_text, "remember", lambda *_: None)
            alone = read(event_id, message)
        assert event == alone
        if event is not None and alone is not None:
            assert list(event.fields) == list(alone.fields)


def test_a_text_like_one_read_before_is_read_by_its_reader() -> None:
    values = [["42794", "6/16/2007", "124919"], ["7", "12/24/2026", "600"]]
    first, second = (render(703, [*HEAD, PRIV06, *some, "7", "4", "14"]) for some in values)
    read(703, first)
    found = recalled(703, behind(second))
    assert found is not None
    instance, start, database, fields = found
    assert (instance, behind(second)[start:].partition(" ")[0]) == ("SG06", "Online")
    assert database == PRIV06
    assert fields == {
        "pages_freed": 7, "pass_started": "12/24/2026", "pass_started_date": "2026-12-24",
        "seconds": 600, "invocations": 7, "days": 4, "completions": 14,
    }  # fmt: skip


def test_a_path_that_was_not_read_before_is_read_by_the_hints() -> None:
    read(700, render(700, [*HEAD, PRIV06]))
    other = render(700, [*HEAD, "e:\\never read before.edb"])
    assert recalled(700, behind(other)) is None
    read(700, other)
    assert recalled(700, behind(other)) is not None


def test_a_log_is_known_by_the_shape_of_its_name() -> None:
    range_of = "MSExchangeIS (3392) SG06: Starting the backup of log files (range {} - {})."
    first = range_of.format("e:\\logs\\E000000FA12.log", "e:\\logs\\E000000FA1F.log")
    second = range_of.format("e:\\logs\\E000000003C.log", "e:\\logs\\E0000000011.log")
    read(223, first)
    found = recalled(223, behind(second))
    assert found is not None
    assert found[3] == {
        "first_log": "e:\\logs\\E000000003C.log", "last_log": "e:\\logs\\E0000000011.log",
    }  # fmt: skip


def test_no_word_of_a_hint_can_be_within_a_code() -> None:
    """A code has no white space beside it."""
    hints = [hint for row in CATALOGUE.values() for param in row.params for hint in param.hints]
    words = [
        word
        for piece in (*hints, *(phrase for row in CATALOGUE.values() for phrase in row.phrases))
        for literal in piece.lower().split("{}")
        for word in re.findall(r"(?<![\w\s])[0-9a-f]+(?![\w\s])", literal)
    ]
    assert len(hints) > 100
    assert words == []


def test_numbers_that_may_be_one_grouped_number_are_known_by_their_length() -> None:
    texts = [render(701, [*HEAD, PRIV06, number, "6/16/2007"]) for number in ("1,234", "9,876")]
    read(701, texts[0])
    assert recalled(701, behind(texts[1])) is not None
    odd = render(701, [*HEAD, PRIV06, "1,23", "6/16/2007"])
    assert recalled(701, behind(odd)) is None


def test_every_date_has_as_many_letters_before_it_as_are_compared() -> None:
    hints = [
        hint
        for row in CATALOGUE.values()
        for param in row.params
        if param.kind is Kind.DATE
        for hint in param.hints
    ]
    assert hints
    assert min(len(hint.partition("{}")[0].strip()) for hint in hints) >= text_readers._DATE_WORDS


def test_what_is_remembered_is_bounded() -> None:
    for number in range(2 * text_readers._KNOWN):
        read(700, render(700, [*HEAD, f"e:\\MDB06\\priv{number}.edb"]))
        read(700, render(700, [*HEAD, PRIV06]) + " And more." * (number % 90))
    readers = text_readers._readers[700]
    assert len(readers) <= text_readers._READERS
    assert max(len(reader.known) for reader in readers) <= text_readers._KNOWN


def test_a_hostile_text_takes_no_more_than_a_moment() -> None:
    read(722, render(722, [*HEAD, PRIV06, *["6/16/2007"] * 14]))
    started = time.process_time()
    for part in ("a: ", "database '", "1", "1 1", "Online defragmentation "):
        read(722, "MSExchangeIS (3392) SG06: " + (part * 65_536)[:65_536])
        recalled(722, (part * 65_536)[:65_536])
    assert time.process_time() - started < 5
