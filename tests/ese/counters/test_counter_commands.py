"""The commands that show hidden counters: exact, and for names that are known."""

import re

from esewatch.ese.counters.counter_commands import counter_commands, library_of
from esewatch.ese.counters.counter_feeds import (
    DATABASE_MAINTENANCE,
    ONLINE_DEFRAG,
    feed_of,
    present,
)
from esewatch.ese.counters.counter_names import english

GROUPS = (ONLINE_DEFRAG, DATABASE_MAINTENANCE)


def counters_of(command: str) -> list[tuple[str, str]]:
    """The (object, counter) pairs that a typeperf line asks for."""
    return re.findall(r'"\\([^("]+)\(\*\)\\([^"]+)"', command)


def test_the_key_is_that_of_the_library() -> None:
    exchange = counter_commands(GROUPS, "ESE")
    windows = counter_commands(GROUPS, "ESENT")
    assert exchange is not None
    assert windows is not None
    assert exchange.show == (
        r'reg add "HKLM\SYSTEM\CurrentControlSet\Services\ESE\Performance"'
        ' /v "Show Advanced Counters" /t REG_DWORD /d 1 /f'
    )
    assert r"\Services\ESENT\Performance" in windows.show
    assert exchange.begin_anew == ("logman stop esewatch", "logman start esewatch")


def test_what_the_proof_asks_for_is_what_makes_the_group_present() -> None:
    for group in GROUPS:
        for library in ("ESE", "ESENT"):
            found = counter_commands([group], library)
            assert found is not None
            for proof in found.proofs:
                asked = counters_of(proof.command)
                assert present(asked)[group], proof.command
                assert all(feed_of(name, "p/i", counter) for name, counter in asked)


def test_exchange_2007_has_another_name_for_the_scan_and_windows_has_not() -> None:
    exchange = counter_commands([DATABASE_MAINTENANCE], "ESE")
    windows = counter_commands([DATABASE_MAINTENANCE], "ESENT")
    assert exchange is not None
    assert windows is not None
    assert [proof.what for proof in exchange.proofs] == [
        "Database Maintenance",
        "Database Maintenance, Exchange 2007",
    ]
    (asked,) = counters_of(exchange.proofs[1].command)
    assert asked[1] != english(asked[1]) == "Database Maintenance Pages Read/sec"
    assert len(windows.proofs) == 1


def test_a_name_that_is_not_ours_never_becomes_part_of_a_command() -> None:
    assert counter_commands(['x" & del *'], "ESE") is None
    found = counter_commands(['x" & del *', ONLINE_DEFRAG], "ESE")
    assert found is not None
    assert len(found.proofs) == 1


def test_the_provider_of_the_events_tells_the_library() -> None:
    assert library_of("ESE") == "ESE"
    assert library_of("NTDS ISAM") == library_of("ESENT") == library_of("") == "ESENT"
