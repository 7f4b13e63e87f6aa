"""One event in one line of a log, with the lines that continue its message."""

import re

from esewatch.ese.events import ESE_PROVIDERS
from esewatch.sources.formats.fields import Found, integer, level_of
from esewatch.sources.formats.times import leading_time

_PREFIX = re.compile(r"\(\(? ?\d{1,10} ?(?:,[A-Z-],\d{1,10}[^)\n]{0,40})?\)[\s)']")
_PROCESS = re.compile(r"(?:Information Store(?: - [^\s(]+)?|'?[^\s(]+) *$")
_PRIORITY = re.compile(r"<\d{1,3}>(?:1 )?")
_LEVEL = re.compile(r"\[?([A-Za-z]{4,13})\]?[\s:,|]+(?!Store\b)")
_NUMBER = re.compile(
    r"[\s:,;(/#=|\-]*(?:\[\d+\]:?\s*)?[\s:,(/#=|\-]*(?:event\s?)?(?:id\s*[:=]?\s*)?\(?(\d{1,5})\)?(?![\w.(])[\s:,|\-]*",
    re.IGNORECASE,
)
_BRACKET = re.compile(r"\[\d+\]:?\s*|[\s:,|\-]+")
_NAMED_ID = re.compile(r"\b(?:event\s?id|eventcode)\s*[:=#]?\s*(\d{1,5})\b", re.IGNORECASE)
_UNDESCRIBED = re.compile(r"description for Event ID\W{0,3}\d+\W{0,3} (?:from|in) source", re.I)
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,253}")
_COMPANIONS = (
    r"MSExchangeIS(?: \w+ Store)?",
    r"(?:Microsoft-Windows-)?ActiveDirectory_DomainService",
    r"(?:NTDS|ADAM) [A-Z]\w+",
    r"MSSQLSERVER",
    r"MSSQL\$\w+",
)
_CATEGORIES = (
    "General",
    "Database Page Cache",
    "Logging/Recovery",
    "Space Management",
    "Table/Column/Index Definition",
    "Record Manipulation",
    "Performance",
    "Database Repair",
    "Database Conversion",
    "Online Defragmentation",
    "System Parameter Settings",
    "Database Corruption",
    "Database Zeroing",
    "Transaction Manager",
    "Resource Failure Simulation",
    "ShadowCopy",
    "Failure Items",
    "System Device",
    "None",
)
_CATEGORY = re.compile(rf"(?:(?:{'|'.join(map(re.escape, _CATEGORIES))})|\(\d+\))[\s:,|]+")


class LineReader:
    """Reads one-line events; knows which words are names of providers."""

    def __init__(self, providers: tuple[str, ...], *, companions: bool = False) -> None:
        known = sorted({*ESE_PROVIDERS, *filter(None, providers)}, key=len, reverse=True)
        names = [*map(re.escape, known), *(_COMPANIONS if companions else ())]
        self._provider = re.compile(
            rf"(?<![\w.\\/-])({'|'.join(names)})(?![\w\\.-])",
            re.IGNORECASE,
        )

    def read(self, text: str) -> tuple[Found, bool] | None:
        """What the line says, and whether it is certain to be an event; None if it is none.

        Certain is a line with a time and the process prefix that every ESE text has.
        """
        found = Found()
        if is_undescribed(text):
            return Found(message=text), False
        rest = self._opening(text, found)
        prefix = _PREFIX.search(rest)
        named = self._provider.search(rest, 0, prefix.start() if prefix else len(rest))
        if named is None:
            return self._unnamed(rest, prefix, found)
        found.provider = named[1]
        _take_host(rest[: named.start()], found)
        behind = rest[named.end() :]
        number = _NUMBER.match(rest, named.end(), prefix.start() if prefix else len(rest))
        if number is not None:
            found.event_id = integer(number[1])
            behind = rest[number.end() :]
        elif (spelt := _NAMED_ID.search(rest)) is not None:
            found.event_id = integer(spelt[1])
        else:
            behind = behind[bracket.end() :] if (bracket := _BRACKET.match(behind)) else behind
        if category := _CATEGORY.match(behind):
            behind = behind[category.end() :]
        found.message = behind.strip().strip('"')
        dated = found.time is not None
        if prefix is None and not (dated and found.event_id is not None):
            found.event_id = None
        return found, dated and prefix is not None

    @staticmethod
    def _opening(text: str, found: Found) -> str:
        """Take priority, level and time from the start of the line; what is left is returned."""
        rest = text.lstrip(" \t\"'[(")
        if priority := _PRIORITY.match(rest):
            rest = rest[priority.end() :]
        for _ in range(2):
            level = _LEVEL.match(rest)
            if level is not None and level_of(level[1]) and not found.level:
                found.level, rest = level[1], rest[level.end() :]
            time, behind = leading_time(rest)
            if time and found.time is None:
                found.time, rest = time, behind.lstrip(" \t])\"',;|-")
        return rest

    @staticmethod
    def _unnamed(
        rest: str, prefix: re.Match[str] | None, found: Found
    ) -> tuple[Found, bool] | None:
        """A line without a provider: the prefix and the words of the text decide."""
        if prefix is None:
            return None
        process = _PROCESS.search(rest, 0, prefix.start())
        start = process.start() if process else prefix.start()
        if spelt := _NAMED_ID.search(rest, 0, start):
            found.event_id = integer(spelt[1])
        _take_host(rest[:start], found)
        found.message = rest[start:].strip()
        return found, False


def is_undescribed(text: str) -> bool:
    """Does Windows say here that it has no message text, and list the strings?"""
    return _UNDESCRIBED.search(text) is not None


def _take_host(text: str, found: Found) -> None:
    """The computer, if between time and provider one word is left that is no level."""
    words = []
    for word in text.replace("\t", " ").split():
        bare = word.strip("[]():,|\"'")
        if level_of(bare) and not bare.isdigit():
            found.level = found.level or bare
        elif bare and bare != "-":
            words.append(bare)
    if not words or len(words) > 2 or found.time is None:
        return
    host = words[0]
    if _HOST.fullmatch(host) and not host.isdigit() and not host.lower().startswith("event"):
        found.computer = host
