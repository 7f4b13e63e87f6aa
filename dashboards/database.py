"""One database: a sentence, nights, forecasts and proofs, evidence, work, passes, its window."""

from collections.abc import Mapping, Sequence

from grafana_foundation_sdk.models import common

from dashboards.board import Board, Row
from dashboards.fleet import ACTIONS, VERDICTS
from dashboards.links import runbook, to_board, to_device, to_status_page
from dashboards.parts import (
    ALARM,
    BLUE,
    DATABASE,
    GREEN,
    GREY,
    NO_DATABASE,
    NO_WINDOW,
    ON_DATABASE,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    YELLOW,
    Panel,
    Query,
    Words,
    computer_variable,
    config,
    database_variable,
    finish,
    instance_variable,
    label,
    limits,
    lines,
    mappings,
    number,
    states,
)
from dashboards.parts import sentence as sentences
from dashboards.passes import damage, passes
from dashboards.sentence import BASE, REASONS, sentence
from dashboards.work import evidence, work

SERIES = "{{computer}} {{database}}"
NEVER = "Never verified, or no agent tells"
TO_STORAGE = to_board(
    "esewatch-storage", "Open its storage", {"computer": "computer", "database": "database"}
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


VERDICT = {name: (shown, colour) for name, (_, shown, colour) in VERDICTS.items() if name != "none"}
ACTION = dict(
    zip(ACTIONS, zip(ACTIONS.values(), (SKY, PURPLE, BLUE, ORANGE, GREY), strict=True), strict=True)
)
REASON_COLOURS = {
    "bad_pages": VERMILION,
    "late": PURPLE,
    "ratio_low": PURPLE,
    "backup": ORANGE,
    "ratio_high": SKY,
    "completes_often": SKY,
    "evidence": GREY,
    "no_ratio": GREY,
    "quiet": YELLOW,
}
REASON = {name: (shown, REASON_COLOURS.get(name, BLUE)) for name, shown in REASONS.items()}


def glance() -> list[Panel]:
    """What of it must be known at once?"""
    place = f'label_join({sentence().expression}, "place", " ", "computer", "database")'
    bad = f'sum by ({ON_DATABASE}) (ese_known_bad_pages{{{DATABASE},kind!="corrected"}})'
    verified = f"ese_last_full_verification_timestamp_seconds{{{DATABASE}}}"
    fields = "__data.fields"
    return [
        finish(
            sentences("sentence"),
            Words(
                "In one sentence",
                "Whether its pages are good, who says so, and what of its window.",
                "string",
                NO_DATABASE,
            ),
            [Query(f'label_join({place}, "sentence", ": ", "place", "sentence")', "{{sentence}}")],
            [
                to_status_page(fields),
                *(runbook(alert, fields) for alert in ("EseKnownBadPage", "EseNeverVerified")),
            ],
            instant=True,
            as_table=True,
        ),
        finish(
            # Yellow letters on white could not be read.
            number((None, GREY))
            .color_mode(common.BigValueColorMode.BACKGROUND_SOLID)
            .mappings(mappings(words(VERDICT))),
            Words("Verdict", "The worst that holds of it.", "short", "Not judged: not watched"),
            [Query(coded("ese_database_verdict", "verdict", list(VERDICT)), SERIES)],
            [to_status_page()],
            instant=True,
        ),
        finish(
            number(*ALARM),
            Words(
                "Known bad pages",
                "Pages that are known to be bad and that nothing has proven good since, those that"
                " the engine corrected left out.",
                "short",
                NO_DATABASE,
            ),
            [Query(f"{bad} or on ({ON_DATABASE}) 0 * {BASE}", SERIES)],
            [
                *map(runbook, ("EseKnownBadPage", "EseCorrectedPage")),
                to_status_page(),
            ],
            instant=True,
        ),
        finish(
            number((None, BLUE)),
            Words(
                "Verified ago",
                "Time since every page was last read and found good, by whatever verifier.",
                "dtdurations",
                NEVER,
            ),
            [Query(f"time() - max by ({ON_DATABASE}) ({verified})", SERIES)],
            [runbook("EseVerificationOverdue"), runbook("EseNeverVerified"), to_status_page()],
            instant=True,
        ),
        finish(
            label("device"),
            Words("Device", "The disks that it lies on.", "string", "Its device is not known"),
            [Query(f"ese_database_device_info{{{DATABASE}}}", "{{device}}")],
            [to_device(fields)],
            instant=True,
            as_table=True,
        ),
        finish(
            states({"1": ("to be looked into", ORANGE)}, span=24, height=5),
            Words(
                "To be looked into",
                "What a person should look into, while it lasted.",
                "short",
                "Nothing to look into",
            ),
            [Query(f"ese_finding{{{DATABASE}}}", f"{{{{finding}}}} {SERIES}")],
            [
                to_status_page(),
                *map(runbook, ("EseOnlyOneCopyVerified", "EseVerificationAtRisk")),
                runbook("EseScansCollide"),
            ],
        ),
    ]


def nights() -> list[Panel]:
    """What ran when?"""
    scan = f'ese_pass_running{{{DATABASE},task=~"checksum|zeroing"}}'
    stopped = f"increase(ese_passes_interrupted_total{{{DATABASE}}}[$__rate_interval])"
    rows = {
        "Window": (f"max_over_time(ese_window_open{{{DATABASE}}}[$__rate_interval])", SKY),
        "Backup": (f"max_over_time(ese_backup_running{{{DATABASE}}}[$__rate_interval])", ORANGE),
        "Defragmentation": (
            f'max_over_time(ese_pass_running{{{DATABASE},task="defrag"}}[$__rate_interval])',
            BLUE,
        ),
        "Scan": (f"max by ({ON_DATABASE}) (max_over_time({scan}[$__rate_interval]))", GREEN),
        "Interrupted": (f"sum by ({ON_DATABASE}) ({stopped}) > bool 0", VERMILION),
    }
    panel = states({}, span=24, height=10)
    for reference, (row, (_, colour)) in zip("ABCDE", rows.items(), strict=True):
        # What is not there has one word: each word is one of the legend.
        on = "window open" if row == "Window" else row.lower()
        shown = mappings({"0": ("none", GREY), "1": (on, colour)})
        panel.override_by_query(reference, [config("mappings", shown)])
    return [
        finish(
            panel,
            Words(
                "The nights",
                "When the window was open, a backup, online defragmentation and the scan ran, and"
                " a pass was interrupted.",
                "short",
                NO_WINDOW,
            ),
            [Query(expression, f"{row} {SERIES}") for row, (expression, _) in rows.items()],
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
    series = f"{SERIES} {{{{task}}}}"
    return [
        finish(
            limits(lines(), "C"),
            Words(
                "Time left of the running pass",
                "Time until the pass is done, with a chance of 50 % and of 90 %, against its"
                " deadline.",
                "s",
                "No pass is running, or nothing tells yet how long it takes",
            ),
            [
                Query(f'{forecast}{{{DATABASE},confidence="p50"}} - time()', f"{series} 50 %"),
                Query(f'{forecast}{{{DATABASE},confidence="p90"}} - time()', f"{series} 90 %"),
                Query(
                    f"ese_pass_deadline_timestamp_seconds{{{DATABASE}}} - time()",
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
                "No pass is running, or nothing tells yet how long it takes",
            ),
            [Query(f"ese_pass_progress_ratio{{{DATABASE}}}", series)],
            [runbook("EseVerificationAtRisk"), to_status_page()],
        ),
        finish(
            limits(lines(span=24), "B"),
            Words(
                "Time since the last full verification",
                "Time since every page was read and found good, by who read it, against the"
                " deadline.",
                "s",
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
                runbook("EseNeverVerified"),
                runbook("EseOnlyOneCopyVerified"),
                TO_STORAGE,
            ],
        ),
    ]


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
                "How long the maintenance window is, and how long it should be.",
                "s",
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
            states(words(REASON), height=6),
            Words("Reason of the advice", "What decided the advice.", "short", NO_WINDOW),
            [Query(coded("ese_window_advice_reason", "reason", list(REASON)), SERIES)],
            changed,
        ),
    ]


DATABASE_BOARD = Board(
    "esewatch-database",
    "ESE: a database",
    "One database: what is known of its pages, its nights, its forecasts, its work and its window.",
    (computer_variable(), instance_variable(), database_variable()),
    (
        Row("At a glance", glance),
        Row("Nights", nights),
        Row("Forecast and verification", proofs),
        Row("Read:Freed and its evidence", evidence),
        Row("Work, latency and space", work),
        Row("Passes", passes),
        Row("Damage and errors", damage),
        Row("Maintenance window", window, collapsed=True),
    ),
)
