"""Output of eseutil as it is printed, for tests: only the words that programs look for."""

from collections.abc import Iterable

BANNER = "Extensible Storage Engine Utilities for Test\nVersion 15.02\n\n"
SCALE = "          |----|----|----|----|----|----|----|----|----|----|\n          "


def ended(seconds: float = 12.345) -> str:
    """The line that closes a run without an error."""
    whole = int(seconds)
    return (
        f"\n\nOperation completed successfully in {whole}.{round(seconds % 1 * 1000)} seconds.\n\n"
    )


def terminated(
    code: int = -1206, name: str = "JET_errDatabaseCorrupted", seconds: float = 9.5
) -> str:
    """The line that closes a run with an error."""
    return (
        f"\n\nOperation terminated with error {code} ({name}, words) after "
        f"{int(seconds)}.{round(seconds % 1 * 1000)} seconds.\n\n"
    )


def check_begin(database: str = "e:\\MDB06\\priv06.edb") -> str:
    """A checksum run up to its progress."""
    return (
        f"{BANNER}Initiating CHECKSUM mode...\n        Database: {database}\n"
        f"  Temp. Database: TEMPCHKSUM4711.EDB\n\n\nFile: {database[:64]}\n\n"
        f"                     Checksum Status (% complete)\n\n{SCALE}"
    )


def summary(
    pages: int = 1026, bad: int = 0, correctable: int = 0, wrong: int = 0, uninitialized: int = 7
) -> str:
    """What is counted at the end."""
    return (
        f".....\n\n\n{pages} pages seen\n{bad} bad checksums\n{correctable} correctable checksums\n"
        f"{uninitialized} uninitialized pages\n{wrong} wrong page numbers\n"
        "0xcbae highest dbtime (pgno 0x148)\n\n2177 reads performed\n136 MB read\n"
    )


def check(
    database: str = "e:\\MDB06\\priv06.edb",
    *,
    bad: Iterable[int] = (),
    correctable: Iterable[int] = (),
    wrong: int = 0,
    seconds: float = 12.345,
    named: bool = True,
) -> str:
    """A whole run of /k."""
    pages = [f"ERROR: page {page} checksum failed\n" for page in bad]
    pages += [
        f"WARNING: page {page} checksum verification failed but the corruption ( bit 3 ) "
        "can be corrected\n"
        for page in correctable
    ]
    closing = terminated(seconds=seconds) if bad or wrong else ended(seconds)
    return (
        check_begin(database)
        + "".join(pages if named else [])
        + summary(bad=len(list(bad)), correctable=len(list(correctable)), wrong=wrong)
        + closing
    )


def header(
    database: str = "e:\\MDB06\\priv06.edb",
    *,
    bad: str = "none",
    corrected: str = "none",
    failed: str = "none",
    closing: str = "",
) -> str:
    """A whole run of /mh."""
    return (
        f"{BANNER}Initiating FILE DUMP mode...\n         Database: {database}\n\n"
        "DATABASE HEADER:\nChecksum Information:\nExpected Checksum: 0x9c3d7e6c\n\nFields:\n"
        "        File Type: Database\n     DB Signature: Create time:01/18/2018 11:40:08.886 "
        "Rand:443294687 Computer:\n         cbDbPage: 32768\n            State: Dirty Shutdown\n"
        "     Log Required: 163916-164017 (0x2804c-0x280b1)\n"
        f"       ECC Fix Success Count: {corrected}\n   Old ECC Fix Success Count: found (77)\n"
        f"         ECC Fix Error Count: {failed}\n     Old ECC Fix Error Count: none\n"
        f"    Bad Checksum Error Count: {bad}\nLast Bad Checksum Error Date: 01/18/2018 11:40:08\n"
        f"Old bad Checksum Error Count: found (99)\n" + (closing or ended(0.047))
    )
