"""Output of one computer of a run: event log, counter log, truth; its copies."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from eselab.base.clock import Clock
from eselab.base.programs import Program
from eselab.logs.binary.binary_counters import BinaryCounterLog
from eselab.logs.counter_log import CounterLog, Sample
from eselab.logs.event_log import EventLog
from eselab.logs.truth import Truth, TruthError
from eselab.machine.passive import PassiveCopy


class ComputerLogs:
    """The logs of one computer in `folder`, on which `program` runs."""

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        *,
        computer: str,
        program: Program,
        buffered: bool,
        binary: bool = False,
        evtx: int | None = None,
    ) -> None:
        """`buffered`: lines are held back until `flush`. `binary`: a binary counter log, too.
        `evtx`: an event log of Windows of so many bytes, too.

        Raises TruthError, OSError.
        """
        self.folder = folder
        self._binary = BinaryCounterLog(folder, computer=computer, program=program)
        self._has_binary = binary
        self.truth = Truth(folder, computer=computer, provider=program.provider, buffered=buffered)
        try:
            self.events = EventLog(
                folder,
                clock,
                computer=computer,
                program=program,
                buffered=buffered,
                truth=self.truth,
                evtx=evtx,
            )
            self.counters = CounterLog(
                folder, clock, computer=computer, program=program, buffered=buffered,
                truth=self.truth,
            )  # fmt: skip
        except (LookupError, TypeError, ValueError) as error:
            raise TruthError(
                f"{folder}: the last line of a log is not as it was written: {error}"
            ) from error

    @property
    def last_time(self) -> float:
        """Epoch seconds of the last line, 0 where there is none."""
        return max(self.events.last_time, self.counters.last_time)

    def sample(self, samples: Sequence[Sample]) -> None:
        self.counters.sample(samples)
        if self._has_binary:
            self._binary.sample(self.counters.last_time, samples)

    def flush(self) -> None:
        """Write the buffered part of the logs. Raises OSError."""
        self.events.flush()
        self.counters.flush()

    def close(self) -> None:
        """Finish the logs and the truth. Raises OSError."""
        self.events.close()
        self.counters.close()
        self._binary.close()
        self.truth.close()


class Standby:
    """A computer that has passive copies, by the names of their databases."""

    def __init__(self, logs: ComputerLogs, copies: Mapping[str, PassiveCopy]) -> None:
        self.logs = logs
        self.copies = copies

    def sample(self) -> None:
        self.logs.sample([copy.sample() for copy in self.copies.values()])

    def close(self) -> None:
        """Close the copies. Raises OSError, LogError."""
        for copy in self.copies.values():
            copy.close()
