"""A made-up estate as Prometheus would have it: blocks of samples of thousands of databases.

What an agent and our rules tell of one server of ten databases is real; it is repeated under
other names. What nothing reads is left out. A series that a window of more than a day reads goes
back for 30 days, one that a window of more than an hour reads for a day, and any other for two
hours: a rule reads no more. What only windows of boards read goes back so far of one server alone,
the one that they show. There is a sample each five minutes, and of what a rule records more seldom
one each time.
"""

import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import promql_parser
import yaml

from bench.fleet import COUNTERS, DATABASES_A_SERVER, SAMPLE, Fleet, Store, cpu_seconds
from tests.dashboards.boards import Span, interpolated, metrics, queries
from tests.e2e.harness import Prometheus, serving, start_agent, start_prometheus, wait_for
from tests.rules.expressions import recording_rules, uses
from tests.support.tools import require

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("rules", "alerts")
STEP = 300
DAY = 86400
HISTORY_DAYS = 30
HOUR = 3600
BLOCK = 2 * HOUR
"""Seconds of the shortest block of Prometheus."""
LONGEST_BLOCK = "744h"
"""promtool reads its input once for each block."""
DATABASES_AN_AGENT = 1000
SERVER = "ex000"
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_OPERATORS = (
    (promql_parser.MatchOp.Equal, "="),
    (promql_parser.MatchOp.NotEqual, "!="),
    (promql_parser.MatchOp.Re, "=~"),
    (promql_parser.MatchOp.NotRe, "!~"),
)
BUSY = 0.5
"""Part of the rates of the fleet at which the counters of a server go around the clock."""


class Server(Fleet):
    """The logs of one server that is at work just now, with a streaming backup each evening."""

    def __init__(self, folder: Path) -> None:
        now = datetime.now(UTC).replace(second=0, microsecond=0)
        super().__init__(folder, DATABASES_A_SERVER, now - timedelta(days=HISTORY_DAYS))
        self.opens = self.now + timedelta(hours=1)

    @property
    def settings(self) -> dict[str, object]:
        """With a window, a number of mailboxes, and a device for each database: all is well."""
        window = {"start": f"{self.opens:%H:%M}", "duration": "4h", "timezone": "UTC"}
        of_all = [
            {
                "match": f"*\\db000{number}.edb",
                "window": "nightly",
                "device": f"lun{number}",
                "mailboxes": 100,
            }
            for number in range(DATABASES_A_SERVER)
        ]
        return {**super().settings, "windows": {"nightly": window}, "databases": of_all}

    def _events(self, stores: list[Store]) -> Iterator[str]:
        yield from super()._events(stores)
        begin = self.now + timedelta(hours=20)
        for store in stores:
            lone = [*store.head[:3]]
            yield self._line(store, begin, 210, [])
            yield self._line(store, begin, 220, ["45705 Mb"])
            yield self._line(store, begin + timedelta(minutes=19), 221, [])
            yield self._line(store, begin + timedelta(minutes=20), 213, lone[3:])

    def _samples(self, stores: int) -> Iterator[str]:
        at, end = self.now, self.now + timedelta(days=1)
        cells = '","'.join([f"{value * BUSY:.6f}" for _, value in COUNTERS] * stores)
        while at < end:
            at += SAMPLE
            yield f'"{at:%m/%d/%Y %H:%M:%S}.000","{cells}"\r\n'


class Sample(NamedTuple):
    """One series of the server, its labels as text without braces, and its value now."""

    name: str
    labels: str
    value: float
    of_agent: bool
    """Whether it is told once by each agent, not of each server."""


def told(folder: Path) -> list[Sample]:
    """All that a Prometheus has of one server: what its agent tells and what our rules record."""
    server = Server(folder / "logs")
    server.grow(HISTORY_DAYS)
    with (
        start_agent(folder / "agent", server.settings) as agent,
        start_prometheus(folder / "prometheus", [agent.address]) as prometheus,
    ):
        of_rules = '{__name__=~".+:.+"}'
        counts = [-1]

        def settled() -> bool:
            counts.append(len(prometheus.query(of_rules)))
            return len(counts) > 6 and counts[-1] > 0 and len(set(counts[-5:])) == 1

        wait_for("recorded series", settled, seconds=120.0, every=4.0)
        rows = [*prometheus.query('{job="esewatch"}'), *prometheus.query(of_rules)]
    found = {}
    for labels, value in rows:
        name = labels.pop("__name__")
        if name in {"ALERTS", "ALERTS_FOR_STATE"}:
            continue
        labels["instance"] = "AGENT"
        text = ",".join(f'{key}="{_escaped(each)}"' for key, each in sorted(labels.items()))
        found[name, text] = Sample(name, text, value, SERVER not in text)
    return [*found.values(), *_not_yet_recorded(list(found.values()))]


def _not_yet_recorded(samples: list[Sample]) -> Iterator[Sample]:
    """What rules record after days only, and other rules read for weeks, with a made-up value.

    Its labels are those of the first series that it is made of.
    """
    there = {each.name for each in samples}
    long = {window.metric for window in windows() if window.seconds > DAY}
    for rule in recording_rules():
        if rule["record"] not in long - there:
            continue
        made_of = [each.metric for each in uses(rule["expr"]).selectors if each.metric in there]
        for sample in samples:
            if sample.name in made_of[:1]:
                yield sample._replace(name=rule["record"], value=1.0)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Window(NamedTuple):
    """What a rule or an alert reads."""

    metric: str
    matchers: tuple[tuple[str, str, str], ...]
    """(label, operator, value)."""
    seconds: float
    """How far back."""

    def reads(self, sample: Sample) -> bool:
        """Whether it reads the series."""
        return sample.name == self.metric and all(
            _fits(dict(_LABEL.findall(sample.labels)).get(label, ""), operator, value)
            for label, operator, value in self.matchers
        )


def _fits(text: str, operator: str, value: str) -> bool:
    found = re.fullmatch(value, text) is not None if "~" in operator else text == value
    return found is not operator.startswith("!")


def windows(folder: Path = ROOT) -> list[Window]:
    """Those of all rules and alerts below a folder."""
    return [
        window
        for place in FOLDERS
        for file in sorted((folder / place).glob("*.yml"))
        for group in yaml.safe_load(file.read_text())["groups"]
        for rule in group["rules"]
        for window in windows_of(rule["expr"])
    ]


def windows_of_boards() -> list[Window]:
    """Those of all queries, as somebody opens them."""
    span = Span(0.0, HOUR, STEP, STEP)
    asked = (interpolated(each.target["expr"], each.board, span, {}) for each in queries())
    return [window for text in asked for window in windows_of(text)]


def windows_of(expression: str) -> list[Window]:
    """What one expression reads."""
    found: list[Window] = []

    def visit(node: Any, outer: float) -> None:
        if isinstance(node, promql_parser.MatrixSelector):
            visit(node.vector_selector, outer + _seconds(node.range))
        elif isinstance(node, promql_parser.SubqueryExpr):
            visit(node.expr, outer + _seconds(node.range) + _seconds(node.offset))
        elif isinstance(node, promql_parser.VectorSelector):
            matchers = tuple(
                (m.name, next(sign for op, sign in _OPERATORS if op == m.op), m.value)
                for m in node.matchers.matchers
            )
            found.append(Window(str(node.name), matchers, outer + _seconds(node.offset)))
        else:
            for part in ("lhs", "rhs", "expr", "param"):
                child = getattr(node, part, None)
                if child is not None and not isinstance(child, str | bytes):
                    visit(child, outer)
            for child in getattr(node, "args", ()):
                visit(child, outer)

    visit(promql_parser.parse(expression), 0.0)
    return found


def recorded_every(folder: Path = ROOT) -> Mapping[str, int]:
    """Recorded series -> seconds from one sample to the next, where those are more than STEP."""
    found = {
        rule["record"]: round(promql_parser.parse_duration(group["interval"]).total_seconds())
        for file in sorted((folder / "rules").glob("*.yml"))
        for group in yaml.safe_load(file.read_text())["groups"]
        if "interval" in group
        for rule in group["rules"]
    }
    return {record: seconds for record, seconds in found.items() if seconds > STEP}


def _seconds(span: timedelta | None) -> float:
    return span.total_seconds() if span else 0.0


class Estate:
    """The blocks of `databases` databases in `folder`; the newest sample is of just now."""

    def __init__(
        self, folder: Path, databases: int, samples: list[Sample], rules: Path = ROOT
    ) -> None:
        self.folder = folder
        self.databases = databases
        mine = [each for each in samples if ":" not in each.name and not each.of_agent]
        self.series = round(len(mine) / DATABASES_A_SERVER)
        """How many the agents tell of each database, theirs of themselves and rules' apart."""
        self._servers = databases // DATABASES_A_SERVER
        self._steps = recorded_every(rules)
        read = windows(rules)
        shown = windows_of_boards()
        boards = metrics()
        self._samples: list[Sample] = []
        self._back: dict[Sample, float] = {}
        self._shown: dict[Sample, float] = {}
        for sample in samples:
            back = [window.seconds for window in read if window.reads(sample)]
            if back or sample.name in boards:
                self._samples.append(sample)
                self._back[sample] = max(back, default=0.0)
                seconds = (window.seconds for window in shown if window.reads(sample))
                self._shown[sample] = max(seconds, default=0.0)

    def make(self) -> None:
        """Write the blocks, the oldest first."""
        now = int(time.time()) // BLOCK * BLOCK
        recent = now - BLOCK
        yesterday = now - DAY - BLOCK
        self._block(DAY, range(now - HISTORY_DAYS * DAY, yesterday, STEP))
        self._block(HOUR, range(yesterday, recent, STEP))
        begin = recent
        while begin <= (now := int(time.time()) // STEP * STEP):
            self._block(-1, range(begin, now + STEP, STEP))
            begin = now + STEP
        self.end = now

    def _block(self, seconds: float, times: range) -> None:
        """What a window longer than `seconds` reads."""
        samples = [each for each in self._samples if self._back[each] > seconds]
        first = [each for each in self._samples if self._shown[each] > seconds >= self._back[each]]
        if not samples:
            return
        text = self.folder / "samples.om"
        with text.open("w", encoding="utf-8") as file:
            for at in times:
                file.writelines(self.texts(samples, at, first))
            file.write("# EOF\n")
        command = [require("promtool"), "tsdb", "create-blocks-from"]
        command += [f"--max-block-duration={LONGEST_BLOCK}", "openmetrics", str(text)]
        command += [str(self.folder / "data")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
        text.unlink()

    def texts(self, samples: list[Sample], at: int, first: Sequence[Sample] = ()) -> Iterator[str]:
        """Their lines of OpenMetrics at a time, those of an agent and of a server at once. `first`
        are of the first server alone."""
        ago = time.time() - at
        servers: list[str] = []
        agents: list[str] = []
        alone: list[str] = []
        only = set(first)
        for sample in (*samples, *first):
            name, labels, value, of_agent = sample
            if at % self._steps.get(name, STEP):
                continue
            grown = value * max(0.0, 1.0 - ago / (HISTORY_DAYS * DAY + DAY))
            shown = grown if name.endswith(("_total", "_count", "_bucket", "_sum")) else value
            line = f"{name}{{{labels}}} {shown:.10g} {at}\n"
            (alone if sample in only else agents if of_agent else servers).append(line)
        if alone:
            yield "".join(alone).replace("AGENT", "agent0:19703")
        if not servers and not agents:
            return
        server, agent = "".join(servers), "".join(agents)
        for number in range(-(-self.databases // DATABASES_AN_AGENT)):
            yield agent.replace("AGENT", f"agent{number}:19703")
        for number in range(self._servers):
            agent_of = number * DATABASES_A_SERVER // DATABASES_AN_AGENT
            mine = server.replace("AGENT", f"agent{agent_of}:19703")
            for name in ("ex", "EX", "db", "DB"):
                mine = mine.replace(f"{name}000", f"{name}{number:03}")
            yield mine


@contextmanager
def estate(databases: int) -> Iterator[Estate]:
    """The estate, made."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = Estate(folder, databases, told(folder))
        found.make()
        yield found


@contextmanager
def served(made: Estate, rules: Mapping[str, Any] | None = None) -> Iterator[Prometheus]:
    """A Prometheus on the estate that scrapes nothing, with rule files by their names.

    Its samples are good for an hour: nothing is new while it is measured.
    """
    files = []
    for name, document in (rules or {}).items():
        (made.folder / name).write_text(yaml.safe_dump(document))
        files.append(name)
    flags = ("--query.lookback-delta=1h",)
    with serving(made.folder, made.folder / "data", {"rule_files": files}, flags) as server:
        yield server


def processor(server: Prometheus) -> float:
    """CPU seconds of the server so far."""
    return cpu_seconds(server.process.pid)
