"""The messages that people get of alerts: routes, groups and inhibitions as alerts/ ships them."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import yaml

from tests.e2e.harness import seconds_of
from tests.estate.month import DAYS, END, START
from tests.rules.expressions import ROOT
from tests.rules.quality.backfill import STEP, Fired

FILE = ROOT / "alerts" / "alertmanager" / "alertmanager.yml"
PERSONS = ("page", "ticket", "digest")
_MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"(.*)"')


class Message(NamedTuple):
    time: float
    receiver: str
    group: tuple[str, ...]
    news: bool
    """Something fires or is over since the last one; else it repeats that."""


class Route(NamedTuple):
    matchers: Sequence[str]
    receiver: str
    group_by: Sequence[str]
    repeat: float
    times: Sequence[str]


def messages(all_fired: Sequence[Fired]) -> list[Message]:
    """All messages to persons, of alerts that fire or are over."""
    text = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    routes, rules = list(_routes(text["route"])), text["inhibit_rules"]
    labels = [{**each.labels, "alertname": each.alert} for each in all_fired]
    groups: dict[tuple[int, tuple[str, ...]], list[int]] = defaultdict(list)
    for number, of in enumerate(labels):
        at = next(at for at, route in enumerate(routes) if _match(route.matchers, of))
        if routes[at].receiver in PERSONS:
            groups[at, tuple(of.get(name, "") for name in routes[at].group_by)].append(number)
    silenced = _Inhibitions(all_fired, labels, rules)
    found: list[Message] = []
    for (at, group), members in groups.items():
        found += _of_group(routes[at], group, members, all_fired, silenced)
    return found


def by_day(found: Sequence[Message]) -> float:
    """Messages a day."""
    return len(found) / DAYS


def _of_group(
    route: Route,
    group: tuple[str, ...],
    members: Sequence[int],
    all_fired: Sequence[Fired],
    silenced: "_Inhibitions",
) -> Iterator[Message]:
    before: set[int] = set()
    last = 0.0
    for time in range(int(START), int(END) + 1, STEP):
        firing = {
            number
            for number in members
            if all_fired[number].when.start <= time <= all_fired[number].when.end
            and not silenced.at(number, time)
        }
        news = firing != before
        if news or (firing and time - last >= route.repeat):
            if route.times and not _is_monday_morning(time):
                continue
            before, last = firing, time
            if firing or not route.times:
                yield Message(time, route.receiver, group, news)


class _Inhibitions:
    def __init__(
        self,
        all_fired: Sequence[Fired],
        labels: Sequence[Mapping[str, str]],
        rules: Sequence[Mapping[str, Any]],
    ) -> None:
        self._fired = all_fired
        self._by: dict[int, set[int]] = defaultdict(set)
        for rule in rules:
            sources = [at for at, of in enumerate(labels) if _match(rule["source_matchers"], of)]
            targets = [at for at, of in enumerate(labels) if _match(rule["target_matchers"], of)]
            for target in targets:
                self._by[target] |= {
                    source
                    for source in sources
                    if source != target
                    and all(
                        labels[source].get(name, "") == labels[target].get(name, "")
                        for name in rule["equal"]
                    )
                }

    def at(self, number: int, time: float) -> bool:
        """Whether this alert is inhibited then."""
        found = (self._fired[source].when for source in self._by[number])
        return any(when.start <= time <= when.end for when in found)


def _routes(root: Mapping[str, Any]) -> Iterator[Route]:
    """The routes in the order in which they are tried; the root takes what is left."""
    for route in [*root["routes"], {"matchers": []}]:
        of = {**{key: value for key, value in root.items() if key != "routes"}, **route}
        yield Route(
            of["matchers"],
            of["receiver"],
            of["group_by"],
            seconds_of(of["repeat_interval"]),
            of.get("active_time_intervals", ()),
        )


def _match(matchers: Sequence[str], labels: Mapping[str, str]) -> bool:
    return all(_holds(each, labels) for each in matchers)


def _holds(matcher: str, labels: Mapping[str, str]) -> bool:
    found = _MATCHER.fullmatch(matcher)
    assert found, matcher
    name, sign, wanted = found.groups()
    value = labels.get(name, "")
    same = bool(re.fullmatch(wanted, value)) if "~" in sign else value == wanted
    return same is not sign.startswith("!")


def _is_monday_morning(time: float) -> bool:
    """The interval of that name."""
    local = datetime.fromtimestamp(time, ZoneInfo("Europe/Berlin"))
    return local.weekday() == 0 and local.hour == 8
