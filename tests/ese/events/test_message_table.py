"""The whole message table of the engine: nothing that it logs as an error is lost."""

from collections import Counter

import pytest

from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.events.message_table import (
    CATEGORIES,
    HARMLESS,
    MESSAGES,
    USED,
    Message,
    is_unexplained,
    verdict,
)
from tests.ese.catalogue.test_event_table import ids
from tests.support.each import of_each

TABLE = ids(
    (0, 20), (100, 108), (200, 207), (210, 227), 240, (243, 245), 252, 256, 257, (300, 304),
    (325, 335), (398, 468), (470, 510), (512, 570), (600, 658), (700, 730), (732, 757),
    (800, 808), (900, 916), (1000, 1004), (2000, 2010), (3000, 3014), 3071, 3072, (4000, 4005),
    (5000, 5011),
)  # fmt: skip
"""Every id of the published message table."""


def test_every_id_of_the_engine_is_there_and_no_other() -> None:
    assert set(MESSAGES) == TABLE


def test_every_class_has_its_ids() -> None:
    found = Counter(map(verdict, MESSAGES))

    assert set(found) == {"used", "harmless", "unexplained", "no error"}
    assert all(number > 0 for number in found.values())
    assert found["used"] == len(USED) and found["harmless"] == len(HARMLESS)


@of_each(MESSAGES.values(), lambda message: message.event_id)
def test_every_error_is_used_harmless_for_a_reason_or_unexplained(message: Message) -> None:
    found = verdict(message.event_id)

    if found == "harmless":
        assert len(HARMLESS[message.event_id].split()) >= 3
    elif found == "no error":
        assert message.level in ("warning", "information")
    else:
        assert found in ("used", "unexplained")
    for provider in ("ESE", "NTDS ISAM"):
        lost = is_unexplained(message.event_id, "error", provider)
        assert lost == (found in ("unexplained", "no error"))


def test_nothing_is_used_and_harmless() -> None:
    assert not USED & HARMLESS.keys()
    assert all(event_id in CATALOGUE for event_id in USED)
    assert USED.isdisjoint(CATEGORIES)


def test_what_the_alerts_speak_of_is_used() -> None:
    assert {104, 413, 428, 429, 447, 454, 474, 481, 492, 532, 551, 623, 734} <= USED


@pytest.mark.parametrize("level", ["error", "critical"])
@pytest.mark.parametrize("event_id", [419, 553, 602, 739, 3071, 3040, 9999])
def test_an_error_that_nothing_uses_is_unexplained(event_id: int, level: str) -> None:
    assert is_unexplained(event_id, level, "ESE")


@pytest.mark.parametrize(
    ("event_id", "level", "provider"),
    [
        (474, "error", "ESE"), (452, "error", "ESENT"), (1003, "error", "ESE"),
        (419, "warning", "ESE"), (9999, "information", "ESE"), (9999, "verbose", "ESE"),
        (419, "error", "MSExchangeIS"), (907, "information", "ESE BACKUP"),
    ],
)  # fmt: skip
def test_what_is_used_harmless_no_error_or_of_another_is_not(
    event_id: int, level: str, provider: str
) -> None:
    assert not is_unexplained(event_id, level, provider)


@pytest.mark.parametrize(
    ("event_id", "lost"), [(419, True), (613, False), (474, False), (9999, False), (3071, True)]
)
def test_without_a_level_the_table_says_whether_it_is_an_error(event_id: int, lost: bool) -> None:
    assert is_unexplained(event_id, None, "ESE") is lost


def test_the_backup_interface_has_a_table_of_its_own() -> None:
    assert is_unexplained(905, "error", "ESE Backup") and not is_unexplained(905, "error", "ESE")
    assert not is_unexplained(419, None, "ESE BACKUP")


def test_a_provider_of_the_operator_counts() -> None:
    assert is_unexplained(419, "error", "MyEseApp", extra_providers=("MYESEAPP",))
    assert not is_unexplained(419, "error", "MyEseApp")


def test_the_caller_may_say_what_is_used() -> None:
    assert not is_unexplained(419, "error", "ESE", used={419})
    assert is_unexplained(474, "error", "ESE", used=())
