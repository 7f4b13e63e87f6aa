"""The scanning process as the source sees it: its job, its progress messages, its end."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from esefiles.base import names
from esefiles.scan.job import Job, News
from esewatch.model import SourceError
from esewatch.sources.process import Child

PROGRAM: Final = (sys.executable, "-P", "-m", "esefiles.scan.child")
"""-P: nothing in the working directory is taken for esewatch."""
LATE_SECONDS: Final = 0.5
"""A process that has not ended this long after its deadline is killed."""
MAX_CRASHES: Final = 3
"""A file at which it crashed this many times in a row is left out for a while."""
PROGRESS_PLACES: Final = 3
"""A crash loses the reading since the last reported place, less than two of them."""


class ScanProcess:
    """One process that works on `job` since `began` (epoch seconds). Raises SourceError when it
    cannot be started."""

    def __init__(self, job: Job, *, program: Sequence[str], began: float) -> None:
        self.tasks = {task.path: task for task in job.tasks}
        self.began = began
        self._begun: list[str] = []
        self._done: set[str] = set()
        self._places: Counter[str] = Counter()
        self._rest = b""
        self._child = Child(program, (), names.pack_line(job))

    def news(self) -> Iterator[News]:
        """The messages since the last call; never waits. A line without its end is left. Raises
        SourceError when the process writes anything else."""
        *lines, self._rest = (self._rest + self._child.read()).split(b"\n")
        for line in lines:
            try:
                news = names.unpack_line(line, News)
            except (msgspec.MsgspecError, UnicodeError) as error:
                self.close()
                raise SourceError(
                    f"the process that scans is of another version, restart esewatch: {error}"
                ) from None
            if news.step is None:
                self._begun.append(news.path)
            else:
                self._places[news.path] += news.step.place is not None
                if news.step.result is not None:
                    self._done.add(news.path)
            yield news

    @property
    def ended(self) -> bool:
        """Has it ended, and is all its news taken?"""
        return self._child.ended

    @property
    def crashed(self) -> bool:
        """True if it ended abnormally."""
        return bool(self._child.status)

    @property
    def to_do(self) -> set[str]:
        """Files whose scan is not over."""
        return self.tasks.keys() - self._done

    @property
    def in_work(self) -> list[str]:
        """Files whose scan had begun and was not over."""
        return [path for path in self._begun if path not in self._done]

    def progressed(self, path: str) -> bool:
        """True if it made progress with a file, well beyond where it began."""
        return self._places[path] >= PROGRESS_PLACES

    def how_it_ended(self) -> str:
        """The end of the process for a person: the signal or exit status, and its message."""
        status = self._child.status or 0
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        said = self._child.complaint[-200:]
        return f"{how}: {said}" if said else how

    def close(self) -> None:
        """End it. Its messages so far are still to be read."""
        self._child.close()


class Crashes:
    """Files that may be the reason why a process crashed: each is then tried alone."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self.in_a_row = 0

    def crashed(self, run: ScanProcess) -> list[str]:
        """Note that `run` crashed. Returns the files that did it too often, and forgets them."""
        self.in_a_row += 1
        for path in run.in_work:
            before = 0 if run.progressed(path) else self._counts.get(path, 0)
            self._counts[path] = before + 1
        guilty = [path for path in run.in_work if self._counts[path] >= MAX_CRASHES]
        for path in guilty:
            del self._counts[path]
        return guilty

    def ended_well(self, run: ScanProcess) -> None:
        """Note that `run` ended normally: none of its files is to blame."""
        self.in_a_row = 0
        for path in run.tasks:
            self._counts.pop(path, None)

    def suspect(self, due: Iterable[str]) -> str | None:
        """A file among `due` that is to be tried alone, None when there is none."""
        return min((path for path in due if path in self._counts), default=None)
