"""Identifiers and access lists of Windows as text, by examples of its documentation."""

import pytest

from esewatch.cli.run.windows.prepare import (
    folder_descriptor,
    service_sid,
    with_entry,
    without_entries,
)

APPLICATION = (
    "O:BAG:SYD:(A;;0xf0007;;;SY)(A;;0x7;;;BA)(A;;0x7;;;SO)(A;;0x3;;;IU)(A;;0x1;;;S-1-5-32-573)"
)
OURS = "S-1-5-80-1-2-3-4-5"


def test_the_account_of_a_service_is_known_from_its_name_in_any_case() -> None:
    # Published by Microsoft: the identifier of NT SERVICE\TrustedInstaller.
    known = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"

    assert service_sid("TrustedInstaller") == service_sid("trustedinstaller") == known


def test_an_entry_is_added_once_and_taken_away_whole() -> None:
    once = with_entry(APPLICATION, OURS, "0x1")

    assert once == f"{APPLICATION}(A;;0x1;;;{OURS})"
    assert with_entry(once, OURS, "0x1") == once
    assert without_entries(once, OURS) == APPLICATION
    assert without_entries(APPLICATION, OURS) == APPLICATION


def test_what_is_said_of_audit_and_of_others_stays() -> None:
    descriptor = "O:SYG:SYD:PAI(A;CI;KA;;;BA)(A;CI;KR;;;S-1-5-80-11-2-3-4-5)S:AI(AU;SA;KA;;;WD)"

    changed = with_entry(descriptor, OURS, "KR")

    assert changed == descriptor.replace("S:AI", f"(A;;KR;;;{OURS})S:AI")
    assert without_entries(changed, OURS) == descriptor


@pytest.mark.parametrize("descriptor", ["", "O:BAG:SY", "access denied"])
def test_what_has_no_access_list_is_refused(descriptor: str) -> None:
    with pytest.raises(ValueError, match="no access list"):
        with_entry(descriptor, OURS, "0x1")


def test_a_folder_is_of_administrators_and_the_service_writes_only_where_it_must() -> None:
    reads, writes = (folder_descriptor(OURS, writes=writes) for writes in (False, True))

    assert reads.startswith("O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)")
    assert reads.endswith(f"(A;OICI;0x1200a9;;;{OURS})")
    assert writes.endswith(f"(A;OICI;0x1301bf;;;{OURS})")
