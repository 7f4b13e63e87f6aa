"""Companions of Active Directory and of AD LDS."""

import pytest

from esewatch.model import FieldValue
from tests.ese.companions.decoded import by_strings, by_text
from tests.support.decoding import event_from_strings, event_from_text

DOMAIN = "Microsoft-Windows-ActiveDirectory_DomainService"
LDS = "ADAM [LDS] General"


INTERNAL = (
    "Internal error: An Active Directory Lightweight Directory Services error has occurred.\n\n"
    "Additional Data\nError value (decimal):\n-1601\nError value (hex):\nfffff9bf\n"
    "Internal ID:\n20801a4"
)


def test_1168_gives_an_error_of_ese_and_the_instance_of_lds() -> None:
    expected: dict[str, FieldValue] = {
        "error": -1601, "internal_id": "20801a4", "state": "database_error",
        "adam_instance": "LDS",
    }  # fmt: skip
    event = by_text(LDS, 1168, INTERNAL)
    assert event.fields == expected and event.level == "error"
    assert by_strings(LDS, 1168, "-1601", "fffff9bf", "20801a4").fields == expected
    assert by_strings(LDS, 1168, *event.strings).fields == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Error -1811(fffff8ed) has occurred (Internal ID 404ab). Please contact", -1811),
        ("Error -1069(fffffbd3) has occurred (Internal ID d0006fc).", -1069),
        ("Error: 1032 (fffffbf8) has occurred. (internal ID 4042b). Please contact", -1032),
    ],
)
def test_1168_of_older_servers_gives_its_error(text: str, error: int) -> None:
    event = by_text("NTDS General", 1168, text)
    assert (event.fields["error"], event.fields["state"]) == (error, "database_error")


@pytest.mark.parametrize(
    "text",
    ["Error 8352(20a0) has occurred (Internal ID 30d0192).",
     "Error -1073741823(c0000001) has occurred (Internal ID 1).", "something else", ""],
)  # fmt: skip
def test_1168_with_another_error_is_none(text: str) -> None:
    assert event_from_text(provider="NTDS General", event_id=1168, message=text) is None


def test_1168_with_another_error_in_its_strings_is_none() -> None:
    for strings in (("8352", "20a0", "30d0192"), (), ("x",)):
        event = event_from_strings(provider="NTDS General", event_id=1168, strings=strings)
        assert event is None


SOURCE = "4a8717eb-8e58-456c-995a-c92e4add7e8e._msdcs.contoso.com"
TOO_LONG = (
    "It has been too long since this machine last replicated with the named source machine. The "
    "time between replications with this source has exceeded the tombstone lifetime. Replication "
    "has been stopped with this source.\nTime of last successful replication:\n"
    "2005-01-21 07:16:03\nInvocation ID of {0}:\n0397f6c8-f6b8-0397-0100-000000000000\n"
    "Name of {0}:\n" + SOURCE + "\nTombstone lifetime (days):\n60\nThe replication operation failed"
)


@pytest.mark.parametrize("provider", [DOMAIN, "NTDS Replication", "ActiveDirectory_DomainService"])
def test_2042_names_the_source_and_the_limit(provider: str) -> None:
    expected = {"server": SOURCE, "limit_days": 60, "state": "replication_stopped"}
    for words in ("source", "source directory server"):
        assert by_text(provider, 2042, TOO_LONG.format(words)).fields == expected
    strings = ("2005-01-21 07:16:03", "0397f6c8", SOURCE, "60")
    assert by_strings(provider, 2042, *strings).fields == expected


def test_1988_names_the_source_in_its_text() -> None:
    text = (
        "Active Directory Domain Services Replication encountered the existence of objects in the "
        "following partition. This replication attempt has been blocked.\nSource DC "
        f"(Transport-specific network address):\n{SOURCE} \nObject:\nCN=x\nObject GUID:\ny"
    )
    expected = {"server": SOURCE, "state": "replication_stopped"}
    assert by_text(DOMAIN, 1988, text).fields == expected
    assert by_strings("NTDS Replication", 1988, "CN=x", "y").fields == {
        "state": "replication_stopped"
    }


@pytest.mark.parametrize("event_id", [2095, 2103])
@pytest.mark.parametrize("provider", [DOMAIN, "NTDS Replication", "NTDS General"])
def test_2095_and_2103_tell_a_rollback(provider: str, event_id: int) -> None:
    event = by_strings(provider, event_id)
    assert event.fields == {"state": "usn_rollback"} and event.level == "error"


def test_an_instance_of_lds_tells_what_a_domain_controller_tells() -> None:
    event = by_strings("ADAM [CRM East] Replication", 2095, "a")
    assert event.fields == {"state": "usn_rollback", "adam_instance": "CRM East"}
    event = by_strings("ADAM [x] General", 1646, "15", "1050")
    assert event.fields["free_bytes"] == 15 * 2**20


def test_the_database_engine_of_an_instance_is_no_companion() -> None:
    event = event_from_strings(provider="ADAM [x] ISAM", event_id=2095, strings=())
    assert event is None or not event.companion
