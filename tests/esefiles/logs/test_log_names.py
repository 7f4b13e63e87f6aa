import pytest

from esefiles.logs.log_names import LogName, parse_log_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("edb.log", LogName(kind="current", base="edb")),
        ("E00.LOG", LogName(kind="current", base="e00")),
        ("edb.jtx", LogName(kind="current", base="edb")),
        ("edb00A1B.log", LogName(kind="complete", base="edb", generation=0xA1B)),
        ("E0000000A1B.log", LogName(kind="complete", base="e00", generation=0xA1B)),
        ("E0100001.jtx", LogName(kind="complete", base="e01", generation=1)),
        ("edbtmp.log", LogName(kind="temporary", base="edb")),
        ("edbres00001.jrs", LogName(kind="reserved", base="edb")),
        ("res1.log", LogName(kind="reserved")),
        ("setup.log", LogName(kind="current", base="setup")),
    ],
)
def test_a_name_says_which_part_a_file_has_in_a_series(name: str, expected: LogName) -> None:
    assert parse_log_name(name) == expected


@pytest.mark.parametrize("name", ["edb.chk", "priv06.edb", "edb.log.gz", "log", ".log", ""])
def test_other_names_are_no_log(name: str) -> None:
    assert parse_log_name(name) is None
