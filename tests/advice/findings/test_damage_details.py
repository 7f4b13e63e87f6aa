"""What is stated of databases: damage that no bad page shows (semantics.md 3 and 7).

These are the records' half of the cases that `tests/rules/moved_cases.yml` lists.
"""

from typing import Any

import pytest

from esewatch.config import DatabaseRule, Settings
from esewatch.model import Event
from tests.support.records import DAY, HOUR, LABEL, event
from tests.support.stated import ack, assert_stated, configured, restarted

MINUTE = 60.0
APP: dict[str, Any] = {"provider": "ESENT", "process": "app", "ese_instance": "app"}
OBSERVED = Settings(databases=[DatabaseRule(match="*priv06.edb", tier="observed")])
IGNORED = Settings(databases=[DatabaseRule(match="*priv06.edb", tier="ignored")])
KNOWN = event(700, 0)
GOOD = {"seconds": 60, "days": 1, "pages_seen": 5000, "bad_checksums": 0}
SCAN = [event(717, 45 * DAY), event(721, 45 * DAY + HOUR, fields=GOOD)]
FATAL, LINK = {"fatal": 1}, {"fatal": 0}
DAMAGE: dict[str, tuple[Event, str]] = {
    "logical": (event(448, HOUR), "logical_damage critical"),
    "link that is fatal": (event(447, HOUR, fields=FATAL), "logical_damage critical"),
    "link that is not": (event(447, HOUR, fields=LINK), "logical_damage warning"),
    "divergence": (event(541, HOUR), "copy_divergence critical"),
    "suspect": (event(540, HOUR), "copy_suspect warning"),
    "snapshot": (event(568, HOUR), "revert_snapshot warning"),
    "index": (event(613, HOUR), "index_out_of_date warning"),
}
"""Damage -> the event that logs it, and what is stated of a watched database: of its own kind, and
nothing else."""
each_damage = pytest.mark.parametrize("damage", DAMAGE)


@each_damage
def test_damage_is_told_at_once_until_it_is_acknowledged_through_a_restart(damage: str) -> None:
    logged, told = DAMAGE[damage]
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (HOUR, [logged], {LABEL: told}),
        (5 * HOUR, [restarted], {LABEL: told}),
        (46 * DAY, SCAN, {LABEL: told}),
        (47 * DAY, [ack()], {}),
    )


@each_damage
def test_damage_of_what_is_only_observed_is_a_ticket(damage: str) -> None:
    logged, told = DAMAGE[damage]
    ticket = told.replace("critical", "warning")
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (HOUR, [logged], {LABEL: ticket}),
        (5 * HOUR, [restarted], {LABEL: ticket}),
        (6 * HOUR, [configured(Settings())], {LABEL: told}),
        (7 * HOUR, [configured(OBSERVED)], {LABEL: ticket}),
        (DAY, [ack()], {}),
        settings=OBSERVED,
    )


@each_damage
def test_damage_of_what_the_configuration_ignores_is_not_told(damage: str) -> None:
    assert_stated((2 * HOUR, [KNOWN, DAMAGE[damage][0]], {}), settings=IGNORED)


@each_damage
def test_damage_makes_a_file_that_is_ignored_an_observed_one_but_for_an_index(damage: str) -> None:
    place = "C:\\Windows\\Temp\\a.edb"
    logged, told = DAMAGE[damage]
    there = event(logged.event_id, HOUR, fields=logged.fields, database=place, **APP)
    ticket = told.replace("critical", "warning")
    seen = {"c:\\windows\\temp\\a.edb": ticket}
    assert_stated((2 * HOUR, [there], {} if damage in ("index", "snapshot") else seen))


def test_a_link_that_is_fatal_calls_beside_those_that_are_not() -> None:
    links = [event(447, HOUR, fields=LINK), event(447, HOUR, fields=LINK)]
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (HOUR, links, {LABEL: "logical_damage warning"}),
        (2 * HOUR, [event(447, 2 * HOUR, fields=FATAL)], {LABEL: "logical_damage critical"}),
        (4 * HOUR, [ack()], {}),
    )


def test_all_damage_of_a_database_is_told_side_by_side() -> None:
    logged = [each for each, _ in DAMAGE.values()]
    told = {finding for _, finding in DAMAGE.values()} - {"logical_damage warning"}
    assert_stated((2 * HOUR, [KNOWN, *logged], {LABEL: ", ".join(told)}))


def test_an_index_that_was_rebuilt_is_over_and_one_that_is_out_of_date_later_is_not() -> None:
    assert_stated(
        (HOUR, [KNOWN, event(614, HOUR)], {LABEL: "index_out_of_date warning"}),
        (2 * DAY, [event(612, 2 * DAY)], {}),
        (3 * DAY, [event(643, 3 * DAY)], {LABEL: "index_out_of_date warning"}),
    )


def test_a_database_that_was_created_anew_has_neither_bad_pages_nor_damage() -> None:
    pages = [
        event(event_id, HOUR, fields={"page_number": event_id}) for event_id in (399, 474, 530)
    ]
    told = "corrected_page warning, known_bad_page critical, copy_divergence critical"
    assert_stated(
        (2 * HOUR, [KNOWN, *pages, event(541, HOUR)], {LABEL: told}),
        (DAY, [event(325, DAY)], {}),
    )


def test_a_bad_page_of_a_snapshot_is_suspected_in_its_origin_once_that_is_known() -> None:
    shadow = "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy7\\MDB06\\priv06.edb"
    found = event(474, HOUR, database=shadow, fields={"page_number": 17})
    assert_stated(
        (HOUR, [found], {shadow: "known_bad_page critical"}),
        (2 * HOUR, [event(700, 2 * HOUR)], {LABEL: "copy_suspect warning"}),
    )
