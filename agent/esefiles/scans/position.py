"""Positions of unfinished scans, one small file a database, for `scan --resume`."""

import contextlib
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from esefiles.base.command import CommandError
from esefiles.scans.results import Place

MAX_BYTES = 1 << 20
"""A position with MAX_LISTED bad pages has 150 KB."""

_PLACE, _LAST, _NEW = ".json", ".last", ".new"
"""Position of a scan, time of the last complete one, and temporary files of both."""


def default_folder(
    environment: Mapping[str, str] | None = None, platform: str = sys.platform
) -> Path:
    """The folder of positions: XDG_STATE_HOME, on Windows LOCALAPPDATA, else below the home. Raises
    CommandError for an account without a home."""
    known = os.environ if environment is None else environment
    name, other = "XDG_STATE_HOME", (".local", "state")
    if platform == "win32":
        name, other = "LOCALAPPDATA", ("AppData", "Local")
    base = Path(known.get(name, ""))
    if not base.is_absolute():
        try:
            base = Path.home().joinpath(*other)
        except RuntimeError as error:
            raise CommandError(
                f"this account has no home folder for positions: name one in {name}"
            ) from error
    return base / "esewatch" / "scan"


class _Last(msgspec.Struct, frozen=True):
    path: str
    time: float


class Positions:
    """The places of unfinished scans in `folder`; None: nothing is kept. A file there belongs to
    one database's path. `say` gets a sentence for a file that cannot be used, and one if positions
    cannot be kept. Used by several threads."""

    def __init__(self, folder: Path | None, say: Callable[[str], None]) -> None:
        self.folder = folder
        self._say = say
        self._lock = threading.Lock()
        self._is_kept = True

    def load(self, path: str) -> Place | None:
        """The position of the scan of `path`. None: there is none, or the file cannot be used."""
        if self.folder is None:
            return None
        file = self.folder / _file_name(path, _PLACE)
        try:
            with file.open("rb") as stream:
                place = msgspec.json.decode(stream.read(MAX_BYTES), type=Place)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, UnicodeError) as error:
            self._say(f"{file}: position of {path} left out: {error}")
            return None
        if place.path != _key(path) or not _is_possible(place):
            self._say(f"{file}: position of {path} left out: it belongs to another file")
            return None
        return msgspec.structs.replace(place, path=path)

    def save(self, place: Place) -> None:
        """Save `place`: after a kill at any moment the old one or this is there."""
        named = msgspec.structs.replace(place, path=_key(place.path))
        with self._keeping() as folder:
            _write(folder, place.path, _PLACE, msgspec.json.encode(named))

    def drop(self, path: str) -> None:
        """Drop the position of the scan of `path`."""
        with self._keeping() as folder:
            _drop(folder, path)

    def complete(self, path: str, time: float) -> None:
        """`path` was read whole at `time` (epoch seconds): its position goes."""
        with self._keeping() as folder:
            _write(folder, path, _LAST, msgspec.json.encode(_Last(path=_key(path), time=time)))
            _drop(folder, path)

    def completed(self, path: str) -> float | None:
        """Last completion of a scan of `path`; None: never, or unknown."""
        if self.folder is None:
            return None
        try:
            data = (self.folder / _file_name(path, _LAST)).read_bytes()
            last = msgspec.json.decode(data, type=_Last)
        except (OSError, msgspec.MsgspecError, UnicodeError):
            return None
        return last.time if last.path == _key(path) else None

    @contextlib.contextmanager
    def _keeping(self) -> Iterator[Path | None]:
        try:
            yield self.folder
        except OSError as error:
            with self._lock:
                is_told, self._is_kept = not self._is_kept, False
            if not is_told:
                self._say(
                    f"positions cannot be kept in {self.folder}: {error.strerror or error}:"
                    " --resume will start from the beginning; see --position-folder"
                )


def _write(folder: Path | None, path: str, suffix: str, content: bytes) -> None:
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / _file_name(path, _NEW)
    with new.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    new.replace(folder / _file_name(path, suffix))


def _drop(folder: Path | None, path: str) -> None:
    if folder is not None:
        for suffix in (_PLACE, _NEW):
            (folder / _file_name(path, suffix)).unlink(missing_ok=True)


def _file_name(path: str, suffix: str) -> str:
    digest = hashlib.sha256(_key(path).encode()).hexdigest()
    return f"{digest[:32]}{suffix}"


def _key(path: str) -> str:
    """The file itself, however it is named; bytes of the name that are no UTF-8 are escaped."""
    real = os.path.normcase(os.path.realpath(path))
    return real.encode("utf-8", "backslashreplace").decode()


def _is_possible(place: Place) -> bool:
    counts = place.counts
    numbers = (place.offset, place.page_size, counts.pages_seen, counts.bytes, counts.unlisted)
    return min(numbers) >= 0 and place.page_size > 0 and place.offset % place.page_size == 0
