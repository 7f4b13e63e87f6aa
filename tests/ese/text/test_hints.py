"""Hints of the catalogue find parameters in text, in bounded time."""

import pytest

from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.dates import DateOrder
from esewatch.ese.strings import Fields
from esewatch.ese.text.hints import fields_of_values, places_of
from tests.support.each import of_each
from tests.support.processor import processor_seconds

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
