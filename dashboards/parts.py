"""What the dashboards are made of: selectors, variables, panels, thresholds.

Colours are those of Okabe and Ito, told apart by people who are colour-blind.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from grafana_foundation_sdk.builders import common as common_builder
from grafana_foundation_sdk.builders import dashboard as builder
from grafana_foundation_sdk.builders import prometheus, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.models import common, dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboards.links import Link, built

BLUE, SKY, GREEN = "#0072B2", "#56B4E9", "#009E73"
ORANGE, VERMILION, PURPLE, YELLOW, GREY = "#E69F00", "#D55E00", "#CC79A7", "#F0E442", "#999999"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW)
"""For lines, in this order."""
DATASOURCE = dashboard.DataSourceRef(type_val="prometheus", uid="${datasource}")
REFERENCES = "ABCDEFGHIJ"
"""Names of the queries of a panel."""

AGENT = 'job=~"$job",instance=~"$instance"'
COMPUTER = f'{AGENT},computer=~"$computer"'
DATABASE = f'{COMPUTER},database=~"$database"'
INSTANCE = f'{COMPUTER},ese_instance=~"$ese_instance"'
CHOSEN = f'{DATABASE},ese_instance=~"$ese_instance"'
"""Of metrics that have both."""
DEVICE = f'{COMPUTER},device=~"$device"'
ON_DATABASE = "job, instance, computer, database"
ON_COPY = "job, computer, database"
"""What two agents that read the same computer, and two workers while one takes over, agree on."""
ON_INSTANCE = "job, instance, computer, ese_instance"
ON_DEVICE = "job, instance, computer, device"

NO_DATABASE = "No database matches the selection"
NOT_JUDGED = "Not judged: nothing current is known of any database"
NOT_VERIFIED = "Not judged: no database was verified"
NO_SOURCE = "No source is configured, or no agent answers"
NO_WINDOW = (
    "No window on this model (garbage collection and background scans have none), or no data"
)

Panel = stat.Panel | statetimeline.Panel | table.Panel | timeseries.Panel


POINTS = 350
"""Of a line that is dear to ask for: days are as well seen in an hour's steps."""

COUNT = "locale"
"""The unit of what is counted one by one: an axis of whole numbers from 0."""

DAYS, HOURS = "suffix:d", "suffix:h"
"""Units of durations on an axis, which gets round numbers of them; queries are in seconds."""
SECONDS = {DAYS: 86400, HOURS: 3600}


class Words(NamedTuple):
    """What a panel says of itself."""

    title: str
    description: str
    """One sentence."""
    unit: str
    empty: str
    """Shown in place of "No data"."""


class Query(NamedTuple):
    """PromQL, and the name of its series."""

    expression: str
    legend: str


def variable(
    name: str, label: str, query: str, *, everything: str = ".*", all_first: bool = True
) -> builder.QueryVariable:
    """A list to choose from, filled from the labels of a metric.

    It takes several values even where one is meant: only then does Grafana escape a path for
    `=~`. Without `all_first` the first value is chosen at first.
    """
    made = (
        builder.QueryVariable(name)
        .label(label)
        .datasource(DATASOURCE)
        .query(query)
        .refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(dashboard.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(all_first)
    )
    if all_first:
        everything_chosen = dashboard.VariableOption(text="All", value="$__all", selected=True)
        made.all_value(everything).current(everything_chosen)
    return made


def grown(counter: str, span: str, happened: str = "") -> str:
    """What `counter`, a selector, counted within `span`, the first of all among it.

    A series that begins with what it counts has no increase: it is taken as it is where it was not
    there before. `happened` is true where the latest is of that time: a new agent begins with what
    old logs tell. Also where an agent was down a `span` ago the series was there before.
    """
    before = f"last_over_time(({counter} offset {span})[7d:1h])"
    first = f"{counter} and {happened}" if happened else counter
    return f"({first} unless {before} or increase({counter}[{span}]))"


def latest_day(recorded: str) -> str:
    """What was recorded last of 24 hours: it is recorded every two (rules/)."""
    return f"last_over_time({recorded}[5h])"


def computer_variable(*, all_first: bool = True) -> builder.QueryVariable:
    """The computers of the agents; what is of one database begins with one of them."""
    query = f"label_values(ese_database_info{{{AGENT}}}, computer)"
    return variable("computer", "Computer", query, all_first=all_first)


def instance_variable() -> builder.QueryVariable:
    """The ESE instances of the computers."""
    query = f"label_values(ese_database_info{{{COMPUTER}}}, ese_instance)"
    return variable("ese_instance", "ESE instance", query)


def database_variable() -> builder.QueryVariable:
    """The databases of what is chosen before it, at first one of them."""
    query = f"label_values(ese_database_info{{{INSTANCE}}}, database)"
    return variable("database", "Database", query, all_first=False)


def thresholds(*steps: tuple[float | None, str]) -> builder.ThresholdsConfig:
    """Colours by value; the first step has no lower end."""
    return (
        builder.ThresholdsConfig()
        .mode(dashboard.ThresholdsMode.ABSOLUTE)
        .steps([dashboard.Threshold(value=value, color=color) for value, color in steps])
    )


ALARM = ((None, BLUE), (1, VERMILION))
"""One is too many."""
WARNING = ((None, BLUE), (1, ORANGE))


def mappings(values: Mapping[str, tuple[str, str]]) -> list[dashboard.ValueMapping]:
    """Value -> word and colour."""
    options = {
        value: dashboard.ValueMappingResult(text=text, color=color, index=index)
        for index, (value, (text, color)) in enumerate(values.items())
    }
    return [dashboard.ValueMap(options=options)]


def finish(
    panel: Any,
    words: Words,
    queries: Sequence[Query],
    links: Sequence[Link] = (),
    *,
    instant: bool = False,
    as_table: bool = False,
) -> Any:
    """What every panel has: words, queries, and where its series lead."""
    panel.title(words.title).description(words.description).unit(words.unit)
    if words.unit == COUNT:
        panel.decimals(0).min(0)
    if words.unit in SECONDS:
        panel.decimals(1)
    panel.no_value(words.empty).datasource(DATASOURCE)
    panel.data_links([built(link) for link in links])
    for index, (expression, legend) in enumerate(queries):
        if words.unit in SECONDS:
            expression = f"({expression}) / {SECONDS[words.unit]}"
        query = prometheus.Dataquery().expr(expression).legend_format(legend)
        query.ref_id(REFERENCES[index]).datasource(DATASOURCE)
        if as_table:
            query.format(PromQueryFormat.TABLE)
        panel.with_target(query.instant() if instant else query.range())
    return panel


def number(*steps: tuple[float | None, str], span: int = 6) -> stat.Panel:
    """One large number."""
    return (
        stat.Panel()
        .height(4)
        .span(span)
        .thresholds(thresholds(*steps))
        .color_mode(common.BigValueColorMode.VALUE)
        .graph_mode(common.BigValueGraphMode.NONE)
        .reduce_options(common_builder.ReduceDataOptions().calcs(["lastNotNull"]))
    )


def config(name: str, value: object) -> dashboard.DynamicConfigValue:
    """One setting of a series."""
    return dashboard.DynamicConfigValue(id_val=name, value=value)


GAP = (config("noValue", None),)
"""The words for emptiness are for the whole panel: of a gap in a series they say nothing."""


def _legend(mode: common.LegendDisplayMode, *calcs: str) -> common_builder.VizLegendOptions:
    return (
        common_builder.VizLegendOptions()
        .display_mode(mode)
        .placement(common.LegendPlacement.BOTTOM)
        .show_legend(True)
        .calcs(list(calcs))
    )


def lines(span: int = 12, height: int = 9) -> timeseries.Panel:
    """Lines over time, with a table of present and greatest values.

    A line that ended has no present value: a page that was repaired is not still bad.
    """
    return (
        timeseries.Panel()
        .height(height)
        .span(span)
        .legend(_legend(common.LegendDisplayMode.TABLE, "last", "max"))
        .tooltip(common_builder.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI))
        .color_scheme(builder.FieldColor().mode(dashboard.FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
        .line_width(2)
        .fill_opacity(0)
        .show_points(common.VisibilityMode.AUTO)
        .span_nulls(False)
        .override_by_field_type("number", list(GAP))
    )


def bars(span: int = 12, height: int = 9) -> timeseries.Panel:
    """Bars over time, for what happens now and then, with the latest there was."""
    made = lines(span, height).draw_style(common.GraphDrawStyle.BARS)
    made.legend(_legend(common.LegendDisplayMode.TABLE, "lastNotNull", "max"))
    return made.fill_opacity(60).line_width(1)


def logarithmic(panel: timeseries.Panel) -> timeseries.Panel:
    """The same with equal steps for equal factors."""
    scale = common_builder.ScaleDistributionConfig().type(common.ScaleDistribution.LOG).log(10)
    return panel.scale_distribution(scale)


def states(
    values: Mapping[str, tuple[str, str]], span: int = 12, height: int = 9
) -> statetimeline.Panel:
    """States over time, named and coloured by value.

    With colours by a scale, which Grafana takes by itself, it has no legend.
    """
    fixed = builder.FieldColor().mode(dashboard.FieldColorModeId.FIXED).fixed_color(GREY)
    return (
        statetimeline.Panel()
        .color_scheme(fixed)
        .height(height)
        .span(span)
        .mappings(mappings(values))
        .show_value(common.VisibilityMode.NEVER)
        .legend(_legend(common.LegendDisplayMode.LIST))
        .row_height(0.8)
        .override_by_field_type("number", list(GAP))
    )


DASHED = (
    config("custom.drawStyle", "line"),
    # Among bars it would be an area as they are.
    config("custom.fillOpacity", 0),
    config("custom.lineStyle", {"fill": "dash", "dash": [10, 6]}),
    config("color", {"mode": "fixed", "fixedColor": GREY}),
)


def limits(panel: timeseries.Panel, reference: str) -> timeseries.Panel:
    """All series of the query `reference` as dashed grey lines."""
    return panel.override_by_query(reference, list(DASHED))


def limit(panel: timeseries.Panel, name: str, *, fill_to: str = "") -> timeseries.Panel:
    """The series `name` as a dashed grey line, the space down to `fill_to` shaded."""
    drawn = list(DASHED)
    if fill_to:
        drawn += [config("custom.fillBelowTo", fill_to), config("custom.fillOpacity", 12)]
    return panel.override_by_name(name, drawn)
