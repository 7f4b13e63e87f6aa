"""The reading of inputs that several commands share: progress, complaints, exit status."""

import argparse
import sys
from collections import Counter
from collections.abc import Collection, Iterator

from tqdm import tqdm

from esewatch.expose.formatting import plural
from esewatch.model import (
    Batch,
    EsewatchError,
    Source,
    SourceError,
    Unreadable,
    UnsupportedError,
)
from esewatch.names import visible
from esewatch.sources.detect_input import expand, open_inputs

HEALTHY, WRONG, FAILED = 0, 1, 2

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
                yield f"{path}: {plural(count - SAID_ALIKE, 'more piece')}: {reason}"


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
        self._read = False
        self.paths = expand(options.paths)
        self._below = not set(self.paths) <= set(options.paths)
        self._options = options
        self._companions = companions
        self._ese_only = ese_only
        self._kinds = kinds

    def sources(self) -> Iterator[Source]:
        """The inputs that can be opened, by kind; for the others one line on stderr."""
        options = self._options
        opened, errors = open_inputs(
            self.paths,
            providers=options.provider,
            computer=options.computer,
            timezone=options.timezone,
            date_order=options.date_order,
            companions=self._companions,
            ese_only=self._ese_only,
            kinds=self._kinds,
        )
        for error in errors:
            # In a folder of logs something else may lie about; what was named must be readable.
            if isinstance(error, UnsupportedError) and opened and self._below:
                print(visible(f"esewatch: left out: {error}"), file=sys.stderr)
            else:
                self._fail(error)
        yield from opened

    def batches(self, source: Source) -> Iterator[Batch]:
        """All batches of one input, with a progress bar on a terminal."""
        alike = _Alike()
        with tqdm(
            desc=visible(source.name),
            unit="B",
            unit_scale=True,
            file=sys.stderr,
            disable=not sys.stderr.isatty(),
            leave=False,
        ) as bar:
            try:
                for batch in source.poll(final=True):
                    bar.total = max(bar.total or 0, bar.n + batch.backlog_bytes)
                    bar.update(max(0, bar.total - batch.backlog_bytes - bar.n))
                    for piece in batch.unreadable:
                        self.unreadable.append(piece)
                        if alike.is_new(piece):
                            bar.write(visible(f"esewatch: unreadable: {piece}"), file=sys.stderr)
                    self._read = self._read or bool(batch.records)
                    yield batch
                self._read = True
            except SourceError as error:
                self._fail(error)
            finally:
                source.close()
                for line in alike.summed_up():
                    print(visible(f"esewatch: unreadable: {line}"), file=sys.stderr)

    def _fail(self, error: EsewatchError) -> None:
        print(visible(f"esewatch: {error}"), file=sys.stderr)
        self.errors.append(str(error))

    @property
    def nothing_read(self) -> bool:
        """Whether none of the inputs could be read: then nothing is written."""
        return bool(self.errors) and not self._read

    def status(self, *, wrong: bool = False) -> int:
        """Exit status of the whole reading; the rest is done where some inputs cannot be read."""
        if self.nothing_read:
            return FAILED
        return WRONG if wrong or self.errors or self.unreadable else HEALTHY
