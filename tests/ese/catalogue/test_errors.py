"""Errors of the engine that are rare: strings as the engine logs them, fields that come out."""

import pytest

from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.model import Event, FieldValue
from tests.support.decoding import event_from_strings, event_from_text

DB = "E:\\MDB06\\priv06.edb"
LOG = "E:\\Logs\\E0600001A2B.log"
POSITION = "(00001A2B,04D2,0010)"
PAGE = "469537 (0x72a21)"
DIVERGENCE = (DB, PAGE, "0x5a", "0x5b", "-566", "0x5c", POSITION, "1", "17", "0", "0")
DIVERGED = {"page_number": 469537, "error": -566, "log_position": POSITION, "object_id": 17}
UNINITIALIZED = (DB, PAGE, "0x5a", "0x5b", POSITION, "1", "0", "0")
INDEX = (DB, "nc-index", "datatable", "sv-SE", "sort-1", "0006020F", "sort-2", "00060305")
OUT_OF_DATE = {
    "index": "nc-index", "table": "datatable", "locale": "sv-SE", "index_sort_id": "sort-1",
    "index_sort_version": "0006020F", "sort_id": "sort-2", "sort_version": "00060305",
}  # fmt: skip
GUID = "11111111-2222-3333-4444-555555555555"
SNAPSHOT = "E:\\MDB06\\RBS1.rbs"
Fields = dict[str, FieldValue]


def ese(event_id: int, *params: str, provider: str = "ESE") -> Event:
    event = event_from_strings(
        provider=provider, event_id=event_id, strings=("svc", "3392,R,0", "SG06: ", *params)
    )
    assert event is not None
    return event


@pytest.mark.parametrize(
    ("event_id", "params", "database", "fields"),
    [
        (516, (DB, PAGE, "0x5a", "0x5b", "-567", "0x5c", POSITION, "1", POSITION, "3"), DB,
         {"page_number": 469537, "error": -567, "log_position": POSITION, "pages_affected": 3}),
        (538, DIVERGENCE, DB, DIVERGED),
        (539, DIVERGENCE, DB, DIVERGED),
        (545, DIVERGENCE, DB, DIVERGED),
        (560, DIVERGENCE, DB, DIVERGED),
        (540, (DB, PAGE, "0x1", "0x2", "0x3", POSITION, "1", "17", "0", "0", "92"), DB,
         {"page_number": 469537, "log_position": POSITION, "object_id": 17}),
        (541, UNINITIALIZED, DB, {"page_number": 469537, "log_position": POSITION}),
        (557, UNINITIALIZED, DB, {"page_number": 469537, "log_position": POSITION}),
        (559, (DB, PAGE, POSITION, "0x5a", "0x5b", "1", "17", "0"), DB,
         {"page_number": 469537, "log_position": POSITION, "object_id": 17}),
        (542, (DB, PAGE, "17", "BadLineOrder", "lines 3 and 4"), DB,
         {"page_number": 469537, "object_id": 17, "corruption": "BadLineOrder",
          "detail": "lines 3 and 4"}),
        (448, ("Msg", DB, "412", "0x1f"), DB,
         {"table": "Msg", "page_number": 412, "long_value": "0x1f"}),
        (467, ("nc-index", "datatable", DB, "1"), DB,
         {"index": "nc-index", "table": "datatable", "detail": "1"}),
        (568, ("412", "Msg", "17", DB), DB, {"root_page": 412, "table": "Msg", "object_id": 17}),
        (569, ("412", "17"), "", {"root_page": 412, "object_id": 17}),
        (570, (DB, PAGE, "17", POSITION, "1", "0"), DB,
         {"page_number": 469537, "object_id": 17, "log_position": POSITION}),
    ],
)  # fmt: skip
def test_damage_names_its_database_and_its_page(
    event_id: int, params: tuple[str, ...], database: str, fields: Fields
) -> None:
    event = ese(event_id, *params)
    assert (event.database, event.fields, event.level) == (database, fields, "error")


@pytest.mark.parametrize("fatal", [0, 1])
def test_a_bad_page_link_says_whether_it_is_fatal(fatal: int) -> None:
    event = ese(447, "-327", "17", "412", DB, "469537", "469538", "0", "SwitchPage", str(fatal))
    assert event.database == DB and event.fields == {
        "error": -327, "object_id": 17, "root_page": 412, "from_page": 469537,
        "to_page": 469538, "found_page": 0, "fatal": fatal,
    }  # fmt: skip


def test_a_bad_page_link_of_an_older_engine_does_not_say_it() -> None:
    assert "fatal" not in ese(447, "-327", "17", "412", DB, "1", "2", "3").fields


@pytest.mark.parametrize("event_id", [408, 409, 410, 414, 415, 416, 417, 418, 451, 455, 468, 521])
def test_a_log_that_cannot_be_written_is_named_with_its_error(event_id: int) -> None:
    event = ese(event_id, LOG, "-1022 (0xfffffc02)")
    assert event.database == "" and event.fields == {"log_file": LOG, "error": -1022}


@pytest.mark.parametrize(
    ("event_id", "params", "database", "fields"),
    [
        (430, (DB,), DB, {}),
        (431, ("E0000000020.log", "E0000000010.log"), "",
         {"available_log": "E0000000020.log", "needed_log": "E0000000010.log"}),
        (432, ("E0000000010.log", "E0000000020.log"), "",
         {"available_log": "E0000000010.log", "needed_log": "E0000000020.log"}),
        (433, (LOG,), "", {"log_file": LOG}),
        (434, ("6699",), "", {"log_file": "6699"}),
        (435, (LOG,), "", {"log_file": LOG}),
        (457, ("E0600001A2B.log",), "", {"log_file": "E0600001A2B.log"}),
        (458, ("E0600001A2A.log", "E0600001A2B.log"), "",
         {"first_log": "E0600001A2A.log", "last_log": "E0600001A2B.log"}),
        (459, (LOG,), "", {"file": LOG}),
        (459, (DB,), DB, {"file": DB}),
        (460, (LOG, POSITION), "", {"log_file": LOG, "log_position": POSITION}),
        (461, (LOG, POSITION), "", {"log_file": LOG, "log_position": POSITION}),
        (462, (LOG, POSITION), "", {"log_file": LOG, "log_position": POSITION}),
        (463, (LOG, "", "isec 9"), "", {"log_file": LOG, "reason": "isec 9"}),
        (464, (LOG, "", "isec 9"), "", {"log_file": LOG, "reason": "isec 9"}),
        (466, (LOG,), "", {"log_file": LOG}),
        (496, (DB, LOG, " 06/21/2007 03:14:00.000 ", " 06/21/2007 03:15:00.000 "), DB,
         {"log_file": LOG, "needed_created": "06/21/2007 03:14:00.000",
          "created": "06/21/2007 03:15:00.000"}),
        (517, ("-551", DB), DB, {"error": -551}),
        (520, (), "", {}),
        (529, (LOG, "8192 (0x2000)", "4096 (0x1000)", "-501 (0xfffffe0b)", "0", "0"), "",
         {"file": LOG, "offset": 8192, "bytes": 4096, "error": -501}),
        (546, ("0x1a2b", "7.3704.2.5", "8.4000.4"), "", {"generation": 6699,
                                                          "version": "7.3704.2.5"}),
        (553, (DB, "-1811"), DB, {"error": -1811}),
        (567, (LOG, "-515"), "", {"log_file": LOG, "error": -515}),
    ],
)  # fmt: skip
def test_the_log_sequence_and_a_restore(
    event_id: int, params: tuple[str, ...], database: str, fields: Fields
) -> None:
    event = ese(event_id, *params)
    assert (event.database, event.fields) == (database, fields)


@pytest.mark.parametrize(
    ("event_id", "level"),
    [(227, "warning"), (457, "warning"), (458, "warning"), (520, "warning"), (563, "error"),
     (567, "error"), (613, "warning"), (614, "warning"), (622, "warning"), (643, "warning")],
)  # fmt: skip
def test_the_level_is_that_of_the_source(event_id: int, level: str) -> None:
    assert CATALOGUE[event_id].level == level


@pytest.mark.parametrize("event_id", [611, 613, 614])
def test_an_index_out_of_date_is_named(event_id: int) -> None:
    event = ese(event_id, *INDEX)
    assert event.database == DB and event.fields == OUT_OF_DATE


def test_a_database_with_such_an_index_names_only_the_language() -> None:
    event = ese(643, DB, "sv-SE", "sort-1", "0006020F", "sort-2", "00060305")
    expected = {name: OUT_OF_DATE[name] for name in OUT_OF_DATE if name not in ("index", "table")}
    assert event.database == DB and event.fields == expected


@pytest.mark.parametrize("event_id", [609, 610, 612, 617, 619, 621, 622])
def test_other_events_of_definitions_name_their_database(event_id: int) -> None:
    event = ese(event_id, DB)
    assert (event.database, event.fields) == (DB, {})


@pytest.mark.parametrize(
    ("event_id", "params", "fields"),
    [
        (646, (SNAPSHOT, "Checksum", "8192 (0x2000)", "2", "17 (0x11)", "18 (0x12)"),
         {"file": SNAPSHOT, "reason": "Checksum", "offset": 8192, "segment": 2,
          "expected": "17 (0x11)", "actual": "18 (0x12)"}),
        (5000, (SNAPSHOT, "loaded", "0"), {"file": SNAPSHOT, "operation": "loaded"}),
        (5001, (SNAPSHOT, "created", "-1808"),
         {"file": SNAPSHOT, "operation": "created", "error": -1808}),
        (5004, ("03:14:00 6/21/2007", "03:14:00 6/20/2007", "-1022"),
         {"reverted_from": "03:14:00 6/21/2007", "reverted_to": "03:14:00 6/20/2007",
          "error": -1022}),
        (5005, (SNAPSHOT, "-1", "-2"), {"file": SNAPSHOT, "error": -1, "load_error": -2}),
        (5007, (SNAPSHOT, "patched"), {"file": SNAPSHOT, "reason": "patched"}),
    ],
)  # fmt: skip
def test_the_file_of_a_revert_snapshot_is_no_database(
    event_id: int, params: tuple[str, ...], fields: Fields
) -> None:
    event = ese(event_id, *params)
    assert (event.database, event.fields) == ("", fields)


@pytest.mark.parametrize("event_id", [*range(3001, 3015), 3071])
def test_a_failure_item_names_its_instance_and_no_path(event_id: int) -> None:
    event = ese(event_id, "SG06", GUID, GUID.replace("1", "a"), "")
    assert (event.database, event.ese_instance, event.level) == ("", "SG06", "error")
    assert event.fields == {
        "display_name": "SG06", "instance_name": GUID, "place": GUID.replace("1", "a"),
    }  # fmt: skip


def test_a_failure_item_is_read_from_text() -> None:
    text = (
        "svc (3392,R,0) SG06: The system is experiencing memory allocation failures of database"
        f" 'SG06' ('{GUID}'). Additional diagnostic information: {GUID} "
    )
    event = event_from_text(message=text, provider="ESE", event_id=3013)
    assert event is not None
    assert (event.fields["display_name"], event.fields["instance_name"]) == ("SG06", GUID)


@pytest.mark.parametrize(
    ("event_id", "text", "database", "fields"),
    [
        (417, f"Unable to write to section 3 while flushing logfile {LOG}. Error -1022.", "",
         {"log_file": LOG, "error": -1022}),
        (568, "An illegal operation is being performed on root page 412 of table (Msg) with objid"
         f" 17 on database {DB} which was reverted by RBS.", DB,
         {"root_page": 412, "table": "Msg", "object_id": 17}),
        (613, f"Database '{DB}': The primary index 'nc' of table 'dt' for locale 'sv' is out of"
         " date with sorting", DB, {"index": "nc", "table": "dt", "locale": "sv"}),
        (643, f"Out of date NLS sort version detected on the database '{DB}' for Locale 'sv',", DB,
         {"locale": "sv"}),
        (5001, f'The revert snapshot file at "{SNAPSHOT}" failed to be "created" with error "-9".',
         "", {"file": SNAPSHOT, "operation": "created", "error": -9}),
        (447, f"A bad page link (error -327) (ObjectId: 17, PgnoRoot: 412) of database {DB} (1 =>"
         " 2, 3). Tag: SwitchPage Fatal: 0", DB,
         {"error": -327, "object_id": 17, "root_page": 412, "fatal": 0}),
    ],
)  # fmt: skip
def test_their_words_give_the_same_names(
    event_id: int, text: str, database: str, fields: Fields
) -> None:
    event = event_from_text(message=f"svc (3392,R,0) SG06: {text}", provider="ESE")
    assert event is not None
    assert (event.event_id, event.database, event.fields) == (event_id, database, fields)


@pytest.mark.parametrize("event_id", [905, 907, 909])
def test_the_backup_interface_has_ids_of_its_own(event_id: int) -> None:
    event = ese(event_id, "5", DB, DB, provider="ESE BACKUP")
    assert (event.database, event.fields, event.level, event.task) == ("", {}, None, None)
    text = "svc (3392) Server registered: 'x' repaired corruption on page 5 of database 'a.edb'"
    shown = event_from_text(message=text, provider="ESE BACKUP", event_id=event_id)
    assert shown is not None
    assert (shown.database, shown.fields, shown.strings) == ("", {}, (text,))
