"""A verdict as text and as a JSON object."""

from collections.abc import Iterator
from typing import Any

from esewatch.cli.check.deep import Beyond, beyond_lines, beyond_object
from esewatch.cli.scan.scan_text import json_object, text_lines
from esewatch.names import printable, visible
from esewatch.scan.recovery.log_folder import CheckpointFile, LogSeries
from esewatch.scan.recovery.log_verification import CheckedLogs
from esewatch.scan.results import FileResult, Verdict

_WORDS = {
    "restorable": "RESTORABLE: it mounts as it is.",
    "replay_needed": "RESTORABLE: it mounts after a replay of its logs, which are all here.",
    "loss": "LOSS: it mounts only without its last logs.",
    "backup_set": "BACKUP SET: it mounts only after a restore from its backup set.",
    "not_restorable": "NOT RESTORABLE.",
    "unknown": "UNKNOWN: whether it mounts cannot be said, or should not be relied on.",
}


def check_object(
    result: FileResult, verdict: Verdict, logs: CheckedLogs, beyond: Beyond, limit: int
) -> dict[str, Any]:
    """The object of `check --format json`, with at most `limit` bad pages."""
    pages = json_object(result, limit)
    required = verdict.required
    found: dict[str, Any] = {
        "path": pages["path"],
        "verdict": verdict.outcome,
        "reasons": [printable(reason) for reason in verdict.reasons],
        "state": pages["state"],
        "required_logs": {
            "first": required.first,
            "last": required.last,
            "committed": required.committed,
            "missing": required.missing,
            "bad": required.bad,
        },
        "pages": pages,
        **beyond_object(beyond),
        "complete": result.ended == "complete",
    }
    if logs.series is not None:
        found["log_folder"] = printable(logs.series.folder)
        found["checkpoint"] = _checkpoint(logs.series.checkpoint)
        found["same_logs"] = [printable(path) for path in others_on_these_logs(result, logs)]
    return found


def _checkpoint(file: CheckpointFile | None) -> dict[str, Any] | None:
    if file is None:
        return None
    content = file.content
    if content is None:
        return {"path": printable(file.path), "readable": False, "reason": printable(file.reason)}
    found: dict[str, Any] = {"path": printable(file.path), "readable": True}
    if content.position is not None:
        found["log"] = content.position.generation
    return found


def check_lines(
    result: FileResult, verdict: Verdict, logs: CheckedLogs, beyond: Beyond, limit: int
) -> Iterator[str]:
    """Lines about one database, with at most `limit` lines of bad pages."""
    yield from text_lines(result, limit)
    if logs.series is not None:
        yield from _log_lines(logs.series, logs)
        for path in others_on_these_logs(result, logs):
            yield f"  note: {visible(path)} has its changes in the same logs"
    yield from beyond_lines(beyond)
    for reason in verdict.reasons:
        yield f"  {visible(reason)}"
    yield f"  {_WORDS[verdict.outcome]}"


def _log_lines(series: LogSeries, logs: CheckedLogs) -> Iterator[str]:
    names, checks = list(series.logs), logs.checks.values()
    unread = sum(not log.is_read for log in checks)
    yield (
        f"  logs {names[0]} to {names[-1]} in {visible(series.folder)}:"
        f" {len(checks) - unread:,} read, {sum(bool(log.fault) for log in checks):,} bad"
        + (f", {unread:,} not read" if unread else "")
    )
    checkpoint = series.checkpoint
    if checkpoint is not None and checkpoint.content is None and checkpoint.is_read:
        yield f"  note: the checkpoint is not used: {visible(checkpoint.reason)}"


def others_on_these_logs(result: FileResult, logs: CheckedLogs) -> list[str]:
    """Paths, as their server knew them, of other databases that were attached to these logs."""
    ours = result.header.signature if result.header else None
    found: dict[str, None] = {}
    for log in logs.series.logs.values() if logs.series else ():
        for attached in log.header.attachments if log.header else ():
            if attached.signature != ours:
                found[attached.path] = None
    return list(found)
