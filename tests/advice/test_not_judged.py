"""Nothing judged is not zero: what nobody judged, why, and what to do next (semantics.md 5a)."""

import pytest

from esewatch.advice.forecast.verdict import VERDICTS, Verdict
from esewatch.advice.not_judged import Seen, basis
from esewatch.config import Settings, default_settings
from esewatch.config.settings import Disks, LogFiles
from esewatch.fold.state.state import SourceState, State

LOG = Settings(sources=[LogFiles(type="evtx", name="log", paths=["/logs/*.evtx"])])
READ = SourceState(name="log", up=True, caught_up=True, baseline=False, records=7)


def of(*verdicts: Verdict | None, tier: str = "watched", proven: bool = True) -> list[Seen]:
    return [Seen(tier, verdict, proven) for verdict in verdicts]


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
    known = [*of("unproven", "look", proven=False), Seen("watched", "unverified", False, True)]
    found = basis(known, State(), LOG, live=True)
    assert (found.heard, found.proven, found.unproven) == (3, 0, 2)
    assert found.reason == "no verification of 3 watched databases is known"
    assert found.command == "esewatch scan COPY"


def test_what_is_worse_than_blind_is_not_heard_either_while_its_source_is_behind() -> None:
    known = [Seen("watched", "bad_pages", True, behind=True), *of("blind")]
    found = basis(known, State(), LOG, live=True)
    assert (found.heard, found.reason) == (0, "nothing current is known of 2 watched databases")


@pytest.mark.parametrize("verdict", set(VERDICTS) - {"blind", "unproven"})
def test_one_verified_database_is_something_to_count(verdict: Verdict) -> None:
    known = [*of(verdict, "blind", None), *of("unproven", proven=False)]
    found = basis(known, State(), LOG, live=True)
    assert (found.heard, found.proven, found.unproven, found.reason) == (2, 1, 1, "")
    assert found.sentence == ""
