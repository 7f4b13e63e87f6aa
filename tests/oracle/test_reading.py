"""The oracle's reading of sections 1 and 2, a case a rule."""

import pytest

from tests.oracle.cases import (
    CERTSRV,
    LABEL,
    NOW,
    PRIV,
    answer,
    answers,
    at,
    broken,
    checksummed,
    event,
    followed,
    now,
    old,
    passed,
)
from tests.oracle.chronicle import chronicle
from tests.oracle.history import History, Logged, Totals
from tests.oracle.identity import database_label

BAD = frozenset({(17, "uncorrectable")})
ALL_RUN = "49999, 0"


# section 1


def test_two_full_names_under_one_short_label_are_two_computers() -> None:
    found = answers(
        event(0, 700, PRIV, computer="EX01.a.example", number=5),
        event(1, 700, PRIV, computer="ex01.b.example", number=5),
        event(2, 701, PRIV, computer="EX01", number=6),
    )
    assert found["ex01", LABEL].totals == {"defrag": Totals(started=1, completed=1)}
    assert found["ex01.b.example", LABEL].totals == {"defrag": Totals(started=1)}


def test_the_oldest_record_keeps_the_short_name_in_any_order() -> None:
    found = answers(
        event(1, 700, PRIV, computer="ex01.b.example"),
        event(0, 700, PRIV, computer="ex01.a.example"),
    )
    assert set(found) == {("ex01", LABEL), ("ex01.b.example", LABEL)}


def test_an_alias_is_the_computer() -> None:
    found = answers(old(0, 700), computers={"EX01": "mail.corp.example"})
    assert set(found) == {("mail", LABEL)}


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("\\\\?\\E:\\MDB06\\priv06.edb", LABEL),
        ("e:/MDB06//priv06.edb", LABEL),
        ("\\\\Server\\Share\\A.edb", "\\\\server\\share\\a.edb"),
        ("\\\\?\\UNC\\Server\\Share\\A.edb", "\\\\server\\share\\a.edb"),
        ("/var/Lib/A.edb", "/var/Lib/A.edb"),
        ("C:\\$SNAP_201912161234_VOLUMEE$\\MDB06\\priv06.edb", LABEL),
        ("E:\\MDB06\\.\\priv06.edb", LABEL),
        ("\\\\.\\E:\\MDB06\\priv06.edb", LABEL),
        ("E:\\MDB06\\E00.log", ""),
    ],
)
def test_a_path_has_one_label(path: str, label: str) -> None:
    assert database_label(path) == label


def test_a_shadow_copy_whose_origin_is_not_told_is_known_by_a_bad_page_only() -> None:
    shadow = "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy7\\priv06.edb"
    assert set(answers(old(0, 700), event(1, 326, "1", shadow))) == {("ex01", LABEL)}
    other = "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy7\\other.edb"
    assert ("ex01", other) in answers(old(0, 700), event(1, 399, other))


def test_eseutil_at_a_file_changes_neither_model_nor_tier_but_its_bad_page_counts() -> None:
    found = answer(old(0, 700), broken(1, who=("eseutil", "77", "")))
    assert (found.model, found.tier, found.known_bad) == ("window", "watched", BAD)


def test_a_web_cache_is_ignored_until_it_is_corrupt() -> None:
    path = "C:\\Users\\u\\WebCache\\WebCacheV01.dat"
    quiet = event(0, 326, "1", path, provider="ESENT")
    assert not answers(quiet)
    found = answers(quiet, event(1, 542, path, "7", "8", provider="ESENT"))
    assert {each.tier for each in found.values()} == {"observed"}


@pytest.mark.parametrize("name", ["temp.edb", "tmp.edb", "TEMPCHKSUM7.EDB"])
def test_a_temporary_database_is_none_whatever_it_logs(name: str) -> None:
    path = "C:\\Windows\\NTDS\\" + name
    assert set(answers(old(0, 700), event(0, 542, path, "7", "8"))) == {("ex01", LABEL)}


def test_a_database_that_logged_maintenance_is_watched_another_observed() -> None:
    path = "c:\\data\\other.edb"
    who = ("app", "1", "app: ")
    attached = event(0, 326, "1", path, who=who, provider="ESENT")
    assert answers(attached)["ex01", path].tier == "observed"
    found = answers(attached, event(1, 700, path, who=who, provider="ESENT"))
    assert found["ex01", path].tier == "watched"


def test_role_is_the_family_of_the_last_maintenance_event() -> None:
    assert answer(now(0, 736), now(1, 717)).role == "passive"
    assert answer(now(0, 717), now(1, 738)).role == "active"
    assert answer(old(0, 717)).role == ""


def test_the_replication_service_is_passive() -> None:
    who = ("MSExchangeRepl", "99", "SG06: ")
    found = answer(event(0, 326, "1", PRIV, who=who))
    assert (found.role, found.tier) == ("passive", "watched")


def test_a_2007_process_with_a_bare_number_says_no_role() -> None:
    assert answer(event(0, 719, PRIV)).role == ""


# section 2


def test_a_record_is_a_duplicate_only_where_number_and_time_fit() -> None:
    first = event(0, 700, PRIV, number=7)
    again = event(0, 700, PRIV, number=7)
    other = event(9, 700, PRIV, number=7)
    assert answer(first, again, other).totals["defrag"] == Totals(started=2)


def test_without_a_number_nothing_is_a_duplicate() -> None:
    bare = old(0, 704)._replace(record_id=None)
    assert answer(bare, bare).totals["defrag"] == Totals(interrupted=2)


def bare(record: Logged, file: int) -> Logged:
    return record._replace(record_id=None, file=file)


def test_exports_that_overlap_hold_the_largest_count_of_one_of_them() -> None:
    stop = old(0.5, 704)
    one, again, other = bare(stop, 1), bare(stop, 2), bare(stop._replace(time=stop.time + 1), 2)
    assert answer(one, again).totals["defrag"] == Totals(interrupted=1)
    assert answer(one, again, other).totals["defrag"] == Totals(interrupted=2)
    assert answer(one, one, again).totals["defrag"] == Totals(interrupted=2)
    assert answer(stop, one).totals["defrag"] == Totals(interrupted=1)
    elsewhere = again._replace(computer="EX02")
    assert answers(one, elsewhere)["ex02", LABEL].totals["defrag"] == Totals(interrupted=1)


def test_order_is_that_of_the_numbers_where_a_clock_was_set_back() -> None:
    early = event(0.5, 700, PRIV, number=10)
    late = event(0.5 - 0.04, 701, PRIV, number=11)
    assert answer(late, early).totals["defrag"] == Totals(started=1, completed=1)
    told = chronicle(History((late, early), at(9)))
    assert [each.id for each in told.events] == [700, 701]


def test_a_log_that_begins_again_is_ordered_by_time() -> None:
    records = [event(each, 704, PRIV, number=500 + each) for each in range(4)]
    again = event(5, 700, PRIV, number=1)
    told = chronicle(History((again, *records), at(9), complete_channels=True))
    assert [each.number for each in told.events] == [500, 501, 502, 503, 1]
    assert not told.gaps


def test_a_resume_opens_a_pass_only_when_none_is_open() -> None:
    assert answer(old(0, 702)).totals["defrag"] == Totals(started=1)
    assert answer(old(0, 700), old(1, 704), old(2, 702)).totals["defrag"] == Totals(
        started=1, interrupted=1
    )


def test_stop_and_detach_interrupt_a_running_pass_once() -> None:
    records = (old(0, 736), event(1, 327, "1", PRIV), event(1.1, 103, "0"))
    assert answer(*records).totals["checksum"] == Totals(started=1, interrupted=1)


def test_a_stop_after_an_interruption_interrupts_nothing() -> None:
    found = answer(old(0, 700), old(0.2, 704), event(1, 103, "0"))
    assert found.totals["defrag"] == Totals(started=1, interrupted=1)


def test_a_stop_of_a_tool_or_of_another_instance_interrupts_nothing() -> None:
    tool = event(1, 103, "0", who=("eseutil", "77", ""))
    other = event(1, 103, "0", who=("MSExchangeIS", "3392", "SG07: "))
    assert answer(old(0, 700), tool, other).totals["defrag"] == Totals(started=1)


def test_an_instance_without_a_name_is_known_by_its_process() -> None:
    path = "C:\\CertLog\\CA.edb"
    found = answers(
        event(0, 700, path, who=CERTSRV, provider="ESENT"),
        event(1, 103, "0", who=CERTSRV, provider="ESENT"),
    )
    assert found["ex01", path.lower()].totals["defrag"] == Totals(started=1, interrupted=1)


def test_a_pass_that_failed_is_resumed() -> None:
    found = answer(old(0, 717), old(1, 723, "-1022", "9"), old(2, 719))
    assert found.totals["checksum"] == Totals(started=1, failed=1)


def test_a_second_start_ends_the_pass_without_a_word() -> None:
    found = answer(now(0, 736), now(2, 736))
    assert found.totals["checksum"] == Totals(started=2)


def test_722_completes_zeroing_and_checksum() -> None:
    found = answer(old(0, 718), checksummed(1, "7/1/2007", event_id=722))
    assert found.totals == {
        "zeroing": Totals(started=1, completed=1),
        "checksum": Totals(completed=1),
    }
    assert found.verified == {"online_scan": at(1)}


def test_a_late_completion_is_a_completion() -> None:
    rest = ("7/1/2007 1:00:00 AM", str(8 * 86400), "8", "7", "50000", "40000, 0")
    found = answer(now(0, 736), now(8, 735, *rest))
    assert found.totals["checksum"] == Totals(started=1, completed=1)
    assert found.verified == {"online_scan": at(8)}


def test_a_scan_of_2007_whose_start_was_not_seen_begins_on_its_date() -> None:
    after = answer(broken(0.5), checksummed(3, "7/2/2007"))
    assert (after.known_bad, after.verified) == (frozenset(), {"online_scan": at(3)})
    within = answer(broken(1.5), checksummed(3, "7/2/2007"))
    assert (within.known_bad, within.verified) == (BAD, {})


def test_without_a_date_its_days_and_one_more_bound_it() -> None:
    assert not answer(broken(0.9), checksummed(3, "6/7/2007")).known_bad
    assert answer(broken(1.1), checksummed(3, "6/7/2007")).known_bad == BAD


def test_an_active_pass_verifies_when_its_start_was_seen_there() -> None:
    records = (now(0, 736), event(1, 103, "0", who=NOW), now(1.1, 738, "5001", "7/1/2007", "1"))
    assert answer(*records, passed(3, 3)).verified == {"online_scan": at(3)}


def test_an_active_pass_without_a_start_verifies_only_where_its_run_read_all() -> None:
    resumed = now(1, 738, "5001", "7/1/2007", "1")
    assert not answer(resumed, passed(3, 3)).verified
    assert answer(resumed, passed(3, 3, ALL_RUN)).verified == {"online_scan": at(3)}


def test_pages_that_were_read_while_another_copy_was_active_verify_nothing() -> None:
    here, there = now(0, 736), now(1, 738, "9", "7/1/2007", "1", computer="EX02")
    back = now(2, 738, "99", "7/1/2007", "1")
    assert not answer(here, there, back, passed(3, 3)).verified
    assert answer(here, there, back, passed(3, 3, ALL_RUN)).verified


def test_a_role_change_ends_the_pass() -> None:
    found = answer(now(0, 736), now(1, 717), now(2, 738, "9", "7/1/2007", "1"), passed(3, 3))
    assert found.totals["checksum"] == Totals(started=3, completed=1)
    assert not found.verified


def test_a_passive_pass_verifies_from_its_717() -> None:
    found = answer(broken(0), now(1, 717), followed(2))
    assert (found.known_bad, found.verified) == (frozenset(), {"online_scan": at(2)})


def test_a_resumed_passive_pass_begins_at_the_previous_one() -> None:
    resumed = (now(3, 717), now(4, 719), followed(5))
    assert not answer(*resumed).verified
    whole = answer(now(0, 717), followed(2), broken(2.5), *resumed)
    assert (whole.known_bad, whole.verified) == (BAD, {"online_scan": at(2)})
    clean = answer(now(0, 717), followed(2), *resumed)
    assert clean.verified == {"online_scan": at(5)}


def test_a_passive_pass_without_its_717_must_have_read_all_in_its_last_run() -> None:
    before = (now(0, 717), followed(2))
    assert answer(*before, now(4, 719), followed(5)).verified == {"online_scan": at(2)}
    assert answer(*before, now(4, 719), followed(5, ALL_RUN)).verified == {"online_scan": at(5)}
    assert not answer(now(4, 719), followed(5, ALL_RUN)).verified


def test_a_partial_pass_verifies_nothing() -> None:
    start = now(0, 717)
    assert not answer(start, now(1, 747, "9"), now(1.1, 719), followed(2, ALL_RUN)).verified
    assert not answer(start, now(1, 746, "-"), followed(1, ALL_RUN)).verified
    just_before = (now(1, 747, "9"), now(1.000001, 738, "9", "7/1/2007", "1"))
    assert not answer(*just_before, passed(3, 3, ALL_RUN)).verified
    assert answer(start, now(1, 746, "-"), now(2, 717), followed(3)).verified


@pytest.mark.parametrize("event_id", [481, 516, 539, 540, 541, 557, 559, 560])
def test_a_pass_in_which_something_fell_verifies_nothing(event_id: int) -> None:
    assert not answer(now(0, 736), now(1, event_id, "17"), passed(3, 3)).verified
    assert answer(now(0, event_id, "17"), now(1, 736), passed(3, 2)).verified


def test_bad_pages_of_its_own_run_forbid_a_verification() -> None:
    assert not answer(now(0, 736), passed(3, 3, "40000, 1")).verified
    # It does not say how many were bad: the events decide.
    assert answer(now(0, 736), passed(3, 3, "-, -")).verified == {"online_scan": at(3)}


def test_a_count_that_is_hopeless_is_no_proof() -> None:
    def completed(pages: str, bad: str) -> Logged:
        return old(1, 721, "7/1/2007", "208", "2", "1", pages, bad, "7")

    assert answer(old(0, 717), completed("5000", "0")).verified
    for pages, bad in (("0", "0"), ("-5", "0"), ("5000", "-5"), ("5000", "?"), ("?", "0")):
        assert not answer(old(0, 717), completed(pages, bad)).verified
    nothing = now(3, 737, "7/1/2007 1:00:00 AM", "9000", "0", "40000, 0")
    assert not answer(now(0, 736), nothing).verified


def test_a_detachment_in_replay_interrupts_nothing() -> None:
    replay = ("Microsoft.Exchange.Store.Worker", "5960,R,50,15.02.0986.005", "SG06: ")
    found = answer(now(0, 717), event(1, 327, "1", PRIV, who=replay))
    assert found.totals["checksum"] == Totals(started=1)
    begun = (event(0, 102, "0"), old(0.1, 717), event(0.2, 327, "1", PRIV))
    assert answer(*begun).totals["checksum"] == Totals(started=1)
    up = (*begun[:2], event(0.3, 105, "0"), event(0.4, 327, "1", PRIV))
    assert answer(*up).totals["checksum"] == Totals(started=1, interrupted=1)


def test_a_record_of_a_time_to_come_opens_and_verifies_nothing() -> None:
    ahead = passed(9, 3)
    assert answer(now(0, 736), ahead, days=8.5).verified
    found = answer(now(0, 736), ahead, days=7.5)
    assert not found.verified
    assert found.totals["checksum"] == Totals(started=1)
