import math

import pytest

from esewatch.advice.what_if.estimate import Estimate, fit

NEEDED = Estimate(low=2.0, likely=3.0, high=5.0, sentence="of three nights")


@pytest.mark.parametrize(
    ("limit", "answer"),
    [
        (5.0, "yes"),
        (4.9, "likely"),
        (3.0, "likely"),
        (2.9, "unlikely"),
        (2.0, "unlikely"),
        (1.9, "no"),
    ],
)
def test_the_answer_names_the_dearest_value_that_keeps_to_the_limit(
    limit: float, answer: str
) -> None:
    found = fit(NEEDED, limit, "within the deadline")

    assert (found.answer, found.sentence) == (answer, "within the deadline")


@pytest.mark.parametrize(
    ("needed", "limit"), [(NEEDED, math.inf), (Estimate(sentence="of three nights"), 5.0)]
)
def test_without_a_need_or_a_limit_nothing_is_known(needed: Estimate, limit: float) -> None:
    found = fit(needed, limit, "within the deadline")

    assert (found.answer, found.sentence) == ("unknown", "of three nights")
