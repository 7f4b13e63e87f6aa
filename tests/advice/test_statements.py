"""A finding that ends is stated to be over for a day of running, and nothing else ends it."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import DAMAGE_FINDINGS, FINDINGS, Finding, FindingName
from esewatch.advice.findings.details import lone_instances, of_instances
from esewatch.advice.judgement import Judgement
from esewatch.advice.statements import restate, standing
from esewatch.config import DatabaseRule, Settings
from esewatch.fold.commands import acknowledge, forget
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import STATED_SECONDS, State, Stated
from esewatch.journal import Journal
from esewatch.model import Batch
from tests.support.records import DAY, EPOCH, HOUR, LABEL, event, folder_of

SETTINGS = Settings()
KEY = ("ex01", LABEL)


def judged(folder: Folder) -> tuple[Judgement, ...]:
    return advise(folder.state, SETTINGS, EPOCH + DAY)


def stated(folder: Folder, passed: float = 60.0) -> dict[str, int]:
    """What is stated now, with 1 and 0."""
    list(restate(folder.state, SETTINGS, judged(folder), {}, passed))
    known = folder.state.stated.get(KEY)
    if known is None:
        return {}
    return dict.fromkeys(known.standing, 1) | dict.fromkeys(known.over, 0)


def damaged() -> Folder:
    return folder_of([event(700, 0), event(474, HOUR, fields={"page_number": 17, "error": -1018})])


def test_what_ends_is_stated_to_be_over_for_a_day_of_running() -> None:
    folder = damaged()
    assert stated(folder)["investigate critical"] == 1

    acknowledge(folder, *KEY, [])
    assert stated(folder)["investigate critical"] == 0
    assert stated(folder, STATED_SECONDS - 1)["investigate critical"] == 0
    assert "investigate critical" not in stated(folder, 1)


def test_what_stands_again_is_no_longer_over() -> None:
    folder = damaged()
    stated(folder)
    acknowledge(folder, *KEY, [])
    stated(folder)
    folder.fold(
        "logs",
        Batch(records=[event(474, 2 * HOUR, fields={"page_number": 17, "error": -1018})]),
    )

    assert stated(folder)["investigate critical"] == 1


def test_what_is_forgotten_is_over_and_comes_back_with_its_next_record() -> None:
    folder = damaged()
    before = stated(folder)
    forget(folder, *KEY)

    assert ("stated", *KEY) in folder.changed
    assert stated(folder) == dict.fromkeys(before, 0)


def test_a_database_that_is_dropped_or_was_not_judged_says_nothing() -> None:
    folder = damaged()
    before = stated(folder)
    list(restate(folder.state, SETTINGS, [], {}, 60.0))
    assert dict.fromkeys(folder.state.stated[KEY].standing, 1) == before

    folder.forget(*KEY)  # as when its time is over
    list(restate(folder.state, SETTINGS, [], {}, 60.0))
    assert folder.state.stated == {}


def test_nothing_is_asked_of_the_databases_of_other_partitions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each partition states its own: the work is as much as the databases are, in however many."""
    asked: list[str] = []

    def counted(of: Judgement) -> Iterable[tuple[str, str]]:
        asked.append(of.computer)
        return standing(of)

    monkeypatch.setattr("esewatch.advice.statements.standing", counted)
    folder = damaged()
    mine = judged(folder)
    list(restate(folder.state, SETTINGS, [*mine, replace(mine[0], computer="ex02")], {}, 60.0))
    assert asked == ["ex01"]


def test_what_a_source_that_is_behind_keeps_from_judging_is_not_stated_to_be_over() -> None:
    folder = damaged()
    made = judged(folder)
    absent = Finding("scan_off", "why")
    first = replace(made[0], findings=(absent,), details=())
    list(restate(folder.state, SETTINGS, [first], {}, 60.0))
    behind = replace(made[0], findings=(), details=(), stale="source logs is behind")
    list(restate(folder.state, SETTINGS, [behind], {}, 60.0))
    assert folder.state.stated[KEY] == Stated(standing=["scan_off warning"])

    list(restate(folder.state, SETTINGS, [replace(behind, stale="")], {}, 60.0))
    assert folder.state.stated[KEY] == Stated(over={"scan_off warning": STATED_SECONDS})


def test_what_never_stood_is_not_stated_to_be_over() -> None:
    assert State().stated == {}
    folder = folder_of([event(700, 0)])
    assert set(stated(folder).values()) <= {1}


def test_a_database_that_is_ignored_now_has_nothing_that_stands() -> None:
    folder = damaged()
    before = stated(folder)
    ignoring = Settings(databases=[DatabaseRule(match="*priv06.edb", tier="ignored")])
    list(restate(folder.state, ignoring, [], {}, 60.0))

    assert folder.state.stated[KEY].standing == []
    assert folder.state.stated[KEY].over.keys() == before.keys()


def test_only_news_are_stored() -> None:
    folder = damaged()
    made = judged(folder)
    assert list(restate(folder.state, SETTINGS, made, {}, 0.0)) == [("stated", *KEY)]
    assert list(restate(folder.state, SETTINGS, made, {}, 60.0)) == []
    acknowledge(folder, *KEY, [])
    made = judged(folder)
    assert list(restate(folder.state, SETTINGS, made, {}, 60.0)) == [("stated", *KEY)]
    assert list(restate(folder.state, SETTINGS, made, {}, 60.0)) == [("stated", *KEY)]  # 23:59 h
    assert list(restate(folder.state, SETTINGS, made, {}, 60.0)) == []


def test_it_stands_in_the_journal(tmp_path: Path) -> None:
    folder = damaged()
    folder.changed.update(restate(folder.state, SETTINGS, judged(folder), {}, 0.0))
    journal = Journal(tmp_path / "j.db")
    journal.commit(folder.state, folder.changed, {})
    state, _ = journal.load()
    journal.close()

    assert state.stated == folder.state.stated
    assert state.stated[KEY].standing


def halted() -> Folder:
    return folder_of([event(700, 0), event(492, HOUR, database="", level="error")])


INSTANCE = ("ex01", "sg06")


def stated_instance(folder: Folder, passed: float = 60.0) -> dict[str, int]:
    """What is stated of the instance now, with 1 and 0."""
    instances = of_instances(folder.state, SETTINGS, EPOCH + DAY)
    folder.changed.clear()
    folder.changed.update(restate(folder.state, SETTINGS, judged(folder), instances, passed))
    known = folder.state.stated_instances.get(INSTANCE, Stated())
    return dict.fromkeys(known.standing, 1) | dict.fromkeys(known.over, 0)


HALTED = "log_sequence_halted critical"


def test_what_ends_of_an_instance_is_stated_to_be_over_for_a_day_of_running() -> None:
    folder = halted()
    assert stated_instance(folder) == {HALTED: 1}
    assert ("stated_instance", *INSTANCE) in folder.changed
    assert stated_instance(folder, 9 * STATED_SECONDS) == {HALTED: 1}
    assert ("stated_instance", *INSTANCE) not in folder.changed

    folder.fold("logs", Batch(records=[event(105, 2 * HOUR, database="")]))
    assert stated_instance(folder) == {HALTED: 0}
    assert ("stated_instance", *INSTANCE) in folder.changed
    assert stated_instance(folder, STATED_SECONDS - 1) == {HALTED: 0}
    assert stated_instance(folder, 1) == {}
    assert folder.state.stated_instances == {}

    folder.fold("logs", Batch(records=[event(492, 3 * HOUR, database="", level="error")]))
    assert stated_instance(folder) == {HALTED: 1}


def test_an_instance_without_details_is_judged_too() -> None:
    assert of_instances(folder_of([event(700, 0)]).state, SETTINGS, EPOCH) == {INSTANCE: ()}


def test_an_instance_that_was_not_judged_says_nothing() -> None:
    folder = halted()
    before = stated_instance(folder)
    # As while the first reading of its source is not done, and where its database has a defect.
    for instances in ({}, {INSTANCE: ()}):
        list(restate(folder.state, SETTINGS, [], instances, 60.0))
        assert dict.fromkeys(folder.state.stated_instances[INSTANCE].standing, 1) == before

    list(restate(folder.state, SETTINGS, judged(folder), {INSTANCE: ()}, 60.0))
    assert folder.state.stated_instances[INSTANCE].standing == []

    alone = folder_of([event(492, HOUR, database="", level="error")])
    assert stated_instance(alone) == before
    list(restate(alone.state, SETTINGS, [], {}, 60.0))
    assert dict.fromkeys(alone.state.stated_instances[INSTANCE].standing, 1) == before


def test_an_instance_that_is_gone_says_nothing() -> None:
    folder = halted()
    stated_instance(folder)
    folder.state.instances.clear()
    assert stated_instance(folder) == {}
    assert ("stated_instance", *INSTANCE) in folder.changed


def test_what_is_stated_of_an_instance_stands_in_the_journal(tmp_path: Path) -> None:
    folder = halted()
    stated_instance(folder)
    folder.fold("logs", Batch(records=[event(428, 2 * HOUR, database="", level="error")]))
    stated_instance(folder)
    folder.fold("logs", Batch(records=[event(326, 3 * HOUR)]))
    both = stated_instance(folder)
    assert both == {HALTED: 0, "log_disk_low warning": 1}

    journal = Journal(tmp_path / "j.db")
    journal.commit(folder.state, folder.changed, {})
    state, _ = journal.load()
    assert state.stated_instances == folder.state.stated_instances
    folder.state.stated_instances.clear()
    journal.commit(folder.state, {("stated_instance", *INSTANCE)}, {})
    state, _ = journal.load()
    journal.close()
    assert state.stated_instances == {}


def test_what_is_forgotten_takes_the_errors_of_its_instance_along() -> None:
    others = [event(700, 0, database=name) for name in ("e:\\b.edb", "e:\\c.edb")]
    folder = folder_of([event(700, 0), *others, event(492, HOUR, database="", level="error")])
    forget(folder, "ex01", "e:\\b.edb")
    assert stated_instance(folder) == {HALTED: 1}

    acknowledge(folder, *KEY, [])
    assert stated_instance(folder) == {HALTED: 0}
    forget(folder, *KEY)  # with what was acknowledged
    assert stated_instance(folder) == {HALTED: 0}

    low = event(428, 2 * HOUR, database="", level="error")
    folder.fold("logs", Batch(records=[low]))
    assert stated_instance(folder) == {HALTED: 0, "log_disk_low warning": 1}
    forget(folder, "ex01", "e:\\c.edb")
    assert ("instance", *INSTANCE) in folder.changed
    assert stated_instance(folder) == {HALTED: 0, "log_disk_low warning": 0}
    assert folder.state.instances[INSTANCE].errors.keys() == {"log_sequence", "log_disk_low"}


def test_with_the_last_database_all_that_its_instance_logged_is_over() -> None:
    other = "e:\\b.edb"
    folder = folder_of(
        [
            *(event(700, 0, database=name) for name in (LABEL, other)),
            event(214, HOUR, database="", fields={"error": -1018}),
            event(569, HOUR, database=""),
            event(481, HOUR, database="", fields={"file": "e:\\mdb06\\e06.log"}),
        ]
    )
    assert stated_instance(folder)["known_bad_page critical"] == 1
    forget(folder, *KEY)
    # Now it can only be of the other one.
    assert stated_instance(folder)["known_bad_page critical"] == 0
    assert "known_bad_page critical" in folder.state.stated["ex01", other].standing
    forget(folder, "ex01", other)
    assert set(stated_instance(folder).values()) == {0}
    assert lone_instances(folder.state, EPOCH + DAY) == []


@pytest.mark.parametrize("tier", ["watched", "observed"])
def test_only_watched_databases_have_findings_in_the_metrics(tier: str) -> None:
    found = [standing(each) for each in judged(damaged()) if each.tier == tier]
    assert [bool(each) for each in found] == ([True] if tier == "watched" else [])


@pytest.mark.parametrize(
    "finding",
    [each for each in FINDINGS if each not in DAMAGE_FINDINGS],
)
def test_of_what_is_only_observed_nothing_of_windows_scans_or_time_is_stated(
    finding: FindingName,
) -> None:
    (of,) = judged(folder_of([event(700, 0)]))
    found = replace(of, findings=(Finding(finding, "so it is"),))
    assert standing(found) == [(finding, "warning")]
    assert standing(replace(found, tier="observed")) == []
