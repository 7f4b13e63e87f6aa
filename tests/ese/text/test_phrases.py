"""Key phrases: which event is this text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.ese.catalogue.event_table import CATALOGUE, EventRow
from esewatch.ese.text.phrases import find_phrase, has_phrases, uncut


@pytest.mark.parametrize(
    ("text", "event_id"),
    [
        ("Online Defragmentation has completed a full pass on database 'x'", 701),
        ("online\n  defragmentation has completed\tthe resumed pass", 703),
        ("Online defragmentation is beginning a full pass on streaming file 'x'", 708),
        ("the database page read from the file (database page 5 (0x5)) for 1 (0x1) bytes failed "
         "verification due to a page checksum mismatch", 474),
        ("the database page read from the file 'x' (database page 5) failed verification due to "
         "a page checksum mismatch", 727),
        ("database page read from the file ... persisted lost flush detection timestamp mismatch",
         544),
        ("database page read from the file ... a lost flush detection timestamp mismatch", 530),
        ("repaired corruption on page 5 of", 905),
        ("repaired corruption on pages 5 - 6 of", 911),
        ("nothing of the kind", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_words_tell_the_event(text: str, event_id: int | None) -> None:
    assert find_phrase(text) == event_id


def test_a_cut_phrase_tells_the_event_if_it_can_be_no_other() -> None:
    assert find_phrase("NTDS (1) Database Maintenance is running on data...") == 744
    assert find_phrase("NTDS (1) Database Maintenance is running on data") is None
    assert find_phrase("Database Main...") is None


def test_only_dots_at_the_end_are_a_cut() -> None:
    assert uncut("a... b") == ("a... b", True)
    assert uncut("a b... \n") == ("a b", False)
    assert uncut("x" * 200 + "…") == ("x" * 200, False)


@given(st.text())
def test_any_text_gives_a_known_id_or_none(text: str) -> None:
    found = find_phrase(text)
    assert found is None or found in CATALOGUE


KNOWN = [row for row in CATALOGUE.values() if row.phrases]


@given(st.lists(st.sampled_from(KNOWN), min_size=1, max_size=3), st.booleans())
def test_of_several_texts_the_one_with_the_most_words_is_found(
    rows: list[EventRow], glued: bool
) -> None:
    text = ("x" if glued else " 17 ").join(phrase for row in rows for phrase in row.phrases)
    weights = {
        row.event_id: sum(map(len, row.phrases))
        for row in KNOWN
        if all(phrase in text for phrase in row.phrases)
    }
    found = find_phrase(text)
    assert found is not None
    assert weights[found] == max(weights.values())


def test_the_words_of_an_event_may_be_wrapped_anywhere() -> None:
    assert has_phrases(700, "Online\n defragmentation\tis  beginning a full pass")
    assert not has_phrases(700, "Onlinedefragmentation is beginning a full pass")
