"""The past of a database whose storage group gets another name, or that moves to another group.

Semantics 3: damage is latched per copy, cleared by `ack` or a restore; 2: a stop of
the instance interrupts passes.
"""

from itertools import permutations
from typing import Any

import pytest

from esewatch.expose.metrics.families import families
from esewatch.fold.commands import acknowledge
from esewatch.fold.folder import Folder
from esewatch.fold.identity.owners import MAX_INSTANCES
from esewatch.fold.instances.instances import restores
from esewatch.fold.passes.passes import views_in
from esewatch.fold.state.damage import known_damage
from esewatch.fold.state.state import Database
from esewatch.model import Batch, Event, Record
from tests.support.records import DAY, EPOCH, HOUR, LABEL, event, folder_of

OTHER = "e:\\other.edb"


def of(name: str, event_id: int, time: float, database: str = "", **changes: Any) -> Event:
    """An event of the instance of that name."""
    return event(event_id, time, ese_instance=name, database=database, **changes)


def restore(time: float, logs: str = "") -> list[Event]:
    """204 and 205 of a restore, whose instance no event names."""
    fields = {"to_folder": logs}
    return [of("", 204, time - 60, fields=fields), of("", 205, time)]


def up(name: str, time: float) -> Event:
    return of(name, 105, time)


RESTORED = (
    of("SG1", 700, 0, LABEL),
    of("SG1", 448, 100, LABEL),
    *restore(DAY),
    up("SG1", DAY + HOUR),
)
RENAMED = of("Mail Berlin", 700, 2 * DAY, LABEL)


def entry_of(folder: Folder, label: str = LABEL) -> Database:
    return folder.state.databases["ex01", label]


def damaged(*records: Event, label: str = LABEL) -> bool:
    return is_damaged(folder_of(records), label)


def is_damaged(folder: Folder, label: str = LABEL) -> bool:
    entry = entry_of(folder, label)
    ended = max((each.ended for each in restores(folder.state, entry)), default=0.0)
    return bool(known_damage(entry, {}, ended))


def test_a_restored_database_is_mended_whatever_its_group_is_called_later() -> None:
    for order in permutations((*RESTORED, RENAMED)):
        assert not damaged(*order), order


LOGS = {"SG1": "e:\\sg1", "SG2": "e:\\sg2"}
MOVED = (
    of("SG1", 700, 0, LABEL),
    of("SG2", 700, 0, OTHER),
    of("SG2", 448, 100, OTHER),
    of("SG1", 700, 2 * DAY, OTHER),
    *(of(name, 301, HOUR, fields={"log_file": f"{at}\\E00.log"}) for name, at in LOGS.items()),
    *(up(name, 4 * DAY) for name in LOGS),
)


def test_a_restore_of_the_group_that_it_moves_to_mends_nothing() -> None:
    for order in (MOVED, MOVED[::-1]):
        assert damaged(*order, label=OTHER), order
        assert damaged(*order, *restore(DAY, "E:\\SG1\\"), label=OTHER), order
        assert damaged(*order, *restore(3 * DAY, LOGS["SG2"]), label=OTHER), order
        assert not damaged(*order, *restore(3 * DAY, LOGS["SG1"]), label=OTHER), order
        assert not damaged(*order, *restore(DAY, LOGS["SG2"]), label=OTHER), order


def test_an_acknowledgement_holds_after_a_renaming() -> None:
    folder = folder_of(RESTORED[:2])
    acknowledge(folder, "ex01", LABEL, [])
    folder.fold("logs", Batch(records=[RENAMED]))
    assert not is_damaged(folder)


def nights(count: int, name: str, first: int = 0) -> list[Record]:
    """Each night the instance starts, defragmentation goes on, the instance stops."""
    return [
        each
        for day in range(first, first + count)
        for each in (
            of(name, 102, day * DAY),
            of(name, 702 if day else 700, day * DAY + 10, LABEL),
            of(name, 103, day * DAY + HOUR),
        )
    ]


def interrupted(folder: Folder) -> int:
    found = families(folder.state, folder.settings, EPOCH + 900 * DAY)
    (value,) = (
        sample.value
        for family in found
        for sample in family.samples
        if sample.name == "ese_passes_interrupted_total" and sample.labels["task"] == "defrag"
    )
    return int(value)


@pytest.mark.parametrize("count", [10, 400])
def test_interruptions_stay_when_the_group_gets_another_name(count: int) -> None:
    folder = folder_of(nights(count, "DB01"))
    assert interrupted(folder) == count
    folder.fold("logs", Batch(records=nights(3, "Sales", count)))
    assert interrupted(folder) == count + 3


def test_stops_of_the_group_that_it_moves_to_interrupt_only_from_then_on() -> None:
    others = [of("SG2", 103, day * DAY + 2 * HOUR) for day in range(10)]
    folder = folder_of([of("SG1", 700, 0, LABEL), *others, of("SG2", 702, 20 * DAY, LABEL)])
    view = views_in(folder.state, entry_of(folder))["defrag"]
    assert view.interrupted == 0
    folder.fold("logs", Batch(records=[of("SG2", 103, 21 * DAY)]))
    assert views_in(folder.state, entry_of(folder))["defrag"].interrupted == 1


AWAY_AND_BACK = (
    *nights(2, "SG1"),
    of("SG2", 702, 2 * DAY, LABEL),
    of("SG2", 103, 2 * DAY + HOUR),
    *nights(1, "SG1", 3),
)


@pytest.mark.parametrize("turn", range(len(AWAY_AND_BACK)))
def test_the_order_of_arrival_makes_no_difference(turn: int) -> None:
    folder = folder_of([*AWAY_AND_BACK[turn:], *AWAY_AND_BACK[:turn]])
    assert interrupted(folder) == 4


def test_a_program_that_only_opened_it_leaves_no_past() -> None:
    """Its stops are no interruptions, in whatever order it is read."""
    opened = [of("x", 326, 0, LABEL, process="indexer9"), of("x", 103, HOUR, process="indexer9")]
    served = [of("SG1", 700, 60, LABEL)]
    for records in ([*opened, *served], [*served, *opened]):
        folder = folder_of(records)
        assert list(entry_of(folder).instances) == ["sg1"]
        assert interrupted(folder) == 0


def test_the_last_instances_are_known() -> None:
    folder = folder_of(of(f"SG{day}", 700, day * DAY, LABEL) for day in range(40))
    assert list(entry_of(folder).instances) == [f"sg{n}" for n in range(40 - MAX_INSTANCES, 40)]


def test_in_a_journal_of_an_earlier_version_the_instance_had_it_from_the_beginning() -> None:
    folder = folder_of([*nights(3, "SG1"), of("SG1", 448, 2 * DAY, LABEL)])
    entry_of(folder).instances = {}
    assert interrupted(folder) == 3
    folder.fold(
        "logs",
        Batch(records=[*restore(4 * DAY), up("SG1", 4 * DAY), of("Sales", 700, 5 * DAY, LABEL)]),
    )
    assert interrupted(folder) == 3
    assert not is_damaged(folder)
