"""One-line records whose fields have names or places: pairs, lost line breaks, agents' layouts.

`Name=Value` of WinCollect, Splunk, NXLog, CEF and LEEF; labels that a page or an alert mail wrote
behind each other; the columns of Snare, OSSEC, PsLogList and the CloudWatch agent.
"""

import re
from collections.abc import Iterator

from esewatch.ese.providers import is_ese_provider
from esewatch.sources.logs.formats.blocks import join_date
from esewatch.sources.logs.formats.fields import FIELD_OF, Found, gather, integer, labelled, plain
from esewatch.sources.logs.formats.prefilter import PREFIX
from esewatch.sources.logs.formats.words import words_of

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


def records_in(text: str, providers: tuple[str, ...] = ()) -> list[Found]:
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


def named_fields(text: str) -> Found:
    """The fields of pairs: of the structured data of RFC 5424, of CEF and LEEF."""
    return _found(next(_records(text)))


def _of_layout(match: re.Match[str]) -> Found:
    values = match.groupdict()
    if values.get("year"):
        values["time"] = f"{values['day']} {values['year']} {values['clock']}"
    return Found(
        provider=values["provider"].strip(),
        event_id=integer(values["event_id"]),
        time=values.get("time"),
        computer=values["computer"].strip(),
        channel=values["channel"].strip(),
        record_id=integer(values.get("record_id")),
        level=values["level"].strip().lower(),
        message=undone(values["message"].strip().strip('"')),
    )


def _found(values: dict[str, object]) -> Found:
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
        values.setdefault("timestamp", stamp[1])
    yield values


def _value(text: str, match: re.Match[str], *, is_message: bool) -> tuple[str, int]:
    """The value behind this name, and where it ends."""
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
