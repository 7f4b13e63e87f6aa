"""Numbers of damaged records: whatever they are, every row of the state can be stored."""

import pytest

from esewatch.ese.catalogue.event_row import EventRow, Kind
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.fold.channels.deduplication import MOST
from esewatch.journal.rows import rows_of
from esewatch.model import Coverage, Event, Record
from tests.support.decoding import event_from_strings
from tests.support.each import of_each
from tests.support.records import DATABASE, DAY, EPOCH, folder_of

LARGEST = {
    Kind.DATABASE: DATABASE,
    Kind.FILE: DATABASE,
    Kind.STATS: f"{'9' * 19},{'9' * 19}",
    Kind.SIZE: f"{'9' * 12} Tb",
    Kind.TIMING: f"[1] {'9' * 9}",
    Kind.DECIMAL: "9" * 12,
    Kind.ERROR: str(2**31 - 1),
    Kind.OWNED: f"/ {'9' * 19} = 999%",
}
"""The largest number that a string of each kind can carry; of the others that of 64 bits."""

each_row = of_each(CATALOGUE.values(), lambda row: str(row.event_id))


def damaged(row: EventRow, day: int | None) -> Event:
    told = [LARGEST.get(param.kind, str(2**63 - 1)) for param in row.params]
    event = event_from_strings(
        provider="ESE",
        event_id=row.event_id,
        strings=["Information Store", "3392", "SG06: ", *told],
        time=None if day is None else EPOCH + day * DAY,
        computer="EX01",
        channel="Application",
        record_id=None if day is None else MOST - 9 + day,
    )
    assert event is not None
    return event


def not_stored(records: list[Record]) -> dict[tuple[str, str, str], Exception]:
    folder = folder_of(records)
    return rows_of(folder.state, folder.changed)[2]


@each_row
def test_the_largest_numbers_of_an_event_can_be_stored(row: EventRow) -> None:
    assert not_stored([damaged(row, day) for day in (None, 0, 1, 2, 3, None)]) == {}


@each_row
def test_no_number_of_an_event_is_larger_than_64_bits_with_a_sign(row: EventRow) -> None:
    numbers = [each for each in damaged(row, 0).fields.values() if isinstance(each, int)]
    assert all(-(2**63) <= each < 2**63 for each in numbers)


@pytest.mark.parametrize("channels", [1, 4])
def test_the_largest_gaps_of_a_log_can_be_stored(channels: int) -> None:
    ranges = [
        Coverage(
            computer="EX01",
            channel=f"Log{channel}",
            first=number,
            last=number,
            first_time=time,
            last_time=time,
        )
        for channel in range(channels)
        for number, time in ((1, EPOCH), (MOST, EPOCH + DAY))
    ]
    assert not_stored([*ranges]) == {}
