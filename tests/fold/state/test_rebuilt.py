import pytest

from esewatch.fold.state.state import SourceState, Unrebuilt


def rebuilt(salvaged: SourceState | None, oldest: float) -> SourceState:
    source = SourceState(name="a", oldest=oldest, last_record=oldest)
    source.begin_rebuilding(salvaged)
    assert source.rebuilding
    assert source.unrebuilt() is None
    source.settle_rebuilt()
    assert not source.rebuilding
    return source


def known(oldest: float, last: float) -> SourceState:
    return SourceState(name="a", oldest=oldest, last_record=last)


@pytest.mark.parametrize(
    ("salvaged", "oldest", "expected"),
    [
        (known(100, 900), 300, Unrebuilt(100, 300)),
        (known(100, 900), 100, None),
        (known(100, 900), 50, None),
        (known(100, 900), 0, Unrebuilt(100, 900)),
        (known(0, 0), 300, None),
        (None, 300, Unrebuilt(None, 300)),
        (None, 0, None),
    ],
)
def test_what_the_old_journal_knew_and_nobody_has_any_more_is_told(
    salvaged: SourceState | None, oldest: float, expected: Unrebuilt | None
) -> None:
    assert rebuilt(salvaged, oldest).unrebuilt() == expected


def test_a_source_that_was_never_damaged_misses_nothing() -> None:
    assert known(100, 200).unrebuilt() is None


def test_the_range_shrinks_when_older_records_come_back() -> None:
    source = rebuilt(known(100, 900), 300)
    source.oldest = 200
    assert source.unrebuilt() == Unrebuilt(100, 200)
