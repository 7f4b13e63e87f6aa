"""Error codes are shown with their name and meaning."""

from esewatch.ese.errors import ERRORS, describe_error


def test_a_known_code_is_shown_with_its_name_and_meaning() -> None:
    assert describe_error(-1018) == "-1018 ReadVerifyFailure (wrong checksum of a page)"


def test_an_unknown_code_is_shown_as_a_number() -> None:
    assert describe_error(-99999) == "-99999"


def test_every_code_has_a_name_of_its_own() -> None:
    names = [name for name, _ in ERRORS.values()]
    assert len(names) == len(set(names)) and all(meaning for _, meaning in ERRORS.values())
