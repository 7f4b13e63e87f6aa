"""The oracle's reading of failovers, a case a rule."""

import pytest

from tests.oracle.cases import LABEL, answer, answers, at, checksummed, now, old, passed
from tests.oracle.history import Answer, Logged, Totals

HIGH = "Microsoft-Exchange-HighAvailability"


def moved(days: float, *strings: str, event_id: int = 308, provider: str = HIGH) -> Logged:
    """An event of the Active Manager, on a server without a copy."""
    return Logged(at(days), "EX09", "x", provider, event_id, None, strings)


def after(*records: Logged) -> Answer:
    """What is said of a pass from day 0 to day 3, these being logged meanwhile."""
    return answer(now(0, 736), passed(3, 3), *records)


def test_a_failover_ends_the_open_pass() -> None:
    found = after(moved(1, "op", "SG06"))
    assert not found.verified
    assert found.totals["checksum"] == Totals(started=1, completed=1)
    resumed = after(moved(1, "op", "SG06"), now(2, 738, "9", "7/1/2007", "1"))
    assert resumed.totals["checksum"] == Totals(started=2, completed=1)


@pytest.mark.parametrize("days", [-1, 4])
def test_a_failover_outside_a_pass_leaves_it_alone(days: float) -> None:
    assert after(moved(days, "op", "SG06")).verified == {"online_scan": at(3)}


def test_a_move_that_began_or_failed_is_none() -> None:
    for event_id in (306, 307):
        assert after(moved(1, "op", "SG06", event_id=event_id)).verified


def test_the_begin_of_a_move_names_what_was_moved() -> None:
    begin = moved(0.9, "op", "guid", "sg06", event_id=306)
    assert not after(begin, moved(1, "op", "Move")).verified
    assert after(begin, moved(1, "other", "Move")).verified


@pytest.mark.parametrize(
    ("names", "open_passes"),
    [
        ((), []),
        (("ex01.corp.example",), ["ex02"]),
        (("EX02",), ["ex01"]),
        (("EX02.other.example",), []),
    ],
)
def test_a_failover_is_of_the_servers_that_it_names_else_of_all_copies(
    names: tuple[str, ...], open_passes: list[str]
) -> None:
    running = [now(0, 736, computer=computer) for computer in ("EX01", "EX02.corp.example")]
    stops = [
        each._replace(time=at(2), event_id=103, record_id=None, strings=(*each.strings[:3], "0"))
        for each in running
    ]
    found = answers(*running, moved(1, "op", "SG06", *names), *stops)
    interrupted = [
        computer
        for computer in ("ex01", "ex02")
        if found[computer, LABEL].totals["checksum"].interrupted
    ]
    assert interrupted == open_passes


@pytest.mark.parametrize(
    ("event_id", "end", "ends"),
    [(126, "", True), (117, "A successful failover restored service.", True), (117, "", False)],
)
def test_what_became_of_a_failure(event_id: int, end: str, ends: bool) -> None:
    text = f"At 'x' the Exchange store database 'SG06' copy on this server failed. {end}"
    found = after(moved(1, text, event_id=event_id, provider="ExchangeStoreDB"))
    assert bool(found.verified) is not ends


def test_2093_is_of_the_whole_server() -> None:
    forced = moved(1, "x", event_id=2093, provider="MSExchangeRepl")
    here = forced._replace(computer="ex01.corp.example")
    records = (old(0, 717), old(2, 719), checksummed(3, "7/1/2007"))
    assert answer(*records, forced).totals["checksum"] == Totals(started=1, completed=1)
    assert answer(*records, here).totals["checksum"] == Totals(started=2, completed=1)
