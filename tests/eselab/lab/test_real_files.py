"""Real files, in small."""

import errno
import os
from pathlib import Path

import pytest

from eselab.lab import real_files
from eselab.lab.real_files import UnableError
from tests.esefiles.scans.cache import TRIES

SIZE = 3 << 20


def test_a_copy_has_the_bytes_of_the_original_in_either_manner(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    real_files.make(source, SIZE)
    for direct in (False, True):
        try:
            assert real_files.copy(source, target, direct=direct) > 0
        except UnableError as error:
            assert direct
            assert "O_DIRECT" in str(error)
        else:
            assert target.read_bytes() == source.read_bytes()
            assert target.stat().st_size == SIZE


def test_without_o_direct_it_is_said_that_it_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_files.make(tmp_path / "source", SIZE)
    monkeypatch.setattr(real_files, "_O_DIRECT", 0)
    monkeypatch.setattr(real_files, "_O_DSYNC", 0)

    with pytest.raises(UnableError, match="no O_DIRECT here"):
        real_files.copy(tmp_path / "source", tmp_path / "target", direct=True)
    with pytest.raises(UnableError, match="no O_DSYNC here"):
        real_files.write(tmp_path / "target", 4096, 4096, through=True, limit=1.0)


@pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="there is no O_DIRECT")
@pytest.mark.parametrize(("number", "kind"), [(errno.EINVAL, UnableError), (errno.EIO, OSError)])
def test_a_refusal_is_told_apart_from_a_disk_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception]
) -> None:
    real_files.make(tmp_path / "source", SIZE)

    def fail(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "readv", fail)
    with pytest.raises(kind):
        real_files.copy(tmp_path / "source", tmp_path / "target", direct=True)


def test_writes_end_with_the_file_or_with_their_time(tmp_path: Path) -> None:
    path = tmp_path / "written"

    done, seconds = real_files.write(path, 1 << 20, 65536, through=False, limit=60.0)
    assert (done, path.stat().st_size) == (1 << 20, 1 << 20)
    assert 0 < seconds < 60

    for limit in (0.05, 1.0, 20.0):  # a busy machine may write nothing in a shorter time
        done, _ = real_files.write(path, 1 << 40, 4096, through=True, limit=limit)
        if done:
            break
    assert 0 < done < 1 << 40


@pytest.mark.skipif(os.name != "posix", reason="there is no mincore")
def test_what_was_read_is_in_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "file"
    real_files.make(path, SIZE)
    # The kernel may take a page back at any moment.
    for _ in range(TRIES):
        real_files.read_in(path)
        if (cached := real_files.cached(path)) in {1.0, None}:
            break

    assert cached in {1.0, None}
    real_files.drop(path)
    assert path.stat().st_size == SIZE


def test_the_file_system_is_named(tmp_path: Path) -> None:
    assert real_files.file_system(tmp_path).strip()
