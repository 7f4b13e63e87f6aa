"""Companions of Active Directory and of AD LDS (ADAM), which log alike.

Where the order of the strings is published, it is used. Else a field stands in the text only.
"""

import re
from itertools import pairwise

from esewatch.ese.companions.companion_row import (
    Companion,
    CompanionFound,
    CompanionText,
    bytes_of,
    nothing_more,
    put_name,
)
from esewatch.ese.strings import Fields, parse_int

DIRECTORY = "Active Directory"

_PROVIDERS = frozenset(
    {"activedirectory_domainservice", "microsoft-windows-activedirectory_domainservice"}
)
_ADAM = re.compile(r"adam\s*\[([^\]]{1,256})\]", re.IGNORECASE)
_NUMBER = r"\d{1,12}(?:[,.'’\u00a0\u202f\u2009 ]\d{3})*(?!\d)"
_MEGABYTES = re.compile(rf"\(\s*(?:megabytes|mb)\s*\)\s*:\s*({_NUMBER})", re.IGNORECASE)
_DURATION = re.compile(r"seconds\s*:\s*(\d{1,9})", re.IGNORECASE)
_SOURCE = re.compile(
    r"(?:name of source[^:\n]{0,40}|source dc[^:\n]{0,60}):\s*(\S{1,512})", re.IGNORECASE
)
_LIFETIME = re.compile(r"tombstone lifetime \(days\)\s*:\s*(\d{1,6})", re.IGNORECASE)
_DECIMAL = re.compile(r"\(decimal\)\s*:\s*(-?\d{1,10})", re.IGNORECASE)
_HEX = re.compile(r"\(hex\)\s*:\s*([0-9a-f]{1,8})\b", re.IGNORECASE)
_INTERNAL = re.compile(r"internal id\s*:?\s*([0-9a-f]{1,16})\b", re.IGNORECASE)
_SHORT = re.compile(r"error:?\s*(-?\d{1,10})\s*\(\s*([0-9a-f]{1,8})\s*\)", re.IGNORECASE)
_STRING_HEX = re.compile(r"[0-9a-f]{1,8}", re.IGNORECASE)
_STRING_DECIMAL = re.compile(r"-?\d{1,10}")
_FIRST_ERROR, _LAST_ERROR = -100, -9_999
"""Error codes of ESE are negative, from JET_errRfsFailure (-100) down to four digits."""


def is_directory(provider: str) -> bool:
    """True if the provider (in lower case) is a directory, and not its database engine."""
    return provider in _PROVIDERS or (
        provider.startswith(("ntds ", "adam ")) and not provider.endswith("isam")
    )


def adam_instance(provider: str) -> str:
    match = _ADAM.match(provider.strip())
    return match[1].strip() if match else ""


def _space(told: CompanionText) -> CompanionFound:
    """1646: free and allocated megabytes of the directory database."""
    numbers = list(told.strings) or _MEGABYTES.findall(told.text)
    fields: Fields = {}
    for name, number in zip(("free_bytes", "size_bytes"), numbers, strict=False):
        if (size := bytes_of(number)) is not None:
            fields[name] = size
    return CompanionFound(fields)


def _defrag_limit(told: CompanionText) -> CompanionFound:
    """3027: online defragmentation was started with a limit in seconds."""
    match = _DURATION.search(told.text)
    seconds = parse_int(told.strings[0] if told.strings else match[1] if match else "")
    return CompanionFound({"limit_seconds": seconds} if seconds is not None else {})


def _too_long(told: CompanionText) -> CompanionFound:
    """2042: time of the last replication, invocation id, name of the source, lifetime in days. The
    order: https://uitranslation.com/?term=a1399edf5b40"""
    fields: Fields = {}
    if len(told.strings) > 3:
        put_name(fields, "server", told.strings[2])
        number = parse_int(told.strings[3])
    else:
        fields = _source(told).fields
        number = int(days[1]) if (days := _LIFETIME.search(told.words)) else None
    if number is not None:
        fields["limit_days"] = number
    return CompanionFound(fields)


def _source(told: CompanionText) -> CompanionFound:
    """1988: the source, from the text."""
    fields: Fields = {}
    if match := _SOURCE.search(told.words):
        put_name(fields, "server", match[1])
    return CompanionFound(fields)


def _error(told: CompanionText) -> CompanionFound | None:
    """1168: an internal error, if its code is one of ESE."""
    code = _code_of_strings(told.strings)
    if code is None:
        code = _code_of_text(told.words)
    if code is None or not _LAST_ERROR <= code <= _FIRST_ERROR:
        return None
    fields: Fields = {"error": code}
    if match := _INTERNAL.search(told.words):
        fields["internal_id"] = match[1].lower()
    elif len(told.strings) > 2:
        put_name(fields, "internal_id", told.strings[2].lower())
    return CompanionFound(fields)


def _code_of_strings(strings: tuple[str, ...]) -> int | None:
    """The error in the strings: a decimal number with the same number in hex behind it."""
    for first, second in pairwise(strings):
        if _STRING_DECIMAL.fullmatch(first.strip()) and _STRING_HEX.fullmatch(second.strip()):
            return _checked(first.strip(), second.strip())
    return None


def _code_of_text(text: str) -> int | None:
    if match := _SHORT.search(text):
        return _checked(match[1], match[2])
    decimal, hexadecimal = _DECIMAL.search(text), _HEX.search(text)
    if decimal is None:
        return None
    return _checked(decimal[1], hexadecimal[1] if hexadecimal else "")


def _checked(decimal: str, hexadecimal: str) -> int:
    """The signed code; Windows 2000 wrote `1032 (fffffbf8)`, the minus in the hex form only."""
    number = int(decimal)
    if not hexadecimal:
        return number
    signed = int(hexadecimal, 16)
    signed = signed - 2**32 if signed >= 2**31 else signed
    return signed if abs(signed) == abs(number) else number


_LEARN = "https://learn.microsoft.com/"
_KB = _LEARN + "en-us/troubleshoot/windows-server/active-directory/"
_OLDER = _LEARN + "en-us/previous-versions/windows/it-pro/windows-server-2008-R2-and-2008/"

ROWS: tuple[Companion, ...] = (
    Companion(1646, DIRECTORY, "information", "free and allocated space of the database",
        _OLDER + "cc816811(v=ws.10)", _space),
    Companion(3027, DIRECTORY, "information", "the limit of one run of online defragmentation",
        "seen in a log", _defrag_limit),
    Companion(1168, DIRECTORY, "error", "an internal error, taken if its code is one of ESE",
        "https://support.microsoft.com/kb/4550446", _error, "database_error", by_words=True),
    Companion(1988, DIRECTORY, "error",
        "replication from a source with deleted objects was blocked",
        _KB + "active-directory-replication-event-id-1388-1988", _source, "replication_stopped"),
    Companion(2042, DIRECTORY, "error", "too long since the last replication from a source",
        _KB + "active-directory-replication-event-id-2042", _too_long, "replication_stopped"),
    Companion(2095, DIRECTORY, "error",
        "a partner knows a later state of this database than it has",
        _KB + "detect-and-recover-from-usn-rollback", nothing_more, "usn_rollback"),
    Companion(2103, DIRECTORY, "error", "the database was restored in a way that is not supported",
        "https://support.microsoft.com/kb/2023007", nothing_more, "usn_rollback"),
)  # fmt: skip
