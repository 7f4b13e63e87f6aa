"""Views of the passes of a database for the judgements."""

from collections.abc import Mapping, Sequence

import msgspec

from esewatch.fold.databases.integrity import (
    ScanCircumstances,
    last_streamed,
    last_verifications,
)
from esewatch.fold.instances.backups import Stretch
from esewatch.fold.passes.passes import TASKS, TaskSummary, TaskView
from esewatch.fold.state.acknowledgements import failure, up_to
from esewatch.fold.state.state import Database, Pass


def scans_of(views: Mapping[str, TaskView]) -> list[Pass]:
    """Passes of checksums. An open zeroing pass is the running scan: one scan does both."""
    scans, zeroing = passes_of(views["checksum"]), views["zeroing"].current
    if zeroing is None:
        return scans
    if not scans or scans[-1].ended is not None:
        return [*scans, msgspec.structs.replace(zeroing, task="checksum")]
    if (zeroing.started or 0.0) <= (scans[-1].started or 0.0):
        return scans
    return [*scans[:-1], msgspec.structs.replace(zeroing, task="checksum")]


def passes_of(view: TaskView) -> list[Pass]:
    return [*view.passes, view.current] if view.current else view.passes


def pages_of(entry: Database, views: Mapping[str, TaskView]) -> float | None:
    """The size in pages, else the pages that its last whole scan saw."""
    if entry.size_bytes is not None and entry.page_size:
        return entry.size_bytes / entry.page_size
    last = views["checksum"].last_completed
    return float(last.pages_seen) if last and last.pages_seen else None


def failed_tasks(views: Mapping[str, TaskSummary], of: Database) -> list[str]:
    """Tasks of a database that ended with an error and have not completed since, without
    acknowledged ones."""
    return [
        task
        for task in TASKS
        if (views[task].last_failed or 0.0)
        > max(_last_completion(views[task]), up_to(of, failure(task)))
    ]


def _last_completion(view: TaskSummary) -> float:
    last = view.last_completed
    return (last.ended or 0.0) if last is not None else 0.0


def verifications(
    entry: Database,
    views: Mapping[str, TaskView],
    around: ScanCircumstances,
    streamed: Sequence[Stretch],
) -> dict[str, float]:
    """By verifier, the last time when every page was proven good. `streamed` are the streaming
    backups that read every page."""
    verified = last_verifications(entry, views, around)
    if (last := last_streamed(entry, streamed, around)) is not None:
        verified["streaming_backup"] = max(last, verified.get("streaming_backup", 0.0))
    return verified
