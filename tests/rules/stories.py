"""Promtool cases of the alerts that carry what agents state, made from tables.

Each of these alerts (esewatch/advice/alerts.py) is held against the same stories. `make test` runs
those of some that stand for all, in steps of minutes; `make test-slow` each alert, and by matrix.py
all of all.
"""

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from esewatch.advice.alerts import ALWAYS, FRESH, HELD, MORE, Carried, Level, severities
from tests.rules.expressions import ALERT_FILES, RULE_FILES, alerts, document_of
from tests.rules.needed import seconds

STEPS = {True: 600, False: 300}
"""Held or not: seconds between two samples, and two evaluations of the rules, in `make test`."""
SEEN = 360
"""Seconds for which an agent that is gone is still heard of, at the most: the lookback and more."""
CARRIED = 900
"""Seconds for which what is not held is carried, at the most."""
SUBJECTS: Mapping[Level, str] = {
    "database": "e:\\mdb{0:02}\\priv{0:02}.edb",
    "ese_instance": "SG{0:02}",
}
COMPUTER = {"computer": "ex01"}
SITE = {"job": "esewatch", "instance": "ex01:19703", "team": "mail"}
TARGET = {*SITE, *COMPUTER}
NO_TARGET = {"__name__", "severity"}
VALUES = {"+": "1", "-": "0", "?": "_", "_": "_", "/": "1", "!": "1"}
READ = {"+": "1", "-": "1", "?": "1", "_": "_", "/": "0", "!": "_"}
"""Whether an agent has read its logs to their end."""
STATED = frozenset("+~/!")

Labels = Mapping[str, str]
OTHER = {"critical": "warning", "warning": "critical", "info": "warning"}
ANOTHER_AGENT = {"instance": "log02:19703"}
OTHER_SEVERITY = {"severity": "other"}
RETIRED = {"__name__": "computer:esewatch_retired:info"}
COUNTER = {"__name__": "ese_page_errors_total"}
BESIDE = {"__name__": "esewatch_host_caught_up", **ANOTHER_AGENT}


class Story(NamedTuple):
    """What agents say, and whose alert fires."""

    name: str
    phases: str
    """Each is how long, a sign of each voice, and whose alert fires by then: the letters of voices
    (the first is `a`), or `.`. `+` is a finding that is stated, `-` one that is stated to be over,
    `?` an agent that says nothing of it, `_` no agent at all, `~` a `+` that is away for the last
    minutes of each hour, `/` a `+` of an agent that has not read its logs to their end, `!` one of
    which nothing tells whether it has. What is not held fires while it is stated, once it stood for
    so long as its alert waits; where something did not happen, only while all logs are read."""
    voices: Sequence[Labels] = ({},)
    """Labels in the place of those of SITE."""
    fresh: bool = False
    """`make test` runs it of what is not held, too."""
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
        fresh=True,
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
        fresh=True,
    ),
    Story("restarted each hour", "30m ? . | 6h ~ a | 1h - . | 1h ? .", fresh=True),
    Story(
        "another agent without its journal",
        "30m ?_ . | 1h +_ a | 1h __ a | 6h _? a | 1h _- . | 1h _? .",
        ({}, ANOTHER_AGENT),
    ),
    Story("lost its journal for two days", "30m ? . | 30m + a | 2d ? a | 1h - . | 1h ? ."),
    Story("journal rebuilt", "30m ? . | 1h + a | 1h ? a | 1h + a | 1h - . | 1h ? .", fresh=True),
    Story(
        "moved", "30m ?_ . | 1h +_ a | 1h _+ a | 1h _- . | 1h _? .", ({}, ANOTHER_AGENT), fresh=True
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
    Story(
        "its logs are not read to their end",
        "1h / a | 1h + a | 1h / a | 1h + a | 1h - .",
        fresh=True,
    ),
    Story(
        "another agent has not read its logs to their end",
        "30m ?- . | 1h +- a | 1h ++ a | 1h +- a | 1h -- .",
        ({}, BESIDE),
        fresh=True,
    ),
    Story("nothing tells whether its logs are read", "30m ? . | 1h ! a | 1h - .", fresh=True),
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
QUICK = {
    True: [story for story in STORIES if not story.scrape],
    False: [story for story in STORIES if story.fresh],
}
"""Held or not: those of `make test`."""


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
        if "__name__" in voice:
            return {**({} if "computer:" in voice["__name__"] else SITE), **COMPUTER, **voice}
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

    def values(self, sign: str, scrape: int, meaning: Mapping[str, str]) -> str:
        """The samples of a sign in it, for promtool."""
        if sign != "~":
            return _times(meaning[sign], self.length)
        hour, away = 3600 // scrape, max(1, 480 // scrape)
        return " ".join([_times("1", hour - away), _times("_", away)] * (self.length // hour))

    def letters(self, story: Story, row: Row) -> str:
        """Of the voices whose alert fires by its end."""
        if row.held:
            return self.fires.removeprefix(".")
        said = list(zip(self.says, story.voices, strict=True))
        if row.carried.absent and any(
            sign in "/!" or (voice is BESIDE and sign == "-") for sign, voice in said
        ):
            return ""
        stated = [sign in STATED and "__name__" not in voice for sign, voice in said]
        return "".join(chr(97 + number) for number, it in enumerate(stated) if it)


def _phases(story: Story, scrape: int, hold: int) -> Iterator[Phase]:
    """What is stated stands for so much longer as its alert waits."""
    start = 0
    for text in story.phases.split(" | "):
        length, says, fires = text.split(" ")
        unit = 3600 // scrape if "~" in says else 1
        time = seconds(length) + (hold if STATED & set(says) else 0)
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
    """The cases of a story about findings whose alerts wait alike."""
    scrape, evaluated = story.scrape or step, story.evaluated or step
    phases = list(_phases(story, scrape, about[0].hold))
    series: dict[str, str] = {}
    for number, voice in enumerate(story.voices):
        signs = [(phase, phase.says[number]) for phase in phases]
        said = " ".join(phase.values(sign, scrape, VALUES) for phase, sign in signs)
        read = " ".join(phase.values(sign, scrape, READ) for phase, sign in signs)
        for labels in (row.stated(voice) for row in about):
            series[_selector(labels)] = said
            target = {name: labels[name] for name in labels.keys() & {*TARGET, *voice} - NO_TARGET}
            caught_up = {**target, "__name__": "esewatch_host_caught_up"}
            if labels["__name__"] == "ese_finding":
                series.setdefault(_selector(caught_up), read)
    return {
        "name": story.name,
        "interval": f"{scrape}s",
        "input_series": [{"series": name, "values": said} for name, said in series.items()],
        "alert_rule_test": [
            {"eval_time": f"{time}s", "alertname": alert, "exp_alerts": expected}
            for alert, own in itertools.groupby(about, lambda row: row.alert)
            for time, expected in _cases(story, phases, list(own), scrape, evaluated)
        ],
    }


def _cases(
    story: Story, phases: list[Phase], about: list[Row], scrape: int, evaluated: int
) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """When an alert is asked for, and what fires: as soon as it is known, and as a phase ends."""
    row = about[0]
    for before, phase in zip([None, *phases], phases, strict=False):
        fires = list(_fires(story, phase, about))
        start, last = phase.start * scrape, (phase.start + phase.length) * scrape - 1
        was = before.letters(story, row) if before else ""
        silent = before and any(
            a not in "?_" and b in "?_" for a, b in zip(before.says, phase.says, strict=True)
        )
        soon: list[tuple[int, list[dict[str, Any]]]] = []
        if row.at_once:
            soon = [(start + evaluated + (SEEN if silent else 0), fires)]
        elif was and not fires:
            soon = [(start + CARRIED + scrape + evaluated, [])]
        elif fires and not was:
            seen = math.ceil(start / evaluated) * evaluated
            begins = seen + math.ceil(row.hold / evaluated) * evaluated
            soon = [(begins - evaluated, []), (begins, fires)]
        yield from (each for each in (*soon, (last, fires)) if 0 <= each[0] <= last)


def _fires(story: Story, phase: Phase, about: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """The alerts by the end of a phase, each once."""
    seen: list[dict[str, str]] = []
    for row in about:
        for letter in phase.letters(story, row):
            labels = row.fires(story.voices[ord(letter) - 97])
            if labels is not None and labels not in seen:
                seen.append(labels)
                yield {"exp_labels": labels}


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


def _of_alerts() -> Iterator[tuple[bool, str, list[Row]]]:
    """Whether it is held, alert, its rows."""
    about = [row for row in rows() if row.at_once or not row.held]
    for (held, alert), own in itertools.groupby(about, lambda row: (row.held, row.alert)):
        yield held, alert, list(own)


@functools.cache
def stand_for_all() -> frozenset[str]:
    """Alerts whose cases `make test` runs: one of each level and time that is waited.

    An expression is that of its row in the table (test_rules.py), or has more than that.
    """
    found, seen = set(MORE), set[tuple[object, ...]]()
    for held, alert, own in _of_alerts():
        kinds = {(held, row.hold, row.carried.level) for row in own}
        if not kinds <= seen:
            found.add(alert)
            seen |= kinds
    return frozenset(found)


def documents() -> Iterator[tuple[str, dict[str, Any]]]:
    """The test files, one an alert, each with a name."""
    for held, alert, own in _of_alerts():
        numbered = [row._replace(number=number) for number, row in enumerate(own, 6)]
        cases = [
            case
            for _, alike in itertools.groupby(numbered, lambda row: row.hold)
            for case in groups(QUICK[held], list(alike), STEPS[held])
        ]
        yield f"{'latched' if held else 'fresh'}_{alert}", document(cases, STEPS[held])
