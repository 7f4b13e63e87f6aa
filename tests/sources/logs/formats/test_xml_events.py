"""Events as XML."""

from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.logs.formats.reading import (
    FIELDS_703,
    STRINGS_703,
    TEXT_703,
    epoch,
    events,
    one,
    read,
)

SPACE = 'xmlns="http://schemas.microsoft.com/win/2004/08/events/event"'


def xml(
    strings: tuple[str, ...] = STRINGS_703,
    *,
    space: str = SPACE,
    provider: str = "ESE",
    event_id: str = "703",
    rendering: str = "",
    end: str = "",
) -> str:
    """An event as Windows writes it."""
    data = end.join(f"<Data>{escape(text)}</Data>" for text in strings)
    return end.join(
        (
            f"<Event {space}>",
            f"<System><Provider Name='{provider}'/>",
            f"<EventID Qualifiers='0'>{event_id}</EventID><Level>4</Level>",
            "<TimeCreated SystemTime='2007-06-21T03:14:15.1234567Z'/>",
            "<EventRecordID>4711</EventRecordID><Channel>Application</Channel>",
            "<Computer>EX01.corp.example</Computer></System>",
            f"<EventData>{data}<Binary></Binary></EventData>{rendering}",
            "</Event>",
        )
    )


def test_an_event_is_read_with_all_its_fields() -> None:
    found = one(xml())
    assert (found.event_id, found.provider, found.record_id) == (703, "ESE", 4711)
    assert found.time == epoch("2007-06-21T03:14:15.123456")
    assert (found.computer, found.channel) == ("EX01.corp.example", "Application")
    assert found.level == "information"
    assert found.strings == STRINGS_703
    assert FIELDS_703.items() <= found.fields.items()


@pytest.mark.parametrize(
    "text",
    [
        xml() * 3,
        "\n".join([xml()] * 3) + "\n",
        "<Events>" + xml() * 3 + "</Events>",
        '<?xml version="1.0"?>\n<Events>\n' + xml(end="\n  ") * 3 + "\n</Events>\n",
        "".join(f'Record {n}\n<?xml version="1.0"?>\n{xml(end=chr(10))}\n' for n in range(3)),
        "\r\n".join([xml(space=SPACE.replace('"', "'"), end="\r\n")] * 3),
        xml(space="") * 3,
    ],
    ids=["one line", "lines", "root", "pretty", "records", "CRLF", "no namespace"],
)
def test_every_layout_gives_the_same_events(text: str) -> None:
    assert events(text) == [one(xml())] * 3


def test_the_rendered_message_fills_what_the_strings_lack() -> None:
    rendering = (
        "<RenderingInfo Culture='de-DE'><Message>"
        + escape(TEXT_703)
        + "</Message><Level>Informationen</Level></RenderingInfo>"
    )
    found = one(xml(STRINGS_703[:3], rendering=rendering))
    assert found.level == "information"
    assert found.database == "e:\\MDB06\\priv06.edb"


def test_entities_of_a_document_type_are_never_expanded() -> None:
    laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<!DOCTYPE x [<!ENTITY a0 "ha">{laughs}<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    good = xml()
    for name in ("&a9;", "&f;"):
        bad = good.replace("SG06: ", name)
        fed = read(f"{bomb}\n<Events>{bad}{good}</Events>")
        assert fed.records == [one(good)]
        assert [place[0] for place in fed.unreadable] == [len(bomb) + 9]


def test_a_document_type_within_an_event_is_refused() -> None:
    bad = xml().replace("<System>", "<!DOCTYPE x><System>")
    fed = read(bad + xml())
    assert len(fed.records) == 1
    assert len(fed.unreadable) == 1


def test_characters_that_xml_forbids_are_replaced() -> None:
    text = xml().replace("SG06: ", "SG\x01&#x1F;&#0;&#31;06: ")
    assert one(text).strings[2] == "SG" + 4 * "\N{REPLACEMENT CHARACTER}" + "06: "


def test_references_are_resolved() -> None:
    text = xml().replace("SG06: ", "S&#x47;&#48;6&amp;&lt;: ")
    assert one(text).strings[2] == "SG06&<: "


def test_an_element_that_does_not_end_is_said_and_the_next_is_read() -> None:
    good = xml()
    fed = read(good[:-200] + "\n" + good + good[:-9])
    assert fed.records == [one(good)]
    assert [reason for _, reason in fed.unreadable] == [
        "the <Event> element has no end: the file ends or another one begins within it"
    ] * 2


def test_events_of_other_providers_do_not_come_out() -> None:
    foreign = xml(provider="Service Control Manager").replace("SG06", "the ESE service")
    assert events(foreign + xml()) == [one(xml())]


def test_an_event_without_an_id_is_unreadable() -> None:
    fed = read(xml(event_id="?"))
    assert fed.records == []
    assert "without an event id" in fed.unreadable[0][1]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])), max_size=8))
def test_any_strings_come_back_as_they_were_written(texts: list[str]) -> None:
    strings = ("MSExchangeIS", "3392", "SG06: ", "e:\\priv06.edb", *texts)
    if any(char in "\ufffe\uffff" for text in texts for char in text):
        return
    assert one(xml(strings)).strings == strings


def test_the_strings_of_user_data_are_read_as_from_a_log_of_windows() -> None:
    data = "<UserData><EventXML xmlns='x'><Id>op-1</Id><Db>DB1</Db></EventXML></UserData>"
    text = xml().partition("<EventData>")[0] + data + "</Event>"
    assert one(text).strings == ("op-1", "DB1")


def test_all_strings_in_one_element_as_python_evtx_writes_them() -> None:
    data = "\n".join(f"<string>{each}</string>" for each in STRINGS_703)
    found = one(xml((data,)))
    assert FIELDS_703.items() <= found.fields.items()
