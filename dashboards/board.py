"""One dashboard: what all of them have, and its rows of panels."""

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import NamedTuple

from grafana_foundation_sdk.builders import dashboard as builder
from grafana_foundation_sdk.models import dashboard

from dashboards.limits import DEFAULTS
from dashboards.parts import DATASOURCE, PALETTE, REFERENCES, Panel, config, variable

TAG = "esewatch"
ZONE = "times are in the time zone of the browser, days of figures in UTC"
"""One zone for all, said once on each dashboard."""


class Row(NamedTuple):
    """A titled group of panels; a collapsed one is opened by a click."""

    title: str
    panels: Callable[[], Sequence[Panel]]
    collapsed: bool = False


class Annotation(NamedTuple):
    """What happened, marked on all panels over time at each moment that the query answers."""

    title: str
    expression: str
    text: str
    """Of labels, as `{{computer}}`."""
    colour: str


class Board(NamedTuple):
    """One dashboard."""

    uid: str
    title: str
    description: str
    """One sentence."""
    variables: Sequence[builder.QueryVariable | builder.CustomVariable]
    """Those after data source, job and agent."""
    rows: Sequence[Row]
    since: str = "now-14d"
    annotations: Sequence[Annotation] = ()


def _told_apart(panel: dashboard.Panel) -> None:
    """Lines of several queries: those of each in shades of a colour of its own.

    What a panel sets itself for a series or a query (a limit) comes after and holds. Where only
    one query is left, its lines keep colours of their own: shades are nearly alike.
    """
    targets = panel.targets or []
    if panel.type_val != "timeseries" or panel.field_config is None:
        return
    limits = {each.matcher.options for each in panel.field_config.overrides}
    named = [{getattr(each, name) for name in ("ref_id", "legend_format")} for each in targets]
    free = [each for each in named if not each & limits]
    if len(free) < 2:
        return
    panel.field_config.overrides[:0] = [
        dashboard.DashboardFieldConfigSourceOverrides(
            matcher=dashboard.MatcherConfig(id_val="byFrameRefID", options=reference),
            properties=[config("color", {"mode": "shades", "fixedColor": color})],
        )
        for reference, color in zip(REFERENCES[: len(targets)], cycle(PALETTE), strict=False)
    ]


def build(board: Board) -> dashboard.Dashboard:
    """The dashboard: variables, links to the others, rows of panels."""
    made = (
        builder.Dashboard(board.title)
        .uid(board.uid)
        .description(f"{board.description.removesuffix('.')}; {ZONE}.")
        .tags([TAG, "ese"])
        .readonly()
        .time(board.since, "now")
        .refresh("1m")
        .timezone("browser")
        .tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
        .link(
            builder.DashboardLink("ESE databases")
            .type(dashboard.DashboardLinkType.DASHBOARDS)
            .tags([TAG])
            .include_vars(True)
            .keep_time(True)
        )
        .with_variable(
            builder.DatasourceVariable("datasource").label("Data source").type("prometheus")
        )
        .with_variable(
            variable("job", "Job", "label_values(esewatch_build_info, job)", everything=".+")
        )
        .with_variable(
            variable(
                "instance",
                "Agent",
                'label_values(esewatch_build_info{job=~"$job"}, instance)',
                everything=".+",
            )
        )
    )
    for each in board.annotations:
        marked = builder.AnnotationQuery().name(each.title).expr(each.expression)
        made.annotation(marked.datasource(DATASOURCE).enable(True).icon_color(each.colour))
    for chosen in board.variables:
        made.with_variable(chosen)
    queries = [
        getattr(target, "expr", "")
        for row in board.rows
        for panel in row.panels()
        for target in panel.build().targets or []
    ]
    for name, value in DEFAULTS.items():
        if any(f"${name})" in query for query in queries):
            drawn = builder.ConstantVariable(name).label(name).value(f"{value:.6g}")
            drawn.build().skip_url_sync = True
            made.with_variable(drawn)
    identity = 0
    for row in board.rows:
        identity += 1
        titled = builder.Row(row.title).id(identity)
        panels = []
        for panel in row.panels():
            identity += 1
            _told_apart(panel.id(identity).build())
            panels.append(panel)
        if row.collapsed:
            for panel in panels:
                titled.with_panel(panel)
            made.with_row(titled)
        else:
            made.with_row(titled)
            for panel in panels:
                made.with_panel(panel)
    return made.build()
