"""Identity: whose event it is, and what sort of database it speaks of."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.hard_histories import (
    MINUTE,
    MONDAY,
    Copy,
    Judged,
    domain_controller,
    judged,
    judged_files,
    numbered,
    old_store,
    run,
)
from tests.oracle.files import write_evtx, write_json
from tests.oracle.history import DAY, HOUR, Logged

SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))]
STORE = Copy()
OLD = old_store()
DIRECTORY = domain_controller()
LIGHTWEIGHT = Copy(
    "LDS01.corp.example",
    r"C:\Program Files\Microsoft ADAM\instance1\data\adamntds.dit",
    "NTDSA",
    "NTDS",
    "ADAM [instance1] ISAM",
    "ADAM (instance1)",
    brief=True,
)
CERTIFICATES = Copy(
    "CA01.corp.example",
    r"C:\Windows\system32\CertLog\CA.edb",
    "",
    "certsrv.exe",
    "ESENT",
    brief=True,
)


def namesakes(later: float) -> tuple[Copy, list[Logged], Copy, list[Logged]]:
    """Two domain controllers of one short name, whose logs bear the same numbers."""
    first, second = domain_controller("DC01.a.example"), domain_controller("DC01.b.example")
    return (
        first,
        numbered([first.defrag_start(MONDAY), first.bad_page(MONDAY + 10, 17)]),
        second,
        numbered([second.defrag_start(MONDAY + later), second.bad_page(MONDAY + later + 10, 18)]),
    )


@pytest.mark.parametrize("later", [1.0, HOUR, 30 * DAY])
@pytest.mark.parametrize("turned", [False, True])
def test_two_machines_of_one_short_name_keep_their_own_bad_pages(
    tmp_path: Path, later: float, turned: bool
) -> None:
    first, ours, second, theirs = namesakes(later)
    answers = judged(tmp_path, theirs + ours if turned else ours + theirs)
    assert answers.of(first, "dc01").bad == 1
    assert answers.of(second, "dc01.b.example").bad == 1
    assert answers.metrics.total("ese_events_total") == 4


def test_two_machines_of_one_short_name_are_told(tmp_path: Path) -> None:
    _, ours, _, theirs = namesakes(HOUR)
    told = run("advise", write_json(tmp_path / "events.jsonl", ours + theirs))
    assert "dc01.a.example" in (told.out + told.err).lower()


def test_a_short_name_and_the_full_one_that_begins_with_it_are_one_computer(
    tmp_path: Path,
) -> None:
    events = numbered([DIRECTORY.defrag_start(MONDAY), DIRECTORY.bad_page(MONDAY + 10, 17)])
    short = [event._replace(computer="DC01") for event in events]
    answers = judged(tmp_path, [*events, *short])
    assert list(answers.databases) == [("dc01", DIRECTORY.database_label)]
    assert answers.of(DIRECTORY).bad == 1
    assert answers.metrics.total("ese_events_total") == 2


def life(count: int, start: float, first: int) -> list[Logged]:
    """A log that was cleared before: a record an hour, each of another database."""
    return numbered(
        replace(STORE, database=rf"E:\DB{first + turn}.edb").bad_page(start + turn * HOUR, 17)
        for turn in range(count)
    )


def parts(*lives: Sequence[Logged]) -> list[Sequence[Logged]]:
    """The lives of a log, oldest first, in parts of five records."""
    return [records[place : place + 5] for records in lives for place in range(0, len(records), 5)]


def read(folder: Path, pieces: Sequence[Sequence[Logged]], kind: str) -> Judged:
    """What is said of these pieces, a file each, read in this order."""
    files = []
    for place, piece in enumerate(pieces):
        within = folder / f"{place:03}"
        within.mkdir()
        files += (
            write_evtx(within, piece) if kind == "evtx" else [write_json(within / "a.jsonl", piece)]
        )
    return judged_files(folder, files)


@pytest.mark.parametrize("kind", ["json", "evtx"])
@pytest.mark.parametrize("order", ["oldest first", "newest first"])
def test_no_event_is_lost_where_record_numbers_began_again(
    tmp_path: Path, order: str, kind: str
) -> None:
    pieces = parts(life(60, MONDAY, 100), life(20, MONDAY + 59 * HOUR + 1, 200))
    if order == "newest first":
        pieces.reverse()
    answers = read(tmp_path, pieces, kind)
    assert len(answers.databases) == 80
    assert answers.metrics.total("ese_events_total") == 80


@pytest.mark.parametrize("gap", [HOUR, 30 * DAY])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_event_is_lost_where_parts_of_a_log_that_began_again_are_read_in_any_order(
    tmp_path: Path, seed: int, gap: float
) -> None:
    pieces = parts(life(5, MONDAY, 100), life(20, MONDAY + 4 * HOUR + gap, 200))
    Random(seed).shuffle(pieces)
    answers = judged(tmp_path, [event for piece in pieces for event in piece])
    assert len(answers.databases) == 25


@pytest.mark.parametrize("seed", SEEDS)
def test_no_event_is_lost_where_a_log_was_cleared_again_and_again(
    tmp_path: Path, seed: int
) -> None:
    lives = [life(10 + turn, MONDAY + turn * 40 * HOUR, 100 * turn) for turn in range(5)]
    pieces = parts(*lives)
    Random(seed).shuffle(pieces)
    answers = judged(tmp_path, [event for piece in pieces for event in piece])
    assert len(answers.databases) == 60


def test_a_directory_of_ad_lds_is_watched_like_one_of_a_domain_controller(tmp_path: Path) -> None:
    events = [
        *LIGHTWEIGHT.instance_start(MONDAY),
        LIGHTWEIGHT.defrag_start(MONDAY + HOUR),
        LIGHTWEIGHT.defrag_end(MONDAY + HOUR + 5, MONDAY + HOUR),
        LIGHTWEIGHT.bad_page(MONDAY + 2 * HOUR, 17),
    ]
    answers = judged(tmp_path, numbered(events))
    said = answers.of(LIGHTWEIGHT)
    assert (said.bad, said.model, said.tier) == (1, "garbage_collection", "watched")
    assert answers.advice.status == 1


@pytest.mark.parametrize("name", ["ADAM [x] ISAM", "ADAM [Contoso HR] ISAM"])
def test_any_instance_of_ad_lds_is_known(tmp_path: Path, name: str) -> None:
    copy = replace(LIGHTWEIGHT, provider=name)
    answers = judged(tmp_path, numbered([copy.bad_page(MONDAY, 17)]))
    assert answers.of(copy).bad == 1


def test_a_backup_of_an_instance_without_a_name_verifies_its_database(tmp_path: Path) -> None:
    begin = MONDAY + HOUR
    events = [
        *CERTIFICATES.instance_start(MONDAY),
        CERTIFICATES.log(begin, 210),
        CERTIFICATES.log(begin + 1, 220, CERTIFICATES.database, "2 Mb"),
        CERTIFICATES.log(begin + 2, 221, CERTIFICATES.database),
        CERTIFICATES.log(begin + 3, 213),
    ]
    answers = judged(tmp_path, numbered(events))
    assert answers.of(CERTIFICATES).verified == {"streaming_backup": begin + 3}
    name = "ese_backup_last_completion_timestamp_seconds"
    assert list(answers.metrics.last(name, computer="ca01").values()) == [begin + 3]


def test_a_stop_of_an_instance_without_a_name_interrupts_its_pass(tmp_path: Path) -> None:
    events = [
        *CERTIFICATES.instance_start(MONDAY),
        CERTIFICATES.defrag_start(MONDAY + HOUR),
        CERTIFICATES.instance_stop(MONDAY + 2 * HOUR),
    ]
    answers = judged(tmp_path, numbered(events))
    assert answers.metrics.total("ese_passes_interrupted_total", task="defrag") == 1


@pytest.mark.parametrize("provider", ["ESE", "ESENT"])
@pytest.mark.parametrize("what", ["bad page", "attached"])
def test_eseutil_at_work_on_a_file_of_a_store_changes_neither_model_nor_tier(
    tmp_path: Path, what: str, provider: str
) -> None:
    tool = replace(OLD, process="eseutil", instance="", provider=provider)
    later = MONDAY + 2 * HOUR
    event = (
        tool.bad_page(later, 17)
        if what == "bad page"
        else tool.log(later, 326, "1", tool.database, "0", "[1] 0.1", "0 0")
    )
    events = [OLD.defrag_start(MONDAY), OLD.defrag_end(MONDAY + HOUR, MONDAY), event]
    said = judged(tmp_path, numbered(events)).of(OLD)
    assert (said.model, said.tier) == ("window", "watched")


def roles(answers: Judged, copy: Copy) -> set[str]:
    """Every role that this copy was ever given."""
    return {
        labels["role"]
        for name, labels, _, value in answers.metrics.samples
        if name == "ese_database_info"
        and labels["computer"] == copy.label
        and labels["database"] == copy.database_label
        and value
    }


@pytest.mark.parametrize("copy", [STORE, replace(DIRECTORY, brief=False)], ids=["store", "dc"])
def test_a_restart_is_no_change_of_role(tmp_path: Path, copy: Copy) -> None:
    slow = ("8192 (0x0000000000002000)", "32768 (0x00008000)", "20", "1", "100")
    back = MONDAY + DAY
    events = [
        *copy.instance_start(MONDAY),
        copy.defrag_start(MONDAY + HOUR),
        copy.defrag_end(MONDAY + 2 * HOUR, MONDAY + HOUR),
        copy.instance_stop(back - MINUTE),
        *copy.instance_start(back),
        copy.log(back + 1.5, 509, copy.database, *slow, level="warning", state="R"),
        copy.defrag_start(back + HOUR),
    ]
    answers = judged(tmp_path, numbered(events))
    assert "passive" not in roles(answers, copy)


def test_a_2007_passive_copy_is_watched_and_passive(tmp_path: Path) -> None:
    copy = replace(OLD, computer="EX02.corp.example", process="MSExchangeRepl")
    events = [*copy.instance_start(MONDAY), copy.bad_page(MONDAY + DAY, 17)]
    answers = judged(tmp_path, numbered(events))
    said = answers.of(copy)
    assert (said.bad, said.tier, roles(answers, copy)) == (1, "watched", {"passive"})


SCANS = {
    "717 and 721": [OLD.scan_start(MONDAY), OLD.checksum_end(MONDAY + HOUR, MONDAY)],
    "718 and 722": [
        OLD.log(MONDAY, 718, OLD.database),
        OLD.zeroing_end(MONDAY + HOUR, MONDAY),
    ],
    "719 and 721": [
        OLD.scan_resume(MONDAY, MONDAY - DAY),
        OLD.checksum_end(MONDAY + HOUR, MONDAY - DAY),
    ],
    "721": [OLD.checksum_end(MONDAY + HOUR, MONDAY)],
}


@pytest.mark.parametrize("seen", SCANS)
def test_a_store_that_scans_as_exchange_2007_did_has_a_window(tmp_path: Path, seen: str) -> None:
    said = judged(tmp_path, numbered(SCANS[seen])).of(OLD)
    assert (said.model, said.tier) == ("window", "watched")
