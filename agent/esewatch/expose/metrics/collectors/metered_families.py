"""Metric families of everything that has counters: instances, computers, devices."""

from esewatch.expose.metrics.collectors.samples import Labels, Samples
from esewatch.expose.metrics.rows.metric_catalogue import CATALOGUE
from esewatch.fold.readings import current
from esewatch.fold.state.state import SEPARATOR, Metered
from esewatch.names import printable

UNDIVIDED = "all"
"""The phase of a counter that counts all phases together."""


def add_metered(out: Samples, owner: Labels, metered: Metered, now: float) -> None:
    """Add the totals and the fresh levels of one owner; `owner` are its labels."""
    shown: dict[str, float | None] = {
        **metered.totals,
        **{key: current(level, now) for key, level in metered.levels.items()},
    }
    divided = {_whole(key) for key in shown if SEPARATOR in key and not _is_whole(key)}
    for key, value in sorted(shown.items()):
        if key in divided:
            # The same requests again, not separated by phase.
            continue
        metric, *labels = key.split(SEPARATOR)
        row = CATALOGUE.get(metric)
        if row is None:
            continue
        further = dict(zip(row.labels[len(owner) :], map(printable, labels), strict=True))
        out.add(metric, {**owner, **further}, value)


def _is_whole(key: str) -> bool:
    return key.endswith(SEPARATOR + UNDIVIDED)


def _whole(key: str) -> str:
    return key.rpartition(SEPARATOR)[0] + SEPARATOR + UNDIVIDED
