import errno

import pytest

from esefiles.scans.open_errors import is_gone, why_not_opened, why_not_read


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), "volume mounted"),
        (PermissionError(errno.EACCES, "Permission denied"), "run this as a user who may"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
        (ValueError("embedded null byte"), "embedded null byte"),
    ],
)
def test_a_file_that_cannot_be_opened_has_its_path_a_reason_and_a_remedy(
    error: Exception, remedy: str
) -> None:
    assert why_not_opened("/a.edb", error).startswith("/a.edb: ")
    assert remedy in why_not_opened("/a.edb", error)


def test_a_file_in_use_is_to_be_read_from_a_snapshot() -> None:
    error = PermissionError(errno.EACCES, "The process cannot access the file")
    error.winerror = 32  # type: ignore[attr-defined,unused-ignore]

    assert "snapshot" in why_not_opened("e:\\a.edb", error)


@pytest.mark.parametrize(
    ("number", "gone"), [(errno.ESTALE, True), (errno.ENODEV, True), (errno.EIO, False)]
)
def test_a_device_that_is_gone_is_told_from_a_bad_block(number: int, gone: bool) -> None:
    error = OSError(number, "why")

    assert is_gone(error) is gone
    assert ("disappeared" in why_not_read("/a.edb", error)) is gone
    assert "why" in why_not_read("/a.edb", error)
