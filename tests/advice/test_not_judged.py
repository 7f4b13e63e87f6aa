"""Nothing judged is not zero: what nobody judged, why, and what to do next (semantics.md 5a)."""

from typing import Any

import msgspec
import pytest

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import Finding
from esewatch.advice.judgement import VERDICTS, Judgement, Verdict
from esewatch.advice.not_judged import basis, never_proven, never_proven_text
from esewatch.config import DatabaseRule, Disks, LogFiles, Policy, Settings, default_settings
from esewatch.fold.identity.identity import Tier
from esewatch.fold.state.state import SourceState, State
from tests.advice.window.test_garbage_collection import NTDS, cycles
from tests.expose.examples import NOW, PRIV06, exchange_2007
from tests.support.records import DAY, EPOCH, folder_of

PATH = "c:\\windows\\ntds\\ntds.dit"
LOG = Settings(sources=[LogFiles(type="evtx", name="log", paths=["/logs/*.evtx"])])
READ = SourceState(name="log", up=True, caught_up=True, baseline=False, records=7)


NEVER = Finding("never_verified", "no verification is known")
(JUDGED,) = advise(State(databases={PRIV06: exchange_2007()}), default_settings(), NOW)
UNKNOWN = msgspec.structs.replace(JUDGED.ledger, last=None)

Known = tuple[str, Judgement | None]


def of(*verdicts: Verdict | None, tier: Tier = "watched", **changes: Any) -> list[Known]:
    told = {"tier": tier, "findings": (), **changes}
    return [
        (tier, each and msgspec.structs.replace(JUDGED, **{**told, "verdict": each}))
        for each in verdicts
    ]


@pytest.mark.parametrize(
    ("settings", "source", "reason"),
    [
        (default_settings(), None, "no source of events or counters is configured"),
        (
            Settings(sources=[Disks(type="disks", name="d")]),
            None,
            "no source of events or counters",
        ),
        (LOG, SourceState(name="log"), "no source can be read"),
        (LOG, SourceState(name="log", up=True), "the first reading is not done"),
        (LOG, READ, "nothing that was read names an ESE database"),
    ],
    ids=["none", "disks", "down", "reading", "read"],
)
def test_an_agent_without_a_database_says_why_and_what_to_run(
    settings: Settings, source: SourceState | None, reason: str
) -> None:
    found = basis([], State(sources={"log": source} if source else {}), settings, live=True)
    assert (found.heard, found.proven, found.command) == (0, 0, "esewatch doctor")
    assert reason in found.reason


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        (0, "no ESE event is in what was read"),
        (
            9,
            "no event that was read names an ESE database (temporary and system ones are left out)",
        ),
    ],
)
def test_logs_without_a_database_say_which_log_to_export(records: int, reason: str) -> None:
    state = State(sources={"a": SourceState(name="a", up=True, records=records)})
    found = basis([], state, LOG, live=False)
    assert (found.reason, found.command) == (reason, "wevtutil epl Application Application.evtx")


@pytest.mark.parametrize("live", [True, False])
def test_only_observed_databases_are_not_basis(live: bool) -> None:
    known = [*of("ok", "look", tier="observed"), *of(None, tier="ignored")]
    found = basis(known, State(), LOG, live=live)
    assert found.reason.startswith("none of the 2 databases is of a kind that is watched")
    assert "tier: watched" in found.command
    assert (found.heard, found.unproven) == (0, 0)


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (None, "2 watched databases are not judged yet"),
        ("blind", "nothing current is known of 2 watched databases"),
    ],
)
def test_what_is_blind_or_waits_is_no_zero(verdict: Verdict | None, reason: str) -> None:
    found = basis(of(verdict, verdict), State(), LOG, live=True)
    assert (found.heard, found.proven, found.reason) == (0, 0, reason)


def test_what_nothing_ever_verified_is_heard_and_no_number_of_its_bad_pages_is_known() -> None:
    known = [
        *of("unproven", "look", ledger=UNKNOWN),
        *of("unverified", findings=(NEVER,), ledger=UNKNOWN),
    ]
    found = basis(known, State(), LOG, live=True)
    assert (found.heard, found.proven, found.unproven) == (3, 0, 2)
    assert found.reason == "no verification of 3 watched databases is known"
    assert found.command == "esewatch scan COPY"


def test_what_is_worse_than_blind_is_not_heard_either_while_its_source_is_behind() -> None:
    known = [*of("bad_pages", stale="log cannot be read"), *of("blind")]
    found = basis(known, State(), LOG, live=True)
    assert (found.heard, found.reason) == (0, "nothing current is known of 2 watched databases")


@pytest.mark.parametrize("verdict", set(VERDICTS) - {"blind", "unproven"})
def test_one_verified_database_is_something_to_count(verdict: Verdict) -> None:
    known = [*of(verdict, "blind", None), *of("unproven", ledger=UNKNOWN)]
    found = basis(known, State(), LOG, live=True)
    assert (found.heard, found.proven, found.unproven, found.reason) == (2, 1, 1, "")
    assert found.sentence == ""


def advised(days: float, settings: Settings, *computers: str) -> tuple[Judgement, ...]:
    records = [each for name in computers for each in cycles({**NTDS, "computer": name}, days)]
    return advise(folder_of(records, settings=settings).state, settings, EPOCH + days * DAY)


def test_many_domain_controllers_are_one_sentence() -> None:
    names = [f"DC{number:02}" for number in range(40)]
    told = advised(8, Settings(), *names)

    assert {(each.findings, each.verdict) for each in told} == {((), "unproven")}
    assert never_proven_text(never_proven(told)) == (
        f"no verification is known for 40 directories ({PATH} on dc00, {PATH} on dc01,"
        f" {PATH} on dc02 and 37 more): the maintenance of a directory does not read every page;"
        " run a page scan of a snapshot, or esentutl /k on a copy"
    )


def test_nothing_is_said_before_a_week_nor_where_it_is_asked_for() -> None:
    assert never_proven(advised(6, Settings(), "DC01")) == []
    asked = Settings(policy=Policy(verify_within=9 * DAY))
    (one,) = advised(10, asked, "DC01")
    assert [each.finding for each in one.findings] == ["never_verified"]
    assert one.verdict == "unverified"
    assert never_proven([one]) == []
    observed = Settings(databases=[DatabaseRule(match="*", tier="observed")])
    assert never_proven(advised(10, observed, "DC01")) == []
