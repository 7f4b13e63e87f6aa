"""Events in one line of a log: behind a heading, by named fields, in the columns of an agent."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from esewatch.ese.companions.companion_table import PROVIDER_PATTERNS
from esewatch.ese.providers import PATTERNS, is_ese_provider
from esewatch.ese.raw_event import RawEvent
from esewatch.model import Level
from esewatch.sources.logs.formats.blocks import join_date
from esewatch.sources.logs.formats.fields import (
    FIELD_OF,
    gather,
    integer,
    labelled,
    level_of,
    plain,
    words_of,
)
from esewatch.sources.logs.formats.prefilter import PREFIX
from esewatch.sources.logs.formats.times import leading_time

_WORDS = "|".join(
    re.escape(word)
    for word in sorted(
        words_of(
            "provider", "event_id", "time", "clock", "computer", "channel", "record_id", "type",
            "level", "message", "other",
        ),
        key=len,
        reverse=True,
    )
)  # fmt: skip
_NAMED = re.compile(
    rf"(?<![\w.])(?:(?P<label>{_WORDS})[ \u00a0]?:(?=\s)|(?P<key>[A-Za-z][\w.]{{1,40}})=(?!=))\s*"
)
_ID_WORDS = tuple(
    dict.fromkeys(
        (
            *(word.lower() for word in words_of("event_id") if len(word) > 2), "id: ", "event: ",
            "event_id=", "eventcode=", "eventidentifier=", "externalid=", "devtime=",
        )
    )
)  # fmt: skip
"""One of these is in every line of named fields."""
_HEAD = 4096
_FEWEST_PAIRS, _FEWEST_LABELS = 3, 5
_BEGINS = frozenset(map(plain, words_of("type")))
_LONGEST = 1 << 16
_LINE_PROTOCOL = re.compile(r"\A\w+,.*[\"i] (\d{19})\s*\Z", re.DOTALL)
"""A line of InfluxDB's protocol (Telegraf), with its time in nanoseconds."""
_INTEGER = re.compile(r"\A(\d+)i\Z")
_ABSENT = frozenset({"", "-", "n/a", "none", "null"})
_QUOTED = re.compile(r'"((?:[^"\\]|\\.|"")*)"', re.DOTALL)
_ESCAPED = re.compile(r'\\([\\"/])')
_DRIVES = re.compile(r"[A-Za-z]:\\\\\w|\\\"")
_DOUBLED = re.compile(r'""(?=[A-Za-z]:\\|\\\\)')
_LAYOUTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    # The CloudWatch agent, `event_format: text`.
    (
        "] [",
        re.compile(
            r"\s*(?P<time>\d\S+) \[(?P<channel>[^\[\]]+)\] \[(?P<level>\w*)\] \[(?P<event_id>\d+)\]"
            r" \[(?P<provider>[^\]]+(?:\] ISAM)?)\] \[(?P<computer>[^\[\]\s]+)\]"
            r" \[(?P<message>.*)\]\s*\Z",
            re.DOTALL,
        ),
    ),
    # OSSEC and Wazuh, `archives.log` and alerts.
    (
        "WinEvtLog: ",
        re.compile(
            r"(?:[^\n]{0,300}(?P<year>\d{4}) (?P<day>[A-Z][a-z]{2} \d\d) (?P<clock>[\d:]{8}) )?"
            r"[^\n]{0,300}?"
            r"WinEvtLog: (?P<channel>[^:\n]+): (?P<level>\w+)\((?P<event_id>\d+)\):"
            r" (?P<provider>[^:\n]+): [^:\n]*: [^:\n]*: (?P<computer>[^:\s]+): (?P<message>.*)",
            re.DOTALL,
        ),
    ),
    # Snare, with or without a header before it.
    (
        "MSWinEventLog\t",
        re.compile(
            r"[^\n]{0,300}?MSWinEventLog\t\d+\t(?P<channel>[^\t]*)\t\d+\t(?P<time>[^\t]*)\t"
            r"(?P<event_id>\d+)\t(?P<provider>[^\t]*)\t[^\t]*\t[^\t]*\t(?P<level>[^\t]*)\t"
            r"(?P<computer>[^\t]*)\t[^\t]*\t[^\t]*\t(?P<message>[^\t]*)",
            re.DOTALL,
        ),
    ),
    # PsLogList -s.
    (
        ",",
        re.compile(
            r"(?P<record_id>\d+),(?P<channel>[^,\n]+),(?P<provider>[^,\n]+),(?P<level>[A-Z]+),"
            r"(?P<computer>[^,\n]+),(?P<time>[^,\n]+),(?P<event_id>\d+),[^,\n]*,(?P<message>.*)",
            re.DOTALL,
        ),
    ),
)
"""A piece of each layout, and the layout with the names of its fields."""


def undone(text: str) -> str:
    r"""The text without the escaping of a container: `\"` and `\\`, or `""`."""
    if ("\\\\" in text or '\\"' in text) and _DRIVES.search(text):
        return _ESCAPED.sub(r"\1", text)
    return text.replace('""', '"') if '""' in text and _DOUBLED.search(text) else text


def records_in(text: str, providers: tuple[str, ...] = ()) -> list[RawEvent]:
    """The events of ESE, or of `providers`, in one line with named fields; none if it is another
    line. What stands before the first of them is not read."""
    if len(text) > _LONGEST:
        return []
    if "MSWinEventLog#011" in text:  # rsyslog escapes tabs by default
        text = text.replace("#011", "\t")
    for piece, layout in _LAYOUTS:
        if piece in text and (match := layout.match(text)) is not None:
            found = _of_layout(match)
            return [found] if is_ese_provider(found.provider, providers) else []
    if text.count("=") < _FEWEST_PAIRS and text.count(": ") < _FEWEST_LABELS:
        return []
    low = text[:_HEAD].lower()
    if not any(word in low for word in _ID_WORDS):
        return []
    read = [
        found
        for found in map(_found, _records(text))
        if found.event_id is not None and is_ese_provider(found.provider, providers)
    ]
    # A message without a name of its own is read with the header of its line.
    has_text = any(found.message for found in read)
    return read if has_text or not PREFIX.search(text.encode("utf-8", "replace")) else []


def named_fields(text: str) -> RawEvent:
    """The fields of pairs: of the structured data of RFC 5424, of CEF and LEEF."""
    return _found(next(_records(text)))


def _of_layout(match: re.Match[str]) -> RawEvent:
    values = match.groupdict()
    if values.get("year"):
        values["time"] = f"{values['day']} {values['year']} {values['clock']}"
    return RawEvent(
        provider=values["provider"].strip(),
        event_id=integer(values["event_id"]),
        time=values.get("time"),
        computer=values["computer"].strip(),
        channel=values["channel"].strip(),
        record_id=integer(values.get("record_id")),
        level=level_of(values["level"]),
        message=undone(values["message"].strip().strip('"')),
    )


def _found(values: dict[str, object]) -> RawEvent:
    if "event" in values and (number := integer(values.pop("event"))) is not None:
        values.setdefault("eventid", number)
    join_date(values)
    found = gather(values)
    found.message = undone(found.message)
    return found


def _records(text: str) -> Iterator[dict[str, object]]:
    """Names and values of each record; the label of a type begins another one."""
    values: dict[str, object] = {}
    at = 0
    while (match := _NAMED.search(text, at)) is not None:
        name = labelled(match["label"] or match["key"])
        if name in _BEGINS and name in values:
            yield values
            values = {}
        value, at = _value(text, match, is_message=FIELD_OF.get(name) == "message")
        if value.lower() not in _ABSENT:
            values.setdefault(name, value)
    if (stamp := _LINE_PROTOCOL.search(text)) is not None:
        values = {name: _INTEGER.sub(r"\1", str(value)) for name, value in values.items()}
        values.setdefault("timestamp", stamp[1])
    yield values


def _value(text: str, match: re.Match[str], *, is_message: bool) -> tuple[str, int]:
    at = match.end()
    if match["key"] and (quoted := _QUOTED.match(text, at)) is not None:
        return quoted[1].replace('\\"', '"').replace("\\\\", "\\").replace('""', '"'), quoted.end()
    if match["key"] and match.start() and text[match.start() - 1] == "\t":
        end = text.find("\t", at)
    elif is_message:
        end = _next_record(text, at)
    else:
        following = _NAMED.search(text, at)
        end = following.start() if following else -1
    end = len(text) if end < 0 else end
    return text[at:end].strip(" \t\r\n,;|"), end


def _next_record(text: str, at: int) -> int:
    """Start of the record behind a message; -1 if there is none."""
    while (match := _NAMED.search(text, at)) is not None:
        if match["label"] and plain(match["label"]) in _BEGINS:
            return match.start()
        at = match.end()
    return -1


_PREFIX = re.compile(r"\(\(? ?(?:PID|\d{1,10}) ?(?:,[A-Z-],\d{1,10}[^)\n]{0,40})?\)[\s)']")
_PROCESS = re.compile(
    r"(?:Information Store(?: - [^\s(]+)?|[A-Za-z]:\\[^:|<>\"\t]*|'?[^\s(\[=|>\"]+) *$"
)
_PRIORITY = re.compile(r"<\d{1,3}>(?:1 )?")
_SYSLOG = re.compile(
    r"(?:\d{1,6} )?<\d{1,3}>1 (?P<time>\S+) (?P<host>\S+) (?P<program>\S+) \S+ (?P<kind>\S+)"
    r" (?P<data>-|(?:\[(?:[^\]\\]|\\.)*\])+)(?:\s+\ufeff?|$)"
)
"""The header of RFC 5424: the number behind the program is a process, never an event."""
_CARRIER = re.compile(r"(?<!\w)(?:CEF|LEEF):\d")
"""Their fields have the names of the record's own host and time."""
_FORWARDED = re.compile(
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,]+(?:Z|[+-]\d\d:?\d\d))"
    r"\s+(\S+)\s"
    # Kiwi puts facility and level before the host.
    r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\t[A-Za-z]\w*\.[A-Za-z]+\t(\S+)\t"
)
"""A time as forwarders write it, and the host behind it, whatever comes before the provider."""
_JUNK = re.compile(r"[^()]*[\]|=>\"\t]\s*")
"""Words of a shipper between a heading and a text; no name of a process has these characters."""
_LEVEL = re.compile(r"\[?([A-Za-z]{4,13})\]?[\s:,|]+(?!Store\b)")
_NUMBER = re.compile(
    r"[\s:,;(/#=|\-]*(?:\[\d+\]:?\s*)?[\s:,(/#=|\-]*(?:event\s?)?(?:id\s*[:=]?\s*)?\(?(\d{1,5})\)?(?![\w.(])[\s:,|\-]*",
    re.IGNORECASE,
)
_EVENT_REPORTER = re.compile(r"/([^/()\s]{1,64}) \((\d{1,5})\) - ")
"""`HOST/ESE (474) - ` behind the word EvntSLog."""
_BRACKET = re.compile(r"\[\d+\]:?\s*|[\s:,|\-]+")
_NAMED_ID = re.compile(r"\b(?:event\s?id|eventcode)\s*[:=#]?\s*\x22?(\d{1,5})\b", re.IGNORECASE)
_UNDESCRIBED = re.compile(r"description for event id\W{0,3}\d+\W{0,3} (?:from|in) source")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,253}")
_CATEGORIES = (
    "General", "Database Page Cache", "Logging/Recovery", "Space Management",
    "Table/Column/Index Definition", "Record Manipulation", "Performance", "Database Repair",
    "Database Conversion", "Online Defragmentation", "System Parameter Settings",
    "Database Corruption", "Database Zeroing", "Transaction Manager", "Resource Failure Simulation",
    "ShadowCopy", "Failure Items", "System Device", "None",
)  # fmt: skip
_CATEGORY = re.compile(rf"(?:(?:{'|'.join(map(re.escape, _CATEGORIES))})|\(\d+\))[\s:,|]+")

_LONGEST_KEPT = 200
_KEPT_HEADINGS = 4096


class _Heading(NamedTuple):
    """The text between the time of a line and its message."""

    provider: str
    level: Level | None
    computer: str
    numbered: bool
    event_id: int | None
    start: int
    """Of the provider in the line behind the time."""
    end: int
    """Its end in the line behind the time; of a numbered one, with its category."""


class LineReader:
    """Reads one-line events; knows which words are names of providers."""

    def __init__(self, providers: tuple[str, ...], *, companions: bool = False) -> None:
        # `ese` in other letters is a word of several languages.
        cased = (
            name.replace("ESE", "(?-i:ESE)") if name[3:4] != "N" else name for name in PATTERNS
        )
        known = {*cased, *map(re.escape, filter(None, providers))}
        names = [*sorted(known, key=len, reverse=True), *(PROVIDER_PATTERNS if companions else ())]
        self._known = re.compile("|".join(known), re.IGNORECASE)
        self._headings: dict[str, _Heading | None] = {}
        self._provider = re.compile(
            rf"(?<![\w.\\/-])({'|'.join(names)})(?![\w\\.-])", re.IGNORECASE
        )

    def read(self, text: str) -> tuple[RawEvent, bool] | None:
        """Read a line, and whether it is certain to be an event; None if it is none. Certain is a
        line with a time and the process prefix that every ESE text has."""
        if is_undescribed(text):
            return RawEvent(message=text), False
        if (header := _SYSLOG.match(text.lstrip())) is not None:
            return self._behind_header(header)
        read = self._line(text)
        if read is not None and "EF:" in text and (carrier := _CARRIER.search(text)) is not None:
            told = named_fields(text[carrier.end() :])
            read[0].time = told.time or read[0].time
            read[0].computer = told.computer or read[0].computer
        return read

    @staticmethod
    def origin(text: str) -> tuple[str, str]:
        """Time of a line of any program, and the host behind it; both empty where it has no time.
        Where the host is that of no computer with an event, it may be any word."""
        if (header := _SYSLOG.match(text.lstrip())) is not None:
            return leading_time(header["time"])[0], header["host"].strip("-")
        found = RawEvent()
        rest = _opening(text, found)
        time = found.time if isinstance(found.time, str) else ""
        if not time:
            return "", ""
        word = _forwarded_from(text, len(text)) or rest.split(maxsplit=1)[:1]
        host = word if isinstance(word, str) else word[0].strip("[]():,|\"'") if word else ""
        return time, host if _is_host(host) else ""

    def _line(self, text: str) -> tuple[RawEvent, bool] | None:
        """A line without a header of RFC 5424, or what stands behind one."""
        found = RawEvent()
        if "EvntSLog" in text:
            text = _EVENT_REPORTER.sub(r" \1: \2: ", text)
        rest = _opening(text, found)
        prefix = _PREFIX.search(rest)
        head = rest[: prefix.start()] if prefix else rest
        heading = self._heading(head)
        # `MSExchangeIS (3392)` is a process, though a provider of companions has its name.
        if heading is None or (
            prefix
            and not self._known.fullmatch(heading.provider)
            and not head[heading.end :].strip()
        ):
            return self._unnamed(rest, prefix, found)
        dated = found.time is not None
        found.provider = heading.provider
        found.level = found.level or heading.level
        if dated:
            before = len(text) - len(rest) + heading.start
            found.computer = heading.computer or _forwarded_from(text, before)
        at = heading.end
        if heading.numbered:
            found.event_id = heading.event_id
        elif (spelt := _NAMED_ID.search(rest)) is not None:
            found.event_id = integer(spelt[1])
        elif bracket := _BRACKET.match(rest, at):
            at = bracket.end()
        if not heading.numbered or (prefix and at == prefix.start()):
            at = _behind_category(rest, at)
        found.message = _process_on(rest, at, prefix)
        if prefix is None and not (dated and found.event_id is not None):
            found.event_id = None
        return found, dated and prefix is not None

    def _behind_header(self, header: re.Match[str]) -> tuple[RawEvent, bool] | None:
        """The event behind a header of RFC 5424, which may be a line with a heading of its own."""
        body = header.string[header.end() :]
        kind, host = integer(header["kind"]), header["host"].strip("-")
        told = _NAMED_ID.search(header["data"])
        data = named_fields(header["data"]) if len(header["data"]) > 1 else RawEvent()
        program = self._known.fullmatch(header["program"])
        named = program or self._provider.search(header["data"])
        prefix = _PREFIX.search(body)
        head = body[: prefix.start() if prefix else _LONGEST_KEPT]
        if named is None or self._heading(head) is not None:
            read = self._line(body)
            found = read[0] if read else RawEvent(message=body.strip())
        else:
            number = _NUMBER.match(head) if told is None and kind is None else None
            at = number.end() if number else 0
            found = RawEvent(provider=named[0], message=_process_on(body, at, prefix))
            found.event_id = integer(number[1]) if number else None
        found.time = found.time or data.time or leading_time(header["time"])[0] or None
        found.computer = found.computer or data.computer or host
        found.channel, found.record_id = data.channel, data.record_id
        found.level = found.level or data.level
        if found.event_id is None:
            found.event_id = integer(told[1]) if told else kind
        certain = found.time is not None and _PREFIX.search(found.message) is not None
        return (found, certain) if found.event_id is not None or certain else None

    def _heading(self, head: str) -> _Heading | None:
        """The text before the message; a file has few of them, so they are cached."""
        if len(head) > _LONGEST_KEPT:
            return self._read_heading(head)
        try:
            return self._headings[head]
        except KeyError:
            if len(self._headings) >= _KEPT_HEADINGS:
                self._headings.clear()
            found = self._headings[head] = self._read_heading(head)
            return found

    def _read_heading(self, head: str) -> _Heading | None:
        named = self._provider.search(head)
        if named is None:
            return None
        level, computer = _host(head[: named.start()])
        number, end = _NUMBER.match(head, named.end()), named.end()
        if number is not None:
            end = _behind_category(head, number.end())
        event_id = integer(number[1]) if number else None
        return _Heading(named[1], level, computer, bool(number), event_id, named.start(), end)

    @staticmethod
    def _unnamed(
        rest: str, prefix: re.Match[str] | None, found: RawEvent
    ) -> tuple[RawEvent, bool] | None:
        """A line without a provider: the prefix and the words of the text decide."""
        if prefix is None:
            return None
        process = _PROCESS.search(rest, 0, prefix.start())
        start = process.start() if process else prefix.start()
        if spelt := _NAMED_ID.search(rest, 0, start):
            found.event_id = integer(spelt[1])
        level, computer = _host(rest[:start])
        found.level = found.level or level
        if found.time is not None:
            found.computer = computer
        found.message = rest[start:].strip()
        return found, False


def _process_on(text: str, at: int, prefix: re.Match[str] | None) -> str:
    """The message from `at` on, without what stands before its process."""
    junk = _JUNK.match(text, at, prefix.start()) if prefix else None
    message = text[junk.end() if junk else at :].strip().strip('"')
    return message[1:].removesuffix("]") if message.startswith("[") else message


def _opening(text: str, found: RawEvent) -> str:
    """Take priority, level and time from the start of the line; returns the rest."""
    rest = text.lstrip(" \t\"'[(")
    if rest.startswith("<") and (priority := _PRIORITY.match(rest)):
        rest = rest[priority.end() :]
    if not rest[:1].isdigit():
        rest = _behind_level(rest, found)
    rest = _behind_level(_behind_time(rest, found), found)
    return rest if found.time else _behind_time(rest, found)


def _behind_level(text: str, found: RawEvent) -> str:
    word = _LEVEL.match(text)
    level = word and level_of(word[1])
    if not word or found.level or not level:
        return text
    found.level = level
    return text[word.end() :]


def _behind_time(text: str, found: RawEvent) -> str:
    time, behind = leading_time(text)
    if not time:
        return text
    found.time = time
    return behind.lstrip(" \t])\"',;|-")


def _forwarded_from(text: str, end: int) -> str:
    """The host of a line that a forwarder wrote, where it stands before `end`; empty without."""
    start = len(text) - len(text.lstrip())
    if (priority := _PRIORITY.match(text, start)) is not None:
        start = priority.end()
    forwarded = _FORWARDED.match(text, start)
    if forwarded is None or forwarded.end() > end:
        return ""
    host = (forwarded[1] or forwarded[2]).strip("[]:,")
    return host if _is_host(host) and not level_of(host) else ""


def _behind_category(text: str, at: int) -> int:
    """End of a category that begins at `at`; `at` if there is none."""
    category = _CATEGORY.match(text, at)
    return category.end() if category else at


def is_undescribed(text: str) -> bool:
    """Does Windows say here that it has no message text, and list the strings?"""
    low = text.lower()
    return "description for event id" in low and _UNDESCRIBED.search(low) is not None


def _host(text: str) -> tuple[Level | None, str]:
    """Level and computer before a provider: one word left that is no level is the computer."""
    level: Level | None = None
    words = []
    for word in text.replace("\t", " ").split():
        bare = word.strip("[]():,|\"'")
        if (named := level_of(bare)) and not bare.isdigit():
            level = level or named
        elif bare and bare != "-":
            words.append(bare)
    if not words or len(words) > 2:
        return level, ""
    return level, words[0] if _is_host(words[0]) else ""


def _is_host(word: str) -> bool:
    plain = _HOST.fullmatch(word) is not None
    return plain and not word.isdigit() and not word.lower().startswith("event")
