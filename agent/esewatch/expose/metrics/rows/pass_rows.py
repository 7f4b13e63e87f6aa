"""The rows of passes, and the names of their origins."""

from collections.abc import Iterable

from esewatch.expose.metrics.rows.metric_row import D, counter, gauge
from esewatch.fold.instances.instances import STOP_EVENTS
from esewatch.fold.passes import completions, passes
from esewatch.fold.state.summaries import LIFETIME, UNINITIALIZED

TASK = (*D, "task")


def events_text(*tables: Iterable[int]) -> str:
    """`events 701, 703`, each once."""
    ids = sorted({event for table in tables for event in table})
    return f"event{'s' if len(ids) > 1 else ''} {', '.join(map(str, ids))}"


STARTS = f"{events_text(passes.OPENS)}, and {events_text(passes.RESUMES)} when no pass is open"
COMPLETIONS = events_text(passes.COMPLETES)
WALL_CLOCK = events_text(completions.WALL_CLOCK)
SCANS = {event: tasks for event, tasks in passes.COMPLETES.items() if "defrag" not in tasks}
SUMMARIES = f"the summaries of {events_text(SCANS)}"
WORK_CLOCK = events_text(passes.COMPLETES.keys() - completions.WALL_CLOCK)
STOPS = events_text(STOP_EVENTS, (passes.DETACH,))
WHOLE_PASS = events_text(SCANS.keys() - completions.WALL_CLOCK)

PASSES = (
    counter("ese_passes_started_total", TASK, "Passes that began.", STARTS),
    counter("ese_passes_completed_total", TASK, "Passes that ran to their end.", COMPLETIONS),
    counter(
        "ese_passes_interrupted_total",
        TASK,
        "Times a pass was stopped before its end, to go on later.",
        f"{events_text(passes.INTERRUPTS)}, and {STOPS} while a pass is open",
    ),
    counter(
        "ese_passes_failed_total",
        TASK,
        "Times a pass ended with an error.",
        events_text(passes.FAILS),
    ),
    gauge(
        "ese_pass_last_failure_timestamp_seconds",
        TASK,
        "Time of the latest error that ended a pass, until it is acknowledged.",
        events_text(passes.FAILS),
    ),
    gauge(
        "ese_pass_last_late_timestamp_seconds",
        TASK,
        "Time at which the engine last reported a pass as late or aborted.",
        events_text(passes.TOLD_LATE),
    ),
    gauge(
        "ese_pass_running",
        TASK,
        "1 while a pass is running, 0 otherwise and when it stopped reporting.",
        "the start, interruption and completion events of the task",
    ),
    gauge("ese_pass_last_start_timestamp_seconds", TASK, "Start of the latest pass.", STARTS),
    gauge(
        "ese_pass_last_completion_timestamp_seconds",
        TASK,
        "End of the latest completed pass.",
        COMPLETIONS,
    ),
    gauge(
        "ese_pass_last_work_seconds",
        TASK,
        "Run time of the latest completed pass, without its interruptions.",
        WORK_CLOCK,
    ),
    gauge(
        "ese_pass_last_wall_seconds",
        TASK,
        "Time from start to end of the latest completed pass, interruptions included.",
        WALL_CLOCK,
    ),
    gauge(
        "ese_pass_last_invocations",
        TASK,
        "Runs that the latest completed pass took.",
        WORK_CLOCK,
    ),
    gauge(
        "ese_pass_last_bad_checksums",
        TASK,
        "Pages with a bad checksum that the latest completed pass reported.",
        f"{WHOLE_PASS} (of the whole pass) and {WALL_CLOCK} (of the last run)",
    ),
    gauge(
        "ese_pass_last_uninitialized_pages",
        TASK,
        "Pages that were never used, by the newest summary that counts them.",
        events_text(UNINITIALIZED),
    ),
    counter("ese_pass_pages_seen_total", TASK, "Pages that completed passes read.", SUMMARIES),
    counter(
        "ese_pass_bad_checksums_total",
        TASK,
        "Bad checksums that completed passes reported.",
        SUMMARIES,
    ),
)

LIFETIMES = (
    gauge(
        "ese_defrag_lifetime_completions",
        D,
        "Completed passes of online defragmentation since the database was created, by the"
        " newest completion event.",
        events_text(LIFETIME),
    ),
    gauge(
        "ese_defrag_lifetime_seconds",
        D,
        "Age of online defragmentation of the database in whole days, by the newest completion"
        " event that has it (Exchange 2007).",
        events_text(LIFETIME),
    ),
)
"""Of a database as long as it is there."""
