"""What the fold remembers within a batch is what it would find for each record by itself."""

import random

from msgspec.structs import replace

from esewatch.config import DatabaseRule, Settings
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.journal.rows import rows_of
from esewatch.model import Batch, Coverage, Event, Feed, Kind, Reading, Record
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


FEEDS = (
    Feed(metric="ese_defrag_pages_read_total", name="SG1"),
    Feed(metric="ese_defrag_pages_read_total", name="sg1" + "x" * 300),
    Feed(metric="ese_volume_free_bytes", owner="computer", labels=("e:",)),
    Feed(metric="ese_volume_free_bytes", owner="computer", labels=("y" * 2000,)),
    Feed(metric="ese_disk_read_bytes_total", owner="device", name="0 E:"),
    None,
)


def samples(rng: random.Random) -> list[Record]:
    """Columns that share feeds and names, some of them too long, with gaps and bad values."""
    kinds: tuple[Kind, ...] = ("rate", "total", "level")
    columns: list[Reading] = []
    for _ in range(3):
        kind, feed = rng.choice(kinds), rng.choice(FEEDS)
        for computer in ("EX01", "ex01.corp.example", rng.choice(("EX02", "x" * 300))):
            object_name, counter = rng.choice(("o", "O", "z" * 300)), rng.choice("cd")
            first = Reading(0.0, computer, object_name, counter, rng.choice("ij"), 0.0, kind, feed)
            columns += [first, replace(first, instance="w" * 300)]
    return [
        replace(
            rng.choice(columns),
            time=EPOCH + number // 12 * 300.0 + rng.choice((0.0, 0.0, 9000.0, -700.0)),
            value=rng.choice((0.0, number, -1.0, float("nan"))),
        )
        for number in range(600)
    ]


def folded(
    batches: list[list[Record]], settings: Settings
) -> tuple[tuple[object, ...], list[object]]:
    """The rows that a journal would have, and the records that made an error."""
    folder = Folder(State(), settings)
    folder.open_source("logs", EPOCH + 9 * DAY)
    for each in batches:
        folder.fold("logs", Batch(records=each))
    return rows_of(folder.state, folder.changed), list(folder.set_aside)


@of_each(range(24))
def test_records_say_the_same_in_one_batch_and_each_in_its_own(seed: int) -> None:
    rng = random.Random(seed)
    rules = [DatabaseRule(match="*b.edb", tier="ignored")]
    settings = Settings(max_databases=rng.choice((1, 2, 200)), databases=rng.choice(([], rules)))
    made = records(rng)
    together, alone = folded([made], settings), folded([[each] for each in made], settings)
    assert together == alone
    assert any(isinstance(each, Event) for each in made)


@of_each(range(24))
def test_samples_say_the_same_in_one_batch_and_each_in_its_own(seed: int) -> None:
    rng = random.Random(seed)
    settings = Settings(max_databases=rng.choice((1, 2, 200)))
    made = samples(rng)
    together, alone = folded([made], settings), folded([[each] for each in made], settings)
    assert together == alone
    assert together[1] == []
    assert together[0][0], "rows that are stored"
