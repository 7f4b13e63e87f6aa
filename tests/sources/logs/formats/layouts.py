"""The text layouts in which an event is pasted, forwarded and exported, as a table.

Each makes of an event id and its message what the tool or person would hand over: logged at
03:14:15 on 21 June 2007 (UTC) by ESE on EX01, in the Application log, under number 4711.
"""

import csv
import html
import io
import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from esewatch.sources.logs.formats.fields import WORDS

ALL = frozenset({"time", "computer", "channel", "record_id"})
ISO = "2007-06-21T03:14:15Z"


class Layout(NamedTuple):
    """`write`: of an event id and a message; `carries`: the fields that the layout has besides."""

    write: Callable[[int, str], str]
    carries: frozenset[str] = ALL
    is_line: bool = False
    """The message stands on one line, without the breaks that it has."""


def _json(**fields: object) -> str:
    return json.dumps(fields, ensure_ascii=False) + "\n"


def _xml(event_id: int, message: str) -> str:
    return (
        '<Event xmlns="http://schemas.microsoft.com/win/2004/08/events/event"><System>'
        f'<Provider Name="ESE"/><EventID Qualifiers="0">{event_id}</EventID><Level>4</Level>'
        '<TimeCreated SystemTime="2007-06-21T03:14:15.000000Z"/>'
        "<EventRecordID>4711</EventRecordID>"
        "<Channel>Application</Channel><Computer>EX01</Computer></System>"
        '<EventData/><RenderingInfo Culture="en-US">'
        f"<Message>{html.escape(message)}</Message></RenderingInfo></Event>"
    )


def _csv(separator: str, *rows: tuple[object, ...]) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue()


def _viewer(words: Mapping[str, tuple[str, ...]], event_id: int, message: str) -> str:
    """As Event Viewer copies an event since Vista."""
    lines = {
        words["channel"][0]: "Application", words["provider"][-1]: "ESE",
        words["time"][-1]: "2007-06-21 03:14:15", words["event_id"][0]: event_id,
        words["level"][0]: "Information", words["computer"][0]: "EX01",
    }  # fmt: skip
    head = "".join(f"{word}:      {value}\n" for word, value in lines.items())
    return f"{head}{words['message'][0]}:\n{message}\n"


def _classic(words: Mapping[str, tuple[str, ...]], event_id: int, message: str) -> str:
    """As the viewer of Windows 2000 to 2003 copied one."""
    return (
        f"{words['type'][0]}:\tInformation\n{words['provider'][0]}:\tESE\n"
        f"{words['other'][0]}:\tGeneral\n{words['event_id'][0]}:\t{event_id}\n"
        f"{words['time'][-1]}:\t\t2007-06-21\n{words['clock'][-1]}:\t\t03:14:15\n"
        f"{words['computer'][0]}:\tEX01\n{words['message'][0]}:\n{message}\n"
    )


def _pairs(event_id: int, message: str) -> str:
    return (
        "06/21/2007 03:14:15 AM\nLogName=Application\nSourceName=ESE\n"
        f"EventCode={event_id}\nEventType=4\nType=Information\nComputerName=EX01\n"
        f"TaskCategory=General\nOpCode=Info\nRecordNumber=4711\nKeywords=Classic\n"
        f"Message={message}\n"
    )


def _list(event_id: int, message: str) -> str:
    indented = message.replace("\n", "\n               ")
    return (
        f"\nTimeCreated  : 2007-06-21 03:14:15\nProviderName : ESE\nId           : {event_id}\n"
        f"LogName      : Application\nMachineName  : EX01\nRecordId     : 4711\n"
        f"Message      : {indented}\n\n"
    )


def _telegraf(event_id: int, message: str) -> str:
    quoted = message.replace("\\", "\\\\").replace('"', '\\"')
    return (
        "win_eventlog,Channel=Application,Computer=EX01,EventID="
        f"{event_id},LevelText=Information,Source=ESE,host=EX01 "
        f'EventRecordID=4711i,Message="{quoted}",'
        'TimeCreated="2007-06-21T03:14:15Z" 1182395655000000000\n'
    )


def _wmic(event_id: int, message: str) -> str:
    return (
        f"\r\nCategory=1\r\nComputerName=EX01\r\nEventCode={event_id}\r\n"
        f"EventIdentifier={event_id}\r\nEventType=3\r\nLogfile=Application\r\n"
        f"Message={message}\r\nRecordNumber=4711\r\nSourceName=ESE\r\n"
        "TimeGenerated=20070621031415.000000-000\r\nType=Information\r\n\r\n"
    )


def _mail(event_id: int, message: str) -> str:
    return (
        f"Source: EX01\nEvent Source: ESE\nEvent Number: {event_id}\nLogging Computer: EX01\n"
        f"Event Time: 6/21/2007 3:14:15 AM\nEvent Description: {message}\n"
    )


def _columns(event_id: int, message: str) -> str:
    names = ("TimeCreated", "ProviderName", "Id", "LogName", "MachineName", "RecordId", "Message")
    row = ("6/21/2007 3:14:15 AM", "ESE", event_id, "Application", "EX01", 4711, message)
    return _csv(",", names, row)


def _of_viewer(event_id: int, message: str) -> str:
    names = ("Level", "Date and Time", "Source", "Event ID", "Task Category")
    row = ("Information", "6/21/2007 3:14:15 AM", "ESE", event_id, "General", message)
    return _csv(",", names, row)


def _block(event_id: int, message: str) -> str:
    """As PsLogList prints one."""
    return (
        "Application log on \\\\EX01:\n[4711] ESE\n   Type:     INFORMATION\n   Computer: EX01\n"
        f"   Time:     6/21/2007 3:14:15 AM   ID:       {event_id}\n{message}\n"
    )


LINE = frozenset({"time", "computer", "channel"})
LAYOUTS: dict[str, Layout] = {
    "NXLog": Layout(
        lambda n, text: _json(
            EventTime=ISO, Hostname="EX01", SourceName="ESE", EventID=n, Channel="Application",
            RecordNumber=4711, SeverityValue=2, Message=text,
        )
    ),
    "Winlogbeat": Layout(
        lambda n, text: _json(
            **{"@timestamp": ISO},
            winlog={
                "provider_name": "ESE", "event_id": str(n), "channel": "Application",
                "computer_name": "EX01", "record_id": 4711,
            },
            message=text,
        )
    ),
    "Fluent Bit": Layout(
        lambda n, text: _json(
            TimeGenerated="2007-06-21 03:14:15 +0000", SourceName="ESE", EventID=n,
            Channel="Application", ComputerName="EX01", RecordNumber=4711, Message=text,
        )
    ),
    "JSON with XML": Layout(lambda n, text: _json(event={"original": _xml(n, text)})),
    "XML": Layout(lambda n, text: _xml(n, text) + "\n"),
    "XML behind syslog": Layout(lambda n, text: f"<13>May  3 05:19:29 pc-1 {_xml(n, text)}\n"),
    "XML quoted in mail": Layout(
        lambda n, text: "".join(f"> {line}\n" for line in _xml(n, text).split("\n"))
    ),
    "XML escaped": Layout(lambda n, text: html.escape(_xml(n, text)) + "\n"),
    "CSV of PowerShell": Layout(_columns),
    "CSV of Event Viewer": Layout(_of_viewer, frozenset({"time"})),
    "CSV with semicolons": Layout(
        lambda n, text: _csv(
            ";",
            ("EventID", "Source", "TimeGenerated [UTC]", "Computer", "EventLog", "Message"),
            (n, "ESE", "2007-06-21T03:14:15.000Z", "EX01", "Application", text),
        ),
        ALL - {"record_id"},
    ),
    "list of PowerShell": Layout(_list),
    "key and value": Layout(_pairs),
    "WMI": Layout(_wmic),
    "mail of SCOM": Layout(_mail, frozenset({"time", "computer"})),
    "line protocol": Layout(_telegraf),
    "PsLogList": Layout(_block, frozenset({"time", "computer", "record_id"})),
    "PsLogList -s": Layout(
        lambda n, text: (
            f'4711,Application,ESE,INFORMATION,EX01,6/21/2007 3:14:15 AM,{n},None,"{text}"\n'
        ),
        is_line=True,
    ),
    "Snare": Layout(
        lambda n, text: (
            f"x\tMSWinEventLog\t1\tApplication\t77\tThu Jun 21 03:14:15 2007\t{n}\tESE\tN/A\tN/A\t"
            f"Information\tEX01\tGeneral\t\t{text}\t12\n"
        ),
        LINE,
        is_line=True,
    ),
    "OSSEC": Layout(
        lambda n, text: (
            "2007 Jun 21 03:14:16 (x) 10.0.0.5->WinEvtLog 2007 Jun 21 03:14:15 WinEvtLog:"
            f" Application: INFORMATION({n}): ESE: (no user): no domain: EX01: {text}\n"
        ),
        LINE,
        is_line=True,
    ),
    "CloudWatch": Layout(
        lambda n, text: (
            f"2007-06-21T03:14:15.000Z [Application] [INFORMATION] [{n}] [ESE] [EX01] [{text}]\n"
        ),
        LINE,
        is_line=True,
    ),
    "WinCollect": Layout(
        lambda n, text: (
            "<13>Jun 21 03:14:15 10.1.1.5 AgentDevice=WindowsLog\tAgentLogFile=Application\t"
            "Source=ESE\tComputer=EX01\tOriginatingComputer=10.1.1.5\tUser=\tDomain=\t"
            f"EventID={n}\tEventType=4\tRecordNumber=4711\tTimeGenerated=1182395655\t"
            f"Message={text}\n"
        ),
        is_line=True,
    ),
    "Kaseya": Layout(
        lambda n, text: (
            f"Log: Application, Type: Information, Event: {n}, Agent Time: 2007-06-21 05:14:15Z,"
            " Event Time: 03:14:15 AM 21-Jun-2007 UTC, Source: ESE, Category: x, Username: N/A,"
            f" Computer: EX01, Description: {text}\n"
        ),
        LINE,
        is_line=True,
    ),
    "RFC 5424": Layout(
        lambda n, text: (
            "<14>1 2007-06-21T03:14:15.000Z EX01 ESE 612 - [NXLOG@14506 EventType="
            f'"INFO" EventID="{n}" SourceName="ESE" RecordNumber="4711" Channel="Application"]'
            f" {text}\n"
        ),
        is_line=True,
    ),
    "CEF": Layout(
        lambda n, text: (
            f"<13>Jun 21 05:14:15 relay CEF:0|Microsoft|Microsoft Windows||ESE:{n}|Event|Low|"
            f" externalId={n} dhost=EX01 rt=1182395655000 msg={text}\n"
        ),
        frozenset({"time", "computer"}),
        is_line=True,
    ),
    "pairs on a line": Layout(
        lambda n, text: (
            f"2007-06-21T03:14:15Z LogName=Application SourceName=ESE EventCode={n}"
            f" ComputerName=EX01 RecordNumber=4711 Message={text}\n"
        ),
        is_line=True,
    ),
    "labels on a line": Layout(
        lambda n, text: (
            "Event Type: Information Event Source: ESE Event Category: General Event ID:"
            f" {n} Date: 6/21/2007 Time: 3:14:15 AM User: N/A Computer: EX01 Description: {text}\n"
        ),
        frozenset({"time", "computer"}),
        is_line=True,
    ),
    "line of a forwarder": Layout(
        lambda n, text: f"2007-06-21T03:14:15Z EX01 ESE {n} {text}\n",
        frozenset({"time", "computer"}),
        is_line=True,
    ),
    **{
        f"Event Viewer, {language}": Layout(
            lambda n, text, words=words: _viewer(words, n, text),  # type: ignore[misc]
            frozenset({"time", "computer", "channel"}),
        )
        for language, words in WORDS.items()
        if "channel" in words and "computer" in words
    },
    **{
        f"Windows 2003, {language}": Layout(
            lambda n, text, words=words: _classic(words, n, text),  # type: ignore[misc]
            frozenset({"time", "computer"}),
        )
        for language, words in WORDS.items()
        if "type" in words
    },
}  # fmt: skip
