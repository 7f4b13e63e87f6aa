"""Every alert that carries a finding stands every story, on both Prometheus."""

from pathlib import Path

import pytest

from esewatch.advice.alerts import FRESH, HELD
from tests.rules.matrix import PROGRAMS, Alike, alike, wrong
from tests.rules.stories import STORIES, rows


def test_each_finding_of_the_table_is_in_the_matrix_once() -> None:
    told = [(row.carried.level, row.finding, row.severity) for row in rows()]

    assert {row.alert for row in rows()} == {*HELD, *FRESH}
    assert len(told) == len(set(told))
    assert sum(len(each) for each in alike().values()) == len(told)


def test_each_story_has_a_name_of_its_own_and_words_of_each_voice() -> None:
    assert len({story.name for story in STORIES}) == len(STORIES)
    for story in STORIES:
        for phase in story.phases.split(" | "):
            _, says, fires = phase.split(" ")
            assert len(says) == len(story.voices), story.name
            assert fires == "." or ord(max(fires)) - 97 < len(story.voices), story.name


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("own", alike(), ids=lambda own: own.name)
def test_every_alert_stands_every_story(own: Alike, program: str, tmp_path: Path) -> None:
    assert wrong(own, program, tmp_path) == {}
