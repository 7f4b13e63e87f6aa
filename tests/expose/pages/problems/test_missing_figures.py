"""What single figures wait for: notes beside the problems."""

import msgspec
import pytest

from esewatch.config import CopyOf, DatabaseRule, Policy, Settings
from esewatch.expose.pages.overview import overview
from esewatch.expose.pages.problems.problem import Problem
from esewatch.fold.folder import Folder
from esewatch.model import VolumesSeen
from tests.expose.pages.problems.test_problems import (
    AGO,
    LOGS,
    NOW,
    RULE,
    WHOLE,
    disk_counter,
    folded,
    night,
    sampled,
)
from tests.support.records import HOUR, LABEL, backed_up, event


def notes(folder: Folder, settings: Settings) -> dict[str, Problem]:
    found = overview(folder.state, settings, NOW).problems
    assert not any(each.needs_person for each in found)
    return {each.problem: each for each in found}


def with_rule(**changes: object) -> Settings:
    return msgspec.structs.replace(WHOLE, databases=[msgspec.structs.replace(RULE, **changes)])


@pytest.mark.parametrize(
    ("change", "problem", "setting"),
    [
        ({"log_path": None}, "log_folder_unknown", "log_path: <its folder>"),
        ({"mailboxes": None}, "mailboxes_unknown", "mailboxes: <number>"),
        (
            {"copies": [CopyOf(computer="ex02", database="x")]},
            "copy_role_unknown",
            "role: <its role>",
        ),
    ],
)
def test_a_setting_that_a_figure_waits_for_is_named(
    change: dict[str, object], problem: str, setting: str
) -> None:
    settings = with_rule(**change)
    found = notes(folded([*night(), *sampled(), disk_counter()], settings), settings)
    assert list(found) == [problem]
    assert found[problem].database == LABEL
    assert found[problem].setting == f"{setting}   # in its rule, match: '{LABEL}'"


def test_a_role_that_is_configured_or_told_by_events_is_known() -> None:
    copies = [CopyOf(computer="ex02", database="x")]
    settings = with_rule(copies=copies, role="active")
    assert notes(folded([*night(), *sampled(), disk_counter()], settings), settings) == {}


@pytest.mark.parametrize("made", ["events", "log"])
def test_a_backup_that_was_seen_is_no_note(made: str) -> None:
    settings = msgspec.structs.replace(WHOLE, policy=Policy())
    backup = (
        [event(210, AGO - 2 * HOUR), event(213, AGO - HOUR)]
        if made == "events"
        else [backed_up(start=AGO - 2 * HOUR)]
    )
    found = notes(folded([*night(), *sampled(), disk_counter(), *backup], settings), settings)
    assert found == {}


def test_a_disk_without_counters_is_named_by_its_device() -> None:
    found = notes(folded([*night(), *sampled()]), WHOLE)
    assert list(found) == ["disk_counters_missing"]
    assert "its disk lun7" in found["disk_counters_missing"].sentence
    assert "http://ex01:9182/metrics" in found["disk_counters_missing"].setting

    volumes = VolumesSeen(time=NOW, computer="EX01", devices={"e:": "disk0"})
    settings = with_rule(device=None)
    told = notes(folded([*night(), *sampled(), volumes], settings), settings)
    assert "its disk disk0" in told["disk_counters_missing"].sentence


def test_the_database_of_another_application_has_no_mailboxes() -> None:
    settings = Settings(sources=[LOGS], databases=[DatabaseRule(match="*", device="d")])
    other = [msgspec.structs.replace(each, process="svchost", provider="ESENT") for each in night()]
    found = notes(folded([*other, *sampled()], settings), settings)
    assert "mailboxes_unknown" not in found
    assert "log_folder_unknown" not in found
