"""What esewatch cannot see: the list of the status page, from records that were folded."""

import re
import shlex
from collections.abc import Callable, Iterable
from datetime import time
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from esewatch.config import (
    DatabaseRule,
    Disks,
    LogFiles,
    PageScan,
    Policy,
    Settings,
    Window,
)
from esewatch.config.files import (
    dump_keys,
    load,
)
from esewatch.expose.pages.overview import overview
from esewatch.expose.pages.problems import problem, source_problems
from esewatch.expose.pages.problems.problem import (
    Problem,
    ProblemName,
    RuleSettings,
    endpoint_setting,
    quoted,
)
from esewatch.expose.pages.rendering import render_status
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import Channel, State
from esewatch.model import Batch, CountersSeen, Event, Feed, Reading, Record, VolumesSeen
from tests.expose.examples import HOSTILE
from tests.expose.html import Page, assert_self_contained
from tests.rules.quality.built import background, controller, search
from tests.rules.quality.month import END, Month
from tests.support.records import DAY, EPOCH, HOUR, LABEL, event, folder_of

NOW = 1_790_000_000.0
AGO = NOW - EPOCH
"""Seconds from the EPOCH of `event` to now."""

LOGS = LogFiles(type="evtx", name="logs", paths=["/logs/*.evtx"])
COUNTERS = LogFiles(type="perfmon_csv", name="counters", paths=["/logs/*.csv"])
NIGHT = {"nightly": Window(start=time(1), duration=4 * HOUR)}
RULE = DatabaseRule(
    match=LABEL, window="nightly", device="lun7", log_path="L:\\SG06", mailboxes=800
)
NO_BACKUP = Policy(backup_within=float("inf"))
WHOLE = Settings(sources=[LOGS], windows=NIGHT, databases=[RULE], policy=NO_BACKUP)
OF_FIGURES = {"disk_counters_missing", "log_folder_unknown", "mailboxes_unknown"}
"""Notes that test_diagnosis_figures.py is about."""
OLD, SCAN = "Online Defrag", "Database Maintenance"


def night(*, database: str = "e:\\MDB06\\priv06.edb", instance: str = "SG06") -> list[Event]:
    """A night of Exchange 2007, which ended an hour ago: all done in one window."""
    changes: dict[str, Any] = {"database": database, "ese_instance": instance}
    return [
        event(700, AGO - 5 * HOUR, **changes),
        event(701, AGO - 4 * HOUR, **changes),
        event(717, AGO - 3 * HOUR, **changes),
        event(721, AGO - HOUR, fields={"seconds": 7200, "invocations": 1}, **changes),
    ]


def sample(metric: str, instance: str = "SG06", at: float = NOW - HOUR) -> Reading:
    return Reading(
        time=at,
        computer="EX01",
        object="MSExchange Database ==> Instances",
        counter=metric,
        instance=f"Information Store/{instance}",
        value=1000.0,
        kind="rate",
        feed=Feed(metric=metric, name=instance),
    )


def sampled(instance: str = "SG06") -> list[Record]:
    return [
        CountersSeen(time=NOW - HOUR, computer="EX01", present={OLD: True, SCAN: True}),
        *(
            sample(metric, instance, NOW - HOUR + after)
            for after in (0.0, 15.0)
            for metric in ("ese_defrag_pages_read_total", "ese_defrag_pages_freed_total")
        ),
    ]


def folded(records: Iterable[Record], settings: Settings = WHOLE, opened: float = NOW) -> Folder:
    folder = Folder(State(), settings)
    folder.open_source("logs", opened)
    folder.fold("logs", Batch(records=list(records), caught_up=True), NOW)
    return folder


def disk_counter() -> Reading:
    return Reading(
        time=NOW - HOUR,
        computer="EX01",
        object="PhysicalDisk",
        counter="Disk Reads",
        instance="lun7",
        value=1000.0,
        kind="total",
        feed=Feed(metric="ese_device_reads_total", owner="device", name="lun7"),
    )


def told(state: State, settings: Settings = WHOLE, now: float = NOW) -> tuple[Problem, ...]:
    found = overview(state, settings, now).problems
    return tuple(each for each in found if each.problem not in OF_FIGURES)


def names(state: State, settings: Settings = WHOLE, now: float = NOW) -> list[str]:
    return [each.problem for each in told(state, settings, now)]


def the(problem: str, found: Iterable[Problem]) -> Problem:
    (one,) = [each for each in found if each.problem == problem]
    return one


def test_a_server_that_tells_all_has_no_problem() -> None:
    state = folded([*night(), *sampled(), disk_counter()]).state
    assert overview(state, WHOLE, NOW).problems == ()


def test_without_a_source_nothing_is_watched() -> None:
    assert names(State(), Settings()) == ["nothing_configured"]
    assert names(State(), Settings(sources=[Disks(type="disks", name="disks")])) == [
        "nothing_configured"
    ]


def test_a_database_without_a_window_comes_with_the_rule_that_names_one() -> None:
    settings = msgspec.structs.replace(WHOLE, databases=[])
    found = the("window_unknown", told(folded([*night(), *sampled()], settings).state, settings))
    assert (found.computer, found.database, found.needs_person) == ("ex01", LABEL, True)
    assert found.setting == (
        "databases: [{match: 'e:\\mdb06\\priv06.edb', computer: ex01, window: nightly}]"
    )
    assert found.command.startswith("Get-MailboxDatabase")


def test_where_a_rule_of_its_own_fits_already_it_is_told_what_to_add_to_it() -> None:
    rule = DatabaseRule(match=LABEL, window="nightly", log_path="L:\\SG06")
    settings = msgspec.structs.replace(WHOLE, databases=[rule])
    found = the("device_unknown", told(folded([*night(), *sampled()], settings).state, settings))
    assert found.setting == f"device: <its disk>   # in its rule, match: '{LABEL}'"
    assert not found.needs_person


@pytest.mark.parametrize("computer", [None, "ex*", "ex01"])
def test_where_a_pattern_fits_a_rule_before_it_has_all_that_it_says(computer: str | None) -> None:
    rule = DatabaseRule(
        match="*priv*",
        computer=computer,
        window="nightly",
        log_path="L:\\SG06",
        policy={"ratio_high": 200.0, "verify_within": 9 * DAY},
    )
    settings = msgspec.structs.replace(WHOLE, databases=[rule])
    found = the("device_unknown", told(folded([*night(), *sampled()], settings).state, settings))
    assert found.setting == (
        f"databases: [{{match: '{LABEL}', computer: ex01, window: nightly, "
        "log_path: 'L:\\SG06', policy: {ratio_high: 200, verify_within: 9d}, device: <its disk>}]"
        "   # before the rule with match: '*priv*'"
    )


def test_a_path_on_two_computers_gets_a_rule_for_each() -> None:
    rule = DatabaseRule(match=LABEL, window="nightly", log_path="L:\\SG06")
    settings = msgspec.structs.replace(WHOLE, databases=[rule])
    other = [msgspec.structs.replace(each, computer="EX02") for each in night()]
    found = told(folded([*night(), *other], settings).state, settings)
    starts = [each.setting.partition(", window")[0] for each in found if "disk" in each.sentence]
    assert starts == [f"databases: [{{match: '{LABEL}', computer: {of}" for of in ("ex01", "ex02")]


@pytest.mark.parametrize("rules", [[], [DatabaseRule(match="*", policy={"ratio_high": 200.0})]])
def test_all_settings_of_a_database_are_one_rule_that_leaves_nothing_to_ask(
    rules: list[DatabaseRule], tmp_path: Path
) -> None:
    settings = Settings(sources=[LOGS], windows=NIGHT, databases=rules)
    state = folded([*night(), *sampled()], settings).state
    of_rules = [
        each
        for each in overview(state, settings, NOW).problems
        if each.database and each.problem != "disk_counters_missing"
    ]
    (whole,) = [each.setting for each in of_rules if each.setting.startswith("databases: ")]
    entry = whole.partition("   # ")[0].removesuffix("}]")
    added = [each.setting.partition("   # ") for each in of_rules if each.setting != whole]
    assert {where for _, _, where in added} == {"in the rule that window_unknown has for it"}
    known = {"<its disk>": "lun7", "<its folder>": "'L:\\SG06'", "<number>": "800"}
    keys = [key for key, _, _ in added]
    assert all(any(each in key for key in keys) for each in known)
    keys = [re.sub("<.+>", lambda unknown: known[unknown[0]], key) for key in keys]
    config = tmp_path / "esewatch.yml"
    config.write_text(
        "windows: {nightly: {start: '01:00', duration: 4h}}\n" + ", ".join([entry, *keys]) + "}]\n"
    )
    (rule,) = load(config).databases
    assert rule.policy == (rules[0].policy if rules else {})
    done = msgspec.structs.replace(settings, databases=[rule, *rules])
    left = {each.problem for each in overview(state, done, NOW).problems}
    assert left <= {"disk_counters_missing", "rule_unused"}


def test_an_unknown_device_needs_a_person_where_scans_could_collide() -> None:
    rule = DatabaseRule(match="*", window="nightly", log_path="L:\\SG06")
    settings = msgspec.structs.replace(WHOLE, databases=[rule])
    other = night(database="e:\\MDB07\\priv07.edb", instance="SG07")
    state = folded([*night(), *other, *sampled(), *sampled("SG07")], settings).state
    found = told(state, settings)
    assert [(each.problem, each.needs_person) for each in found] == [("device_unknown", True)] * 2

    volumes = VolumesSeen(time=NOW, computer="EX01", devices={"e:": "disk0"})
    seen = folded([*night(), *other, *sampled(), *sampled("SG07"), volumes], settings).state
    assert told(seen, settings) == ()


def test_domain_controllers_have_no_window_to_be_known() -> None:
    settings = Settings(sources=[LOGS])
    changes: dict[str, Any] = {"provider": "NTDS ISAM", "process": "NTDS", "ese_instance": "NTDSA"}
    pair = [event(each, AGO - HOUR, database="c:\\ntds.dit", **changes) for each in (700, 701)]
    found = told(folded(pair, settings).state, settings)
    assert {each.problem for each in found} == {"counters_missing", "device_unknown"}
    assert not any(each.needs_person for each in found)


def test_hidden_counters_come_with_the_registry_command_of_their_library() -> None:
    hidden = CountersSeen(time=NOW, computer="EX01", present={OLD: False, SCAN: True})
    found = the("counters_hidden", told(folded([*night(), hidden]).state))
    assert found.command == (
        'reg add "HKLM\\SYSTEM\\CurrentControlSet\\Services\\ESE\\Performance" '
        '/v "Show Advanced Counters" /t REG_DWORD /d 1 /f'
    )
    assert found.needs_person
    assert OLD in found.sentence
    assert SCAN not in found.sentence


def test_a_server_without_any_counters_comes_with_the_command_that_logs_them() -> None:
    found = the("counters_missing", told(folded(night()).state))
    assert found.command.startswith("logman create counter esewatch -f csv")
    assert "MSExchange Database ==> Instances" in found.command
    assert "'http://ex01:9182/metrics'" in found.setting


def test_counters_of_another_instance_are_named() -> None:
    found = the("counters_missing", told(folded([*night(), *sampled("SG01")]).state))
    assert found.database == LABEL
    assert "SG06" in found.sentence
    assert "sg01" in found.sentence


@pytest.mark.parametrize("resumed", [False, True])
def test_a_scan_of_several_windows_without_719_tells_of_a_low_event_level(resumed: bool) -> None:
    scan = [
        event(717, AGO - 30 * HOUR),
        event(721, AGO - HOUR, fields={"seconds": 9000, "invocations": 2}),
    ]
    if resumed:
        scan.append(event(719, AGO - 5 * HOUR))
    found = names(folded([*night()[:2], *scan, *sampled()]).state)
    assert found == ([] if resumed else ["event_level_low"])


@pytest.mark.parametrize(("hours", "notified"), [(13, False), (13, True), (11, False)])
def test_a_long_background_scan_without_744_tells_of_a_low_event_level(
    hours: float, notified: bool
) -> None:
    worker: dict[str, Any] = {"process": "Microsoft.Exchange.Store.Worker", "ese_instance": "DB01"}
    scan = [
        event(736, AGO - hours * HOUR, **worker),
        event(737, AGO, fields={"seconds": int(hours * HOUR)}, **worker),
    ]
    if notified:
        scan.append(event(744, AGO - 6 * HOUR, **worker))
    settings = msgspec.structs.replace(
        WHOLE, databases=[DatabaseRule(match="*", device="lun7", model="background")]
    )
    found = told(folded([*scan, *sampled("DB01")], settings).state, settings)
    low = [each for each in found if each.problem == "event_level_low"]
    assert [each.needs_person for each in low] == ([False] if hours > 12 and not notified else [])


def test_two_full_names_behind_a_short_one_are_two_computers() -> None:
    other = event(700, AGO - HOUR, computer="EX01.other.example")
    found = the("computer_ambiguous", told(folded([*night(), *sampled(), other]).state))
    assert "ex01.corp.example and ex01.other.example" in found.sentence
    assert found.setting == "computers: {ex01.other.example: ex01.corp.example}"

    decided = msgspec.structs.replace(WHOLE, computers={"EX01.other.example": "ex01"})
    assert told(folded([*night(), *sampled(), other], decided).state, decided) == ()


def test_with_whole_names_a_short_one_is_another_computer_until_an_alias_says_which() -> None:
    whole = msgspec.structs.replace(WHOLE, computer_label="fqdn")
    state = folded([*night(), *sampled()], whole).state
    found = the("computer_ambiguous", told(state, whole))
    assert found.setting == "computers: {ex01: ex01.corp.example}"


def test_missed_records_are_told_for_four_weeks() -> None:
    state = folded([*night(), *sampled()]).state
    channel = Channel(computer="ex01", channel="Application")
    channel.gaps = [(NOW - 90 * DAY, NOW - 89 * DAY, 7)]
    state.channels["ex01", "Application"] = channel
    assert told(state) == ()
    channel.gaps.append((NOW - 2 * DAY, NOW - DAY, 12))
    found = the("records_missed", told(state))
    assert found.computer == "ex01"
    assert "12 records of the log Application" in found.sentence


def test_a_server_clock_ahead_is_told_with_the_time_zone_that_may_be_missing() -> None:
    ahead = event(700, AGO + 2 * HOUR)
    text = LogFiles(type="event_stream", name="logs", paths=["/logs/*.txt"])
    settings = msgspec.structs.replace(WHOLE, sources=[text])
    found = the("clock_skew", told(folded([*night(), *sampled(), ahead]).state, settings))
    assert "2 h later" in found.sentence
    assert "`timezone`" in found.sentence
    assert found.command == "w32tm /resync"


def test_records_of_the_future_need_a_person_where_they_are_many() -> None:
    few = [event(700, AGO + 3 * DAY)]
    state = folded([*night(), *sampled(), *few]).state
    assert the("clock_skew", told(state)).needs_person
    state.sources["logs"].records = 10_000
    assert not the("clock_skew", told(state)).needs_person


def test_a_clock_before_this_program_is_wrong() -> None:
    state = folded([]).state
    found = the("clock_skew", told(state, now=EPOCH))
    assert found.command == "timedatectl set-ntp true"


def test_a_source_that_cannot_be_read_has_no_further_complaint() -> None:
    folder = folded([*night(), *sampled()])
    folder.source_failed("logs")
    assert names(folder.state) == ["source_down"]


@pytest.fixture(name="as_a_service")
def _as_a_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "esewatch.service").touch()
    monkeypatch.setattr(source_problems, "UNITS", [tmp_path / "esewatch.service"])


def test_where_there_is_no_unit_nobody_is_sent_to_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_problems, "UNITS", [tmp_path / "esewatch.service"])
    folder = folded([*night(), *sampled()])
    folder.source_failed("logs")
    assert the("source_down", told(folder.state)).command == ""


@pytest.mark.usefixtures("as_a_service")
def test_the_name_of_a_source_is_one_word_of_the_command() -> None:
    settings = msgspec.structs.replace(
        WHOLE, sources=[msgspec.structs.replace(LOGS, name="it's (x")]
    )
    folder = folded([])
    folder.open_source("it's (x", NOW)
    folder.source_failed("it's (x")
    (found,) = [one for one in told(folder.state, settings) if one.problem == "source_down"]
    assert shlex.split(found.command)[3:] == ["-g", re.escape("it's (x")]


def test_on_windows_the_commands_are_those_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    settings = msgspec.structs.replace(WHOLE, sources=[msgspec.structs.replace(LOGS, name="it's")])
    folder = folded([])
    folder.open_source("it's", NOW)
    folder.source_failed("it's")
    log = r"$env:ProgramData\esewatch\logs\esewatch.log"
    found = the("source_down", told(folder.state, settings))
    assert found.command == f"Select-String -SimpleMatch 'it''s' \"{log}\""
    assert the("clock_skew", told(folded([]).state, now=EPOCH)).command == "w32tm /resync"


@pytest.mark.parametrize("name", ["ex'01, x: {y}", "a\nb: 1", "a/../b", "e" * 300])
def test_a_computer_that_is_no_host_name_gives_no_address(name: str) -> None:
    assert endpoint_setting(name) == ""
    assert endpoint_setting("null") == (
        "sources: [{type: prometheus, url: 'http://null:9182/metrics', computer: 'null'}]"
    )


def test_a_computer_that_went_silent_is_told_by_its_patience() -> None:
    state = folded([*night(), *sampled()]).state
    assert names(state, now=NOW + 13 * DAY) == []
    (found,) = told(state, WHOLE, NOW + 15 * DAY)
    assert (found.problem, found.computer, found.needs_person) == ("computer_silent", "ex01", True)
    quick = msgspec.structs.replace(WHOLE, policy=Policy(silent_after=DAY))
    assert names(state, quick, now=NOW + 2 * DAY) == ["computer_silent"]


def test_a_source_without_a_record_is_told_after_an_hour() -> None:
    state = folded([]).state
    assert names(state) == []
    assert names(state, now=NOW + 2 * HOUR) == ["source_empty"]
    counters = msgspec.structs.replace(
        WHOLE, sources=[msgspec.structs.replace(COUNTERS, name="logs")]
    )
    assert names(state, counters, now=NOW + 2 * HOUR) == ["counters_foreign"]


def test_unreadable_pieces_need_a_person_where_they_are_many() -> None:
    state = folded([*night(), *sampled()]).state
    state.sources["logs"].unreadable = 1
    assert the("unreadable_input", told(state)).needs_person
    state.sources["logs"].records = 10_000
    assert not the("unreadable_input", told(state)).needs_person


def test_what_is_not_read_yet_is_a_note() -> None:
    state = folded([*night(), *sampled()]).state
    state.sources["logs"].caught_up = False
    assert names(state) == []
    state.sources["logs"].backlog_bytes = 1 << 30
    (found,) = told(state)
    assert (found.problem, found.needs_person) == ("source_behind", False)
    assert "1.0 GiB" in found.sentence


def test_databases_over_the_limit_come_with_the_setting() -> None:
    state = folded([*night(), *sampled()]).state
    state.databases_dropped = 3
    state.dropped = {"ex01|E:\\new.edb": 1, "ex09|": 2, "ex01|ESE 9999": 1}
    found = the("databases_dropped", told(state))
    assert found.setting == "max_databases: 2000"
    assert found.sentence == (
        "3 names not taken in, as max_databases is reached (databases, instances, devices,"
        " computers, channels, event ids): E:\\new.edb on ex01, ESE 9999 on ex01, ex09"
    )


def test_databases_with_a_path_that_is_too_long_are_told_with_what_to_do() -> None:
    state = folded([*night(), *sampled()]).state
    state.databases_dropped = 1
    state.dropped = {"ex01|d:\\" + "x" * 1022: 1}
    found = the("databases_dropped", told(state))
    assert (found.setting, found.needs_person) == ("", True)
    assert found.sentence == (
        "1 database not taken in, as the path has more than 1,024 characters, so that nothing of it"
        f" is watched; move it to a shorter path: d:\\{'x' * 57}… on ex01"
    )
    state.databases_dropped = 2
    state.dropped["ex01|E:\\new.edb"] = 1
    beyond, _ = [each for each in told(state) if each.problem == "databases_dropped"]
    assert beyond.sentence.startswith("1 name not taken in, as max_databases is reached")
    assert beyond.sentence.endswith(": E:\\new.edb on ex01")


@pytest.mark.parametrize("window", [None, "nightly"])
def test_a_snapshot_that_never_came_is_told_after_two_windows(window: str | None) -> None:
    scan = PageScan(type="page_scan", name="logs", paths=["/snap/*.edb"], window=window)
    settings = msgspec.structs.replace(WHOLE, sources=[scan], databases=[])
    state = folded([], settings).state
    state.sources["logs"].up = True
    assert names(state, settings, now=NOW + DAY) == []
    found = the("snapshot_never", told(state, settings, now=NOW + 3 * DAY))
    assert "/snap/*.edb" in found.sentence

    state.sources["logs"].records = 5
    state.sources["logs"].last_record = NOW
    assert names(state, settings, now=NOW + 3 * DAY) == ["snapshot_old"]


def test_a_rule_that_fits_no_database_is_a_note() -> None:
    wrong = DatabaseRule(match="e:\\mdb60\\priv06.edb", computer="ex02")
    settings = msgspec.structs.replace(WHOLE, databases=[RULE, wrong])
    (found,) = told(folded([*night(), *sampled()], settings).state, settings)
    assert (found.problem, found.needs_person) == ("rule_unused", False)
    assert (found.computer, found.database) == ("ex02", "e:\\mdb60\\priv06.edb")


def test_copies_whose_role_no_event_tells_are_a_note() -> None:
    copies = [
        DatabaseRule(match="*priv06.edb", window="nightly", device="d", log_path="L:\\", name="MDB")
    ]
    settings = msgspec.structs.replace(WHOLE, databases=copies)
    other = night(database="f:\\priv06.edb", instance="SG02")
    state = folded([*night(), *other, *sampled(), *sampled("SG02")], settings).state
    assert {each.problem for each in told(state, settings)} == {"copy_role_unknown"}
    (one, _) = told(state, settings)
    assert "name: MDB, " in one.setting and "role: <its role>" in one.setting
    assert not one.needs_person


def test_what_needs_a_person_comes_first_and_nothing_twice() -> None:
    wrong = DatabaseRule(match="nothing")
    settings = msgspec.structs.replace(WHOLE, databases=[wrong])
    found = told(folded(night(), settings).state, settings)
    urgent = [each.needs_person for each in found]
    assert urgent == sorted(urgent, reverse=True)
    assert len({(each.problem, each.whose) for each in found}) == len(found)


def test_hostile_names_stay_on_one_line_and_give_no_setting() -> None:
    name = "e:\\\n*'\ud800" + HOSTILE
    settings = Settings(sources=[LOGS])
    for each in told(folded(night(database=name), settings).state, settings):
        assert "\n" not in each.sentence
        assert each.setting == "" or "match" not in each.setting
        msgspec.json.encode(each)


@pytest.mark.parametrize(
    ("text", "written"),
    [("ex01", "ex01"), ("e:\\a", "'e:\\a'"), ("it's", "'it''s'"), ("1", "'1'"), ("null", "'null'")],
)
def test_names_are_quoted_as_yaml_wants_it(text: str, written: str) -> None:
    assert quoted(text) == written


def test_directories_that_nothing_ever_verified_are_one_note() -> None:
    directory: dict[str, Any] = {
        "provider": "NTDS ISAM",
        "ese_instance": "NTDSA",
        "database": "C:\\ntds.dit",
    }
    state = folded(
        event(number, AGO - day * DAY, computer=computer, **directory)
        for computer in ("DC01", "DC02")
        for day in range(9)
        for number in (700, 701)
    ).state
    found = the("never_verified", told(state))
    assert (found.needs_person, found.computer, found.database) == (False, "", "")
    assert "2 directories (c:\\ntds.dit on dc01 and c:\\ntds.dit on dc02)" in found.sentence
    assert "page scan of a snapshot" in found.sentence
    assert found.setting == (
        "sources: [{type: page_scan, paths: [/snap/ntds.dit], computer: dc01, "
        "as: 'c:\\ntds.dit'}]   # and one for each of the others"
    )
    assert "never_verified" not in names(state, now=NOW - 2 * DAY)
    asked = Settings(policy=Policy(verify_within=9 * DAY))
    assert "never_verified" not in names(state, asked)


def test_the_page_of_the_doctor_has_a_row_for_each_problem_and_knows_no_other() -> None:
    text = (Path(__file__).parents[4] / "docs" / "doctor.md").read_text(encoding="utf-8")
    every = text[text.index("## Every problem") :]
    assert re.findall(r"^\| `(\w+)` \|", every, re.MULTILINE) == sorted(get_args(ProblemName))
    table = text[text.index("## Why a panel") : text.index("## Every problem")]
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", table))
    assert named == {*get_args(ProblemName)} - {"unreadable_input"}


def page_of(state: State, settings: Settings) -> str:
    view = overview(state, settings, NOW)
    return render_status(view, [], (True, ""), Runbooks())


def test_the_status_page_lists_them_with_their_commands() -> None:
    html = page_of(folded(night()).state, WHOLE)
    assert_self_contained(Page(html))
    assert "What esewatch cannot see, and how to fix it" in html
    assert "<code>logman create counter esewatch" in html
    nothing = page_of(folded([*night(), *sampled(), disk_counter()]).state, WHOLE)
    assert "The records show no problem" in nothing


def test_on_the_status_page_a_command_and_a_setting_stand_on_lines_of_their_own() -> None:
    html = page_of(folded(night()).state, Settings(sources=[LOGS]))
    both = r"<div>run: <code>[^<]+</code></div>\s*<div>set: <code>[^<]+</code></div>"
    assert re.search(both, html)


def test_the_status_page_has_one_item_for_a_cause_and_says_how_many_it_is_about() -> None:
    many = [
        one
        for number in range(1000)
        for one in night(database=f"e:\\{number}\\{HOSTILE}.edb", instance=f"SG{number}")
    ]
    settings = Settings(sources=[LOGS])
    html = page_of(folded(many, settings).state, settings)
    assert_self_contained(Page(html))
    assert html.count("its disk is not known") == 1
    assert html.count("and 995 more: ") == 4
    assert "<script>alert" not in html


def test_hidden_counters_lead_to_their_commands_on_the_page() -> None:
    hidden = CountersSeen(time=NOW, computer="EX01", present={OLD: False, SCAN: True})
    html = page_of(folded([*night(), hidden]).state, WHOLE)
    assert '<a href="#hidden">The commands</a>' in html
    assert html.count("Show Advanced Counters") == 1


THE_CLOCK = "clock_skew"
"""The months end before 2026, and no clock that says so is believed."""


@pytest.mark.parametrize("made", [controller, background, search])
def test_a_healthy_month_gives_notes_only(made: Callable[[str, int], Month]) -> None:
    month = made("host", 1)
    logs = LogFiles(type="evtx", name="logs", paths=["/logs/*.evtx"])
    settings = msgspec.structs.replace(month.settings, sources=[logs])
    folder = Folder(State(), settings)
    folder.open_source("logs", END)
    folder.fold("logs", Batch(records=month.records, caught_up=True), END)
    found = overview(folder.state, settings, END).problems
    assert [each.problem for each in found if each.needs_person] == [THE_CLOCK]
    notes = {each.problem for each in found if not each.needs_person}
    assert notes <= {"counters_missing", "device_unknown", "mailboxes_unknown"}


@pytest.mark.parametrize("rules", [[], [DatabaseRule(match="*priv*.edb", mailboxes=7)]])
def test_the_keys_of_a_rule_are_written_once_for_all_its_databases(
    rules: list[DatabaseRule], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(databases=rules)
    records = [event(700, 0.0, database=f"e:\\db{at}\\priv.edb") for at in range(50)]
    state = folder_of(records, settings=settings).state
    written = list[object]()

    def counted(rule: DatabaseRule, keys: frozenset[str]) -> str:
        written.append(keys)
        return dump_keys(rule, keys)

    monkeypatch.setattr(problem, "dump_keys", counted)
    given = RuleSettings(settings, state)
    lines = {given.setting(each, "device_unknown", device="x") for each in state.databases.values()}
    assert (len(lines), len(written)) == (50, 1)
