"""Events from rendered text: the fallback where an input carries no insertion strings.

English texts are recognised by short key phrases and give the same fields as the strings would. Of
other languages only process, instance, the database and, for page and I/O errors, what numbers tell
by their shape is taken: languages order other numbers as they like. Of the text of 735 the
free-space values are never taken: the message table prints wrong ones.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from esewatch.ese.catalogue.event_row import EventRow
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.companions.companion_table import Envelope, companion_event
from esewatch.ese.dates import DateOrder
from esewatch.ese.events.from_strings import Around, event_of_strings, row_of
from esewatch.ese.events.joined import split_joined
from esewatch.ese.providers import is_ese_provider
from esewatch.ese.strings import Fields, lowered, parse_process
from esewatch.ese.text.hints import fields_of_values, places_of
from esewatch.ese.text.phrases import LONGEST_TEXT, find_phrase, folded, has_phrases, uncut
from esewatch.ese.text.readers import recalled, remember
from esewatch.ese.text.shapes import SHAPED, fields_of_shapes
from esewatch.ese.text.text_paths import named_database
from esewatch.model import Event, Level

__all__ = ["event_from_text", "find_phrase"]

_PID = r"\d{1,10}(?:,[A-Z-],\d{1,20}(?:,[\d.]{1,32})?)?"
_PREFIX = re.compile(rf"\s*(\S.{{0,199}}?)\s+\(({_PID}|PID)\)\s+(.*)", re.DOTALL)
# First words of the sentences of ESE: the text before them and a colon is the instance.
_OPENERS = re.compile(
    r"(?:online |database |the |an? |unable |error |there |shadow copy |starting |ending |no log"
    r"|deleting |log |terminating |flush map|new flush|failed |inconsistent |attempted |previous "
    r"|recovery |corruption |from information|db scan|root space|file system|io size|ese has"
    r"|replay |lack of|resources or|problems are|in a log|newly )"
)
_LONGEST_OPENER = 32
_COLON = re.compile(r":\s")
_LONGEST_INSTANCE = 300
_LONGEST_HEAD = 300
_FOREIGN_INSTANCE = re.compile(r"(?:(?![A-Za-z]:\\)[^\n\"'“”„«»‚‘‹›「『]){1,160}?(?=:\s)")
_LISTED = re.compile(
    rf"(?:^|\n)([^\n]{{1,200}})\n(?:\s{{0,9}}\n)?[ \t]{{0,9}}{_PID}\s{{0,9}}\n"
    r"(?:[^\n]{0,300}:)?\s{0,9}(?:\n|$)"
)
_INCLUDED = re.compile(r"information was included with the event:\s*(\S.*)", re.I | re.DOTALL)
_PART_OF = re.compile(r"following information is part of the event:\s*(.+)", re.I | re.DOTALL)
_NAMED = re.compile(
    r"description for event id\s*\(?\s*(\d{1,5})\s*\)?\s*(?:from|in)\s+source\s*"
    r"(?:\(\s*([^()\n]{1,64}?)\s*\)|(\S[^\n]{0,63}?))\s+(?:cannot|could not)",
    re.IGNORECASE,
)
_TRAILER = re.compile(
    r"\n\s*(?:the message resource is present|the handle is invalid|the specified |the locale"
    r"|the publisher )",
    re.IGNORECASE,
)
_EXCHANGE = re.compile(r"msexchange|information store|edgetransport|microsoft\.exchange|store\.w")


class _Process(NamedTuple):
    """`who (pid[,state,context[,version]])`, with which every text begins."""

    process: str
    state: str
    version: str


_NOBODY = _Process("", "", "")


class TextFrame(NamedTuple):
    """Common part of all texts of one event that one process logs."""

    provider: str
    computer: str
    channel: str
    level: Level | None
    process: _Process
    row: EventRow


class _Told(NamedTuple):
    """The text after the process: the event's id, and its parameters."""

    instance: str
    message: str
    event_id: int
    """The given id, or that of the words."""
    known: bool
    """The words are those of the event."""
    database: str
    fields: Fields


@lru_cache(maxsize=512)
def _process(head: str) -> _Process | None:
    """The process whose closing bracket is the one behind `head`; None if that closes another."""
    match = _PREFIX.match(f"{head}) ")
    return _named(match) if match and match.end(2) == len(head) else None


def _named(match: re.Match[str]) -> _Process | None:
    if match[2] == "PID":  # a report that took the number out
        return _Process(match[1].replace("\n", " "), "", "")
    process = parse_process(match[2])
    return process and _Process(match[1].replace("\n", " "), process.state, process.version)


def _opening(text: str) -> tuple[_Process, str]:
    """The process and the text after it; a text without a process is all message."""
    head, closed, rest = text.partition(") ")
    if closed and len(head) <= _LONGEST_HEAD and (process := _process(head)) is not None:
        return process, rest.lstrip()
    match = _PREFIX.match(text)
    return (_named(match) or _NOBODY, match[3]) if match else (_NOBODY, text)


def _instance(text: str) -> tuple[str, str]:
    """Instance and message: the message begins with one of ESE's words, or after a colon."""
    low = lowered(text[: _LONGEST_INSTANCE + _LONGEST_OPENER])
    if _OPENERS.match(low):
        return "", text
    for colon in _COLON.finditer(text, 0, _LONGEST_INSTANCE):
        if _OPENERS.match(low, colon.end()):
            return text[: colon.start()].replace("\n", " ").strip(), text[colon.end() :]
    match = _FOREIGN_INSTANCE.match(text)
    if match and match[0].count(" ") <= 3 and ". " not in match[0]:
        return match[0].strip(), text[match.end() + 1 :].lstrip()
    return "", text


def _listed(text: str, event_id: int | None) -> tuple[str, ...]:
    """Insertion strings in place of a description: one a line, or joined; any language."""
    if match := _PART_OF.search(text):
        listed = match[1].strip().removesuffix(".")
        return split_joined(listed, event_id) or tuple(part.strip() for part in listed.split(", "))
    match = _INCLUDED.search(text) or _LISTED.search(text)
    if match is None:
        return split_joined(text, event_id)
    rest = _TRAILER.split(text[match.start(1) :], maxsplit=1)[0]
    lines = [line.strip(" \t\r") for line in rest.split("\n")]
    if len(lines) > 2 and not lines[1] and parse_process(lines[2]):
        lines = lines[::2]
    while lines and not lines[-1]:
        lines.pop()
    return tuple(lines)


def _guessed_provider(process: str, instance: str) -> str:
    """The usual source of a process: Exchange logs as ESE, a directory as NTDS ISAM."""
    if _EXCHANGE.match(process.lower()):
        return "ESE"
    if process.upper() == "NTDS" and instance.upper() == "NTDSA":
        return "NTDS ISAM"
    return "ESENT"


def _recognised(event_id: int | None, process: _Process, message: str) -> int | None:
    """The id that the words show; None if they show none or contradict the given one."""
    if event_id is not None and event_id in CATALOGUE:
        return event_id if has_phrases(event_id, message) else None
    found = find_phrase(message)
    # Current engines log 732 with the words that 721 begins with; the state letter is theirs.
    if found == 721 and process.state and "summary" not in folded(message):
        found = 732
    return found if event_id is None else None


def _told(given: int | None, process: _Process, rest: str, order: DateOrder | None) -> _Told | None:
    """Read `rest`, after the process: like a text read before, else by words and hints."""
    if given is not None and process.process and (recall := recalled(given, rest, order)):
        instance, start, database, fields = recall
        return _Told(instance, rest[start:], given, True, database, fields)
    instance, message = _instance(rest) if process.process else ("", rest)
    found = _recognised(given, process, message)
    event_id = found if given is None else given
    if event_id is None:
        return None
    if event_id not in CATALOGUE:
        return _Told(instance, message, event_id, False, "", {})
    bare, whole = uncut(message)
    places = places_of(event_id, bare, whole)
    begun = lowered(message[:_LONGEST_OPENER])
    if found is not None and process and whole and _OPENERS.match(begun):
        remember(event_id, rest, instance, len(rest) - len(message), places)
    values = [(finder, bare[start:end]) for finder, start, end in places]
    return _Told(
        instance, message, event_id, found is not None, *fields_of_values(event_id, values, order)
    )


def _row(provider: str, told: _Told) -> EventRow | None:
    """The event of the id, None where the words are those of another one."""
    if not told.known and find_phrase(told.message) not in (None, told.event_id):
        return None
    return row_of(provider, told.event_id)


def _fields(told: _Told) -> tuple[str, Fields]:
    """Database and fields of an event: where English words fail, those that shapes give."""
    database, fields = told.database, told.fields
    if told.event_id in SHAPED and not (told.known and "file" in fields and "offset" in fields):
        shaped, fields = fields_of_shapes(told.event_id, uncut(told.message)[0], fields)
        database = database or shaped
    if not database:
        text, whole = uncut(told.message)
        database = named_database(told.event_id, text, whole=whole)
    return database, fields


def _from_list(
    text: str,
    listed: tuple[str, ...],
    envelope: Envelope,
    extra_providers: Sequence[str],
    date_order: DateOrder | None,
) -> Event | None:
    """The event of a description that could not be found; it may name its own id and source."""
    named = _NAMED.search(text)
    event_id = envelope.event_id
    if event_id is None and named:
        event_id = int(named[1])
    if event_id is None:
        return None
    provider = envelope.provider or ((named[2] or named[3]).strip() if named else "")
    around = (provider, event_id, *envelope[2:])
    return event_of_strings(around, listed, tuple(extra_providers), date_order)


def _joined(text: str) -> str:
    """The lines that are not empty, without white space around them."""
    lines = text.splitlines()
    if len(lines) == 1:
        return lines[0].strip()
    return "\n".join([bare for line in lines if (bare := line.strip())])


@lru_cache(maxsize=4096)
def text_frame(around: Around, head: str) -> TextFrame | None:
    """The frame of texts of an ESE provider that begin with `head`, `who (pid`, and `) `. None
    where their event depends on more than this. Of `around` time and record id are of each."""
    provider, event_id, _, computer, channel, _, level = around
    process, row = _process(head), row_of(provider, event_id)
    if process is None or row is None or not head.isprintable():
        return None
    return TextFrame(provider, computer, channel, level or row.level, process, row)


def event_in_frame(
    frame: TextFrame,
    rest: str,
    time: float | None,
    record_id: int | None,
    date_order: DateOrder | None,
) -> Event | None:
    """The same as `event_from_text` of a text of the frame, with `rest` behind its head. None where
    no text like it was read before."""
    provider, computer, channel, level, process, row = frame
    recall = recalled(row.event_id, rest, date_order)
    if recall is None:
        return None
    instance, start, database, fields = recall
    if not database or row.event_id in SHAPED:
        told = _Told(instance, rest[start:], row.event_id, True, database, fields)
        database, fields = _fields(told)
    return Event(
        row.event_id, provider, time, computer, channel, record_id, level, process.process,
        process.state, process.version, instance, database, row.task, row.stage, fields,
    )  # fmt: skip


def event_from_text(
    *,
    message: str,
    provider: str = "",
    event_id: int | None = None,
    time: float | None = None,
    computer: str = "",
    channel: str = "",
    record_id: int | None = None,
    level: Level | None = None,
    extra_providers: Sequence[str] = (),
    date_order: DateOrder | None = None,
) -> Event | None:
    """The event that this rendered text shows; None if it is not from ESE.

    Without `event_id` the key phrases tell it. Without `provider` prefix and phrases must agree
    with `event_id`; it is then the usual one of the process. Strings that stand for a missing
    description are decoded. Words that are not those of the event: `strings == (message,)`.
    """
    text = _joined(message[:LONGEST_TEXT])
    envelope = Envelope(provider, event_id, time, computer, channel, record_id, level)
    if provider and not is_ese_provider(provider, extra_providers):
        return companion_event(envelope, (), text)
    process, rest = _opening(text)
    if not process.process and (listed := _listed(message[:LONGEST_TEXT], event_id)):
        return _from_list(text, listed, envelope, extra_providers, date_order)
    told = _told(event_id, process, rest, date_order)
    if told is None or not (provider or (process.process and told.known)):
        return None
    row = _row(provider, told)
    database, fields = _fields(told) if row else ("", {})
    return Event(
        told.event_id, provider or _guessed_provider(process.process, told.instance), time,
        computer, channel, record_id, level or (row.level if row else None), process.process,
        process.state, process.version, told.instance, database, row.task if row else None,
        row.stage if row else None, fields, () if told.known and row else (message,),
    )  # fmt: skip
