"""The programs whose engine it may be, as their logs name them and their files.

Sources: ese-facts 1.1 (names in events), 2.1 (names in counters).
"""

from typing import Final, Literal, NamedTuple

ProgramName = Literal["exchange", "directory"]
Generation = Literal["2007", "current"]
"""Of an engine: that of Exchange 2007, or of Exchange 2013 and later."""

ENDINGS: Final = (".edb", ".dit")
"""Of the names of database files."""


class Program(NamedTuple):
    """Names in the logs of a program and its databases."""

    process: str
    """`%1` of its events."""
    counted_as: str
    """Its process in the names of counters."""
    counters: str = "MSExchange Database"
    """The object of its counters."""
    provider: str = "ESE"
    channel: str = "Application"


PROGRAMS: Final[dict[tuple[ProgramName, Generation], Program]] = {
    ("exchange", "2007"): Program("MSExchangeIS", "Information Store"),
    ("exchange", "current"): Program(
        "Microsoft.Exchange.Store.Worker", "Microsoft.Exchange.Store.Worker"
    ),
    ("directory", "2007"): Program("NTDS", "lsass", "Database", "NTDS ISAM", "Directory Service"),
}


def file_name(program: ProgramName, database: str) -> str:
    """Of the file of a database by the name of its folder."""
    return "ntds.dit" if program == "directory" else f"{database}.edb"
