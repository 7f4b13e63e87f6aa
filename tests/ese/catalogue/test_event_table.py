"""The catalogue is complete, well-formed and free of contradictions."""

from typing import get_args

import pytest

from esewatch.ese.catalogue.event_row import EventRow, Kind
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.text.english import find_phrase
from esewatch.model import Level, Stage, Task
from tests.support.each import of_each


def ids(*parts: int | tuple[int, int]) -> set[int]:
    """Single ids and closed ranges."""
    found: set[int] = set()
    for part in parts:
        found |= {part} if isinstance(part, int) else set(range(part[0], part[1] + 1))
    return found


DEFRAGMENTATION = ids((700, 705), 715, 716, 728, 752, (708, 714), 602, 603, 628, 629)
SCANS_2007 = ids(706, 707, (717, 727), 729, 730)
MAINTENANCE = ids((732, 751), (753, 757), 563, 564)
CORRUPTION = ids(
    398, 399, (474, 480), 447, 448, 467, 470, 473, 497, 456, 472, 439, 515, 516, 530, 544, 531,
    (537, 542), 545, 549, 550, 552, (554, 557), 559, 560, 565, 566, (635, 640), 905, 911, 334, 534,
    907, 500, 502, 503, 504,
)  # fmt: skip
IO = ids(
    (481, 493), (505, 510), 512, 513, 522, 532, 533, 551, 428, 429, 413, 424, 445, 631, 632,
    (441, 444),
)  # fmt: skip
LIFE_CYCLE = ids(
    (102, 105), 216, (300, 302), 304, (325, 333), 335, 419, 420, 446, 450, (452, 455), 465, 471,
    494, 495, 518, 519, 543, 558, 567, 498, 499, (523, 528), 514, 633, 634, 644, 645, 906, 908,
    909, 912,
)  # fmt: skip
VERSION_STORE = ids(623, 624, 630)
BACKUP = ids(
    (210, 215), (217, 227), (200, 207), 240, 243, 244, 245, 252, 256, 257, (2001, 2010),
    (3001, 3014),
)  # fmt: skip
ALL = (
    DEFRAGMENTATION | SCANS_2007 | MAINTENANCE | CORRUPTION | IO | LIFE_CYCLE
    | VERSION_STORE | BACKUP
)  # fmt: skip
ROWS = list(CATALOGUE.values())


def event_id_of(row: EventRow) -> int:
    return row.event_id


@of_each(sorted(ALL))
def test_every_documented_event_has_a_row(event_id: int) -> None:
    assert CATALOGUE[event_id].event_id == event_id


@of_each(ROWS, event_id_of)
def test_every_row_is_well_formed(row: EventRow) -> None:
    assert row.symbol == row.symbol.upper() and row.symbol.strip()
    assert row.level in get_args(Level)
    assert row.task is None or row.task in get_args(Task)
    assert row.stage is None or (row.stage in get_args(Stage) and row.task is not None)
    assert all(phrase == phrase.lower() and len(phrase) > 3 for phrase in row.phrases)
    for param in row.params:
        assert param.kind in Kind
        assert bool(param.name) == (param.kind is not Kind.SKIP)
        assert param.name == param.name.lower()
        for hint in param.hints:
            assert hint.startswith("=") or hint.count("{}") == 1


@of_each(ROWS, event_id_of)
def test_a_field_has_one_parameter_and_an_event_one_database(row: EventRow) -> None:
    kinds = [param.kind for param in row.params]
    assert kinds.count(Kind.DATABASE) + kinds.count(Kind.FILE) <= 1
    names = [param.name for param in row.params if param.kind is not Kind.SKIP]
    twice = {name for name in names if names.count(name) > 1}
    assert twice == ({"seconds"} if Kind.MINUTES in kinds else set())
    assert not set(names) & set(row.constants)


@of_each([row for row in ROWS if row.phrases], event_id_of)
def test_the_phrases_of_an_event_lead_to_that_event(row: EventRow) -> None:
    assert find_phrase(" 17 ".join(row.phrases) + " 17") == row.event_id


@pytest.mark.parametrize(
    ("event_id", "position"),
    [(531, 1), (752, 1), (905, 1), (911, 2), (447, 3), (448, 1), (467, 2), (537, 4), (326, 1),
     (217, 1), (218, 1), (700, 0), (737, 0), (474, 0)],
)  # fmt: skip
def test_the_database_stands_where_the_engine_puts_it(event_id: int, position: int) -> None:
    kinds = [param.kind for param in CATALOGUE[event_id].params]
    assert kinds[position] in (Kind.DATABASE, Kind.FILE)


@pytest.mark.parametrize(
    ("event_id", "task", "stage"),
    [
        (700, "defrag", "started"), (701, "defrag", "completed"), (702, "defrag", "resumed"),
        (703, "defrag", "completed"), (704, "defrag", "interrupted"), (705, "defrag", "failed"),
        (706, "zeroing", "started"), (707, "zeroing", "completed"), (717, "checksum", "started"),
        (718, "zeroing", "started"), (719, "checksum", "resumed"), (720, "zeroing", "resumed"),
        (721, "checksum", "completed"), (722, "zeroing", "completed"),
        (723, "checksum", "failed"), (724, "zeroing", "failed"),
        (725, "checksum", "interrupted"), (726, "zeroing", "interrupted"), (727, None, None),
        (728, "index_defrag", "completed"), (732, "checksum", "completed"),
        (733, "checksum", "late"), (734, "checksum", "failed"), (735, "checksum", "completed"),
        (736, "checksum", "started"), (737, "checksum", "completed"),
        (738, "checksum", "resumed"), (744, "checksum", "running"),
        (745, "checksum", "aborted"), (746, "checksum", "completed"),
        (747, "checksum", "resumed"), (741, "trim", "completed"), (748, "shrink", "completed"),
        (749, "shrink", "failed"), (210, "backup", "started"), (213, "backup", "completed"),
        (214, "backup", "failed"), (300, "replay", "started"), (301, "replay", "completed"),
    ],
)  # fmt: skip
def test_the_task_and_stage_follow_the_meaning(
    event_id: int, task: str | None, stage: str | None
) -> None:
    assert (CATALOGUE[event_id].task, CATALOGUE[event_id].stage) == (task, stage)


def test_the_catalogue_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        CATALOGUE[1] = ROWS[0]  # type: ignore[index]
