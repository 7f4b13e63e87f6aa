"""Transitions as rows of bytes: nothing of them is lost, and their order is kept."""

from hypothesis import given
from hypothesis import strategies as st

from esewatch.fold.passes.passes import TRANSITIONS
from esewatch.fold.passes.transitions import (
    TOLD,
    count,
    event_ids,
    insert,
    names,
    pack,
    take,
    unpack,
)
from esewatch.fold.state.state import Transition

NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False)
EVENTS = st.sampled_from(sorted(TRANSITIONS))


@st.composite
def transitions(draw: st.DrawFn) -> Transition:
    event = draw(EVENTS)
    fields = draw(st.dictionaries(st.sampled_from(names(event)), NUMBERS)) if event in TOLD else {}
    return Transition(
        draw(st.floats(0, 1e10)),
        draw(st.integers(0, 2**64 - 1)),
        event,
        fields,
        draw(st.booleans()),
    )


@given(st.lists(transitions(), max_size=20))
def test_what_is_packed_comes_out_again(items: list[Transition]) -> None:
    rows = pack(items)

    assert list(unpack(rows)) == items
    assert count(rows) == len(items)
    assert event_ids(rows) == {item.event_id for item in items}


@given(st.lists(transitions(), max_size=20))
def test_the_order_of_arrival_makes_no_difference_but_among_equals(items: list[Transition]) -> None:
    rows = bytearray()
    for item in items:
        insert(rows, item)

    found = list(unpack(rows))
    assert [(item.time, item.record_id) for item in found] == sorted(
        (item.time, item.record_id) for item in found
    )
    unnumbered = [item for item in items if not item.record_id]
    assert all(found.count(item) == items.count(item) for item in unnumbered)
    assert {place(item) for item in found} == {place(item) for item in items}


def place(of: Transition) -> tuple[float, int, int]:
    return (of.time, of.record_id, of.event_id)


def test_a_record_with_a_number_that_is_read_again_changes_nothing() -> None:
    rows = bytearray()
    for number in (7, 9, 7, 8, 9, 8, 0, 0):
        insert(rows, Transition(60.0, number, 704))

    assert [item.record_id for item in unpack(rows)] == [0, 0, 7, 8, 9]


def test_how_far_a_running_scan_is_and_the_threshold_of_a_late_one_are_kept() -> None:
    told = [
        Transition(1.0, 1, 738, {"resume_page": 4711}),
        Transition(2.0, 2, 744, {"pages_seen": 9000}),
        Transition(3.0, 3, 735, {"threshold_days": 7, "pages_seen": 12_000, "seconds": 8.0}),
    ]

    assert list(unpack(pack(told))) == told


def test_at_one_time_a_start_stands_before_an_end() -> None:
    rows = bytearray()
    for event in (701, 704, 700):
        insert(rows, Transition(1.0, 0, event))

    assert [item.event_id for item in unpack(rows)] == [700, 704, 701]


def test_the_oldest_are_taken_out() -> None:
    items = [Transition(float(at), at, 700) for at in range(5)]
    rows = pack(items)

    assert take(rows, 3) == items[:3]
    assert list(unpack(rows)) == items[3:]


def test_numbers_beyond_what_a_row_holds_are_cut_or_unknown() -> None:
    rows = pack([Transition(1.0, 10**30, 701, {"seconds": 10**400, "days": 3})])

    (found,) = unpack(rows)
    assert found == Transition(1.0, 2**64 - 1, 701, {"days": 3})
