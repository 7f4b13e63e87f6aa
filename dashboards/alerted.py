"""Lines with what they are held against."""

from collections.abc import Sequence

from grafana_foundation_sdk.builders import timeseries

from dashboards.limits import DEFAULTS
from dashboards.links import Link
from dashboards.parts import REFERENCES, Query, Words, finish, limits, lines


def drawn(limit: str, beside: str, name: str = "limit of the alert") -> Query:
    """A level line at a limit of limits.py, there only where `beside` has something: else the panel
    is empty. One that is 0 as shipped is there only where a site sets it."""
    line = f"vector(${limit})" if DEFAULTS[limit] else f"vector(${limit}) > 0"
    return Query(f"{line} and on () ({beside})", name)


def against(
    words: Words, queries: Sequence[Query], lines_of: Sequence[Query], links: Sequence[Link]
) -> timeseries.Panel:
    """Lines with what they are held against, dashed."""
    panel: timeseries.Panel = finish(lines(), words, [*queries, *lines_of], links)
    for reference in REFERENCES[len(queries) : len(queries) + len(lines_of)]:
        limits(panel, reference)
    return panel
