"""Errors that nothing explains (semantics.md 3): with whom they are kept, and until when."""

import pytest

from esewatch.ese.events.from_strings import event_from_strings
from esewatch.model import Event
from tests.support.records import DAY, EPOCH, event, folder_of

WEB_CACHE = "C:\\Users\\u\\WebCache\\WebCacheV01.dat"
UNHEARD_OF = 699
BAD_PAGE = ("188416", "8192", "-1018", "[1]", "[2]", "22")


def logged(event_id: int, time: float, path: str, *more: str) -> Event:
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
    of_cache = [logged(474, 0, WEB_CACHE, *BAD_PAGE), logged(UNHEARD_OF, 9, WEB_CACHE, "-1206")]
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
    other = logged(UNHEARD_OF, 5, "D:\\other.edb", "-1206")
    folder = folder_of([other, logged(474, 0, WEB_CACHE, *BAD_PAGE), event(700, 0)])
    folder.expire(EPOCH + 91 * DAY)
    assert UNHEARD_OF in folder.state.instances["ex01", "webcachelocal"].unexplained
