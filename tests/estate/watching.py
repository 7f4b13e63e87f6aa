"""A month of an estate, watched by an agent in virtual time."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.estate.agent import Agent
from tests.estate.alerting.scrapes import EVERY, Scrapes
from tests.estate.comparison import Comparison, Difference
from tests.estate.logs import Logs
from tests.estate.month import DAYS, END, START, at
from tests.estate.script import Delivery, Month
from tests.oracle.history import Logged

OURS = ("ESE", "ESENT", "NTDS ISAM", "ADAM [")
KILLS = 3


class Watched(NamedTuple):
    month: Month
    moments: int
    differences: list[Difference]
    seconds: float
    """Of a processor, that the agent took."""


def watched(month: Month, seed: int, folder: Path, scrapes: Scrapes | None = None) -> Watched:
    """What an agent reports a month at 30 moments, and when something begins or ends; `scrapes`
    are taken then, and between."""
    rng = Random(f"agent {seed}")
    logs, agent = Logs(folder / "logs"), Agent(folder)
    comparison = Comparison(month.truth)
    told = {*_moments(month)}
    between = {START + EVERY * number for number in range(int((END - START) / EVERY))}
    moments = sorted(told | between if scrapes else told)
    kills = set(rng.sample(moments[1:], KILLS))
    deliveries = month.deliveries
    done = 0
    exports = [each for each in month.servers if each.exported[0] < math.inf]
    for now in moments:
        reached = bisect_left(deliveries, now, key=lambda each: each.time)
        logs.deliver(deliveries[done:reached])
        done = reached
        for each in [each for each in exports if each.exported[0] <= now]:
            logs.export(each)
            exports.remove(each)
        if now == month.journal_lost:
            agent.loses_its_journal()
        elif now in kills:
            agent.is_killed_while_it_reads(now, rng.randrange(4))
        agent.read(now)
        for ack in [each for each in month.acks if each.time == now]:
            agent.acknowledge(ack.key)
            agent.read(now)
        if scrapes:
            scrapes.take(now, agent)
        comparison.add(now, agent.answers())
        counted = _counts(deliveries[:done])
        _same(comparison, counted, _told(agent), now)
    logs.close()
    agent.close()
    return Watched(month, comparison.moments, comparison.done(), agent.seconds)


def _moments(month: Month) -> Iterator[float]:
    """One on each day; and around the begin and the end of all that must be reported."""
    yield from (at(day, 12.0) for day in range(1, DAYS))
    yield END
    for told in month.truth.told:
        times = (told.begin - 60.0, told.due + 60.0, told.end - 60.0, told.over + 60.0)
        yield from (each for each in times if START < each < END)
    yield from (each.time for each in month.acks)
    # What was in a log before it was cleared or overwritten has been read.
    for server in month.servers:
        yield from (each for each in (server.cleared, server.lost[0]) if each < END)
    if month.journal_lost < END:
        yield month.journal_lost


def _counts(deliveries: list[Delivery]) -> Counter[tuple[str, str, int]]:
    return Counter(
        (each.server.label, each.logged.provider, each.logged.event_id)
        for each in deliveries
        if _is_ours(each.logged)
    )


def _is_ours(logged: Logged) -> bool:
    return logged.provider.startswith(OURS)


def _told(agent: Agent) -> Counter[tuple[str, str, int]]:
    return Counter(
        {
            (labels["computer"], labels["provider"], int(labels["event_id"])): int(value)
            for family in agent.families()
            for name, labels, value, *_ in family.samples
            if name == "ese_events_total"
        }
    )


def _same(
    comparison: Comparison,
    counted: Counter[tuple[str, str, int]],
    told: Counter[tuple[str, str, int]],
    now: float,
) -> None:
    """Each record is counted once."""
    for key in counted.keys() | told.keys():
        if counted[key] != told[key]:
            part = "missing" if told[key] < counted[key] else "twice"
            what = f"{told[key]} of {counted[key]} records of {key[2]}"
            comparison.differences.append(Difference("records", part, key[:2], what, now))
