"""What is derived anew for a snapshot: all that has news, and nothing else."""

import random

import pytest

from esewatch.advice.history.derived import AllDerived, derived
from esewatch.config import DatabaseRule, Settings
from esewatch.fold.folder import Folder
from esewatch.fold.passes import passes
from esewatch.fold.state.state import Database
from esewatch.model import Batch, Coverage, Event, Record
from tests.support.records import DAY, EPOCH, HOUR, LABEL, event, folder_of

SETTINGS = Settings()
OTHER = "e:\\MDB07\\priv07.edb"
SCAN = {"seconds": 208, "invocations": 2, "days": 1, "pages_seen": 5850768, "bad_checksums": 0}


def on_two_databases(time: float, event_id: int = 717) -> list[Event]:
    return [
        event(event_id, time),
        event(event_id, time, database=OTHER, ese_instance="SG07"),
    ]


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The databases whose events were walked through, in order."""
    found: list[str] = []

    def derive(database: Database, *given: object) -> object:
        found.append(database.database)
        return passes.derive(database, *given)  # type: ignore[arg-type]

    monkeypatch.setattr("esewatch.advice.history.derived.derive", derive)
    return found


def after(folder: Folder, before: AllDerived, *records: Record) -> AllDerived:
    """What is derived after these records, the same with `before` and without."""
    folder.fold("logs", Batch(records=list(records), caught_up=True))
    found = derived(folder.state, SETTINGS, before)
    assert found == derived(folder.state, SETTINGS)
    return found


def test_without_news_nothing_is_derived_anew(walked: list[str]) -> None:
    folder = folder_of(on_two_databases(0))
    before = derived(folder.state, SETTINGS)
    assert sorted(walked) == [LABEL, OTHER.lower()]
    walked.clear()
    assert derived(folder.state, SETTINGS, before) == before
    assert walked == []


def test_an_event_is_news_of_its_database_only(walked: list[str]) -> None:
    folder = folder_of(on_two_databases(0))
    before = derived(folder.state, SETTINGS)
    walked.clear()
    folder.fold("logs", Batch(records=[event(721, HOUR, fields=SCAN)]))
    found = derived(folder.state, SETTINGS, before)
    assert walked == [LABEL]
    assert found.databases["ex01", LABEL].views["checksum"].completed == 1


def test_a_stop_of_the_instance_is_news() -> None:
    folder = folder_of(on_two_databases(0))
    before = derived(folder.state, SETTINGS)
    found = after(folder, before, event(103, HOUR, database=""))
    assert [
        facts.views["checksum"].interrupted for _, facts in sorted(found.databases.items())
    ] == [1, 0]


def test_a_gap_in_the_log_is_news() -> None:
    folder = folder_of([event(717, 2 * DAY, 10), event(721, 9 * DAY, 20, fields=SCAN)])
    before = derived(folder.state, SETTINGS)
    assert before.databases["ex01", LABEL].verified == {"online_scan": EPOCH + 9 * DAY}
    parts = [(1, 12, 0.0, 2.1), (18, 30, 8.5, 10.0)]
    covered = [
        Coverage(
            computer="EX01.corp.example",
            channel="Application",
            first=first,
            last=last,
            first_time=EPOCH + begin * DAY,
            last_time=EPOCH + end * DAY,
        )
        for first, last, begin, end in parts
    ]
    found = after(folder, before, *covered)
    assert found.databases["ex01", LABEL].verified == {}


def test_a_bad_page_that_is_met_again_is_news() -> None:
    bad = {"page_number": 17, "error": -1018}
    folder = folder_of([event(474, 0, fields=bad)])
    before = derived(folder.state, SETTINGS)
    found = after(folder, before, event(474, DAY, fields=bad))
    (page,) = found.databases["ex01", LABEL].bad_pages
    assert page.last == EPOCH + DAY


def test_a_streaming_backup_is_news() -> None:
    folder = folder_of(on_two_databases(0))
    before = derived(folder.state, SETTINGS)
    steps = enumerate((210, 220, 221, 213), 1)
    found = after(folder, before, *[event(each, at * HOUR, at) for at, each in steps])
    assert found.databases["ex01", LABEL].verified == {"streaming_backup": EPOCH + 4 * HOUR}
    (of_instance,) = found.backups.values()
    assert of_instance.totals[LABEL]["full"].last_completion == EPOCH + 4 * HOUR


def test_other_settings_are_news_of_every_database() -> None:
    folder = folder_of(on_two_databases(0))
    before = derived(folder.state, SETTINGS)
    named = Settings(databases=[DatabaseRule(match="*priv06*", name="MDB06", tier="observed")])
    found = derived(folder.state, named, before)
    assert found == derived(folder.state, named)
    facts = found.databases["ex01", LABEL]
    assert (facts.member.name, facts.tier) == ("MDB06", "observed")


def test_of_one_database_the_same_is_derived_as_of_all() -> None:
    folder = folder_of(on_two_databases(0))
    alone = derived(folder.state, SETTINGS, only=[("ex01", LABEL)])
    whole = derived(folder.state, SETTINGS)
    assert alone.databases == {("ex01", LABEL): whole.databases["ex01", LABEL]}
    assert alone.copies == whole.copies


def test_of_one_database_nothing_is_asked_again_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = folder_of(on_two_databases(0))
    before = derived(folder.state, SETTINGS)
    monkeypatch.delattr("esewatch.advice.history.derived.member_of")
    found = derived(folder.state, SETTINGS, before, only=[("ex01", LABEL)])
    assert found.databases["ex01", LABEL] == before.databases["ex01", LABEL]


def test_a_number_that_no_row_can_hold_is_derived_every_time(walked: list[str]) -> None:
    folder = folder_of([event(717, 0)])
    folder.state.databases["ex01", LABEL].pages_seen["checksum"] = 10**400
    before = derived(folder.state, SETTINGS)
    walked.clear()
    assert derived(folder.state, SETTINGS, before) == before
    assert walked == [LABEL]


def test_a_long_scan_without_a_word_of_progress_is_unlogged() -> None:
    long = {"seconds": 13 * 3600, "run_pages": 99, "pages_seen": 100}
    folder = folder_of([event(736, 0), event(737, 13 * HOUR, fields=long)])
    before = derived(folder.state, SETTINGS)
    assert before.databases["ex01", LABEL].unlogged == "738 or 744"
    found = after(folder, before, event(744, 6 * HOUR))
    assert found.databases["ex01", LABEL].unlogged == ""


@pytest.mark.parametrize("seed", range(3))
def test_what_was_derived_before_makes_no_difference(seed: int) -> None:
    rng = random.Random(seed)
    folder = folder_of([])
    before = derived(folder.state, SETTINGS)
    ids = [210, 220, 221, 213, 700, 701, 704, 717, 719, 721, 736, 737, 738, 745, 103, 474, 476]
    ids += [905, 539, 540, 327]
    for step in range(60):
        computer, path = rng.choice(["EX01", "EX02"]), rng.choice([LABEL, OTHER])
        fields = {"page_number": rng.randrange(3), "seconds": 60, **SCAN}
        records = [
            event(
                rng.choice(ids),
                rng.randrange(60) * HOUR,
                step * 5 + number,
                computer=computer,
                database=path,
                fields=fields,
            )
            for number in range(rng.randrange(3))
        ]
        before = after(folder, before, *records)
    assert before == derived(folder.state, SETTINGS)
    assert len(before.databases) == 4
