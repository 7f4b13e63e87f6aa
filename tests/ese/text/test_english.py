"""Key phrases and hints of the English texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.ese.catalogue.event_row import EventRow
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.dates import DateOrder
from esewatch.ese.strings import Fields
from esewatch.ese.text.english import fields_of_values, find_phrase, has_phrases, places_of, uncut
from tests.support.each import of_each
from tests.support.processor import processor_seconds


@pytest.mark.parametrize(
    ("text", "event_id"),
    [
        ("Online Defragmentation has completed a full pass on database 'x'", 701),
        ("online\n  defragmentation has completed\tthe resumed pass", 703),
        ("Online defragmentation is beginning a full pass on streaming file 'x'", 708),
        ("the database page read from the file (database page 5 (0x5)) for 1 (0x1) bytes failed "
         "verification due to a page checksum mismatch", 474),
        ("the database page read from the file 'x' (database page 5) failed verification due to "
         "a page checksum mismatch", 727),
        ("database page read from the file ... persisted lost flush detection timestamp mismatch",
         544),
        ("database page read from the file ... a lost flush detection timestamp mismatch", 530),
        ("repaired corruption on page 5 of", 905),
        ("repaired corruption on pages 5 - 6 of", 911),
        ("nothing of the kind", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_words_tell_the_event(text: str, event_id: int | None) -> None:
    assert find_phrase(text) == event_id


def test_a_cut_phrase_tells_the_event_if_it_can_be_no_other() -> None:
    assert find_phrase("NTDS (1) Database Maintenance is running on data...") == 744
    assert find_phrase("NTDS (1) Database Maintenance is running on data") is None
    assert find_phrase("Database Main...") is None


def test_only_dots_at_the_end_are_a_cut() -> None:
    assert uncut("a... b") == ("a... b", True)
    assert uncut("a b... \n") == ("a b", False)
    assert uncut("x" * 200 + "…") == ("x" * 200, False)


@given(st.text())
def test_any_text_gives_a_known_id_or_none(text: str) -> None:
    found = find_phrase(text)
    assert found is None or found in CATALOGUE


KNOWN = [row for row in CATALOGUE.values() if row.phrases]


@given(st.lists(st.sampled_from(KNOWN), min_size=1, max_size=3), st.booleans())
def test_of_several_texts_the_one_with_the_most_words_is_found(
    rows: list[EventRow], glued: bool
) -> None:
    text = ("x" if glued else " 17 ").join(phrase for row in rows for phrase in row.phrases)
    weights = {
        row.event_id: sum(map(len, row.phrases))
        for row in KNOWN
        if all(phrase in text for phrase in row.phrases)
    }
    found = find_phrase(text)
    assert found is not None
    assert weights[found] == max(weights.values())


def test_the_words_of_an_event_may_be_wrapped_anywhere() -> None:
    assert has_phrases(700, "Online\n defragmentation\tis  beginning a full pass")
    assert not has_phrases(700, "Onlinedefragmentation is beginning a full pass")


HOSTILE = {
    "blanks": " " * 65_536,
    "openings": "database '" * 6_500,
    "digits": "1" * 65_536,
    "groups": "1 111 " * 10_000,
    "quotes": "'" * 65_536,
    "starts": "pass started on 1 " * 3_600,
}


def fields_of_text(
    event_id: int, text: str, whole: bool, order: DateOrder | None
) -> tuple[str, Fields]:
    """Database and fields of a text."""
    places = places_of(event_id, text, whole)
    return fields_of_values(
        event_id, [(place[0], text[slice(*place[1:])]) for place in places], order
    )


@of_each(sorted(CATALOGUE))
def test_every_hint_is_a_pattern(event_id: int) -> None:
    database, fields = fields_of_text(event_id, "", True, None)
    assert database == "" and fields == CATALOGUE[event_id].constants


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("event_id", [701, 722, 474, 559, 486])
def test_a_hostile_text_takes_no_more_than_a_moment(event_id: int, text: str) -> None:
    assert processor_seconds(lambda: fields_of_text(event_id, text, True, None)) < 5


def test_a_value_at_the_end_of_a_cut_text_is_not_taken() -> None:
    assert fields_of_text(741, "file by 12 pages", False, None)[1] == {"pages_trimmed": 12}
    assert fields_of_text(743, "Result -12", False, None)[1] == {}
    assert fields_of_text(743, "Result -12", True, None)[1] == {"error": -12}


def test_a_path_may_hold_quotes_and_line_breaks() -> None:
    text = "Online defragmentation is beginning a full pass on database 'C:\\O'Brien\\a\nb.edb'."
    assert fields_of_text(700, text, True, None)[0] == "C:\\O'Brien\\a b.edb"


def test_the_free_space_of_737_is_read_and_that_of_735_is_not() -> None:
    text = "free space on Record pages: 70 (8 pages scanned)\nfree space on LV pages: 60 (9 pages"
    assert fields_of_text(737, text, True, None)[1] == {
        "record_page_free_bytes": 70, "record_pages": 8, "lv_page_free_bytes": 60, "lv_pages": 9,
    }  # fmt: skip
    assert fields_of_text(735, text, True, None)[1] == {}


def test_a_number_of_a_list_stands_before_or_behind_its_label() -> None:
    for text in ("7 bad checksums", "Bad checksums: 7", "bad\nchecksums = 7", "(7   bad checksums"):
        assert fields_of_text(721, text, True, None)[1]["bad_checksums"] == 7
    for text in (
        "x7 bad checksums",
        "1.7bad checksums",
        "7 bad checksumsx",
        "not bad checksums: 7",
    ):
        assert "bad_checksums" not in fields_of_text(721, text, True, None)[1]


def test_a_value_keeps_its_spelling_behind_a_letter_that_is_longer_in_lower_case() -> None:
    text = "İİ online defragmentation is beginning a full pass on database 'E:\\İ\\Priv06.EDB'."
    assert fields_of_text(700, text, True, None)[0] == "E:\\İ\\Priv06.EDB"


@pytest.mark.parametrize(
    "path",
    [r"J:\sg.43\priv43.edb", r"D:\St. Gallen\priv1.edb", r"C:\Program Files\v6.5 x\a.edb"],
)
@pytest.mark.parametrize("behind", ["", "\n", "\n\nFor more information, see events.asp."])
def test_an_unquoted_path_goes_to_the_end_of_its_sentence(behind: str, path: str) -> None:
    def named(event_id: int, text: str) -> object:
        database, fields = fields_of_text(event_id, text.format(path) + behind, True, None)
        return database or fields.get("to_folder") or fields.get("last_log")

    assert named(221, "Ending the copy or backup of the file {}.") == path
    assert named(217, "Error (-1018) during backup of a database (file {}).") == path
    assert named(218, "Error (-1018) during copy or backup of file {}.") == path
    assert named(701, "completed a full pass on database {}.") == path
    assert named(204, "restoring from backup folder x and forward logfiles in folder {}.") == path
    assert named(224, r"Deleting log files E:\L\E0001.log to {}.") == path
    text = "Ending the backup of the file {}. Not all data in the file has been read (read 5 bytes"
    assert named(222, text) == path


def test_a_count_below_zero_is_kept_as_it_is() -> None:
    assert fields_of_text(721, "-5 bad checksums", True, None)[1]["bad_checksums"] == -5
    stats = fields_of_text(737, "Runtime scan stats: 99, -5", True, None)[1]
    assert stats == {"run_pages": 99, "run_bad_checksums": -5}
