"""The logs of an engine without its databases: random events and counters, and a clock by hand.

As a program: writes on in a folder until it is killed.
"""

import random
import sys
from pathlib import Path

import msgspec

from eselab.base.programs import PROGRAMS
from eselab.base.trouble import ERRORS, Operation, SlowRequest, Trouble
from eselab.disk.metered import Meter
from eselab.logs.counter_log import CounterLog, Sample
from eselab.logs.counters import Counters
from eselab.logs.event_log import EventLog
from eselab.logs.reports import DefragSummary, Reports, ScanSummary
from eselab.logs.truth import Truth

START = 1_182_000_000.25
COMPUTER = "LAB.example"
PROGRAM = PROGRAMS["exchange", "2007"]
PROCESS = PROGRAM.process
PAGE = 8192


class Hand:
    """A clock that is set by hand."""

    def __init__(self, time: float = START) -> None:
        self.time = time

    def now(self) -> float:
        return self.time

    def spend(self, seconds: float) -> None:
        self.time += seconds


class Logs:
    """The three files of one engine process with `instances`, in `folder`."""

    def __init__(
        self, folder: Path, *, time: float = START, buffered: bool = False, instances: int = 2
    ) -> None:
        self.clock = Hand(time)
        self.truth = Truth(folder, computer=COMPUTER, provider=PROGRAM.provider, buffered=buffered)
        self.events = EventLog(
            folder,
            self.clock,
            computer=COMPUTER,
            program=PROGRAM,
            buffered=buffered,
            truth=self.truth,
        )
        self.rows = CounterLog(
            folder,
            self.clock,
            computer=COMPUTER,
            program=PROGRAM,
            buffered=buffered,
            truth=self.truth,
        )
        self.names = [f"db{number}" for number in range(1, instances + 1)]
        self.reports = {
            name: Reports(
                self.events,
                self.clock,
                process=PROCESS,
                instance=name,
                database=path_of(folder, name),
                number=number,
            )
            for number, name in enumerate(self.names)
        }
        self.counters = {name: Counters() for name in self.names}
        self.meters = {name: Meter() for name in self.names}
        self.sampled = 0.0
        self.depth = 3
        self.generation = 10
        self.recovers = False

    def sample(self) -> None:
        self.sampled = self.clock.time
        self.rows.sample(
            [
                Sample(
                    instance=name,
                    counters=self.counters[name],
                    meter=self.meters[name],
                    cache_bytes=PAGE * 100,
                    checkpoint_depth=self.depth,
                    log_generation=self.generation,
                    recovers=self.recovers,
                )
                for name in self.names
            ]
        )

    def close(self) -> None:
        self.events.close()
        self.rows.close()
        self.truth.close()


def path_of(folder: Path, name: str) -> str:
    return str(folder / name / f"{name}.edb")


def summary_of_defrag(now: float, chance: random.Random) -> DefragSummary:
    return DefragSummary(
        pages_freed=chance.randrange(500),
        started=now - 1.5 * 86400,
        ended=now,
        seconds=chance.uniform(1, 9999),
        invocations=chance.randint(1, 9),
        completions=chance.randint(1, 99),
        first_started=now - 9.9 * 86400,
    )


def summary_of_scan(now: float, chance: random.Random) -> ScanSummary:
    return ScanSummary(
        started=now - 100,
        ended=now,
        seconds=chance.uniform(1, 9999),
        invocations=chance.randint(1, 9),
        pages_seen=chance.randrange(10**6),
        bad_checksums=chance.choice((0, 0, 0, 1, 7)),
        uninitialized=chance.randrange(100),
    )


def trouble(chance: random.Random) -> Trouble:
    number = chance.randint(1, 50)
    return Trouble(
        number=number,
        kind=chance.choice(list(ERRORS)),
        offset=(number + 1) * PAGE,
        bytes=PAGE,
        bit=chance.randrange(PAGE * 8),
        stored=(chance.getrandbits(64),),
        computed=(chance.getrandbits(64),),
        written_as=number + 1,
        expected_type=1,
    )


def slow_request(path: str, chance: random.Random) -> SlowRequest:
    operations: tuple[Operation, Operation] = ("read", "write")
    again = chance.random() < 0.5
    return SlowRequest(
        file=chance.choice((path, str(Path(path).parent / "E0000000A.log"))),
        operation=chance.choice(operations),
        offset=PAGE * chance.randrange(99),
        bytes=PAGE,
        seconds=chance.uniform(15, 99),
        others=chance.randrange(5) if again else None,
        since=60.5 if again else None,
    )


def complete_defrag(reports: Reports, now: float, chance: random.Random) -> None:
    resumed = chance.random() < 0.5
    if resumed:
        reports.defrag_resumed(now - 86400)
    else:
        reports.defrag_begun()
    reports.defrag_completed(summary_of_defrag(now, chance), resumed=resumed)


def fail_defrag(reports: Reports, chance: random.Random) -> None:
    """As the engine does: the bad page first, which the error of the pass is then."""
    bad = trouble(chance)
    reports.page_error(msgspec.structs.replace(bad, kind="checksum"))
    reports.defrag_failed(-1018)


def complete_scan(reports: Reports, now: float, chance: random.Random) -> None:
    if chance.random() < 0.5:
        reports.scan_begun()
    else:
        reports.scan_resumed(now - 86400)
    reports.scan_completed(summary_of_scan(now, chance))


def work(logs: Logs, chance: random.Random, *, stops: bool = True) -> None:
    """Some time passes, something is counted or reported, a row is written.

    Without `stops` no instance stops.
    """
    name = chance.choice(logs.names)
    reports, counters = logs.reports[name], logs.counters[name]
    logs.clock.time += chance.choice((0.0, 0.000_2, chance.uniform(0.1, 300)))
    now = logs.clock.time
    events = (
        reports.defrag_begun,
        lambda: reports.defrag_resumed(now - 86400),
        lambda: complete_defrag(reports, now, chance),
        reports.defrag_interrupted,
        lambda: fail_defrag(reports, chance),
        reports.scan_begun,
        lambda: reports.scan_resumed(now - 86400),
        lambda: complete_scan(reports, now, chance),
        reports.scan_interrupted,
        lambda: reports.scan_failed(-1022, 12.7),
        lambda: reports.page_error(trouble(chance)),
        lambda: reports.slow_request(slow_request(str(reports._database), chance)),
        lambda: reports.database_detached(0.3),
        reports.instance_stopped,
    )
    chance.choice(events if stops else events[:-1])()
    if chance.random() < 0.5:
        counters.defrag_pages_read += chance.randrange(1000)
        counters.defrag_pages_freed += chance.randrange(30)
        counters.defrag_pages_dirtied += chance.randrange(30)
        counters.defrag_log_bytes += chance.randrange(10**7)
        counters.scan_pages_read += chance.randrange(10**4)
        for figures in (logs.meters[name].database_reads, logs.meters[name].log_writes):
            figures.requests += chance.randrange(100)
            figures.seconds += chance.random()
        logs.depth = chance.randint(1, 9)
        logs.generation += chance.randrange(3)
    # Closer rows behind a long gap are the end of daylight saving time to the agent.
    if logs.clock.time - logs.sampled >= 1:
        logs.sample()


def begin(logs: Logs) -> None:
    """What a process does first: the baseline of the counters, and it opens its databases."""
    logs.sample()
    for reports in logs.reports.values():
        reports.instance_starting()
        reports.instance_started(0.2)
        reports.database_attached(0.4)


if __name__ == "__main__":
    RUN = int(sys.argv[2])
    LOGS = Logs(Path(sys.argv[1]), time=START + RUN * 20 * 86400)
    LOGS.generation += RUN * 100_000
    CHANCE = random.Random(RUN)
    print("opened", flush=True)
    begin(LOGS)
    while True:
        work(LOGS, CHANCE, stops=False)
