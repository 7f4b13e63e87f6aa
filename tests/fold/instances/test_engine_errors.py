"""Errors of the engine by instance, and errors that nothing explains: whose, and until when."""

import msgspec
import pytest

from esewatch.config import DatabaseRule, Settings
from esewatch.fold.instances.engine_errors import ENGINE_ERRORS, KIND_OF, OF_LOGS, open_errors
from esewatch.fold.instances.instances import MOUNTED
from esewatch.fold.state.state import ENGINE_ERROR_KINDS, EngineErrorKind, Instance
from esewatch.model import Batch, Event
from tests.support.decoding import event_from_strings
from tests.support.records import DATABASE, DAY, EPOCH, event, folder_of

LOG = "E:\\MDB06\\E06.log"
GUID = "11111111-2222-3333-4444-555555555555"
FAILED = ("-1022", "1117", "The request could not be performed", "0.015")
STRINGS: dict[int, tuple[str, ...]] = {
    104: ("0", "-510", ""),
    413: ("-1808",),
    428: (),
    429: (LOG,),
    445: (DATABASE, "17179869184"),
    454: ("-501",),
    455: (LOG, "-1811"),
    465: (LOG, "END"),
    481: (DATABASE, "8192", "8192", *FAILED),
    482: (LOG, "8192", "8192", *FAILED),
    492: ("E:\\MDB06\\",),
    494: ("-1216", DATABASE),
    551: (DATABASE, "0.015", "1117", "The request could not be performed", "-1022"),
    623: ("0", "1024", "0x0000000012345678", "0x0"),
    624: ("0", "1000", "1024", "64", "0x0", "0x0"),
    630: ("0", "1000", "512", "1024", "0x0", "0x0"),
    755: (DATABASE,),
    907: (),
    **dict.fromkeys(range(3001, 3015), ("SG06", GUID, GUID, "")),
}


def logged(
    event_id: int, time: float = 0.0, *params: str, name: str = "SG06", record_id: int | None = None
) -> Event:
    """The event as its strings have it, of `MSExchangeIS` on EX01."""
    decoded = event_from_strings(
        provider="ESE",
        event_id=event_id,
        strings=["MSExchangeIS", "3392", f"{name}: ", *(params or STRINGS[event_id])],
        time=EPOCH + time,
        computer="EX01",
        channel="Application",
        record_id=record_id,
    )
    assert decoded is not None
    return decoded


def instances_of(*events: Event, settings: Settings | None = None) -> dict[str, Instance]:
    found = folder_of(events, settings=settings).state.instances
    return {name: instance for (_, name), instance in found.items()}


@pytest.mark.parametrize("event_id", sorted(KIND_OF))
def test_each_event_counts_once_for_its_instance(event_id: int) -> None:
    found = instances_of(logged(event_id, 60))

    assert found["sg06"].errors == {KIND_OF[event_id]: (1, EPOCH + 60)}


def test_every_kind_has_events_and_every_event_is_tested() -> None:
    assert tuple(ENGINE_ERRORS) == ENGINE_ERROR_KINDS
    assert STRINGS.keys() == KIND_OF.keys()


def test_the_last_time_is_the_latest_in_any_order_of_arrival() -> None:
    later, earlier = logged(481, DAY), logged(482, 0)

    assert instances_of(later, earlier)["sg06"].errors == {"io": (2, EPOCH + DAY)}
    assert instances_of(earlier, later)["sg06"].errors == {"io": (2, EPOCH + DAY)}


def test_a_record_that_is_read_twice_counts_once() -> None:
    found = instances_of(logged(413, 0, record_id=7), logged(413, 0, record_id=7))

    assert found["sg06"].errors == {"disk_full": (1, EPOCH)}


def test_a_time_in_the_future_is_not_believed() -> None:
    folder = folder_of([])
    now = 1_800_000_000.0
    ahead = msgspec.structs.replace(logged(413), time=now + 2 * DAY)
    folder.fold("logs", Batch(records=[ahead, logged(428)]), now)

    assert folder.state.instances["ex01", "sg06"].errors == {"log_disk_low": (1, EPOCH)}


@pytest.mark.parametrize(
    "path",
    [
        "C:\\Users\\a\\AppData\\Local\\Microsoft\\Windows\\WebCache\\V01.log",
        "C:\\Windows\\Temp\\tmp.edb",
        "C:\\test\\e00.log",
    ],
)
def test_an_error_of_an_ignored_file_does_not_count(path: str) -> None:
    settings = Settings(databases=[DatabaseRule(match="c:\\test\\*", tier="ignored")])
    found = instances_of(
        logged(482, 0, path, "8192", "8192", *FAILED),
        logged(429, 0, path),
        logged(455, 0, path, "-1811"),
        logged(492, 0, path.rpartition("\\")[0]),
        settings=settings,
    )

    assert found["sg06"].errors == {}


def test_the_folder_of_an_ignored_database_counts_as_that_database() -> None:
    folder = "C:\\Users\\a\\AppData\\Local\\Microsoft\\Windows\\WebCache"

    assert instances_of(logged(492, 0, folder), logged(492, 0, folder + "\\"))["sg06"].errors == {}


def test_a_snapshot_that_cannot_be_read_is_no_error_of_its_origin() -> None:
    path = "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy7\\MDB06\\priv06.edb"

    assert instances_of(logged(481, 0, path, "8192", "8192", *FAILED))["sg06"].errors == {}


def test_without_a_name_it_belongs_to_the_instance_of_its_database_or_its_process() -> None:
    found = instances_of(event(700, 0), logged(445, 60, name=""), logged(413, 90, name=""))

    assert found["sg06"].errors == {"database_full": (1, EPOCH + 60)}
    assert found["msexchangeis"].errors == {"disk_full": (1, EPOCH + 90)}


def open_of(*events: Event, acknowledged: float = 0.0) -> dict[EngineErrorKind, int]:
    """By kind, what is open of the one instance, first read years later."""
    opened = EPOCH + 900 * DAY
    (instance,) = folder_of(events, opened=opened).state.instances.values()
    return dict(open_errors(instance, dict.fromkeys(ENGINE_ERRORS, acknowledged)))


def came_up(event_id: int, time: float) -> Event:
    return event(event_id, time, database="")


@pytest.mark.parametrize("event_id", sorted(KIND_OF))
def test_an_error_is_open_however_old_it_gets(event_id: int) -> None:
    later = came_up(700, 400 * DAY)

    assert open_of(logged(event_id, 60), later) == {KIND_OF[event_id]: 1}


STAYS: tuple[EngineErrorKind, ...] = ("memory", "corruption_item")
"""A start repairs neither the memory of the computer nor a copy that has that must be reseeded."""


@pytest.mark.parametrize("mounted", sorted(MOUNTED))
@pytest.mark.parametrize("kind", [kind for kind in ENGINE_ERROR_KINDS if kind not in STAYS])
def test_an_instance_that_comes_up_ends_what_was_before(
    kind: EngineErrorKind, mounted: int
) -> None:
    (event_id, *_) = sorted(ENGINE_ERRORS[kind])
    before, after, up = logged(event_id, 60), logged(event_id, 180), came_up(mounted, 120)

    assert open_of(before, up) == open_of(up, before) == {kind: 0}
    assert open_of(before, up, after) == open_of(after, up, before) == {kind: 1}
    still = 0 if kind in OF_LOGS else 1
    assert open_of(before, came_up(102, 120), came_up(326, 130)) == {kind: still}


def test_a_database_that_recovery_or_another_program_attached_ends_no_error() -> None:
    error = logged(413, 60)
    replayed = event(326, 120, instance_state="R")
    assert open_of(error, replayed) == {"disk_full": 1}
    assert open_of(error, event(326, 120, process="eseutil")) == {"disk_full": 1}


@pytest.mark.parametrize("kind", STAYS)
def test_what_a_start_does_not_mend_is_open_until_it_was_dealt_with(kind: EngineErrorKind) -> None:
    for event_id in ENGINE_ERRORS[kind]:
        events = logged(event_id, 60), came_up(105, 120), came_up(302, 130)

        assert open_of(*events) == {kind: 1}
        assert open_of(*events, acknowledged=EPOCH + 60) == {kind: 0}


@pytest.mark.parametrize(
    ("event_id", "kind"),
    [
        (907, "memory"),
        *((item, "failure_item") for item in (3001, 3002, 3003, 3004, 3007, 3008, 3009)),
        *((item, "failure_item") for item in (3011, 3012, 3013, 3014)),
        *((item, "corruption_item") for item in (3005, 3006, 3010)),
    ],
)
def test_a_failure_that_the_engine_reports_is_of_the_instance_that_logs_it(
    event_id: int, kind: EngineErrorKind
) -> None:
    found = instances_of(event(700, 0), logged(event_id, 60))

    assert found["sg06"].errors == {kind: (1, EPOCH + 60)}


def test_the_backup_interface_has_numbers_of_its_own() -> None:
    other = event(907, 60, provider="ESE BACKUP", level="error", database="")

    assert instances_of(event(700, 0), other)["sg06"].errors == {}


def test_an_error_of_the_second_in_which_it_came_up_is_open() -> None:
    assert open_of(logged(454, 60), came_up(105, 60)) == {"recovery": 1}


def test_what_was_dealt_with_is_not_open_and_what_comes_later_is() -> None:
    events = logged(481, 60), logged(482, 120)

    assert open_of(*events, acknowledged=EPOCH + 60) == {"io": 1}
    assert open_of(*events, acknowledged=EPOCH + 120) == {"io": 0}


def test_a_storm_of_errors_is_bounded() -> None:
    assert open_of(*(logged(481, at) for at in range(200))) == {"io": 64}


WEB_CACHE = "C:\\Users\\u\\WebCache\\WebCacheV01.dat"
UNHEARD_OF = 699
BAD_PAGE = ("188416", "8192", "-1018", "[1]", "[2]", "22")


def logged_error(event_id: int, time: float, path: str, *more: str) -> Event:
    """An error of the instance of a web cache, which has none of our databases."""
    decoded = event_from_strings(
        provider="ESENT",
        event_id=event_id,
        strings=["taskhostw", "912", "WebCacheLocal: ", path, *more],
        time=EPOCH + time,
        computer="EX01",
        channel="Application",
        level="error",
    )
    assert decoded is not None
    return decoded


@pytest.mark.parametrize("late", [False, True])
def test_errors_that_named_a_database_are_forgotten_with_it_in_whatever_order_they_came(
    late: bool,
) -> None:
    of_cache = [
        logged_error(474, 0, WEB_CACHE, *BAD_PAGE),
        logged_error(UNHEARD_OF, 9, WEB_CACHE, "-1206"),
    ]
    folder = folder_of([event(700, 0), *(reversed(of_cache) if late else of_cache)])
    assert len(folder.state.databases) == 2
    folder.changed.clear()

    folder.expire(EPOCH + 91 * DAY)
    state = folder.state
    assert len(state.databases) == 1
    assert [each for each in state.databases.values() if each.unexplained] == []
    assert [each for each in state.instances.values() if each.unexplained] == []
    assert [each for each in state.hosts.values() if each.unexplained] == []
    assert (("instance", "ex01", "webcachelocal") in folder.changed) == late


def test_errors_that_named_another_database_stay() -> None:
    other = logged_error(UNHEARD_OF, 5, "D:\\other.edb", "-1206")
    folder = folder_of([other, logged_error(474, 0, WEB_CACHE, *BAD_PAGE), event(700, 0)])
    folder.expire(EPOCH + 91 * DAY)
    assert UNHEARD_OF in folder.state.instances["ex01", "webcachelocal"].unexplained
