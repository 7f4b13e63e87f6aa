"""Events as JSON of collectors, converters and PowerShell."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.cli.inputs.command import event_line
from esewatch.model import Event
from esewatch.sources.logs.formats import json_values
from esewatch.sources.logs.formats.event_builder import unread
from tests.sources.logs.formats.reading import (
    FIELDS_703,
    STRINGS_703,
    STRINGS_721,
    TEXT_703,
    epoch,
    events,
    json_line,
    one,
    read,
)
from tests.sources.logs.formats.test_xml_events import xml
from tests.support.decoding import event_from_strings

TIME = epoch("2007-06-21T03:14:15.123456")


def system(**changes: Any) -> dict[str, Any]:
    """`Event/System` as evtx_dump prints it."""
    return {
        "Provider": {"#attributes": {"Name": "ESE"}},
        "EventID": {"#attributes": {"Qualifiers": 0}, "#text": 703},
        "Level": 4,
        "TimeCreated": {"#attributes": {"SystemTime": "2007-06-21T03:14:15.123456Z"}},
        "EventRecordID": 4711,
        "Channel": "Application",
        "Computer": "EX01.corp.example",
        **changes,
    }


def event(strings: object = None) -> dict[str, Any]:
    data = {"#text": list(STRINGS_703)} if strings is None else strings
    return {"Event": {"System": system(), "EventData": {"Data": data, "Binary": None}}}


def assert_is_703(found: Event, *, strings: bool = True) -> None:
    assert (found.event_id, found.provider, found.time) == (703, "ESE", TIME)
    assert (found.computer, found.channel) == ("EX01.corp.example", "Application")
    assert (found.record_id, found.level) == (4711, "information")
    assert (found.ese_instance, found.database) == ("SG06", "e:\\MDB06\\priv06.edb")
    assert FIELDS_703.items() <= found.fields.items()
    assert found.strings == (STRINGS_703 if strings else ())


@pytest.mark.parametrize(
    "words",
    [
        {"RenderedDescription": TEXT_703, "ParameterXml": ""},
        {"full_message": TEXT_703, "short_message": TEXT_703[:40]},
        {"short_message": TEXT_703},
    ],
    ids=["sentinel", "gelf", "gelf-short"],
)
def test_the_text_is_found_under_the_names_of_sentinel_and_gelf(words: dict[str, str]) -> None:
    record = {
        "TimeGenerated": "2007-06-21T03:14:15.123456Z",
        "Source": "ESE",
        "EventID": 703,
        "EventLog": "Application",
        "Computer": "EX01.corp.example",
        "EventLevelName": "Information",
        "RecordNumber": 4711,
        "level": 4,
        **words,
    }
    assert_is_703(one(json.dumps(record) + "\n"), strings=False)


def test_an_event_of_evtx_dump_is_read_by_its_strings() -> None:
    assert_is_703(one(json.dumps(event())))


def test_a_wrapped_event_is_opened_even_when_it_is_text() -> None:
    wrapped = {"event_record_id": 1, "timestamp": "2020-01-01T00:00:00Z UTC", "data": event()}
    assert_is_703(one(json.dumps(wrapped)))
    assert_is_703(one(json.dumps({**wrapped, "data": json.dumps(event())})))


@pytest.mark.parametrize("number", ["123456", 703])
def test_the_number_of_a_wrapper_is_no_event_id(number: object) -> None:
    event = json.loads(json_line())
    for wrapped in (
        {"_index": "winlogbeat-7", "_id": number, "_score": None, "_source": event},
        {"took": 3, "hits": {"total": 1, "hits": [{"_id": number, "_source": event}]}},
        {"id": number, "data": event},
    ):
        assert one(json.dumps(wrapped)) == one(json_line())


def test_the_raw_event_of_a_search_in_splunk_is_opened() -> None:
    result = {"_time": "2007-06-21T03:14:15Z", "source": "WinEventLog:Application", "_raw": xml()}
    assert one(json.dumps({"result": result})) == one(xml())


CLASSIC = f"""06/21/2007 03:14:15 AM
LogName=Application
EventCode=703
EventType=4
ComputerName=EX01.corp.example
SourceName=ESE
Type=Information
RecordNumber=4711
Keywords=Classic
TaskCategory=Online Defragmentation
OpCode=Info
Message={TEXT_703}"""
BESIDE = {"host": "EX01", "source": "WinEventLog:Application", "sourcetype": "WinEventLog"}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_classic_text_of_splunk_is_read_with_the_time_beside_it(line_end: str) -> None:
    text = CLASSIC.replace("\n", line_end)
    collected = one(json.dumps({"time": TIME, **BESIDE, "index": "main", "event": text}))
    assert_is_703(collected, strings=False)
    assert_is_703(one(json.dumps({"result": {"_time": TIME, "_raw": text}})), strings=False)
    alone = one(json.dumps({"preview": False, "result": {"_raw": text}}))
    assert (alone.time, alone.event_id) == (int(TIME), 703)


def test_the_fields_of_an_event_for_the_collector_of_splunk_are_read() -> None:
    fields = {"EventCode": 703, "SourceName": "ESE", "Message": TEXT_703, "RecordNumber": 4711}
    more = {"LogName": "Application", "Type": "Information", "ComputerName": "EX01.corp.example"}
    found = one(json.dumps({"time": str(TIME), **BESIDE, "event": fields | more}))
    assert_is_703(found, strings=False)
    assert one(json.dumps({"time": TIME, **BESIDE, "event": fields})).computer == "EX01"
    assert one(json.dumps({**BESIDE, "event": event()})) == one(json.dumps(event()))
    assert one(json.dumps({**BESIDE, "event": xml()})) == one(xml())


TAGS = {
    "Channel": "Application",
    "Computer": "EX01.corp.example",
    "EventID": "703",
    "Keywords": "Classic",
    "Level": "4",
    "LevelText": "Information",
    "Source": "ESE",
    "Task": "8",
    "host": "EX01",
}


def test_an_event_of_telegraf_is_read_whichever_fields_are_its_tags() -> None:
    strings = {f"Data_{number}": text for number, text in enumerate(STRINGS_703, 1)}
    fields = {
        "EventRecordID": 4711,
        "Message": TEXT_703,
        "TimeCreated": "2007-06-21T03:14:15.123456Z",
        "Version": 0,
        **strings,
    }
    metric = {"fields": fields, "name": "win_eventlog", "tags": TAGS, "timestamp": 1182395655}
    assert_is_703(one(json.dumps(metric)))
    for name in ("EventID", "Source", "Computer"):
        few = {key: item for key, item in TAGS.items() if key != name}
        moved = {**metric, "tags": few, "fields": {**fields, name: TAGS[name]}}
        assert_is_703(one(json.dumps(moved)))
    assert [each.event_id for each in events(json.dumps({"metrics": [metric, metric]}))] == [
        703
    ] * 2
    text = json.dumps({**metric, "fields": {k: v for k, v in fields.items() if k not in strings}})
    assert_is_703(one(text), strings=False)
    many = 5 * f"{json.dumps(metric)}\n"
    assert [each.strings for each in events(many)] == [STRINGS_703] * 5


def test_objects_of_no_known_form_that_name_ese_are_told() -> None:
    unknown = json.dumps({"what": {"prov": "ESE", "number": 703}}) + "\n"
    fed = read(unknown * 3 + json_line() + "\n" + json.dumps({"what": "THESE"}) + "\n")
    size = len(unknown)
    assert fed.unreadable == [(at, unread("ESE")) for at in (0, size, 2 * size)]
    assert len(fed.records) == 1


def test_attributes_beside_their_elements_are_read() -> None:
    beside = system(
        Provider=None,
        Provider_attributes={"Name": "ESE"},
        EventID=703,
        EventID_attributes={"Qualifiers": 0},
        TimeCreated=None,
        TimeCreated_attributes={"SystemTime": "2007-06-21T03:14:15.123456Z"},
    )
    data = {"Data": list(STRINGS_703)}
    assert_is_703(one(json.dumps({"Event": {"System": beside, "EventData": data}})))


def test_pretty_printed_records_between_their_headings_are_read() -> None:
    text = "".join(f"Record {n}\n{json.dumps(event(), indent=2)}\n" for n in range(3))
    assert len(events(text)) == 3
    assert_is_703(events(text)[2])


def test_the_line_of_a_collector_is_read_by_its_message() -> None:
    assert_is_703(one(json_line() + "\n"), strings=False)


def test_winlogbeat_gives_its_parameters_in_numeric_order() -> None:
    parameters = {f"param{n}": text for n, text in enumerate(STRINGS_703, 1)}
    shuffled = {key: parameters[key] for key in sorted(parameters, reverse=True)}
    beat = {
        "@timestamp": "2007-06-21T03:14:15.123456Z",
        "log": {"level": "information"},
        "message": TEXT_703,
        "winlog": {
            "provider_name": "ESE",
            "event_id": "703",
            "record_id": 4711,
            "channel": "Application",
            "computer_name": "EX01.corp.example",
            "event_data": shuffled,
        },
    }
    assert_is_703(one(json.dumps(beat)))
    dotted = {f"winlog.{key}": value for key, value in beat["winlog"].items()}  # type: ignore[attr-defined]
    del dotted["winlog.event_data"]
    dotted |= {f"winlog.event_data.{key}": value for key, value in shuffled.items()}
    flat = {"@timestamp": beat["@timestamp"], "log.level": "information", **dotted}
    assert_is_703(one(json.dumps(flat)))


def test_an_empty_parameter_that_a_collector_dropped_keeps_its_place() -> None:
    strings = ("NTDS", "600,D,0", "", "C:\\ntds.dit")
    data = {f"param{n}": text for n, text in enumerate(strings, 1) if text}
    found = one(json_line(EventID=700, Message=..., EventData=data))
    assert found.strings == strings
    assert found.database == "C:\\ntds.dit"


def test_winlogbeat_6_is_read() -> None:
    beat = {
        "@timestamp": "2007-06-21T03:14:15.123456Z",
        "source_name": "ESE",
        "event_id": 703,
        "record_number": "4711",
        "log_name": "Application",
        "computer_name": "EX01.corp.example",
        "level": "Information",
        "event_data": {f"param{n}": text for n, text in enumerate(STRINGS_703, 1)},
    }
    assert_is_703(one(json.dumps(beat)))


def test_an_array_of_powershell_objects_is_read_with_its_dates() -> None:
    powershell = {
        "Message": TEXT_703,
        "Id": 703,
        "RecordId": 4711,
        "ProviderName": "ESE",
        "LogName": "Application",
        "MachineName": "EX01.corp.example",
        "TimeCreated": "/Date(1182395655123)/",
        "LevelDisplayName": "Information",
        "Properties": [{"Value": text} for text in STRINGS_703],
    }
    found = events(json.dumps([powershell, powershell], indent=4))
    assert len(found) == 2
    assert found[0].time == epoch("2007-06-21T03:14:15.123")
    assert found[0].strings == STRINGS_703
    wrapped = {"value": [powershell, powershell], "Count": 2}
    assert events(json.dumps(wrapped, indent=4)) == found
    dated = {**powershell, "TimeCreated": {"value": "/Date(1182395655123)/", "DisplayHint": 2}}
    assert one(json.dumps(dated)) == found[0]


def test_concatenated_objects_on_one_line_are_all_read() -> None:
    assert len(events(json_line() * 3)) == 3
    pretty = json.dumps(json.loads(json_line()), indent=1)
    assert len(events(pretty + pretty + ",\n" + pretty)) == 3


def test_strings_decide_and_the_message_fills_what_they_lack() -> None:
    data = {f"param{n}": text for n, text in enumerate(STRINGS_703[:3], 1)}
    found = one(json_line(EventData=data))
    assert found.strings == STRINGS_703[:3]
    assert found.database == "e:\\MDB06\\priv06.edb"
    assert FIELDS_703.items() <= found.fields.items()
    other = one(json_line(EventData=[*STRINGS_703[:4], "7"], Message=TEXT_703))
    assert other.fields["pages_freed"] == 7


def test_event_data_as_xml_text_is_opened() -> None:
    data = "".join(f"<Data>{text}</Data>" for text in STRINGS_703)
    assert_is_703(one(json_line(event_data=data)))


@given(
    st.lists(
        st.sampled_from(
            [
                "<Data>",
                "</Data>",
                "<Data/>",
                "<Data Name='a'>",
                "a",
                "&lt;",
                "<",
                ">",
                "<Binary>",
                " ",
            ]
        )
    )
)
def test_elements_side_by_side_are_split_as_they_are_read_one_by_one(pieces: list[str]) -> None:
    for text in ("".join(pieces), f"<Data>{''.join(pieces)}</Data><Binary></Binary>"):
        assert list(json_values._data_elements(text)) == list(json_values._each_element(text))


def test_what_esewatch_prints_it_reads_back_as_the_same_events() -> None:
    by_strings = event_from_strings(
        provider="ESE", event_id=721, strings=STRINGS_721, time=TIME, computer="EX01", record_id=1
    )
    assert by_strings is not None
    by_text = one(json_line())
    for original in (by_strings, by_text):
        again = one(msgspec.json.encode(event_line(original)))
        assert event_line(again) == event_line(original)
        assert again == original


@pytest.mark.parametrize("key", ["level", "channel"])
def test_half_a_character_in_a_line_of_esewatch_does_not_end_the_reading(key: str) -> None:
    found = one(json.dumps({"event_id": 703, "provider": "ESE", key: "\ud800"}))
    assert found.event_id == 703
    assert msgspec.json.encode(event_line(found))


@pytest.mark.parametrize("number", [2**63, 2**64, 10**400, -(2**63) - 1])
def test_a_number_beyond_64_bits_in_a_line_of_esewatch_is_no_field(number: int) -> None:
    line = {"event_id": 703, "provider": "ESE", "strings": STRINGS_703}
    found = one(json.dumps({**line, "fields": {"seconds": number}}))
    assert found.fields["seconds"] == FIELDS_703["seconds"]


def test_events_of_other_providers_do_not_come_out() -> None:
    foreign = json_line(SourceName="MSExchangeIS Mailbox Store", EventID=9547)
    own = json.dumps({"event_id": 4624, "provider": "Security", "time": "2020-01-01T00:00:00Z"})
    assert events(f"{foreign}\n{own}\n") == []
    assert events(f"{foreign}\n{own}\n", companions=True) == []


def test_an_operators_provider_comes_out() -> None:
    line = json_line(SourceName="MyEseApp")
    assert events(line) == []
    assert one(line, providers=("myeseapp",)).provider == "MyEseApp"


def test_a_companion_comes_out_only_when_asked_for() -> None:
    text = 'The database "SG\\DB" has 3 megabytes of free space after online defragmentation.'
    line = json_line(SourceName="MSExchangeIS Mailbox Store", EventID=1221, Message=text)
    assert events(line) == []
    assert one(line, companions=True).companion


def test_a_broken_line_is_unreadable_and_the_next_is_read() -> None:
    good = json_line()
    fed = read(f"{good[:-20]}\n{good}\n{good[:40]}\n{good}\n")
    assert len(fed.records) == 2
    assert [offset for offset, _ in fed.unreadable] == [0, 2 * len(good) - 18]
    assert all("JSON" in reason for _, reason in fed.unreadable)


def test_half_an_event_that_does_not_name_its_provider_yet_is_unreadable() -> None:
    good = json_line()
    half = '{"Event":{"System":{"Level":{"Value":4}}'
    fed = read(f"{half}\n{good}\n")
    assert len(fed.records) == 1
    assert [offset for offset, _ in fed.unreadable] == [0]


def test_a_scope_without_records_does_not_hide_the_event_behind_it() -> None:
    empty = '{"resourceLogs":[{"resource":{},"scopeLogs":[{"scope":{"name":"ESE"}}]}]}'
    full = '{"resourceLogs":[{"resource":{},"scopeLogs":[{"scope":{},"logRecords":[{}]}]}]}'
    fed = read(f"nothing\n{empty}\n{json_line()}\n{full}\n")
    assert len(fed.records) == 1


def test_a_time_that_cannot_be_read_is_said_and_not_guessed() -> None:
    fed = read(json_line(EventTime="99/99/2007 03:14:15"))
    assert [record.time for record in fed.records if isinstance(record, Event)] == [None]
    assert len(fed.unreadable) == 1
    assert "99/99/2007" in fed.unreadable[0][1]


def test_nesting_without_end_does_no_harm() -> None:
    deep = '{"SourceName": "ESE", "a": ' + "[" * 100_000 + "\n"
    fed = read(deep + json_line() + "\n")
    assert len(fed.records) == 1
    assert len(fed.unreadable) == 1


def test_half_a_character_in_an_escape_becomes_the_replacement_character() -> None:
    found = one(json_line(Hostname="EX\ud800"))
    assert found.computer == "EX\N{REPLACEMENT CHARACTER}"


def test_a_machine_without_a_name_takes_the_configured_one() -> None:
    assert one(json_line(Hostname=...), computer="DC07").computer == "DC07"
    assert one(json_line(), computer="DC07").computer == "EX01.corp.example"


@pytest.mark.parametrize("layout", ["lines", "array", "pretty"])
@given(texts=st.lists(st.text(max_size=30), min_size=1, max_size=8))
def test_any_strings_come_back_as_they_were_written(layout: str, texts: list[str]) -> None:
    strings = ("MSExchangeIS", "3392", "SG06: ", "e:\\priv06.edb", *texts)
    value = event({"#text": list(strings)})
    if layout == "lines":
        text = json.dumps(value, ensure_ascii=False) + "\n"
    else:
        text = json.dumps([value], indent=2 if layout == "pretty" else None)
    assert one(text.encode("utf-8", "replace")).strings == tuple(
        item.encode("utf-8", "replace").decode() for item in strings
    )


def test_the_strings_of_user_data_are_read_as_from_a_log_of_windows() -> None:
    data = {"EventXML": {"#attributes": {"xmlns": "x"}, "Id": "op-1", "Db": "DB1"}}
    system = {"Provider": {"#attributes": {"Name": "ESE"}}, "EventID": 3010}
    found = one(json.dumps({"Event": {"System": system, "UserData": data}}))
    assert found.strings == ("op-1", "DB1")
    deep = json.loads('{"a":' * 600 + "1" + "}" * 600)
    assert one(json.dumps({"Event": {"System": system, "UserData": deep}})).strings == ("",)


def test_elements_that_are_no_strings_are_tolerated() -> None:
    strings = ["NTDS", 3392, None, "ntds.dit", 5]
    event = one(json.dumps({"SourceName": "ESENT", "EventID": 701, "Strings": strings}) + "\n")
    assert (event.database, event.fields) == ("ntds.dit", {"pages_freed": 5})


def test_a_line_of_text_among_objects_is_read_or_told() -> None:
    forwarded = f"2007-06-21T03:14:16Z EX01 ESE 703 {TEXT_703}"
    fed = read(f"{json_line()}\n{forwarded}\n{json_line()}\nEX02 says: {json_line()}\n")
    assert [event.event_id for event in fed.records if isinstance(event, Event)] == [703] * 4
    assert fed.unreadable == []
    told = read(f'{json_line()}\n"SourceName": "ESE", "Level": 4\n')
    assert len(told.records) == 1
    ((place, reason),) = told.unreadable
    assert (place, "a record of ESE in no form" in reason) == (len(json_line()) + 1, True)
