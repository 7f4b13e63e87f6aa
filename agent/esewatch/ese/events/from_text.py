"""Events from rendered text: the fallback where an input carries no insertion strings.

English texts are recognised by short key phrases and give the same fields as the strings would. Of
other languages only process, instance, the database and, for page and I/O errors, what numbers tell
by their shape is taken: languages order other numbers as they like. Of the text of 735 the
free-space values are never taken: the message table prints wrong ones.

Some tools join the strings into one text: `, ` (EvtxECmd, Format-List), `; ` (Server 2003, Zabbix's
agent), `', '` (Get-EventLog), `|` (LogParser). A value may contain what joins them; it is put
together again where only one way gives numbers for all parameters that are numbers.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from esewatch.ese.catalogue.event_row import EventRow, Kind, Param
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.companions.companion_table import companion_event
from esewatch.ese.dates import DateOrder
from esewatch.ese.events.from_strings import event_from_strings, row_of
from esewatch.ese.providers import is_ese_provider
from esewatch.ese.raw_event import RawEvent
from esewatch.ese.strings import Fields, lowered, parse_int, parse_process
from esewatch.ese.text import english
from esewatch.ese.text.readers import recalled, remember
from esewatch.ese.text.shapes import SHAPED, fields_of_shapes, named_database
from esewatch.model import Event, Level

_JOINED = re.compile(
    r"[\s{\[('\"]*(?:[^\s'\"(,;|][^'\"(;|\n]{0,198}?)(?P<between>['\"]?\s?[,;|]\s?['\"]?)"
    r"\d{1,10}(?:,[A-Z-],\d{1,20}(?:,[\d.]{1,32})?)?(?P=between)"
)
_EDGES = " \t\r\n{}'\""
_BRACKETS = {"[": "]", "(": ")"}
_NUMBERS = frozenset({Kind.INT, Kind.SIGNED, Kind.VERSION, Kind.ERROR, Kind.EXPECTED_PAGE})
_WORDS = frozenset({Kind.DATABASE, Kind.FILE, Kind.TEXT, Kind.DATE})
_HEAD = 3
_LONGEST = 16_384


def split_joined(text: str, event_id: int | None) -> tuple[str, ...]:
    """The strings in `text`; empty where it is no such text."""
    match = _JOINED.match(text) if len(text) <= _LONGEST else None
    if match is None:
        return ()
    between = match["between"]
    whole = text.strip().removesuffix(".").strip(_EDGES)
    if text.lstrip()[:1] in _BRACKETS and whole[-1:] == _BRACKETS[text.lstrip()[:1]]:
        whole = whole[1:-1].strip(_EDGES)
    parts = [part.strip() for part in whole.split(between)]
    row = CATALOGUE.get(event_id) if event_id is not None else None
    if row is None:
        return tuple(parts)
    head, rest = parts[:_HEAD], parts[_HEAD:]
    if len(head) == _HEAD and head[2] and not head[2].endswith(":"):
        head, rest = [*head[:2], ""], [head[2], *rest]
    ways = _ways(rest, row.params, between)
    return (*head, *ways[0]) if len(ways) == 1 else ()


def _ways(rest: list[str], params: tuple[Param, ...], between: str) -> list[list[str]]:
    for at, param in enumerate(params):
        if param.kind is Kind.STATS and between == ", " and at + 1 < len(rest):
            rest = [*rest[:at], between.join(rest[at : at + 2]), *rest[at + 2 :]]
    more = len(rest) - len(params)
    if more <= 0 or not params:
        return [rest] if _fits(rest, params) else []
    places = [at for at, param in enumerate(params) if param.kind in _WORDS]
    found = []
    for at in places:
        way = [*rest[:at], between.join(rest[at : at + more + 1]), *rest[at + more + 1 :]]
        if _fits(way, params):
            found.append(way)
    # Newer engines log more strings than the table has.
    return found or ([rest] if _fits(rest, params) else [])


def _fits(rest: list[str], params: tuple[Param, ...]) -> bool:
    return all(
        param.kind not in _NUMBERS or not value or parse_int(value) is not None
        for value, param in zip(rest, params, strict=False)
    )


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
        return event_id if english.has_phrases(event_id, message) else None
    found = english.find_phrase(message)
    # Current engines log 732 with the words that 721 begins with; the state letter is theirs.
    if found == 721 and process.state and "summary" not in english.folded(message):
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
    bare, whole = english.uncut(message)
    places = english.places_of(event_id, bare, whole)
    begun = lowered(message[:_LONGEST_OPENER])
    if found is not None and process and whole and _OPENERS.match(begun):
        remember(event_id, rest, instance, len(rest) - len(message), places)
    values = [(finder, bare[start:end]) for finder, start, end in places]
    database, fields = english.fields_of_values(event_id, values, order)
    return _Told(instance, message, event_id, found is not None, database, fields)


def _fields(told: _Told) -> tuple[str, Fields]:
    """Database and fields of an event: where English words fail, those that shapes give."""
    database, fields = told.database, told.fields
    if told.event_id in SHAPED and not (told.known and "file" in fields and "offset" in fields):
        shaped, fields = fields_of_shapes(told.event_id, english.uncut(told.message)[0], fields)
        database = database or shaped
    if not database:
        text, whole = english.uncut(told.message)
        database = named_database(told.event_id, text, whole=whole)
    return database, fields


def _listed_event(raw: RawEvent, text: str, listed: tuple[str, ...]) -> RawEvent | None:
    """The event of a description that could not be found; it may name its own id and source."""
    named = _NAMED.search(text)
    event_id = int(named[1]) if raw.event_id is None and named else raw.event_id
    if event_id is None:
        return None
    provider = raw.provider or ((named[2] or named[3]).strip() if named else "")
    return replace(raw, provider=provider, event_id=event_id, strings=listed)


def _joined(text: str) -> str:
    lines = text.splitlines()
    if len(lines) == 1:
        return lines[0].strip()
    return "\n".join([bare for line in lines if (bare := line.strip())])


@lru_cache(maxsize=4096)
def text_frame(about: tuple[str, int, str, str, Level | None], head: str) -> TextFrame | None:
    """The frame of texts that begin with `head`, `who (pid`, and `) `, of an ESE provider, id,
    computer, channel and level. None where their event depends on more than this."""
    provider, event_id, computer, channel, level = about
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
    raw: RawEvent, extra_providers: tuple[str, ...] = (), date_order: DateOrder | None = None
) -> Event | None:
    """The event that the rendered text of `raw` shows; None if it is not from ESE. Without an id
    the key phrases tell it. Without a provider prefix and phrases must agree with the id; it is
    then the usual one of the process. Strings that stand for a missing description are decoded.
    Words that are not those of the event: `strings == (message,)`."""
    text = _joined(raw.message[: english.LONGEST_TEXT])
    if raw.provider and not is_ese_provider(raw.provider, extra_providers):
        return companion_event(raw, (), text)
    process, rest = _opening(text)
    if not process.process and (
        listed := _listed(raw.message[: english.LONGEST_TEXT], raw.event_id)
    ):
        whole = _listed_event(raw, text, listed)
        return event_from_strings(whole, extra_providers, date_order) if whole else None
    told = _told(raw.event_id, process, rest, date_order)
    if told is None or not (raw.provider or (process.process and told.known)):
        return None
    row = row_of(raw.provider, told.event_id)
    if not told.known and english.find_phrase(told.message) not in (None, told.event_id):
        row = None  # the words are those of another event
    database, fields = _fields(told) if row else ("", {})
    return Event(
        told.event_id, raw.provider or _guessed_provider(process.process, told.instance), raw.time,
        raw.computer, raw.channel, raw.record_id, raw.level or (row.level if row else None),
        process.process, process.state, process.version, told.instance, database,
        row.task if row else None, row.stage if row else None, fields,
        () if told.known and row else (raw.message,),
    )  # fmt: skip
