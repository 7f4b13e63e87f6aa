"""All databases: four numbers, one table by urgency, what became of it over time, windows last."""

from grafana_foundation_sdk.builders import common as common_builder
from grafana_foundation_sdk.builders import dashboard as builder
from grafana_foundation_sdk.builders import timeseries
from grafana_foundation_sdk.models import common, dashboard

from dashboards import coverage_gaps
from dashboards.advice import REASONS
from dashboards.board import Annotation, Board, Row
from dashboards.links import Link, to_board, to_computer_page, to_database, to_status_page
from dashboards.parts import (
    AGENT,
    ALARM,
    COMPUTER,
    COUNT,
    GREEN,
    GREY,
    NO_DATABASE,
    NO_WINDOW,
    NOT_JUDGED,
    NOT_VERIFIED,
    ON_COPY,
    ON_DATABASE,
    ORANGE,
    POINTS,
    PURPLE,
    SKY,
    VERMILION,
    WARNING,
    YELLOW,
    Panel,
    Query,
    Words,
    computer_variable,
    config,
    finish,
    lines,
    number,
)
from dashboards.tables import Column, rows
from esewatch.advice.judgement import TEXTS, Verdict
from esewatch.expose.pages.overview import TILES

_COLOURS = (VERMILION, ORANGE, PURPLE, YELLOW, SKY, GREY, GREEN)
VERDICTS = {
    verdict: (len(TEXTS) - 1 - number, text.words, _COLOURS[number])
    for number, (verdict, text) in enumerate(TEXTS.items())
} | {"none": (-1, "not judged yet", GREY)}
"""Verdict -> rank, words, colour."""
ACTIONS = {
    "shrink": "make it shorter",
    "grow": "make it longer",
    "keep": "keep it",
    "move": "move it or the backup",
    "insufficient_evidence": "wait for evidence",
}
LISTED = 100
"""Rows of a table: nobody reads more, and each is paid for each minute."""
RANK = "database:ese_database_verdict:rank"
GONE = f"database:ese_database_info:gone{{{COMPUTER}}}"
"""Databases that no agent reports any more."""
BY_URGENCY = f'topk({LISTED}, {RANK}{{{COMPUTER},verdict=~"$verdict"}})'
"""A series for each database of the table: the most urgent ones."""


SEVERITIES = {3: ("critical", VERMILION), 2: ("warning", ORANGE), 1: ("info", SKY)}
RANKS = {str(rank): (words, colour) for rank, words, colour in VERDICTS.values()}
"""Rank -> words and colour."""


def verdict_variable() -> builder.CustomVariable:
    """Which databases the table lists; the numbers lead to it."""
    named = [f"{words} : {verdict}" for verdict, (_, words, _) in VERDICTS.items()]
    everything = dashboard.VariableOption(text="All", value="$__all", selected=True)
    return (
        builder.CustomVariable("verdict")
        .label("Verdict")
        .values(", ".join(named))
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(everything)
    )


def listing(worst: str) -> Link:
    """To the table of this dashboard, down to the verdict `worst`: a worse one hides it."""
    shown = list(VERDICTS)[: list(VERDICTS).index(worst) + 1]
    kept = "".join(f"&${{{name}:queryparam}}" for name in ("job", "instance", "computer"))
    chosen = "".join(f"&var-verdict={verdict}" for verdict in shown)
    return Link(
        "List them",
        f"/d/esewatch-fleet?${{__url_time_range}}&var-datasource=${{datasource}}{kept}{chosen}",
    )


def tile(verdict: Verdict) -> str:
    """Title of a number: the words of the status page."""
    return TILES[verdict][1].capitalize()


def numbers() -> list[Panel]:
    """Is anything wrong?"""

    def zero(blank: str) -> str:
        """None where all are `blank`."""
        return f'0 * count({RANK}{{{COMPUTER},verdict!~"{blank}"}})'

    heard, proven = zero("blind|none"), zero("blind|none|unproven")

    def found(finding: str, judged: str) -> str:
        told = f'ese_finding{{{COMPUTER},finding=~"{finding}"}}'
        # What stands is stated with 1, what is over with 0.
        gone = f"last_over_time({told}[1d:10m]) > 0 and on ({ON_COPY}) {GONE}"
        return f"count(count by ({ON_COPY}) ({told} > 0 or {gone})) or {judged}"

    return [
        finish(
            number(*ALARM),
            Words(
                tile("bad_pages"),
                "Copies of databases of any application with a known bad page that was not"
                " corrected, or with damage: they differ from the other copies or are logically"
                " corrupt.",
                "short",
                NOT_VERIFIED,
            ),
            [Query(f'count({RANK}{{{COMPUTER},verdict="bad_pages"}}) or {proven}', "copies")],
            [listing("bad_pages")],
            instant=True,
        ),
        finish(
            number(*WARNING),
            Words(
                tile("unverified"),
                "Copies that were not verified within their deadline, or never although one is"
                " required; for a day also those whose agent is gone.",
                "short",
                NOT_VERIFIED,
            ),
            [Query(found("never_verified|verification_overdue", proven), "copies")],
            [listing("unverified")],
            instant=True,
        ),
        finish(
            number(*ALARM),
            Words(
                tile("writes_at_risk"),
                "Databases that refuse writes or are about to, because of their log, disk, size"
                " or version store; for a day also those whose agent is gone.",
                "short",
                NOT_JUDGED,
            ),
            [Query(found("writes_at_risk", heard), "databases")],
            [listing("writes_at_risk")],
            instant=True,
        ),
        finish(
            number(*WARNING),
            Words(
                tile("blind"),
                "Computers of which nothing is read, a source is down or behind, events are"
                " missing, or the agent is gone since yesterday at the earliest.",
                "short",
                "Not judged: no computer is known",
            ),
            [Query(coverage_gaps.NUMBER, "computers")],
            [
                Link(
                    "Why data is missing",
                    "/d/esewatch-agent?${__url_time_range}&var-datasource=${datasource}"
                    "&${job:queryparam}&${instance:queryparam}&${computer:queryparam}",
                )
            ],
            instant=True,
        ),
    ]


def firing() -> list[Panel]:
    """What asks somebody to act?"""
    which = 'alertname=~"Ese.+|Sqlserver.+",job=~"$job",computer=~"$computer"'
    labels = "alertname, severity, job, instance, computer, database, ese_instance, source"
    ranked = " or ".join(
        f'{rank} * ALERTS{{alertstate="firing",severity="{severity}",{which}}}'
        for rank, (severity, _) in SEVERITIES.items()
    )
    of_computer = {"computer": "computer"}
    of_database = {"job": "job", **of_computer, "database": "database"}
    to_storage, to_its_database = (
        to_board(f"esewatch-{board}", f"Open the {board}", labels, fields="__data.fields")
        for board, labels in (("storage", of_computer), ("database", of_database))
    )
    return [
        rows(
            Words(
                "Alerts that fire",
                "What fires, critical first; Prometheus counts the time anew when it is restarted.",
                "short",
                "Nothing fires, or the alerts are not loaded",
            ),
            {
                "alertname": "Alert",
                "computer": "Computer",
                "database": "Database",
                "ese_instance": "ESE instance",
                "source": "Source",
                "instance": "Agent",
            },
            [
                Column(
                    "Severity",
                    f"max by ({labels}) ({ranked})",
                    values={str(rank): shown for rank, shown in SEVERITIES.items()},
                ),
                Column(
                    "Since",
                    f"min by ({labels}) (ALERTS_FOR_STATE{{{which}}}) * 1000",
                    "dateTimeAsIso",
                ),
            ],
            hidden=("job", "severity"),
            links={"Computer": [to_storage], "Database": [to_its_database]},
            widths={"Alert": 240, "Database": 300},
            height=9,
        )
    ]


def urgency() -> list[Panel]:
    """Which database needs somebody first?"""
    verified = f"ese_last_full_verification_timestamp_seconds{{{COMPUTER}}}"
    age = f"time() - max by ({ON_COPY}) ({verified})"
    deadline = f"max by ({ON_COPY}) (ese_verification_deadline_seconds{{{COMPUTER}}})"
    forecast = f'ese_pass_forecast_completion_timestamp_seconds{{{COMPUTER},confidence="p90"}}'
    fields = "__data.fields"

    def of_listed(expression: str) -> str:
        return f"({expression}) and on ({ON_COPY}) {BY_URGENCY}"

    to_agent = {"job": "job", "instance": "instance", "computer": "computer"}
    return [
        rows(
            Words(
                "Databases by urgency",
                f"The {LISTED} most urgent of all watched copies, and of other copies with bad"
                " pages.",
                "short",
                "No database matches the selection and the verdicts",
            ),
            {"database_name": "Database", "computer": "Copy on", "role": "Role"},
            [
                Column("Verdict", BY_URGENCY, values=RANKS),
                Column(
                    "Verified ago",
                    of_listed(age),
                    "dtdurations",
                    decimals=1,
                    empty="never, or not known now",
                ),
                Column(
                    "Deadline", of_listed(deadline), "dtdurations", decimals=1, empty="none known"
                ),
                Column(
                    "Pass done by (90 %)",
                    of_listed(f"max by ({ON_COPY}) ({forecast}) * 1000"),
                    "dateTimeAsIso",
                    empty="no forecast",
                ),
            ],
            hidden=("job", "instance", "database", "verdict"),
            links={
                "Database": [to_database(fields), to_status_page(fields)],
                "Copy on": [
                    to_computer_page(fields),
                    to_board("esewatch-agent", "Open the agent", to_agent, fields=fields),
                ],
            },
            height=14,
        )
    ]


def trends() -> list[Panel]:
    """Does it get better or worse?"""
    return [
        finish(
            _stacked(lines().max_data_points(POINTS)),
            Words(
                "Databases by verdict",
                "Number of watched databases of the chosen computers with each verdict; one that"
                " two agents watch counts twice.",
                COUNT,
                NOT_JUDGED,
            ),
            [
                Query(
                    f"sum by (verdict) (ese_database_verdict{{{COMPUTER}}})",
                    "{{verdict}}",
                )
            ],
        ),
        finish(
            lines().max_data_points(POINTS),
            Words(
                "Bad pages by computer",
                "Known bad pages of the ten computers that have the most.",
                COUNT,
                "No bad page is known",
            ),
            [
                Query(
                    "topk(10, max by (job, computer) (sum by (job, instance, computer)"
                    f' (ese_known_bad_pages{{{COMPUTER},kind!="corrected"}} > 0)))',
                    "{{computer}}",
                )
            ],
            [listing("bad_pages")],
        ),
        finish(
            lines().max_data_points(POINTS),
            Words(
                "Passes at work",
                "Number of databases of the chosen computers that each maintenance task was at work"
                " on; one that two agents watch counts twice.",
                COUNT,
                NO_DATABASE,
            ),
            [
                Query(f"sum by (task) (ese_pass_running{{{COMPUTER}}})", "{{task}}"),
            ],
        ),
        _last_records(),
    ]


def _last_records() -> Panel:
    """Of the longest silent computers first. Of one that no agent tells of what was told last."""
    told = f"ese_computer_last_record_timestamp_seconds{{{COMPUTER}}}"
    last = f"max by (job, computer) ({told} or last_over_time({told}[1d:1h]))"
    oldest = f"bottomk({LISTED}, {last})"
    to_agent = to_board(
        "esewatch-agent", "Open its agent", {"computer": "computer"}, fields="__data.fields"
    )
    return rows(
        Words(
            "Last record of each computer",
            "The youngest record of the logs of each computer with a database, the oldest first;"
            " for a day also of computers whose agent is gone.",
            "short",
            "No record of a computer with a database is known",
        ),
        {"computer": "Computer"},
        [
            Column("Ago", f"time() - {oldest}", "dtdurations", decimals=1),
            Column("Last record", f"{oldest} * 1000", "dateTimeAsIso"),
        ],
        hidden=("job",),
        links={"Computer": [to_agent]},
        height=9,
        span=12,
    )


def _stacked(panel: timeseries.Panel) -> timeseries.Panel:
    """Areas on top of each other, each verdict in its words and colour."""
    stack = common_builder.StackingConfig().mode(common.StackingMode.NORMAL).group("A")
    panel.stacking(stack).fill_opacity(60).line_width(1)
    for verdict, (_, words, colour) in VERDICTS.items():
        fixed = config("color", {"mode": "fixed", "fixedColor": colour})
        panel.override_by_name(verdict, [fixed, config("displayName", words)])
    return panel


def windows() -> list[Panel]:
    """Are the maintenance windows as long as they should be?"""
    advice = f'(ese_window_advice{{{COMPUTER},action!="not_applicable"}} == 1)'
    sure = f"topk({LISTED}, ese_window_advice_confidence_ratio{{{COMPUTER}}})"

    def of_listed(metric: str) -> str:
        return f"{metric}{{{COMPUTER}}} and on ({ON_DATABASE}) {sure}"

    return [
        rows(
            Words(
                "Window advice",
                f"Advice on maintenance windows, the {LISTED} most certain first.",
                "short",
                NO_WINDOW,
            ),
            {
                "database": "Database",
                "computer": "Copy on",
                "action": "Advice",
                "reason": "Because",
            },
            [
                Column(
                    "Confidence",
                    f"{advice} * on ({ON_DATABASE}) group_left () {sure}",
                    "percentunit",
                ),
                Column(
                    "Window",
                    of_listed("ese_window_configured_seconds"),
                    "dtdurations",
                    decimals=1,
                    empty="not known",
                ),
                Column(
                    "Recommended",
                    of_listed("ese_window_recommended_seconds"),
                    "dtdurations",
                    decimals=1,
                ),
                Column("Reasons", of_listed("ese_window_advice_reason"), shown=False),
            ],
            hidden=("job", "instance"),
            links={"Database": [to_database("__data.fields"), to_status_page("__data.fields")]},
            says={"Advice": ACTIONS, "Because": REASONS},
            widths={"Advice": 190, "Because": 360, "Confidence": 115, "Database": 280},
        )
    ]


def events() -> list[Annotation]:
    """What explains that something began or ended."""

    def changed(series: str) -> str:
        return f"{series} != ({series} offset $__interval)"

    page = f"ese_known_bad_page_last_number{{{COMPUTER}}}"
    length = f"ese_window_configured_seconds{{{COMPUTER}}}"
    active, passive = (
        f'ese_database_info{{{COMPUTER},role="{role}"}}' for role in ("active", "passive")
    )
    started = f"process_start_time_seconds{{{AGENT}}}"
    copy = "{{database}} on {{computer}}"
    return [
        Annotation(
            "Bad page",
            f"count by ({ON_COPY}) ({changed(page)} or {page} unless {page} offset $__interval)",
            f"A new bad page of {copy}",
            VERMILION,
        ),
        Annotation(
            "Failover",
            f"count by ({ON_COPY}) ({active} and on ({ON_DATABASE}) {passive} offset $__interval)",
            f"{copy} is the active copy now",
            ORANGE,
        ),
        Annotation(
            "Window changed",
            f"count by ({ON_COPY}) ({changed(length)})",
            f"The window of {copy} has another length",
            SKY,
        ),
        Annotation(
            "Agent restarted",
            f"count by (job, instance) ({changed(started)}"
            f" and on (job, instance) esewatch_build_info{{{AGENT}}})",
            "The agent {{instance}} was started",
            GREY,
        ),
    ]


FLEET = Board(
    "esewatch-fleet",
    "ESE: the fleet",
    "Copies with bad pages or damage, unverified copies, writes at risk and hosts with missing"
    " data; then each database by urgency.",
    (computer_variable(), verdict_variable()),
    (
        Row("Is anything wrong?", numbers),
        Row("What fires?", firing),
        Row("By urgency", urgency),
        Row("Over time", trends),
        Row("Maintenance windows", windows, collapsed=True),
    ),
    annotations=events(),
)
