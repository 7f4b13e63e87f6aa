"""Events in tables of separated values."""

import csv
import io
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.logs.formats.reading import (
    FIELDS_703,
    FIELDS_721,
    TEXT_703,
    TEXT_721,
    epoch,
    events,
    one,
    read,
)
from tests.support.ese_text import render

NAMES = ("Message", "Id", "Level", "RecordId", "ProviderName", "LogName", "MachineName",
         "TimeCreated", "LevelDisplayName")  # fmt: skip
ROW = (TEXT_703, "703", "4", "4711", "ESE", "Application", "EX01", "6/21/2007 3:14:15 AM",
       "Information")  # fmt: skip


def table(rows: Sequence[Sequence[str]], separator: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("type_line", ["", "#TYPE System.Diagnostics.Eventing.Reader\r\n"])
def test_the_export_of_get_winevent_is_read(separator: str, type_line: str) -> None:
    found = one(type_line + table([NAMES, ROW], separator))
    assert (found.event_id, found.record_id, found.level) == (703, 4711, "information")
    assert (found.computer, found.channel) == ("EX01", "Application")
    assert found.time == epoch("2007-06-21T03:14:15")
    assert FIELDS_703.items() <= found.fields.items()


def test_a_message_of_several_lines_stays_one_row() -> None:
    row = (TEXT_721, "721", *ROW[2:])
    found = events(table([NAMES, row, ROW, row]))
    assert [event.event_id for event in found] == [721, 703, 721]
    assert FIELDS_721.items() <= found[2].fields.items()


def test_the_export_of_get_eventlog_is_read() -> None:
    names = ("EventID", "MachineName", "Data", "Index", "EntryType", "Message", "Source",
             "ReplacementStrings", "InstanceId", "TimeGenerated")  # fmt: skip
    row = ("703", "EX01", "System.Byte[]", "4711", "Warning", TEXT_703, "ESE", "System.String[]",
           "703", "6/21/2007 3:14:15 AM")  # fmt: skip
    found = one(table([names, row]))
    assert (found.event_id, found.record_id, found.level) == (703, 4711, "warning")
    assert found.time == epoch("2007-06-21T03:14:15")
    condensed = table([names[1:], ("EX01", *row[2:8], "1073742527", row[9])])
    assert one(condensed).event_id == 703


@pytest.mark.parametrize("separator", [",", "\t"])
@pytest.mark.parametrize(
    "names",
    [
        ("Level", "Date and Time", "Source", "Event ID", "Task Category"),
        ("Ebene", "Datum und Uhrzeit", "Quelle", "Ereignis-ID", "Aufgabenkategorie"),
        ("Niveau", "Date et heure", "Source", "ID de l'événement", "Catégorie de la tâche"),
    ],
)
def test_the_export_of_event_viewer_is_known_by_its_shape(
    separator: str, names: Sequence[str]
) -> None:
    row = ("Information", "6/21/2007 3:14:15 AM", "ESE", "721", "Online Defragmentation", TEXT_721)
    found = one(separator.join(names) + "\r\n" + table([row], separator))
    assert (found.event_id, found.provider, found.level) == (721, "ESE", "information")
    assert FIELDS_721.items() <= found.fields.items()


def test_a_quote_that_is_not_closed_costs_one_row() -> None:
    broken = table([ROW]).replace('"703"', '"703', 1)
    fed = read(table([NAMES, ROW]) + broken + table([ROW] * 3))
    assert len(fed.records) == 4
    assert len(fed.unreadable) == 1


def test_a_row_of_too_few_columns_is_unreadable() -> None:
    fed = read(table([NAMES, ROW[:-3], ROW]))
    assert len(fed.records) == 1
    assert fed.unreadable[0][1] == "a row of 6 columns under 9 names"


def test_a_second_table_in_the_same_file_is_read_by_its_own_header() -> None:
    other = table([NAMES[::-1], ROW[::-1]])
    found = events(table([NAMES, ROW]) + other)
    assert len(found) == 2
    assert found[0] == found[1]


def test_events_of_other_providers_do_not_come_out() -> None:
    foreign = ("A text about ESE", "703", "4", "1", "Other", *ROW[5:])
    assert len(events(table([NAMES, foreign, ROW]))) == 1


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=20))
def test_what_is_written_is_read_back(counts: list[int]) -> None:
    rows = []
    for count in counts:
        strings = (
            "ESE",
            "1",
            "SG: ",
            'c:\\a "b", c.edb',
            str(count),
            "6/16/2007",
            "1",
            "2",
            "3",
            "4",
        )
        rows.append((render(703, strings), *ROW[1:]))
    found = events(table([NAMES, *rows]))
    assert [event.fields["pages_freed"] for event in found] == counts
    assert {event.database for event in found} == {'c:\\a "b", c.edb'}
