"""What our rules and dashboards cost a Prometheus: CPU of a rule round, and of opening a board."""

import copy
import time
from collections import Counter
from collections.abc import Iterator, Mapping

import promql_parser
import yaml

from bench.estate import FOLDERS, HISTORY_DAYS, ROOT, STEP, Estate, estate, processor, served
from bench.figure import Figure
from tests.dashboards.asking import ask, listed
from tests.dashboards.boards import Json, Query, loaded, span_of, variables
from tests.e2e.harness import Prometheus, get

SMALL, LARGE = 1000, 5000
ROUND = 60
"""Seconds between two evaluations of each group while it is measured."""
ROUNDS = 3
HISTORY = f"up to {HISTORY_DAYS} days behind it, a sample each {STEP // 60} minutes"


def run() -> list[Figure]:
    """A rule round of two estates, and each board of the larger one."""
    found: list[Figure] = []
    for databases in (SMALL, LARGE):
        with estate(databases) as made:
            # Rules first: what they record is what boards show.
            found += _rules(made)
            if databases == LARGE:
                found += _boards(made)
            series = made.series
    found.append(Figure("series of a database", series, "series", "under", 61, "as scraped"))
    return found


def _rules(made: Estate) -> Iterator[Figure]:
    """All groups once, and what they cost in a minute at their own intervals."""
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).glob("*.yml"))]
    documents = {file.name: copy.deepcopy(yaml.safe_load(file.read_text())) for file in files}
    intervals: dict[str, float] = {}
    rules = 0
    for name, document in documents.items():
        for group in document["groups"]:
            shipped = promql_parser.parse_duration(group.get("interval", "1m"))
            intervals[f"{name};{group['name']}"] = shipped.total_seconds()
            group["interval"] = f"{ROUND}s"
            rules += len(group["rules"])
    with served(made, documents) as server:
        time.sleep(ROUND * 1.5)
        before, missed = processor(server), _missed(server)
        took: dict[str, Counter[str]] = {}
        for _ in range(ROUNDS):
            time.sleep(ROUND)
            for group, seconds in server.rule_seconds().items():
                took.setdefault(group, Counter()).update(seconds)
        spent = (processor(server) - before) / ROUNDS
        if errors := server.rule_errors():
            raise RuntimeError("; ".join(errors))
        if _missed(server) > missed:
            raise RuntimeError(f"a group took longer than {ROUND} s")
    all_of_it = sum(rules.total() for rules in took.values())
    groups = {
        group: rules.total() / all_of_it * spent * 60 / intervals[group]
        for group, rules in took.items()
    }
    databases = f"{made.databases:,} databases"
    yield Figure(
        f"a minute of all rules, {databases}",
        sum(groups.values()),
        "CPU-s",
        "under",
        0.25 if made.databases == SMALL else 1,
        f"{rules} rules, each group at its shipped interval, {HISTORY}; {_dearest(groups)}",
    )
    each = {
        rule: part / all_of_it * spent for rules in took.values() for rule, part in rules.items()
    }
    yield Figure(
        f"all rules once, those of every two hours too, {databases}",
        spent,
        "CPU-s",
        "under",
        1 if made.databases == SMALL else 5,
        f"mean of {ROUNDS} rounds; {_dearest(each)}",
    )


def _dearest(costs: Mapping[str, float]) -> str:
    """The names of the five that cost most, each with its CPU seconds."""
    most = sorted(costs.items(), key=lambda item: -item[1])[:5]
    return ", ".join(f"`{name.rpartition(';')[2]}` {seconds:.2g}" for name, seconds in most)


def _missed(server: Prometheus) -> float:
    name = "prometheus_rule_group_iterations_missed_total{"
    lines = get(f"{server.url}/metrics").splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


def _boards(made: Estate) -> Iterator[Figure]:
    """As somebody opens them: what is chosen at first, collapsed rows left out."""
    with served(made) as server:
        for board in loaded():
            _open(server, board)
            before = processor(server)
            asked = _open(server, board)
            yield Figure(
                f"opening the board {board['title']}, {made.databases:,} databases",
                processor(server) - before,
                "CPU-s",
                "under",
                1,
                f"{asked} queries and the lists of its variables; {HISTORY}",
            )


def _open(server: Prometheus, board: Json) -> int:
    """Put its queries, and say how many. Raises RuntimeError where one fails."""
    now = time.time()
    chosen: dict[str, list[str]] = {}
    for name, variable in variables(board).items():
        if variable["type"] == "query":
            there = listed(server.url, board, variable, span_of(board, {}, now, STEP), chosen)
            if "$__all" not in str(variable.get("current", {}).get("value")):
                chosen[name] = there[:1]
    shown = [panel for panel in board["panels"] if panel["type"] != "row"]
    asked = 0
    for panel in shown:
        for target in panel.get("targets", []):
            answer = ask(
                server.url,
                Query(board, panel, target),
                span_of(board, panel, now, STEP),
                chosen,
            )
            if answer.complaints:
                raise RuntimeError(f"{panel['title']}: {'; '.join(answer.complaints)}")
            asked += 1
    return asked
