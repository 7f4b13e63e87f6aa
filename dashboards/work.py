"""What maintenance of a database brings, and what its engine does: requests, logs and space."""

from dashboards.alerted import drawn
from dashboards.board import Board, Row
from dashboards.links import runbook, to_board
from dashboards.parts import (
    CHOSEN,
    DATABASE,
    INSTANCE,
    NO_WINDOW,
    ON_DATABASE,
    ON_INSTANCE,
    Panel,
    Query,
    Words,
    bars,
    computer_variable,
    database_variable,
    finish,
    grown,
    instance_variable,
    limit,
    limits,
    lines,
    logarithmic,
)

SERIES = "{{computer}} {{database}}"
OF_INSTANCE = "{{computer}} {{ese_instance}}"
READ, FREED = (f"ese_defrag_pages_{each}_total{{{INSTANCE}}}" for each in ("read", "freed"))
NOT_SAMPLED = "Its counters are not sampled, or hidden"
NO_RATIO = f"{NO_WINDOW}; or the counters are hidden"
TO_STORAGE = to_board("esewatch-storage", "Open its storage", {"computer": "computer"})


WITH_WINDOW = ',model="window"'


def of_selected(expression: str, more: str = "") -> str:
    """Of instances those that have a selected database; `more` are matchers of it."""
    return f"{expression} and on ({ON_INSTANCE}) ese_database_info{{{CHOSEN}{more}}}"


def four_weeks(counter: str) -> str:
    """Its growth in 28 days, as a sum of days: of each the 24 hours before its midnight (UTC)."""
    return f"sum_over_time(increase({counter}[1d])[28d:1d])"


def with_window(expression: str) -> str:
    """Of databases those whose model has a window."""
    return f"{expression} and on ({ON_DATABASE}) ese_database_info{{{CHOSEN}{WITH_WINDOW}}}"


def evidence() -> list[Panel]:
    """Does online defragmentation earn its window, and is that certain?"""
    ratio = logarithmic(lines(span=24, height=10))
    read = of_selected(f"(({four_weeks(READ)} > 0) / {four_weeks(FREED)})", WITH_WINDOW)
    unsampled = f"increase(ese_unsampled_seconds_total{{{INSTANCE}}}[1d])"
    sampled = f"1 + 0 * increase({READ}[1d])"
    return [
        finish(
            limit(limit(ratio, "upper limit", fill_to="lower limit"), "lower limit"),
            Words(
                "Read:Freed",
                "Pages read for each page freed by online defragmentation in 28 days, as a ratio of"
                " sums: above the band the window may shrink, below it may grow, and 1000"
                " stands for 1000 and more or nothing freed at all.",
                "short",
                NO_RATIO,
            ),
            [
                Query(f"clamp_max({read}, 1000)", OF_INSTANCE),
                drawn("ratioHigh", f"increase({READ}[1d])", "upper limit"),
                drawn("ratioLow", f"increase({READ}[1d])", "lower limit"),
            ],
            [
                runbook("EseDefragRatioDrift"),
            ],
        ),
        finish(
            lines(span=24).min(0).max(1),
            Words(
                "Certainty",
                "The confidence of the advice on the window, and the part of the last 24 hours"
                " that the counters cover; the time since the last sample counts when the next one"
                " comes.",
                "percentunit",
                NO_RATIO,
            ),
            [
                Query(
                    with_window(f"ese_window_advice_confidence_ratio{{{DATABASE}}}"),
                    f"{SERIES} confidence",
                ),
                Query(
                    of_selected(f"(1 - clamp_max({unsampled} / 86400, 1) or {sampled})"),
                    f"{OF_INSTANCE} covered",
                ),
            ],
            [runbook("EsewatchUnreadableInput")],
        ),
    ]


def _pages() -> list[Panel]:
    pages = of_selected(four_weeks(READ), WITH_WINDOW)
    reported = f"increase(ese_defrag_reported_pages_freed_total{{{DATABASE}}}[1d])"
    zeroed = f"increase(ese_maintenance_pages_zeroed_total{{{INSTANCE}}}[1d])"
    ended = f'ese_pass_last_completion_timestamp_seconds{{{DATABASE},task="zeroing"}}'
    met = grown(
        f"ese_zeroing_pages_total{{{DATABASE}}}",
        "1d",
        f"on ({ON_DATABASE}) {ended} > time() - 86400",
    )
    return [
        finish(
            lines(),
            Words(
                "Pages read and freed in a day",
                "Pages that online defragmentation read and freed within the last 24 hours, and"
                " those that its events report as freed.",
                "short",
                NO_RATIO,
            ),
            [
                Query(of_selected(f"increase({READ}[1d])"), f"{OF_INSTANCE} read"),
                Query(of_selected(f"increase({FREED}[1d])"), f"{OF_INSTANCE} freed"),
                Query(reported, f"{SERIES} reported freed"),
            ],
            [runbook("EseDefragRatioDrift")],
        ),
        finish(
            limits(logarithmic(lines()), "B"),
            Words(
                "Pages read in 28 days",
                "The pages behind the ratio, against the number that must be there before it is"
                " judged.",
                "short",
                NO_RATIO,
            ),
            [
                Query(pages, OF_INSTANCE),
                drawn("minPagesRead", pages, "least"),
            ],
            [runbook("EseDefragRatioDrift")],
        ),
        finish(
            bars(),
            Words(
                "Pages zeroed in a day",
                "Pages that the scan zeroed within the last 24 hours by its counter, and the"
                " pages and records that zeroing handled by its events.",
                "short",
                "Zeroing is off, or neither its counters nor its events are there",
            ),
            [
                Query(of_selected(zeroed), f"{OF_INSTANCE} zeroed"),
                Query(met, f"{SERIES} {{{{kind}}}}"),
            ],
            [TO_STORAGE],
        ),
    ]


def _latencies() -> list[Panel]:
    series = f"{OF_INSTANCE} {{{{operation}}}} {{{{phase}}}}"
    return [
        finish(
            lines(),
            Words(
                "Database latency inside and outside the window",
                "Mean latency of requests to the database files while the window is open, and while"
                " it is closed or none is configured.",
                "s",
                NOT_SAMPLED,
            ),
            _inside_and_outside('file="database"', series),
            [runbook("EseLatencyHigh"), TO_STORAGE],
        ),
        finish(
            lines(),
            Words(
                "Log write latency inside and outside the window",
                "Mean latency of writes to the transaction logs while the window is open, and while"
                " it is closed or none is configured.",
                "s",
                NOT_SAMPLED,
            ),
            _inside_and_outside('file="log",operation="write"', OF_INSTANCE),
            [runbook("EseLatencyHigh"), TO_STORAGE],
        ),
    ]


def _inside_and_outside(which: str, series: str) -> list[Query]:
    latency = of_selected(f"ese_io_latency_seconds{{{INSTANCE},{which}}}")
    open_now = f"on ({ON_INSTANCE}) ese_instance:ese_window_open:max{{{INSTANCE}}} == 1"
    return [
        Query(f"{latency} and {open_now}", f"{series} inside"),
        Query(f"{latency} unless {open_now}", f"{series} outside"),
    ]


def _logs() -> list[Panel]:
    buckets = f"ese_version_buckets_allocated{{{INSTANCE}}}"
    depth = f"ese_checkpoint_depth_logs{{{INSTANCE}}}"
    target = f"{depth} / (ese_checkpoint_depth_target_ratio{{{INSTANCE}}} > 0)"
    return [
        finish(
            lines(),
            Words(
                "Logs in an hour",
                "Log files that are filled in an hour at the present rate.",
                "short",
                NOT_SAMPLED,
            ),
            [
                Query(
                    of_selected(
                        f"rate(ese_log_generations_total{{{INSTANCE}}}[$__rate_interval]) * 3600"
                    ),
                    OF_INSTANCE,
                )
            ],
            [runbook("EseLogDiskLow"), TO_STORAGE],
        ),
        finish(
            lines().min(0),
            Words(
                "Free space for logs",
                "Free bytes of the volume that its logs are on.",
                "bytes",
                "The volume of its logs is not known: set log_path",
            ),
            [Query(of_selected(f"ese_log_disk_free_bytes{{{INSTANCE}}}"), OF_INSTANCE)],
            [
                *map(runbook, ("EseLogDiskLow", "EseDiskFull")),
                runbook("EseLogSequenceHalted"),
                TO_STORAGE,
            ],
        ),
        finish(
            limits(lines(), "B"),
            Words(
                "Version buckets",
                "Buckets that the version store holds, against the limit that the site sets.",
                "short",
                NOT_SAMPLED,
            ),
            [Query(of_selected(buckets), OF_INSTANCE), drawn("versionBuckets", buckets, "limit")],
            [runbook("EseVersionBucketsHigh"), runbook("EseVersionStoreFull")],
        ),
        finish(
            limits(lines(), "B"),
            Words(
                "Checkpoint depth",
                "Log files between the checkpoint and the current log, against the target of the"
                " engine.",
                "short",
                NOT_SAMPLED,
            ),
            [
                Query(of_selected(depth), OF_INSTANCE),
                Query(of_selected(target), f"{OF_INSTANCE} target"),
            ],
            [runbook("EseCheckpointDeep"), TO_STORAGE],
        ),
    ]


def _space() -> list[Panel]:
    return [
        finish(
            lines(span=24).min(0),
            Words(
                "Size and white space",
                "Size of the database file, and the white space in it.",
                "bytes",
                "Its size is not known: a page scan, its header or event 1646 has it",
            ),
            [
                Query(f"ese_database_size_bytes{{{DATABASE}}}", f"{SERIES} size"),
                Query(f"ese_database_free_bytes{{{DATABASE}}}", f"{SERIES} white space"),
            ],
            [runbook("EseDatabaseFull")],
        )
    ]


ENGINE = Board(
    "esewatch-engine",
    "ESE: the engine of a database",
    "What maintenance of a database reads and frees, latency inside and outside of its window, logs"
    " and space.",
    (computer_variable(all_first=False), instance_variable(), database_variable()),
    (
        Row("Pages", _pages),
        Row("Latency", _latencies),
        Row("Logs and space", lambda: [*_logs(), *_space()]),
    ),
)
