"""Promtool cases of the alerts that carry what agents state, made from a table.

Each of them is held against the same stories: an agent that dies, comes back, moves, loses its
journal, or shares its computer with another; labels of targets that change; other sites. One step
is ten minutes. `+` is a finding that is stated, `-` one that is stated to be over, `?` an agent
that says nothing of it, `_` no agent at all.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from esewatch.advice.alerts import HELD, MORE, Level, severities

MINUTES = 10
HOURS = 60 // MINUTES
COMPUTER = {"computer": "ex01"}
SUBJECTS: dict[Level, dict[str, str]] = {
    "database": {"database": "e:\\mdb06\\priv06.edb"},
    "ese_instance": {"ese_instance": "SG06"},
}
SITE = {"job": "esewatch", "instance": "ex01:19703", "team": "mail"}
VALUES = {"+": "1", "-": "0", "?": "_", "_": "_"}


class Latched(NamedTuple):
    """An alert at a severity, and a finding that it carries."""

    alert: str
    severity: str
    level: Level
    finding: str

    @property
    def name(self) -> str:
        """Of its cases, and of the file with them."""
        return f"{self.alert}_{self.severity}_{self.level}_{self.finding}"

    @property
    def labels(self) -> dict[str, str]:
        """Of the finding, but for those of its target."""
        told = {"finding": self.finding, "severity": self.severity}
        return {**COMPUTER, **SUBJECTS[self.level], **told}


def table() -> Iterator[Latched]:
    """Each alert that carries a finding alone, with each finding at each of its severities."""
    for alert in sorted(HELD.keys() - MORE):
        for of in HELD[alert]:
            for finding in of.findings:
                for severity in severities(finding):
                    yield Latched(alert, severity, of.level, finding)


GROUPS = [
    "esewatch-checkdb",
    "esewatch-engine",
    "esewatch-integrity",
]
"""Of the alerts."""


class Story:
    """One group of cases about one alert."""

    def __init__(self, of: Latched, name: str) -> None:
        self.of, self.name = of, name
        self.series: list[dict[str, str]] = []
        self.cases: list[dict[str, Any]] = []

    def agent(self, *told: str, severity: str = "", **where: str) -> None:
        """What one agent says of the finding, `WHATxSTEPS` each."""
        labels = {**SITE, **self.of.labels, **where}
        labels["severity"] = severity or self.of.severity
        self._add("ese_finding", labels, told)

    def retired(self, *told: str, **where: str) -> None:
        """The computer is gone for good, by the rules of the site."""
        self._add("computer:esewatch_retired:info", {**COMPUTER, **where}, told)

    def _add(self, metric: str, labels: dict[str, str], told: tuple[str, ...]) -> None:
        inside = ",".join(
            f'{name}="{value}"'.replace("\\", "\\\\") for name, value in sorted(labels.items())
        )
        values = []
        for what, steps in (part.split("x") for part in told):
            value = VALUES[what]
            values += [f"_x{steps}"] if value == "_" else [f"{value}+0x{int(steps) - 1}"]
        self.series.append({"series": f"{metric}{{{inside}}}", "values": " ".join(values)})

    def fires(self, *steps: int, **labels: str) -> None:
        """At each of these steps there is just this one alert."""
        kept = {name: value for name, value in SITE.items() if name != "instance"}
        expected = {**kept, **self.of.labels, **labels}
        self._asks(steps, [{"exp_labels": expected}])

    def silent(self, *steps: int) -> None:
        """At each of these steps there is none."""
        self._asks(steps, [])

    def _asks(self, steps: tuple[int, ...], expected: list[dict[str, Any]]) -> None:
        for step in steps:
            time = f"{step * MINUTES}m"
            case = {"eval_time": time, "alertname": self.of.alert, "exp_alerts": expected}
            self.cases.append(case)

    def group(self) -> dict[str, Any]:
        """For promtool."""
        return {
            "name": f"{self.of.name}: {self.name}",
            "interval": f"{MINUTES}m",
            "input_series": self.series,
            "alert_rule_test": self.cases,
        }


def stories(of: Latched) -> Iterator[Story]:
    """All that each of them must stand."""
    dies = Story(
        of, "an agent that is dead for more than a day comes back with it, then it is over"
    )
    back = 6 + 28 * HOURS
    dies.agent("?x3", "+x3", f"_x{28 * HOURS}", "+x6", "-x12", "?x24")
    dies.silent(2)
    dies.fires(3, 6, 11, 13, 4 * HOURS, 26 * HOURS, back - 1, back, back + 3)
    dies.silent(back + 6, back + 9, back + 19, back + 40)
    yield dies

    over = Story(of, "it is over while its agent is away: its first word ends it")
    over.agent("?x3", "+x3", f"_x{6 * HOURS}", "-x6", "?x12")
    over.fires(3, 5 + 5 * HOURS)
    over.silent(6 + 6 * HOURS, 12 + 6 * HOURS, 20 + 6 * HOURS)
    yield over

    moved = Story(of, "an agent that moved goes on with the same alert, and ends it")
    moved.agent("?x3", "+x3", f"_x{6 * HOURS}")
    moved.agent("_x12", "+x12", "-x12", instance="ex09:19703")
    moved.fires(3, 9, 12, 20)
    moved.silent(24, 30)
    yield moved

    lost = Story(of, "an agent that lost its journal knows nothing of it, until it is acknowledged")
    lost.agent("?x3", "+x3", f"?x{40 * HOURS}", "-x6", "?x6")
    lost.fires(3, 12, 20 * HOURS, 4 + 40 * HOURS)
    lost.silent(6 + 40 * HOURS, 14 + 40 * HOURS)
    yield lost

    both = Story(of, "of two agents the one that still has it counts")
    both.agent("?x3", "+x12", "-x12")
    both.agent("?x3", "+x6", "-x18", instance="ex01:29703")
    both.fires(3, 10, 12)
    both.silent(15, 24)
    yield both

    never = Story(of, "what is stated to be over and never stood, and an agent that says nothing")
    never.agent("?x3", "-x6", "?x6")
    never.silent(1, 5, 12)
    yield never

    retired = Story(of, "a computer that is gone for good, not one of another site")
    retired.agent("?x3", "+x3", f"_x{6 * HOURS}")
    retired.retired("_x12", "+x24", site="b")
    retired.retired("_x24", "+x12")
    retired.fires(3, 14, 20)
    retired.silent(24, 30)
    yield retired

    yield from labels(of)


def labels(of: Latched) -> Iterator[Story]:
    """Sites, and labels of targets that come and go."""
    sites = Story(of, "two sites with the same names of agents and computers")
    sites.agent("?x3", "+x3", f"_x{6 * HOURS}", site="a")
    sites.agent("-x42", site="b")
    sites.retired("_x24", "+x18", site="b")
    sites.fires(3, 20, 36, site="a")
    yield sites

    added = Story(of, "a target gets a label while it fires")
    added.agent("?x3", "+x9", "_x24")
    added.agent("_x13", "+x11", "_x6", "-x12", "?x12", region="north")
    added.fires(3, 11)
    added.fires(14, 21, 27, region="north")
    added.silent(30, 41, 50)
    yield added

    told = Story(of, "a target gets the label of its site while it fires")
    told.agent("?x3", "+x9", "_x24")
    told.agent("_x13", "+x11", "_x6", "-x12", "?x12", site="a")
    told.fires(3, 11)
    told.fires(14, 21, 27, site="a")
    told.silent(30, 41, 50)
    yield told


def documents() -> Iterator[tuple[str, dict[str, Any]]]:
    """The test files, one an alert, each with a name."""
    rows: dict[str, list[Latched]] = {}
    for of in table():
        rows.setdefault(of.alert, []).append(of)
    for alert, carried in rows.items():
        yield (
            f"latched_{alert}",
            {
                "rule_files": [
                    "../../rules/findings.rules.yml",
                    "../../rules/tiers.rules.yml",
                    "../../rules/logs.rules.yml",
                    "../../alerts/integrity.yml",
                    "../../alerts/engine.yml",
                    "../../alerts/checkdb.yml",
                ],
                "evaluation_interval": f"{MINUTES}m",
                "group_eval_order": ["esewatch-held", *GROUPS],
                "tests": [story.group() for of in carried for story in stories(of)],
            },
        )
