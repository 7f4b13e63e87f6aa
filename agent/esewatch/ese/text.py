"""Events from rendered text: the fallback where an input carries no insertion strings.

English texts are recognised by short key phrases and give the same fields as the
strings would. Of other languages only process, instance and, for page and I/O errors,
what numbers and quoted paths tell by their shape is taken. Of the text of 735 the
free-space values are never taken: the message table prints wrong ones.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from esewatch.ese.catalogue import CATALOGUE
from esewatch.ese.catalogue_companions import Envelope, companion_event
from esewatch.ese.dates import DateOrder
from esewatch.ese.events import event_from_strings, is_ese_provider
from esewatch.ese.strings import Fields, lowered, parse_process
from esewatch.ese.text_hints import fields_of_text
from esewatch.ese.text_phrases import LONGEST_TEXT, find_phrase, folded, has_phrases, uncut
from esewatch.ese.text_shapes import SHAPED, fields_of_shapes
from esewatch.model import Event, Level

__all__ = ["event_from_text", "find_phrase"]

_PID = r"\d{1,10}(?:,[A-Z-],\d{1,20}(?:,[\d.]{1,32})?)?"
_PREFIX = re.compile(rf"\s*(\S.{{0,199}}?)\s+\(({_PID})\)\s+(.*)", re.DOTALL)
# Words that begin the sentences of ESE: what stands before them and a colon is the instance.
_OPENERS = re.compile(
    r"(?:online |database |the |an? |unable |error |there |shadow copy |starting |ending |no log"
    r"|deleting |log |terminating |flush map|new flush|failed |inconsistent |attempted |previous "
    r"|recovery |corruption |from information|db scan|root space|file system|io size|ese has"
    r"|replay |lack of|resources or|problems are|in a log|newly )"
)
_LONGEST_OPENER = 32
_COLON = re.compile(r":\s")
_LONGEST_INSTANCE = 300
_FOREIGN_INSTANCE = re.compile(r"[^\n\"'“„«]{1,160}?(?=:\s)")
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


class _Prefix(NamedTuple):
    """`who (pid[,state,context[,version]]) instance: ` and the message behind it."""

    process: str
    state: str
    version: str
    instance: str
    message: str


def _prefix(match: re.Match[str]) -> _Prefix | None:
    who, numbers, rest = match.groups()
    process = parse_process(numbers)
    if process is None:
        return None
    instance, message = _instance(rest)
    return _Prefix(who.replace("\n", " "), process.state, process.version, instance, message)


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


def _listed(text: str) -> tuple[str, ...]:
    """Insertion strings of a description that could not be found: one a line, any language."""
    if match := _PART_OF.search(text):
        listed = match[1].strip().removesuffix(".")
        return tuple(part.strip() for part in listed.split(", "))
    match = _INCLUDED.search(text) or _LISTED.search(text)
    if match is None:
        return ()
    rest = _TRAILER.split(text[match.start(1) :], maxsplit=1)[0]
    lines = [line.strip(" \t\r") for line in rest.split("\n")]
    if len(lines) > 2 and not lines[1] and parse_process(lines[2]):
        lines = lines[::2]
    while lines and not lines[-1]:
        lines.pop()
    return tuple(lines)


def _guessed_provider(prefix: _Prefix) -> str:
    """The usual source of a process: Exchange logs as ESE, a directory as NTDS ISAM."""
    if _EXCHANGE.match(prefix.process.lower()):
        return "ESE"
    if prefix.process.upper() == "NTDS" and prefix.instance.upper() == "NTDSA":
        return "NTDS ISAM"
    return "ESENT"


def _recognised(event_id: int | None, prefix: _Prefix | None, message: str) -> int | None:
    """The id that the words tell; None if they tell none or contradict the given one."""
    if event_id is not None and event_id in CATALOGUE:
        return event_id if has_phrases(event_id, message) else None
    found = find_phrase(message)
    # Current engines log 732 with the words that 721 begins with; the state letter is theirs.
    if found == 721 and prefix is not None and prefix.state and "summary" not in folded(message):
        found = 732
    return found if event_id is None else None


def _decode(
    event_id: int, known: bool, message: str, order: DateOrder | None
) -> tuple[str, Fields]:
    """Database and fields of an event, from English words and, where these fail, from shapes."""
    if event_id not in CATALOGUE:
        return "", {}
    bare, whole = uncut(message)
    database, fields = fields_of_text(event_id, bare, whole, order)
    if event_id in SHAPED and not (known and "file" in fields and "offset" in fields):
        shaped, fields = fields_of_shapes(event_id, bare, fields)
        database = database or shaped
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
    return event_from_strings(
        provider=envelope.provider or ((named[2] or named[3]).strip() if named else ""),
        event_id=event_id,
        strings=listed,
        time=envelope.time,
        computer=envelope.computer,
        channel=envelope.channel,
        record_id=envelope.record_id,
        level=envelope.level,
        extra_providers=extra_providers,
        date_order=date_order,
    )


def _from_words(
    text: str, prefix: _Prefix | None, message: str, envelope: Envelope, order: DateOrder | None
) -> Event | None:
    """The event that words, or an id and shapes, tell."""
    body = prefix.message if prefix else text
    found = _recognised(envelope.event_id, prefix, body)
    if not envelope.provider:
        if prefix is None or found is None:
            return None
        envelope = envelope._replace(provider=_guessed_provider(prefix))
    event_id = found if envelope.event_id is None else envelope.event_id
    if event_id is None:
        return None
    row = CATALOGUE.get(event_id)
    database, fields = _decode(event_id, found is not None, body, order)
    return Event(
        event_id=event_id,
        provider=envelope.provider,
        time=envelope.time,
        computer=envelope.computer,
        channel=envelope.channel,
        record_id=envelope.record_id,
        level=envelope.level or (row.level if row else None),
        process=prefix.process if prefix else "",
        instance_state=prefix.state if prefix else "",
        engine_version=prefix.version if prefix else "",
        ese_instance=prefix.instance if prefix else "",
        database=database,
        task=row.task if row else None,
        stage=row.stage if row else None,
        fields=fields,
        strings=() if found is not None else (message,),
    )


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
    """The event that this rendered text shows; None if it is not ours.

    Without `event_id` the key phrases tell it. Without `provider` the text is taken
    only if the prefix `who (pid) ` and the key phrases are there and agree with
    `event_id`; the provider is then the usual one of that process (ESE, NTDS ISAM or
    ESENT). A description that could not be found lists the insertion strings: these
    are decoded as such. Text whose words are not recognised (another language, an
    unknown id) comes out with `strings == (message,)`; recognised text has no strings.
    """
    envelope = Envelope(provider, event_id, time, computer, channel, record_id, level)
    shown = message[:LONGEST_TEXT]
    text = "\n".join([line for raw in shown.splitlines() if (line := raw.strip())])
    if provider and not is_ese_provider(provider, extra_providers):
        return companion_event(envelope, (), text)
    opening = _PREFIX.match(text)
    if opening is None and (listed := _listed(shown)):
        return _from_list(text, listed, envelope, extra_providers, date_order)
    prefix = _prefix(opening) if opening else None
    return _from_words(text, prefix, message, envelope, date_order)
