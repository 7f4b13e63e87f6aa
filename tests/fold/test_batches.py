"""What the fold remembers within a batch is what it would find for each record by itself."""

import random

from esewatch.config import DatabaseRule, Settings
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.journal.rows import rows_of
from esewatch.model import Batch, Coverage, Event, Record
from tests.support.each import of_each
from tests.support.records import DAY, EPOCH, event

IDS = (
    *(700, 701, 702, 703, 704, 717, 719, 721, 722, 732, 733, 735, 736, 737, 738, 745, 746, 747),
    *(102, 103, 104, 105, 205, 210, 213, 302, 326, 327, 398, 399, 447, 474, 481, 507, 509, 532),
    *(454, 540, 614, 623, 905),
)
PATHS = (
    "E:\\M\\a.edb",
    "e:\\m\\A.EDB",
    "\\\\?\\E:\\M\\b.edb",
    "C:\\Windows\\Temp\\x.edb",
    "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy3\\a.edb",
    "E:\\M\\" + "c" * 1100,
    "",
)
NAMES = {
    "computer": ("EX01", "ex01.corp.example", "EX01.other.example", "x" * 300),
    "channel": ("Application", "application", ""),
    "provider": ("ESE", "ESENT", "ESE BACKUP"),
    "process": ("store", "eseutil", " MSExchangeIS ", ""),
    "ese_instance": ("SG1", "sg1", ""),
    "engine_version": ("", "15.01.2507.012"),
}


def records(rng: random.Random) -> list[Record]:
    made: list[Record] = []
    time, number = 0.0, rng.randint(1, 100)
    known = {name: rng.sample(values, rng.randint(1, 2)) for name, values in NAMES.items()}
    paths = rng.sample(PATHS, 3)
    for _ in range(300):
        time += rng.choice((1.0, 600.0, 40_000.0, -90.0))
        number += rng.choice((1, 1, 3))
        names = {name: rng.choice(values) for name, values in known.items()}
        made.append(
            event(
                rng.choice(IDS),
                time,
                **names,
                record_id=number,
                level=rng.choice((None, "error")),
                database=rng.choice(paths),
                fields={"seconds": 100, "page_number": rng.randint(1, 3), "pages_seen": 9},
            )
        )
        if rng.random() < 0.05:
            made.append(rng.choice(made))
        if rng.random() < 0.02:
            of = EPOCH + time
            made.append(
                Coverage(
                    computer=names["computer"],
                    channel=names["channel"] or "System",
                    first=number - 5,
                    last=number,
                    first_time=of - 60.0,
                    last_time=of,
                )
            )
    return made


def folded(batches: list[list[Record]], settings: Settings) -> tuple[object, ...]:
    """The rows that a journal would have, and the records that made an error."""
    folder = Folder(State(), settings)
    folder.open_source("logs", EPOCH + 9 * DAY)
    for each in batches:
        folder.fold("logs", Batch(records=each))
    return rows_of(folder.state, folder.changed), folder.set_aside


@of_each(range(24))
def test_records_say_the_same_in_one_batch_and_each_in_its_own(seed: int) -> None:
    rng = random.Random(seed)
    rules = [DatabaseRule(match="*b.edb", tier="ignored")]
    settings = Settings(max_databases=rng.choice((1, 2, 200)), databases=rng.choice(([], rules)))
    made = records(rng)
    together, alone = folded([made], settings), folded([[each] for each in made], settings)
    assert together == alone
    assert any(isinstance(each, Event) for each in made)
