"""Tables as PowerShell prints them."""

from esewatch.model import Event
from esewatch.sources.logs.formats.tables import read_table
from tests.sources.logs.formats.reading import FIELDS_703, TEXT_703, epoch, events, read

TIME = epoch("2007-06-21T03:14:15")
EVENTLOG = (
    "   Index Time          EntryType   Source                 InstanceID Message\n"
    "   ----- ----          ---------   ------                 ---------- -------\n"
)
WINEVENT = (
    "TimeCreated             Id LevelDisplayName Message\n"
    "-----------             -- ---------------- -------\n"
)


def eventlog_row(index: int, instance: int, source: str = "ESE") -> str:
    return f"{index:8} Jun 21 03:14  Information {source:22} {instance:10} {TEXT_703[:70]}...\n"


def winevent_row(text: str, event_id: int = 703) -> str:
    return f"6/21/2007 3:14:15 AM  {event_id:4} Information      {text}\n"


def ids(records: list[Event]) -> list[tuple[int, int | None]]:
    return [(record.event_id, record.record_id) for record in records]


def test_get_eventlog_gives_record_ids_and_no_times() -> None:
    rows = eventlog_row(12, 703) + eventlog_row(11, 1073744851, "NTDS General")
    fed = read(EVENTLOG + rows + eventlog_row(10, 1073742527))
    found = [record for record in fed.records if isinstance(record, Event)]
    assert ids(found) == [(703, 12), (703, 10)]
    assert [record.time for record in found] == [None, None]
    assert fed.unreadable == [
        (len(EVENTLOG), "dates without a year: the times are unknown"),
    ]


def test_a_header_that_lost_its_indent_is_taken_by_the_order_of_its_names() -> None:
    fed = read(EVENTLOG.replace("   Index", " Index", 1) + eventlog_row(12, 703))
    assert ids([record for record in fed.records if isinstance(record, Event)]) == [(703, 12)]


def test_get_winevent_has_no_provider_and_the_text_decides() -> None:
    text = WINEVENT + winevent_row("Internal event.", 3027) + winevent_row(TEXT_703) * 2 + "\n\n"
    found = events(text)
    assert [(event.event_id, event.provider, event.time) for event in found] == [
        (703, "ESE", TIME)
    ] * 2


def test_a_wrapped_message_is_put_together_over_blank_lines() -> None:
    indent = " " * 44
    wrapped = TEXT_703.replace(" freeing", f"\n{indent}freeing").replace(
        " requiring", f"\n\n{indent}requiring"
    )
    found = events(WINEVENT + winevent_row(wrapped) + winevent_row("Other.", 17))
    assert len(found) == 1
    assert FIELDS_703.items() <= found[0].fields.items()


def test_the_heading_of_a_grouped_table_names_the_provider() -> None:
    group = "\n   ProviderName: {}\n\n" + WINEVENT
    text = group.format("ESENT") + winevent_row("svchost (1,D,0) Etwas.", 326)
    text += group.format("Other") + winevent_row(TEXT_703)
    assert [(event.provider, event.event_id) for event in events(text)] == [("ESENT", 326)]


def test_right_aligned_values_may_begin_before_their_dashes() -> None:
    table = read_table(*WINEVENT.splitlines())
    assert table is not None
    row = table.row("6/13/2025 6:40:45 AM 30279 Information      Text")
    assert row is not None
    assert (row.time, row.event_id, row.level) == ("6/13/2025 6:40:45 AM", 30279, "information")


def test_a_table_of_something_else_is_no_table_of_events() -> None:
    assert read_table("Name Size", "---- ----") is None
    assert read_table("Id Message More", "-- -------") is None


def test_lines_behind_a_table_are_read_as_lines() -> None:
    text = WINEVENT + winevent_row(TEXT_703) + "\n2007-06-21T03:14:15Z ex01 ESE 703 " + TEXT_703
    assert [event.computer for event in events(text)] == ["", "ex01"]
