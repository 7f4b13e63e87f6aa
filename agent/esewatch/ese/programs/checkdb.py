"""Results of DBCC checks, as SQL Server writes them to its ERRORLOG and to the event log.

Texts 8957 and 5235 of `sys.messages`: `%lsDBCC %ls (%ls%ls%ls)%ls executed by %ls found %d errors
and repaired %d errors. Elapsed time: %d hours %d minutes %d seconds. %.*ls`, and `... terminated
abnormally due to error state %d. Elapsed time: ...`. The options and the command are never
translated. Of other languages the numbers are taken in the order of the English text.
"""

import re
from typing import NamedTuple

from esewatch.ese.strings import Fields, parse_int

COMPLETED, ABORTED = 8957, 5235
"""Event ids: a check ran to its end; a check was aborted."""

_LONGEST_SECONDS = 366 * 86400
_START = "DBCC CHECK"
_COMMAND = re.compile(
    r"DBCC (CHECK[A-Z]{1,30})\s*\(((?:[^()]|\([^()]{0,200}\)){1,400}|.{1,400}?)\)", re.DOTALL
)
_ENGLISH = re.compile(
    r"DBCC (CHECK[A-Z]{1,30})\s*\((.{1,400}?)\)(?:\s+WITH\s+([\w\s,=]{1,200}?))?"
    r"\s+executed\s+by\s.{0,300}?\s(?:found\s+(\d{1,10})\s+errors?\s+and\s+repaired\s+"
    r"(?:(\d{1,10})\s+)?errors?|terminated\s+abnormally\s+due\s+to\s+error\s+state\s+(\d{1,10}))"
    r"(?:.{0,20}?elapsed\s+time:\s*(\d{1,9})\s+hours?\s+(\d{1,9})\s+minutes?\s+(\d{1,9})\s+sec)?",
    re.IGNORECASE | re.DOTALL,
)
_OPTION = re.compile(r"\s*,\s*(noindex|repair_\w{1,30})\s*", re.IGNORECASE)
_SNAPSHOT = re.compile(r"LSN\s*=|\b[0-9a-f]{8}:[0-9a-f]{8}:[0-9a-f]{4}\b", re.IGNORECASE)
"""Start of its sequence numbers; their name is translated, their form is not."""
_NUMBER = re.compile(r"(?<![A-Za-z0-9_.,\\$-])\d{1,10}(?:[.,]\d+)*(?![A-Za-z0-9_\\$-])", re.ASCII)
_NAME = re.compile(r"CHECK[A-Z]+", re.IGNORECASE)


class CheckdbResult(NamedTuple):
    """One result. `fields`: `command`, `physical_only` (0 or 1), `estimate_only` (1 if so) and,
    where they are told, `errors` and `repaired`, or `state` of one that was aborted, and
    `seconds`."""

    event_id: int
    database: str
    fields: Fields


def check_in_text(text: str) -> CheckdbResult | None:
    """The first result in a message; None when there is none or it cannot be read."""
    start = text.find(_START)
    if start < 0:
        return None
    match = _ENGLISH.match(text, start)
    if match is None:
        return _in_another_language(text[start:], text[:start])
    fields = _with_options(match[1], match[3] or "")
    if match[6]:
        fields["state"] = int(match[6])
    else:
        fields["errors"], fields["repaired"] = int(match[4]), int(match[5] or 0)
    if match[7]:
        _add_seconds(fields, int(match[7]), int(match[8]), int(match[9]))
    return CheckdbResult(ABORTED if match[6] else COMPLETED, _database(match[2]), fields)


def _in_another_language(text: str, before: str) -> CheckdbResult | None:
    """Five numbers are errors, repaired, hours, minutes, seconds; four: state and the time."""
    match = _COMMAND.match(text)
    if match is None:
        return None
    end = _SNAPSHOT.search(text)
    rest = text[match.end() : end.start() if end else None]
    found = _NUMBER.findall(rest)[-5:]
    state = [*_NUMBER.findall(before), *found[:-3]][-1:]
    if not all(map(str.isdigit, found)):
        return None  # they are not written in groups or with a fraction: it is something else
    numbers = [int(number) for number in found]
    fields = _with_options(match[1], rest)
    if len(numbers) == 5:
        fields["errors"], fields["repaired"] = numbers[:2]
    elif len(numbers) in {3, 4} and state and state[0].isdigit():
        fields["state"] = int(state[0])
    else:
        return None
    _add_seconds(fields, *numbers[-3:])
    event_id = COMPLETED if "errors" in fields else ABORTED
    return CheckdbResult(event_id, _database(match[2]), fields)


def check_in_strings(strings: tuple[str, ...]) -> CheckdbResult | None:
    """The result in the insertion strings of 8957 or 5235: the pieces of the sentence."""
    at = next((i for i, string in enumerate(strings) if _NAME.fullmatch(string.strip())), None)
    if at is None or at + 1 == len(strings):
        return None
    rest = strings[at + 2 :]
    fields = _with_options(strings[at], " ".join(rest))
    numbers = _longest_run([parse_int(string) for string in rest])
    if len(numbers) >= 5:
        fields["errors"], fields["repaired"] = numbers[-5:-3]
    elif len(numbers) == 4:
        fields["state"] = numbers[0]
    if len(numbers) >= 4:
        _add_seconds(fields, *numbers[-3:])
    event_id = ABORTED if "state" in fields else COMPLETED
    return CheckdbResult(event_id, _database(strings[at + 1]), fields)


def _longest_run(numbers: list[int | None]) -> list[int]:
    """The most neighbours that are numbers of 32 bits."""
    best: list[int] = []
    run: list[int] = []
    for number in numbers:
        run = [*run, number] if number is not None and 0 <= number < 2**32 else []
        best = max(best, run, key=len)
    return best


def _database(text: str) -> str:
    return _OPTION.sub("", text).strip("'\"[] \t\r\n")


def _with_options(command: str, text: str) -> Fields:
    options = text.lower()
    fields: Fields = {
        "command": command.strip().upper(),
        "physical_only": int("physical_only" in options),
    }
    if "estimateonly" in options:
        fields["estimate_only"] = 1
    return fields


def _add_seconds(fields: Fields, hours: int, minutes: int, seconds: int) -> None:
    total = hours * 3600 + minutes * 60 + seconds
    if 0 <= total <= _LONGEST_SECONDS:
        fields["seconds"] = total
