"""The rows of advice: window advice, findings, forecasts of passes."""

from esewatch.advice.base.finding import FINDINGS
from esewatch.advice.forecast.verdict import VERDICTS
from esewatch.advice.window.window import ACTIONS, REASONS
from esewatch.expose.metrics.rows.metric_row import D, gauge

TASK = (*D, "task")
EVIDENCE = "the kept passes, the counters by day and the policy"
HISTORY = "the past passes of the task and the hours it ran at"

ADVICE = (
    gauge(
        "ese_database_verdict",
        (*D, "verdict"),
        "1 for the verdict of the database, the others absent; verdict, worst first:"
        f" {', '.join(f'`{verdict}`' for verdict in VERDICTS)}.",
        "known bad pages, findings, failed tasks and the state of the sources",
    ),
    gauge(
        "ese_window_configured_seconds",
        D,
        "Length of the maintenance window.",
        "the configuration",
    ),
    gauge(
        "ese_window_recommended_seconds",
        D,
        "Recommended length of the maintenance window; absent when there is no recommendation.",
        EVIDENCE,
    ),
    gauge(
        "ese_window_advice",
        (*D, "action"),
        f"1 for the advised action on the window, 0 for the others; action: {', '.join(ACTIONS)}.",
        EVIDENCE,
    ),
    gauge(
        "ese_window_advice_reason",
        (*D, "reason"),
        f"1 for the rule that decided, the others absent; reason: {', '.join(REASONS)}.",
        EVIDENCE,
    ),
    gauge(
        "ese_window_advice_confidence_ratio",
        D,
        "Confidence of the advice, 0 to 1: depth of the evidence times agreement in 7 days.",
        EVIDENCE,
    ),
    gauge(
        "ese_finding",
        (*D, "finding"),
        f"1 for each finding of the database, else absent; finding: {', '.join(FINDINGS)}.",
        "known bad pages, verifications, past windows, scans of the same disks,"
        " errors and version buckets of the instance, events of other providers",
    ),
    gauge(
        "ese_verification_deadline_seconds",
        D,
        "Age at which the last verification is overdue, counted in uptime of the instance; absent"
        " where none is expected.",
        "the policy, else event 735 and the usual time between completed scans",
    ),
    gauge(
        "ese_pass_progress_ratio",
        TASK,
        "Part of the running pass that is done, 0 to 1.",
        HISTORY,
    ),
    gauge(
        "ese_pass_forecast_completion_timestamp_seconds",
        (*TASK, "confidence"),
        "Expected completion of the running pass, with 50 % (p50) and 90 % (p90) confidence.",
        HISTORY,
    ),
    gauge(
        "ese_pass_deadline_timestamp_seconds",
        TASK,
        "Time by which the pass should be completed.",
        "its start or the last completion, and the deadline of verification; defragmentation:"
        " defrag_complete_within, else the cycle of garbage collection",
    ),
)
