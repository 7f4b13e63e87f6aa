"""The dashboards keep the rules of linter.py, and each rule catches what it is for."""

import copy
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pytest
import yaml

from tests.dashboards.boards import FOLDER, Json, loaded
from tests.dashboards.linter import DATASOURCE, RULES, Found, lint
from tests.rules.lint import wrong_joins
from tests.support.each import of_each

AGENT = 'job=~"$job",instance=~"$instance"'
FRESH = f'time() - ese_last_full_verification_timestamp_seconds{{{AGENT},computer=~"$computer"}}'
READ = f'rate(ese_defrag_pages_read_total{{{AGENT},computer=~"$computer"}}[$__rate_interval])'


class Exclusion(NamedTuple):
    """A breach that is meant."""

    rule: str
    board: str
    panel: str
    reason: str

    def covers(self, found: Found) -> bool:
        return (
            self.rule == found.rule
            and self.board in {"", found.board}
            and self.panel == found.panel
        )


def exclusions() -> list[Exclusion]:
    entries = yaml.safe_load((FOLDER / "lint.yml").read_text()) or []
    return [
        Exclusion(each["rule"], each.get("board", ""), each.get("panel", ""), each["reason"])
        for each in entries
    ]


@cache
def breaches() -> list[Found]:
    """Of the committed dashboards."""
    return lint(loaded())


def test_the_dashboards_keep_all_rules() -> None:
    meant = exclusions()

    assert [found for found in breaches() if not any(e.covers(found) for e in meant)] == []


def test_each_exclusion_is_needed_and_says_why() -> None:
    found = breaches()

    for each in exclusions():
        assert each.rule in RULES
        assert len(each.reason.split()) >= 5
        assert any(each.covers(one) for one in found), f"nothing needs {each}"


def variable(name: str, **fields: Any) -> Json:
    metric, label = "esewatch_build_info", name
    if name == "computer":
        metric = f"ese_database_info{{{AGENT}}}"
    return {
        "name": name,
        "type": "query",
        "label": name,
        "datasource": DATASOURCE,
        "multi": True,
        "includeAll": True,
        "allValue": ".+",
        "refresh": 2,
        "query": f"label_values({metric}, {label})",
        **fields,
    }


def panel(number: int, title: str, expression: str, legend: str, **fields: Any) -> Json:
    return {
        "id": number,
        "type": "timeseries",
        "title": title,
        "description": "What it shows, in 1.5 words.",
        "datasource": DATASOURCE,
        "gridPos": {"x": 12 * (number % 2), "y": 8 * (number // 2), "w": 12, "h": 8},
        "fieldConfig": {
            "defaults": {
                "unit": "s",
                "noValue": "No database matches",
                "color": {"mode": "palette-classic-by-name"},
                "thresholds": {"steps": [{"value": None, "color": "#0072B2"}]},
                "links": [],
            },
            "overrides": [
                {"matcher": {"id": "byType", "options": "number"},
                 "properties": [{"id": "noValue"}]},
                {"matcher": {"id": "byType", "options": "string"},
                 "properties": [{"id": "unit", "value": "string"}]},
                {"matcher": {"id": "byName", "options": "x"}, "properties": [
                    {"id": "unit", "value": "count:pages/s"},
                    {"id": "color", "value": {"mode": "fixed", "fixedColor": "#999999"}},
                ]},
            ],
        },
        "options": {"legend": {"showLegend": True}},
        "targets": [
            {"refId": "A", "datasource": DATASOURCE, "expr": expression, "legendFormat": legend,
             "range": True, "instant": False},
        ],
        **fields,
    }  # fmt: skip


def board() -> Json:
    """A dashboard that keeps all rules."""
    return {
        "uid": "esewatch-good",
        "title": "Good",
        "description": "All that it should be, in the time zone of the browser.",
        "timezone": "browser",
        "editable": False,
        "refresh": "1m",
        "tags": ["esewatch"],
        "time": {"from": "now-2d", "to": "now"},
        "links": [
            {"title": "all", "type": "dashboards", "tags": ["esewatch"], "includeVars": True,
             "keepTime": True},
        ],
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "label": "Data source",
             "query": "prometheus"},
            variable("job"), variable("instance"), variable("computer"),
        ]},
        "panels": [
            {"id": 9, "type": "row", "collapsed": True, "title": "More",
             "gridPos": {"x": 0, "y": 20, "w": 24, "h": 1},
             "panels": [panel(3, "Reading", READ, "{{computer}} {{ese_instance}}")]},
            panel(1, "Age", FRESH, "{{database}} {{by}}"),
            panel(2, "Agents", f"esewatch_build_info{{{AGENT}}}", "{{instance}}"),
        ],
    }  # fmt: skip


OTHER = {**board(), "uid": "esewatch-other", "title": "Other"}


def found_in(bad: Json) -> set[str]:
    return {found.rule for found in lint([bad, OTHER]) if found.board == bad["uid"]}


Change = Callable[[Json], object]


def in_panel(**fields: Any) -> Change:
    return lambda bad: bad["panels"][1].update(fields)


def in_defaults(**fields: Any) -> Change:
    return lambda bad: bad["panels"][1]["fieldConfig"]["defaults"].update(fields)


def in_query(**fields: Any) -> Change:
    return lambda bad: bad["panels"][1]["targets"][0].update(fields)


def in_nested_query(**fields: Any) -> Change:
    return lambda bad: bad["panels"][0]["panels"][0]["targets"][0].update(fields)


def in_board(**fields: Any) -> Change:
    return lambda bad: bad.update(fields)


def in_variable(number: int, **fields: Any) -> Change:
    return lambda bad: bad["templating"]["list"][number].update(fields)


def without_variable(number: int) -> Change:
    return lambda bad: bad["templating"]["list"].pop(number)


def linked(url: str) -> Change:
    return in_defaults(links=[{"title": "there", "url": url}])


def as_table(url: str, *excluded: str) -> Change:
    def change(bad: Json) -> None:
        bad["panels"][1]["type"] = "table"
        bad["panels"][1]["targets"][0].update(instant=True, range=False, format="table")
        bad["panels"][1]["transformations"] = [
            {"id": "organize", "options": {"excludeByName": dict.fromkeys(excluded, True)}}
        ]
        linked(url)(bad)

    return change


def transformed(*steps: Json) -> Change:
    def change(bad: Json) -> None:
        as_table("/d/esewatch-other")(bad)
        bad["panels"][1]["transformations"] = list(steps)

    return change


def overridden(*overrides: Json) -> Change:
    return lambda bad: bad["panels"][1]["fieldConfig"].update(overrides=list(overrides))


def coloured(bad: Json) -> None:
    """A column of a table, without a colour for a cell without a value."""
    as_table("/d/esewatch-other")(bad)
    column = {"id": "custom.cellOptions", "value": {"type": "color-background"}}
    bad["panels"][1]["fieldConfig"]["overrides"][2]["properties"].append(column)


TIMELESS = {"id": "filterFieldsByName", "options": {"exclude": {"names": ["Time"]}}}
MERGED = {"id": "merge", "options": {}}
GAP = {"matcher": {"id": "byType", "options": "number"}, "properties": [{"id": "noValue"}]}
LINE = {"matcher": {"id": "byFrameRefID", "options": "B"},
        "properties": [{"id": "custom.drawStyle", "value": "line"}]}  # fmt: skip
FILLED = {"matcher": {"id": "byType", "options": "number"},
          "properties": [{"id": "noValue", "value": "–"}]}  # fmt: skip
TO_OTHER = "/d/esewatch-other?${__url_time_range}&var-datasource=${datasource}"
TO_AGENT = "http://${__field.labels.instance:raw}"
COUNTER = f'ese_defrag_pages_read_total{{{AGENT},computer=~"$computer"}}'
STEPS = {"steps": [{"value": 0, "color": "#0072B2"}, {"value": 80, "color": "#D55E00"}]}

BAD: list[tuple[str, Change]] = [
    ("template-datasource", in_variable(0, name="source")),
    ("template-datasource", in_variable(0, label="Prometheus")),
    ("template-datasource", in_variable(0, query="loki")),
    ("template-datasource", without_variable(0)),
    ("template-job", without_variable(1)),
    ("template-job", in_variable(1, allValue=".*")),
    ("template-job", in_variable(1, query="label_values(esewatch_build_info, instance)")),
    ("template-instance", without_variable(2)),
    ("template-instance", in_variable(2, label="Agent")),
    ("template-instance", in_variable(2, multi=False)),
    ("template-label-promql", in_variable(3, query="label_values(ese_database_info{, computer)")),
    ("template-label-promql", in_variable(3, query="label_values(ese_nothing, computer)")),
    ("template-label-promql", in_variable(3, query="label_values(esewatch_build_info, computer)")),
    (
        "template-label-promql",
        in_variable(
            3, query='label_values({__name__=~"ese_database_info|ese_nothing"}, computer)'
        ),
    ),
    (
        "template-label-promql",
        in_variable(
            3, query='label_values({__name__=~"ese_database_info|esewatch_build_info"}, computer)'
        ),
    ),
    ("template-label-promql", in_variable(3, query="metrics(.*)")),
    ("template-on-time-change-reload", in_variable(3, refresh=1)),
    ("panel-datasource", in_panel(datasource={"type": "prometheus", "uid": "abc"})),
    ("panel-datasource", in_query(datasource={"type": "loki", "uid": "${datasource}"})),
    ("panel-datasource", in_board(annotations={"list": [{"name": "x", "datasource": None}]})),
    ("panel-title-description", in_panel(title="")),
    ("panel-title-description", in_panel(description="")),
    ("panel-title-description", in_panel(description="Two of them. Here.")),
    ("panel-units", in_defaults(unit="")),
    ("panel-units", in_defaults(unit="pages")),
    ("panel-no-targets", in_panel(targets=[])),
    ("target-promql", in_query(expr="sum by (computer (up)")),
    ("target-rate-interval", in_nested_query(expr=READ.replace("$__rate_interval", "5m"))),
    ("target-rate-interval", in_nested_query(expr=READ.replace("$__rate_interval", "$__range"))),
    ("target-job", in_query(expr=FRESH.replace('job=~"$job",', ""))),
    ("target-job", in_query(expr=FRESH.replace('job=~"$job"', 'job="$job"'))),
    ("target-job", in_query(expr=f"{FRESH} or up")),
    ("target-instance", in_query(expr=FRESH.replace(',instance=~"$instance"', ""))),
    ("target-counter-agg", in_query(expr=COUNTER)),
    ("target-counter-agg", in_query(expr=f"sum by (computer) (delta({COUNTER}[1h]))")),
    ("uneditable-dashboard", in_board(editable=True)),
    ("board-words", in_board(uid="esewatch-other")),
    ("board-words", in_board(title="")),
    ("board-words", in_board(description="no sentence")),
    ("board-words", in_board(refresh="")),
    ("board-words", in_board(tags=["ese"])),
    ("board-zone", in_board(timezone="utc")),
    ("board-zone", in_board(description="All that it should be.")),
    ("board-zone", in_panel(options={"legend": {"showLegend": True}, "timezone": ["utc"]})),
    ("board-links", in_board(links=[])),
    ("board-links", lambda bad: bad["links"][0].update(includeVars=False)),
    ("board-links", lambda bad: bad["links"][0].update(tags=["elsewhere"])),
    ("variables-known", in_query(expr=FRESH.replace("$computer", "$host"))),
    ("variables-known", lambda bad: bad["templating"]["list"].append(variable("version"))),
    ("variables-offer-all", in_variable(3, label="")),
    ("variables-offer-all", in_variable(3, multi=False)),
    ("variables-offer-all", in_variable(3, allValue="")),
    ("panel-titles", in_panel(title="Agents")),
    ("panel-no-value", in_defaults(noValue="Nothing")),
    ("panel-emptiness", overridden()),
    ("panel-emptiness", overridden(FILLED)),
    ("panel-emptiness", in_panel(type="stat", options={"textMode": "name"})),
    ("panel-limits", overridden(GAP, LINE)),
    ("panel-states", in_panel(type="state-timeline")),
    ("panel-tables", transformed(TIMELESS, MERGED)),
    ("panel-tables", coloured),
    ("panel-tables", lambda bad: (as_table("/d/esewatch-other")(bad), overridden()(bad))),
    ("panel-no-window", in_query(expr=f"ese_window_open{{{AGENT},computer=~\"$computer\"}}")),
    ("panel-colours", in_defaults(color={"mode": "fixed", "fixedColor": "red"})),
    ("panel-colours", in_defaults(color={"mode": "continuous-GrYlRd"})),
    ("panel-colours", in_panel(options={"legend": {"showLegend": False}})),
    ("panel-thresholds", in_defaults(thresholds=STEPS)),
    ("panel-layout", in_panel(gridPos={"x": 0, "y": 8, "w": 12, "h": 8})),
    ("panel-layout", in_panel(gridPos={"x": 12, "y": 0, "w": 5, "h": 8})),
    ("panel-layout", in_panel(gridPos={"x": 13, "y": 0, "w": 12, "h": 8})),
    ("panel-layout", in_panel(id=2)),
    ("panel-legend", in_query(legendFormat="")),
    ("panel-legend", in_query(legendFormat="{{database}} {{task}}")),
    ("panel-legend", in_query(legendFormat="age")),
    ("panel-data-links", linked("https://example.com/")),
    ("panel-data-links", linked(TO_OTHER.replace("other", "nowhere"))),
    ("panel-data-links", linked(f"{TO_OTHER}&var-device=x")),
    ("panel-data-links", linked("/d/esewatch-other?var-datasource=${datasource}")),
    ("panel-data-links", linked("/d/esewatch-other?${__url_time_range}")),
    ("panel-data-links", linked(f"{TO_OTHER}&var-computer=${{__field.labels.host}}")),
    ("panel-data-links", linked(f"{TO_AGENT}/runbooks/EseNothing")),
    ("panel-data-links", linked(f"{TO_AGENT}/database?computer=x")),
    ("panel-data-links", linked(f"{TO_AGENT}/nowhere")),
    ("panel-data-links", linked(f"{TO_AGENT.replace(':raw', '')}/")),
    ("panel-data-links", as_table("http://${__data.fields.instance:raw}/", "instance")),
    ("panel-data-links", as_table("http://${__data.fields.instance:raw}/computer?name=${__data.fields.h}")),
    ("panel-long", in_query(expr=" or ".join([FRESH] * 12))),
    ("target-known", in_query(expr=FRESH.replace("full_verification", "ful_verification"))),
    ("target-known", in_query(expr=FRESH.replace("computer=~", "host=~"))),
    ("target-selection", in_query(expr=FRESH.replace(',computer=~"$computer"', ""))),
    ("target-selection", in_query(expr=FRESH.replace('"$computer"', '"$instance"'))),
    ("target-typed-limit", in_query(expr=f"{FRESH} > 86400")),
    ("target-joins", in_query(expr=f"({FRESH}) * on (computer) ({FRESH})")),
    ("target-kind", in_query(instant=True)),
    ("target-kind", in_panel(type="table")),
]  # fmt: skip


def test_a_good_dashboard_breaks_no_rule() -> None:
    assert found_in(board()) == set()


GOOD_LINKS = [
    f"{TO_OTHER}&var-computer=${{__field.labels.computer:percentencode}}",
    f"{TO_AGENT}/runbooks/EseKnownBadPage",
    f"{TO_AGENT}/database?computer=${{__field.labels.computer}}&database=x",
    f"{TO_AGENT}/computer?name=${{__field.labels.computer}}",
    f"{TO_AGENT}/",
]


@pytest.mark.parametrize("url", GOOD_LINKS)
def test_a_link_that_leads_somewhere_breaks_no_rule(url: str) -> None:
    good = board()
    linked(url)(good)

    assert found_in(good) == set()


def test_the_time_may_be_taken_out_of_a_table_that_is_merged() -> None:
    good = board()
    transformed(MERGED, TIMELESS)(good)

    assert "panel-tables" not in found_in(good)


def test_a_column_that_is_shown_can_lead_somewhere() -> None:
    good = board()
    as_table("http://${__data.fields.instance:raw}/", "job")(good)

    assert found_in(good) == set()


@of_each(enumerate(BAD), lambda row: f"{row[1][0]}-{row[0]}")
def test_a_bad_dashboard_is_caught_by_its_rule(row: tuple[int, tuple[str, Change]]) -> None:
    _, (rule, change) = row
    bad = copy.deepcopy(board())
    change(bad)

    assert rule in found_in(bad)


def test_each_rule_has_a_dashboard_that_it_catches() -> None:
    assert {rule for rule, _ in BAD} == set(RULES)


JOIN = "max by (job, instance) (up) * on (job, instance) group_left (n) "
COUNTED = 'count_values by (job, instance) ("n", max by (job, instance) (ese_known_bad_pages))'


def test_a_join_with_a_value_that_became_a_label_is_judged_by_what_was_counted() -> None:
    many = COUNTED.replace("max by (job, instance)", "max by (job, instance, computer)")

    assert list(wrong_joins(JOIN + COUNTED)) == []
    assert list(wrong_joins(JOIN + many)) == ["*: many on the right side, told apart by n"]


def test_a_join_with_the_first_of_each_group_is_no_join_with_many() -> None:
    first = "topk by (job, instance) (1, ese_known_bad_pages)"
    several = first.replace("(1,", "(2,")

    assert list(wrong_joins(JOIN.replace("(n)", "(kind)") + first)) == []
    assert list(wrong_joins(JOIN.replace("(n)", "(kind)") + several)) != []
