"""Companions of Exchange's replication service, its Active Manager and its failure items."""

import pytest

from esewatch.model import Event, FieldValue
from tests.support.decoding import event_from_strings, event_from_text

REPLICATION = "MSExchangeRepl"
AVAILABILITY = "Microsoft-Exchange-HighAvailability"
OPERATION = "2021-04-12.09:53:49.1"


def by_strings(provider: str, event_id: int, *strings: str, computer: str = "EXC01") -> Event:
    """The companion in these strings."""
    event = event_from_strings(
        provider=provider, event_id=event_id, strings=strings, computer=computer
    )
    assert event is not None and event.companion and event.strings == strings
    return event


def by_text(provider: str, event_id: int, message: str, computer: str = "EXC01") -> Event:
    """The companion in this text."""
    event = event_from_text(
        provider=provider, event_id=event_id, message=message, computer=computer
    )
    assert event is not None and event.companion
    return event


HERE: dict[str, FieldValue] = {"database_name": "MB03", "server": "EXC01"}
LOST = r"File check failed : Logfile 'G:\MB03-Log\E0300000004.log' was not found"

MESSAGES: list[tuple[int, tuple[str, ...], str, dict[str, FieldValue]]] = [
    (
        2059, ("MB03\\EXC01", "E0300000004.log"),
        "The log file E0300000004.log for MB03\\EXC01 is missing on the production copy. "
        "Continuous replication for this database is blocked.",
        {**HERE, "log_file": "E0300000004.log", "state": "failed"},
    ),
    (
        2070, ("MB03\\EXC01", LOST),
        "The Microsoft Exchange Replication service encountered an error while inspecting the "
        f"logs and database for MB03\\EXC01 on startup. Error: {LOST}.",
        {**HERE, "reason": LOST, "state": "failed"},
    ),
    (
        2097, ("MB03", "database page read failed verification", "-1018"),
        "The Microsoft Exchange Replication Service encountered an unexpected Extensible Storage "
        "Engine (ESE) exception in database 'MB03'. The ESE exception is database page read "
        "failed verification (-1018).",
        {
            "database_name": "MB03", "reason": "database page read failed verification",
            "error": -1018, "state": "failed",
        },
    ),
    (
        2101, ("MB03\\EXC01", "no path"),
        "The Microsoft Exchange Replication Service encountered an error while attempting to "
        "start a replication instance for MB03\\EXC01. The error is not transient, and "
        "administrator intervention may be needed. The specific error returned is: no path.",
        {**HERE, "reason": "no path", "state": "failed"},
    ),
    (
        2106, ("MB03\\EXC01", "G:\\MB03\\MB03.edb"),
        "The database file wasn't found after log replay. The copy will be set to failed. "
        "Database: 'MB03\\EXC01'. File Path: 'G:\\MB03\\MB03.edb'.",
        {**HERE, "file": "G:\\MB03\\MB03.edb", "state": "failed"},
    ),
    (
        3145, ("MB03\\EXC01", "a log is missing"),
        "Incremental seeding on database MB03\\EXC01 encountered an error and a full reseed is "
        "required. Reason: a log is missing",
        {**HERE, "reason": "a log is missing", "state": "failed"},
    ),
    (
        3147, ("MB03\\EXC01", "diverged"),
        "Incremental seeding of database MB03\\EXC01 was not initiated due to an unsatisfied "
        "prerequisite. The copy must be reseeded. Error: diverged",
        {**HERE, "reason": "diverged", "state": "failed"},
    ),
    (
        4025, ("MB03", "busy"),
        "[Seed Manager] Seed request for database 'MB03' encountered an error while running "
        "prerequisite checks. The error that occurred was: busy",
        {"database_name": "MB03", "reason": "busy", "state": "seeding_failed"},
    ),
    (
        4026, ("MB03", "gone"),
        "[Seed Manager] Seed request for database 'MB03' encountered an error during seeding. "
        "The error that occurred was: gone",
        {"database_name": "MB03", "reason": "gone", "state": "seeding_failed"},
    ),
    (
        4027, ("MB03",), "Seed request for database 'MB03' has been cancelled.",
        {"database_name": "MB03", "state": "seeding_failed"},
    ),
    (
        4057, ("MB03", "odd"),
        "The Microsoft Exchange Replication Service encountered an unexpected exception in log "
        "replay for database 'MB03'. The exception is: odd",
        {"database_name": "MB03", "reason": "odd", "state": "failed"},
    ),
    (
        4083, ("MB03", "odd"),
        "[Seed Manager] Seed request for database 'MB03' encountered another error. The error "
        "that occurred was: odd",
        {"database_name": "MB03", "reason": "odd", "state": "seeding_failed"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("event_id", "strings", "text", "fields"), MESSAGES)
def test_strings_and_text_of_the_replication_service_say_the_same(
    event_id: int, strings: tuple[str, ...], text: str, fields: dict[str, FieldValue]
) -> None:
    assert by_text(REPLICATION, event_id, text).fields == fields
    of_strings = dict(by_strings(REPLICATION, event_id, *strings).fields)
    assert of_strings == fields


def test_the_server_of_a_copy_is_the_computer_of_the_event() -> None:
    for computer in ("EXC01.corp.example", "exc01"):
        event = by_strings(REPLICATION, 3147, "MB03\\EXC01", "x", computer=computer)
        assert event.fields["database_name"] == "MB03"
    for computer in ("", "OTHER"):
        event = by_strings(REPLICATION, 3147, "MB03\\EXC01", "x", computer=computer)
        assert event.fields == {"copy": "MB03\\EXC01", "reason": "x", "state": "failed"}


def test_a_server_may_be_cut_to_the_length_of_netbios() -> None:
    event = by_strings(
        REPLICATION, 3147, "MB03\\EXCHANGE-BERLIN", computer="EXCHANGE-BERLIN-01.corp.example"
    )
    assert event.fields["server"] == "EXCHANGE-BERLIN"


def test_2058_of_2007_names_a_storage_group() -> None:
    text = (
        "The Microsoft Exchange Replication Service was unable to perform an incremental re-seed "
        "of the passive node for EXCLUST01\\SG2. The specific error code returned is: x."
    )
    for event in (
        by_text(REPLICATION, 2058, text, "NODE1"),
        by_strings(REPLICATION, 2058, "EXCLUST01\\SG2", "x", computer="NODE1"),
    ):
        assert event.ese_instance == "SG2"
        assert event.fields == {
            "server": "EXCLUST01", "database_name": "SG2", "reason": "x", "state": "failed",
        }  # fmt: skip


def test_2093_of_2007_tells_a_failover_of_the_whole_server() -> None:
    event = by_strings(REPLICATION, 2093, "anything")
    assert event.fields == {"state": "failover"} and event.level == "warning"


def test_308_tells_a_failover_and_306_its_begin_by_the_same_operation() -> None:
    for event_id, state in ((306, "failover_started"), (307, "failover_failed"), (308, "failover")):
        event = by_strings(AVAILABILITY, event_id, OPERATION, "MB03", "EXC01.corp.example")
        assert event.fields == {"operation": OPERATION, "state": state}
        assert by_text(AVAILABILITY, event_id, "words").fields == {"state": state}


FAILED = (
    "At '8/24/2015 8:37:03 PM' the Exchange store database 'DAG2-DB2048' copy on this server "
    "encountered an error that caused the database to be dismounted. For more detail about the "
    'failure, consult the Event log on the server for other "ExchangeStoreDb" or '
    '"msexchangerepl" events. A successful failover restored service.'
)
SUSPENDED = (
    "At '2024/8/2 15:05:20' the Exchange store database 'common' copy on this server appears to "
    "be inconsistent with the active database copy or is corrupted. For more detail about the "
    'failure, consult the Event log on the server for other storage and "ExchangeStoreDb" '
    "events. The passive database copy has been suspended."
)


def test_126_tells_a_failover_away_from_this_server() -> None:
    expected = {"database_name": "DAG2-DB2048", "state": "failover"}
    assert by_text("ExchangeStoreDB", 126, FAILED).fields == expected
    assert by_strings("ExchangeStoreDb", 126, "8/24/2015", "DB").fields == {"state": "failover"}


def test_other_failures_are_told_by_their_last_sentence() -> None:
    event = by_text("ExchangeStoreDB", 777, SUSPENDED)
    assert event.fields == {"database_name": "common", "state": "suspended"}
    again = by_strings("ExchangeStoreDB", 777, *event.strings)
    assert again.fields == event.fields
    assert by_text("ExchangeStoreDB", 777, FAILED).fields["state"] == "failover"
    other = "At 'x' the Information Store Database 'y' copy has a corrupted search catalog."
    assert event_from_text(provider="ExchangeStoreDB", event_id=123, message=other) is None


@pytest.mark.parametrize(
    ("provider", "event_id"),
    [(REPLICATION, 308), (AVAILABILITY, 2070), (REPLICATION, 4114), ("MSExchangeReplX", 2070),
     (REPLICATION, 2104), ("ESE", 2070)],
)  # fmt: skip
def test_nothing_else_of_exchange_is_a_companion(provider: str, event_id: int) -> None:
    event = event_from_strings(provider=provider, event_id=event_id, strings=("MB03", "x"))
    assert event is None or not event.companion
