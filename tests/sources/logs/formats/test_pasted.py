"""Events as people paste and forward them: XML anywhere, labels of old Windows, pairs on a line."""

import html

import pytest

from esewatch.model import Event
from esewatch.sources.logs.formats.fields import WORDS
from tests.sources.logs.formats.reading import (
    FIELDS_703,
    STRINGS_703,
    TEXT_703,
    epoch,
    events,
    one,
    read_in_pieces,
)
from tests.sources.logs.formats.test_xml_events import xml
from tests.support.samples import sample

WHOLE = xml().strip()
FLAT = " ".join(WHOLE.split("\n"))
TREE = "\n".join(
    f"- {line}" if line.lstrip().startswith(("<System", "<EventData", "<Event ")) else f"  {line}"
    for line in WHOLE.replace("><", ">\n<").split("\n")
)
QUOTED = "\n".join(f"> {line}" for line in TREE.split("\n"))
PAGE: dict[str, object] = {"page_number": 469537, "error": -1018}
NTDS = r"C:\Windows\NTDS\ntds.dit"
REPORTS: dict[str, tuple[int, str, str, int | None, str, str, dict[str, object]]] = {
    "xml-view-with-dashes.xml": (
        474, "2019-05-03T05:19:29.754223", "PC-1", 2509, NTDS, "svchost", PAGE,
    ),
    "xml-behind-syslog-header.log": (
        455, "2019-05-03T05:19:29.754223", "PC-1", 2509, "", "svchost", {"error": -1023},
    ),
    "labels-german-2003.txt": (
        474, "2008-02-13T03:14:15", "EX01", None, r"E:\exchsrvr\mdbdata\priv1.edb",
        "Information Store", {"page_number": 987},
    ),
    "splunk-key-value.txt": (
        701, "2021-06-21T03:14:15", "dc01.example.com", 4711, NTDS, "NTDS", {"pages_freed": 3},
    ),
    "evtxecmd-joined-payload.jsonl": (
        474, "2021-06-21T03:14:15.021898", "dc01.example.com", 1961417, NTDS, "NTDS", PAGE,
    ),
    "cloudwatch-text.log": (
        474, "2021-06-21T03:14:15", "dc01.example.com", None, NTDS, "NTDS", PAGE,
    ),
    "zabbix-history.csv": (474, "2021-06-21T03:14:15", "", None, NTDS, "NTDS", PAGE),
    "index-corrupted-2003.txt": (
        467, "2005-08-21T11:17:20", "DC01", None, "", "NTDS", {"index": "INDEX_0009028F"},
    ),
    "mail-quoted-509.txt": (
        509, "", "", None,
        r"C:\ProgramData\Microsoft\Search\Data\Applications\Windows\Windows.edb", "Windows",
        {"suppressed": 0, "since_seconds": 13947},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_gives_what_stands_in_it(name: str) -> None:
    event_id, time, computer, record, database, process, fields = REPORTS[name]

    found = one(sample(f"reports/{name}").read_bytes())
    assert (found.event_id, found.computer, found.record_id) == (event_id, computer, record)
    assert found.time == (epoch(time) if time else None)
    assert (found.database, found.process) == (database, process)
    assert fields.items() <= found.fields.items()


@pytest.mark.parametrize(
    "text",
    [
        TREE,
        TREE.replace("- <", "-<"),
        QUOTED,
        QUOTED.replace("\n>", "\n>>").replace(">", ">>", 1),
        f"<13>May  3 05:19:29 pc-1 {FLAT}",
        f"2019-05-03T05:19:29.754Z pc-1 app: {FLAT}",
        f"2019-05-03 05:19:29 pc-1 ESENT: {FLAT}",
        f"here it is: {FLAT} and so on",
        html.escape(WHOLE),
        f"<pre>{html.escape(FLAT)}</pre>",
        f'a,"{FLAT.replace(chr(34), 2 * chr(34))}",b',
    ],
)
def test_xml_is_read_anywhere_on_a_line(text: str) -> None:
    data = f"some text before\n\n{text}\n\nand behind\n"
    expected = one(WHOLE)

    assert events(data) == [expected]
    records, places = read_in_pieces(data.encode(), range(0, len(data), 40), restart=True)
    assert (records, places) == ([expected], [])


def test_two_elements_on_a_line_are_two_events() -> None:
    other = FLAT.replace("<EventRecordID>4711<", "<EventRecordID>4712<")
    assert other != FLAT

    found = events(f"<13>May  3 05:19:29 pc-1 {FLAT} {other}\n{html.escape(FLAT + other)}\n")
    assert [event.record_id for event in found] == [4711, 4712] * 2


CLASSIC = [name for name, words in WORDS.items() if "type" in words]


@pytest.mark.parametrize("language", CLASSIC)
@pytest.mark.parametrize("gap", [":\t", ": ", " : "])
def test_a_copied_record_of_old_windows_is_read_in_each_language(language: str, gap: str) -> None:
    words = WORDS[language]
    for event_word in words["event_id"]:
        lines = [
            f"{words['type'][0]}{gap}Error", f"{words['provider'][0]}{gap}ESE",
            f"{words['other'][0]}{gap}x", f"{event_word}{gap}703",
            f"{words['time'][-1]}{gap}21.06.2007", f"{words['clock'][-1]}{gap}03:14:15",
            f"{words['computer'][0]}{gap}EX01", f"{words['message'][0]}{gap.rstrip()}", TEXT_703,
        ]  # fmt: skip
        data = "\n".join(lines) + "\n"

        for found in (*events(data), *events(data + "\n" + data)):
            assert is_703(found), found
        assert len(events(data + "\n" + data)) == 2


def is_703(found: Event) -> bool:
    return (
        (found.event_id, found.provider, found.computer) == (703, "ESE", "EX01")
        and found.time == epoch("2007-06-21T03:14:15")
        and found.database == STRINGS_703[3]
        and FIELDS_703.items() <= found.fields.items()
    )


CLIXML = """<Objs Version="1.1.0.1" xmlns="http://schemas.microsoft.com/powershell/2004/04">
  <Obj RefId="0">
    <TN RefId="0"><T>System.Diagnostics.Eventing.Reader.EventLogRecord</T></TN>
    <Props>
      <I32 N="Id">703</I32><S N="ProviderName">ESE</S><S N="LogName">Application</S>
      <I64 N="RecordId">4711</I64><S N="MachineName">EX01</S>
      <DT N="TimeCreated">2007-06-21T05:14:15+02:00</DT>
      <Obj N="Properties" RefId="1"><LST>{strings}</LST></Obj>
    </Props>
  </Obj>
</Objs>
"""
CONVERTED = """<?xml version="1.0" encoding="utf-8"?>
<Objects>
  <Object Type="System.Diagnostics.Eventing.Reader.EventLogRecord">
    <Property Name="Id" Type="System.Int32">703</Property>
    <Property Name="ProviderName" Type="System.String">ESE</Property>
    <Property Name="RecordId" Type="System.Int64">4711</Property>
    <Property Name="MachineName" Type="System.String">EX01</Property>
    <Property Name="TimeCreated" Type="System.DateTime">6/21/2007 3:14:15 AM</Property>
    <Property Name="Properties" Type="x">
      <Property Type="y">System.Diagnostics.Eventing.Reader.EventProperty</Property>
    </Property>
    <Property Name="Message" Type="System.String">{text}</Property>
  </Object>
</Objects>
"""


def test_objects_of_powershell_are_events() -> None:
    item = '<Obj RefId="{}"><Props><S N="Value">{}</S></Props></Obj>'
    strings = "".join(item.format(n, text) for n, text in enumerate(STRINGS_703, 2))
    exported = CLIXML.format(strings=strings)
    for data in (exported, CONVERTED.format(text=TEXT_703)):
        assert is_703(one(data))
        records, places = read_in_pieces(data.encode(), range(0, len(data), 40), restart=True)
        assert (records, places) == (events(data), [])
    assert one(exported).strings == STRINGS_703


def test_an_element_in_a_text_of_export_clixml_is_an_event() -> None:
    text = f"<Objs>\n  <S>{html.escape(WHOLE)}</S>\n</Objs>\n"

    assert events(text) == [one(WHOLE)]


PASTED = {
    "dcdiag": "An Error Event occurred.  EventID: 0xC00002BF\r\n"
    "   Time Generated: 06/21/2007   03:14:15\r\n   Event String: {}\r\n",
    "wmic": "Category=10\r\nComputerName=EX01\r\nEventCode=703\r\nEventIdentifier=703\r\n"
    "EventType=3\r\nLogfile=Application\r\nMessage={}\r\nRecordNumber=4711\r\nSourceName=ESE\r\n"
    "TimeGenerated=20070621031415.000000-000\r\nType=Information\r\n",
    "scom": "Source: EX01\nEvent Source: ESE\nEvent Number: 703\nLogging Computer: EX01\n"
    "Event Time: 6/21/2007 3:14:15 AM\nEvent Description: {}\n",
    "backslashes": "Event Type: Information\\\nEvent Source: ESE\\\nEvent Category: x\\\n"
    "Event ID: 703\\\nDate: 6/21/2007\\\nTime: 3:14:15 AM\\\nComputer: EX01\\\n"
    "Description:\\\n{}\\\n",
    "brackets": "2007-06-21 03:14:15 EX01 ESE (703) [{}]\n",
}


@pytest.mark.parametrize("layout", PASTED)
def test_a_pasted_record_gives_its_fields(layout: str) -> None:
    found = one(PASTED[layout].format(TEXT_703))

    assert (found.event_id, found.level, found.process) == (703, "information", "MSExchangeIS")
    assert found.time == epoch("2007-06-21T03:14:15")
    assert (found.computer, found.database) == (
        "" if layout == "dcdiag" else "EX01",
        STRINGS_703[3],
    )
