"""Months as OpenMetrics: what replay writes of their records, and what the agent says of itself."""

import math
import re
from collections.abc import Iterator, Sequence, Set
from itertools import groupby
from pathlib import Path

from esewatch.expose.replay.replay_files import Grid, Placed, family_of, month_text
from esewatch.expose.replay.series_changes import (
    Replay,
    Series,
    SeriesChange,
    milliseconds,
    replayed_metrics,
)
from esewatch.model import Batch, Record
from tests.rules.expressions import alerts, recorded, recording_rules, uses
from tests.rules.quality.backfill import STEP
from tests.rules.quality.month import DAY, END, HOUR, START, Course, Month

JOB = "esewatch"
SOURCE = "logs"
MADE_BY_PROMETHEUS = frozenset({"up", "ALERTS", "ALERTS_FOR_STATE"})
OF_A_FLEET = frozenset({"esewatch_source_partitions", "esewatch_source_partitions_owned"})
"""Of workers that share the topics of Kafka; the months have one agent, cases are in
`agent_test.yml`."""


def asked_for() -> set[str]:
    """The metrics that alerting and recording rules name, recorded ones apart."""
    rules = [*alerts(), *recording_rules()]
    return {each.metric for rule in rules for each in uses(rule["expr"]).selectors} - recorded()


def healthy(month: Month) -> dict[tuple[str, str], Course]:
    """(metric, labels) -> its course, of what an agent says of itself and its source."""
    always: Course = [(START, 1.0)]
    build = 'version="1.0",python_version="3.11.7",kernel="compiled"'
    source = f'source="{SOURCE}"'
    hours = [START + hour * HOUR for hour in range(int((END - START) / HOUR))]
    return {
        ("esewatch_build_info", build): always,
        ("esewatch_host_caught_up", f'computer="{month.computer}"'): always,
        ("esewatch_host_up", f'computer="{month.computer}"'): always,
        ("esewatch_source_computers", source): always,
        ("esewatch_source_up", source): always,
        ("esewatch_source_caught_up", source): always,
        ("esewatch_source_records_total", source): [
            (time, 100.0 * at) for at, time in enumerate(hours)
        ],
        ("esewatch_source_last_record_timestamp_seconds", source): [(time, time) for time in hours],
        ("esewatch_source_unreadable_total", source): [(START, 0.0)],
        ("esewatch_source_missed_records_total", source): [(START, 0.0)],
        ("esewatch_source_unrebuilt_from_timestamp_seconds", source): [],
        ("esewatch_source_unrebuilt_until_timestamp_seconds", source): [],
        ("esewatch_perf_object_present", f'computer="{month.computer}",name="Online Defrag"'): (
            always
        ),
        ("esewatch_snapshot_timestamp_seconds", ""): [
            (START + at, START + at) for at in range(0, int(END - START), 240)
        ],
        ("esewatch_config_last_reload_successful", ""): always,
        ("esewatch_web_config_last_reload_successful", ""): always,
        ("esewatch_journal_commit_failures_total", ""): [(START, 0.0)],
        ("esewatch_databases_dropped_total", ""): [(START, 0.0)],
        ("esewatch_source_set_aside_total", source): [(START, 0.0)],
        ("esewatch_internal_errors_total", 'part="source"'): [(START, 0.0)],
        ("esewatch_journal_set_aside_timestamp_seconds", ""): [],
    }


def own_metrics() -> set[str]:
    """Those that `healthy` knows."""
    return {name for name, _ in healthy(Month("any", "any", []))}


def moments(records: Sequence[Record], since: float = START) -> Iterator[tuple[int, Batch]]:
    """The records by their time, as Replay takes them; before `since` those of a day at once."""

    def time(record: Record) -> int:
        when = getattr(record, "time", None)
        assert when is not None
        return milliseconds(when)

    def moment(record: Record) -> tuple[bool, int]:
        when = time(record)
        is_asked_for = when >= milliseconds(since)
        return is_asked_for, when if is_asked_for else when // milliseconds(DAY)

    ordered = sorted(records, key=time)
    for _, group in groupby(ordered, key=moment):
        together = list(group)
        yield time(together[-1]), Batch(records=together)


def replayed(
    month: Month,
    also: Set[str] = frozenset(),
    since: float = START,
    step: int = STEP,
) -> tuple[list[Series], list[SeriesChange]]:
    """What `esewatch replay` makes of the month, of what rules and `also` ask for.

    `step`: seconds between two samples.
    """
    known = replayed_metrics(()) - own_metrics()
    names = frozenset((asked_for() | also) & known)
    first = milliseconds(START)
    replay = Replay(month.settings, first, step * 1000, names)
    changes = list(replay.changes(moments(month.records, since)))
    return replay.series, changes


def _up(month: Month, grid: Grid) -> Iterator[str]:
    """`up`, which Prometheus itself makes."""
    course = month.own.get("up", [(START, 1.0)])
    ends = [time for time, _ in course[1:]] + [END + 1.0]
    for (begin, value), end in zip(course, ends, strict=True):
        head = f'up{{job="{JOB}",instance="{month.instance}"}} {value:.0f}'
        first, last = grid.before(milliseconds(begin)), grid.before(milliseconds(end))
        yield from (head + text for text in grid.texts[first:last])


def event_ids() -> set[str]:
    """Those that rules name: of the others nobody asks for the count."""
    rules = [*alerts(), *recording_rules()]
    return {
        identifier
        for rule in rules
        for each in uses(rule["expr"]).selectors
        for label, values in each.matchers
        if label == "event_id"
        for identifier in values.split("|")
    }


def _is_asked_for(one: Series, ids: set[str]) -> bool:
    found = re.search(r'event_id="(\d+)"', one.text)
    return found is None or found[1] in ids


def own(month: Month) -> tuple[list[Series], list[SeriesChange]]:
    """The agent's own series, those of `month.own` in place of healthy ones or beside them."""
    series, changes = [], []
    more = {
        (name.partition("{")[0], name.partition("{")[2].rstrip("}")): course
        for name, course in month.own.items()
        if "{" in name
    }
    for (name, labels), course in {**healthy(month), **more}.items():
        series.append(Series(name, f"{name}{{{labels}}}"))
        changes += [
            SeriesChange(milliseconds(time), len(series) - 1, value)
            for time, value in month.own.get(name, course)
        ]
    return series, changes


def labelled(one: Series, month: Month) -> Series:
    """With the labels that Prometheus adds to what it scrapes."""
    added = f'job="{JOB}",instance="{month.instance}"'
    name, labels = one.text.split("{", 1)
    return Series(one.name, f"{name}{{{added}{'' if labels == '}' else ','}{labels}")


def cut(placed: Sequence[Placed], first: int) -> list[Placed]:
    """Sorted changes from `first` (milliseconds) on, at first what each series had reached."""
    found = [one for one in placed if one[2] >= first]
    reached = {one[:2]: one for one in placed if one[2] < first}
    there = {one[:2] for one in found if one[2] == first}
    found += [
        (*key, first, one[3])
        for key, one in reached.items()
        if key not in there and not math.isnan(one[3])
    ]
    return sorted(found)


def write(
    path: Path,
    months: Sequence[Month],
    also: Set[str] = frozenset(),
    since: float = START,
    *,
    step: int = STEP,
) -> None:
    """All months as one OpenMetrics file, of `also` beside what rules ask for, from `since` on.

    `step`: seconds between two samples.
    """
    series: list[Series] = []
    placed: list[Placed] = []
    ids = event_ids()
    for month in months:
        for some, changes in (replayed(month, also, since, step), own(month)):
            begin = len(series)
            series += [labelled(one, month) for one in some]
            families = [family_of(one) for one in some]
            asked = [_is_asked_for(one, ids) for one in some]
            placed += [
                (families[it.series], begin + it.series, it.time, it.value)
                for it in changes
                if asked[it.series]
            ]
    placed.sort()
    if since > START:
        placed = cut(placed, milliseconds(since))
    grid = Grid(milliseconds(since), milliseconds(END), step * 1000)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for piece in month_text(series, placed, {}, grid):
            if piece != "# EOF\n":
                file.write(piece)
        for month in months:
            file.writelines(_up(month, grid))
        file.write("# EOF\n")


def unmade() -> set[str]:
    """Metrics that rules ask for and that neither a replay nor `healthy` has."""
    return asked_for() - own_metrics() - replayed_metrics(()) - MADE_BY_PROMETHEUS - OF_A_FLEET
