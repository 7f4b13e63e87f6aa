"""The closed list of findings and their sentences."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.advice.base import finding
from esewatch.advice.base.finding import (
    FINDINGS,
    WORDS,
    EarlyStops,
    Finding,
    Proof,
    investigate,
    server_notices,
    span,
)
from esewatch.fold.companions import NOTICES
from esewatch.fold.state.state import BadPage, Damage, EngineError, Notice

DAY = 86400.0
NOW = 1_182_384_840.0  # 2007-06-21 00:14 UTC
DAMAGE = Damage(2, [NOW], [540])
PROOF = Proof(NOW, "online_scan")
ANY = st.floats(allow_nan=True, allow_infinity=True)


def bad(page: int = 17, kind: str = "uncorrectable", pages: int = 1) -> BadPage:
    return BadPage(page=page, kind=kind, first=NOW, last=NOW, pages=pages)  # type: ignore[arg-type]


def one_of_each() -> list[Finding]:
    made = investigate([bad()], {}, [], NOW)
    assert made is not None
    return [
        finding.stopped_early(EarlyStops(["the database scan"], [5400, 3600], 1, 7, NOW)),
        finding.backup_slows(3, 5, [10.2e6, 7.1e6, 5.0e6, 3.8e6], NOW),
        finding.cache_small(900 << 20, 800, 4000 << 20),
        *finding.damage_findings({"divergence": DAMAGE}),
        *server_notices([Notice("failed", 2070, ("db01",), 1, NOW, "why")]),
        *finding.damage_findings({"suspect": DAMAGE}),
        finding.defrag_overdue(NOW, 2 * DAY, 1.5 * DAY),
        *server_notices([Notice("usn_rollback", 2095, ("",), 1, NOW, "")]),
        finding.engine_failure({"memory": (1, NOW)}),
        made,
        *finding.damage_findings({"logical_nonfatal": DAMAGE}),
        finding.never_verified(12 * DAY),
        finding.not_heard(NOW, 2 * DAY, "warning", stopped=True),
        finding.not_restorable(NOW, "Log 11 is missing."),
        finding.only_other_copies_verified("passive", [("ex01", PROOF)]),
        finding.only_other_copies_verified("active", [("ex02", PROOF)]),
        finding.restored_unproven([bad()], NOW),
        finding.scan_off(50 * DAY, NOW),
        finding.scan_stalled(NOW, 3 * DAY, 5000, 20_000),
        finding.scans_collide(["b"], "60% less"),
        finding.scans_do_not_fit(5 * 3600, 4 * 3600, halved=False),
        finding.stopped_early(EarlyStops(["the database scan"], [5400, 3600], 0, 7, NOW)),
        finding.unexplained_error({699: EngineError(2, NOW, "text")}),
        finding.unknown_since(NOW, NOW + DAY, 3, None),
        finding.verification_overdue(PROOF, 9 * DAY, 7 * DAY, None),
        finding.verification_unreadable(NOW, PROOF),
        finding.writes_at_risk({"disk_full": NOW}, None),
    ]


def test_the_list_is_closed_and_every_finding_has_a_sentence_with_figures() -> None:
    made = one_of_each()
    assert tuple(each.finding for each in made) == FINDINGS
    for each in made:
        assert re.search(r"\d", each.sentence), each
        assert not each.sentence.endswith(".")


def test_failures_that_the_engine_reported_are_told_by_kind_the_worst_first() -> None:
    told = finding.engine_failure(
        {"failure_item": (2, NOW), "corruption_item": (1, NOW), "memory": (1, NOW - DAY)}
    )

    assert told.sentence == (
        "the engine logged 1 report of damaged memory of the computer (907), last 2007-06-20 00:14"
        " UTC, 1 failure item of a corruption or a copy that must be reseeded (3005, 3006, 3010),"
        " last 2007-06-21 00:14 UTC and 2 other failure items (3001-3014),"
        " last 2007-06-21 00:14 UTC"
    )


def test_what_a_service_said_is_told_with_its_reason_the_latest_first() -> None:
    told = [
        Notice("failed", 2070, ("db01",), 2, NOW - DAY, "a log is missing"),
        Notice("suspended", 777, ("db01",), 1, NOW, ""),
    ]
    assert server_notices(told) == [
        Finding(
            "copy_failed",
            "Exchange logged that this copy was suspended (event 777, 2007-06-21 00:14 UTC) and"
            " this copy has failed (event 2070, 2 times, last 2007-06-20 00:14 UTC: a log is"
            " missing); for its current state, run Get-MailboxDatabaseCopyStatus",
        )
    ]
    assert WORDS.keys() == NOTICES


def test_bad_pages_and_errors_are_to_be_investigated() -> None:
    pages = [bad(), bad(18, pages=1999), bad(19, "corrected")]
    errors = [NOW - 8 * DAY, NOW - DAY, NOW + DAY]
    assert investigate(pages, {"logical": Damage(2, [1.0], [447])}, errors, NOW) == Finding(
        "investigate",
        "at least 2,000 pages (17-18 and 1,998 without a known number) are bad (checksum, not"
        " correctable), first seen 21 June 2007 00:14 UTC; page 19 was corrected when read"
        " (one-bit error), first seen 21 June 2007 00:14 UTC; no clean scan is known; 2 reports of"
        " logical corruption; 1 I/O error in the last 7 days",
        ("logical", "io"),
        "critical",
        1.0,
    )


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (
            bad(299),
            "page 299 of bad-page.edb is bad (checksum, not correctable), first seen 21 June 2007"
            " 00:14 UTC; last clean online scan 20 June 2007 00:14 UTC",
        ),
        (
            BadPage(5, "no_data", NOW - DAY, NOW, age="history"),
            "page 5 of bad-page.edb is bad (no data), first seen 20 June 2007"
            " 00:14 UTC, last seen 21 June 2007 00:14 UTC; last clean online scan 20 June 2007"
            " 00:14 UTC",
        ),
        (
            BadPage(5, "no_data", NOW, NOW, age="untimed"),
            "page 5 of bad-page.edb is bad (no data), time unknown, read 21 June 2007; last clean"
            " online scan 20 June 2007 00:14 UTC",
        ),
        (
            bad(-1),
            "1 page without a known number of bad-page.edb is bad (checksum, not correctable),"
            " first seen 21 June 2007 00:14 UTC; last clean online scan 20 June 2007 00:14 UTC",
        ),
    ],
)
def test_a_bad_page_is_told_with_its_number_file_and_time(page: BadPage, said: str) -> None:
    proof = Proof(NOW - DAY, "online_scan")
    for database in ("e:\\mdb\\bad-page.edb", "/srv/bad-page.edb"):
        made = investigate([page], {}, [], NOW, database=database, proof=proof)
        assert made is not None
        assert made.sentence == said


def test_a_backup_after_the_bad_page_clears_none() -> None:
    made = investigate([bad()], {}, [], NOW, proof=Proof(NOW + 60, "streaming_backup"))
    assert made is not None
    assert made.sentence.endswith(
        "; last clean streaming backup 21 June 2007 00:15 UTC, which clears none"
    )


def test_without_damage_or_with_an_old_io_error_there_is_nothing_to_investigate() -> None:
    assert investigate([], {}, [], NOW) is None
    assert investigate([], {}, [NOW - 7 * DAY, NOW + 1], NOW) is None


def test_an_overdue_verification_tells_both_figures() -> None:
    made = finding.verification_overdue(PROOF, 9.5 * DAY, 7 * DAY, None)
    assert made.sentence == (
        "not verified for 9.5 days; the deadline is 7 days"
        " (last verified 2007-06-21 00:14 UTC by the online scan)"
    )
    lost = finding.verification_overdue(None, 9.5 * DAY, 7 * DAY, NOW)
    assert lost.sentence == (
        "not verified for 9.5 days since 2007-06-21 00:14 UTC, before which events are missing;"
        " the deadline is 7 days (no verification is known)"
    )


def test_of_many_verified_copies_three_are_named() -> None:
    copies = [(f"ex{number:02}", PROOF) for number in range(2, 7)]
    made = finding.only_other_copies_verified("active", copies)
    assert made.finding == "only_passive_verified"
    assert "ex04" in made.sentence
    assert "ex05" not in made.sentence
    assert "and 2 more" in made.sentence


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (20.0, "20 s"),
        (2700.0, "45 min"),
        (3599.0, "1 h"),
        (15300.0, "4 h 15 min"),
        (2 * DAY, "2 days"),
        (12.5 * DAY, "12.5 days"),
        (math.inf, "inf s"),
        (1e300, "1e+300 s"),
    ],
)
def test_a_span_is_told_in_its_own_size(seconds: float, text: str) -> None:
    assert span(seconds) == text


@given(ANY, ANY, ANY, st.integers(), st.lists(ANY, max_size=3))
def test_no_figure_raises(
    one: float, two: float, three: float, count: int, times: list[float]
) -> None:
    proof = Proof(one, "external")
    investigate([bad(count, pages=count)], {"index": Damage(count, times, [])}, times, one)
    made = [
        finding.never_verified(one),
        finding.only_other_copies_verified("active", [("ex02", proof)]),
        finding.scan_off(one, two),
        finding.defrag_overdue(one, two, three),
        finding.cycles_torn(count),
        finding.scan_stalled(one, two, three, one),
        finding.scans_do_not_fit(one, two, halved=True),
        finding.unknown_since(one, two, count, proof),
        finding.verification_overdue(proof, one, two, three),
    ]
    assert all(each.finding in FINDINGS and each.sentence for each in made)
