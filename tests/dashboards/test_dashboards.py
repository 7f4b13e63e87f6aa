"""The dashboards: what is committed is what is built, and what alerts and policies need is there.

Rules that hold for any dashboard are in linter.py.
"""

import json
import subprocess
import sys

import pytest

from dashboards.limits import DEFAULTS
from dashboards.parts import COUNT, DAYS, HOURS
from esewatch.expose.pages.overview import TILES
from tests.dashboards.boards import (
    FOLDER,
    Json,
    interpolated,
    list_query,
    loaded,
    named,
    panels,
    variables,
)
from tests.rules.expressions import ALERT_FILES, ROOT, alerts, rules_of, uses
from tests.support.patience import PATIENCE

BOARDS = {
    "esewatch-fleet",
    "esewatch-database",
    "esewatch-engine",
    "esewatch-storage",
    "esewatch-copies",
    "esewatch-sqlserver",
    "esewatch-agent",
}
GRID, LETTER, PADDING = 60, 7, 24
"""Pixels: of one of 24 columns in a window of 1440, of a letter, and of a cell without its text."""
each_board = pytest.mark.parametrize("board", loaded(), ids=lambda board: board["uid"])


def test_the_committed_files_are_what_the_builder_writes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dashboards.build", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert done.stderr == ""
    assert done.returncode == 0


def test_there_are_seven_dashboards_each_in_a_file_of_its_name() -> None:
    assert {file.stem for file in FOLDER.glob("*.json")} == BOARDS
    assert {board["uid"] for board in loaded()} == BOARDS


@each_board
def test_a_dashboard_has_few_panels(board: Json) -> None:
    assert len(panels(board)) <= (12 if board["uid"] == "esewatch-fleet" else 20)


@each_board
def test_a_table_has_pages(board: Json) -> None:
    tables = [panel for panel in panels(board) if panel["type"] == "table"]

    assert all(panel["options"]["footer"]["enablePagination"] for panel in tables)


@pytest.mark.parametrize("name", ["Databases by urgency", "Window advice"])
def test_a_table_of_the_fleet_has_a_hundred_rows(name: str) -> None:
    (fleet,) = [board for board in loaded() if board["uid"] == "esewatch-fleet"]
    (table,) = [panel for panel in panels(fleet) if panel["title"] == name]

    assert all("topk(100, " in target["expr"] for target in table["targets"])


@pytest.mark.parametrize("uid", ["esewatch-storage", "esewatch-copies", "esewatch-database"])
def test_lines_of_each_database_are_of_one_computer_or_database_at_first(uid: str) -> None:
    (board,) = [board for board in loaded() if board["uid"] == uid]
    first = "database" if uid == "esewatch-database" else "computer"

    assert not variables(board)[first]["includeAll"]


@each_board
def test_a_dashboard_can_be_seen_of_one_computer_and_of_one_agent(board: Json) -> None:
    assert {"datasource", "job", "instance", "computer"} <= set(variables(board))


@each_board
def test_a_dashboard_begins_with_something_that_is_open(board: Json) -> None:
    first = next(panel for panel in board["panels"] if panel["type"] != "row")

    assert first["gridPos"]["y"] <= 1


def test_the_window_advice_comes_last_in_the_fleet_and_is_collapsed() -> None:
    (fleet,) = [board for board in loaded() if board["uid"] == "esewatch-fleet"]
    last = fleet["panels"][-1]

    assert last["collapsed"]
    assert "ese_window_advice" in json.dumps(last["panels"])
    assert "ese_window_advice" not in json.dumps(fleet["panels"][:-1])


@pytest.mark.parametrize("name", ["computer", "database", "device"])
def test_the_dashboard_of_sql_server_offers_what_its_alerts_lead_to(name: str) -> None:
    (board,) = [board for board in loaded() if board["uid"] == "esewatch-sqlserver"]
    selector, label = list_query(variables(board)[name])
    (asked,) = uses(interpolated(selector, board, None, {})).selectors

    assert label == name
    assert {metric.partition("_")[0] for metric in named(asked)} == {"sqlserver"}


def test_the_fleet_begins_with_four_numbers() -> None:
    (fleet,) = [board for board in loaded() if board["uid"] == "esewatch-fleet"]
    first, *_ = shown = [panel for panel in fleet["panels"] if panel["type"] != "row"]
    row = [panel for panel in shown if panel["gridPos"]["y"] == first["gridPos"]["y"]]

    assert [panel["type"] for panel in row] == ["stat"] * 4
    assert sum(panel["gridPos"]["w"] for panel in row) == 24
    tiles = (TILES[name][1] for name in ("bad_pages", "unverified", "writes_at_risk", "blind"))
    assert [panel["title"] for panel in row] == [words.capitalize() for words in tiles]


def test_the_fleet_lists_what_fires_and_the_last_records_and_marks_what_happened() -> None:
    (fleet,) = [board for board in loaded() if board["uid"] == "esewatch-fleet"]
    shown = {panel["title"]: panel["targets"] for panel in panels(fleet)}

    assert "ALERTS{" in shown["Alerts that fire"][0]["expr"]
    assert "ese_computer_last_record_timestamp" in shown["Last record of each computer"][0]["expr"]
    assert [each["name"] for each in fleet["annotations"]["list"]] == [
        "Bad page",
        "Failover",
        "Window changed",
        "Agent restarted",
    ]
    assert all(each["textFormat"] for each in fleet["annotations"]["list"])


@pytest.mark.parametrize(
    "link", sorted({rule["annotations"]["dashboard_url"] for rule in alerts()})
)
def test_an_alert_leads_to_a_dashboard_that_exists(link: str) -> None:
    assert any(f"/d/{uid}" in link for uid in BOARDS)


def test_the_integrity_alerts_are_linked_from_a_panel() -> None:
    text = json.dumps(loaded())

    (file,) = (path for path in ALERT_FILES if path.stem == "integrity")
    about = [rule["alert"] for rule in rules_of(file)]
    assert len(about) > 5
    for alert in about:
        assert f"/runbooks/{alert}" in text


def test_each_limit_is_drawn_as_it_is_shipped() -> None:
    found = {
        name: each["query"]
        for board in loaded()
        for name, each in variables(board).items()
        if each["type"] == "constant"
    }

    assert found == {name: f"{value:.6g}" for name, value in DEFAULTS.items()}


def test_read_freed_has_its_band() -> None:
    (found,) = [
        panel
        for board in loaded()
        for panel in panels(board)
        if any("$ratioHigh" in target["expr"] for target in panel["targets"])
    ]
    text = json.dumps(found)

    assert "$ratioLow" in text
    assert "custom.fillBelowTo" in text


@each_board
def test_the_legend_of_lines_tells_what_is_now_and_that_of_bars_what_was_last(board: Json) -> None:
    for panel in panels(board):
        if panel["type"] == "timeseries":
            bars = panel["fieldConfig"]["defaults"]["custom"].get("drawStyle") == "bars"
            told = panel["options"]["legend"]["calcs"]

            assert told == ["lastNotNull" if bars else "last", "max"], panel["title"]


def test_what_is_counted_one_by_one_has_an_axis_of_whole_numbers_from_zero() -> None:
    counts = [
        (board["uid"], panel["title"], defaults)
        for board in loaded()
        for panel in panels(board)
        if (defaults := panel.get("fieldConfig", {}).get("defaults", {})).get("unit") == COUNT
    ]

    assert len(counts) >= 18
    assert [
        each for each in counts if (each[2].get("min"), each[2].get("decimals")) != (0, 0)
    ] == []


def test_durations_of_hours_and_days_have_an_axis_with_round_numbers_of_them() -> None:
    """Of seconds Grafana divides an axis at 100,000 and names the mark "1.16 days"."""
    units = {
        panel["title"]: panel["fieldConfig"]["defaults"]["unit"]
        for board in loaded()
        for panel in panels(board)
        if panel["type"] == "timeseries"
    }
    in_days = [title for title, unit in units.items() if unit == DAYS]
    in_hours = [title for title, unit in units.items() if unit == HOURS]
    in_seconds = [title for title, unit in units.items() if unit == "s"]

    assert in_days == [
        "Silence of computers",
        "Age of the last backup",
        "Age of the last copy that would mount",
        "Time left of the running pass",
        "Time since the last full verification",
        "Time since the last completed pass",
        "Time without a full CHECKDB",
    ]
    assert in_hours == [
        "Duration of the last completed pass",
        "Window: configured and recommended",
        "Duration of CHECKDB",
    ]
    assert all(
        "atency" in title or "scrapes" in title or "commits" in title for title in in_seconds
    )


@each_board
def test_lines_of_one_query_are_in_colours_of_their_own(board: Json) -> None:
    """Shades of one colour are nearly alike: they are there to tell queries apart."""
    for panel in panels(board):
        settings = overrides(panel)
        limits = {name for name, each in settings.items() if "custom.lineStyle" in each}
        modes = [each["color"]["mode"] for each in settings.values() if "color" in each]
        named = [{each["refId"], each["legendFormat"]} for each in panel["targets"]]

        assert "shades" not in modes or sum(not each & limits for each in named) > 1, panel["title"]


def overrides(panel: Json) -> dict[str, Json]:
    """Column of a table, series or query -> its settings."""
    found: dict[str, Json] = {}
    for each in panel["fieldConfig"]["overrides"]:
        settings = {setting["id"]: setting.get("value") for setting in each["properties"]}
        if each["matcher"]["id"] != "byType":
            found.setdefault(each["matcher"]["options"], {}).update(settings)
    return found


@pytest.mark.parametrize(
    "panel",
    [panel for board in loaded() for panel in panels(board) if panel["type"] == "table"],
    ids=lambda panel: panel["title"],
)
def test_titles_and_words_of_a_table_fit_its_columns(panel: Json) -> None:
    columns = {
        title: settings
        for title, settings in overrides(panel).items()
        if not settings.get("custom.hidden")
    }
    fixed = [settings.get("custom.width") for settings in columns.values()]
    free = fixed.count(None)
    share = (panel["gridPos"]["w"] * GRID - sum(filter(None, fixed))) / max(free, 1)
    cut = []
    for title, settings in columns.items():
        words = [title] + [
            mapped["text"]
            for mapping in settings.get("mappings", [])
            for mapped in mapping["options"].values()
        ]
        width = settings.get("custom.width", share)
        cut += [(word, width) for word in words if len(word) * LETTER + PADDING > width]

    assert len(columns) > 1
    assert cut == []


@each_board
def test_words_of_a_table_begin_at_the_left_and_its_percentages_are_whole(board: Json) -> None:
    for panel in panels(board):
        if panel["type"] == "table":
            columns = overrides(panel).items()
            words = {
                title for title, each in columns if "thresholds" in each and each.get("mappings")
            }
            percentages = {title for title, each in columns if each.get("unit") == "percentunit"}

            assert {t for t, each in columns if each.get("custom.align") == "left"} == words
            assert {t for t, each in columns if each.get("decimals") == 0} >= percentages
