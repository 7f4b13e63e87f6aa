import pytest

from esewatch.config.secrets import masked


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://ex01:9182/metrics", "http://ex01:9182/metrics"),
        ("http://u:p@ex01/metrics", "http://***@ex01/metrics"),
        ("http://u:p@a:b@c@ex01/m", "http://***@ex01/m"),
        ("http://u:p/w@ex01/m?a@b", "http://***@b"),
        ("https://ex01/m?token=abc&b=c=d", "https://ex01/m?token=***&b=***"),
        (
            "https://ex01/m?collect[]=ese&collect[]=cpu",
            "https://ex01/m?collect[]=ese&collect[]=cpu",
        ),
        ("https://ex01/m?abc", "https://ex01/m?***"),
        ("https://ex01/m?a=b?c=d", "https://ex01/m?a=***"),
        ("https://ex01/m?a=b;c=d", "https://ex01/m?a=***"),
        ("no address", "no address"),
    ],
)
def test_of_an_address_neither_login_nor_values_are_shown(url: str, shown: str) -> None:
    assert masked(url) == shown
