"""A bad page that was logged in another language is not missed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.ese.text.shapes import SHAPED, fields_of_shapes
from esewatch.model import FieldValue
from tests.ese.text.foreign import read

PATH = "E:\\Exchange Server\\priv1.edb"
PLACE = "126976 (0x000000000001f000)"
SIZE = "4096 (0x00001000)"


GERMAN = (
    f'Information Store (3932) SG1: Die Datenbankseite aus der Datei "{PATH}" bei Offset {PLACE} '
    f"(Datenbankseite 30 (0x1E)) für {SIZE} Bytes war falsch. Fehler -1018 (0xfffffc06)."
)
FRENCH = (
    f"Information Store (3932) SG1: La lecture de l'emplacement du fichier '{PATH}', à partir de "
    f"{PLACE} sur {SIZE} octets, n'a pas réussi : erreur -1018 (0xfffffc06)."
)
JAPANESE = (
    f'Information Store (3932,D,0) SG1: ファイル "{PATH}" の {PLACE} から {SIZE} バイト: '
    "エラー -1018 (0xfffffc06)。"
)


@pytest.mark.parametrize("message", [GERMAN, FRENCH, JAPANESE, GERMAN.replace('"', "„", 1)
                                     .replace('"', "“")])  # fmt: skip
def test_a_474_of_another_language_names_its_page(message: str) -> None:
    event = read(474, message)
    assert (event.process, event.ese_instance, event.database) == (
        "Information Store", "SG1", PATH,
    )  # fmt: skip
    assert event.fields == {
        "file": PATH, "offset": 126976, "bytes": 4096, "error": -1018, "page_number": 30,
    }  # fmt: skip


def test_the_two_pages_of_a_475_are_told_apart_by_the_offset() -> None:
    message = f'"{PATH}" {PLACE} {SIZE} -1118 (0xfffffba2) 31 (0x1F) statt 30 (0x1E)'
    fields = read(475, message).fields
    assert (fields["page_number"], fields["expected"], fields["actual"]) == (30, 30, 31)


def test_numbers_whose_two_forms_differ_are_not_taken() -> None:
    fields: dict[str, FieldValue] = fields_of_shapes(474, "12 (0x000000000001f000)", {})[1]
    assert fields == {}


def test_a_log_is_no_database() -> None:
    event = read(508, f'Schreiben in "E:\\E00.log" bei {PLACE}, {SIZE}')
    assert event.database == ""
    assert event.fields == {
        "operation": "write", "file": "E:\\E00.log", "offset": 126976, "bytes": 4096,
    }  # fmt: skip


def test_the_page_errors_have_shapes() -> None:
    assert {398, 399, 474, 475, 476, 530, 544, 727, 481, 482, 507, 510, 532, 533} <= SHAPED


@given(st.sampled_from(sorted(SHAPED)), st.text(alphabet="'\"«»()0x1f -.\n\\:aE", max_size=300))
def test_no_text_breaks_the_shapes(event_id: int, text: str) -> None:
    database, fields = fields_of_shapes(event_id, text, {})
    assert isinstance(database, str) and isinstance(fields, dict)
