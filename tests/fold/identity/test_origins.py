"""What is known of a database at another path, or of a snapshot of it, is known of it."""

import pytest

from esewatch.advice.advise import advise
from esewatch.advice.history.derived import derived
from esewatch.advice.history.history import histories
from esewatch.advice.history.surroundings import surroundings
from esewatch.config import Settings
from esewatch.fold.commands import acknowledge
from esewatch.fold.folder import Folder
from esewatch.model import Event
from tests.support.records import DATABASE, DAY, EPOCH, HOUR, LABEL, event, folder_of

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
