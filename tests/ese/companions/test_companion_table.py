"""Companion events of other providers: the closed list and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.ese.companions.companion_table import COMPANIONS
from esewatch.model import FieldValue
from tests.ese.companions.decoded import by_strings, by_text
from tests.support.decoding import event_from_strings, event_from_text

STORE = "First Storage Group\\Mailbox Store (SERVER)"


def test_1221_gives_the_white_space_of_a_store() -> None:
    text = (
        f'The database "{STORE}" has\n3.4 megabytes of free space after online defragmentation '
        "has terminated."
    )
    for event in (
        by_text("MSExchangeIS Mailbox Store", 1221, text),
        by_strings("msexchangeis public store", 1221, STORE, "3.4"),
        by_strings("MSExchangeIS", 1221, "3.4", STORE),
    ):
        assert event.fields == {"free_bytes": 3565158, "database_name": STORE}
        assert (event.ese_instance, event.database) == ("First Storage Group", "")


def test_1221_reads_a_grouped_number() -> None:
    text = 'The database "SG\\DB" has 1,234 megabytes of free space.'
    assert by_text("MSExchangeIS", 1221, text).fields["free_bytes"] == 1234 * 2**20


def test_9871_names_the_database_of_the_overlap() -> None:
    text = "There is an online maintenance overlap for database SG1\\DB1. Please revise it."
    assert by_text("MSExchangeIS", 9871, text).fields == {"database_name": "SG1\\DB1"}
    event = by_strings("MSExchangeIS Mailbox Store", 9871, "SG1\\DB1")
    assert event.fields == {"database_name": "SG1\\DB1"} and event.level == "warning"


@pytest.mark.parametrize(
    "provider",
    ["Microsoft-Windows-ActiveDirectory_DomainService", "ActiveDirectory_DomainService",
     "NTDS General", "NTDS Database"],
)  # fmt: skip
def test_1646_gives_free_and_allocated_space(provider: str) -> None:
    expected = {"free_bytes": 15 * 2**20, "size_bytes": 1050 * 2**20}
    assert by_strings(provider, 1646, "15", "1050").fields == expected
    text = (
        "Internal event: free hard disk space. \n \nFree hard disk space (megabytes): \n15 \n"
        "Total allocated hard disk space (megabytes): \n1,050"
    )
    assert by_text(provider, 1646, text).fields == expected


def test_3027_gives_the_limit_of_a_run() -> None:
    text = "Internal event: Online Defragment Start succeeded. \n \nDuration in seconds:3600 \n"
    assert by_text("NTDS General", 3027, text).fields == {"limit_seconds": 3600}
    assert by_strings("NTDS General", 3027, "3600").fields == {"limit_seconds": 3600}


CHECKED: dict[str, FieldValue] = {
    "command": "CHECKDB", "errors": 15, "repaired": 2, "physical_only": 0, "seconds": 3803,
}  # fmt: skip


def test_8957_gives_the_result_of_a_check() -> None:
    text = (
        "DBCC CHECKDB (mydb) executed by DOM\\user found 15 errors and repaired 2 errors. "
        "Elapsed time: 1 hours 3 minutes 23 seconds.  Internal database snapshot has split point."
    )
    event = by_text("MSSQL$PROD", 8957, text)
    assert (event.database, event.fields) == ("mydb", CHECKED)
    event = by_strings(
        "MSSQLSERVER", 8957, "", "CHECKDB", "mydb", "", "", "", "DOM\\user", "15", "2", "1", "3",
        "23", "",
    )  # fmt: skip
    assert (event.database, event.fields) == ("mydb", CHECKED)


def test_8957_tells_a_physical_check() -> None:
    text = (
        "DBCC CHECKDB (a b) WITH no_infomsgs, physical_only executed by u found 0 errors and "
        "repaired 0 errors. Elapsed time: 0 hours 0 minutes 7 seconds."
    )
    event = by_text("MSSQLSERVER", 8957, text)
    assert event.database == "a b"
    assert (event.fields["physical_only"], event.fields["seconds"]) == (1, 7)


@pytest.mark.parametrize(
    ("provider", "event_id"),
    [("MSSQLSERVER", 1221), ("MSExchangeIS", 8957), ("NTDS ISAM", 1646), ("Other", 3027),
     ("MSExchangeIS", 1220), ("NTDS General", 700)],
)  # fmt: skip
def test_nothing_else_is_a_companion(provider: str, event_id: int) -> None:
    event = event_from_strings(provider=provider, event_id=event_id, strings=("1",))
    assert event is None or not event.companion


def test_the_id_is_needed_to_tell_a_companion() -> None:
    assert event_from_text(provider="MSExchangeIS", message="megabytes of free space") is None


@given(
    st.sampled_from([*filter(None, COMPANIONS)]),
    st.lists(st.text(max_size=30), max_size=16),
    st.text(),
)
def test_no_input_breaks_a_companion(event_id: int, strings: list[str], text: str) -> None:
    for provider in ("MSExchangeIS", "MSExchangeRepl", "NTDS General", "MSSQLSERVER"):
        found = event_from_strings(provider=provider, event_id=event_id, strings=strings)
        assert found is None or found.companion
        found = event_from_text(provider=provider, event_id=event_id, message=text)
        assert found is None or found.companion
