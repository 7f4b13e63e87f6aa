"""One-line records of agents, shippers and alert mails: each field from its own word or place."""

import json

import pytest

from esewatch.model import Event
from tests.sources.logs.formats.reading import epoch, events, one

DATABASE = r"C:\a b\ntds.dit"
TEXT = (
    "svchost (3392,D,0) one: Online defragmentation is beginning a full pass on database "
    f"'{DATABASE}'."
)
QUOTED = TEXT.replace("'", '"')
TIME = "2021-06-21T03:14:15"
STRINGS = ("svchost", "3392,D,0", "one: ", DATABASE)
LABELS = (
    "Event Type: Information Event Source: ESENT Event Category: General Event ID: 700 "
    "Date: 6/21/2021 Time: 3:14:15 AM User: N/A Computer: DC01 Description: "
)
LINES = {
    "labels": f"{LABELS}{TEXT}",
    "cloudwatch": f"{TIME}.000Z [Application] [INFORMATION] [700] [ESENT] [DC01] [{TEXT}]",
    "wincollect": "<13>Jun 21 03:14:15 10.1.1.5 AgentDevice=WindowsLog\tAgentLogFile=Application\t"
    "Source=ESENT\tComputer=DC01\tOriginatingComputer=10.1.1.5\tUser=\tDomain=\tEventID=700\t"
    f"EventType=4\tRecordNumber=7\tTimeGenerated=1624245255\tMessage={TEXT}",
    "kaseya": "Log: Application, Type: Information, Event: 700, Agent Time: 2021-06-21 05:14:15Z, "
    "Event Time: 03:14:15 AM 21-Jun-2021 UTC, Source: ESENT, Category: x, Username: N/A, "
    f"Computer: DC01, Description: {TEXT}",
    "ossec": "2021 Jun 21 03:14:16 (x) 10.0.0.5->WinEvtLog 2021 Jun 21 03:14:15 WinEvtLog: "
    f"Application: INFORMATION(700): ESENT: (no user): no domain: DC01: {TEXT}",
    "snare": "x\tMSWinEventLog\t1\tApplication\t77\tMon Jun 21 03:14:15 2021\t700\tESENT\tN/A\t"
    f"N/A\tInformation\tDC01\tGeneral\t\t{TEXT}\t12",
    "psloglist": f'7,Application,ESENT,INFORMATION,DC01,6/21/2021 3:14:15 AM,700,None,"{TEXT}"',
    "nxlog": "<14>1 2021-06-21T03:14:15.000Z DC01 ESENT 612 - [NXLOG@14506 EventType="
    f'"INFO" EventID="700" SourceName="ESENT" RecordNumber="7" Channel="Application"] {TEXT}',
    "cef": "<13>Jun 21 05:14:15 relay CEF:0|Microsoft|Microsoft Windows||ESENT:700|Event|Low| "
    f"externalId=700 dhost=DC01 rt=1624245255000 msg={TEXT}",
    "telegraf": "win_eventlog,Channel=Application,Computer=DC01,EventID=700,Source=ESENT Message="
    + json.dumps(QUOTED)
    + ",EventRecordID=7i 1624245255000000000",
    "splunk": f"{TIME}Z LogName=Application SourceName=ESENT EventCode=700 ComputerName=DC01 "
    f"RecordNumber=7 Message={TEXT}",
}
LINES["nxlog with octets"] = f"{len(LINES['nxlog'])} {LINES['nxlog']}"


def assert_is_700(found: Event) -> None:
    assert (found.event_id, found.provider, found.computer) == (700, "ESENT", "DC01")
    assert found.time == epoch(TIME)
    assert (found.process, found.ese_instance, found.database) == ("svchost", "one", DATABASE)
    assert found.record_id in (None, 7)
    assert found.channel in ("", "Application")


@pytest.mark.parametrize("layout", LINES)
def test_a_line_of_named_fields_gives_each_from_its_own_word(layout: str) -> None:
    assert_is_700(one(f"{LINES[layout]}\n"))
    for found in events(f"{LINES[layout]}\n" * 3):
        assert_is_700(found)


def test_labels_that_lost_their_line_breaks_are_as_many_events_as_they_were() -> None:
    found = events(f"{LABELS}{TEXT} " * 5 + "\n")

    assert len(found) == 5
    for event in found:
        assert_is_700(event)


@pytest.mark.parametrize(
    "joined",
    [
        ", ".join(STRINGS),
        "; ".join(STRINGS),
        "|".join(STRINGS),
        "'" + "', '".join(STRINGS) + "'",
        "{" + ", ".join(STRINGS) + "}",
        "The following information is part of the event:'" + "', '".join(STRINGS) + "'",
    ],
)
@pytest.mark.parametrize("where", ["strings", "message"])
def test_joined_strings_give_the_positional_form(joined: str, where: str) -> None:
    record = {"Computer": "DC01", "SourceName": "ESENT", "EventID": 700, "TimeCreated": f"{TIME}Z"}
    more = {"EventData": {"Data": joined}} if where == "strings" else {"Message": joined}
    if where == "strings" and joined.startswith("The"):
        return

    assert_is_700(one(json.dumps({**record, **more})))


@pytest.mark.parametrize("path", [r"C:\a, b\c, d.edb", r"C:\x; y.edb"])
def test_a_path_with_what_joins_the_strings_is_whole(path: str) -> None:
    strings = ("svchost", "1,D,0", "one: ", path, "40960 (0x000000000000a000)", "4096 (0x00001000)",
               "-1018 (0xfffffc06)", "[1]", "[2]", "9 (0x9)")  # fmt: skip
    for between in (", ", "; "):
        record = {"Provider": "ESENT", "EventId": 474, "EventData": {"Data": between.join(strings)}}

        found = one(json.dumps(record))
        assert (found.database, found.fields["page_number"]) == (path, 9)


XML = (
    "<Event><System><Provider Name='ESENT'/><EventID>700</EventID><EventRecordID>7</EventRecordID>"
    f"<TimeCreated SystemTime='{TIME}Z'/><Channel>Application</Channel><Computer>DC01</Computer>"
    "</System><EventData>" + "".join(f"<Data>{text}</Data>" for text in STRINGS)
    + "</EventData></Event>"
)  # fmt: skip


@pytest.mark.parametrize(
    "record",
    [
        {"event": {"original": XML}},
        {"anything": [{"else": XML}]},
        {"EventID": 700, "Source": "ESENT", "Computer": "DC01", "EventLog": "Application",
         "TimeGenerated [UTC]": "6/21/2021, 3:14:15.000 AM",
         "ParameterXml": "".join(f"<Param>{text}</Param>" for text in STRINGS)},
        {"data": {"win": {"system": {
            "providerName": "ESENT", "eventID": "700", "systemTime": f"{TIME}Z", "computer": "DC01",
            "eventRecordID": "7", "channel": "Application"},
            "eventdata": {"data": ", ".join(STRINGS).replace("\\", "\\\\")}}}},
        {"columns": {"channel": "Application", "computer_name": "DC01", "eventid": "700",
                     "data": json.dumps({"EventData": STRINGS}), "datetime": f"{TIME}Z",
                     "provider_name": "ESENT", "time": "1624245299"}},
        {"System": {"Provider": {"Name": "ESENT"}, "EventID": {"Value": 700}, "Computer": "DC01",
                    "TimeCreated": {"SystemTime": 1624245255.0}}, "EventData": {"Data": STRINGS}},
        {"Text": f"{TIME}Z DC01 ESENT 700: {TEXT}"},
        {"@timestamp": f"{TIME}Z", "host": "DC01", "log": f"ESENT: 700: {TEXT}"},
    ],
    ids=["ecs", "any", "azure", "wazuh", "osquery", "velociraptor", "text", "without-time"],
)  # fmt: skip
def test_what_stands_within_json_is_read(record: dict[str, object]) -> None:
    assert_is_700(one(json.dumps(record)))


COLUMNS = {
    "de": "Ebene,Datum und Uhrzeit,Quelle,Ereignis-ID,Aufgabenkategorie,Protokoll,Computer",
    "fr": "Niveau,Date et heure,Source,ID de l’événement,Catégorie de la tâche,Journal,Ordinateur",
    "ja": "レベル,日付と時刻,ソース,イベント ID,タスクのカテゴリ,ログ,コンピューター",
}


@pytest.mark.parametrize("language", COLUMNS)
def test_the_viewers_table_with_all_columns_is_read(language: str) -> None:
    message = QUOTED.replace('"', '""')
    row = f'x,21.06.2021 03:14:15,ESENT,700,General,Application,DC01,"{message}"'

    assert_is_700(one(f"{COLUMNS[language]}\n{row}\n"))


def test_records_in_the_cells_of_another_table_are_read() -> None:
    text = f"{TIME}Z DC01 ESENT 700: {QUOTED.replace(chr(34), 2 * chr(34))}"
    block = (
        "06/21/2021 05:14:15 AM\nLogName=Application\nSourceName=ESENT\nEventCode=700\n"
        f"ComputerName=DC01\nMessage={TEXT}"
    )

    assert_is_700(one(f'n,_raw,host\n1,"{text}",DC01\n'))
    assert_is_700(one(f'"_raw","_time",host\n"{block}","{TIME}.000+0000",DC01\n'))


def test_the_line_that_names_the_type_of_an_export_is_no_record() -> None:
    head = "#TYPE System.Diagnostics.EventLogEntry#Application/ESENT/700\n"
    names = '"EventID","MachineName","Index","Message","Source","TimeGenerated"\n'

    assert_is_700(one(f'{head}{names}"700","DC01","7","{TEXT}","ESENT","6/21/2021 3:14:15 AM"\n'))
