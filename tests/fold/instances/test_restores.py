"""A restore ends damage, and leaves bad pages unproven, where it did not fail (semantics.md 3)."""

import pytest

from esewatch.advice.advise import advise
from esewatch.advice.history.history import histories
from esewatch.advice.history.surroundings import surroundings
from esewatch.config import Settings
from esewatch.fold.commands import acknowledge
from esewatch.fold.folder import Folder
from esewatch.fold.instances.instances import MAX_ERRORS, restored
from esewatch.model import CopyChecked, Event
from tests.support.records import DATABASE, DAY, EPOCH, HOUR, LABEL, event, folder_of

SETTINGS = Settings()
BAD = (
    event(474, 0, fields={"page_number": 17}),
    event(476, 60, fields={"page_number": 18}),
    event(541, 120),
)
BEGINS = event(204, DAY, database="", ese_instance="Restore0001", fields={"to_folder": "e:\\sg06"})
ENDS = event(205, DAY + HOUR, database="", ese_instance="Restore0001")
MOUNTED = event(105, DAY + 2 * HOUR, database="")
ATTACHED = event(326, DAY + 2 * HOUR)
FAILED = event(517, DAY + 60, database="", level="error")


Said = tuple[list[int], set[str], list[str]]


def said(*records: Event | CopyChecked) -> Said:
    """Known bad pages, damage and the findings about them, in either order of arrival."""
    told = [_said(folder_of(each)) for each in (records, records[::-1])]
    assert told[0] == told[1]
    return told[0]


def _said(folder: Folder) -> Said:
    found = histories(folder.state, SETTINGS)["ex01", LABEL]
    (advice,) = advise(folder.state, SETTINGS, EPOCH + 9 * DAY)
    about = {"investigate", "copy_divergence", "restored_unproven"}
    names = sorted(str(each.finding) for each in advice.findings if each.finding in about)
    return sorted(each.page for each in found.bad_pages), set(found.damage), names


STANDS: Said = ([17, 18], {"divergence"}, ["copy_divergence", "investigate"])
UNPROVEN: Said = ([], set(), ["restored_unproven"])


@pytest.mark.parametrize("up", [MOUNTED, ATTACHED], ids=["105", "326"])
def test_a_restore_after_which_the_instance_came_up_leaves_bad_pages_unproven(up: Event) -> None:
    assert said(*BAD) == STANDS
    assert said(*BAD, BEGINS, ENDS, up) == UNPROVEN
    later = event(474, 2 * DAY, fields={"page_number": 19})
    assert said(*BAD, BEGINS, ENDS, up, later) == (
        [19],
        set(),
        ["investigate", "restored_unproven"],
    )


def test_without_its_beginning_its_end_or_the_instance_or_with_an_error_it_is_none() -> None:
    assert said(*BAD, ENDS, MOUNTED) == STANDS
    assert said(*BAD, BEGINS, MOUNTED) == STANDS
    assert said(*BAD, BEGINS, ENDS) == STANDS
    assert said(*BAD, BEGINS, FAILED, ENDS, MOUNTED) == STANDS
    other = event(517, DAY + 60, database="", level="error", process="certsrv")
    assert said(*BAD, BEGINS, other, ENDS, MOUNTED) == UNPROVEN
    many = [event(481, 2 * DAY + n, database="", level="error") for n in range(2 * MAX_ERRORS)]
    folder = folder_of([*BAD, BEGINS, ENDS, MOUNTED, *many])
    # What is forgotten may have been an error of the restore.
    assert restored(folder.state, folder.state.databases["ex01", LABEL]).ended == 0.0


def test_of_several_instances_the_one_whose_logs_were_restored() -> None:
    beside = event(700, 0, database="e:\\07.edb", ese_instance="SG07")
    records = [*BAD, beside, BEGINS, ENDS, MOUNTED]
    named = event(301, 0, database="", fields={"log_file": "E:\\SG06\\E0000000A.log"})
    other = event(301, 0, database="", fields={"log_file": "E:\\SG6\\E0000000A.log"})
    for record, stands in ((named, 0), (other, 2)):
        folder = folder_of([*records, record])
        assert len(histories(folder.state, SETTINGS)["ex01", LABEL].bad_pages) == stands


def test_what_began_after_it_proves_the_pages() -> None:
    fields = {"seconds": 60, "days": 1, "pages_seen": 9, "bad_checksums": 0}
    restore = (*BAD, BEGINS, ENDS, MOUNTED)

    def scan(time: float) -> tuple[Event, Event]:
        return event(717, time), event(721, time + HOUR, fields=fields)

    assert said(*restore, *scan(2 * DAY)) == ([], set(), [])
    assert said(*restore, *scan(DAY + HOUR / 2)) == UNPROVEN
    # The files were restored, and the instance still read those before.
    assert said(*restore, *scan(DAY + 1.5 * HOUR)) == UNPROVEN
    for time, findings in ((2 * DAY, []), (DAY, ["restored_unproven"])):
        read = CopyChecked(
            time=EPOCH + time,
            computer="EX01",
            database=DATABASE,
            by="page_scan",
            complete=True,
            pages_seen=9,
            bad=0,
        )
        assert said(*restore, read) == ([], set(), findings)


def test_an_acknowledgement_ends_it_until_another_restore() -> None:
    folder = folder_of([*BAD, BEGINS, ENDS, MOUNTED])
    acknowledge(folder, "ex01", LABEL, [], surroundings(folder.state, SETTINGS))
    assert _said(folder) == ([], set(), [])
