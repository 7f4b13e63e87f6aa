"""A Prometheus of the past: samples and recorded series as blocks, alerts as they would fire."""

import json
import subprocess
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.e2e.harness import Prometheus, get, seconds_of, serving
from tests.rules.expressions import alerts, recorded, recording_rules, uses
from tests.rules.quality.firing import Firing, firing
from tests.support.tools import require

STEP = 300
"""Seconds between two evaluations of the past."""
MOST_POINTS = 10_000
"""Prometheus answers with at most 11,000 for a series."""
BLOCK_SECONDS = 744 * 3600
"""The longest block that promtool makes: a month that lies in one is read once."""


class Fired(NamedTuple):
    """One alert, its labels (severity included), and when it fired."""

    alert: str
    severity: str
    labels: Mapping[str, str]
    when: Firing


def asked_by_alerts() -> Set[str]:
    """Names of the metrics that alerts are made of."""
    return {each.metric for rule in alerts() for each in uses(rule["expr"]).selectors}


def levels(asked: Set[str]) -> list[list[dict[str, Any]]]:
    """The recording rules that the metrics `asked` need, each list after what it is made of."""
    rules = {rule["record"]: rule for rule in recording_rules()}
    # What is held goes on by itself: there is nothing of it before the first samples.
    made = {
        name: {each.metric for each in uses(rule["expr"]).selectors} & rules.keys() - {name}
        for name, rule in rules.items()
    }
    wanted: set[str] = set()
    waiting = set(asked)
    while waiting:
        wanted |= waiting & rules.keys()
        waiting = {part for name in waiting & rules.keys() for part in made[name]} - wanted
    found: list[list[dict[str, Any]]] = []
    done: set[str] = set()
    while wanted > done:
        now = sorted(name for name in wanted - done if made[name] <= done)
        assert now, f"rules that are made of each other: {sorted(wanted - done)}"
        found.append([rules[name] for name in now])
        done.update(now)
    return found


def unrecorded(asked: Set[str]) -> Set[str]:
    """The metrics that `asked` are or are made of, and that no rule records."""
    rules = [rule for level in levels(asked) for rule in level]
    parts = {each.metric for rule in rules for each in uses(rule["expr"]).selectors}
    return (asked | parts) - recorded()


def load(text: Path, data: Path) -> None:
    """The samples of an OpenMetrics file as blocks of `data`."""
    _promtool("openmetrics", str(text), str(data))


def _promtool(*words: str) -> None:
    command = [require("promtool"), "tsdb", "create-blocks-from"]
    command += [f"--max-block-duration={BLOCK_SECONDS // 3600}h", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr


def record(folder: Path, data: Path, first: float, last: float, asked: Set[str]) -> None:
    """Add the recorded series that the metrics `asked` need to `data`, level after level."""
    for number, rules in enumerate(levels(asked)):
        file = folder / f"level-{number}.yml"
        file.write_text(yaml.safe_dump({"groups": [{"name": "level", "rules": rules}]}))
        with serving(folder, data) as prometheus:
            _promtool(
                "rules",
                *(f"--start={first:.0f}", f"--end={last:.0f}", f"--eval-interval={STEP}s"),
                *(f"--url={prometheus.url}", f"--output-dir={data}", str(file)),
            )


def fired(prometheus: Prometheus, first: float, last: float) -> list[Fired]:
    """All that would have fired from `first` to `last`, evaluated each STEP; Watchdog apart."""
    times = range(int(first // STEP) * STEP + STEP, int(last) + 1, STEP)
    return [
        found
        for rule in alerts()
        if rule["alert"] != "Watchdog"
        for found in _fired(prometheus, rule, times)
    ]


def tell(folder: Path, data: Path, first: float, last: float) -> None:
    """Add what Prometheus writes of alerts that fire to `data`, where all is that they ask for."""
    with serving(folder, data) as prometheus:
        found = fired(prometheus, first, last)
    file = folder / "alerts.om"
    holds = {rule["alert"]: seconds_of(rule.get("for", "0s")) for rule in alerts()}
    with file.open("w", encoding="utf-8", newline="\n") as text:
        for name in ("ALERTS", "ALERTS_FOR_STATE"):
            text.write(f"# TYPE {name} gauge\n")
            for alert, severity, labels, when in found:
                told = {**labels, "alertname": alert, "severity": severity}
                value: float = 1
                if name == "ALERTS":
                    told["alertstate"] = "firing"
                else:
                    value = when.start - holds[alert]
                listed = ",".join(f"{key}={json.dumps(told[key])}" for key in sorted(told))
                for time in range(int(when.start), int(when.end) + 1, STEP):
                    text.write(f"{name}{{{listed}}} {value:.0f} {time}\n")
        text.write("# EOF\n")
    load(file, data)
    file.unlink()


def _fired(prometheus: Prometheus, rule: dict[str, Any], times: range) -> Iterator[Fired]:
    present: dict[tuple[tuple[str, str], ...], set[int]] = {}
    for begin in range(0, len(times), MOST_POINTS):
        part = times[begin : begin + MOST_POINTS]
        for row in _range(prometheus, rule["expr"], part):
            labels = {**row["metric"], **rule.get("labels", {})}
            labels.pop("__name__", None)
            key = tuple(sorted(labels.items()))
            present.setdefault(key, set()).update(int(time) for time, _ in row["values"])
    hold, keep = seconds_of(rule.get("for", "0s")), seconds_of(rule.get("keep_firing_for", "0s"))
    for key, at in present.items():
        for when in firing(at, times, hold, keep):
            labels = dict(key)
            yield Fired(rule["alert"], labels["severity"], labels, when)


def _range(prometheus: Prometheus, expression: str, times: Sequence[int]) -> list[dict[str, Any]]:
    query = urllib.parse.urlencode(
        {"query": expression, "start": times[0], "end": times[-1], "step": STEP}
    )
    data = json.loads(get(f"{prometheus.url}/api/v1/query_range?{query}", 300.0))["data"]
    result: list[dict[str, Any]] = data["result"]
    return result
