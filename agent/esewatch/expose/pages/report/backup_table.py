"""The backup sets of a report: the rate of each, and the jobs that slow down."""

from collections.abc import Iterable, Iterator

import msgspec

from esewatch.advice.base.finding import FindingName
from esewatch.advice.findings.lone_instances import LoneInstance
from esewatch.expose.formatting import tidy
from esewatch.fold.instances.backups import streamed
from esewatch.fold.state.backup_jobs import BackupSet
from esewatch.fold.state.state import State

SLOW: FindingName = "backup_slows"
MAX_SETS = 60
"""Of one computer; older ones are not shown."""
KINDS = {
    "ntbackup": "NTBACKUP",
    "ntbackup_logs": "NTBACKUP, log files only",
    "full": "streaming backup",
}


class SetRow(msgspec.Struct, frozen=True, kw_only=True):
    """One set: an instance (storage group) as one job copied it."""

    computer: str
    ese_instance: str
    kind: str
    started: float
    seconds: float
    bytes: float
    rate: float | None
    """Bytes a second; None for a set that took no time."""


class BackupTable(msgspec.Struct, frozen=True, kw_only=True):
    """All backup sets that are shown."""

    rows: tuple[SetRow, ...] = ()
    """By computer, newest first."""
    more: int = 0
    """Older sets that are not shown."""
    slow: tuple[tuple[str, str], ...] = ()
    """(computer, sentence) of slow jobs without a known database to report it for."""


def backup_table(state: State, lone: Iterable[LoneInstance]) -> BackupTable:
    """The sets of all computers; `lone` are the instances without a database."""
    rows: list[SetRow] = []
    more = 0
    for computer in sorted(state.hosts):
        found = sorted(_sets(state, computer), key=lambda row: (row.started, row.ese_instance))
        more += max(0, len(found) - MAX_SETS)
        rows += found[: -MAX_SETS - 1 : -1]
    slow = {
        (tidy(each.computer), tidy(told.sentence))
        for each in lone
        for told in each.findings
        if told.finding == SLOW
    }
    return BackupTable(rows=tuple(rows), more=more, slow=tuple(sorted(slow)))


def _sets(state: State, computer: str) -> Iterator[SetRow]:
    """Sets from logs, and sets from events at times that no log covers."""
    logged = state.hosts[computer].backup_sets
    for (owner, name), instance in state.instances.items():
        if owner != computer:
            continue
        own = [each for each in logged if each.ese_instance == name]
        told = [each for each in streamed(instance) if not any(_meet(each, log) for log in own)]
        for each in (*own, *told):
            yield _row(computer, instance.ese_instance, each)


def _meet(one: BackupSet, other: BackupSet) -> bool:
    return one.started < other.ended and other.started < one.ended


def _row(computer: str, name: str, each: BackupSet) -> SetRow:
    return SetRow(
        computer=tidy(computer),
        ese_instance=tidy(name),
        kind=KINDS.get(each.kind, each.kind),
        started=each.started,
        seconds=each.seconds,
        bytes=each.bytes,
        rate=each.bytes / each.seconds if each.seconds > 0 else None,
    )
