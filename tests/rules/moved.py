"""The promtool cases once more, with a partition that moves from one worker to another meanwhile.

A worker of a consumer group has metrics of the computers of its partitions. When a partition moves,
another instance has those of its computers from then on, and both have them for two samples.
Counters go on where they were, as where the journal moves with the partition.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from tests.rules.needed import seconds

BOTH = 2
"""Samples that both workers tell."""
INSTANCE = re.compile(r'\binstance="([^"]*)"')
RUN = re.compile(r"(?P<first>[^x+-]+|-?[^x+-]+)(?:(?P<step>[+-][^x]+))?x(?P<more>\d+)")


def parts(values: str, at: int) -> tuple[list[str], list[str]]:
    """The values of a series of promtool before the sample `at`, and from it on."""
    before: list[str] = []
    after: list[str] = []
    for word in values.split():
        count = _count(word)
        if at >= count:
            before.append(word)
        elif at <= 0:
            after.append(word)
        else:
            before.append(_run(word, 0, at))
            after.append(_run(word, at, count))
        at -= count
    return before, after


def samples(values: str) -> int:
    """Of a series of promtool."""
    return sum(map(_count, values.split()))


def _count(word: str) -> int:
    found = RUN.fullmatch(word)
    if found is None:
        return 1
    return int(found["more"]) + (found["first"] not in {"_", "stale"})


def _run(word: str, first: int, end: int) -> str:
    """The samples from `first` to before `end` of a run such as 0+1x10."""
    found = RUN.fullmatch(word)
    assert found
    if found["first"] in {"_", "stale"}:
        return f"{found['first']}x{end - first}"
    step = float(found["step"] or 0)
    begin = float(found["first"]) + first * step
    return f"{begin:.12g}{step:+.12g}x{end - first - 1}"


def doubled(case: dict[str, Any], leave_out: Collection[str] = ()) -> dict[str, Any] | None:
    """The case with all of it from a second worker as well; None where it asks of no alert."""
    tests = [test for test in asked(case) if test["alertname"] not in leave_out]
    return _told(case, tests, told_by_two)


def moved(case: dict[str, Any], stays: str = "") -> dict[str, Any] | None:
    """The case with a move, a third of the way to the last alert that fires; None without any.

    What the instance `stays` has it keeps.
    """
    tests = [test for test in asked(case) if test.get("exp_alerts")]
    last = max((seconds(test["eval_time"]) for test in tests), default=0.0)
    at = int(last / 3 / seconds(case["interval"]))

    def tell(series: dict[str, str]) -> Iterator[dict[str, str]]:
        kept = stays and f'instance="{stays}"' in series["series"]
        return iter([series]) if kept else handed_over(series, at)

    return _told(case, tests, tell)


def asked(case: dict[str, Any]) -> list[dict[str, Any]]:
    """What it asks of alerts that name no instance: the others are of one worker."""
    return [
        test
        for test in case.get("alert_rule_test", ())
        if not any("instance" in alert["exp_labels"] for alert in test.get("exp_alerts", ()))
    ]


def _told(
    case: dict[str, Any],
    tests: list[dict[str, Any]],
    tell: Callable[[dict[str, str]], Iterator[dict[str, str]]],
) -> dict[str, Any] | None:
    if not tests:
        return None
    series = [each for one in case["input_series"] for each in tell(one)]
    return {**case, "alert_rule_test": tests, "promql_expr_test": [], "input_series": series}


def told_by_two(series: dict[str, str]) -> Iterator[dict[str, str]]:
    """What both workers have of a series."""
    yield series
    if INSTANCE.search(series["series"]):
        yield _of_other(series, [series["values"]])


def handed_over(series: dict[str, str], at: int) -> Iterator[dict[str, str]]:
    """What the old and the new worker have of a series. What is of no computer stays at both."""
    if "computer=" not in series["series"] or not INSTANCE.search(series["series"]):
        yield from told_by_two(series)
        return
    old, _ = parts(series["values"], at + BOTH)
    _, new = parts(series["values"], at)
    yield {**series, "values": " ".join([*old, "stale"])}
    if new:
        yield _of_other(series, [f"_x{at}", *new])


def _of_other(series: dict[str, str], values: Sequence[str]) -> dict[str, str]:
    name = INSTANCE.sub(r'instance="of-\1"', series["series"])
    return {"series": name, "values": " ".join(values)}
