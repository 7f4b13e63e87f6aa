import os
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from esewatch.sources.files.raw_file import open_raw


@pytest.mark.parametrize(
    ("make", "reason"), [(Path.mkdir, "Is a directory"), (os.mkfifo, "not a regular file")]
)
def test_what_is_no_file_is_refused_and_not_left_open(
    tmp_path: Path, make: Callable[[Path], None], reason: str
) -> None:
    path = tmp_path / "app.log"
    make(path)
    before = psutil.Process().num_fds()
    for _ in range(3):
        with pytest.raises(OSError, match=reason):
            open_raw(str(path))
    assert psutil.Process().num_fds() == before
