"""An error that is a page error is a page error, whatever event reports it (semantics.md 3)."""

from collections.abc import Iterable, Sequence

import msgspec
import pytest

from esewatch.advice.findings.details import lone_instances
from esewatch.advice.history.history import as_copy, histories
from esewatch.advice.history.surroundings import surroundings
from esewatch.config import Settings
from esewatch.fold.databases.integrity import known_bad_pages
from esewatch.fold.databases.page_errors import MAX_FAILURES
from esewatch.fold.folder import Folder
from esewatch.fold.passes.passes import views_in
from esewatch.fold.state.damage import known_damage
from esewatch.fold.state.state import UNLOCATED
from esewatch.model import Event, HeaderSeen, Record
from tests.support.decoding import event_from_strings
from tests.support.records import DATABASE, DAY, EPOCH, HOUR, LABEL, event, folder_of

SETTINGS = Settings()
OTHER = "e:\\MDB07\\priv07.edb"


def logged(event_id: int, time: float, *strings: str) -> Event:
    """The event as its strings from `%4` make it."""
    found = event_from_strings(
        provider="ESE",
        event_id=event_id,
        strings=("MSExchangeIS", "3392", "SG06: ", *strings),
        time=EPOCH + time,
        computer="EX01",
        channel="Application",
    )
    assert found is not None
    return found


ERROR_AT = {
    104: ("0", "{}", "[1] 0.1"),
    214: ("{}",),
    217: ("{}", DATABASE),
    218: ("{}", DATABASE),
    244: ("{}",),
    454: ("{}",),
    494: ("{}", DATABASE),
    495: ("{}", DATABASE),
    705: (DATABASE, "{}"),
    723: (DATABASE, "{}", "60"),
    724: (DATABASE, "{}", "60"),
    734: (DATABASE, "{}"),
    2002: ("7", "{}"),
}
"""Event -> its strings from `%4`, with the place of the error."""
KINDS = {
    -1018: "uncorrectable",
    -1118: "wrong_page",
    -1019: "no_data",
    -1119: "lost_flush",
}
WRITTEN = ("{}", "{} (0x{:08x})")


def failed(event_id: int, error: int, time: float = HOUR, how: str = "{}") -> Event:
    said = how.format(error, error & 0xFFFFFFFF)
    return logged(event_id, time, *(part.format(said) for part in ERROR_AT[event_id]))


def bad(folder: Folder, label: str = LABEL) -> list[tuple[int, str]]:
    entry = folder.state.databases["ex01", label]
    around = surroundings(folder.state, SETTINGS)(entry).around
    standing = known_bad_pages(entry, views_in(folder.state, entry), around)
    return sorted((page.page, page.kind) for page in standing)


def verified(folder: Folder) -> list[str]:
    return sorted(histories(folder.state, SETTINGS)["ex01", LABEL].verified)


def known(*more: Event) -> Folder:
    return folder_of([event(700, 0), *more])


@pytest.mark.parametrize("event_id", ERROR_AT)
def test_each_page_error_is_an_entry_of_its_kind_without_a_place(event_id: int) -> None:
    for how in WRITTEN:
        for error, kind in KINDS.items():
            assert bad(known(failed(event_id, error, how=how))) == [(UNLOCATED, kind)]
        assert bad(known(failed(event_id, -510, how=how))) == []


@pytest.mark.parametrize("event_id", ERROR_AT)
def test_other_errors_of_these_events_are_failed_reads_or_corruption(event_id: int) -> None:
    for error in (-1021, -1022, -1121):
        folder = known(failed(event_id, error))
        assert histories(folder.state, SETTINGS)["ex01", LABEL].io_errors == [EPOCH + HOUR]
        assert bad(folder) == []
    folder = known(failed(event_id, -1206))
    found = histories(folder.state, SETTINGS)["ex01", LABEL].damage
    assert [(kind, each.events) for kind, each in found.items()] == [("logical", [event_id])]


def test_a_file_that_is_no_database_makes_no_page() -> None:
    for name in ("E00.log", "priv06.pat", "E00.chk"):
        path = f"e:\\MDB06\\{name}"
        folder = known(logged(218, HOUR, "-1018", path), logged(217, HOUR, "-1018", path))
        assert [key for _, key in folder.state.databases] == [LABEL]
        assert bad(folder) == []
        folder = known(logged(218, HOUR, "-1022", path))
        assert len(histories(folder.state, SETTINGS)["ex01", LABEL].io_errors) == 1


def mismatch(page: int, time: float, event_id: int = 474) -> Event:
    return event(event_id, time, fields={"page_number": page})


@pytest.mark.parametrize(
    "records",
    [
        [mismatch(17, HOUR), failed(705, -1018, 2 * HOUR)],
        [failed(705, -1018, HOUR), mismatch(17, 2 * HOUR)],
        [failed(214, -1018, 2 * HOUR), mismatch(17, HOUR)],
        [*(mismatch(17, n * 60) for n in range(200)), failed(214, -1018, HOUR)],
    ],
    ids=["before", "behind", "read later", "in a flood"],
)
def test_an_event_of_that_kind_within_the_hour_takes_it_back(records: Sequence[Event]) -> None:
    assert bad(known(*records)) == [(17, "uncorrectable")]


@pytest.mark.parametrize(
    ("named", "error", "kind"),
    [(475, -1018, "uncorrectable"), (474, -1118, "wrong_page")],
)
def test_an_event_of_another_kind_or_time_does_not(named: int, error: int, kind: str) -> None:
    for_the_kind = {"uncorrectable": 474, "wrong_page": 475}[kind]
    for event_id, time in ((named, HOUR), (for_the_kind, 3 * HOUR + 1)):
        records = [mismatch(17, time, event_id), failed(705, error, 2 * HOUR)]
        assert (UNLOCATED, kind) in bad(known(*records))


def clean(time: float) -> list[Event]:
    """A pass of Exchange 2007 that found nothing."""
    fields = {"seconds": 60, "days": 1, "pages_seen": 9, "bad_checksums": 0}
    return [event(717, time), event(721, time + HOUR, fields=fields)]


@pytest.mark.parametrize("error", KINDS)
@pytest.mark.parametrize("event_id", [214, 705])
def test_a_clean_scan_ends_what_a_scan_can_see(event_id: int, error: int) -> None:
    folder = known(failed(event_id, error), *clean(DAY))
    sees = KINDS[error] in ("uncorrectable", "wrong_page")
    assert bad(folder) == ([] if sees else [(UNLOCATED, KINDS[error])])
    assert verified(folder) == ["online_scan"]
    # One that falls within it leaves it unproven.
    folder = known(failed(event_id, error, DAY + 60), *clean(DAY))
    assert (bad(folder), verified(folder)) == ([(UNLOCATED, KINDS[error])], [])


def each_of(database: str, of: Event) -> Event:
    return msgspec.structs.replace(of, database=database)


def test_of_several_databases_of_an_instance_the_instance_has_it() -> None:
    second = event(700, 0, database=OTHER)
    folder = known(second, failed(454, -1018))
    assert bad(folder) == bad(folder, OTHER.lower()) == []
    (alone,) = lone_instances(folder.state, EPOCH + DAY)
    assert (alone.ese_instance, alone.findings[0].finding) == ("SG06", "investigate")
    for_both = [*clean(DAY), *(each_of(OTHER, each) for each in clean(DAY))]
    assert lone_instances(known(second, failed(454, -1018), *for_both).state, EPOCH + DAY) == []
    lost = known(second, failed(454, -1119), *for_both)
    assert [each.ese_instance for each in lone_instances(lost.state, EPOCH + DAY)] == ["SG06"]
    # One that was not named since the last start but one is not there any more.
    starts = [event(102, n * DAY, database="") for n in (1, 2, 3)]
    named = event(700, 3 * DAY + 60)
    folder = known(second, *starts, named, failed(454, -1018, 3 * DAY + 120))
    assert bad(folder) == [(UNLOCATED, "uncorrectable")]


def test_of_a_flood_of_failures_the_last_are_kept() -> None:
    folder = known(*(failed(705, -1018, n * HOUR) for n in range(3 * MAX_FAILURES)))
    assert bad(folder) == [(UNLOCATED, "uncorrectable")]
    assert len(folder.state.databases["ex01", LABEL].failures) == MAX_FAILURES


def streamed(*within: Event) -> Folder:
    names: Iterable[tuple[int, str]] = ((210, ""), (220, DATABASE), (221, DATABASE), (213, ""))
    steps = [event(e, n * HOUR, database=d) for n, (e, d) in enumerate(names)]
    return folder_of([*steps, *within])


def test_a_streaming_backup_in_which_a_page_error_falls_verifies_nothing() -> None:
    assert verified(streamed()) == ["streaming_backup"]
    assert verified(streamed(mismatch(17, 2 * HOUR, 399))) == ["streaming_backup"]
    assert verified(streamed(mismatch(17, 4 * HOUR))) == ["streaming_backup"]
    for event_id in (398, 474, 475, 476, 481, 516, 530, 539, 540, 541, 544, 557, 559, 560):
        assert verified(streamed(mismatch(17, 2 * HOUR, event_id))) == []
    for event_id in (454, 705):
        assert verified(streamed(failed(event_id, -1018, 2 * HOUR))) == []


def test_a_page_error_without_its_file_spoils_what_reads_the_instance_then() -> None:
    nameless = event(474, 90 * 60, database="")
    assert verified(streamed(nameless)) == []
    within = event(474, DAY + 60, database="")
    assert verified(known(*clean(DAY), within)) == []
    assert verified(known(*clean(DAY), nameless)) == ["online_scan"]


def test_a_file_that_is_made_anew_has_none_of_the_errors_of_the_one_before() -> None:
    damaged = [
        mismatch(17, HOUR),
        mismatch(18, HOUR, 476),
        mismatch(19, HOUR, 530),
        failed(705, -1019, 3 * HOUR),
        event(541, HOUR),
        *clean(4 * HOUR),
    ]
    created = logged(325, DAY, "1", DATABASE, "0", "[1] 0.1", "0 0")
    for records in ([*damaged, created], [created, *damaged]):
        folder = known(*records)
        entry = folder.state.databases["ex01", LABEL]
        assert (bad(folder), known_damage(entry, {}), verified(folder)) == ([], {}, [])
        found = histories(folder.state, SETTINGS)["ex01", LABEL]
        assert as_copy(found, SETTINGS.policy).first_seen == EPOCH + DAY
    elsewhere = logged(325, DAY, "1", OTHER, "0", "[1] 0.1", "0 0")
    assert len(bad(known(*damaged, elsewhere))) > 0
    assert bad(known(created, mismatch(17, 2 * DAY))) == [(17, "uncorrectable")]


def test_another_identity_in_its_header_is_another_file() -> None:
    damaged: list[Record] = [
        mismatch(17, HOUR),
        mismatch(18, HOUR, 476),
        mismatch(19, HOUR, 530),
    ]

    def header(time: float, signature: str) -> HeaderSeen:
        return HeaderSeen(
            time=EPOCH + time, computer="EX01", database=DATABASE, signature=signature
        )

    same = [header(0, "a"), header(DAY, "a"), header(2 * DAY, "")]
    assert len(bad(folder_of([*damaged, *same]))) == 3
    other = [header(0, "a"), header(3 * DAY, "b"), header(2 * DAY, "b")]
    later = mismatch(20, 2.5 * DAY)
    orders: list[list[Record]] = [[*damaged, *other, later], [later, *other[::-1], *damaged]]
    for records in orders:
        assert bad(folder_of(records)) == [(20, "uncorrectable")]
