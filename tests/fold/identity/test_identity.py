"""Labels of databases: one file has one label, however its path is spelled."""

import pytest

from esewatch.config import DatabaseRule, Settings
from esewatch.fold.databases.integrity import known_bad_pages
from esewatch.fold.identity.identity import database_label, device_of, is_snapshot
from tests.support.records import HOUR, LABEL, event, folder_of, the_database, views

SHARE = "\\\\server\\share\\a.edb"


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("E:\\MDB06\\priv06.edb", LABEL),
        ("E:/MDB06/priv06.edb", LABEL),
        ("e:/MDB06//priv06.edb", LABEL),
        ("E:\\\\MDB06\\\\priv06.edb", LABEL),
        ("E:\\MDB06/priv06.edb", LABEL),
        ("\\\\?\\E:\\MDB06\\priv06.edb", LABEL),
        ("\\\\.\\E:\\MDB06\\priv06.edb", LABEL),
        ("//?/E:/MDB06/priv06.edb", LABEL),
        ("\\\\\\\\?\\\\E:\\\\MDB06\\\\priv06.edb", LABEL),
        ("\\\\Server\\Share\\A.edb", SHARE),
        ("//Server/Share/A.edb", SHARE),
        ("\\\\\\\\Server\\\\Share\\\\A.edb", SHARE),
        ("\\\\?\\UNC\\Server\\Share\\A.edb", SHARE),
        ("//?/unc/Server/Share//A.edb", SHARE),
        ("C:\\$SNAP_201912161234_VOLUMEE$\\MDB06\\priv06.edb", LABEL),
        ("C:/$SNAP_201912161234_VOLUMEE$/MDB06/priv06.edb", LABEL),
        ("E:\\MDB06\\.\\priv06.edb", LABEL),
        ("E:/./MDB06/././priv06.edb", LABEL),
        ("\\\\?\\E:\\.\\MDB06\\priv06.edb", LABEL),
        ("\\\\.\\E:\\MDB06\\.\\priv06.edb", LABEL),
        ("\\\\Server\\Share\\.\\A.edb", SHARE),
        ("\\\\?\\UNC\\Server\\.\\Share\\A.edb", SHARE),
        ("C:\\$SNAP_201912161234_VOLUMEE$\\.\\MDB06\\priv06.edb", LABEL),
        ("E:\\.MDB06\\..\\priv06.edb", "e:\\.mdb06\\..\\priv06.edb"),
        ("/var/./Lib/A.edb", "/var/./Lib/A.edb"),
        ("C:/Snapshots/priv06.edb", None),
        ("/var/Lib//A.edb", "/var/Lib//A.edb"),
        ("/var/lib\\\\a.edb", "/var/lib\\\\a.edb"),
        ("MDB06/priv06.edb", "MDB06/priv06.edb"),
    ],
)
def test_a_path_has_one_label(path: str, label: str | None) -> None:
    assert database_label(path) == label
    assert is_snapshot(path) == (label is None or "$SNAP_" in path)


@pytest.mark.parametrize("path", ["E:/MDB06/priv06.edb", "E:\\\\MDB06\\\\priv06.edb"])
def test_a_scan_clears_the_bad_page_that_another_spelling_of_the_path_named(path: str) -> None:
    clean = {"pages_seen": 9, "seconds": 60, "bad_checksums": 0}
    folder = folder_of(
        [
            event(474, 0, database=path, fields={"page_number": 5}),
            event(717, HOUR),
            event(721, 2 * HOUR, fields=clean),
        ]
    )
    assert known_bad_pages(the_database(folder), views(folder)) == []


def test_a_database_lies_on_the_device_of_its_rule_or_of_its_nearest_volume() -> None:
    known = the_database(folder_of([event(700, 0.0)]))
    volumes = {"e:": "1", "e:\\mdb06": "2", "e:\\mdb": "3", "f:": "4"}
    assert known.database == LABEL
    assert device_of(known, volumes, Settings()) == "2"
    assert device_of(known, {"f:": "4"}, Settings()) is None
    rule = DatabaseRule(match="*priv06.edb", device="lun7")
    assert device_of(known, volumes, Settings(databases=[rule])) == "lun7"


@pytest.mark.parametrize("name", ["temp.edb", "C:\\x\\TMP.EDB", "f:/db01/TEMPCHKSUM1.EDB"])
@pytest.mark.parametrize("event_id", [474, 542, 700, 326])
def test_what_is_logged_of_a_temporary_database_is_counted_and_of_no_database(
    name: str, event_id: int
) -> None:
    state = folder_of([event(event_id, 0, database=name, fields={"page_number": 5})]).state
    assert state.databases == {}
    assert state.hosts["ex01"].events == {"ESE": {event_id: 1}}
    near = name[:-4] + "1.mdb"
    assert folder_of([event(474, 0, database=near, fields={"page_number": 5})]).state.databases
