"""Promtool cases of the alerts that carry what agents state, made from tables.

Each of these alerts (esewatch/advice/alerts.py) is held against the same stories. `make test` runs
those of what is held, alert by alert, ten minutes a step; matrix.py runs all of all.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from esewatch.advice.alerts import ALWAYS, FRESH, HELD, MORE, Carried, Level, severities
from tests.rules.expressions import ALERT_FILES, RULE_FILES, alerts, document_of
from tests.rules.needed import seconds

STEP = 600
"""Seconds between two samples, and two evaluations of the rules, in `make test`."""
SEEN = 360
"""Seconds for which an agent that is gone is still heard of, at the most: the lookback and more."""
SUBJECTS: Mapping[Level, str] = {
    "database": "e:\\mdb{0:02}\\priv{0:02}.edb",
    "ese_instance": "SG{0:02}",
}
COMPUTER = {"computer": "ex01"}
SITE = {"job": "esewatch", "instance": "ex01:19703", "team": "mail"}
TARGET = {*SITE, *COMPUTER}
NO_TARGET = {"__name__", "severity"}
VALUES = {"+": "1", "-": "0", "?": "_", "_": "_"}

Labels = Mapping[str, str]
OTHER = {"critical": "warning", "warning": "critical", "info": "warning"}
ANOTHER_AGENT = {"instance": "log02:19703"}
OTHER_SEVERITY = {"severity": "other"}
RETIRED = {"__name__": "computer:esewatch_retired:info"}
COUNTER = {"__name__": "ese_page_errors_total"}


class Story(NamedTuple):
    """What agents say, and whose alert fires."""

    name: str
    phases: str
    """Each is how long, a sign of each voice, and whose alert fires by then: the letters of voices
    (the first is `a`), or `.`. `+` is a finding that is stated, `-` one that is stated to be over,
    `?` an agent that says nothing of it, `_` no agent at all, `~` a `+` that is away for the last
    minutes of each hour."""
    voices: Sequence[Labels] = ({},)
    """Labels in the place of those of SITE."""
    scrape: int = 0
    """Seconds between two samples; 0: as the run says."""
    evaluated: int = 0
    """Seconds between two evaluations; 0: as the run says."""


LIFE = "30m ? . | 2h + a | 1h _ a | 1h + a | 1h - . | 1h ? ."
STORIES = (
    Story("3 days down", "30m ? . | 30m + a | 3d _ a | 1h + a | 2h - . | 4h ? ."),
    Story(
        "over, or acked, while its agent is away", "30m ? . | 30m + a | 6h _ a | 1h - . | 2h ? ."
    ),
    Story("ack", "30m ? . | 1h + a | 4h - . | 2h ? ."),
    Story("forget", "30m ? . | 1h + a | 4h - . | 2h _ ."),
    Story("never stood", "30m ? . | 1h - . | 1h ? ."),
    Story(
        "two replicas",
        "30m ?? . | 1h ++ a | 1h _+ a | 1h ++ a | 1h -- . | 1h ?? .",
        ({}, ANOTHER_AGENT),
    ),
    Story(
        "two replicas, one acked",
        "30m ?? . | 1h ++ a | 4h -+ a | 1h ?+ a | 1h ?- . | 1h ?? .",
        ({}, ANOTHER_AGENT),
    ),
    Story(
        "two sites with the same names",
        "30m ?? . | 1h +- a | 2h _- a | 1h _+ ab | 1h -+ b | 1h -- . | 1h ?? .",
        ({"site": "a"}, {"site": "b"}),
    ),
    Story("restarted each hour", "30m ? . | 6h ~ a | 1h - . | 1h ? ."),
    Story(
        "another agent without its journal",
        "30m ?_ . | 1h +_ a | 1h __ a | 6h _? a | 1h _- . | 1h _? .",
        ({}, ANOTHER_AGENT),
    ),
    Story("lost its journal for two days", "30m ? . | 30m + a | 2d ? a | 1h - . | 1h ? ."),
    Story("journal rebuilt", "30m ? . | 1h + a | 1h ? a | 1h + a | 1h - . | 1h ? ."),
    Story(
        "moved",
        "30m ?_ . | 1h +_ a | 1h _+ a | 1h _- . | 1h _? .",
        ({}, ANOTHER_AGENT),
    ),
    Story(
        "severity raised",
        "30m ?? . | 1h +? a | 2h -+ b | 1h ?+ b | 1h ?- . | 1h ?? .",
        (OTHER_SEVERITY, {}),
    ),
    Story(
        "a counter starts again",
        "30m ?- . | 1h ++ a | 1h +- a | 1h -- . | 1h ?- .",
        ({}, COUNTER),
    ),
    Story(
        "retired",
        "30m ?_ . | 1h +_ a | 2h __ a | 1h _+ . | 1h __ . | 1h +_ a | 1h -_ .",
        ({}, RETIRED),
    ),
    Story(
        "a namesake in another site is retired",
        "30m ?_ . | 1h +_ a | 2h _+ a | 1h -_ .",
        ({}, {**RETIRED, "site": "b"}),
    ),
    Story(
        "its target gets a label",
        "30m ?_ . | 1h +_ a | 1h _+ b | 1h __ b | 1h _- . | 2h _? . | 2h __ .",
        ({}, {"region": "north"}),
    ),
    Story(
        "its target gets the label of its site",
        "30m ?_ . | 1h +_ a | 1h _+ b | 1h __ b | 1h _- . | 2h _? . | 2h __ .",
        ({}, {"site": "a"}),
    ),
    Story("scraped each 15 s", LIFE, scrape=15),
    Story("scraped each minute", LIFE, scrape=60),
    Story("scraped each 5 min, and late", LIFE, scrape=307),
    Story("rules 5 min late", LIFE, scrape=60, evaluated=300),
    Story(
        "agent and Prometheus down for an hour",
        "30m ? . | 3h + a | 2h _ a | 3h + a | 70m - . | 70m ? .",
        scrape=60,
        evaluated=3900,
    ),
)
"""All that each of them must stand."""
QUICK = [story for story in STORIES if not story.scrape]


class Row(NamedTuple):
    """A finding at a severity, and the alert that carries it."""

    alert: str
    severity: str
    finding: str
    carried: Carried
    severities: frozenset[str]
    """Those with which it fires, as other agents may state it."""
    hold: int
    """Seconds for which it must stand."""
    number: int
    """Of the database or instance of which it is stated."""

    @property
    def at_once(self) -> bool:
        """It begins and ends at once, by statements alone."""
        return self.held and not self.hold

    @property
    def held(self) -> bool:
        """It ends by a statement alone, not with its agent."""
        return self.alert in HELD

    @property
    def of_any_severity(self) -> bool:
        """Of what it fires for besides it has the severities, of what it carries one."""
        return self.held and self.alert in MORE

    def stated(self, voice: Labels) -> dict[str, str]:
        """The series of a voice."""
        if voice.get("__name__") == RETIRED["__name__"]:
            return {**COMPUTER, **voice}
        about = {
            self.carried.level: SUBJECTS[self.carried.level].format(self.number),
            "finding": self.finding,
            "severity": self.severity,
        }
        labels = {"__name__": "ese_finding", **SITE, **COMPUTER, **about, **voice}
        if voice is OTHER_SEVERITY:
            labels["severity"] = OTHER[self.severity]
        return labels

    def fires(self, voice: Labels) -> dict[str, str] | None:
        """The labels of its alert; None where no rule is of its severity."""
        labels = self.stated(voice)
        gone = {"__name__", "instance"}
        if self.of_any_severity:
            labels["severity"] = self.severity
        if self.of_any_severity or self.carried.one:
            gone |= {"finding"}
        if labels["severity"] not in self.severities:
            return None
        return {name: value for name, value in labels.items() if name not in gone}


def rows() -> list[Row]:
    """Each finding that an alert carries, at each of its severities."""
    found: list[Row] = []
    fresh = {alert: [of] for alert, of in FRESH.items()}
    for alert, carried in sorted({**HELD, **fresh}.items()):
        rules = [rule for rule in alerts() if rule["alert"] == alert]
        own = {
            rule["labels"]["severity"]: rule
            for rule in rules
            if "severity" in rule.get("labels", {})
        }
        for of, finding in ((each, name) for each in carried for name in each.findings):
            told = severities(finding) if alert in HELD else sorted(own)
            for severity in told:
                hold = int(seconds(own.get(severity, rules[0]).get("for", "0s")))
                of_any = alert in HELD and alert not in MORE
                fires = frozenset(OTHER if of_any else told)
                found.append(Row(alert, severity, finding, of, fires, hold, len(found)))
    return found


class Phase(NamedTuple):
    """A part of a story, in samples."""

    start: int
    length: int
    says: str
    fires: str

    def values(self, sign: str, scrape: int) -> str:
        """The samples of a sign in it, for promtool."""
        if sign != "~":
            return _times(VALUES[sign], self.length)
        hour, away = 3600 // scrape, max(1, 480 // scrape)
        return " ".join([_times("1", hour - away), _times("_", away)] * (self.length // hour))


def _phases(story: Story, scrape: int, hold: int) -> Iterator[Phase]:
    """What is stated stands for so much longer as its alert waits."""
    start = 0
    for text in story.phases.split(" | "):
        length, says, fires = text.split(" ")
        unit = 3600 // scrape if "~" in says else 1
        time = seconds(length) + (hold if set(says) & set("+~") else 0)
        samples = math.ceil(time / (scrape * unit)) * unit
        yield Phase(start, samples, says, fires)
        start += samples


def _times(value: str, number: int) -> str:
    return f"_x{number}" if value == "_" else f"{value}+0x{number - 1}"


def groups(stories: Iterable[Story], about: Sequence[Row], step: int) -> list[dict[str, Any]]:
    """The cases of stories. What has one severity alone is not raised."""
    found = []
    for story in stories:
        raised = OTHER_SEVERITY in story.voices
        told = [row for row in about if not (raised and row.finding in ALWAYS)]
        found += [group(story, told, step)] if told else []
    return found


def group(story: Story, about: Sequence[Row], step: int) -> dict[str, Any]:
    """The cases of a story about findings whose alerts are alike: held or not, and for how long."""
    scrape, evaluated = story.scrape or step, story.evaluated or step
    phases = list(_phases(story, scrape, about[0].hold))
    series: dict[str, str] = {}
    for number, voice in enumerate(story.voices):
        signs = [(phase, phase.says[number]) for phase in phases]
        said = " ".join(phase.values(sign, scrape) for phase, sign in signs)
        there = " ".join(
            phase.values(sign if sign in "_~" else "+", scrape) for phase, sign in signs
        )
        for labels in (row.stated(voice) for row in about):
            series[_selector(labels)] = said
            target = {name: labels[name] for name in labels.keys() & {*TARGET, *voice} - NO_TARGET}
            caught_up = {**target, "__name__": "esewatch_host_caught_up"}
            if labels["__name__"] == "ese_finding":
                series.setdefault(_selector(caught_up), there)
    return {
        "name": story.name,
        "interval": f"{scrape}s",
        "input_series": [{"series": name, "values": said} for name, said in series.items()],
        "alert_rule_test": [
            {"eval_time": f"{time}s", "alertname": alert, "exp_alerts": expected}
            for before, phase in zip([phases[0], *phases], phases, strict=False)
            for time in _asked(before, phase, scrape, evaluated, at_once=about[0].at_once)
            for alert, expected in _expected(story, phase, about).items()
        ],
    }


def _asked(
    before: Phase, phase: Phase, scrape: int, evaluated: int, *, at_once: bool
) -> Iterator[int]:
    """When it is known what fires in a phase, and at its end."""
    silent = any(a not in "?_" and b in "?_" for a, b in zip(before.says, phase.says, strict=True))
    first = phase.start * scrape + evaluated + (SEEN if silent else 0)
    last = (phase.start + phase.length) * scrape - 1
    if at_once and first < last:
        yield first
    yield last


def _expected(story: Story, phase: Phase, about: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """By alert, what fires."""
    found: dict[str, list[dict[str, Any]]] = {row.alert: [] for row in about}
    for row in about:
        letters = phase.fires
        if not row.held:
            letters = "".join(chr(97 + n) for n, sign in enumerate(phase.says) if sign in "+~")
        voices = [voice for n, voice in enumerate(story.voices) if chr(97 + n) in letters]
        told = [row.fires(voice) for voice in voices if RETIRED.items().isdisjoint(voice.items())]
        for labels in told:
            alert = {"exp_labels": labels}
            if labels is not None and alert not in found[row.alert]:
                found[row.alert].append(alert)
    return found


def _selector(labels: Labels) -> str:
    inside = ",".join(
        f'{name}="{value}"'.replace("\\", "\\\\")
        for name, value in sorted(labels.items())
        if name != "__name__"
    )
    return f"{labels['__name__']}{{{inside}}}"


def document(groups: Sequence[dict[str, Any]], evaluated: int) -> dict[str, Any]:
    """A test file."""
    files = [file for file in (*RULE_FILES, *ALERT_FILES) if file.parent.name != "site"]
    names = {each["name"]: None for file in files for each in document_of(file)["groups"]}
    return {
        "rule_files": [str(file) for file in files],
        "evaluation_interval": f"{evaluated}s",
        "group_eval_order": list({"esewatch-held": None, "esewatch-fresh": None, **names}),
        "tests": list(groups),
    }


def documents() -> Iterator[tuple[str, dict[str, Any]]]:
    """The test files of `make test`, one an alert that is held, each with a name."""
    held = [row for row in rows() if row.at_once]
    for alert, about in itertools.groupby(held, lambda row: row.alert):
        own = [row._replace(number=number) for number, row in enumerate(about, 6)]
        yield f"latched_{alert}", document(groups(QUICK, own, STEP), STEP)
