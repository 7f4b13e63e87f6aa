"""Hand-written cases: records in few words, and the answer for one database."""

from itertools import count
from typing import Literal

from tests.oracle.history import (
    DAY,
    Acknowledged,
    Answer,
    Answers,
    History,
    Logged,
    Scanned,
)
from tests.oracle.reading import read

Who = tuple[str, str, str]
Record = Logged | Scanned | Acknowledged

OLD: Who = ("MSExchangeIS", "3392", "SG06: ")
NOW: Who = ("Microsoft.Exchange.Store.Worker", "5960,D,50,15.02.0986.005", "SG06: ")
NTDS: Who = ("NTDS", "640", "NTDSA: ")
CERTSRV: Who = ("certsrv", "912,D,50", "")
PRIV = "E:\\MDB06\\priv06.edb"
LABEL = "e:\\mdb06\\priv06.edb"
T0 = 1_183_248_000.0
"""2007-07-01 00:00 UTC."""

_numbers = count(1000)


def at(days: float) -> float:
    """So many days after the beginning."""
    return T0 + days * DAY


def event(
    days: float,
    event_id: int,
    *rest: str,
    who: Who = OLD,
    computer: str = "EX01",
    provider: str = "ESE",
    channel: str = "Application",
    number: int | None = None,
    level: Literal["critical", "error", "warning", "information"] = "information",
) -> Logged:
    """One record; numbers rise from call to call."""
    record_id = next(_numbers) if number is None else number
    strings = (*who, *rest)
    return Logged(at(days), computer, channel, provider, event_id, record_id, strings, level)


def old(days: float, event_id: int, *rest: str, computer: str = "EX01") -> Logged:
    """A record of Exchange 2007 that names the database."""
    return event(days, event_id, PRIV, *rest, computer=computer)


def now(days: float, event_id: int, *rest: str, computer: str = "EX01") -> Logged:
    """A record of Exchange 2013 and later that names the database."""
    return event(days, event_id, PRIV, *rest, who=NOW, computer=computer)


def checksummed(days: float, began: str, bad: int = 0, event_id: int = 721) -> Logged:
    """721 or 722."""
    return old(days, event_id, began, "208", "2", "1", "5850768", str(bad), "72682")


def passed(days: float, lasted: float, run: str = "40000, 0", computer: str = "EX01") -> Logged:
    """737 of 50,000 pages."""
    wall = str(int(lasted * DAY))
    return now(days, 737, "7/1/2007 1:00:00 AM", wall, "50000", run, computer=computer)


def followed(days: float, run: str = "40000, 0", computer: str = "EX01") -> Logged:
    """732 of 50,000 pages."""
    rest = ("7/1/2007 1:00:00 AM", "90000", "1", "50000", run)
    return now(days, 732, *rest, computer=computer)


def broken(days: float, page: int = 17, computer: str = "EX01", who: Who = OLD) -> Logged:
    """474."""
    rest = (PRIV, "4096 (0x1000)", "8192 (0x2000)", "-1018 (0xfffffc06)", "[1]", "[2]")
    return event(days, 474, *rest, f"{page} (0x{page:X})", who=who, computer=computer)


def answers(
    *records: Record,
    days: float = 0.0,
    whole: bool = False,
    silent: bool = False,
    **settings: object,
) -> Answers:
    """All answers, judged so many days after the beginning, or right after the last record.

    Of each log something is heard up to then, of another program, unless `silent` is said.
    """
    last = max(record.time for record in records)
    moment = at(days) if days else last + 60
    logged = [record for record in records if isinstance(record, Logged)]
    following = max([record.record_id or 0 for record in logged], default=0) + 1
    alive = [
        Logged(moment - 1, computer, channel, "EventLog", 6013, following, ())
        for computer, channel in sorted({(each.computer, each.channel) for each in logged})
        if not silent
    ]
    return read(History((*records, *alive), moment, settings, whole))


def answer(
    *records: Record,
    days: float = 0.0,
    whole: bool = False,
    silent: bool = False,
    **settings: object,
) -> Answer:
    """The answer for the database on the first machine."""
    return answers(*records, days=days, whole=whole, silent=silent, **settings)["ex01", LABEL]
