"""One database: its verdict, nights, forecasts and proofs, evidence, passes, damage, its window."""

from collections.abc import Mapping, Sequence

from grafana_foundation_sdk.builders import statetimeline
from grafana_foundation_sdk.models import dashboard

from dashboards.advice import REASONS
from dashboards.board import Board, Row
from dashboards.fleet import ACTIONS, RANK, RANKS
from dashboards.links import runbook, to_board, to_computer_page, to_status_page
from dashboards.parts import (
    ALARM,
    BLUE,
    CHOSEN,
    COMPUTER,
    DATABASE,
    DAYS,
    GREEN,
    GREY,
    HOURS,
    NO_DATABASE,
    NO_WINDOW,
    ON_DATABASE,
    ORANGE,
    PURPLE,
    REFERENCES,
    SKY,
    VERMILION,
    Panel,
    Query,
    Words,
    computer_variable,
    config,
    database_variable,
    finish,
    instance_variable,
    limits,
    lines,
    mappings,
    states,
)
from dashboards.passes import damage, passes
from dashboards.tables import Column, rows
from dashboards.work import evidence

SERIES = "{{computer}} {{database}}"
NEVER = "Never verified, or no agent tells"
TO_STORAGE = to_board(
    "esewatch-storage", "Open its storage", {"computer": "computer", "database": "database"}
)
TO_DEVICES = to_board(
    "esewatch-storage", "Open its storage", {"computer": "computer"}, fields="__data.fields"
)


def coded(metric: str, label: str, values: Sequence[str]) -> str:
    """Which of `values` the state in `label` is, 0 being the first, which counts of several."""
    codes = [
        f'({metric}{{{DATABASE},{label}="{value}"}} == 1) * {code}'
        for code, value in enumerate(values)
    ]
    return f"min by ({ON_DATABASE}) ({' or '.join(codes)})"


def words(values: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Words and colours by the number that `coded` gives."""
    return {str(code): shown for code, shown in enumerate(values.values())}


ACTION = dict(
    zip(ACTIONS, zip(ACTIONS.values(), (SKY, PURPLE, BLUE, ORANGE, GREY), strict=True), strict=True)
)


def glance() -> list[Panel]:
    """What of it must be known at once?"""
    base = f"max by ({ON_DATABASE}) (ese_database_info{{{CHOSEN}}})"
    bad = f'sum by ({ON_DATABASE}) (ese_known_bad_pages{{{DATABASE},kind!="corrected"}})'
    fields = "__data.fields"

    def latest(metric: str) -> str:
        return f"max by ({ON_DATABASE}) ({metric}{{{DATABASE}}})"

    verified = latest("ese_last_full_verification_timestamp_seconds")
    return [
        rows(
            Words(
                "Verdict and key figures",
                "The verdict, the state of its pages, and its window; its page at the agent"
                " explains them in a sentence.",
                "short",
                NO_DATABASE,
            ),
            {"database": "Database", "computer": "Copy on"},
            [
                Column(
                    "Verdict",
                    f"{latest(RANK)} or on ({ON_DATABASE}) {base} * 0 - 1",
                    values={**RANKS, "-1": ("not judged", GREY)},
                ),
                Column(
                    "Known bad pages",
                    bad,
                    limit=ALARM,
                    empty="none",
                    links=[
                        runbook(alert, fields) for alert in ("EseKnownBadPage", "EseCorrectedPage")
                    ],
                ),
                Column(
                    "Verified ago",
                    f"time() - {verified}",
                    "dtdurations",
                    decimals=1,
                    empty="never",
                    links=[runbook("EseVerificationOverdue", fields)],
                ),
                Column(
                    "Deadline",
                    latest("ese_verification_deadline_seconds"),
                    "dtdurations",
                    decimals=1,
                    empty="not known",
                ),
                Column(
                    "Window",
                    latest("ese_window_configured_seconds"),
                    "dtdurations",
                    decimals=1,
                    empty="none",
                ),
                Column(
                    "Recommended",
                    latest("ese_window_recommended_seconds"),
                    "dtdurations",
                    decimals=1,
                ),
            ],
            hidden=("job", "instance"),
            links={
                "Database": [to_status_page(fields)],
                "Copy on": [to_computer_page(fields), TO_DEVICES],
            },
            widths={"Database": 300},
            height=6,
        ),
        finish(
            states({"1": ("found", ORANGE)}, span=24, height=5),
            Words(
                "Findings",
                "The findings of the database, for as long as they lasted.",
                "short",
                "No finding, or no agent reports the database",
            ),
            [Query(f"ese_finding{{{DATABASE}}} > 0", f"{{{{finding}}}} {SERIES}")],
            [
                to_status_page(),
                *map(runbook, ("EseVerificationOverdue", "EseVerificationAtRisk")),
                *map(runbook, ("EseScansCollide", "EseNoRestorableCopy")),
            ],
        ),
    ]


def nights() -> list[Panel]:
    """What ran when?"""

    def was(metric: str, more: str = "", selection: str = DATABASE) -> str:
        return f"max_over_time({metric}{{{selection}{more}}}[$__rate_interval])"

    scan = was("ese_pass_running", ',task=~"checksum|zeroing"')
    stopped = f"increase(ese_passes_interrupted_total{{{DATABASE}}}[$__rate_interval])"
    read = (
        was("esewatch_host_up", selection=COMPUTER),
        was("esewatch_host_caught_up", selection=COMPUTER),
    )
    timeline = {
        "Window": (was("ese_window_open") + " > 0", "window open", SKY),
        "Backup": (was("ese_backup_running") + " > 0", "backup", ORANGE),
        "Defragmentation": (
            was("ese_pass_running", ',task="defrag"') + " > 0",
            "defragmentation",
            BLUE,
        ),
        "Scan": (f"max by ({ON_DATABASE}) ({scan} > 0)", "scan", GREEN),
        "Interrupted": (
            f"group by ({ON_DATABASE}) ({stopped} > 0)",
            "interrupted",
            VERMILION,
        ),
        "Not read": (
            f"1 - max by (job, instance, computer) ({' * '.join(read)} == 0)",
            "not read",
            GREY,
        ),
    }
    panel = states({}, span=24, height=10)
    for reference, (_, shown, colour) in zip(REFERENCES, timeline.values(), strict=False):
        panel.override_by_query(reference, [config("mappings", mappings({"1": (shown, colour)}))])
    return [
        finish(
            panel,
            Words(
                "The nights",
                "When the window was open, when a backup, online defragmentation and the scan"
                " ran, when a pass was interrupted, and when nothing was read.",
                "short",
                NO_WINDOW,
            ),
            [
                Query(
                    expression,
                    f"{row} {SERIES}" if row != "Not read" else f"{row} {{{{computer}}}}",
                )
                for row, (expression, _, _) in timeline.items()
            ],
            [
                to_status_page(),
                runbook("EseMaintenanceStopsEarly"),
                runbook("EseScansCollide"),
            ],
        )
    ]


def proofs() -> list[Panel]:
    """Will it be done in time, and is every page good?"""
    forecast = "ese_pass_forecast_completion_timestamp_seconds"
    under_way = f"({forecast}{{{DATABASE}}} or ese_pass_progress_ratio{{{DATABASE}}})"
    series = f"{SERIES} {{{{task}}}}"
    return [
        finish(
            limits(lines(), "C"),
            Words(
                "Time left of the running pass",
                "Time until the pass is done, with a chance of 50 % and of 90 %, against its"
                " deadline.",
                DAYS,
                "No pass is running, or its duration is not known yet",
            ),
            [
                Query(f'{forecast}{{{DATABASE},confidence="p50"}} - time()', f"{series} 50 %"),
                Query(f'{forecast}{{{DATABASE},confidence="p90"}} - time()', f"{series} 90 %"),
                Query(
                    f"ese_pass_deadline_timestamp_seconds{{{DATABASE}}} - time()"
                    f" and on ({ON_DATABASE}, task) {under_way}",
                    f"{series} deadline",
                ),
            ],
            [runbook("EseVerificationAtRisk"), to_status_page()],
        ),
        finish(
            lines().min(0).max(1),
            Words(
                "Progress of the running pass",
                "Part of the running pass that is done.",
                "percentunit",
                "No pass is running, or its duration is not known yet",
            ),
            [Query(f"ese_pass_progress_ratio{{{DATABASE}}}", series)],
            [runbook("EseVerificationAtRisk"), to_status_page()],
        ),
        finish(
            limits(lines(span=24), "B"),
            Words(
                "Time since the last full verification",
                "Time since the last full verification by each kind of reader, against the"
                " deadline.",
                DAYS,
                NEVER,
            ),
            [
                Query(
                    f"time() - ese_last_full_verification_timestamp_seconds{{{DATABASE}}}",
                    f"{SERIES} {{{{by}}}}",
                ),
                Query(f"ese_verification_deadline_seconds{{{DATABASE}}}", f"{SERIES} deadline"),
            ],
            [
                runbook("EseVerificationOverdue"),
                TO_STORAGE,
            ],
        ),
    ]


def _in_words(panel: statetimeline.Panel) -> statetimeline.Panel:
    """Series that begin with the name of a reason begin with its words."""
    for reason, shown in REASONS.items():
        renamed = {"regex": f"^{reason} (.*)", "renamePattern": f"$1: {shown}"}
        panel.with_transformation(
            dashboard.DataTransformerConfig(id_val="renameByRegex", options=renamed)
        )
    return panel


def window() -> list[Panel]:
    """How long should its window be?"""
    changed = [
        runbook("EseWindowAdviceChanged"),
        to_status_page(),
    ]
    return [
        finish(
            limits(lines(span=24), "A"),
            Words(
                "Window: configured and recommended",
                "The configured and the recommended length of the maintenance window.",
                HOURS,
                NO_WINDOW,
            ),
            [
                Query(f"ese_window_configured_seconds{{{DATABASE}}}", f"{SERIES} configured"),
                Query(f"ese_window_recommended_seconds{{{DATABASE}}}", f"{SERIES} recommended"),
            ],
            changed,
        ),
        finish(
            states(words(ACTION), height=6),
            Words("Advice", "What to do with the window.", "short", NO_WINDOW),
            [Query(coded("ese_window_advice", "action", list(ACTION)), SERIES)],
            changed,
        ),
        finish(
            _in_words(states({"1": ("decided", BLUE)}, height=6)),
            Words("Reason of the advice", "What decided the advice.", "short", NO_WINDOW),
            [Query(f"ese_window_advice_reason{{{DATABASE}}} == 1", f"{{{{reason}}}} {SERIES}")],
            changed,
        ),
    ]


DATABASE_BOARD = Board(
    "esewatch-database",
    "ESE: a database",
    "One database: the state of its pages, its nights, forecasts, passes and its window.",
    (computer_variable(all_first=False), instance_variable(), database_variable()),
    (
        Row("At a glance", glance),
        Row("Nights", nights),
        Row("Forecast and verification", proofs),
        Row("Read:Freed and its evidence", evidence),
        Row("Passes", passes),
        Row("Damage and errors", damage),
        Row("Maintenance window", window, collapsed=True),
    ),
)
