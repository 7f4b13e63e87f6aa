"""Positions of unfinished scans, one small file a database, for `scan --resume`."""

import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from esefiles.base.command import CommandError
from esefiles.scan.results import Place

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
    """The places of unfinished scans in `folder`. A file there belongs to one database's path.
    `say` gets one line for a file that cannot be used."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self.folder = folder
        self._say = say

    def load(self, path: str) -> Place | None:
        """The position of the scan of `path`. None: there is none, or the file cannot be used."""
        file = self._file(path, _PLACE)
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
        """Save `place`: after a kill at any moment the old one or this is there. Raises OSError."""
        named = msgspec.structs.replace(place, path=_key(place.path))
        self._write(place.path, _PLACE, msgspec.json.encode(named))

    def drop(self, path: str) -> None:
        """Drop the position of the scan of `path`. Raises OSError."""
        for suffix in (_PLACE, _NEW):
            self._file(path, suffix).unlink(missing_ok=True)

    def complete(self, path: str, time: float) -> None:
        """`path` was read whole at `time` (epoch seconds): its position goes. Raises OSError."""
        self._write(path, _LAST, msgspec.json.encode(_Last(path=_key(path), time=time)))
        self.drop(path)

    def completed(self, path: str) -> float | None:
        """Last completion of a scan of `path`; None: never, or unknown."""
        try:
            data = self._file(path, _LAST).read_bytes()
            last = msgspec.json.decode(data, type=_Last)
        except (OSError, msgspec.MsgspecError, UnicodeError):
            return None
        return last.time if last.path == _key(path) else None

    def _write(self, path: str, suffix: str, content: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        new = self._file(path, _NEW)
        with new.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(self._file(path, suffix))

    def _file(self, path: str, suffix: str) -> Path:
        digest = hashlib.sha256(_key(path).encode()).hexdigest()
        return self.folder / f"{digest[:32]}{suffix}"


def _key(path: str) -> str:
    """The file itself, however it is named; bytes of the name that are no UTF-8 are escaped."""
    real = os.path.normcase(os.path.realpath(path))
    return real.encode("utf-8", "backslashreplace").decode()


def _is_possible(place: Place) -> bool:
    counts = place.counts
    numbers = (place.offset, place.page_size, counts.pages_seen, counts.bytes, counts.unlisted)
    return min(numbers) >= 0 and place.page_size > 0 and place.offset % place.page_size == 0
