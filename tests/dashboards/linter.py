"""Rules of a dashboard: those of grafana/dashboard-linter for Prometheus, and ours.

Each rule yields (panel's title, what is wrong), the title empty where it is about the dashboard.
Exclusions, each with its reason, are in dashboards/lint.yml. The first group has the names that
the rules have there (docs/rules, 2024-12); it is stricter in that every type of panel counts.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import promql_parser as ql

from dashboards.limits import DEFAULTS
from tests.dashboards.boards import VARIABLE, Json, list_query, named, panels, variables
from tests.rules.expressions import RUNBOOKS, Selector, golden, recorded, unknown, uses
from tests.rules.lint import counters, wrong_joins
from tests.rules.shapes import COMPARISONS, EITHER, bare, nodes, operator, shape

Problem = tuple[str, str]
Rule = Callable[[Json, Sequence[Json]], Iterator[Problem]]

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WITHOUT_QUERIES = {"text"}
UNITS_OF_GRAFANA = {
    "none", "short", "percent", "percentunit", "bool_yes_no", "s", "ms", "dtdurations", "dtdhms",
    "bytes", "decbytes", "Bps", "binBps", "ops", "rps", "wps", "iops", "locale",
    "suffix:d", "suffix:h",
    "count:pages/s", "count:records/s",
    "dateTimeAsIso", "dateTimeFromNow", "string",
}  # fmt: skip
"""Of packages/grafana-data/src/valueFormats/categories.ts what fits our metrics."""
COLOURS = {
    "#0072B2", "#E69F00", "#D55E00", "#009E73", "#56B4E9", "#CC79A7", "#F0E442", "#999999",
}  # fmt: skip
"""Okabe and Ito, and a grey for what is no series."""
SENTENCE = re.compile(r"[A-Z0-9][^.!?]*(?:\.(?=\S)[^.!?]*)*[.?]")
GROWTH = {"rate", "irate", "increase"}
RATE_INTERVAL = 4001
"""Milliseconds that stand for $__rate_interval: nobody writes them."""
DURATIONS = {"__rate_interval": f"{RATE_INTERVAL}ms", "__interval": "4003ms", "__range": "4007ms"}
NUMBERS = {"__range_s": "4007", "__interval_ms": "4003", "__range_ms": "4007000"}
NUMBERS |= {name: f"{value:g}" for name, value in DEFAULTS.items()}
ORIGINAL = {"job": "job", "instance": "instance"}
CHOSEN = {"computer", "ese_instance", "database", "device"}
"""Labels that a selector must match where its metric has them and the dashboard such a variable."""
OF_A_DATABASE = "ese_"
NO_WINDOW = "No window on this model"
WINDOW_METRIC = re.compile(r"ese_window_|.*pages_read_per_freed")
OF_PROMETHEUS = {"scrape_duration_seconds", "scrape_samples_scraped"}
"""Made by Prometheus for each target, like `up`."""
TAG = "esewatch"
PAGES_OF_AGENT = {"": set[str](), "database": {"computer", "database"}, "computer": {"name"}}
"""Path -> its parameters."""
LEAST_WIDTH = 6
ALL_COLUMNS = 24
LONGEST = 1200
"""Characters of PromQL in a panel: 12 lines of 100."""


class Target(NamedTuple):
    """A query with its panel."""

    panel: Json
    expression: str
    """Its PromQL; what Grafana fills in is a mark of its own where a length of time stands."""

    @property
    def title(self) -> str:
        """Of the panel."""
        return str(self.panel.get("title", ""))

    @property
    def tree(self) -> Any:
        """Parsed, None where it is no PromQL (target-promql says so)."""
        try:
            return ql.parse(self.expression)
        except ValueError:
            return None

    def selectors(self) -> Iterator[Any]:
        """Those of its metrics."""
        if self.tree is not None:
            yield from (n for n in nodes(self.tree) if isinstance(n, ql.VectorSelector))


def as_promql(expression: str) -> str:
    """With marks for what Grafana fills in where no variable may stand: outside of quotes."""

    def mark(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return DURATIONS.get(name) or NUMBERS.get(name) or found[0]

    return VARIABLE.sub(mark, expression)


def targets(board: Json) -> Iterator[Target]:
    """All queries of a dashboard."""
    for panel in asking(board):
        for target in panel.get("targets") or []:
            yield Target(panel, as_promql(target.get("expr", "")))


def asking(board: Json) -> list[Json]:
    """The panels that have queries."""
    return [panel for panel in panels(board) if panel["type"] not in WITHOUT_QUERIES]


def title_of(panel: Json) -> str:
    """The title, also where there is none."""
    return str(panel.get("title", ""))


# What dashboard-linter has.


def template_datasource(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """One variable for the data source, named so."""
    found = [each for each in variables(board).values() if each["type"] == "datasource"]
    if [each["name"] for each in found] != ["datasource"]:
        yield "", "not one variable for the data source, named datasource"
    for each in found:
        if str(each.get("label", "")).lower() != "data source":
            yield "", "the variable of the data source is not labelled Data source"
        if each.get("query") != "prometheus":
            yield "", "the data source is no Prometheus"


def _agent_variable(board: Json, name: str) -> Iterator[Problem]:
    found = variables(board).get(name)
    if found is None:
        yield "", f"no variable {name}"
        return
    wanted = {"type": "query", "datasource": DATASOURCE, "multi": True, "allValue": ".+"}
    for key, value in wanted.items():
        if found.get(key) != value:
            yield "", f"{name}: {key} is {found.get(key)!r}"
    if str(found.get("label", "")).lower() != name:
        yield "", f"{name} is labelled {found.get('label')!r}"
    if f"{name})" not in str(found.get("query", "")):
        yield "", f"{name}: the query asks for something else"


def template_job(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """A variable for the job, of several values."""
    yield from _agent_variable(board, "job")


def template_instance(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """A variable for the instance, of several values."""
    yield from _agent_variable(board, "instance")


def template_label_promql(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Variables ask for labels of metrics that exist."""
    for name, each in variables(board).items():
        if each["type"] != "query":
            continue
        try:
            selector, label = list_query(each)
            (found,) = uses(as_promql(selector)).selectors
        except (AssertionError, ValueError) as error:
            yield "", f"{name}: {error}"
            continue
        for metric in named(found):
            yield from (("", f"{name}: {each}") for each in unknown(_of_one(found, metric)))
            if metric in golden() and label not in golden()[metric] | set(ORIGINAL):
                yield "", f"{name}: {metric} has no label {label}"


def _of_one(selector: Selector, metric: str) -> str:
    """The selector with `metric` in the place of all the names that it has."""
    others = [f'{label}=~".+"' for label, _ in selector.matchers if label != "__name__"]
    return f"{metric}{{{','.join(others)}}}"


def template_on_time_change_reload(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Lists are read again when the time is changed."""
    for name, each in variables(board).items():
        if each["type"] == "query" and each.get("refresh") != 2:
            yield "", f"{name} does not reload on a change of time"


def panel_datasource(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Panels, queries and annotations ask the chosen data source."""
    for panel in asking(board):
        for asked in (panel, *(panel.get("targets") or [])):
            if asked.get("datasource") != DATASOURCE:
                yield title_of(panel), f"asks {asked.get('datasource')!r}"
    for each in board.get("annotations", {}).get("list", []):
        if each.get("datasource") != DATASOURCE:
            yield "", f"annotation {each.get('name')} asks {each.get('datasource')!r}"


def panel_title_description(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """A title, and one sentence."""
    for panel in panels(board):
        if not panel.get("title"):
            yield "", f"panel {panel.get('id')} has no title"
        if not SENTENCE.fullmatch(panel.get("description") or ""):
            yield title_of(panel), f"not one sentence: {panel.get('description')!r}"


def _settings(panel: Json) -> Iterator[tuple[str, Any]]:
    """(setting, value) of all its series, then of some."""
    config = panel.get("fieldConfig", {})
    yield from config.get("defaults", {}).items()
    for override in config.get("overrides", []):
        for each in override["properties"]:
            yield each["id"], each.get("value")


def panel_units(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """A unit that Grafana knows."""
    for panel in asking(board):
        units = [value for name, value in _settings(panel) if name == "unit"]
        if not panel.get("fieldConfig", {}).get("defaults", {}).get("unit"):
            yield title_of(panel), "no unit"
        for unit in units:
            if unit not in UNITS_OF_GRAFANA:
                yield title_of(panel), f"unit {unit!r}"


def panel_no_targets(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """A panel asks something."""
    for panel in asking(board):
        if not panel.get("targets"):
            yield title_of(panel), "no query"


def target_promql(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """A query is PromQL."""
    for target in targets(board):
        if target.tree is None:
            yield target.title, f"no PromQL: {target.expression}"


def target_rate_interval(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Growth is taken over $__rate_interval."""
    for target in targets(board):
        for node in nodes(target.tree) if target.tree is not None else ():
            if isinstance(node, ql.Call) and node.func.name in GROWTH:
                argument = bare(node.args[0])
                length = getattr(argument, "range", None)
                if length is None or round(length.total_seconds() * 1000) != RATE_INTERVAL:
                    yield target.title, f"{node.func.name}() over {length}"


def _must_match(board: Json, label: str) -> Iterator[Problem]:
    for target in targets(board):
        for selector in target.selectors():
            if not _matches(selector, label):
                yield target.title, f'{selector.name} without {label}=~"${label}"'


def _matches(selector: Any, label: str) -> bool:
    return any(
        m.name == label and m.value == f"${label}" and str(m.op).endswith(".Re")
        for m in selector.matchers.matchers
    )


def target_job(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Each selector keeps to the chosen jobs."""
    yield from _must_match(board, "job")


def target_instance(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Each selector keeps to the chosen instances."""
    yield from _must_match(board, "instance")


def target_counter_agg(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Of a counter its growth is shown, never its value."""
    for target in targets(board):
        if target.tree is not None:
            yield from ((target.title, f"raw {name}") for name in _raw(target.tree, grown=False))


def _raw(node: Any, *, grown: bool) -> Iterator[str]:
    node = bare(node)
    if isinstance(node, ql.VectorSelector):
        if not grown and (node.name in counters() or str(node.name).endswith("_total")):
            yield str(node.name)
    elif isinstance(node, ql.MatrixSelector):
        yield from _raw(node.vector_selector, grown=grown)
    elif isinstance(node, ql.Call):
        for argument in node.args:
            yield from _raw(argument, grown=node.func.name in GROWTH)
    elif isinstance(node, ql.BinaryExpr):
        yield from _raw(node.lhs, grown=False)
        yield from _raw(node.rhs, grown=False)
    elif hasattr(node, "expr"):
        yield from _raw(node.expr, grown=False)


def uneditable_dashboard(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """The code is the truth: nothing is changed in Grafana."""
    if board.get("editable") is not False:
        yield "", "can be edited"


# Ours: the dashboard and its variables.


def board_words(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """An address, a title, one sentence, a refresh, and the tag that the links go by."""
    if [each["uid"] for each in boards].count(board["uid"]) != 1 or TAG not in board["uid"]:
        yield "", f"uid {board['uid']!r}"
    if not board.get("title"):
        yield "", "no title"
    if not SENTENCE.fullmatch(board.get("description") or ""):
        yield "", f"not one sentence: {board.get('description')!r}"
    if not board.get("refresh"):
        yield "", "no refresh"
    if TAG not in board.get("tags", []):
        yield "", f"no tag {TAG}"


def board_zone(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """One time zone, that of the browser, and said."""
    zone = "time zone of the browser"
    if board.get("timezone") != "browser" or zone not in board.get("description", ""):
        yield "", f"does not say {zone!r}"
    for panel in panels(board):
        if "timezone" in panel.get("options", {}):
            yield title_of(panel), "a time zone of its own"


def board_links(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """It leads to all the others, with variables and time."""
    reached: set[str] = set()
    for link in board.get("links", []):
        if not (link.get("includeVars") and link.get("keepTime")):
            yield "", f"link {link.get('title')!r} loses variables or time"
        if link.get("type") == "dashboards":
            tags = set(link.get("tags", []))
            reached |= {each["uid"] for each in boards if tags <= set(each.get("tags", []))}
        else:
            reached.add(str(link.get("url", "")).removeprefix("/d/").partition("?")[0])
    for other in boards:
        if other["uid"] not in reached | {board["uid"]}:
            yield "", f"no link to {other['uid']}"


def variables_known(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Each variable is used, and each name that is used is one."""
    text = json.dumps([panels(board), board.get("annotations", {})])
    lists = {name: json.dumps(each.get("query", "")) for name, each in variables(board).items()}
    shown = {name for name in _names(text) if not name.startswith("__")}
    asked = {name: _names(query) for name, query in lists.items()}
    known = set(variables(board))
    for name in sorted((shown | set().union(*asked.values())) - known):
        yield "", f"no variable {name}"
    used = shown | set().union(*(asked[name] - {name} for name in asked))
    for name in sorted(known - used):
        yield "", f"variable {name} is not used"


def _names(text: str) -> set[str]:
    return {found[1] or found[2] for found in VARIABLE.finditer(text)}


def variables_offer_all(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Lists take several values, so that a path is escaped, and have a label."""
    for name, each in variables(board).items():
        if not each.get("label"):
            yield "", f"{name} has no label"
        if each["type"] == "query" and not each.get("multi"):
            yield "", f"{name} takes one value only: a path is not escaped for =~"
        if each["type"] == "query" and each.get("includeAll") and not each.get("allValue"):
            yield "", f"{name}: all is a list of all values, too long for a thousand databases"


# Ours: panels.


def panel_titles(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """No title twice."""
    titles = [title_of(panel) for panel in panels(board)]
    for title in sorted({title for title in titles if titles.count(title) > 1}):
        yield title, "a title that is there twice"


def panel_no_value(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Words for emptiness."""
    for panel in asking(board):
        words = panel.get("fieldConfig", {}).get("defaults", {}).get("noValue") or ""
        if len(words.split()) < 2:
            yield title_of(panel), f"words for emptiness: {words!r}"


def _of_fields(panel: Json, kind: str, setting: str) -> list[Any]:
    """What all fields of a type have set; None where a setting is taken away from them."""
    return [
        each.get("value")
        for override in panel.get("fieldConfig", {}).get("overrides", [])
        if override["matcher"] == {"id": "byType", "options": kind}
        for each in override["properties"]
        if each["id"] == setting
    ]


def panel_emptiness(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Words for emptiness are shown where all is empty, and only there.

    Tooltips and legends of Grafana put them in the place of each gap of a series
    (VizTooltip/utils.ts getContentItems, TimelineChart/utils.ts getFieldLegendItem); a stat of
    names shows nothing at all where it has no series (BigValueLayout.tsx getTextValues).
    """
    for panel in asking(board):
        over_time = panel["type"] in {"timeseries", "state-timeline"}
        if over_time and _of_fields(panel, "number", "noValue") != [None]:
            yield title_of(panel), "words for emptiness stand in each gap"
        if panel.get("options", {}).get("textMode") == "name":
            yield title_of(panel), "names alone: without series no words for emptiness"


def panel_limits(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """A line among bars is a line: what is set for the bars would fill what is below it."""
    for panel in asking(board):
        for override in panel.get("fieldConfig", {}).get("overrides", []):
            names = {each["id"] for each in override["properties"]}
            if "custom.drawStyle" in names and "custom.fillOpacity" not in names:
                yield title_of(panel), f"{override['matcher']['options']} is an area"


def panel_states(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """States have a legend: with colours by a scale, the default of Grafana, they have none."""
    for panel in asking(board):
        color = panel.get("fieldConfig", {}).get("defaults", {}).get("color") or {}
        if panel["type"] == "state-timeline" and color.get("mode") != "fixed":
            yield title_of(panel), f"no legend with colours by {color.get('mode')}"


def panel_tables(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Rows of several queries are merged even where one is empty, and labels stay what they are.

    Grafana merges by the columns that all answers have; an empty one has the time alone
    (merge.ts). Text in a column with a unit for numbers or dates becomes one where it can:
    the name 2024 is shown as 2.02 K (displayProcessor.ts). A coloured cell without a value has
    the first colour of the thresholds, by default green.
    """
    for panel in asking(board):
        if panel["type"] != "table":
            continue
        if _of_fields(panel, "string", "unit") != ["string"]:
            yield title_of(panel), "labels are formatted as numbers"
        for step in panel.get("transformations", []):
            if step["id"] == "merge":
                break
            if "Time" in str(step["options"]):
                yield title_of(panel), "without the time an empty answer keeps rows apart"
        for override in panel.get("fieldConfig", {}).get("overrides", []):
            settings = {each["id"]: each.get("value") for each in override["properties"]}
            coloured = (settings.get("custom.cellOptions") or {}).get("type", "auto") != "auto"
            if coloured and "thresholds" not in settings:
                yield title_of(panel), f"{override['matcher']['options']}: green where empty"


def panel_no_window(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """What only a window has says so where there is none."""
    for panel in asking(board):
        firsts = [next(target.selectors(), None) for target in targets({"panels": [panel]})]
        names = [str(first.name) for first in firsts if first is not None]
        words = panel.get("fieldConfig", {}).get("defaults", {}).get("noValue") or ""
        if any(WINDOW_METRIC.match(name) for name in names) and NO_WINDOW not in words:
            yield title_of(panel), f"does not say {NO_WINDOW!r}"


def panel_colours(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Colours of Okabe and Ito; Grafana's own palette only for series that a legend names."""
    for panel in panels(board):
        parts = [panel.get("fieldConfig", {}), panel.get("options", {})]
        for colour in sorted(set(_colours(parts)) - COLOURS):
            yield title_of(panel), f"colour {colour}"
        legend = panel.get("options", {}).get("legend", {}).get("showLegend")
        for mode in sorted(set(_modes(parts))):
            named = mode.startswith("palette-classic") and legend
            if mode not in {"fixed", "thresholds", "shades"} and not named:
                yield title_of(panel), f"colours by {mode}"


def _colours(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key in {"color", "fixedColor", "fillColor", "lineColor"} and isinstance(value, str):
                yield value
            else:
                yield from _colours(value)
    elif isinstance(node, list):
        for each in node:
            yield from _colours(each)


def _modes(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("color"), dict):
            yield str(node["color"].get("mode"))
        if node.get("id") == "color":
            yield str(node.get("value", {}).get("mode"))
        for value in node.values():
            yield from _modes(value)
    elif isinstance(node, list):
        for each in node:
            yield from _modes(each)


def panel_thresholds(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Limits come from the policy: of typed ones there is only "any" (1)."""
    for panel in panels(board):
        for name, value in _settings(panel):
            for step in (value or {}).get("steps", []) if name == "thresholds" else ():
                if step.get("value") not in {None, 0, 1}:
                    yield title_of(panel), f"typed threshold {step['value']}"


def target_typed_limit(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Nothing is compared with a typed number other than 0 and 1."""
    for target in targets(board):
        for node in nodes(target.tree) if target.tree is not None else ():
            if isinstance(node, ql.BinaryExpr) and operator(node) in COMPARISONS:
                for side in (bare(node.lhs), bare(node.rhs)):
                    if isinstance(side, ql.NumberLiteral) and side.val not in {0, 1}:
                        yield target.title, f"compared with {side.val:g}"


def panel_layout(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Nothing overlaps, nothing is too narrow for a phone, ids are unique."""
    outer = board.get("panels", [])
    for group in (outer, *(each.get("panels", []) for each in outer)):
        taken: dict[tuple[int, int], str] = {}
        for panel in group:
            yield from _place(panel, taken)
    numbers = [panel.get("id") for panel in [*outer, *panels(board)]]
    once = {id(panel): panel.get("id") for panel in [*outer, *panels(board)]}
    if None in numbers or len(set(once.values())) != len(once):
        yield "", "two panels of one id"


def _place(panel: Json, taken: dict[tuple[int, int], str]) -> Iterator[Problem]:
    place = panel["gridPos"]
    if place["x"] + place["w"] > ALL_COLUMNS:
        yield title_of(panel), "wider than the screen"
    if panel["type"] != "row" and place["w"] < LEAST_WIDTH:
        yield title_of(panel), f"only {place['w']} columns wide"
    covered = [
        (x, y)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    for other in sorted({taken[cell] for cell in covered if cell in taken}):
        yield title_of(panel), f"overlaps {other!r}"
    taken.update(dict.fromkeys(covered, title_of(panel)))


def panel_legend(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """The names of series use labels that they have, and tell them apart."""
    for panel in asking(board):
        for raw in panel.get("targets") or []:
            target = Target(panel, as_promql(raw.get("expr", "")))
            found = _shape(target)
            named = set(re.findall(r"\{\{\s*(\w+)\s*\}\}", raw.get("legendFormat") or ""))
            if not raw.get("legendFormat"):
                yield target.title, f"query {raw.get('refId')} has no name for its series"
            if found is None or panel["type"] == "table":
                continue
            for label in sorted(named - found.possible):
                yield target.title, f"the name has {label}, which the series lack"
            many = found.key - {"job"}
            if many and not named and panel["type"] != "stat":
                yield target.title, f"series of {', '.join(sorted(many))} have one name"


def _shape(target: Target) -> Any:
    """Labels of the result; None where the query is not understood, of which others tell."""
    try:
        return shape(ql.parse(target.expression))
    except (KeyError, ValueError):
        return None


def panel_data_links(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Links lead to what exists, by labels that the series have."""
    for panel in panels(board):
        links = [*panel.get("links", [])]
        for name, value in _settings(panel):
            links += (value or []) if name == "links" else []
        for link in links:
            for problem in _wrong_address(str(link.get("url", "")), boards):
                yield title_of(panel), f"{link.get('title')!r}: {problem}"
            for problem in _wrong_labels(str(link.get("url", "")), panel):
                yield title_of(panel), f"{link.get('title')!r}: {problem}"


def _wrong_address(url: str, boards: Sequence[Json]) -> Iterator[str]:
    to_board = re.fullmatch(r"/d/([\w-]+)(?:\?(.*))?", url)
    to_agent = re.fullmatch(
        r"http://\$\{__(?:field\.labels|data\.fields)\.instance:raw\}/(.*)", url
    )
    if to_board:
        uids = {board["uid"]: set(variables(board)) for board in boards}
        if to_board[1] not in uids:
            yield f"no dashboard {to_board[1]}"
            return
        given = set(re.findall(r"(?:^|&)var-(\w+)=", to_board[2] or ""))
        yield from (f"no variable {name}" for name in sorted(given - uids[to_board[1]]))
        if "datasource" not in given:
            yield "loses the data source"
        if "${__url_time_range}" not in url:
            yield "loses the time"
    elif to_agent:
        path, _, query = to_agent[1].partition("?")
        runbook = re.fullmatch(r"runbooks/(\w+)", path)
        if runbook:
            if not (RUNBOOKS / f"{runbook[1]}.md").is_file():
                yield f"no runbook {runbook[1]}"
        elif path not in PAGES_OF_AGENT:
            yield f"the agent has no page /{path}"
        elif set(re.findall(r"(?:^|&)(\w+)=", query)) != PAGES_OF_AGENT[path]:
            yield f"/{path} takes {sorted(PAGES_OF_AGENT[path])}"
    else:
        yield f"leads to {url!r}"


def _wrong_labels(url: str, panel: Json) -> Iterator[str]:
    """Labels in an address that the series lack, and columns that the table hides."""
    shapes = [_shape(target) for target in targets({"panels": [panel]})]
    known = [found.possible for found in shapes if found is not None]
    if not known:
        return
    organized = [each for each in panel.get("transformations", []) if each["id"] == "organize"]
    hidden = {
        name
        for each in organized
        for name, out in each["options"].get("excludeByName", {}).items()
        if out
    }
    for label in re.findall(r"\$\{__field\.labels\.(\w+)", url):
        if not any(label in labels for labels in known):
            yield f"no series has the label {label}"
    for column in re.findall(r"\$\{__data\.fields\.(\w+)", url):
        if not any(column in labels for labels in known):
            yield f"no series has the label {column}"
        elif column in hidden:
            yield f"the column {column} is taken out of the table"


# Ours: queries.


def target_known(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Metrics and labels exist."""
    for target in targets(board):
        if target.tree is not None:
            fine = {f"label {label!r}" for label in _made_labels(target.tree)}
            fine |= {f"metric {metric!r}" for metric in OF_PROMETHEUS}
            for problem in unknown(target.expression):
                if problem not in fine:
                    yield target.title, problem


def _made_labels(tree: Any) -> Iterator[str]:
    """Labels that the expression itself makes."""
    for node in nodes(tree):
        if isinstance(node, ql.Call) and node.func.name in {"label_replace", "label_join"}:
            yield bare(node.args[1]).val
        elif isinstance(node, ql.AggregateExpr) and operator(node) == "count_values":
            yield bare(node.param).val


def target_selection(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """A selector keeps to what is chosen, by the labels that its metric has."""
    offered = CHOSEN & set(variables(board))
    for target in targets(board):
        for selector in target.selectors():
            labels = _labels_of(str(selector.name))
            wanted = offered & labels
            if str(selector.name).startswith(OF_A_DATABASE):
                wanted |= {"computer"} & labels
            for label in sorted(wanted):
                if not _matches(selector, label):
                    yield target.title, f'{selector.name} without {label}=~"${label}"'
            for matcher in selector.matchers.matchers:
                named = re.fullmatch(r"\$(\w+)", matcher.value)
                if named and named[1] != matcher.name:
                    yield target.title, f"{matcher.name} takes the value of ${named[1]}"


def _labels_of(metric: str) -> frozenset[str]:
    """The labels of a metric; boards show the findings of databases alone."""
    if metric == EITHER[0]:
        return golden()[metric] - {EITHER[2]}
    if metric in recorded():
        made: frozenset[str] = shape(ql.parse(metric)).possible
        return made
    return golden().get(metric, frozenset())


def panel_long(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """What is longer nobody can read, and Prometheus pays for."""
    for panel in asking(board):
        letters = sum(len(target.get("expr", "")) for target in panel.get("targets") or [])
        if letters > LONGEST:
            yield title_of(panel), f"{letters} characters of PromQL"


def target_joins(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """Two metrics are joined by labels that tell the elements apart."""
    for target in targets(board):
        if _shape(target) is not None:
            yield from ((target.title, problem) for problem in wrong_joins(target.expression))


def target_kind(board: Json, boards: Sequence[Json]) -> Iterator[Problem]:
    """A query is either over time or of one moment; tables are of one moment."""
    for panel in asking(board):
        for target in panel.get("targets") or []:
            if bool(target.get("instant")) == bool(target.get("range")):
                yield title_of(panel), f"query {target.get('refId')} is both or neither"
            if panel["type"] == "table" and not (
                target.get("instant") and target.get("format") == "table"
            ):
                yield title_of(panel), f"query {target.get('refId')} is no table of one moment"


RULES: dict[str, Rule] = {
    rule.__name__.replace("_", "-"): rule
    for rule in (
        template_datasource,
        template_job,
        template_instance,
        template_label_promql,
        template_on_time_change_reload,
        panel_datasource,
        panel_title_description,
        panel_units,
        panel_no_targets,
        target_promql,
        target_rate_interval,
        target_job,
        target_instance,
        target_counter_agg,
        uneditable_dashboard,
        board_words,
        board_zone,
        board_links,
        variables_known,
        variables_offer_all,
        panel_titles,
        panel_no_value,
        panel_emptiness,
        panel_limits,
        panel_states,
        panel_tables,
        panel_no_window,
        panel_colours,
        panel_thresholds,
        panel_layout,
        panel_legend,
        panel_data_links,
        target_known,
        target_selection,
        target_typed_limit,
        panel_long,
        target_joins,
        target_kind,
    )
}


class Found(NamedTuple):
    """One breach of a rule."""

    rule: str
    board: str
    panel: str
    what: str


def lint(boards: Sequence[Json]) -> list[Found]:
    """All breaches of all rules."""
    return [
        Found(name, board["uid"], panel, what)
        for name, rule in RULES.items()
        for board in boards
        for panel, what in rule(board, boards)
    ]
