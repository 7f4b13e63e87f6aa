"""The reading of inputs that several commands share: progress, complaints, exit status."""

import argparse
import contextlib
import gc
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from esefiles.base.command import exit_status
from esefiles.base.names import visible
from esefiles.base.progress import progress_bar
from esewatch.advice.base.finding import counted
from esewatch.model import (
    Batch,
    EsewatchError,
    Source,
    SourceError,
    Unreadable,
    UnsupportedError,
)
from esewatch.sources.detect_input import expand, open_inputs
from esewatch.sources.files.follow import FollowedFiles

SAID_ALIKE = 3
"""Pieces of one file with the same reason that have a line each."""


class _Alike:
    """Complaints of one file and reason: the first are said, the others are counted."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def is_new(self, piece: Unreadable) -> bool:
        self._counts[piece.path, piece.reason] += 1
        return self._counts[piece.path, piece.reason] <= SAID_ALIKE

    def summed_up(self) -> Iterator[str]:
        for (path, reason), count in self._counts.items():
            if count > SAID_ALIKE:
                yield f"{path}: {counted(count - SAID_ALIKE, 'more piece')}: {reason}"


class Reader:
    """Reads inputs one after another and counts the errors."""

    def __init__(
        self,
        options: argparse.Namespace,
        *,
        companions: bool,
        ese_only: bool,
        kinds: Collection[str] = (),
    ) -> None:
        """`kinds`: inputs of others are refused; empty for all."""
        self.unreadable: list[Unreadable] = []
        self.errors: list[str] = []
        """One line for each input that could not be read."""
        self._remarks: dict[str, dict[str, None]] = {}
        """Remark on times (`Batch.remarks`) -> the files."""
        self._read = False
        self.paths = expand(options.paths)
        self._below = not set(self.paths) <= set(options.paths)
        self._asked = {
            "paths": self.paths,
            "providers": options.provider,
            "computer": options.computer,
            "timezone": options.timezone,
            "date_order": options.date_order,
            "companions": companions,
            "ese_only": ese_only,
            "kinds": kinds,
        }

    def inputs(self) -> Iterator[tuple[str, Iterator[Batch]]]:
        """The name and the batches of each input that can be opened, by kind.

        For the others one line on stderr; on a terminal a progress bar of the bytes of all.
        """
        found = open_inputs(**self._asked)
        with (
            _seldom_collected(),
            progress_bar(total=_size_of(self.paths), unit="B", unit_scale=True) as bar,
        ):
            for error in found.errors:
                # In a folder of logs something else may lie about; what was named must be readable.
                if isinstance(error, UnsupportedError) and found.sources and self._below:
                    _say(f"left out: {error}")
                else:
                    self._fail(error)
            for source, files in zip(found.sources, found.files, strict=True):
                bar.set_description(visible(source.name))
                yield source.name, self._told(source, _size_of(files), bar)
        for remark in self.remarks:
            _say(remark)

    def _told(self, source: Source, size: int, bar: "tqdm[Any]") -> Iterator[Batch]:
        """The batches of one input; `bar` and stderr show them."""
        alike, before, read, told = _Alike(), bar.n, False, False
        try:
            for batch in source.poll(final=True):
                for path, remark in batch.remarks:
                    self._remarks.setdefault(remark, {})[path] = None
                for copy, other in batch.copies:
                    _say(f"{copy} is a copy: all of it is in {other} too, and counts once")
                bar.update(max(0, before + size - batch.backlog_bytes - bar.n))
                for piece in batch.unreadable:
                    told = isinstance(source, FollowedFiles)
                    self.unreadable.append(piece)
                    if alike.is_new(piece):
                        _say(f"unreadable: {piece}")
                read = read or bool(batch.records)
                self._read = self._read or read
                yield batch
            # Of a text of which nothing but complaints came, nothing was read.
            self._read = self._read or read or not told
        except SourceError as error:
            self._fail(error)
        finally:
            source.close()
            for line in alike.summed_up():
                _say(f"unreadable: {line}")

    def _fail(self, error: EsewatchError) -> None:
        _say(str(error))
        self.errors.append(str(error))

    @property
    def remarks(self) -> list[str]:
        """Sentences on times that are not certain, without a full stop."""
        found = []
        for remark, files in self._remarks.items():
            first, others = next(iter(files)), len(files) - 1
            more = f" and {counted(others, 'more file')}" if others else ""
            found.append(f"the times in {first}{more} {remark}")
        return found

    @property
    def nothing_read(self) -> bool:
        """True if none of the inputs could be read: then nothing is written."""
        return bool(self.errors) and not self._read

    def status(self, *, wrong: bool = False) -> int:
        """Exit status of the whole reading; the rest is done where some inputs cannot be read."""
        unreadable = bool(self.errors or self.unreadable)
        return exit_status(any_read=self._read, unreadable=unreadable, wrong=wrong)


def _size_of(paths: Iterable[str]) -> int:
    """Stored bytes of these files; 0 for one without access."""
    total = 0
    for path in paths:
        with contextlib.suppress(OSError):
            total += Path(path).stat().st_size
    return total


@contextlib.contextmanager
def _seldom_collected() -> Iterator[None]:
    """Records make no cycles: looking for some at each 700 objects is a twentieth of a report."""
    before = gc.get_threshold()
    gc.set_threshold(20_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _say(what: str) -> None:
    """One line on stderr; a progress bar makes room for it."""
    tqdm.write(visible(f"esewatch: {what}"), file=sys.stderr)
