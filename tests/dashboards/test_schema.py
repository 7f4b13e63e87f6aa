"""The dashboards validate against Grafana's own types, turned into JSON Schema.

scripts/grafana-schema makes the schema; docs/decisions/0023-jsonschema.md says from what.
"""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from jsonschema.exceptions import best_match

from tests.dashboards.boards import Json, loaded, panels

SCHEMA: Json = json.loads((Path(__file__).parent / "grafana-schema-11.6.0.json").read_text())
PARTS: Json = SCHEMA["definitions"]
FIELD: Json = next(
    each["properties"]["fieldConfig"]["properties"]["defaults"]
    for each in PARTS["dashboard"]["properties"]["panels"]["items"]["anyOf"]
    if "fieldConfig" in each["properties"]
)
"""What is set of the series of a panel."""


OF_PROMETHEUS = {"expr", "titleFormat", "textFormat"}
"""Fields of an annotation (packages/grafana-prometheus, querybuilder and datasource.ts)."""


def problems(board: Json) -> Iterator[str]:
    """What Grafana's types do not allow: in the dashboard, and in what is the panel type's own."""
    yield from _wrong(PARTS["dashboard"], _without_plugins(board), "dashboard")
    for panel in panels(board):
        kind, title = panel["type"], panel.get("title", "")
        if f"options-{kind}" not in PARTS:
            yield f"{title}: panels of type {kind} are not in the schema (scripts/grafana-schema)"
            continue
        custom = PARTS[f"custom-{kind}"]
        config = panel.get("fieldConfig", {"defaults": {}, "overrides": []})
        yield from _wrong(PARTS[f"options-{kind}"], panel.get("options", {}), title)
        yield from _wrong(custom, config["defaults"].get("custom", {}), title)
        for override in config["overrides"]:
            for each in override["properties"]:
                group, _, name = each["id"].rpartition(".")
                # Without a value, what all series have is taken away from some.
                value = {name: each["value"]} if "value" in each else {}
                yield from _wrong(custom if group == "custom" else FIELD, value, title)


def _without_plugins(board: Json) -> Json:
    """Annotations without what their data source adds: its fields are in no type of Grafana's."""
    marked = [
        {name: value for name, value in each.items() if name not in OF_PROMETHEUS}
        for each in board.get("annotations", {}).get("list", [])
    ]
    return {**board, "annotations": {"list": marked}} if marked else board


def _wrong(schema: Json, value: Any, where: str) -> Iterator[str]:
    error = best_match(Draft7Validator(schema).iter_errors(value))
    if error is not None:
        yield f"{where}: {error.json_path}: {error.message[:300]}"


@pytest.mark.parametrize("board", loaded(), ids=lambda board: board["uid"])
def test_a_dashboard_validates(board: Json) -> None:
    assert list(problems(board)) == []


def good() -> Json:
    """The first dashboard, a panel of it with all that is checked."""
    board = copy.deepcopy(loaded()[0])
    first = next(panel for panel in panels(board) if panel["type"] == "timeseries")
    first["fieldConfig"]["defaults"]["custom"] = {"lineWidth": 2}
    first["fieldConfig"]["overrides"] = [
        {
            "matcher": {"id": "byName", "options": "x"},
            "properties": [
                {"id": "custom.fillOpacity", "value": 10},
                {"id": "unit", "value": "s"},
            ],
        }
    ]
    board["panels"] = [first]
    return board


WRONG: list[tuple[list[str | int], Any]] = [
    (["refresh"], 5),
    (["colour"], "red"),
    (["schemaVersion"], "41"),
    (["panels", 0, "gridPos", "h"], "8"),
    (["panels", 0, "heigth"], 8),
    (["panels", 0, "type"], "graph"),
    (["panels", 0, "options", "legend", "placement"], "below"),
    (["panels", 0, "options", "lines"], True),
    (["panels", 0, "fieldConfig", "defaults", "unit"], 5),
    (["panels", 0, "fieldConfig", "defaults", "custom", "lineWidth"], "thick"),
    (["panels", 0, "fieldConfig", "defaults", "custom", "linewidth"], 2),
    (["panels", 0, "fieldConfig", "overrides", 0, "properties", 0, "value"], "10"),
    (["panels", 0, "fieldConfig", "overrides", 0, "properties", 1, "id"], "units"),
    (["templating", "list", 0, "refresh"], "always"),
    (["templating", "list", 0, "automatic"], True),
]


def test_the_dashboard_that_is_made_wrong_is_right_before() -> None:
    assert list(problems(good())) == []


@pytest.mark.parametrize(("path", "value"), WRONG, ids=[str(path[-1]) for path, _ in WRONG])
def test_a_wrong_dashboard_is_refused(path: list[str | int], value: Any) -> None:
    board = good()
    found: Any = board
    for key in path[:-1]:
        found = found[key]
    found[path[-1]] = value

    assert list(problems(board))


def test_the_schema_says_where_it_is_from() -> None:
    assert "@grafana/schema 11.6.0" in SCHEMA["$comment"]
    assert "Apache-2.0" in SCHEMA["$comment"]
    assert '"description": "' not in json.dumps(SCHEMA)
