"""A file that is read stays free to others: it can be renamed, written and deleted."""

import os
from pathlib import Path

import pytest

from esefiles.base.shared_file import open_shared


def test_a_file_that_is_read_can_be_renamed_written_and_deleted(tmp_path: Path) -> None:
    file, renamed = tmp_path / "esent.log", tmp_path / "esent.1.log"
    file.write_bytes(b"701")
    descriptor = open_shared(str(file), os.O_RDONLY)
    try:
        file.rename(renamed)
        with renamed.open("ab") as more:
            more.write(b" 704")
        renamed.unlink()

        assert os.read(descriptor, 100) == b"701 704"
        assert list(tmp_path.iterdir()) == []
    finally:
        os.close(descriptor)


def test_what_cannot_be_opened_is_said_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as refused:
        open_shared(str(tmp_path / "absent"), os.O_RDONLY)

    assert refused.value.filename == str(tmp_path / "absent")
