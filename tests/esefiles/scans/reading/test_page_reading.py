"""Pages that the disk does not give are bytes that do not verify."""

import errno
from pathlib import Path

import pytest

from esefiles.pages.kernels import classify
from esefiles.pages.layout import GOOD, PAGE_SIZES, SUSPECT
from esefiles.scans.reading import reading
from esefiles.scans.reading.reading import read_pages
from tests.esefiles.scans.faulty import disk_below
from tests.support.edb import write_edb


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_an_unreadable_page_is_one_that_does_not_verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page_size: int
) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=page_size, pages=9)
    disk = disk_below(monkeypatch, reading)
    disk.bad = {5 * page_size}
    file = reading.DatabaseFile(str(edb.path))

    data = read_pages(file, 3, 20, page_size)
    disk.errno = errno.ESTALE
    with pytest.raises(OSError, match="Input/output"):
        read_pages(file, 3, 20, page_size)
    file.close()

    assert list(classify(data, page_size, 3)) == [GOOD, SUSPECT, *[GOOD] * 5]
