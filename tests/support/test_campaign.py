import pytest

from tests.support import campaign
from tests.support.campaign import number_of, some


def test_a_part_is_spread_over_the_whole_and_the_campaign_has_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(campaign, "WHOLE", False)
    assert some(range(100, 200), 4) == [100, 125, 150, 175]
    assert some(range(60), 14)[-1] == 55
    assert some("ab", 5) == ["a", "b"]
    assert number_of(200, 40) == 40

    monkeypatch.setattr(campaign, "WHOLE", True)
    assert some(range(100, 200), 4) == list(range(100, 200))
    assert number_of(200, 40) == 200
