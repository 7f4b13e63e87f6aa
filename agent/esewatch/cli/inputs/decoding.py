"""Decoding of inputs, in a process of its own beside the one that folds where both have a core.

`python -m esewatch.cli.inputs.decoding` takes the arguments of `open_inputs` on its standard input
and writes what it decodes on its standard output, in the order of one process. No more than the
batch in work and a pipe wait for the reader, so that neither process grows. Both are pickled: the
two are of one version, and nobody else writes these pipes.
"""

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from esewatch.model import Batch, EsewatchError, Source, SourceError
from esewatch.sources.detect_input import open_inputs

LEAST_BYTES: Final = 64 << 20
"""Fewer stored bytes are decoded in this process: to start another, and to hand the records over,
takes as long as it saves.
"""
PROGRAM: Final = (sys.executable, "-P", "-m", "esewatch.cli.inputs.decoding")
"""-P: nothing in the working directory is taken for esewatch."""


class Input(NamedTuple):
    """One of the sources of `open_inputs`, as it is read."""

    name: str
    size: int
    """Stored bytes of its files."""
    batches: Iterator[Batch]
    """To be taken to its end before the next input. Raises SourceError as `model.Source.poll`."""


class Inputs(NamedTuple):
    """Inputs that `open_inputs` opened, and an error for each path that it did not."""

    opened: list[Input]
    errors: list[SourceError]


@contextlib.contextmanager
def decoded(asked: Mapping[str, Any], *, beside: bool) -> Iterator[Inputs]:
    """The inputs of `open_inputs(**asked)`; with `beside` in another process where that pays.

    Taking the batches raises EsewatchError where that process ends before its work does.
    """
    if not beside or processors() < 2 or size_of(asked["paths"]) < LEAST_BYTES:
        yield _decoded_here(asked)
        return
    try:
        process = subprocess.Popen(
            PROGRAM,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C is for this process alone, which then ends the other.
            process_group=0,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    except OSError:  # neither memory nor a process is left: one has to do
        yield _decoded_here(asked)
        return
    with process:
        try:
            yield _Beside(process).inputs(asked)
        finally:
            process.kill()


def processors() -> int:
    """Processors that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def size_of(paths: list[str]) -> int:
    """Stored bytes of these files; 0 for one without access."""
    total = 0
    for path in paths:
        with contextlib.suppress(OSError):
            total += Path(path).stat().st_size
    return total


def _decoded_here(asked: Mapping[str, Any]) -> Inputs:
    found = open_inputs(**asked)
    opened = zip(found.sources, found.files, strict=True)
    return Inputs(
        [Input(source.name, size_of(files), _polled(source)) for source, files in opened],
        found.errors,
    )


def _polled(source: Source) -> Iterator[Batch]:
    try:
        yield from source.poll(final=True)
    finally:
        source.close()


class _Beside:
    """The other process as this one sees it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def inputs(self, asked: Mapping[str, Any]) -> Inputs:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError), self._process.stdin as pipe:
            pickle.dump(dict(asked), pipe)
        told, errors = self._next()
        return Inputs([Input(name, size, self._batches()) for name, size in told], errors)

    def _batches(self) -> Iterator[Batch]:
        while (batch := self._next()) is not None:
            yield batch

    def _next(self) -> Any:
        assert self._process.stdout is not None
        try:
            message = pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError):
            status = self._process.wait()
            how = f"by signal {-status}" if status < 0 else f"with status {status}"
            raise EsewatchError(
                f"the process that decodes the inputs ended {how}: start the command again"
            ) from None
        if isinstance(message, Exception):
            raise message
        return message


def main() -> None:
    """Decode what standard input asks for."""
    # What libraries print must not come between the messages.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def tell(message: object) -> None:
        pickle.dump(message, out, pickle.HIGHEST_PROTOCOL)
        out.flush()

    with contextlib.suppress(EOFError, OSError):  # the other process has ended
        inputs, errors = _decoded_here(pickle.load(sys.stdin.buffer))
        try:
            tell(([(each.name, each.size) for each in inputs], errors))
            for each in inputs:
                try:
                    for batch in each.batches:
                        tell(batch)
                    tell(None)
                except SourceError as error:
                    tell(error)
        except (EsewatchError, OSError, MemoryError) as error:
            tell(error)


if __name__ == "__main__":
    main()
    # Not by way of an orderly end, which would write once more to a reader that is gone.
    os._exit(0)
