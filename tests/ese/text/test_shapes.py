"""Paths and facts by shape, in text of any language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.text.shapes import SHAPED, fields_of_shapes, named_database, quoted_paths
from esewatch.model import FieldValue
from tests.ese.text.foreign import read
from tests.support.decoding import event_from_strings, event_from_text
from tests.support.each import of_each
from tests.support.samples import sample

PATH = r"E:\Exchange Daten\priv1.edb"
HEAD = "Information Store (3932) SG1: "


@pytest.mark.parametrize(
    ("event_id", "words"),
    [
        (700, "Die Onlinedefragmentierung beginnt einen Durchlauf für die Datenbank {}."),
        (701, "Die Onlinedefragmentierung hat die Datenbank {} ganz bearbeitet: 12 Seiten frei."),
        (447, "Falscher Seitenverweis (Fehler -338) in der Datenbank {} (7 => 8, 9)."),
        (467, "Datenbank {}: Der Index 'Von.Neu' der Tabelle \"T1\" ist beschädigt (0)."),
        (721, "Die Prüfung der Datenbank {} ist fertig. 70 Seiten gesehen"),
        (736, "La maintenance de la base {} commence."),
        (221, "Das Kopieren oder Sichern der Datei {} wird beendet."),
        (221, "Fin de la copie ou de la sauvegarde du fichier {}."),
        (220, "Se inicia la copia de seguridad del archivo {} (tamaño 458 Mb)."),
    ],
)
@pytest.mark.parametrize("instance", ["SG1", ""])
@of_each(
    ["„{}“", "„{}”", '"{}"', "'{}'", "»{}«", "«\u00a0{}\u00a0»", "« {} »", "“{}”", "‚{}‘",
     "‘{}’", "”{}”", "»{}»", "›{}‹", "「{}」", "{}"]
)  # fmt: skip
def test_the_path_names_the_database_in_any_quotes(
    marks: str, event_id: int, words: str, instance: str
) -> None:
    head = HEAD if instance else HEAD.removesuffix("SG1: ")
    event = read(event_id, head + words.format(marks.format(PATH)))
    assert (event.process, event.ese_instance) == ("Information Store", instance)
    assert event.database == PATH
    assert event.stage == CATALOGUE[event_id].stage


def test_numbers_whose_order_another_language_may_change_are_left_out() -> None:
    event = read(701, f"{HEAD}In 4 Tagen wurden 3 Läufe von „{PATH}“ nötig und 12 Seiten frei.")
    assert (event.database, event.fields) == (PATH, {})


def test_a_path_between_letters_without_spaces() -> None:
    assert read(700, f"{HEAD}データベース'{PATH}'のパスを開始しています。").database == PATH


@pytest.mark.parametrize(
    "path", [r"J:\sg.43\priv43.edb", r"D:\a.db.old\mail.que", r"\\srv\x.edb-alt\priv.edb"]
)
@pytest.mark.parametrize(
    "behind", ["", ".", "のバックアップを終了", "。", ". Ende", " ist fertig."]
)
def test_an_unquoted_path_is_taken_whole(behind: str, path: str) -> None:
    assert read(221, f"{HEAD}Sicherung von {path}{behind}").database == path


def test_a_path_that_is_wrapped() -> None:
    wrapped = f"{HEAD}Durchlauf für die Datenbank „E:\\Exchange\n   Daten\\priv1.edb“ begonnen."
    assert read(700, wrapped).database == PATH


@pytest.mark.parametrize(
    "path", [r"C:\Users\O'Brien\a.edb", r"\\?\E:\a.edb", r"\\server\share\a.edb", "/var/a.edb",
             "NTDS.DIT", r"C:\x.y\ntds.dit"]
)  # fmt: skip
def test_paths_of_all_forms(path: str) -> None:
    assert read(700, f"{HEAD}L'opération de l'index commence : base '{path}'.").database == path


@pytest.mark.parametrize(
    "words",
    [
        r"Das Protokoll „E:\Logs\E00.log“ ist nicht lesbar.",
        r"Die Datei 'E:\E00.chk' fehlt.",
        r"In der Flushzuordnung „E:\priv1.jfm“ steht etwas anderes.",
        r"Der Ordner „E:\Exchange Daten\“ ist voll.",
        r"Der Ordner »E:\Exchange Daten« ist voll.",
        "Der Index „Name“ der Tabelle 'Msg'.",
        "l'index d'une base n'est pas là",
        "In „Von.Neu“ fehlt etwas.",
        "Protokoll E:\\E00.log",
    ],
)
def test_what_is_no_database_names_none(words: str) -> None:
    assert read(467, HEAD + words).database == ""


def test_of_a_log_and_a_database_the_database_is_named() -> None:
    words = f"Datenbank „{PATH}“ ist beschädigt, siehe „E:\\E00.log“."
    assert read(467, HEAD + words).database == PATH


def test_of_two_paths_the_first_is_that_of_a_row_that_begins_with_it() -> None:
    words = f"Datenbank „{PATH}“, gesichert nach „F:\\copy.edb“."
    assert read(700, HEAD + words).database == PATH
    assert read(467, HEAD + words).database == ""


def test_an_event_whose_row_has_no_path_names_none() -> None:
    assert read(715, f"{HEAD}Angehalten: „{PATH}“").database == ""
    event = event_from_text(provider="ESE", event_id=9999, message=f"{HEAD}„{PATH}“")
    assert event is not None and event.database == ""


def test_a_cut_path_without_quotes_is_not_taken() -> None:
    assert read(447, f"{HEAD}Seitenverweis in der Datenbank E:\\priv1.edb...").database == ""


def test_a_whole_message_as_one_string_names_its_database() -> None:
    message = f"{HEAD}Die Onlinedefragmentierung beginnt für die Datenbank „{PATH}“."
    event = event_from_strings(provider="ESE", event_id=700, strings=(message,))
    assert event is not None and event.database == PATH


def test_the_published_texts_without_their_words_still_name_their_databases() -> None:
    """Each real text with its words taken away, so that nothing but the path is left."""
    blocks = sample("text/event-texts.txt").read_text(encoding="utf-8").split("\n=== ")[1:]
    told = {block.split("\n", 1)[0][:6]: block for block in blocks if "'C:\\" in block}
    assert told
    for block in told.values():
        path = block.split("'", 2)[1]
        assert quoted_paths(f"„{path}“") == [path]
        assert named_database(701, f"xyz '{path}' xyz", whole=True) == path


@given(st.sampled_from(sorted(CATALOGUE)), st.text("'\"«»„“‘’ .\n\\:aE/edb", max_size=300))
def test_no_text_breaks_the_paths(event_id: int, text: str) -> None:
    assert isinstance(named_database(event_id, text, whole=True), str)


@pytest.mark.parametrize("mark", ["'", '"', "„", "«", "E:\\", "'E:\\", "a.edb ", "\\\\"])
def test_a_hostile_text_costs_little(mark: str) -> None:
    assert isinstance(named_database(700, mark * 40_000, whole=True), str)


BAD = "E:\\Exchange Server\\priv1.edb"
PLACE = "126976 (0x000000000001f000)"
SIZE = "4096 (0x00001000)"


GERMAN = (
    f'Information Store (3932) SG1: Die Datenbankseite aus der Datei "{BAD}" bei Offset {PLACE} '
    f"(Datenbankseite 30 (0x1E)) für {SIZE} Bytes war falsch. Fehler -1018 (0xfffffc06)."
)
FRENCH = (
    f"Information Store (3932) SG1: La lecture de l'emplacement du fichier '{BAD}', à partir de "
    f"{PLACE} sur {SIZE} octets, n'a pas réussi : erreur -1018 (0xfffffc06)."
)
JAPANESE = (
    f'Information Store (3932,D,0) SG1: ファイル "{BAD}" の {PLACE} から {SIZE} バイト: '
    "エラー -1018 (0xfffffc06)。"
)


@pytest.mark.parametrize("message", [GERMAN, FRENCH, JAPANESE, GERMAN.replace('"', "„", 1)
                                     .replace('"', "“")])  # fmt: skip
def test_a_474_of_another_language_names_its_page(message: str) -> None:
    event = read(474, message)
    assert (event.process, event.ese_instance, event.database) == (
        "Information Store", "SG1", BAD,
    )  # fmt: skip
    assert event.fields == {
        "file": BAD, "offset": 126976, "bytes": 4096, "error": -1018, "page_number": 30,
    }  # fmt: skip


def test_the_two_pages_of_a_475_are_told_apart_by_the_offset() -> None:
    message = f'"{BAD}" {PLACE} {SIZE} -1118 (0xfffffba2) 31 (0x1F) statt 30 (0x1E)'
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
