"""The month of one seed: who lives in it, what goes wrong, and what must be reported."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from tests.estate.incidents import INCIDENTS, Ack, Incident, Stage
from tests.estate.month import END, START
from tests.estate.ordinary_life import live
from tests.estate.servers import Home, Server, estate
from tests.estate.truth import Told, Truth
from tests.oracle.history import Logged
from tests.oracle.script import Draft, Script

FEW = 12
"""Incidents of a small estate."""


class Delivery(NamedTuple):
    """A record, and when the agent can read it."""

    time: float
    server: Server
    logged: Logged


class Month(NamedTuple):
    servers: list[Server]
    homes: list[Home]
    deliveries: list[Delivery]
    """In the order in which they can be read."""
    acks: list[Ack]
    journal_lost: float
    kinds: list[str]
    """The incidents that take place, by their names."""
    truth: Truth


def month(seed: int, *, large: bool = False, healthy: bool = False) -> Month:
    """The month of a seed. A small estate has some of the incidents, a large one has all."""
    rng = Random(f"month {seed}")
    servers, homes = estate(seed, large=large)
    stage = Stage(rng, Script(rng), homes, servers)
    if seed % 2 and not healthy:
        stage.journal_lost = stage.time(16, 25)
    turn = seed * FEW
    some = [INCIDENTS[(turn + number) % len(INCIDENTS)] for number in range(FEW)]
    wanted: list[Incident] = [] if healthy else [*INCIDENTS] if large else some
    # What befalls a whole server comes first: there are few.
    later = [(each.__name__, each(stage)) for each in sorted(wanted, key=_of_a_server)]
    live(stage.script, servers, homes)
    told: list[Told] = [each for _, found in later if found for each in found()]
    deliveries = list(_delivered(stage.script, servers))
    kinds = [name.replace("_", " ") for name, found in later if found]
    known = {home.key: START + 1200.0 for home in homes}
    verified = {home.key: home.verified()[0] for home in homes if home.verified()}
    truth = Truth(told, verified, known)
    return Month(servers, homes, deliveries, stage.acks, stage.journal_lost, kinds, truth)


def _of_a_server(incident: Incident) -> bool:
    return incident.__name__ not in {
        "silent_server", "clock_set_back", "cleared_log", "overlapping_exports", "lost_records"
    }  # fmt: skip


def _delivered(script: Script, servers: list[Server]) -> Iterator[Delivery]:
    logs: dict[tuple[int, str], list[Draft]] = defaultdict(list)
    for draft in script.drafts:
        if START <= draft.time < END:
            logs[draft.server, draft.channel].append(draft)
    found: list[Delivery] = []
    for (number, _), drafts in logs.items():
        server = servers[number]
        drafts.sort(key=lambda each: each.time)
        times = [each.time for each in drafts]
        cleared = bisect_left(times, server.cleared)
        for place, draft in enumerate(drafts):
            since, behind = server.clock
            shown = draft.time - (behind if draft.time >= since else 0.0)
            if server.lost[0] <= draft.time < server.lost[1]:
                continue
            record_id = 1000 + place if place < cleared else place - cleared + 1
            logged = Logged(
                round(shown, 3), server.full, draft.channel, draft.provider, draft.event_id,
                record_id, draft.strings, draft.level,
            )  # fmt: skip
            quiet = server.silent[0] <= draft.time < server.silent[1]
            found.append(Delivery(server.silent[1] if quiet else draft.time, server, logged))
    found.sort(key=lambda each: each.time)
    return iter(found)
