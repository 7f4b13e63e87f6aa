"""What `advise` says of instances whose backups are known and no database."""

from collections.abc import Iterable, Iterator
from typing import Any

from esewatch.advice.findings import moment, span
from esewatch.advice.lone_instances import LoneInstance
from esewatch.expose.words import iso_time, tidy
from esewatch.fold.backup_jobs import BackupSet
from esewatch.names import visible

REASON = "No event names a database of this instance: only its backups are known."
LATEST = 5
"""So many sets of an instance are shown to people."""


def instance_lines(lone: Iterable[LoneInstance]) -> Iterator[str]:
    """Lines for people: each instance with its latest sets, and what is found."""
    for number, each in enumerate(lone):
        if number:
            yield ""
        yield visible(f"{each.ese_instance} ({each.computer})")
        yield f"  {REASON}"
        for found in each.findings:
            yield visible(f"  ! {found.finding}: {found.sentence}.")
        for done in each.sets[-LATEST:]:
            yield f"  {moment(done.started)}: {_figures(done)}"


def instance_object(lone: LoneInstance) -> dict[str, Any]:
    """The JSON object of an instance; `backup_sets` has the kept ones, oldest first."""
    return {
        "computer": tidy(lone.computer),
        "ese_instance": tidy(lone.ese_instance),
        "action": "insufficient_evidence",
        "confidence": 0.0,
        "reasons": [REASON],
        "findings": [
            {"finding": each.finding, "sentence": tidy(each.sentence)} for each in lone.findings
        ],
        "backup_sets": [_set(done) for done in lone.sets],
    }


def _set(done: BackupSet) -> dict[str, Any]:
    found = {
        "kind": done.kind,
        "started": iso_time(done.started),
        "seconds": done.seconds,
        "bytes": round(done.bytes),
        "bytes_per_second": round(done.bytes / done.seconds) if done.seconds > 0 else None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _figures(done: BackupSet) -> str:
    rate = f", {done.bytes / done.seconds / 1e6:,.1f} MB/s" if done.seconds > 0 else ""
    logs = " of log files" if done.kind == "ntbackup_logs" else ""
    return f"{done.bytes / 1e9:,.1f} GB{logs} in {span(done.seconds)}{rate}"
