"""Saved output of `eseutil /k` and `/mh` (and of `esentutl`): checks of copies, and headers.

eseutil writes neither a time nor a computer. A run ended when the file was last written; of several
in one file the last did, the others are put before it, back to back. The result of a check holds
for its start: a page may have gone bad while it ran. A file is small, so one that has changed is
read again whole, and a run is handed out when it has ended.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from esefiles.base.names import reason_of
from esewatch.config import EseutilLogs, Settings
from esewatch.ese.programs.eseutil import (
    INTEGRITY,
    ChecksumRun,
    EseutilRun,
    is_integrity_file,
    is_output,
    runs,
)
from esewatch.model import Batch, SourceError, Unreadable
from esewatch.sources.files.encodings import detect, to_utf8
from esewatch.sources.files.file_search import (
    Seen,
    Stat,
    all_unreadable,
    look,
    open_known,
)
from esewatch.sources.files.file_set import REMEMBERED
from esewatch.sources.files.raw_file import MovedError, read_at
from esewatch.sources.kind import RecordSelection
from esewatch.sources.logs.eseutil_records import Whose, bad_count, complaints, record_of

MAX_BYTES = 16 << 20
"""A larger file is no output of eseutil."""
BATCH_RECORDS = 1000
SETTLE_SECONDS = 60.0
"""A file in which no run has begun is judged when it was not written for this long."""
_GONE: Final = "gone "
ABANDONED_SECONDS = 86400.0
"""A run without output for this long has been stopped. The progress of a check is buffered, so that
hours without a byte are usual."""


class EseutilFileState(msgspec.Struct, array_like=True, forbid_unknown_fields=True, kw_only=True):
    """The state of one file in the journal. `stat` is its size and mtime (ns) when it was read."""

    stat: Stat = (0, 0)
    offset: int = 0
    """Characters up to the end of the last run that was handed out."""
    digest: bytes = b""
    """Digest of those characters: a different text starts over."""
    told: int = 0
    """Bad pages that were handed out of a run that had not ended."""
    known: bool = False
    """A check or a header of a database was found in it, or its absence was reported."""
    settled: bool = False
    """Everything was reported of it in this state."""


def open(entry: EseutilLogs, _settings: Settings, _wanted: RecordSelection) -> "EseutilLogSource":
    return EseutilLogSource(
        entry.name, entry.paths, computer=entry.computer, database=entry.database or ""
    )


def recognise(head: bytes, _stored: bytes) -> bool:
    return is_output(head.decode("utf-8", "replace"))


class EseutilLogSource:
    """A source over saved output of eseutil in the files named by `paths` (paths and globs).

    `computer` is the one whose databases were checked. `database`, where it is not empty,
    overrules the paths in the text; `{name}` in it is the file name of the copy. `clock`
    gives epoch seconds. Implements `model.Source`. Raises SourceError without a computer.
    """

    def __init__(
        self,
        name: str,
        paths: Sequence[str],
        *,
        computer: str,
        database: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not computer:
            where = name if name in paths else f"{name}: {paths[0]}"
            raise SourceError(
                f"{where}: output of eseutil does not name the computer: give it as --computer, "
                "or as computer: in the configuration"
            )
        self.name = name
        self._paths = list(paths)
        self._whose = Whose(computer, database)
        self._clock = clock
        self._files: dict[str, EseutilFileState] = {}
        self._ends = _Ends()
        self._there: set[str] = set()
        """Keys of the files that were there in the last poll."""
        self._kept = REMEMBERED
        self._again: dict[str, float] = {}
        """Times at which an unchanged file is to be judged again."""
        self._complaints: dict[str, str] = {}
        self._failed: dict[str, str] = {}
        """Path -> reason for failures to list or open in this poll."""
        self._batch = Batch()

    def restore(self, positions: Mapping[str, bytes]) -> None:
        """See `model.Source.restore`. A position that is not understood is dropped."""
        for key, value in positions.items():
            try:
                state = msgspec.msgpack.decode(value, type=EseutilFileState)
            except msgspec.MsgspecError:
                continue
            self._files[key] = state
            self._ends.put(key, state)
        self._there = set(self._files)
        self._kept = max(self._kept, len(self._files))

    def close(self) -> None:
        """Nothing stays open between polls."""

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        """See `model.Source.poll`. A file that did not change costs a stat.

        Raises SourceError behind the last batch when a path that is no pattern does not exist,
        and, unless `final`, when nothing that the paths lead to can be listed or opened.
        """
        self._batch = Batch()
        found = look(self._paths, lambda key: None, self._there)
        self._failed = found.troubles | found.gone
        known = {seen.path for seen in found.seen.values()}.union(self._failed)
        self._complaints = {path: why for path, why in self._complaints.items() if path in known}
        for path, reason in self._failed.items():
            self._complain(path, reason)
        files = sorted(found.seen.values(), key=lambda seen: (seen.stat[1], seen.path))
        for seen in files:
            for _ in self._file(seen, final=final):
                yield self._take(caught_up=False)
        self._there = set(found.seen)
        self._kept = max(self._kept, len(self._there))
        self._drop([key for key in self._files if key not in self._there])
        there = [seen.path for seen in files]
        error = "" if final else all_unreadable(there, self._failed, self._batch.unreadable)
        if found.missing:
            error = f"{found.missing[0]}: no such file; name an existing file or a pattern"
        yield self._take(caught_up=not error)
        if error:
            raise SourceError(error)

    def _drop(self, gone: Sequence[str]) -> None:
        for count, key in enumerate(gone, start=self._kept - len(gone)):
            state = self._files[key]
            name = key
            if state.offset:  # something was handed out of it
                name = f"{_GONE}{_seconds(state.stat)} {state.offset} {state.digest.hex()}"
            if count < 0 or name != key:
                self._forget(key)
            if count >= 0 and name != key:
                self._put(name, state)

    def _forget(self, key: str) -> None:
        del self._files[key]
        self._ends.drop(key)
        self._again.pop(key, None)
        self._batch.positions[key] = None

    def _take(self, *, caught_up: bool) -> Batch:
        batch, self._batch = self._batch, Batch()
        batch.caught_up = caught_up
        return batch

    def _complain(self, path: str, reason: str) -> None:
        """Report a file that cannot be read, once for each reason."""
        if self._complaints.get(path) != reason:
            self._complaints[path] = reason
            self._tell(path, "", reason)

    def _tell(self, path: str, place: str, reason: str) -> None:
        self._batch.unreadable.append(Unreadable(path=path, place=place, reason=reason))

    def _file(self, seen: Seen, *, final: bool) -> Iterator[None]:
        """Read one file where it may have changed; yields where a batch should be handed out."""
        state = self._files.get(seen.key)
        again = self._again.get(seen.key, 0.0)
        if (
            state is not None
            and state.stat == seen.stat
            and (state.settled or (self._clock() < again and not final))
        ):
            return
        try:
            text, stat = self._text(seen)
        except MovedError:
            return
        except OSError as error:
            self._failed[seen.path] = reason_of(error)
            self._complain(seen.path, reason_of(error))
            return
        state = self._continued(seen.key, text, stat)
        state.stat = stat
        for _ in self._runs(seen, text, state, final=final):
            yield

    def _runs(
        self, seen: Seen, text: str, state: EseutilFileState, *, final: bool
    ) -> Iterator[None]:
        """Hand out the runs of one file that were not handed out before."""
        now = self._clock()
        written = min(state.stat[1] / 1e9, now)
        silent = float("inf") if final else now - written
        place = _Place(text, state.offset)
        later = sum(run.seconds or 0.0 for run in runs(text, state.offset))
        again = None
        for run in runs(text, state.offset):
            state.known = state.known or bool(run.result or complaints(run, self._whose))
            line = place.line_of(run.start)
            if run.outcome == "open":
                if silent < ABANDONED_SECONDS:
                    again = written + ABANDONED_SECONDS
                    self._still_running(run, state, written)
                else:
                    self._hand_out(seen.path, line, run, written)
                break
            later -= run.seconds or 0.0
            self._hand_out(seen.path, line, run, written - later)
            state.offset, state.told = run.end, 0
            if len(self._batch.records) + len(self._batch.unreadable) >= BATCH_RECORDS:
                self._keep(seen.key, state, place)
                yield
        if not state.known and text.strip() and again is None:
            if silent < SETTLE_SECONDS:
                again = written + SETTLE_SECONDS
            else:
                what = "it has no output of eseutil /k or /mh"
                self._tell(seen.path, "", INTEGRITY if is_integrity_file(text) else what)
        state.settled = again is None
        self._again[seen.key] = again or 0.0
        self._keep(seen.key, state, place)

    def _still_running(self, run: EseutilRun, state: EseutilFileState, written: float) -> None:
        """Hand out the bad pages of a run in progress: they are bad already."""
        bad = bad_count(run.result) if isinstance(run.result, ChecksumRun) else 0
        if bad > state.told and (record := record_of(run, self._whose, written)) is not None:
            self._batch.records.append(record)
            state.told = bad

    def _hand_out(self, path: str, line: int, run: EseutilRun, end: float) -> None:
        record = record_of(run, self._whose, end)
        if record is not None:
            self._batch.records.append(record)
        for reason in complaints(run, self._whose):
            self._tell(path, f"line {line}", reason)

    def _keep(self, key: str, state: EseutilFileState, place: "_Place") -> None:
        state.digest = place.digest_to(state.offset)
        self._put(key, state)

    def _put(self, key: str, state: EseutilFileState) -> None:
        self._files[key] = state
        self._ends.put(key, state)
        self._batch.positions[key] = msgspec.msgpack.encode(state)

    def _text(self, seen: Seen) -> tuple[str, Stat]:
        """The text of a file, empty for one that is too large, and the state it was read in."""
        raw = open_known(seen.path, seen.key)
        try:
            now = raw.stat()
            stat = (now.st_size, now.st_mtime_ns)
            data = read_at(raw, 0, MAX_BYTES + 1) if stat[0] <= MAX_BYTES else b""
            damage = raw.damage
        finally:
            raw.close()
        if stat[0] > MAX_BYTES or len(data) > MAX_BYTES:
            self._complain(seen.path, f"larger than {MAX_BYTES >> 20} MiB: no output of eseutil")
            return "", stat
        if damage:
            self._complain(seen.path, damage)
        return to_utf8(data, detect(data)[0]).decode("utf-8", "replace"), stat

    def _continued(self, key: str, text: str, stat: Stat) -> EseutilFileState:
        """The state of what was handed out of `text` before, under any name; a new state if
        nothing."""
        state = self._files.get(key)
        if state and not state.offset and key in self._there and stat[0] >= state.stat[0]:
            return msgspec.structs.replace(state, settled=False)
        found = self._ends.last_in(text, stat, prefer=key)
        state = self._files[found] if found else EseutilFileState()
        if found.startswith(_GONE):
            self._forget(found)
        elif found != key:
            state = msgspec.structs.replace(state, told=0)
        return msgspec.structs.replace(state, settled=False)


def _seconds(stat: Stat) -> int:
    return stat[1] // 1_000_000_000


class _Ends:
    """Ends of what was handed out: offset -> digest of the text before it -> keys of files.

    A text is compared with all files at once: there are few offsets, and many files. One that is
    gone has to have been written in the same second: a check may end with the same words again.
    """

    def __init__(self) -> None:
        self._keys: dict[int, dict[tuple[bytes, int], dict[str, None]]] = {}
        self._end_of: dict[str, tuple[int, tuple[bytes, int]]] = {}

    def put(self, key: str, state: EseutilFileState) -> None:
        self.drop(key)
        if state.offset > 0:
            text = (state.digest, _seconds(state.stat) if key.startswith(_GONE) else -1)
            self._end_of[key] = (state.offset, text)
            self._keys.setdefault(state.offset, {}).setdefault(text, {})[key] = None

    def drop(self, key: str) -> None:
        offset, text = self._end_of.pop(key, (0, (b"", 0)))
        if offset:
            del self._keys[offset][text][key]
            if not self._keys[offset][text]:
                del self._keys[offset][text]
            if not self._keys[offset]:
                del self._keys[offset]

    def last_in(self, text: str, stat: Stat, *, prefer: str) -> str:
        """Key of the file of which most of `text` was handed out; empty when nothing was."""
        place, keys = _Place(text), dict[str, None]()
        for offset in sorted(each for each in self._keys if each <= len(text)):
            texts, digest = self._keys[offset], place.digest_to(offset)
            keys = texts.get((digest, -1)) or texts.get((digest, _seconds(stat))) or keys
        return prefer if prefer in keys else next(reversed(keys), "")


class _Place:
    """The place in a text: the line, and the digest of everything before it."""

    def __init__(self, text: str, start: int = 0) -> None:
        self._text = text
        self._line = 1 + text.count("\n", 0, start)
        self._counted = start
        self._hash = hashlib.blake2b(digest_size=16)
        self._hashed = 0

    def line_of(self, offset: int) -> int:
        """Number of the line at `offset`, which never goes back."""
        self._line += self._text.count("\n", self._counted, offset)
        self._counted = offset
        return self._line

    def digest_to(self, offset: int) -> bytes:
        """Digest of the text up to `offset`, which never goes back."""
        self._hash.update(self._text[self._hashed : offset].encode("utf-8", "surrogatepass"))
        self._hashed = offset
        return self._hash.digest()
