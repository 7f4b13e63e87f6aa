"""The dashboards: what is committed is what is built, and each panel is one a person can use."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.rules.expressions import ROOT, alerts, unknown, uses

FOLDER = ROOT / "dashboards"
FILES = sorted(FOLDER.glob("*.json"))
UNITS = {"short", "s", "cps"}
SAFE_COLOURS = {
    "#0072B2",
    "#E69F00",
    "#D55E00",
    "#009E73",
    "#56B4E9",
    "#CC79A7",
    "#F0E442",
    "#999999",
}
RANGE = re.compile(r"\[([^\]]+)\]")
VARIABLES = {"datasource", "job", "computer", "ese_instance", "database"}


def panels(board: dict[str, Any]) -> list[dict[str, Any]]:
    """All panels, rows apart."""
    found = [panel for panel in board["panels"] if panel["type"] != "row"]
    assert found, "no panels"
    return found


def loaded() -> list[dict[str, Any]]:
    boards = [json.loads(file.read_text()) for file in FILES]
    assert boards, "no dashboards"
    return boards


BOARDS = loaded()
PANELS = [(board, panel) for board in BOARDS for panel in panels(board)]
TARGETS = [(panel, target) for _, panel in PANELS for target in panel["targets"]]
each_board = pytest.mark.parametrize("board", BOARDS, ids=lambda board: board["uid"])
each_panel = pytest.mark.parametrize(
    "panel", [panel for _, panel in PANELS], ids=lambda panel: panel["title"]
)
each_query = pytest.mark.parametrize(
    ("panel", "target"),
    TARGETS,
    ids=[f"{panel['title']}-{target['refId']}" for panel, target in TARGETS],
)


def as_promql(expression: str) -> str:
    """The expression as Prometheus sees it, with everything selected."""
    return re.sub(r"\$\w+", ".*", expression.replace("$__rate_interval", "1m"))


def test_the_committed_files_are_what_the_builder_writes() -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / "build.py", "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.stderr == ""
    assert done.returncode == 0


@each_board
def test_a_dashboard_has_the_address_the_alerts_link_to(board: dict[str, Any]) -> None:
    links = {rule["annotations"]["dashboard_url"] for rule in alerts()}

    assert links
    assert any(f"/d/{board['uid']}" in link for link in links)


@each_board
def test_a_dashboard_is_not_editable_and_has_a_refresh(board: dict[str, Any]) -> None:
    assert board["editable"] is False
    assert board["refresh"]
    assert board["title"]
    assert board["description"].endswith(".")
    assert "esewatch" in board["tags"]


@each_board
def test_the_variables_are_lists_that_reload_and_can_take_all(board: dict[str, Any]) -> None:
    variables = {entry["name"]: entry for entry in board["templating"]["list"]}

    assert set(variables) == VARIABLES
    assert variables.pop("datasource")["query"] == "prometheus"
    for entry in variables.values():
        assert entry["type"] == "query"
        assert entry["datasource"]["uid"] == "${datasource}"
        assert entry["refresh"] == 2
        assert entry["multi"]
        assert entry["includeAll"]
        assert entry["label"]
        query = re.fullmatch(r"label_values\((.+), (\w+)\)", entry["query"])
        assert query
        assert list(unknown(as_promql(query[1]))) == []


@each_board
def test_the_panels_do_not_overlap_and_have_their_own_numbers(board: dict[str, Any]) -> None:
    cells: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        covered = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert max(x for x, _ in covered) < 24
        assert not cells & covered
        cells |= covered

    numbers = [panel["id"] for panel in board["panels"]]
    assert len(set(numbers)) == len(numbers)


@each_panel
def test_a_panel_says_what_it_shows_in_one_sentence(panel: dict[str, Any]) -> None:
    assert panel["title"]
    assert re.fullmatch(r"[A-Z][^.!?]+\.", panel["description"])


@each_panel
def test_a_panel_has_a_unit_and_words_for_emptiness(panel: dict[str, Any]) -> None:
    defaults = panel["fieldConfig"]["defaults"]

    assert defaults["unit"] in UNITS
    assert len(defaults["noValue"].split()) >= 2


@each_panel
def test_a_panel_asks_the_chosen_data_source(panel: dict[str, Any]) -> None:
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert panel["targets"]
    for target in panel["targets"]:
        assert target["datasource"] == panel["datasource"]


@each_panel
def test_colours_that_mean_something_are_told_apart_by_the_colour_blind(
    panel: dict[str, Any],
) -> None:
    text = json.dumps(panel["fieldConfig"])

    assert set(re.findall(r"#[0-9A-Fa-f]{6}", text)) <= SAFE_COLOURS
    assert not re.search(r'"(fixedColor|color)": "(?!#)[a-z-]+"', text)


@each_panel
def test_links_of_a_panel_lead_to_runbooks_that_exist(panel: dict[str, Any]) -> None:
    for link in panel["fieldConfig"]["defaults"].get("links", []):
        found = re.fullmatch(r"http://\$\{__field\.labels\.instance\}/runbooks/(\w+)", link["url"])
        assert found
        assert (ROOT / "docs" / "runbooks" / f"{found[1]}.md").is_file()


def test_the_integrity_alerts_are_linked_from_a_panel() -> None:
    text = json.dumps([panel for _, panel in PANELS])

    for rule in alerts():
        if "ese_known_bad_pages" in rule["expr"] and "Observed" not in rule["alert"]:
            assert f"/runbooks/{rule['alert']}" in text


@each_query
def test_a_query_names_only_what_exists(panel: dict[str, Any], target: dict[str, Any]) -> None:
    assert list(unknown(as_promql(target["expr"]))) == []


@each_query
def test_a_query_keeps_to_the_selection(panel: dict[str, Any], target: dict[str, Any]) -> None:
    for selector in uses(as_promql(target["expr"])).selectors:
        assert "job" in dict(selector.matchers)
        if selector.metric.startswith(("ese_", "esewatch_policy_")):
            assert "computer" in dict(selector.matchers)


@each_query
def test_a_query_has_a_range_that_fits_the_scrape_interval(
    panel: dict[str, Any], target: dict[str, Any]
) -> None:
    for window in RANGE.findall(target["expr"]):
        assert window == "$__rate_interval" or re.fullmatch(r"\d+d", window)


@each_query
def test_a_counter_is_never_shown_raw(panel: dict[str, Any], target: dict[str, Any]) -> None:
    expression = target["expr"]
    counters = [
        s.metric for s in uses(as_promql(expression)).selectors if s.metric.endswith("_total")
    ]

    for counter in counters:
        assert re.search(rf"(rate|increase)\({counter}\b", expression)


@each_query
def test_a_legend_names_labels_that_the_query_keeps(
    panel: dict[str, Any], target: dict[str, Any]
) -> None:
    assert target["legendFormat"]
    named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
    if re.match(r"(sum|max|min|count)\(", target["expr"]):
        assert not named
    elif panel["type"] != "stat":
        assert named


def test_read_freed_has_its_band_from_the_policy() -> None:
    (panel,) = [panel for _, panel in PANELS if panel["title"] == "Read:Freed"]
    text = json.dumps(panel)

    assert "esewatch_policy_ratio_high" in text
    assert "esewatch_policy_ratio_low" in text
    assert "custom.fillBelowTo" in text
    assert "no maintenance window on this model" in panel["fieldConfig"]["defaults"]["noValue"]
