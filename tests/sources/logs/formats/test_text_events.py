"""Events in plain text: log lines, labelled blocks, pasted XML and JSON."""

import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.ese.raw_event import RawEvent
from esewatch.model import Event
from esewatch.sources.kind import EventOptions
from esewatch.sources.logs.formats.event_builder import Maker
from esewatch.sources.logs.formats.lines import LineReader
from esewatch.sources.logs.formats.prefilter import Prefilter
from esewatch.sources.logs.formats.text_events import TextEvents
from tests.sources.logs.formats.reading import (
    FIELDS_703,
    FIELDS_721,
    STRINGS_703,
    TEXT_703,
    TEXT_721,
    epoch,
    events,
    json_line,
    one,
    read,
    read_in_pieces,
)
from tests.sources.logs.formats.test_xml_events import xml
from tests.support.calls import Calls
from tests.support.processor import processor_seconds

TIME_TEXT = "2007-06-21T03:14:15Z"
TIME = epoch("2007-06-21T03:14:15")
TEXT_223 = (
    "MSExchangeIS (3392) SG06: Starting the backup of log files (range E:\\E000000A1F2C.log - "
    "E:\\E000000A1F2D.log). "
)
NOISE = "2007-06-21 03:14:16 EX01 app[12]: RESET PRESENT these 3 requests (500) failed: retry\n"


def assert_is_703(found: Event, *, computer: str = "", time: float | None = TIME) -> None:
    assert (found.event_id, found.provider, found.time) == (703, "ESE", time)
    assert (found.process, found.ese_instance) == ("MSExchangeIS", "SG06")
    assert found.computer == computer
    assert FIELDS_703.items() <= found.fields.items()


@pytest.mark.parametrize(
    ("line", "computer"),
    [
        ("2007-06-21T03:14:15Z ex01 ESE 703 ", "ex01"),
        ("2007-06-21 03:14:15 ESE[4242]: 703: ", ""),
        ("2007-06-21 03:14:15,000 [ex01] INFO ESE/703: ", "ex01"),
        ("<14>1 2007-06-21T03:14:15Z ex01.corp.example ESE 703 - - ", "ex01.corp.example"),
        ("Information 6/21/2007 3:14:15 AM ESE 703 Online Defragmentation ", ""),
        ("Information\t6/21/2007 3:14:15 AM\tESE\t703\tOnline Defragmentation\t", ""),
        ("[2007-06-21 03:14:15] Warning ex01 ESE: Event ID: 703 ", "ex01"),
        ("2007-06-21 03:14:15 ESE: ", ""),
        ("6/21/2007 3:14:15 AM ", ""),
    ],
)
def test_a_log_line_is_read_in_the_forms_collectors_write(line: str, computer: str) -> None:
    text = NOISE + line + TEXT_703 + "\n" + NOISE
    assert_is_703(one(text), computer=computer)


SNARE = (
    "MSWinEventLog\t1\tApplication\t77\tThu Jun 21 03:14:15 2007\t703\tESE\tN/A\tN/A\tInformation\t"
)
CEF = "CEF:0|Microsoft|Microsoft Windows||ESE:703|Event|Low| externalId=703 dvchost=other msg="


@pytest.mark.parametrize("text", [TEXT_703, "MSExchangeIS (3392) SG06: andere Worte"])
@pytest.mark.parametrize(
    "line",
    [
        f"2007-06-21T03:14:15Z ex01 {SNARE}ex01.corp.example\tOnline Defragmentation\t\t",
        f"<14>Jun 21 03:14:15 ex01 {SNARE}ex01.corp.example\tOnline Defragmentation\t\t",
        f"2007-06-21T03:14:15.000000+00:00 ex01 {SNARE}x\tOnline Defragmentation\t\t".replace(
            "\t", "#011"
        ),
        f"2007-06-21T03:14:15Z ex01 {CEF}",
        '2007-06-21T03:14:15Z ex01 EvntSLog: Thu Jun 21 03:14:15 2007: ex01/ESE (703) - "',
        "2007-06-21 03:14:15\tDaemon.Info\tex01\tJun 21 03:14:15 ex01 ESE: 703: ",
        "<14>1 2007-06-21T03:14:15Z ex01 ESE - - - 703: ",
    ],
    ids=["snare", "snare-no-year", "snare-rsyslog", "cef", "eventreporter", "kiwi", "rfc5424"],
)
def test_a_line_of_a_forwarder_names_its_computer(line: str, text: str) -> None:
    found = one(NOISE + line + text + "\n" + NOISE)
    snare = "x" if "#011" in line else "ex01.corp.example" if "MSWinEventLog" in line else "ex01"
    assert (found.computer, found.event_id, found.time) == (snare, 703, TIME)
    assert (found.process, found.ese_instance) == ("MSExchangeIS", "SG06")
    assert bool(found.database) == (text == TEXT_703)


@pytest.mark.parametrize(
    "line",
    [
        "2007-06-21 03:14:15 one of many words ESE 703 ",
        "6/21/2007 3:14:15 AM Information Application log of ESE 703 ",
        "2007-06-21T03:14:15Z Error from a script: ESE 703 ",
        "2007-06-21T03:14:15Z ESE 703 ",
        "2007-06-21T03:14:15Z ESE: 703: ",
        "2007-06-21T03:14:15Z NTDS ISAM: 703: ",
        "Jun 21 03:14:15 2007 one of many words ESE 703 ",
    ],
)
def test_words_of_no_forwarder_are_no_computer(line: str) -> None:
    assert one(line + TEXT_703 + "\n").computer == ""


@pytest.mark.parametrize(
    ("process_id", "kind", "data", "event_id"),
    [
        ("3392", "-", "-", 703),
        ("721", "-", "-", 703),
        ("721", "703", "-", 703),
        ("-", "-", '[NXLOG@14506 EventType="INFO" EventID="703" Channel="Application"]', 703),
        ("0", "703", '[a b="\\]"][c]', 703),
    ],
)
def test_in_syslog_the_number_of_a_process_is_no_event_id(
    process_id: str, kind: str, data: str, event_id: int
) -> None:
    """RFC 5424: PROCID stands before MSGID and the structured data, which may tell the id."""
    line = f"<14>1 2007-06-21T03:14:15Z ex01 ESE {process_id} {kind} {data} {TEXT_703}\n"
    assert_is_703(one(NOISE + line + NOISE), computer="ex01")
    text = TEXT_703.replace("priv06", "ESENT")
    found = one(f"<14>1 2007-06-21T03:14:15Z ex01 ESE {process_id} {kind} {data} {text}\n")
    assert_is_703(found, computer="ex01")
    named = one(f"<14>1 2007-06-21T03:14:15Z ex01 nxlog 1 - {data} ESE: 703: {TEXT_703}\n")
    assert_is_703(named, computer="ex01")


def test_headers_of_syslog_behind_each_other_do_no_harm() -> None:
    line = "<14>1 2007-06-21T03:14:15Z ex01 nxlog 1 - - " * 20_000
    assert len(read(f"{line}{TEXT_703}\n{TEXT_703}\n").records) >= 1


def test_words_of_another_event_than_the_id_tell_neither_task_nor_fields() -> None:
    found = one(f"2007-06-21 03:14:15 ESE 721 {TEXT_703}\n")
    assert (found.event_id, found.task, found.stage, found.fields) == (721, None, None, {})
    assert found.strings == (TEXT_703,)


@pytest.mark.parametrize(
    "between",
    [
        'ESE [NXLOG@14506 EventRecordID="5001" EventID="703"] ',
        "ESE [INF] ",
        "CEF:0|Microsoft|Windows||ESE:703|Defragmentation|8| eventId=1 externalId=703 msg=",
        'ESE EventID=703 Level=Information Message="',
        "ESE N/A\tN/A\tInformation\tEX01\tOnline Defragmentation\t\t",
    ],
)
def test_what_a_shipper_puts_before_the_process_is_no_part_of_it(between: str) -> None:
    found = one(f"2007-06-21T03:14:15Z ex01 {between}{TEXT_703}\n")
    assert (found.event_id, found.process, found.ese_instance) == (703, "MSExchangeIS", "SG06")


def test_a_bare_message_is_told_by_its_words() -> None:
    assert_is_703(one(TEXT_703 + "\n"), time=None)


def test_a_provider_of_two_words_is_known() -> None:
    text = TEXT_703.replace("MSExchangeIS", "NTDS").replace("SG06", "NTDSA")
    for provider in ("NTDS ISAM", "ADAM [Shop 2] ISAM"):
        found = one(f"2007-06-21T03:14:15Z dc01 {provider} 703 {text}\n")
        assert (found.provider, found.process, found.computer) == (provider, "NTDS", "dc01")


def test_the_lines_of_a_summary_belong_to_their_event() -> None:
    line = f"2007-06-21 03:14:15 ESE 721 {TEXT_721}\n"
    found = events(NOISE + line + NOISE + line + "\nend\n" + line)
    assert len(found) == 3
    assert all(FIELDS_721.items() <= event.fields.items() for event in found)


def test_a_wrapped_message_is_put_together() -> None:
    wrapped = TEXT_703.replace(" freeing", "\n    freeing").replace(" ran for", "\nran for")
    assert_is_703(one(f"2007-06-21 03:14:15 ESE 703 {wrapped}\n{NOISE}"))


def test_a_line_that_only_speaks_of_ese_is_no_event() -> None:
    text = "2007-06-21 03:14:15 the ESE team met\nESENT is a database engine\nESE 2023 agenda\n"
    assert events(NOISE * 3 + text) == []


def test_a_localised_text_keeps_what_its_form_tells() -> None:
    text = "NTDS (536,D,0) NTDSA: Das Datenbankmodul hat etwas getan."
    found = one(f"2007-06-21 03:14:15 ESENT 326 {text}\n")
    assert (found.event_id, found.process, found.ese_instance) == (326, "NTDS", "NTDSA")


VIEWER = (
    "Log Name:      Application\nSource:        ESE\nDate:          6/21/2007 3:14:15 AM\n"
    "Event ID:      703\nTask Category: Online Defragmentation\nLevel:         Information\n"
    "Keywords:      Classic\nUser:          N/A\nComputer:      EX01\nDescription:\n"
)
CLASSIC = (
    "Event Type:\tInformation\nEvent Source:\tESE\nEvent Category:\tOnline Defragmentation \n"
    "Event ID:\t703\nDate:\t\t6/21/2007\nTime:\t\t3:14:15 AM\nUser:\t\tN/A\nComputer:\tEX01\n"
    "Description:\n"
)
WEVTUTIL = (
    "Event[0]:\n  Log Name: Application\n  Source: ESE\n  Date: 2007-06-21T03:14:15.000\n"
    "  Event ID: 703\n  Task: Online Defragmentation\n  Level: Information\n  Opcode: N/A\n"
    "  Keyword: Classic\n  User: N/A\n  User Name: N/A\n  Computer: EX01\n  Description: \n"
)
GERMAN = (
    "Protokollname: Application\nQuelle:        ESE\nDatum:         21.06.2007 03:14:15\n"
    "Ereignis-ID:   703\nAufgabenkategorie:Onlinedefragmentierung\nEbene:         Informationen\n"
    "Schlüsselwörter:Klassisch\nBenutzer:      Nicht zutreffend\nComputer:      EX01\n"
    "Beschreibung:\n"
)
FORMAT_LIST = (
    "TimeCreated  : 6/21/2007 3:14:15 AM\nProviderName : ESE\nId           : 703\n"
    "MachineName  : EX01\nMessage      : "
)


@pytest.mark.parametrize(
    "block",
    [VIEWER, CLASSIC, WEVTUTIL, GERMAN, FORMAT_LIST],
    ids=["viewer", "classic", "wevtutil", "german", "format-list"],
)
@pytest.mark.parametrize("gap", ["", "\n", "\r\n\r\n"])
def test_labelled_blocks_are_read_one_after_another(block: str, gap: str) -> None:
    foreign = block.replace("ESE", "Other").replace("703", "17")
    text = "".join(f"{head}{TEXT_703}\n{gap}" for head in (block, foreign, block, block))
    found = events(text)
    assert len(found) == 3
    for event in found:
        assert_is_703(event, computer="EX01")


def format_list(*, wrapped: bool, first: bool) -> str:
    """What `Format-List *` prints of an event of Get-WinEvent, its message first or last."""
    text = TEXT_703
    if wrapped:
        text = textwrap.fill(text, 80, subsequent_indent=" " * 15)
    message = f"Message      : {text}\n"
    rest = (
        "Id           : 703\nVersion      : \nLevel        : 4\nRecordId     : 4711\n"
        "ProviderName : ESE\nProviderId   : \nLogName      : Application\nMachineName  : ex01\n"
        "TimeCreated  : 6/21/2007 3:14:15 AM\nBookmark     : System.Diagnostics.EventBookmark\n"
    )
    return f"\n{message}{rest}\n" if first else f"\n{rest}{message}\n"


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_a_formatted_list_is_one_event_wherever_its_message_stands(
    wrapped: bool, first: bool
) -> None:
    found = events(3 * format_list(wrapped=wrapped, first=first))
    assert len(found) == 3
    for each in found:
        assert_is_703(each, computer="ex01")
        assert (each.record_id, each.database) == (4711, STRINGS_703[3])
    data = (3 * format_list(wrapped=wrapped, first=first)).encode()
    assert read_in_pieces(data, range(50, len(data), 70))[0] == found


@pytest.mark.parametrize(
    "labels",
    [
        "Nom du journal :Application|Source :       ESE|Date :         21/06/2007 03:14:15|"
        "ID de l’événement :703|Catégorie de la tâche :(1)|Niveau :       Information|"
        "Mots clés :    Classique|Utilisateur :  N/A|Ordinateur :   ex01|Description :",
        "Nombre de registro:Application|Origen:        ESE|Fecha:         21/06/2007 03:14:15|"
        "Id. del evento:703|Categoría de la tarea:(1)|Nivel:         Información|"
        "Palabras clave:Clásico|Usuario:       No disponible|Equipo:        ex01|Descripción:",
        "Nome do Log:   Application|Fonte:         ESE|Data:          21/06/2007 03:14:15|"
        "Identificação do Evento:703|Categoria da Tarefa:(1)|Nível:         Informações|"
        "Palavras-chave:Clássico|Usuário:       N/D|Computador:    ex01|Descrição:",
        "Protokollname: Application|Quelle:        ESE|Datum:         21.06.2007 03:14:15|"
        "Ereignis-ID:   703|Aufgabenkategorie:(1)|Ebene:         Informationen|"
        "Schlüsselwörter:Klassisch|Benutzer:      n. v.|Computer:      ex01|Beschreibung:",
    ],
)
def test_long_labels_may_stand_right_before_their_value(labels: str) -> None:
    """As Event Viewer copies them in other languages."""
    block = labels.replace("|", "\n") + f"\n{TEXT_703}\n"
    for found in events(block + block):
        assert_is_703(found, computer="ex01")
        assert found.level == "information"


def test_names_that_are_not_utf_8_are_told_once_a_file() -> None:
    text = TEXT_703.replace("priv06", "M\xfcller")
    line = f"2007-06-21T03:14:15Z ex01 ESE 703 {text}\n".encode("cp1252")
    fed = read(3 * line)
    assert len(fed.records) == 3
    (place,) = fed.unreadable
    assert "not UTF-8" in place[1]


def test_a_block_with_its_xml_is_one_event_with_the_strings_and_exact_time() -> None:
    text = f"{VIEWER}{TEXT_703}\nEvent Xml:\n{xml(end=chr(10))}\n\n{VIEWER}{TEXT_703}\n"
    found = events(text)
    assert [event.strings for event in found] == [STRINGS_703, ()]
    assert found[0].time == epoch("2007-06-21T03:14:15.123456")


def test_the_strings_windows_lists_without_a_description_are_used() -> None:
    listed = "\n".join(STRINGS_703)
    text = (
        f"{VIEWER}The description for Event ID 703 from source ESE cannot be found. Either the "
        "component that raises this event is not installed on your local computer.\n\n"
        f"The following information was included with the event: \n\n{listed}\n"
    )
    assert_is_703(one(text), computer="EX01")


def test_pasted_xml_and_json_between_lines_are_read() -> None:
    text = f"{NOISE}{NOISE}{NOISE}{NOISE}{xml(end=chr(10))}\n{NOISE}{json_line()}\n{NOISE}"
    assert [event.strings for event in events(text)] == [STRINGS_703, ()]


def test_a_foreign_event_that_quotes_an_ese_text_is_none_of_ours() -> None:
    text = VIEWER.replace("ESE", "Monitor") + "Seen on EX02: " + TEXT_703 + "\n"
    assert events(text) == []


def test_a_companion_block_comes_out_only_when_asked_for() -> None:
    head = VIEWER.replace("ESE", "MSExchangeIS Mailbox Store").replace("703", "1221")
    text = head + 'The database "SG\\DB" has 3 megabytes of free space after online defrag.\n'
    assert events(text) == []
    found = one(text, companions=True)
    assert (found.event_id, found.companion) == (1221, True)


def test_an_event_without_a_known_text_or_id_is_unreadable() -> None:
    fed = read(f"{NOISE}2007-06-21 03:14:15 ESE NTDS (1,D,0) NTDSA: Etwas ist geschehen.\n")
    assert fed.records == []
    assert fed.unreadable == [(len(NOISE), "an event of ESE without an event id")]


def test_a_time_without_a_year_is_unknown_and_that_is_said_once() -> None:
    fed = read(f"Nov 13 06:40:12 ex01 ESE[9]: {TEXT_703}\n" * 3)
    assert [record.time for record in fed.records if isinstance(record, Event)] == [None] * 3
    assert len(fed.unreadable) == 1
    assert "without a year" in fed.unreadable[0][1]


def test_unreadable_places_are_bounded() -> None:
    line = "2007-06-21 03:14:15 ESE NTDS (1,D,0) NTDSA: Etwas ist geschehen.\n"
    fed = read(line * 3000)
    assert len(fed.unreadable) == 1000
    assert "2001 more" in fed.unreadable[-1][1]


def test_a_process_that_is_named_like_a_provider_gives_no_event_id() -> None:
    fed = read("2007-06-21 03:14:15 ex01 ESE (1234) Etwas ist geschehen.\n")
    assert fed.records == []


@pytest.mark.parametrize(
    "line",
    [
        b"<Event >\n",
        b"<Event >ESE\n\n",
        b"Event ID: 700\n",
        b"Source: ESE\n",
        b"-- -- \n",
        b"ESE\n",
    ],
)
def test_time_grows_with_the_size_of_hostile_text(line: bytes) -> None:
    def reading(count: int) -> Callable[[], object]:
        return lambda: read(b"x\n" * 5 + line * count)

    reading(5)()
    with Calls() as calls:
        few, many = calls.of(reading(100)), calls.of(reading(400))
    assert 0 < many < 5 * few
    # What a pattern does in one call is not counted; the square of so much would take minutes.
    assert processor_seconds(reading(8_000)) < 5


class Copied(bytes):
    """Bytes that count how many of them are copied by slices."""

    total = 0

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if isinstance(found, bytes):
            self.total += len(found)
        return found


def copied(data: bytes) -> int:
    """How many bytes are copied to read these from the second line on."""
    line = Copied(data)
    TextEvents(Maker(EventOptions()), Prefilter()).feed(line, final=True)
    return line.total


@pytest.mark.parametrize(
    "element",
    [b"<Event></Event>", b"<Event >ESE</Event> ", b"</Events><Events> <Event>a</Event>\t"],
)
def test_many_elements_in_one_line_cost_as_much_as_they_are_long(element: bytes) -> None:
    few, many = (copied(b"x\n" + element * count + b"\n") for count in (100, 400))
    assert 0 < many < 5 * few


def test_elements_in_one_line_are_found_behind_what_may_stand_before_one() -> None:
    element = xml().replace("\n", " ").strip()
    whole = [element, f" {element}", f"a <Events>{element}", f"{element}{element}"]
    for line in [*whole, f"{element}\t </Events><Events> {element}"]:
        text = f"2007-06-21T03:14:15Z some text\n{line}\n"
        assert len(events(text)) == line.count(element)
    assert one(f"2007-06-21T03:14:15Z some text\nx {element}\n") == one(element)


@pytest.mark.parametrize("word", ["Event ID: 7", "-- --", "InstanceId : 7", "ProviderName: x"])
def test_the_words_of_a_label_within_a_line_tell_nothing(word: str) -> None:
    line = f'2007-06-21 03:14:15 EX01 api {{"text": {word}}}\n'
    told = read(line * 3)
    assert (told.records, told.unreadable, told.consumed) == ([], [], 3 * len(line))
    assert_is_703(
        one(f"{line}2007-06-21T03:14:15Z ex01 ESE 703 {TEXT_703}\n{line}"), computer="ex01"
    )


def test_a_heading_in_many_spellings_is_read_alike_each_time() -> None:
    lines = [f"2007-06-21 03:14:15 ex{number} ESE 703 {TEXT_703}\n" for number in range(3)]
    found = events("".join(lines * 3).replace(" ESE 703 ", " [Warning] ESE 703 "))
    assert [event.computer for event in found] == ["ex0", "ex1", "ex2"] * 3
    assert {event.level for event in found} == {"warning"}


@pytest.mark.parametrize(
    ("provider", "event_id"),
    [("ADAM [CRM East] General", 2103), ("NTDS Replication", 2095), ("MSExchangeRepl", 3147),
     ("ExchangeStoreDB", 126), ("Microsoft-Exchange-HighAvailability", 308)],
)  # fmt: skip
def test_a_companion_in_one_line_is_told_by_its_provider(provider: str, event_id: int) -> None:
    line = f"2021-04-12 09:53:49 Error EXC01 {provider} {event_id} some words\n"
    found = one(line, companions=True)
    assert (found.provider, found.event_id, found.companion) == (provider, event_id, True)


@pytest.mark.parametrize("companions", [False, True])
def test_the_process_of_a_text_is_not_taken_for_a_provider(companions: bool) -> None:
    """MSExchangeIS logs companion events of its own."""
    found = LineReader((), companions=companions).read(TEXT_703)
    assert found is not None
    assert (found[0].provider, found[0].message) == ("", TEXT_703)
    named = LineReader((), companions=companions).read(f"{TIME_TEXT} ESE 703 {TEXT_703}")
    assert named is not None and (named[0].provider, named[0].event_id) == ("ESE", 703)


HEADS = [
    "EX01 ESE {} ", "EX01 ESENT {} ", "[Warning] ex02 ESE: {} ", "EX01 ESE Event ID: {} ",
    "EX01 MyApp {} ", "ESE[12]: {}: ", "", "EX01 ESE BACKUP {} ", "EX01 NTDS ISAM {} General ",
    "Error ESE/{}: (3) ", "EX01 ESE {} (12) ",
]  # fmt: skip
MOMENTS = [
    "2007-06-21 03:14:{:02} ", "2007-06-21T03:14:{:02}Z ", "2007-06-21T03:14:{:02}.123+02:00 ",
    "2007-06-21 03:14:{:02} Z ", "2007-06-21 03:14:{:02}.5 ", "6/21/2007 3:14:{:02} AM ",
    "2007-06-21 25:14:{:02} ", "2007-06-21 03:14:{:02} PM ",
]  # fmt: skip
ODD = [
    "\tat com.example.Foo(Foo.java:12)", "", "Event ID: 703", "Source: ESE", '{"a": 1}', NOISE[:-1],
    "2007-06-21 03:14:16 EX01 ESE 703 The description for Event ID 703 from source ESE cannot be",
    "<Event xmlns='x'>", "---- ---- ----", "  more of the text (5) ESE: ",
]  # fmt: skip


@st.composite
def dated_lines(draw: st.DrawFn) -> str:
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(ODD))
    head = draw(st.sampled_from(MOMENTS)).format(draw(st.integers(0, 61)))
    event_id, text = draw(st.sampled_from([(703, TEXT_703), (721, TEXT_721), (223, TEXT_223)]))
    text = text.replace("SG06", draw(st.sampled_from(["SG06", "SG07"])))
    number = str(draw(st.sampled_from([1, 42, 987_654])))
    text = " ".join(text.replace("42794", number).replace("124919", number).split())
    text = text.replace("0A1F2C", draw(st.sampled_from(["0A1F2C", "123456", "FFFFFF"])))
    end = draw(st.sampled_from(["", "", "", " ", '"', "\r", ' and "more"', " caf\u00e9", "..."]))
    wrong = draw(st.sampled_from([event_id, event_id, event_id, 700]))
    return head + draw(st.sampled_from(HEADS)).format(wrong) + text + end


@given(st.lists(dated_lines(), min_size=1, max_size=6), st.lists(st.integers(0, 4_000), max_size=3))
def test_a_line_reads_the_same_whatever_was_read_before(few: list[str], cuts: list[int]) -> None:
    data = "\n".join([*few, *reversed(few), *few]).encode()
    found, whole = read_in_pieces(data, cuts), read(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextEvents, "_known_lines", lambda _self, _data, at, _harvest: at)
        alone, careful = read_in_pieces(data, cuts), read(data)
    assert (found, whole) == (alone, careful)


def test_lines_like_one_read_before_are_not_examined_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"2007-06-21 03:14:{second:02} ex01 ESE 703 {TEXT_703}\n" for second in range(60)]
    examined: list[str] = []
    careful = LineReader.read

    def read_and_noted(reader: LineReader, text: str) -> tuple[RawEvent, bool] | None:
        examined.append(text)
        return careful(reader, text)

    monkeypatch.setattr(LineReader, "read", read_and_noted)
    found = events("".join(lines))
    assert [event.time for event in found] == [TIME - 15 + second for second in range(60)]
    assert [text for text in examined if text in lines] == [lines[0], lines[-1]]
