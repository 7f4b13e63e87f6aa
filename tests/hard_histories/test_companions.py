"""What other programs of the same server say of a copy: failovers, failed copies, directories."""

import json
from pathlib import Path

import pytest

from tests.hard_histories import (
    MONDAY,
    Copy,
    Judged,
    Level,
    domain_controller,
    judged,
    judged_files,
    numbered,
    old_store,
    run,
)
from tests.oracle.files import write_json
from tests.oracle.history import DAY, HOUR, Logged

FIRST = Copy()
SECOND = Copy("EX02.corp.example")
THIRD = Copy("EX03.corp.example")
OTHER = Copy(database=r"E:\DB02\DB02.edb", instance="DB02")
OLD = old_store()
MANAGER = "EX09.corp.example"
"""The Primary Active Manager, which has no copy of its own here."""


def logged(
    provider: str,
    event_id: int,
    time: float,
    *strings: str,
    computer: str = MANAGER,
    level: Level = "error",
) -> Logged:
    """An event of another provider."""
    channel = "Application"
    if provider == "Microsoft-Exchange-HighAvailability":
        channel = "Microsoft-Exchange-HighAvailability/Operational"
    elif provider.startswith(("ADAM", "NTDS", "ActiveDirectory")):
        channel = "Directory Service"
    return Logged(time, computer, channel, provider, event_id, None, strings, level)


def moved(time: float, *strings: str, event_id: int = 308) -> Logged:
    """306 to 308: the first string is the operation."""
    return logged("Microsoft-Exchange-HighAvailability", event_id, time, *strings)


def lost(time: float, name: str = "DB01", computer: str = FIRST.computer) -> Logged:
    """126: a database was dismounted, and another copy took over."""
    text = f"At '1/15/2024' the Exchange store database '{name}' copy on this server had an error."
    return logged("ExchangeStoreDB", 126, time, text, computer=computer)


def passes(*copies: Copy) -> list[Logged]:
    """A pass of each copy from Monday to Tuesday, of which the last run read only a part."""
    return [
        event
        for copy in copies
        for event in (
            copy.maintenance_start(MONDAY),
            copy.maintenance_end(MONDAY + DAY, MONDAY, run=50_000),
        )
    ]


def verified(answers: Judged, *copies: Copy) -> list[bool]:
    """Which of the copies are verified."""
    return [bool(answers.of(copy).verified) for copy in copies]


NOON = MONDAY + 12 * HOUR
BY_WORDS = (
    "At '1/15/2024' the Exchange store database 'DB01' copy on this server had an error.",
    "A successful failover restored service.",
)
TOLD = {
    "308": moved(NOON, "operation 1", "DB01", "guid", "Move"),
    "308 of a full name": moved(NOON, "operation 1", "guid", "db01", "EX01.corp.example"),
    "126": lost(NOON),
    "126 in strings": logged("ExchangeStoreDb", 126, NOON, "1/15/2024", "DB01"),
    "by its words": logged("ExchangeStoreDB", 117, NOON, *BY_WORDS, computer=FIRST.computer),
}


@pytest.mark.parametrize("how", TOLD)
def test_a_pass_in_which_the_copy_failed_over_verifies_and_clears_nothing(
    tmp_path: Path, how: str
) -> None:
    events = [FIRST.bad_page(MONDAY - DAY, 17), *passes(FIRST), TOLD[how]]
    said = judged(tmp_path, numbered(events)).of(FIRST)
    assert (said.bad, said.verified) == (1, {})


@pytest.mark.parametrize("time", [MONDAY - HOUR, MONDAY + DAY + HOUR], ids=["before", "after"])
def test_a_failover_outside_a_pass_changes_nothing_of_that_pass(
    tmp_path: Path, time: float
) -> None:
    answers = judged(tmp_path, numbered([*passes(FIRST), lost(time)]))
    assert answers.of(FIRST).verified == {"online_scan": MONDAY + DAY}


@pytest.mark.parametrize("name", ["DB02", "DB011", "DB0"])
def test_a_failover_of_another_database_changes_nothing(tmp_path: Path, name: str) -> None:
    events = [*passes(FIRST), lost(NOON, name), moved(NOON, "operation 1", name, "EX01")]
    assert verified(judged(tmp_path, numbered(events)), FIRST) == [True]


def test_a_failover_is_one_of_all_copies_where_no_server_is_named(tmp_path: Path) -> None:
    events = [*passes(FIRST, SECOND, OTHER), moved(NOON, "operation 1", "DB01")]
    answers = judged(tmp_path, numbered(events))
    assert verified(answers, FIRST, SECOND, OTHER) == [False, False, True]


def test_a_failover_is_one_of_the_servers_that_it_names(tmp_path: Path) -> None:
    events = [
        THIRD.scan_start(MONDAY),
        THIRD.passive_end(MONDAY + DAY, MONDAY),
        *passes(FIRST, SECOND),
        moved(NOON, "operation 1", "DB01", "ex01", "EX02.corp.example"),
    ]
    answers = judged(tmp_path, numbered(events))
    assert answers.of(FIRST).verified == answers.of(SECOND).verified == {}
    assert answers.of(THIRD).verified == {"online_scan": MONDAY + DAY}


@pytest.mark.parametrize("operation", ["operation 1", "operation 2"])
def test_the_event_with_which_a_move_began_says_what_was_moved(
    tmp_path: Path, operation: str
) -> None:
    events = [
        *passes(FIRST),
        moved(NOON - 40, "operation 1", "guid", "DB01", "EX01", event_id=306),
        moved(NOON, operation, "EX02", "00:00:40"),
    ]
    answers = judged(tmp_path, numbered(events))
    assert verified(answers, FIRST) == [operation != "operation 1"]


@pytest.mark.parametrize("event_id", [306, 307])
def test_a_move_that_only_began_or_failed_is_none(tmp_path: Path, event_id: int) -> None:
    events = [*passes(FIRST), moved(NOON, "operation 1", "DB01", event_id=event_id)]
    assert verified(judged(tmp_path, numbered(events)), FIRST) == [True]


def test_a_failover_of_2007_is_one_of_the_whole_server(tmp_path: Path) -> None:
    other = old_store(database=r"F:\SG02\priv02.edb", instance="SG02")
    events = [
        event
        for store in (OLD, other)
        for event in (store.scan_start(MONDAY), store.log(MONDAY + 2 * DAY, 725, store.database))
    ]
    forced = logged("MSExchangeRepl", 2093, NOON, "x", computer=OLD.computer, level="warning")
    answers = judged(tmp_path, numbered([*events, forced]))
    interrupted = "ese_passes_interrupted_total"
    assert answers.metrics.total(interrupted, task="checksum") == 2
    again = [store.scan_resume(MONDAY + DAY, MONDAY) for store in (OLD, other)]
    answers = judged(tmp_path, numbered([*events, forced, *again]))
    assert answers.metrics.total("ese_passes_started_total", task="checksum") == 4


def test_a_configured_name_is_the_one_by_which_a_failover_tells_the_database(
    tmp_path: Path,
) -> None:
    configuration = "databases: [{match: '*\\db01.edb', name: Sales}]\n"
    events = [*passes(FIRST), lost(NOON, "Sales")]
    assert verified(judged(tmp_path, numbered(events), configuration), FIRST) == [False]
    events = [*passes(FIRST), lost(NOON)]
    assert verified(judged(tmp_path, numbered(events), configuration), FIRST) == [True]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2]])
def test_a_failover_may_be_read_before_or_after_the_database_that_it_names(
    tmp_path: Path, order: list[int]
) -> None:
    third = [THIRD.scan_start(MONDAY), THIRD.passive_end(MONDAY + DAY, MONDAY)]
    events = numbered(
        [
            *passes(FIRST, SECOND),
            *third,
            moved(NOON - 40, "operation 1", "DB01", "EX01", event_id=306),
            moved(NOON, "operation 1", "EX02"),
        ]
    )
    parts = [
        [each for each in events if each.provider == "ESE" and each.computer != THIRD.computer],
        [each for each in events if each.provider != "ESE"],
        [each for each in events if each.provider == "ESE" and each.computer == THIRD.computer],
    ]
    files = [write_json(tmp_path / f"{part}.jsonl", parts[part]) for part in order]
    answers = judged_files(tmp_path, files)
    assert verified(answers, FIRST, SECOND, THIRD) == [False, False, True]


def test_the_evidence_for_a_window_begins_again_with_a_failover(tmp_path: Path) -> None:
    nights = [
        event
        for night in range(14)
        for event in (
            OLD.defrag_start(MONDAY + night * DAY),
            OLD.defrag_end(MONDAY + night * DAY + HOUR, MONDAY + night * DAY),
        )
    ]
    before = judged(tmp_path, numbered(nights)).of(OLD)
    failover = lost(MONDAY + 9.5 * DAY, "SG01")
    after = judged(tmp_path, numbered([*nights, failover])).of(OLD)
    assert before.windows - after.windows >= 9


def repl(event_id: int, *strings: str, computer: str = SECOND.computer) -> Logged:
    """An event of the replication service."""
    return logged("MSExchangeRepl", event_id, MONDAY + 2 * DAY, *strings, computer=computer)


SUSPENDED = (
    "At '1/15/2024' the Exchange store database 'DB01' copy on this server had an error.",
    "The passive database copy has been suspended.",
)
STATES = {
    "failed": (repl(2070, r"DB01\EX02", "a log is missing"), "has failed"),
    "failed, by the name alone": (repl(2097, "DB01", "page read", "-1018"), "has failed"),
    "told by another server": (repl(3147, r"DB01\EX02", "x", computer=MANAGER), "has failed"),
    "seeding failed": (repl(4026, "DB01", "gone"), "could not be seeded"),
    "suspended": (
        logged("ExchangeStoreDB", 117, MONDAY + DAY, *SUSPENDED, computer=SECOND.computer),
        "was suspended",
    ),
}


def sentence(answers: Judged, copy: Copy, finding: str) -> str:
    """The sentence of a finding of a copy."""
    for line in answers.advice.out.splitlines():
        one = json.loads(line)
        if (one["computer"], one["database"]) == (copy.label, copy.database_label):
            told = {each["finding"]: each["sentence"] for each in one["findings"]}
            return str(told.get(finding, ""))
    return ""


@pytest.mark.parametrize("how", STATES)
def test_a_copy_that_failed_is_a_finding_of_that_copy_only(tmp_path: Path, how: str) -> None:
    told, words = STATES[how]
    answers = judged(tmp_path, numbered([*passes(FIRST, SECOND), told]))
    assert "copy_failed" in answers.of(SECOND).findings
    assert "copy_failed" not in answers.of(FIRST).findings
    said = sentence(answers, SECOND, "copy_failed")
    assert words in said
    assert f"event {told.event_id}" in said
    assert answers.advice.status == 1


def test_a_failed_copy_outlives_a_clean_pass(tmp_path: Path) -> None:
    again = MONDAY + 3 * DAY
    clean = [SECOND.scan_start(again), SECOND.passive_end(again + DAY, again)]
    events = [*passes(FIRST, SECOND), repl(2070, r"DB01\EX02", "x"), *clean]
    assert "copy_failed" in judged(tmp_path, numbered(events)).of(SECOND).findings


def test_a_restore_ends_what_was_said_of_a_copy(tmp_path: Path) -> None:
    failed = logged("MSExchangeRepl", 2058, MONDAY + HOUR, r"CLUSTER\SG01", "x",
                    computer=OLD.computer)  # fmt: skip
    events = [OLD.defrag_start(MONDAY), failed]
    assert "copy_failed" in judged(tmp_path, numbered(events)).of(OLD).findings
    restore = [OLD.log(MONDAY + 2 * DAY + at, each) for at, each in enumerate((204, 205, 105))]
    events += [*restore, OLD.defrag_start(MONDAY + 3 * DAY)]
    assert "copy_failed" not in judged(tmp_path, numbered(events)).of(OLD).findings


def test_a_failed_copy_may_be_told_before_its_database_is_known(tmp_path: Path) -> None:
    early = write_json(tmp_path / "1.jsonl", [repl(2070, r"DB01\EX02", "x")])
    late = write_json(tmp_path / "2.jsonl", numbered(passes(FIRST, SECOND)))
    for files in ([early, late], [late, early]):
        answers = judged_files(tmp_path, files)
        assert "copy_failed" in answers.of(SECOND).findings
        assert "copy_failed" not in answers.of(FIRST).findings


CONTROLLER = domain_controller()


def lds(name: str) -> Copy:
    """An instance of AD LDS on the domain controller."""
    path = rf"D:\ADAM\{name}\adamntds.dit"
    return Copy(CONTROLLER.computer, path, "ADAMDSA", "dsamain", f"ADAM [{name}] ISAM",
                f"ADAM ({name})")  # fmt: skip


DIRECTORIES = (CONTROLLER, lds("app1"), lds("app2"))
SAYS = {
    1168: (("-1018", "fffffc06", "2030537"), "-1018"),
    1988: (("x", "source"), "replication"),
    2042: (("2023-01-01", "guid", "dc02", "60"), "replication"),
    2095: (("x",), "USN rollback"),
    2103: ((), "USN rollback"),
}


@pytest.mark.parametrize("event_id", SAYS)
@pytest.mark.parametrize(
    ("provider", "mine"),
    [
        ("Microsoft-Windows-ActiveDirectory_DomainService", 0),
        ("NTDS Replication", 0),
        ("ADAM [app1] General", 1),
        ("ADAM [APP2] Replication", 2),
    ],
)
def test_what_a_directory_says_of_its_database_is_a_finding_of_that_one(
    tmp_path: Path, provider: str, mine: int, event_id: int
) -> None:
    strings, words = SAYS[event_id]
    events = [copy.defrag_start(MONDAY) for copy in DIRECTORIES]
    told = logged(provider, event_id, MONDAY + HOUR, *strings, computer=CONTROLLER.computer)
    answers = judged(tmp_path, numbered([*events, told]))
    found = ["directory_error" in answers.of(copy).findings for copy in DIRECTORIES]
    assert found == [place == mine for place in range(3)]
    said = sentence(answers, DIRECTORIES[mine], "directory_error")
    assert words in said
    assert f"event {event_id}" in said
    assert answers.advice.status == 1


def test_an_error_of_another_kind_is_nothing_of_the_database(tmp_path: Path) -> None:
    told = logged("NTDS General", 1168, MONDAY + HOUR, "8409", "20d9", "2030537",
                  computer=CONTROLLER.computer)  # fmt: skip
    answers = judged(tmp_path, numbered([CONTROLLER.defrag_start(MONDAY), told]))
    assert "directory_error" not in answers.of(CONTROLLER).findings


def test_the_page_of_a_report_says_what_other_programs_said(tmp_path: Path) -> None:
    events = numbered([*passes(FIRST, SECOND), repl(2070, r"DB01\EX02", "a log is missing")])
    source = write_json(tmp_path / "events.jsonl", events)
    page = tmp_path / "report.html"
    assert run("report", source, "-o", page).status != 2
    text = page.read_text("utf-8")
    assert "this copy has failed" in text
    assert "a log is missing" in text
