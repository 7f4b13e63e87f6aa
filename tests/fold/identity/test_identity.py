"""Labels, roles and origins of databases, however their paths are spelled."""

from collections.abc import Sequence

import pytest

from esewatch.advice.advise import advise
from esewatch.advice.history.derived import derived
from esewatch.advice.history.history import histories
from esewatch.advice.history.surroundings import surroundings
from esewatch.config import DatabaseRule, Settings
from esewatch.fold.commands import acknowledge
from esewatch.fold.databases.integrity import known_bad_pages
from esewatch.fold.folder import Folder
from esewatch.fold.identity.identity import (
    database_label,
    device_of,
    is_snapshot,
    role_at,
    role_changes,
)
from esewatch.fold.state.state import Database, Transition
from esewatch.model import Event
from tests.support.records import (
    DATABASE,
    DAY,
    EPOCH,
    HOUR,
    LABEL,
    event,
    folder_of,
    the_database,
    views,
)

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


SETTINGS = Settings()
NEW = "f:\\new\\PRIV06.edb"
NEW_LABEL = NEW.lower()
FIELDS = {"seconds": 60, "days": 1, "pages_seen": 9, "bad_checksums": 0}
BEFORE = (
    event(717, 0),
    event(721, HOUR, fields=FIELDS),
    event(474, DAY, fields={"page_number": 17}),
    event(476, DAY + 2 * HOUR, fields={"page_number": 18}),
    event(541, DAY + 60),
)
DETACHED = event(327, 2 * DAY)
STARTED = event(102, 2 * DAY + 60, database="")


def attached(path: str = NEW, time: float = 3 * DAY, name: str = "SG06") -> Event:
    return event(326, time, database=path, ese_instance=name)


def known(folder: Folder) -> dict[str, tuple[list[int], set[str], list[str]]]:
    """By database: bad pages, damage and what verified it, where there is any of these."""
    shown = derived(folder.state, SETTINGS)
    found = {}
    for (_, label), each in histories(folder.state, SETTINGS).items():
        pages = sorted(bad.page for bad in each.bad_pages)
        assert pages == sorted(bad.page for bad in shown.databases["ex01", label].bad_pages)
        if pages or each.damage or each.verified:
            damage = {str(kind) for kind in each.damage}
            found[label] = (pages, damage, sorted(each.verified))
    return found


ALL = ([17, 18], {"divergence"}, ["online_scan"])


@pytest.mark.parametrize("left", [DETACHED, STARTED], ids=["detached", "started anew"])
def test_a_database_that_is_attached_elsewhere_takes_along_what_is_known_of_it(left: Event) -> None:
    records = [*BEFORE, left, attached()]
    for order in (records, records[::-1]):
        assert known(folder_of(order)) == {NEW_LABEL: ALL}
    third = "g:\\third\\priv06.edb"
    again = [*records, event(102, 4 * DAY, database=""), attached(third, 5 * DAY)]
    assert known(folder_of(again)) == {third: ALL}
    # What ends entries ends them there too.
    scan = [event(717, 6 * DAY, database=NEW), event(721, 7 * DAY, database=NEW, fields=FIELDS)]
    assert known(folder_of([*records, *scan]))[NEW_LABEL][0] == [18]
    folder = folder_of(records)
    acknowledge(folder, "ex01", NEW_LABEL, [], surroundings(folder.state, SETTINGS))
    assert known(folder) == {NEW_LABEL: ([], set(), ["online_scan"])}


def test_a_database_that_comes_back_has_what_it_had() -> None:
    back = [event(327, 4 * DAY, database=NEW), attached(DATABASE, 4 * DAY + HOUR)]
    records = [*BEFORE, DETACHED, attached(), *back]
    for order in (records, records[::-1]):
        assert known(folder_of(order)) == {LABEL: ALL}
    again = [*records, event(327, 5 * DAY), attached(time=6 * DAY)]
    for order in (again, again[::-1]):
        assert known(folder_of(order)) == {NEW_LABEL: ALL}


def test_another_database_takes_nothing() -> None:
    for other in (
        attached("f:\\new\\other.edb"),
        attached(name="SG07"),
        attached(time=DAY),
    ):
        assert known(folder_of([*BEFORE, DETACHED, other])) == {LABEL: ALL}
    # Both are attached, under the same name in two folders.
    beside = attached(time=DAY + 3 * HOUR)
    assert known(folder_of([*BEFORE, beside])) == {LABEL: ALL}
    # What is logged at the old path later is of another file there.
    later = event(474, 4 * DAY, fields={"page_number": 20})
    found = known(folder_of([*BEFORE, DETACHED, attached(), later]))
    assert found == {NEW_LABEL: ALL, LABEL: ([20], set(), [])}


SHADOW = "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy7"


def test_a_bad_page_in_a_snapshot_is_suspected_of_the_only_database_with_that_tail() -> None:
    bad = event(474, DAY, database=SHADOW + DATABASE[2:], fields={"page_number": 17})
    records = [event(700, 0), bad]
    for order in (records, records[::-1]):
        folder = folder_of(order)
        assert known(folder) == {LABEL: ([], {"suspect"}, [])}
        (one,) = advise(folder.state, SETTINGS, EPOCH + 2 * DAY)
        assert "copy_suspect" in {each.finding for each in one.findings}
    folder.expire(EPOCH + 60 * DAY)
    assert known(folder) == {LABEL: ([], {"suspect"}, [])}
    acknowledge(folder, "ex01", LABEL, [], surroundings(folder.state, SETTINGS))
    assert known(folder) == {}


def test_a_bad_page_in_a_snapshot_of_an_unknown_database_is_known_for_thirty_days() -> None:
    path = SHADOW + "\\elsewhere\\x.edb"
    folder = folder_of([event(700, 0), event(474, DAY, database=path, fields={"page_number": 17})])
    assert list(known(folder)) == [path]
    folder.expire(EPOCH + 30 * DAY)
    assert list(known(folder)) == [path]
    folder.expire(EPOCH + 31 * DAY + 1)
    assert known(folder) == {}


def scanned(*ids: int) -> Sequence[Transition]:
    """An event an hour."""
    return [Transition(3600.0 * hour, hour, event_id) for hour, event_id in enumerate(ids, 1)]


@pytest.mark.parametrize(
    ("ids", "hours"),
    [
        ((735, 736), []),
        ((736, 733, 732, 737), [2, 4]),
        # A skipped resume shows the role and is none of the copy's own.
        ((736, 747, 737), []),
        # Online defragmentation shows none.
        ((736, 701, 733), [3]),
    ],
)
def test_a_copy_changes_its_role_with_the_family_of_its_events(
    ids: Sequence[int], hours: Sequence[int]
) -> None:
    database = Database(computer="ex01", database="e:\\priv06.edb")
    assert role_changes(database, scanned(*ids)) == [3600.0 * hour for hour in hours]


def test_the_role_before_the_kept_events_and_failovers_count_too() -> None:
    database = Database(
        computer="ex01", database="e:\\priv06.edb", evicted_role="active", failovers=[5400.0]
    )
    assert role_changes(database, scanned(733, 732)) == [3600.0, 5400.0]
    assert role_changes(database, scanned(737, 733)) == [5400.0, 7200.0]


def test_the_role_at_a_time_is_that_of_the_last_event_before_it() -> None:
    events = scanned(736, 701, 733)
    assert [role_at(events, 3600.0 * hour) for hour in (0, 1, 2, 3)] == [
        "", "active", "active", "passive"
    ]  # fmt: skip
