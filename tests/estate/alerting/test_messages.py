"""How many messages people get of what fires, by the example of Alertmanager."""

from tests.estate.alerting.messages import Message, messages
from tests.estate.month import START, at
from tests.oracle.history import DAY, HOUR
from tests.rules.quality.backfill import Fired
from tests.rules.quality.firing import Firing

ONE, OTHER = "e:\\priv01.edb", "e:\\priv02.edb"


def fires(alert: str, severity: str, begin: float, hours: float, **labels: str) -> Fired:
    of = {"job": "esewatch", "computer": "ex01", "severity": severity, **labels}
    return Fired(alert, severity, of, Firing(begin, begin + hours * HOUR))


def sent(*all_fired: Fired) -> list[tuple[float, str, bool]]:
    """Hours since the begin of the month, receivers, whether it is news."""
    found: list[Message] = sorted(messages(all_fired))
    return [(round((each.time - START) / HOUR, 1), each.receiver, each.news) for each in found]


def test_a_page_comes_at_once_is_repeated_every_four_hours_and_tells_its_end() -> None:
    page = fires("EseKnownBadPage", "critical", at(0, 1), 9, database=ONE)

    assert sent(page) == [
        (1.0, "page", True),
        (5.0, "page", False),
        (9.0, "page", False),
        (10.1, "page", True),
    ]


def test_damage_is_a_message_a_database_and_the_rest_one_a_computer() -> None:
    both = (ONE, OTHER)
    pages = [fires("EseKnownBadPage", "critical", at(0, 1), 1, database=each) for each in both]
    backups = [fires("EseBackupMissing", "warning", at(0, 1), 1, database=each) for each in both]

    assert [each[1] for each in sent(*pages)] == ["page"] * 4
    assert [each[1] for each in sent(*backups)] == ["ticket"] * 2


def test_the_ticket_of_a_page_is_inhibited() -> None:
    both = [
        fires("EseDiskFull", severity, at(0, 1), 1, ese_instance="SG01")
        for severity in ("critical", "warning")
    ]

    assert [each[1] for each in sent(*both)] == ["page"] * 2


def test_notes_come_on_monday_morning() -> None:
    # The month begins on a Saturday.
    note = fires("EseDefragRatioDrift", "info", at(0), 5 * DAY / HOUR, database=ONE)

    assert sent(note) == [(2 * 24 + 7.0, "digest", True)]


def test_the_watchdog_is_no_message_to_a_person() -> None:
    assert sent(fires("Watchdog", "none", at(0), 24)) == []
