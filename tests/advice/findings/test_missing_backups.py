"""What a restore would need and is missing: a backup in time, and a copy that would mount.

These are the records' half of cases that `tests/rules/moved_cases.yml` lists.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from esewatch.advice.advise import advise
from esewatch.advice.judgement import Judgement
from esewatch.advice.statements import restate, standing
from esewatch.config import CopyOf, DatabaseRule, Policy, Settings
from esewatch.expose.pages.runbooks.runbook_links import _CARRIED
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.model import Batch, CopyChecked, Coverage, Record
from tests.support.records import DATABASE, DAY, EPOCH, HOUR, LABEL, backed_up, event, folder_of

NEVER = float("inf")
KEY = ("ex01", LABEL)
DC: dict[str, Any] = {
    "computer": "DC01",
    "provider": "NTDS ISAM",
    "process": "NTDS",
    "ese_instance": "NTDSA",
    "database": "c:\\ntds.dit",
    "channel": "Directory Service",
}


def nights(days: float, computer: str = "EX01", **changes: Any) -> list[Record]:
    """Online defragmentation begins each day: its computer is on, and its log is read."""
    return [event(700, at * DAY, computer=computer, **changes) for at in range(int(days) + 1)]


def backup(day: float, kind: int = 210, **changes: Any) -> list[Record]:
    """A streaming backup, full (210) or incremental (211), that ends so many days after EPOCH."""
    end = day * DAY
    files = [event(220, end - 600, **changes), event(221, end - 60, **changes)]
    begun = event(kind, end - 900, **{**changes, "database": ""})
    done = event(213, end, **{**changes, "database": ""})
    return [begun, *(files if kind == 210 else []), done]


def snapshot(day: float, **changes: Any) -> list[Record]:
    """A shadow copy, which names no database; by default of all of its process."""
    told = {"ese_instance": "", **changes, "database": ""}
    return [event(2005, day * DAY - 60, **told), event(2006, day * DAY, **told)]


def roles(**of: str) -> list[DatabaseRule]:
    """The roles of its copies, by computer."""
    known: Mapping[str, Any] = of
    return [DatabaseRule(match="*", computer=name, role=role) for name, role in known.items()]


PAIR = Settings(databases=roles(ex01="active", ex02="passive"))


def judged(
    records: Iterable[Record], day: float, settings: Settings | None = None
) -> Sequence[Judgement]:
    settings = settings or Settings()
    return advise(folder_of(records, settings=settings).state, settings, EPOCH + day * DAY)


def told(
    records: Iterable[Record],
    day: float,
    settings: Settings | None = None,
    name: str = "backup_missing",
) -> dict[str, str]:
    """By computer, the severity of the finding."""
    return severities(judged(records, day, settings), name)


def severities(found: Iterable[Judgement], name: str = "backup_missing") -> dict[str, str]:
    told = ((each.computer, one) for each in found for one in each.details)
    return {computer: one.severity for computer, one in told if one.finding == name}


WARNED = {"ex01": "warning"}


def test_a_backup_is_missing_when_its_time_is_over_until_one_completes() -> None:
    known = [*nights(40), *backup(20)]
    assert told(known, 20 + 1.49) == {}
    assert told(known, 20 + 1.51) == WARNED
    assert told([*known, *backup(22)], 22.01) == {}


def test_it_is_said_with_its_figures_and_changes_no_verdict() -> None:
    (of,) = judged([*nights(40), *backup(20)], 23.5)
    (found,) = [each for each in of.details if each.sentence]
    assert (of.verdict, of.findings, found.finding) == ("ok", (), "backup_missing")
    assert found.sentence == (
        "no backup of it has completed for 3.5 days (last at 2007-07-06 13:20 UTC); the limit is"
        " 36 h; check its job and run one, or set backup_within: never where copies stand for it"
    )
    assert ("backup_missing", "warning") in standing(of)
    assert _CARRIED["backup_missing"] == "EseBackupMissing"


def test_the_newest_backup_of_any_kind_counts() -> None:
    known = [*nights(40), *backup(20)]
    assert told([*known, *backup(22, 211)], 23) == {}
    assert told([*known, backed_up("SG06", 22 * DAY)], 23) == {}
    assert told([*known, *snapshot(22, ese_instance="SG06")], 23) == {}


def test_a_database_is_asked_for_one_when_it_is_known_for_14_days() -> None:
    known = [*nights(40), *backup(3)]
    assert told(known, 13.9) == {}
    assert told(known, 14.1) == WARNED


def test_the_policy_of_a_database_decides_and_never_asks_for_none() -> None:
    def within(seconds: float) -> dict[str, str]:
        rule = DatabaseRule(match="*", policy={"backup_within": seconds})
        return told([*nights(40), *backup(20)], 22, Settings(databases=[rule]))

    assert within(3 * DAY) == within(NEVER) == {}
    assert within(DAY) == WARNED
    settings = Settings(policy=Policy(backup_within=NEVER))
    assert told([*nights(40), *backup(20)], 30, settings) == {}


def test_what_is_only_observed_is_not_asked_for_one() -> None:
    settings = Settings(databases=[DatabaseRule(match="*", tier="observed")])
    assert told([*nights(40), *backup(20)], 30, settings) == {}


@pytest.mark.parametrize("model", ["window", "background"])
def test_a_database_of_exchange_that_was_never_backed_up_is_told(model: Any) -> None:
    settings = Settings(databases=[DatabaseRule(match="*", model=model)])
    assert told(nights(40), 14.1, settings) == WARNED
    (of,) = judged(nights(40), 20, settings)
    (found,) = [each for each in of.details if each.finding == "backup_missing"]
    assert "for 20 days (none is known);" in found.sentence


def test_where_backups_are_not_usual_one_is_missed_after_the_first() -> None:
    known = nights(40, **DC)
    assert told(known, 30) == {}
    assert told([*known, *backup(20, **DC)], 30) == {"dc01": "warning"}
    application = Settings(databases=[DatabaseRule(match="*", model="application")])
    assert told(nights(40), 30, application) == {}


def test_an_agent_that_reads_no_event_of_a_database_misses_none() -> None:
    settings = Settings(databases=[DatabaseRule(match="*", model="window", tier="watched")])
    assert told([checked(0)], 30, settings) == {}


def test_without_databases_none_is_missed() -> None:
    assert told([], 30) == {}


def test_where_snapshots_complete_a_database_without_a_backup_of_its_own_may_be_in_them() -> None:
    other = nights(40, database="e:\\mdb07\\priv07.edb", ese_instance="SG07")
    known = [*nights(40), *other]
    assert told(known, 30) == WARNED
    assert told([*known, *snapshot(20)], 30) == {}
    assert told([*known, *snapshot(20)], 34.1) == WARNED
    assert told([*known, *backup(20), *snapshot(29)], 30)[KEY[0]] == "warning"


def test_snapshots_of_other_programs_and_computers_do_not_count() -> None:
    known = nights(40)
    elsewhere = snapshot(29, computer="EX09")
    program = snapshot(29, provider="ESENT", process="svchost", ese_instance="app")
    begun = event(2005, 29 * DAY, database="", ese_instance="")
    assert told([*known, *elsewhere, *program, begun], 30)["ex01"] == "warning"


def test_a_snapshot_of_the_passive_copy_counts() -> None:
    other = nights(40, "EX02", database="e:\\mdb07\\priv07.edb", ese_instance="SG07")
    known = [*nights(40), *nights(40, "EX02"), *other]
    assert told(known, 30, PAIR) == {"ex01": "warning", "ex02": "warning"}
    assert told([*known, *snapshot(29, computer="EX02")], 30, PAIR) == {}


BOTH = [*nights(40), *nights(40, "EX02")]


def test_a_backup_of_one_copy_is_one_of_all() -> None:
    assert told([*BOTH, *backup(29, computer="EX02")], 30, PAIR) == {}
    assert told([*BOTH, *backup(29, computer="EX02")], 31, PAIR) == {
        "ex01": "warning",
        "ex02": "warning",
    }


def test_a_database_of_which_only_a_passive_copy_is_known_is_asked_for_one() -> None:
    records = [*nights(40, "EX02"), *backup(20, computer="EX02")]
    assert told(records, 30, PAIR) == {"ex02": "warning"}
    (of,) = judged(records, 30, PAIR)
    assert of.details[-1].sentence.startswith(
        "no backup of it, or of a copy of it that is read here, has completed for 10 days"
    )


def test_servers_that_share_a_name_and_a_path_have_backups_of_their_own() -> None:
    settings = Settings(databases=roles(ex01="active", ex02="active"))
    records = [*BOTH, *backup(29, computer="EX02")]
    assert told(records, 30, settings) == WARNED
    assert told([*records, *backup(20)], 30, settings) == WARNED
    assert told([*records, *backup(29)], 30, settings) == {}
    copies = [CopyOf(computer="ex02", database=DATABASE)]
    named = [DatabaseRule(match="*", computer="dc01", copies=copies), *settings.databases]
    assert told(records, 30, Settings(databases=named)) == WARNED


def test_a_snapshot_of_one_of_two_servers_that_share_a_name_is_none_of_the_other() -> None:
    settings = Settings(databases=roles(ex01="active", ex02="active"))
    assert told([*BOTH, *snapshot(29, computer="EX02")], 30, settings) == WARNED


def test_directories_of_two_controllers_are_two_databases() -> None:
    one, two = DC, {**DC, "computer": "DC02"}
    records = [*nights(40, **one), *nights(40, **two), *backup(20, **one), *backup(29, **two)]
    assert told(records, 30) == {"dc01": "warning"}


def test_a_copy_of_unknown_role_is_judged_by_its_own_backup_the_others_by_theirs() -> None:
    records = [*BOTH, *nights(40, "EX03")]
    assert told([*records, *backup(29, computer="EX02")], 30, PAIR) == {"ex03": "warning"}
    assert told([*records, *backup(29, computer="EX03")], 30, PAIR) == {
        "ex01": "warning",
        "ex02": "warning",
    }


def test_a_passive_copy_is_none_of_an_active_one_at_another_path() -> None:
    active = nights(40, database="f:\\priv06.edb")
    records = [*active, *backup(29, database="f:\\priv06.edb"), *nights(40, "EX02")]
    assert told(records, 30, PAIR) == {"ex02": "warning"}


def test_two_databases_of_one_computer_are_no_copies_whatever_a_name_for_both_says() -> None:
    rules = [
        DatabaseRule(match="*priv06.edb", name="mdb", role="active"),
        DatabaseRule(match="*priv07.edb", name="mdb", role="passive"),
    ]
    other: dict[str, Any] = {"database": "e:\\mdb07\\priv07.edb"}
    records = [*nights(40), *nights(40, **other), *backup(29, **other)]
    found = judged(records, 30, Settings(databases=rules))
    assert [severities([each]) for each in found] == [WARNED, {}]


def test_after_a_failover_both_may_be_active_for_a_day() -> None:
    store: dict[str, Any] = {"process": "Microsoft.Exchange.Store.Worker"}
    active = [event(736, at * DAY, **store) for at in range(41)]
    passive = [event(732, at * DAY, computer="EX02", **store) for at in range(30)]
    taken = [event(736, (30 + at) * DAY, computer="EX02", **store) for at in range(10)]
    records = [*active, *passive, *taken, *backup(30, **store)]
    assert told(records, 30.9) == {}
    assert told(records, 31.1) == {"ex02": "warning"}


def test_a_machine_that_was_off_missed_nothing() -> None:
    stopped = [*nights(21), *backup(20), event(103, 21 * DAY + HOUR, database="")]
    records = [*stopped, event(102, 50 * DAY, database=""), *nights(51)[50:]]
    assert told(records, 50.4) == {}
    assert told(records, 50.6) == WARNED


def test_of_what_is_off_for_14_days_it_is_information_by_the_calendar() -> None:
    stopped = [*nights(21), *backup(20), event(103, 21 * DAY + HOUR, database="")]
    assert told(stopped, 35) == {}
    (of,) = judged(stopped, 36)
    (found,) = [each for each in of.details if each.finding == "backup_missing"]
    assert (found.severity, found.sentence) == (
        "info",
        "no backup of it has completed for 16 days (last at 2007-07-06 13:20 UTC), of which its"
        " computer was on for 25 h; the limit is 36 h; check its job and run one, or"
        " set backup_within: never where copies stand for it",
    )


def test_information_about_a_missing_backup_changes_no_verdict() -> None:
    lived = [
        event(700, at * DAY, database="e:\\mdb07\\priv07.edb", ese_instance="SG07")
        for at in range(41)
    ]
    stopped = [*nights(21), *backup(20), event(103, 21 * DAY + HOUR, database="")]
    found = judged([*lived, *stopped], 36)
    assert [(each.verdict, severities([each])) for each in found if each.database == LABEL] == [
        ("ok", {"ex01": "info"})
    ]


def test_a_copy_that_is_off_holds_up_nothing_of_the_others() -> None:
    off = event(103, 21.1 * DAY, database="", computer="EX02")
    records = [*nights(40), *nights(21, "EX02"), off, *backup(20, computer="EX02")]
    assert told(records, 30, PAIR) == {"ex01": "warning", "ex02": "warning"}


def test_what_is_missing_is_judged_as_of_the_silence_for_14_days() -> None:
    records = [*nights(40), *nights(20, "EX02"), *backup(19.9, computer="EX02")]
    settings = Settings(databases=PAIR.databases, policy=Policy(silent_after=DAY))
    assert told(records, 22, settings) == {}
    assert told(records, 34, settings) == {}
    assert told(records, 36, settings) == {"ex01": "warning", "ex02": "info"}


def test_a_silent_computer_gets_no_missing_backup_by_its_silence() -> None:
    other: dict[str, Any] = {"database": "e:\\mdb07\\priv07.edb", "ese_instance": "SG07"}
    records: list[Record] = [
        event(700, at * DAY, 2 * at + number, **changes)
        for at in range(31)
        for number, changes in ((1, {}), (2, other))
    ]
    records += snapshot(29.5)
    assert told(records, 44) == {}
    assert told(records, 60) == {"ex01": "info"}


def test_while_the_log_is_not_read_to_its_end_none_is_missed_and_what_was_missed_stands() -> None:
    records = [*nights(40), *backup(20)]
    folder = Folder(State(), Settings())
    folder.open_source("logs", EPOCH)

    def stated(day: float, records: list[Record], *, caught_up: bool) -> bool:
        folder.fold("logs", Batch(records=records, caught_up=caught_up))
        found = advise(folder.state, Settings(), EPOCH + day * DAY)
        list(restate(folder.state, Settings(), found, {}, 60.0))
        known = folder.state.stated.get(KEY)
        return known is not None and "backup_missing warning" in known.standing

    assert not stated(22, records, caught_up=False)
    assert stated(22, [], caught_up=True)
    assert stated(22, [], caught_up=False)
    assert not stated(22, backup(22), caught_up=True)


def test_a_backup_may_be_in_the_log_of_another_copy_that_is_not_read_to_its_end() -> None:
    folder = folder_of(nights(40), settings=PAIR)
    folder.open_source("others", EPOCH)

    def missing(records: list[Record], *, caught_up: bool) -> dict[str, str]:
        folder.fold("others", Batch(records=records, caught_up=caught_up))
        return severities(advise(folder.state, PAIR, EPOCH + 30 * DAY))

    known = [*nights(20, "EX02"), *backup(19.5, computer="EX02")]
    assert missing(known, caught_up=False) == {}
    rest = nights(40, "EX02")[21:]
    assert missing(rest, caught_up=True) == {"ex01": "warning", "ex02": "warning"}


def test_a_backup_may_be_among_events_that_are_missing() -> None:
    def read(first: int, last: int) -> list[Record]:
        """Events number 1 to 41 are of days 0 to 40."""
        covered = Coverage(
            computer="EX01.corp.example",
            channel="Application",
            first=first,
            last=last,
            first_time=EPOCH + (first - 1) * DAY,
            last_time=EPOCH + (last - 1) * DAY,
        )
        return [*(event(700, (at - 1) * DAY, at) for at in range(first, last + 1)), covered]

    assert told(read(1, 41), 30.5) == WARNED
    assert told([*read(1, 28), *read(31, 41)], 30.5) == {}
    assert told([*read(1, 28), *read(31, 41)], 32) == WARNED


NO_COPY = "no_restorable_copy"


def checked(day: float, verdict: str = "restorable", computer: str = "EX01") -> CopyChecked:
    return CopyChecked(
        time=EPOCH + day * DAY,
        computer=computer,
        database=DATABASE,
        by="page_scan",
        complete=True,
        pages_seen=5000,
        bad=0,
        verdict=verdict,
        verdict_reason="Log 11 is missing." if verdict == "not_restorable" else "",
    )


def test_the_last_copy_that_would_mount_is_too_old_until_there_is_another_one() -> None:
    known = [*nights(60), checked(20)]
    assert told(known, 27.9, name=NO_COPY) == {}
    assert told(known, 28.1, name=NO_COPY) == WARNED
    assert told([*known, checked(27, "not_restorable")], 28.1, name=NO_COPY) == WARNED
    assert told([*known, checked(28, "replay_needed")], 28.1, name=NO_COPY) == {}
    (of,) = judged(known, 30)
    (found,) = [each for each in of.details if each.finding == NO_COPY]
    assert found.sentence == (
        "no copy of it that would mount was found for 10 days (the last one is of 2007-07-06 13:20"
        " UTC); the limit is 8 days"
    )
    assert _CARRIED["no_restorable_copy"] == "EseNoRestorableCopy"


def test_where_no_copy_ever_mounted_it_is_as_long_as_the_database_is_known() -> None:
    known = [*nights(60), checked(3, "not_restorable")]
    assert told(known, 13.9, name=NO_COPY) == {}
    assert told(known, 14.1, name=NO_COPY) == WARNED


def test_a_database_whose_copies_are_not_judged_is_not_asked_for_one() -> None:
    assert told(nights(60), 50, name=NO_COPY) == {}


def test_the_policy_of_a_database_decides_how_old_its_copy_may_be() -> None:
    def within(seconds: float) -> dict[str, str]:
        rule = DatabaseRule(match="*", policy={"restorable_within": seconds})
        return told([*nights(60), checked(20)], 29, Settings(databases=[rule]), NO_COPY)

    assert within(10 * DAY) == within(NEVER) == {}
    assert within(DAY) == within(8 * DAY) == WARNED


def test_of_what_is_only_observed_no_copy_is_asked_for() -> None:
    settings = Settings(databases=[DatabaseRule(match="*", tier="observed")])
    assert told([*nights(60), checked(20)], 40, settings, NO_COPY) == {}


def test_an_agent_that_only_scans_copies_misses_one_that_would_mount() -> None:
    settings = Settings(databases=[DatabaseRule(match="*", tier="watched")])
    assert told([checked(0)], 20, settings, NO_COPY) == WARNED
