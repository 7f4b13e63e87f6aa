"""Promtool cases of the alerts that carry what agents state now, made from a table.

Each of them is held against the same stories: the hold of the alert, an agent that restarts, dies
or moves, two agents of one computer, logs that are not read to their end. One step is five minutes;
the letters are those of latched.py, where `/` is an agent that has not read its logs to their end.
"""

from collections.abc import Iterator
from typing import Any

from esewatch.advice.alerts import FRESH, Carried
from tests.rules.latched import COMPUTER, SITE, SUBJECTS

MINUTES = 5
VALUES = {"+": "1", "-": "0", "?": "_", "_": "_", "/": "1"}
CAUGHT_UP = {"+": "1", "-": "1", "?": "1", "_": "_", "/": "0"}


class Story:
    """One group of cases about a finding of an alert at a severity; `hold` in steps."""

    def __init__(self, alert: str, severity: str, finding: str, hold: int, name: str) -> None:
        self.alert, self.of, self.hold, self.name = alert, FRESH[alert], hold, name
        subject: dict[str, str] = {self.of.level: SUBJECTS[self.of.level].format(6)}
        self.labels = {**COMPUTER, **subject, "severity": severity}
        self.finding = finding
        self.series: list[dict[str, str]] = []
        self.cases: list[dict[str, Any]] = []

    def agent(self, *told: str, **where: str) -> None:
        """What one agent says of the finding and of its logs, `WHATxSTEPS` each."""
        site = {**SITE, **where}
        self._add("ese_finding", {**site, **self.labels, "finding": self.finding}, told, VALUES)
        self._add("esewatch_host_caught_up", {**site, **COMPUTER}, told, CAUGHT_UP)

    def beside(self, value: int, **where: str) -> None:
        """Another agent, of this computer or of another one, that has read its logs or has not."""
        labels = {**SITE, **COMPUTER, **where}
        self._add("esewatch_host_caught_up", labels, (f"+x{400 + self.hold}",), {"+": f"{value}"})

    def _add(
        self, metric: str, labels: dict[str, str], told: tuple[str, ...], values: dict[str, str]
    ) -> None:
        inside = ",".join(
            f'{name}="{value}"'.replace("\\", "\\\\") for name, value in sorted(labels.items())
        )
        words = []
        for what, steps in (part.split("x") for part in told):
            value = values[what]
            words += [f"_x{steps}"] if value == "_" else [f"{value}+0x{int(steps) - 1}"]
        self.series.append({"series": f"{metric}{{{inside}}}", "values": " ".join(words)})

    def fires(self, *steps: int) -> None:
        kept = {name: value for name, value in SITE.items() if name != "instance"}
        finding = {} if self.of.one else {"finding": self.finding}
        self._asks(steps, [{"exp_labels": {**kept, **self.labels, **finding}}])

    def silent(self, *steps: int) -> None:
        self._asks(steps, [])

    def _asks(self, steps: tuple[int, ...], expected: list[dict[str, Any]]) -> None:
        for step in steps:
            time = f"{step * MINUTES}m"
            case = {"eval_time": time, "alertname": self.alert, "exp_alerts": expected}
            self.cases.append(case)

    def group(self) -> dict[str, Any]:
        """For promtool."""
        return {
            "name": f"{self.alert} {self.finding}: {self.name}",
            "interval": f"{MINUTES}m",
            "input_series": self.series,
            "alert_rule_test": self.cases,
        }


def stories(alert: str, severity: str, finding: str, hold: int) -> Iterator[Story]:
    """All that each of them must stand."""

    def story(name: str) -> Story:
        return Story(alert, severity, finding, hold, name)

    up = 3 + hold
    stays = story("it is told after its hold, over a restart of its agent, until it is over")
    stays.agent("?x3", f"+x{hold + 6}", "_x2", "+x10", "-x10", "?x10")
    stays.silent(2, up - 1)
    stays.fires(up, up + 6, up + 7, up + 15)
    stays.silent(up + 18, up + 30)
    yield stays

    dies = story("it ends with its agent, and begins anew with it")
    dies.agent("?x3", f"+x{hold + 6}", "_x12", f"+x{hold + 6}")
    dies.fires(up, up + 7)
    dies.silent(up + 9, up + 17, up + 17 + hold)
    dies.fires(up + 18 + hold)
    yield dies

    moved = story("an agent that moved goes on with the same alert, and ends it")
    moved.agent("?x3", f"+x{hold + 6}", "_x30")
    moved.agent(f"_x{up + 7}", "+x12", "-x12", instance="ex09:19703")
    moved.fires(up, up + 6, up + 10, up + 18)
    moved.silent(up + 19, up + 25)
    yield moved

    both = story("of two agents the one that has it counts")
    both.agent(f"+x{hold + 12}", "-x12")
    both.agent(f"+x{hold + 4}", "-x20", instance="ex01:29703")
    both.fires(hold + 1, hold + 10)
    both.silent(hold + 13, hold + 20)
    yield both

    yield from unread(story, FRESH[alert], hold)


def unread(story: Any, of: Carried, hold: int) -> Iterator[Story]:
    """Logs that are not read to their end: what is missing may be in them."""
    ends = story("while the logs of its computer are not read to their end")
    ends.agent("/x12", f"+x{hold + 6}", "/x6", "+x3")
    ends.beside(1, computer="ex02")
    if not of.absent:
        ends.fires(hold + 1, hold + 18)
        yield ends
        return
    ends.silent(11, 11 + hold)
    ends.fires(12 + hold, 17 + hold)
    ends.silent(18 + hold, 23 + hold)
    if hold:
        ends.silent(26 + hold)
    yield ends

    other = story("while another agent has not read the logs of its computer")
    other.agent(f"+x{hold + 12}")
    other.beside(0, instance="ex01:29703")
    other.silent(hold, hold + 11)
    yield other

    nobody = story("where nothing tells whether the logs of its computer are read")
    nobody.agent(f"+x{hold + 12}")
    nobody.series = [each for each in nobody.series if "caught_up" not in each["series"]]
    nobody.silent(hold, hold + 11)
    yield nobody


FILES = ("verification", "window", "copies", "checkdb", "engine")
GROUPS = [f"esewatch-{name}" for name in (*FILES, "window-findings", "engine-warnings")]
"""Of the alerts."""


def documents(rules: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The test files, one an alert, each with a name; `rules` are all alerts."""
    for alert in sorted(FRESH):
        groups = []
        for rule in (each for each in rules if each["alert"] == alert):
            hold = _minutes(rule.get("for", "0m")) // MINUTES
            severity = rule["labels"]["severity"]
            for finding in FRESH[alert].findings:
                groups += [each.group() for each in stories(alert, severity, finding, hold)]
        yield (
            f"fresh_{alert}",
            {
                "rule_files": [
                    "../../rules/findings.rules.yml",
                    "../../rules/esewatch.rules.yml",
                    *(f"../../alerts/{name}.yml" for name in FILES),
                ],
                "evaluation_interval": f"{MINUTES}m",
                "group_eval_order": ["esewatch-fresh", *GROUPS],
                "tests": groups,
            },
        )


def _minutes(hold: str) -> int:
    return int(hold[:-1]) * {"m": 1, "h": 60, "d": 1440}[hold[-1]]
