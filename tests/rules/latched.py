"""Promtool cases of the alerts that outlive their agent, made from a table.

Each of them is held against the same stories: an agent that dies, comes back, moves, forgets, or
shares its computer with another. One step is ten minutes, and one minute where it comes back before
its tiers are recorded.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

MINUTES = 10
HOURS = 60 // MINUTES
COMPUTER = {"computer": "ex01"}
TRAITS = {
    "ese_instance": "SG06",
    "database_name": "priv06",
    "path": "E:\\MDB06",
    "role": "active",
    "model": "window",
    "generation": "2007",
    "page_size": "8192",
}
DATABASE = {"database": "e:\\mdb06\\priv06.edb"}
INSTANCE = {"ese_instance": "SG06"}
SITE = {"job": "esewatch", "instance": "ex01:19703", "team": "mail"}
KEPT = {"job", "team", "site"}


class Latched(NamedTuple):
    """An alert, and the state that it is about."""

    alert: str
    file: str
    metric: str
    subject: dict[str, str]
    bad: int = 1
    observed: str = "warning"
    """What it is where the database is only observed; empty where tiers do not matter."""


def _engine(alert: str, kind: str, bad: int = 1) -> Latched:
    subject = {**INSTANCE, "kind": kind}
    return Latched(alert, "engine.yml", "ese_engine_errors_open", subject, bad)


def _damage(alert: str, kind: str) -> Latched:
    return Latched(alert, "integrity.yml", "ese_known_damage", {**DATABASE, "kind": kind})


def _pages(kind: str) -> Latched:
    subject = {**DATABASE, "kind": kind}
    return Latched("EseKnownBadPage", "integrity.yml", "ese_known_bad_pages", subject, 2)


TABLE = (
    _pages("uncorrectable"),
    _pages("lost_flush"),
    _damage("EseLogicalCorruption", "logical"),
    _damage("EseCopyDivergence", "divergence"),
    _engine("EseIoError", "io", 2),
    _engine("EseLogSequenceHalted", "log_sequence"),
    _engine("EseDiskFull", "disk_full"),
    _engine("EseRecoveryFailed", "recovery"),
    _engine("EseVersionStoreFull", "version_store"),
    _engine("EseDatabaseFull", "database_full"),
    Latched(
        "SqlserverCheckdbFailed",
        "checkdb.yml",
        "sqlserver_checkdb_last_errors",
        {"database": "sales", "physical_only": "false"},
        observed="",
    ),
)

LIKE = {
    "EseDiskFull": "EseLogSequenceHalted",
    "EseRecoveryFailed": "EseLogSequenceHalted",
    "EseVersionStoreFull": "EseLogSequenceHalted",
}
"""Alerts whose rules are those of another one, but for the name and the kind."""


def series(metric: str, labels: dict[str, str], *values: str) -> dict[str, str]:
    """Of an input series; each value is `WHATxSTEPS`, `_` for nothing."""
    inside = ",".join(
        f'{name}="{value}"'.replace("\\", "\\\\") for name, value in sorted(labels.items())
    )
    parts = []
    for value in values:
        what, steps = value.split("x")
        parts += [what] * int(steps) if what != "_" or steps == "1" else [f"_x{steps}"]
    return {"series": f"{metric}{{{inside}}}", "values": " ".join(parts)}


class Story:
    """One group of cases about one alert."""

    def __init__(self, of: Latched, name: str, minutes: int = MINUTES) -> None:
        self.of, self.name, self.minutes = of, name, minutes
        self.series: list[dict[str, str]] = []
        self.cases: list[dict[str, Any]] = []

    def agent(self, *state: str, caught_up: str = "1", tier: str = "watched", **where: str) -> None:
        """What one agent tells: `+`, `-` and `_` (nothing at all), `?` (not of this) by step.

        `<` is one less than what fires.
        """
        common = {**SITE, **COMPUTER, **where}
        says = {"+": str(self.of.bad), "<": str(self.of.bad - 1), "-": "0", "_": "_", "?": "_"}
        told = [part.partition("x") for part in state]
        there = [("_" if what == "_" else "1", steps) for what, _, steps in told]
        info = [("_" if what in "_?" else "1", steps) for what, _, steps in told]
        self.add(self.of.metric, self.of.subject, common, [(says[w], s) for w, _, s in told])
        self.add("ese_database_info", {**DATABASE, **TRAITS, "tier": tier}, common, info)
        up = [("_" if what == "_" else caught_up, steps) for what, steps in there]
        self.add("esewatch_host_caught_up", {}, common, up)

    def add(
        self,
        metric: str,
        own: dict[str, str],
        common: dict[str, str],
        values: list[tuple[str, str]],
    ) -> None:
        """One input series."""
        told = [f"{what}x{steps}" for what, steps in values]
        self.series.append(series(metric, {**common, **own}, *told))

    def fires(self, *steps: int, severity: str = "critical", **where: str) -> None:
        """At each of these steps there is just this one alert."""
        labels = {**SITE, **where}
        kept = {name: value for name, value in labels.items() if name in KEPT}
        expected = {**kept, **COMPUTER, **self.of.subject, "severity": severity}
        self._asks(steps, [{"exp_labels": expected}])

    def silent(self, *steps: int) -> None:
        """At each of these steps there is none."""
        self._asks(steps, [])

    def _asks(self, steps: tuple[int, ...], expected: list[dict[str, Any]]) -> None:
        for step in steps:
            time = f"{step * self.minutes}m"
            case = {"eval_time": time, "alertname": self.of.alert, "exp_alerts": expected}
            self.cases.append(case)

    def group(self) -> dict[str, Any]:
        """For promtool."""
        return {
            "name": f"{self.of.alert}, {self.of.subject.get('kind', 'errors')}: {self.name}",
            "interval": f"{self.minutes}m",
            "input_series": self.series,
            "alert_rule_test": self.cases,
        }


def stories(of: Latched) -> Iterator[Story]:
    """All that each of them must stand."""
    yield from ends(of)
    yield from proves_nothing(of)
    yield from elsewhere(of)


def ends(of: Latched) -> Iterator[Story]:
    """What ends it, and that a dead agent does not."""
    dies = Story(
        of, "an agent that is dead for more than a day and comes back with it, then it is over"
    )
    dies.agent("-x3", "+x3", f"_x{28 * HOURS}", "+x6", "-x18")
    back = 6 + 28 * HOURS
    dies.silent(2)
    dies.fires(3, 6, 11, 12, 13, 4 * HOURS, 26 * HOURS, back - 1, back, back + 5)
    dies.silent(back + 6, back + 9, back + 17)
    yield dies

    clean = Story(of, "an agent that comes back without it ends it")
    clean.agent("-x3", "+x3", f"_x{6 * HOURS}", "-x6", f"_x{3 * HOURS}")
    clean.fires(5, 3 * HOURS, 5 + 6 * HOURS)
    clean.silent(6 + 6 * HOURS, 12 + 6 * HOURS, 17 + 6 * HOURS, 20 + 6 * HOURS)
    yield clean

    moved = Story(of, "an agent that moved goes on with the same alert")
    moved.agent("-x3", "+x3", f"_x{6 * HOURS}")
    moved.agent("_x12", "+x12", "-x12", instance="ex09:19703")
    moved.fires(5, 9, 12, 14, 23)
    moved.silent(24, 30)
    yield moved

    day = 26 * HOURS
    forgotten = Story(of, "what its agent of many days has forgotten ends after an hour")
    forgotten.agent(f"-x{day}", "+x3", "?x18")
    forgotten.fires(day, day + 8)
    forgotten.silent(day + 11, day + 17)
    yield forgotten

    over = Story(of, "what is over ends at once, also of an agent that has logs to read")
    over.agent("-x3", "+x3", "-x6", caught_up="0")
    over.fires(3, 5)
    over.silent(7, 11)
    yield over

    retired = Story(of, "a computer that is gone for good")
    retired.agent("-x3", "+x3", f"_x{6 * HOURS}")
    retired.add("computer:esewatch_retired:info", {}, COMPUTER, [("_", "24"), ("1", "12")])
    retired.fires(5, 23)
    retired.silent(24, 30)
    yield retired


def proves_nothing(of: Latched) -> Iterator[Story]:
    """Agents that say nothing of it."""
    behind = Story(
        of, "an agent that has lost its journal and is not done with the logs proves nothing"
    )
    behind.agent("-x3", "+x3", f"_x{4 * HOURS}")
    behind.add(
        "esewatch_host_caught_up", {}, {**SITE, **COMPUTER}, [("_", "30"), ("0", "12"), ("1", "12")]
    )
    behind.series.pop(2)
    behind.fires(5, 20, 31, 41)
    behind.silent(43, 50)
    yield behind

    other = Story(of, "another agent of the same computer proves nothing")
    day = 26 * HOURS
    other.agent(f"-x{day}", "+x3", f"_x{9 * HOURS}")
    other.agent(f"?x{day + 3 + 9 * HOURS}", instance="ex01:29703")
    other.silent(day - 1)
    other.fires(day, day + 8, day + 12, day + 8 * HOURS)
    yield other

    young = Story(of, "another agent proves nothing for days, where the first was known for hours")
    young.agent("-x6", "+x7", f"_x{4 * 24 * HOURS}")
    young.agent(f"?x{13 + 4 * 24 * HOURS}", instance="ex01:29703")
    young.silent(5)
    young.fires(7, 20, 13 + 12 * HOURS, 13 + 30 * HOURS, 13 + 3 * 24 * HOURS)
    yield young


def returns(of: Latched) -> Iterator[Story]:
    """An agent is back, and alerts are evaluated before the tiers of its databases are recorded."""
    back = Story(of, "an agent that comes back with it goes on with the same alert", 1)
    back.agent("+x10", "_x150", "+x10")
    back.fires(9, 100, *range(159, 170))
    yield back

    moved = Story(of, "so does one that moved", 1)
    moved.agent("+x10", "_x160")
    moved.agent("_x160", "+x10", instance="ex09:19703")
    moved.fires(9, 100, *range(159, 170))
    yield moved

    over = Story(of, "what is over when it comes back ends at once", 1)
    over.agent("+x10", "_x150", "<x10")
    over.fires(9, 159)
    over.silent(160)
    if of.bad > 1:
        over.fires(161, 169, severity="warning")
    else:
        over.silent(161, 169)
    yield over


def elsewhere(of: Latched) -> Iterator[Story]:
    """Other sites and other tiers."""
    sites = Story(of, "two sites with the same names of agents and computers")
    sites.agent("-x3", "+x3", f"_x{6 * HOURS}", site="a")
    sites.agent("-x42", site="b")
    sites.fires(4, 20, 40, site="a")
    yield sites

    if of.observed:
        observed = Story(of, "of a database that is only observed it is a ticket, and not kept")
        observed.agent("-x3", "+x6", "_x12", tier="observed")
        observed.silent(2)
        observed.fires(3, 13, severity=of.observed)
        observed.silent(15, 20)
        yield observed

        turned = Story(of, "of a database that is not watched any more it is a ticket at once")
        turned.agent("-x3", "+x18")
        del turned.series[1]
        common = {**SITE, **COMPUTER, **DATABASE, **TRAITS}
        turned.add("ese_database_info", {"tier": "watched"}, common, [("1", "12"), ("_", "9")])
        turned.add("ese_database_info", {"tier": "observed"}, common, [("_", "12"), ("1", "9")])
        turned.fires(4, 11)
        turned.fires(13, 20, severity=of.observed)
        yield turned


def name(of: Latched) -> str:
    """Of the file that it gets."""
    return "_".join((of.alert, *(of.subject[label] for label in ("kind",) if label in of.subject)))


def documents(of: Latched) -> Iterator[tuple[str, dict[str, Any]]]:
    """Its test files, each with a name."""
    recorded = ["esewatch-tiers", "esewatch-agents"]
    yield f"latched_{name(of)}", _document(of, MINUTES, [*recorded, "esewatch-engine"], stories(of))
    if of.file == "engine.yml":
        order = ["esewatch-engine", "esewatch-engine-warnings", *recorded]
        yield f"returns_{name(of)}", _document(of, 1, order, returns(of))


def _document(of: Latched, minutes: int, order: list[str], told: Iterable[Story]) -> dict[str, Any]:
    return {
        "rule_files": ["../../rules/tiers.rules.yml", f"../../alerts/{of.file}"],
        "evaluation_interval": f"{minutes}m",
        "group_eval_order": order,
        "tests": [story.group() for story in told],
    }
