"""Events from rendered text: the same fields as from positions, wherever the text allows."""

import csv
import gzip
import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.ese.catalogue.event_row import Kind
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.model import Event
from tests.support.decoding import event_from_strings, event_from_text
from tests.support.each import of_each
from tests.support.ese_text import RENDERED, render
from tests.support.samples import sample

PRIV06 = "e:\\MDB06\\priv06.edb"
PRIV3 = "J:\\sg3\\priv3.edb"
PREFIX = ("MSExchangeIS", "3392", "SG06: ")
S703 = (*PREFIX, PRIV06, "42794", "6/16/2007", "124919", "7", "4", "14", "73")
S721 = (*PREFIX, PRIV3, "6/19/2007", "208", "2", "1", "5850768", "0", "72682")
S722 = (*PREFIX, PRIV3, "6/20/2007", "369", "1", "1", "5850768", "0", "72681", "4379723", "33759",
        "1210764", "57214", "0")  # fmt: skip
S735 = (*PREFIX, PRIV06, "6/16/2007 1:00:00 AM", "691200", "8", "7", "1000", "250, 1", "70", "800",
        "60", "200")  # fmt: skip


def read(message: str, provider: str = "", event_id: int | None = None) -> Event:
    """The event of this text."""
    event = event_from_text(message=message, provider=provider, event_id=event_id)
    assert event is not None
    return event


def by_position(event_id: int, strings: tuple[str, ...]) -> Event:
    """The event of these strings."""
    event = event_from_strings(provider="ESE", event_id=event_id, strings=strings)
    assert event is not None
    return event


def facts(event: Event) -> tuple[object, ...]:
    """All that text and positions must agree on."""
    return (event.event_id, event.process, event.instance_state, event.engine_version,
            event.ese_instance, event.database, event.task, event.stage, event.level,
            event.fields)  # fmt: skip


@pytest.mark.parametrize(("event_id", "strings"), [(703, S703), (721, S721), (722, S722)])
def test_the_published_examples_read_the_same_from_text(
    event_id: int, strings: tuple[str, ...]
) -> None:
    event = read(render(event_id, strings))
    assert facts(event) == facts(by_position(event_id, strings))
    assert (event.provider, event.strings) == ("ESE", ())


def test_the_published_703_has_exactly_its_figures_from_text() -> None:
    assert read(render(703, S703)).fields == {
        "pages_freed": 42794, "pass_started": "6/16/2007", "pass_started_date": "2007-06-16",
        "seconds": 124919, "invocations": 7, "days": 4, "completions": 14, "lifetime_days": 73,
    }  # fmt: skip


def test_the_published_722_has_exactly_its_figures_from_text() -> None:
    assert read(render(722, S722)).fields == {
        "pass_started": "6/20/2007", "pass_started_date": "2007-06-20", "seconds": 369,
        "invocations": 1, "days": 1, "pages_seen": 5850768, "bad_checksums": 0,
        "uninitialized_pages": 72681, "pages_unchanged": 4379723, "unused_pages_zeroed": 33759,
        "used_pages_seen": 1210764, "deleted_records_zeroed": 57214,
        "unreferenced_chunks_zeroed": 0,
    }  # fmt: skip


@pytest.mark.parametrize("words", ["is starting", "started"])
def test_the_version_of_the_engine_comes_out_of_either_wording(words: str) -> None:
    engine = f"The database engine (08.01.0240.0005) {words} a new instance (1)."
    event = read(f"MSExchangeIS (3392) First Storage Group: {engine}")
    assert (event.event_id, event.ese_instance) == (102, "First Storage Group")
    assert event.fields == {
        "instance_number": 1, "version_major": 8, "version_minor": 1, "version_build": 240,
        "version_revision": 5,
    }  # fmt: skip
    plain = read(
        "svchost (3392) SG1: The database engine started a new instance (1). (Time=0 seconds)"
    )
    assert plain.event_id == 105


VALUES = {
    Kind.DATABASE: PRIV06, Kind.FILE: PRIV06, Kind.TEXT: "[00ff00ff00ff00ff]",
    Kind.ERROR: "-1018 (0xfffffc06)", Kind.DATE: "6/16/2007", Kind.STATS: "1234, 5",
    Kind.OWNED: " / 1000 = 12.5",
}  # fmt: skip


def example(event_id: int) -> tuple[str, ...]:
    """Strings with a different number in every place."""
    return (*PREFIX, *(VALUES.get(param.kind, str(1000 + place))
                       for place, param in enumerate(CATALOGUE[event_id].params)))  # fmt: skip


@of_each([number for number in RENDERED if number != 735])
def test_text_and_positions_agree(event_id: int) -> None:
    strings = example(event_id)
    text = render(event_id, strings)
    expected = facts(by_position(event_id, strings))
    assert facts(read(text)) == expected
    assert facts(read(text, "ESE", event_id)) == expected
    assert facts(read(text.replace(" ", "\n   "), "ESE")) == expected


def test_the_wrong_text_of_735_gives_only_what_it_has_right() -> None:
    event, exact = read(render(735, S735)), by_position(735, S735)
    wrong = {"record_page_free_bytes", "record_pages", "lv_page_free_bytes", "lv_pages"}
    assert exact.fields["record_page_free_bytes"] == 70
    assert event.fields == {k: v for k, v in exact.fields.items() if k not in wrong}
    assert (event.fields["threshold_days"], event.fields["run_bad_checksums"]) == (7, 1)


@pytest.mark.parametrize(
    "summary",
    ["Pages seen: 5,850,768\nBad checksums: 0\nUninitialized pages: 72,682",
     "Pages seen = 5850768\r\n  Bad checksums = 0\r\n  Uninitialized pages = 72682",
     "5.850.768 pages seen, 0 bad checksums, 72.682 uninitialized pages",
     "5 850 768 Pages Seen 0 Bad Checksums 72 682 Uninitialized Pages"],
)  # fmt: skip
def test_the_summary_is_read_in_any_label_form(summary: str) -> None:
    head = render(721, S721).partition("5850768")[0]
    assert read(head + summary).fields == by_position(721, S721).fields


def test_the_labels_of_722_are_not_mixed_up_when_they_stand_first() -> None:
    labels = {"Pages seen": 1, "Bad checksums": 2, "Uninitialized pages": 3,
              "Pages unchanged since last zero": 4, "Unused pages zeroed": 5,
              "Used pages seen": 6, "Deleted records zeroed": 7,
              "Unreferenced data chunks zeroed": 8}  # fmt: skip
    head = render(722, S722).partition("5850768")[0]
    text = head + "".join(f"\n{label}: {value}" for label, value in reversed(labels.items()))
    fields = read(text).fields
    assert [fields[name] for name in (
        "pages_seen", "bad_checksums", "uninitialized_pages", "pages_unchanged",
        "unused_pages_zeroed", "used_pages_seen", "deleted_records_zeroed",
        "unreferenced_chunks_zeroed")] == [1, 2, 3, 4, 5, 6, 7, 8]  # fmt: skip


@pytest.mark.parametrize("event_id", [701, 703])
def test_a_completion_of_exchange_2003_has_only_the_database(event_id: int) -> None:
    event = read(render(event_id, (*PREFIX, PRIV06)))
    assert (event.event_id, event.database, event.fields) == (event_id, PRIV06, {})


def test_the_old_words_of_700_are_known() -> None:
    event = read("NTDS (260) Online defragmentation is beginning a pass on database NTDS.DIT.")
    assert (event.event_id, event.database, event.provider) == (700, "NTDS.DIT", "ESENT")


def test_the_old_words_of_474_have_the_page_from_the_offset() -> None:
    event = read(
        "The database page read from the file 'E:\\NTDS\\ntds.dit' at offset 3846455296 "
        "(0x00000000e5444000) for 8192 (0x00002000) bytes failed verification due to a page "
        "checksum mismatch.  The expected checksum was 323677604 (0x134aeda4) and the actual "
        "checksum was 2081515684 (0x7c1168a4).  The read operation will fail with error -1018 "
        "(0xfffffc06).  If this condition persists, restore.",
        "NTDS ISAM",
        474,
    )
    assert event.database == "E:\\NTDS\\ntds.dit"
    assert event.fields == {
        "file": "E:\\NTDS\\ntds.dit", "offset": 3846455296, "bytes": 8192, "error": -1018,
        "expected": "323677604 (0x134aeda4)", "actual": "2081515684 (0x7c1168a4)",
        "page_number": 469537,
    }  # fmt: skip


def test_other_words_before_the_offset_leave_it_to_its_digits() -> None:
    event = read(
        "MSExchangeIS (3392) SG06: The database page read from the file 'e:\\MDB06\\priv06.edb' "
        "beginning at 38600704 (0x00000000024d0000) for 8192 (0x00002000) bytes failed "
        "verification due to a page checksum mismatch.",
        "ESE",
        474,
    )
    assert event.database == "e:\\MDB06\\priv06.edb"
    assert (event.fields["offset"], event.fields["page_number"]) == (38600704, 4711)


@pytest.mark.parametrize("dots", ["...", "…", " ... "])
def test_a_cut_message_has_the_fields_that_are_whole(dots: str) -> None:
    text = render(703, S703)
    event = read(text[: text.index("4 days") + 1] + dots, "ESE", 703)
    assert event.fields == {
        "pages_freed": 42794, "pass_started": "6/16/2007", "pass_started_date": "2007-06-16",
        "seconds": 124919, "invocations": 7,
    }  # fmt: skip
    assert event.database == PRIV06


@given(st.sampled_from(RENDERED), st.integers(0, 900))
def test_a_cut_message_never_has_another_value(event_id: int, length: int) -> None:
    strings = example(event_id)
    text, exact = render(event_id, strings), by_position(event_id, strings)
    event = read(text[: length % len(text)] + "...", "ESE", event_id)
    assert event.database in ("", exact.database)
    for name, value in event.fields.items():
        assert exact.fields[name] == value


def test_the_id_of_a_cut_message_is_told_by_what_is_left() -> None:
    text = "NTDS (828,D,0) NTDSA: Online defragmentation has completed a full pass ..."
    event = read(text)
    assert (event.event_id, event.provider, event.ese_instance) == (701, "NTDS ISAM", "NTDSA")
    assert event.database == ""


def test_a_scan_of_a_current_engine_is_not_taken_for_a_2007_one() -> None:
    text = "svc (1,R,2) x: Online Maintenance Database Checksumming background task has completed"
    assert read(text + " for database...").event_id == 732
    assert read(text.replace("1,R,2", "1") + " for database...").event_id == 721


@pytest.mark.parametrize(
    ("who", "instance", "provider"),
    [("MSExchangeIS", "SG06: ", "ESE"), ("Information Store - DB1", "DB1: ", "ESE"),
     ("edgetransport", "mail.que: ", "ESE"), ("svchost", "x: ", "ESENT"),
     ("NTDS", "NTDSA: ", "NTDS ISAM"), ("NTDS", "", "ESENT"), ("lsass", "", "ESENT")],
)  # fmt: skip
def test_an_unnamed_provider_is_the_usual_one_of_its_process(
    who: str, instance: str, provider: str
) -> None:
    event = read(render(700, (who, "12,D,0", instance, PRIV06)))
    assert (event.provider, event.process, event.ese_instance) == (
        provider, who, instance.removesuffix(": "),
    )  # fmt: skip


@pytest.mark.parametrize(
    "instance",
    ["First Storage Group", "\\\\.\\C:\\System Volume Information\\DFSR\\x\\dfsr.db",
     "(00000000-0000-0000-0000-000000001001:131671378213481414)"],
)  # fmt: skip
def test_an_instance_may_hold_blanks_colons_and_paths(instance: str) -> None:
    assert read(render(700, ("x", "1", instance + ": ", PRIV06))).ese_instance == instance


@pytest.mark.parametrize(
    "message",
    ["", "   ", "hello", "x (12) y: hello", "Online defragmentation is beginning a full pass on",
     "The database engine is fine", "x (1) "],
)  # fmt: skip
def test_text_without_provider_needs_prefix_and_phrase(message: str) -> None:
    assert event_from_text(message=message) is None


def test_text_whose_words_contradict_the_id_needs_a_provider() -> None:
    text = render(700, (*PREFIX, PRIV06))
    assert event_from_text(message=text, event_id=701) is None
    assert read(text, "ESE", 701).event_id == 701


def test_text_of_another_provider_is_not_ours() -> None:
    assert event_from_text(message=render(703, S703), provider="MSExchangeIS") is None


def test_an_id_that_nothing_tells_gives_no_event() -> None:
    assert event_from_text(message="something", provider="ESE") is None


def test_another_language_keeps_prefix_and_message() -> None:
    text = "NTDS (536) NTDSA: Das Datenbankmodul hat eine Datenbank angefügt (1, C:\\ntds.dit)."
    event = read(text, "NTDS ISAM", 326)
    assert (event.process, event.ese_instance, event.strings) == ("NTDS", "NTDSA", (text,))
    assert event.fields == {}


def test_an_unknown_id_keeps_its_message() -> None:
    event = read("x (1) y: hello there", "ESE", 31999)
    assert (event.strings, event.fields) == (("x (1) y: hello there",), {})


LISTED = (
    "The description for Event ID 703 from source ESE cannot be found. Install it.\r\n\r\n"
    "The following information was included with the event: \r\n\r\n"
)


@pytest.mark.parametrize("gap", ["\r\n", "\n", "\n\n"])
def test_a_description_that_was_not_found_lists_the_strings(gap: str) -> None:
    event = read(LISTED + gap.join(S703) + "\n\nThe message resource is present but not found.")
    assert facts(event) == facts(by_position(703, S703))
    assert event.provider == "ESE"


def test_a_listed_empty_instance_keeps_its_place() -> None:
    event = read(LISTED + "NTDS\n3392\n\nC:\\ntds.dit\n5", "ESENT", 701)
    assert (event.database, event.fields) == ("C:\\ntds.dit", {"pages_freed": 5})


def test_a_list_in_another_language_is_read_too() -> None:
    text = "Die Beschreibung wurde nicht gefunden.\n\nFolgende Angaben:\n\n" + "\n".join(S703)
    assert facts(read(text, "ESE", 703)) == facts(by_position(703, S703))


def test_the_list_of_windows_2003_is_separated_by_commas() -> None:
    text = (
        "The description for Event ID ( 703 ) in Source ( ESE ) cannot be found. The following "
        "information is part of the event: " + ", ".join(s.strip() for s in S703) + "."
    )
    assert facts(read(text)) == facts(by_position(703, S703))


def test_the_published_texts_are_recognised() -> None:
    found: dict[str, Event | None] = {}
    blocks = sample("text/event-texts.txt").read_text(encoding="utf-8").split("\n=== ")[1:]
    for block in blocks:
        head, _, body = block.partition("\n")
        provider = head.split("|")[1].split("(")[0].strip()
        number = re.match(r"id (\d+)", head)
        if number and provider not in ("Ese97", "NTDS-ISAM"):
            message = body.partition("Description:")[2] or body
            found[f"{number[1]} {head}"] = event_from_text(
                message=message, provider=provider, event_id=int(number[1])
            )
    events = {key.split()[0]: event for key, event in found.items() if event}
    assert len(events) == len({key.split()[0] for key in found}) == 11
    assert all(event for event in found.values())
    assert events["701"].fields["completions"] == 16
    assert events["508"].fields["seconds"] == 36 and events["508"].database == ""
    assert events["533"].fields["operation"] == "write"
    assert events["509"].fields["since_seconds"] == 30928
    assert events["326"].database.endswith("NS.edb")
    assert events["474"].fields["page_number"] == 469537
    assert events["1221"].fields["free_bytes"] == 3565158
    assert events["486"].fields["error"] == -1811
    assert events["225"].ese_instance == "DAG-DB0"


def collected() -> Iterator[tuple[str, int, str]]:
    """Source, id and message of the collector samples."""
    for name in ("otrf-ntdsutil.jsonl", "otrf-lsass02-procdump.jsonl.gz"):
        path = sample(f"json/{name}")
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for line in raw.decode("utf-8", "replace").splitlines():
            record = json.loads(line)
            if record.get("SourceName") in ("ESENT", "NTDS ISAM"):
                yield record["SourceName"], record["EventID"], record["Message"]


def test_the_texts_of_a_collector_tell_id_and_provider_by_themselves() -> None:
    seen = set()
    for source, event_id, message in collected():
        event = read(message)
        assert (event.event_id, event.provider) == (event_id, source)
        if event_id in (325, 326, 327, 330):
            assert event.database.endswith((".dit", ".edb"))
            assert event.database[1] in ":\\"
        seen.add(event_id)
    assert seen >= {102, 103, 105, 216, 300, 301, 302, 325, 326, 327, 330, 412, 2001, 2006}


@pytest.mark.parametrize(("name", "first", "last"), [("a", 7, 15), ("b", 105, 113), ("c", 91, 99)])
def test_the_exported_tables_give_every_completion(name: str, first: int, last: int) -> None:
    path = sample(f"csv/get-winevent-directory-service-{name}.csv")
    with path.open(encoding="utf-8-sig", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["Id"] == "701"]
    events = [read(row["Message"], row["ProviderName"], 701) for row in rows]
    assert [event.fields["completions"] for event in events] == list(range(last, first - 1, -1))
    assert {event.fields["pages_freed"] for event in events} == {0}


@given(st.text(max_size=400), st.sampled_from([None, 0, 474, 701, 721, 326, 31999]))
def test_no_text_breaks_an_event(message: str, event_id: int | None) -> None:
    for provider in ("", "ESE"):
        event = event_from_text(message=message, provider=provider, event_id=event_id)
        assert event is None or isinstance(event.fields, dict)


@given(st.sampled_from(RENDERED), st.data())
def test_integers_are_read_back_from_text(event_id: int, data: st.DataObject) -> None:
    strings = list(example(event_id))
    for place, param in enumerate(CATALOGUE[event_id].params):
        if param.kind is Kind.INT:
            strings[3 + place] = str(data.draw(st.integers(0, 2**53)))
    exact, event = by_position(event_id, tuple(strings)), read(render(event_id, strings))
    for name, value in event.fields.items():
        assert exact.fields[name] == value
    assert event_id == 735 or event.fields == exact.fields
