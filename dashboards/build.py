"""Builds the Grafana dashboards of this folder.

    python dashboards/build.py            write the JSON files
    python dashboards/build.py --check    exit status 1 when a file is not what would be written

Colours are those of Okabe and Ito, told apart by people who are colour-blind.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from grafana_foundation_sdk.builders import common as common_builder
from grafana_foundation_sdk.builders import dashboard as builder
from grafana_foundation_sdk.builders import prometheus, stat, statetimeline, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common, dashboard

FOLDER = Path(__file__).parent
BLUE, ORANGE, VERMILION, GREEN, GREY = "#0072B2", "#E69F00", "#D55E00", "#009E73", "#999999"
DATASOURCE = dashboard.DataSourceRef(type_val="prometheus", uid="${datasource}")

SOURCE = 'job=~"$job"'
COMPUTER = f'{SOURCE},computer=~"$computer"'
DATABASE = f'{COMPUTER},database=~"$database"'
INSTANCE = f'{COMPUTER},ese_instance=~"$ese_instance"'
WINDOW_ONLY = (
    "and on (job, instance, computer, database)"
    f' ese_database_info{{{DATABASE},ese_instance=~"$ese_instance",model="window"}}'
)
NO_WINDOW = "No ratio here: no maintenance window on this model, or the counters are hidden"
NO_DATABASE = "No database matches the selection"
NO_SOURCE = "No source is configured"

Panel = stat.Panel | statetimeline.Panel | timeseries.Panel
Query = tuple[str, str]
"""(PromQL, legend)."""


def variable(name: str, label: str, query: str, everything: str = ".*") -> builder.QueryVariable:
    """A list to choose from, filled from the labels of a metric."""
    return (
        builder.QueryVariable(name)
        .label(label)
        .datasource(DATASOURCE)
        .query(query)
        .refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(dashboard.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(everything)
        .current(dashboard.VariableOption(text="All", value="$__all", selected=True))
    )


def thresholds(*steps: tuple[float | None, str]) -> builder.ThresholdsConfig:
    """Colours by value; the first step has no lower end."""
    return (
        builder.ThresholdsConfig()
        .mode(dashboard.ThresholdsMode.ABSOLUTE)
        .steps([dashboard.Threshold(value=value, color=color) for value, color in steps])
    )


def mappings(values: dict[str, tuple[str, str]]) -> list[dashboard.ValueMapping]:
    """Value -> word and colour."""
    options = {
        value: dashboard.ValueMappingResult(text=text, color=color, index=index)
        for index, (value, (text, color)) in enumerate(values.items())
    }
    return [dashboard.ValueMap(options=options)]


def runbook(alert: str) -> builder.DashboardLink:
    """A link from a series to the runbook that its agent serves."""
    return (
        builder.DashboardLink(f"Runbook {alert}")
        .type(dashboard.DashboardLinkType.LINK)
        .url(f"http://${{__field.labels.instance}}/runbooks/{alert}")
        .target_blank(True)
    )


class Words(NamedTuple):
    """What a panel says of itself."""

    title: str
    description: str
    """One sentence."""
    unit: str
    empty: str
    """Shown in place of "No data"."""


def finish(
    panel: Any,
    words: Words,
    queries: Sequence[Query],
    alerts: Sequence[str] = (),
    *,
    instant: bool = False,
) -> Any:
    """What every panel has: words, queries, links to the runbooks of its alerts."""
    panel.title(words.title).description(words.description).unit(words.unit)
    panel.no_value(words.empty).datasource(DATASOURCE)
    panel.data_links([runbook(alert) for alert in alerts])
    for index, (expression, legend) in enumerate(queries):
        query = prometheus.Dataquery().expr(expression).legend_format(legend)
        query.ref_id("ABCDEFGH"[index]).datasource(DATASOURCE)
        panel.with_target(query.instant() if instant else query.range())
    return panel


def number(color: builder.ThresholdsConfig) -> stat.Panel:
    """One large number."""
    return (
        stat.Panel()
        .height(4)
        .span(6)
        .thresholds(color)
        .color_mode(common.BigValueColorMode.VALUE)
        .graph_mode(common.BigValueGraphMode.NONE)
        .reduce_options(common_builder.ReduceDataOptions().calcs(["lastNotNull"]))
    )


def lines(span: int = 12) -> timeseries.Panel:
    """Lines over time, with a table of last and greatest values."""
    legend = (
        common_builder.VizLegendOptions()
        .display_mode(common.LegendDisplayMode.TABLE)
        .placement(common.LegendPlacement.BOTTOM)
        .show_legend(True)
        .calcs(["lastNotNull", "max"])
    )
    return (
        timeseries.Panel()
        .height(9)
        .span(span)
        .legend(legend)
        .tooltip(common_builder.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI))
        .color_scheme(builder.FieldColor().mode(dashboard.FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
        .line_width(2)
        .fill_opacity(0)
        .show_points(common.VisibilityMode.AUTO)
        .span_nulls(False)
    )


def bars(span: int = 12) -> timeseries.Panel:
    """Bars over time, for what happens now and then."""
    return lines(span).draw_style(common.GraphDrawStyle.BARS).fill_opacity(60).line_width(1)


def states(mapping: dict[str, tuple[str, str]], span: int = 12) -> statetimeline.Panel:
    """States over time, named and coloured by value."""
    return (
        statetimeline.Panel()
        .height(9)
        .span(span)
        .mappings(mappings(mapping))
        .show_value(common.VisibilityMode.NEVER)
        .legend(
            common_builder.VizLegendOptions()
            .display_mode(common.LegendDisplayMode.LIST)
            .placement(common.LegendPlacement.BOTTOM)
            .show_legend(True)
            .calcs([])
        )
        .row_height(0.8)
    )


def glance() -> list[Panel]:
    """Is everything well?"""
    alarm = thresholds((None, BLUE), (1, VERMILION))
    age = thresholds((None, BLUE), (7 * 86400, ORANGE), (30 * 86400, VERMILION))
    return [
        finish(
            number(alarm),
            Words(
                "Known bad pages",
                "Pages that are known to be bad and that nothing has proven good since.",
                "short",
                NO_DATABASE,
            ),
            [(f"sum(ese_known_bad_pages{{{DATABASE}}})", "bad pages")],
            instant=True,
        ),
        finish(
            number(age),
            Words(
                "Oldest verification",
                "Time since every page was last read and found good, of the database that waits"
                " longest; databases that were never verified are counted beside it.",
                "s",
                "Never verified",
            ),
            [
                (
                    "max(time() - max by (job, instance, computer, database)"
                    f" (ese_last_full_verification_timestamp_seconds{{{DATABASE}}}))",
                    "oldest",
                )
            ],
            instant=True,
        ),
        finish(
            number(thresholds((None, BLUE), (1, ORANGE))),
            Words(
                "Never verified",
                "Watched databases of which no complete check of all pages is known.",
                "short",
                NO_DATABASE,
            ),
            [
                (
                    f'count(ese_database_info{{{DATABASE},tier="watched"}} unless on'
                    " (job, instance, computer, database)"
                    f" ese_last_full_verification_timestamp_seconds{{{DATABASE}}})"
                    f' or 0 * count(ese_database_info{{{DATABASE},tier="watched"}})',
                    "databases",
                )
            ],
            instant=True,
        ),
        finish(
            number(alarm),
            Words(
                "Sources down",
                "Sources that the agents cannot read; what they would tell is not on this page.",
                "short",
                NO_SOURCE,
            ),
            [
                (
                    f"count(esewatch_source_up{{{SOURCE}}} == 0)"
                    f" or 0 * count(esewatch_source_up{{{SOURCE}}})",
                    "sources",
                )
            ],
            instant=True,
        ),
    ]


def ratio() -> list[Panel]:
    """Does online defragmentation earn its window?"""
    prefix = "ese_instance:ese_defrag_pages_read_per_freed:ratio_increase"
    limit = [
        dashboard.DynamicConfigValue(
            id_val="custom.lineStyle", value={"fill": "dash", "dash": [10, 6]}
        ),
        dashboard.DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": GREY}),
    ]
    band = [
        *limit,
        dashboard.DynamicConfigValue(id_val="custom.fillBelowTo", value="lower limit"),
        dashboard.DynamicConfigValue(id_val="custom.fillOpacity", value=12),
    ]
    queries = [
        (f"clamp_max({prefix}28d{{{INSTANCE}}}, 1000)", "{{computer}} {{ese_instance}} 28 days"),
        (f"clamp_max({prefix}7d{{{INSTANCE}}}, 1000)", "{{computer}} {{ese_instance}} 7 days"),
        (f"max(esewatch_policy_ratio_high{{{DATABASE}}} {WINDOW_ONLY})", "upper limit"),
        (f"min(esewatch_policy_ratio_low{{{DATABASE}}} {WINDOW_ONLY})", "lower limit"),
    ]
    shown = finish(
        lines(16).override_by_name("upper limit", band).override_by_name("lower limit", limit),
        Words(
            "Read:Freed",
            "Pages read for each page freed by online defragmentation, as a ratio of sums; above"
            " the band the window may shrink, below it may grow, and 1000 stands for 1000 and"
            " more or nothing freed at all.",
            "short",
            NO_WINDOW,
        ),
        queries,
        ("EseDefragRatioHigh", "EseDefragRatioLow"),
    ).scale_distribution(
        common_builder.ScaleDistributionConfig().type(common.ScaleDistribution.LOG).log(10)
    )
    work = finish(
        lines(8),
        Words(
            "Pages read and freed in a day",
            "What the ratio is made of: pages that online defragmentation read and freed within the"
            " last 24 hours.",
            "short",
            NO_WINDOW,
        ),
        [
            (
                f"ese_instance:ese_defrag_pages_read:increase1d{{{INSTANCE}}}",
                "{{computer}} {{ese_instance}} read",
            ),
            (
                f"ese_instance:ese_defrag_pages_freed:increase1d{{{INSTANCE}}}",
                "{{computer}} {{ese_instance}} freed",
            ),
        ],
    )
    return [shown, work]


def passes() -> list[Panel]:
    """Do passes run, and do they end?"""
    series = "{{computer}} {{database}} {{task}}"
    completion = f"ese_pass_last_completion_timestamp_seconds{{{DATABASE}}}"
    return [
        finish(
            states({"0": ("not running", GREY), "1": ("running", BLUE)}),
            Words(
                "Passes running",
                "When each maintenance task was at work on each database.",
                "short",
                NO_DATABASE,
            ),
            [(f"ese_pass_running{{{DATABASE}}}", series)],
        ),
        finish(
            lines(),
            Words(
                "Time since the last completed pass",
                "A line that only climbs is a task that does not come to its end.",
                "s",
                "No completed pass is known",
            ),
            [(f"time() - {completion}", series)],
        ),
        finish(
            lines(),
            Words(
                "Duration of the last completed pass",
                "Time at work where the engine reports it (online defragmentation, checksum of"
                " 2007), else time from start to end with all pauses.",
                "s",
                "No completed pass is known",
            ),
            [
                (f"ese_pass_last_work_seconds{{{DATABASE}}}", f"{series} at work"),
                (f"ese_pass_last_wall_seconds{{{DATABASE}}}", f"{series} start to end"),
            ],
        ),
        finish(
            bars(),
            Words(
                "Interruptions in a day",
                "How often a pass was stopped before its end within the last 24 hours; once a night"
                " is normal for online defragmentation.",
                "short",
                NO_DATABASE,
            ),
            [(f"increase(ese_passes_interrupted_total{{{DATABASE}}}[1d])", series)],
        ),
    ]


def integrity() -> list[Panel]:
    """Is every page good, and who says so?"""
    return [
        finish(
            lines(8),
            Words(
                "Known bad pages by kind",
                "The latched set: a page leaves it when it is read good, repaired or acknowledged.",
                "short",
                NO_DATABASE,
            ),
            [(f"ese_known_bad_pages{{{DATABASE}}}", "{{computer}} {{database}} {{kind}}")],
            ("EseKnownBadPage", "EseLostFlush", "EseBadPageFoundInHistory"),
        ),
        finish(
            bars(8),
            Words(
                "Page error events in a day",
                "Events about damaged pages within the last 24 hours, by kind.",
                "short",
                NO_DATABASE,
            ),
            [
                (
                    f"increase(ese_page_error_events_total{{{DATABASE}}}[1d])",
                    "{{computer}} {{database}} {{kind}}",
                )
            ],
            ("EseKnownBadPage", "EseCorrectedPage", "EseCorrectedPages"),
        ),
        finish(
            lines(8),
            Words(
                "Time since the last full verification",
                "Time since every page was read and found good, by who read it; no line means"
                " never.",
                "s",
                "Never verified",
            ),
            [
                (
                    f"time() - ese_last_full_verification_timestamp_seconds{{{DATABASE}}}",
                    "{{computer}} {{database}} {{by}}",
                )
            ],
        ),
    ]


def sources() -> list[Panel]:
    """Can this page be believed?"""
    series = "{{instance}} {{source}}"
    return [
        finish(
            states({"0": ("down", VERMILION), "1": ("up", BLUE)}),
            Words(
                "Sources",
                "Whether the agents can read their sources.",
                "short",
                NO_SOURCE,
            ),
            [(f"esewatch_source_up{{{SOURCE}}}", series)],
            ("EsewatchSourceDown",),
        ),
        finish(
            lines(),
            Words(
                "Time since the last record",
                "Age of the newest record of each source; archives are old by nature.",
                "s",
                "No source has brought a record",
            ),
            [(f"time() - esewatch_source_last_record_timestamp_seconds{{{SOURCE}}}", series)],
            ("EsewatchSourceSilent",),
        ),
        finish(
            lines(),
            Words(
                "Records taken in",
                "Records per second from each source.",
                "cps",
                NO_SOURCE,
            ),
            [(f"rate(esewatch_source_records_total{{{SOURCE}}}[$__rate_interval])", series)],
        ),
        finish(
            bars(),
            Words(
                "Missed and unreadable in a day",
                "Records lost before they could be read, and pieces of input that could not be"
                " read, within the last 24 hours.",
                "short",
                NO_SOURCE,
            ),
            [
                (
                    f"increase(esewatch_source_missed_records_total{{{SOURCE}}}[1d])",
                    f"{series} missed",
                ),
                (
                    f"increase(esewatch_source_unreadable_total{{{SOURCE}}}[1d])",
                    f"{series} unreadable",
                ),
            ],
            ("EsewatchRecordsMissed",),
        ),
    ]


ROWS: tuple[tuple[str, Callable[[], list[Panel]]], ...] = (
    ("At a glance", glance),
    ("Online defragmentation", ratio),
    ("Passes", passes),
    ("Integrity", integrity),
    ("Sources of esewatch", sources),
)


def maintenance() -> dashboard.Dashboard:
    """The one dashboard: from "is everything well" down to "can this page be believed"."""
    info = "ese_database_info"
    board = (
        builder.Dashboard("ESE online maintenance")
        .uid("esewatch-maintenance")
        .description("Integrity, passes and Read:Freed of ESE databases, as seen by esewatch.")
        .tags(["esewatch", "ese"])
        .readonly()
        .time("now-28d", "now")
        .refresh("1m")
        .timezone("browser")
        .tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
        .with_variable(
            builder.DatasourceVariable("datasource").label("Data source").type("prometheus")
        )
        .with_variable(variable("job", "Job", "label_values(esewatch_build_info, job)", ".+"))
        .with_variable(
            variable("computer", "Computer", f"label_values({info}{{{SOURCE}}}, computer)")
        )
        .with_variable(
            variable(
                "ese_instance", "ESE instance", f"label_values({info}{{{COMPUTER}}}, ese_instance)"
            )
        )
        .with_variable(
            variable("database", "Database", f"label_values({info}{{{INSTANCE}}}, database)")
        )
    )
    number_of_panel = 0
    for title, panels in ROWS:
        number_of_panel += 1
        board.with_row(builder.Row(title).id(number_of_panel))
        for panel in panels():
            number_of_panel += 1
            board.with_panel(panel.id(number_of_panel))
    return board.build()


DASHBOARDS: dict[str, Callable[[], dashboard.Dashboard]] = {
    "esewatch-maintenance.json": maintenance,
}
"""File name -> what builds it."""


def render(name: str) -> str:
    """The JSON text of the dashboard `name`."""
    return json.dumps(DASHBOARDS[name](), cls=JSONEncoder, indent=2, sort_keys=True) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write or check the files; returns the exit status."""
    status = 0
    for name in DASHBOARDS:
        file = FOLDER / name
        if "--check" not in arguments:
            file.write_text(render(name))
        elif not file.is_file() or file.read_text() != render(name):
            sys.stderr.write(f"{name} is out of date: run python dashboards/build.py\n")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
