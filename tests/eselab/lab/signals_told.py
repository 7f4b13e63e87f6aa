"""The sides of the experiments that run no engine of their own, as computers that an agent watches.

What an experiment finds or plans is put into files and pages as other programs write them. Where
its own figures are not those of the side, it is said here and in the case.
"""

from collections.abc import Iterator
from pathlib import Path

from eselab.lab import readings
from eselab.lab.bench import Bench
from eselab.lab.experiments import checksum_parallel, scan_kindness
from eselab.lab.frame import Findings
from esewatch.config import DatabaseRule
from tests.eselab.lab import signals_records as made
from tests.eselab.lab.signals_sides import BEGIN, STEP, Side, watched
from tests.rules.quality.month import DAY, HOUR, Month

SCRAPED = 60
"""Seconds between two samples where a rule looks at the rates of five minutes."""
CHECK_HOUR, LOOKED = 1.0, 6.0
"""Of a night: when a check begins, and until when the disks are observed."""
BESIDE = (10.0, 14.0)
"""From and to, hours of a day, in which the case goes on."""


def kindnesses(folder: Path) -> Iterator[Side]:
    """The reads of users of each case and their mean latency, for four hours of a day."""
    findings = scan_kindness.run(Bench(folder / "disks", 1, lambda: None), seconds=2.0)
    opened = folder / "opened"
    made.ran(opened, checksum_parallel.plan(["lun7"], 100), BEGIN, 1.0 / DAY)
    header = [
        made.rows(opened)[0][0],
        *(
            rf"\\lab\MSExchange Database ==> Instances(Information Store/priv1)\{counter}"
            for counter in (readings.DATABASE_READS, readings.DATABASE_READ_LATENCY)
        ),
    ]
    for number, signal in enumerate(scan_kindness.EXPERIMENT.signals):
        computer = f"users{number}"
        cells = [
            repr(_ours(findings, what, signal.case))
            for what in ("users' reads", "users' read latency")
        ]
        begin, end = (BEGIN + DAY + hour * HOUR for hour in BESIDE)
        rows = [header, *made.repeated([["", *cells]], begin, end, STEP)]
        found = made.opening(opened) + made.counted(folder / f"{computer}.csv", rows)
        rule = DatabaseRule(match="*.edb", window="nightly")
        month = made.of_store(found, {"priv1": f"{computer}-db"}, computer)
        yield Side(
            scan_kindness.EXPERIMENT.name,
            signal.case,
            [Month(computer, signal.case, month, watched([rule]))],
        )


def _ours(findings: Findings, quantity: str, case: str) -> float:
    (found,) = (row.ours for row in findings.rows if (row.quantity, row.case) == (quantity, case))
    assert isinstance(found, float)
    return found
