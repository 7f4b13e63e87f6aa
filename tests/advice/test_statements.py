"""A finding that ends is stated to be over for a day of running, and nothing else ends it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import Finding
from esewatch.advice.judgement import Judgement
from esewatch.advice.statements import restate, standing
from esewatch.config import DatabaseRule, Settings
from esewatch.fold.commands import acknowledge, forget
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.fold.state.stated import STATED_SECONDS, Stated
from esewatch.journal import Journal
from esewatch.model import Batch
from tests.support.records import DAY, EPOCH, HOUR, LABEL, event, folder_of

SETTINGS = Settings()
KEY = ("ex01", LABEL)


def judged(folder: Folder) -> tuple[Judgement, ...]:
    return advise(folder.state, SETTINGS, EPOCH + DAY)


def stated(folder: Folder, passed: float = 60.0) -> dict[str, int]:
    """What is stated now, with 1 and 0."""
    list(restate(folder.state, SETTINGS, judged(folder), passed))
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
    list(restate(folder.state, SETTINGS, [], 60.0))
    assert dict.fromkeys(folder.state.stated[KEY].standing, 1) == before

    folder.forget(*KEY)  # as when its time is over
    list(restate(folder.state, SETTINGS, [], 60.0))
    assert folder.state.stated == {}


def test_what_a_source_that_is_behind_keeps_from_judging_is_not_stated_to_be_over() -> None:
    folder = damaged()
    made = judged(folder)
    absent = Finding("scan_off", "why")
    list(restate(folder.state, SETTINGS, [replace(made[0], findings=(absent,))], 60.0))
    behind = replace(made[0], findings=(), stale="source logs is behind")
    list(restate(folder.state, SETTINGS, [behind], 60.0))
    assert folder.state.stated[KEY] == Stated(standing=["scan_off warning"])

    list(restate(folder.state, SETTINGS, [replace(behind, stale="")], 60.0))
    assert folder.state.stated[KEY] == Stated(over={"scan_off warning": STATED_SECONDS})


def test_what_never_stood_is_not_stated_to_be_over() -> None:
    assert State().stated == {}
    folder = folder_of([event(700, 0)])
    assert set(stated(folder).values()) <= {1}


def test_a_database_that_is_ignored_now_has_nothing_that_stands() -> None:
    folder = damaged()
    before = stated(folder)
    ignoring = Settings(databases=[DatabaseRule(match="*priv06.edb", tier="ignored")])
    list(restate(folder.state, ignoring, [], 60.0))

    assert folder.state.stated[KEY].standing == []
    assert folder.state.stated[KEY].over.keys() == before.keys()


def test_only_news_are_stored() -> None:
    folder = damaged()
    made = judged(folder)
    assert list(restate(folder.state, SETTINGS, made, 0.0)) == [("stated", *KEY)]
    assert list(restate(folder.state, SETTINGS, made, 60.0)) == []
    acknowledge(folder, *KEY, [])
    made = judged(folder)
    assert list(restate(folder.state, SETTINGS, made, 60.0)) == [("stated", *KEY)]
    assert list(restate(folder.state, SETTINGS, made, 60.0)) == [("stated", *KEY)]  # 23:59 h
    assert list(restate(folder.state, SETTINGS, made, 60.0)) == []


def test_it_stands_in_the_journal(tmp_path: Path) -> None:
    folder = damaged()
    folder.changed.update(restate(folder.state, SETTINGS, judged(folder), 0.0))
    journal = Journal(tmp_path / "j.db")
    journal.commit(folder.state, folder.changed, {})
    state, _ = journal.load()
    journal.close()

    assert state.stated == folder.state.stated
    assert state.stated[KEY].standing


@pytest.mark.parametrize("tier", ["watched", "observed"])
def test_only_watched_databases_have_findings_in_the_metrics(tier: str) -> None:
    found = [standing(each) for each in judged(damaged()) if each.tier == tier]
    assert [bool(each) for each in found] == ([True] if tier == "watched" else [])
