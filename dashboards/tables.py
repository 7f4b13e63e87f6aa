"""Tables: a row for each series, a column for each query."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from grafana_foundation_sdk.builders import common as common_builder
from grafana_foundation_sdk.builders import table
from grafana_foundation_sdk.models import dashboard

from dashboards.links import Link, built
from dashboards.parts import GREY, REFERENCES, Query, Words, config, finish, mappings, thresholds

NOTHING = "–"
"""A cell without a value; the words of the panel are for a table without rows."""


class Column(NamedTuple):
    """One column of a table: an instant query, whose value it shows."""

    title: str
    expression: str
    unit: str = "short"
    values: Mapping[str, tuple[str, str]] = {}
    """Value -> word and colour."""
    limit: Sequence[tuple[float | None, str]] = ()
    """Colours by value; the first step has no lower end."""
    links: Sequence[Link] = ()
    decimals: int | None = None
    """Of a number, or further units of a duration ("2 hours, 45 minutes" has 1)."""
    empty: str = NOTHING
    """Shown in a row that the query says nothing of."""
    shown: bool = True
    """False for a query that is there for its labels."""


def rows(
    words: Words,
    labels: Mapping[str, str],
    columns: Sequence[Column],
    *,
    hidden: Sequence[str] = (),
    links: Mapping[str, Sequence[Link]] | None = None,
    says: Mapping[str, Mapping[str, str]] | None = None,
    widths: Mapping[str, int] | None = None,
    height: int = 12,
    span: int = 24,
) -> table.Panel:
    """A table: a row for each series of the first column, columns joined by their labels.

    `labels` are the labels that are shown, in order, with their titles; `hidden` those that the
    queries keep, perhaps for links, and nobody needs to see. `links` and `says` (value -> words)
    are of labels, by title; `widths` are pixels, by title: all other columns share the rest
    equally, so that long words are cut. It is sorted by the first column of values, greatest first.
    """
    panel = finish(
        table.Panel().height(height).span(span).show_header(True),
        words,
        [Query(column.expression, column.title) for column in columns],
        instant=True,
        as_table=True,
    )
    pages = common_builder.TableFooterOptions().show(False).reducer([]).enable_pagination(True)
    panel.footer(pages).override_by_field_type("string", [config("unit", "string")])
    values = [f"Value #{REFERENCES[index]}" for index in range(len(columns))]
    if len(columns) == 1:
        values = ["Value"]
    names = [*labels, *values]
    order = [*list(labels)[:1], values[0], *list(labels)[1:], *values[1:]]
    titles = [*labels.values(), *(column.title for column in columns)]
    for step, options in (
        # Rows of two queries are one only where no column of both differs. The time stays: it is
        # the one column that an empty answer has too, and without one nothing is merged at all.
        ("filterFieldsByName", {"exclude": {"names": ["__name__"]}}),
        ("merge", {}),
        (
            "organize",
            {
                "excludeByName": {"Time": True},
                "indexByName": {name: order.index(name) for name in names},
                "renameByName": dict(zip(names, titles, strict=True)),
            },
        ),
        ("filterByValue", _there(columns[0].title)),
    ):
        panel.with_transformation(dashboard.DataTransformerConfig(id_val=step, options=options))
    for label in hidden:
        panel.override_by_name(label, [config("custom.hidden", True)])
    for title in labels.values():
        panel.override_by_name(title, _of_label(title, links or {}, says or {}))
    for column in columns:
        panel.override_by_name(column.title, _of_column(column))
    for title, pixels in (widths or {}).items():
        panel.override_by_name(title, [config("custom.width", pixels)])
    greatest_first = common_builder.TableSortByFieldState().display_name(columns[0].title)
    made: table.Panel = panel.sort_by([greatest_first.desc(True)])
    return made


def _there(title: str) -> dict[str, object]:
    """Rows that have a value in the column `title`: the others are of other queries alone."""
    known = {"fieldName": title, "config": {"id": "isNotNull", "options": {}}}
    return {"filters": [known], "match": "all", "type": "include"}


def _of_label(
    title: str, links: Mapping[str, Sequence[Link]], says: Mapping[str, Mapping[str, str]]
) -> list[dashboard.DynamicConfigValue]:
    found = [config("noValue", NOTHING)]
    if title in links:
        found.append(config("links", [built(each).build() for each in links[title]]))
    if title in says:
        texts = {
            value: dashboard.ValueMappingResult(text=text, index=index)
            for index, (value, text) in enumerate(says[title].items())
        }
        found.append(config("mappings", [dashboard.ValueMap(options=texts)]))
    return found


def _of_column(column: Column) -> list[dashboard.DynamicConfigValue]:
    found = [config("unit", column.unit), config("noValue", column.empty)]
    decimals = 0 if column.unit == "percentunit" else column.decimals
    if decimals is not None:
        found.append(config("decimals", decimals))
    if not column.shown:
        found.append(config("custom.hidden", True))
    if column.values:
        # Else a cell without a value is as green as a good one.
        found.append(config("thresholds", thresholds((None, GREY)).build()))
        found.append(config("mappings", mappings(column.values)))
        found.append(config("custom.align", "left"))
        found.append(config("custom.cellOptions", {"type": "color-background", "mode": "basic"}))
    if column.limit:
        found.append(config("thresholds", thresholds(*column.limit).build()))
        found.append(config("custom.cellOptions", {"type": "color-text"}))
    if column.links:
        found.append(config("links", [built(each).build() for each in column.links]))
    return found
