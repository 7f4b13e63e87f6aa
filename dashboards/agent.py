"""The agents themselves: can what the other dashboards show be believed, and what does it cost?"""

from dashboards import coverage_gaps
from dashboards.board import Board, Row
from dashboards.links import runbook, to_computer_page
from dashboards.parts import (
    AGENT,
    ALARM,
    COMPUTER,
    COUNT,
    DAYS,
    GREEN,
    NO_SOURCE,
    ORANGE,
    VERMILION,
    WARNING,
    Panel,
    Query,
    Words,
    bars,
    computer_variable,
    finish,
    grown,
    lines,
    number,
    states,
)
from dashboards.tables import Column, rows

NO_AGENT = "No agent answers"
SOURCE = "{{instance}} {{source}}"
STATES = {
    "0": ("down", VERMILION),
    "1": ("behind", ORANGE),
    "2": ("read to its end", GREEN),
}
STATE = f"esewatch_source_up{{{AGENT}}} * (1 + esewatch_source_caught_up{{{AGENT}}})"
SILENCE = f"time() - esewatch_source_last_record_timestamp_seconds{{{AGENT}}}"
UNHEARD = f'time() - ese_computer_last_record_timestamp_seconds{{{AGENT},computer=~"$computer"}}'
BACKLOG = f"esewatch_source_backlog_bytes{{{AGENT}}}"
ON_SOURCE = "job, instance, source"
OURS = f"and on (job, instance) esewatch_build_info{{{AGENT}}}"
"""Metrics of Prometheus and of every process: those of our agents alone."""


def glance() -> list[Panel]:
    """Can the other dashboards be believed?"""
    known = coverage_gaps.KNOWN
    gone = (
        f"count by (job, instance) (up{{{AGENT}}} == 0 and on (job) {known})"
        f" or count by (job, instance) ({known} unless on (job, instance) up{{{AGENT}}})"
    )
    left_out = grown(f"esewatch_databases_dropped_total{{{AGENT}}}", "7d")
    return [
        finish(
            number(*ALARM, span=8),
            Words(
                "Agents gone",
                "Agents that do not answer, and those that were scraped within the last day and"
                " no longer are.",
                "short",
                NO_AGENT,
            ),
            [Query(f"count({gone}) or 0 * count({known})", "agents")],
            instant=True,
        ),
        finish(
            number(*ALARM, span=8),
            Words("Sources down", "Sources that cannot be read.", "short", NO_SOURCE),
            [
                Query(
                    f"count(esewatch_source_up{{{AGENT}}} == 0)"
                    f" or 0 * count(esewatch_source_up{{{AGENT}}})",
                    "sources",
                )
            ],
            instant=True,
        ),
        finish(
            number(*WARNING, span=8),
            Words(
                "Databases left out",
                "Databases, instances, devices, computers, channels and event ids that were left"
                " out within the last 7 days: more than max_databases, or a path that is too"
                " long.",
                "short",
                NO_AGENT,
            ),
            [Query(f"sum(clamp_min(round({left_out} > 0), 1)) or 0 * count({known})", "left out")],
            instant=True,
        ),
        rows(
            Words(
                "Missing data and its reasons",
                "The computers that the fleet counts as hosts with missing or stale data, each with"
                " the reason.",
                "short",
                "No data of a computer is known to be missing",
            ),
            {"computer": "Computer", "reason": "Why", "instance": "Agent"},
            [Column("Reasons", coverage_gaps.COMPUTERS, shown=False)],
            hidden=("job",),
            links={"Computer": [to_computer_page("__data.fields")]},
            height=7,
            span=12,
        ),
        rows(
            Words(
                "Missing data of unknown computers",
                "The sources and agents that it counts and whose computers are not known.",
                "short",
                "No such source or agent",
            ),
            {"source": "Source", "reason": "Why", "instance": "Agent"},
            [Column("Reasons", coverage_gaps.ELSEWHERE, shown=False)],
            hidden=("job",),
            height=7,
            span=12,
        ),
    ]


def sources() -> list[Panel]:
    """Are all sources read, and to their end?"""
    return [
        rows(
            Words("Sources now", "Every source of every agent.", "short", NO_SOURCE),
            {"source": "Source", "instance": "Agent"},
            [
                Column("State", f"2 - ({STATE})", values=_reversed(STATES)),
                Column("Last record ago", SILENCE, "dtdurations", decimals=1, empty="none yet"),
                Column("Not read yet", f"max by ({ON_SOURCE}) ({BACKLOG})", "bytes"),
                Column("Computers", f"max by ({ON_SOURCE}) (esewatch_source_computers{{{AGENT}}})"),
            ],
            hidden=("job",),
            height=9,
        ),
        finish(
            states(STATES),
            Words(
                "Sources over time",
                "Whether each source could be read, and was read to its end.",
                "short",
                NO_SOURCE,
            ),
            [Query(STATE, SOURCE)],
            [runbook("EsewatchRecordsMissed")],
        ),
        finish(
            lines(),
            Words(
                "Silence of computers",
                "Time since the last record of each computer with a database.",
                DAYS,
                "No record of a computer with a database is known",
            ),
            [Query(UNHEARD, "{{computer}}")],
            [runbook("EsewatchComputerSilent")],
        ),
        finish(
            lines(),
            Words(
                "Records read", "Records per second from each source.", "count:records/s", NO_SOURCE
            ),
            [Query(f"rate(esewatch_source_records_total{{{AGENT}}}[$__rate_interval])", SOURCE)],
        ),
    ]


def _reversed(values: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """The same for 2 - value: a table has the greatest first, which shall be the worst."""
    return {str(2 - int(value)): shown for value, shown in values.items()}


def gaps() -> list[Panel]:
    """Is anything missing from what was read?"""
    begin = f"esewatch_source_unrebuilt_from_timestamp_seconds{{{AGENT}}} * 1000"
    end = f"esewatch_source_unrebuilt_until_timestamp_seconds{{{AGENT}}} * 1000"

    def in_a_day(what: str) -> str:
        return grown(f"esewatch_source_{what}_total{{{AGENT}}}", "1d")

    return [
        finish(
            bars(),
            Words(
                "Lost in a day",
                "Records that were gone before they could be read, and pieces of input that could"
                " not be read, within 24 hours.",
                COUNT,
                NO_SOURCE,
            ),
            [
                Query(in_a_day("missed_records"), f"{SOURCE} missed"),
                Query(in_a_day("unreadable"), f"{SOURCE} unreadable"),
            ],
            [runbook("EsewatchRecordsMissed"), runbook("EsewatchUnreadableInput")],
        ),
        finish(
            bars(),
            Words(
                "Left out in a day",
                "Records that had been seen before, and records from a time more than a day in the"
                " future, within 24 hours.",
                COUNT,
                NO_SOURCE,
            ),
            [
                Query(in_a_day("duplicates"), f"{SOURCE} seen before"),
                Query(in_a_day("implausible_times"), f"{SOURCE} from the future"),
            ],
        ),
        rows(
            Words(
                "Hidden counters",
                "Counters that a computer does not show, so that some of its figures are missing.",
                "short",
                "No counter is known to be hidden",
            ),
            {"computer": "Computer", "name": "Counter", "instance": "Agent"},
            [Column("Hidden", f"esewatch_perf_object_present{{{COMPUTER}}} == 0", shown=False)],
            hidden=("job",),
            links={"Counter": [runbook("EsewatchUnreadableInput", "__data.fields")]},
            height=8,
            span=12,
        ),
        rows(
            Words(
                "Not rebuilt after the journal was damaged",
                "The time range for which the records of a source could not be read again.",
                "dateTimeAsIso",
                "Nothing is missing since a journal was damaged",
            ),
            {"source": "Source", "instance": "Agent"},
            [
                Column("Until", end, "dateTimeAsIso"),
                Column("From", begin, "dateTimeAsIso", empty="not known"),
            ],
            hidden=("job",),
            links={"Source": [runbook("EsewatchRecordsMissed", "__data.fields")]},
            height=8,
            span=12,
        ),
    ]


def journal() -> list[Panel]:
    """Is what was read kept, and is the configuration the one that is written?"""
    commits = f"rate(esewatch_journal_commit_duration_seconds_bucket{{{AGENT}}}[$__rate_interval])"

    def quantile(part: float) -> str:
        return f"histogram_quantile({part}, sum by (job, instance, le) ({commits}))"

    return [
        finish(
            lines(),
            Words(
                "Duration of commits",
                "The time that half of all commits of the journal take at most, and 99 of 100.",
                "s",
                "Nothing was committed",
            ),
            [
                Query(quantile(0.5), "{{instance}} 50 %"),
                Query(quantile(0.99), "{{instance}} 99 %"),
            ],
        ),
        finish(
            bars(),
            Words(
                "Failed commits in a day",
                "Commits that failed within 24 hours; nothing more is read until one succeeds.",
                COUNT,
                NO_AGENT,
            ),
            [
                Query(
                    f"increase(esewatch_journal_commit_failures_total{{{AGENT}}}[1d])",
                    "{{instance}}",
                )
            ],
        ),
        finish(
            states({"0": ("refused", VERMILION), "1": ("loaded", GREEN)}, height=8),
            Words(
                "Configuration",
                "Whether each agent loaded its configuration, and that of its web server, at the"
                " latest attempt.",
                "short",
                NO_AGENT,
            ),
            [
                Query(f"esewatch_config_last_reload_successful{{{AGENT}}}", "{{instance}}"),
                Query(f"esewatch_web_config_last_reload_successful{{{AGENT}}}", "{{instance}} web"),
            ],
        ),
    ]


def cost() -> list[Panel]:
    """What do the agents cost?"""
    each = "{{instance}}"
    cpu = f"rate(process_cpu_seconds_total{{{AGENT}}}[$__rate_interval]) {OURS}"
    return [
        finish(
            lines(),
            Words(
                "Processor time", "Seconds of processor time per second.", "percentunit", NO_AGENT
            ),
            [Query(cpu, each)],
        ),
        finish(
            lines(),
            Words("Memory", "Resident memory of each agent.", "bytes", NO_AGENT),
            [Query(f"process_resident_memory_bytes{{{AGENT}}} {OURS}", each)],
        ),
        finish(
            lines(),
            Words(
                "Duration of scrapes", "How long Prometheus waited for the answer.", "s", NO_AGENT
            ),
            [Query(f"scrape_duration_seconds{{{AGENT}}} {OURS}", each)],
            [runbook("EsewatchDown")],
        ),
        rows(
            Words(
                "Versions",
                "The version of each agent, its start, and the kernel that verifies the"
                " checksums of pages.",
                "short",
                NO_AGENT,
            ),
            {
                "instance": "Agent",
                "version": "esewatch",
                "kernel": "Checksums by",
                "python_version": "Python",
            },
            [
                Column(
                    "Running since",
                    "max by (job, instance, version, kernel, python_version)"
                    f" (esewatch_build_info{{{AGENT}}} * on (job, instance) group_left ()"
                    f" process_start_time_seconds{{{AGENT}}}) * 1000",
                    "dateTimeAsIso",
                )
            ],
            hidden=("job",),
            widths={"Running since": 170},
            height=9,
            span=12,
        ),
    ]


AGENT_BOARD = Board(
    "esewatch-agent",
    "ESE: the agents",
    "Sources, gaps, hidden counters, journal and cost of the agents of esewatch.",
    (computer_variable(),),
    (
        Row("Can the data be trusted?", glance),
        Row("Sources", sources),
        Row("What is missing", gaps),
        Row("Journal and configuration", journal),
        Row("Cost", cost),
    ),
    since="now-2d",
)
