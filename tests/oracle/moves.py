"""Failovers that the programs around the engine log, added to a history that is written already.

They draw from a random stream of their own, so that the history of a seed stays what it is.
"""

from collections.abc import Iterable, Sequence
from random import Random

from tests.oracle.history import History, Logged
from tests.oracle.script import Move, Place

CHANNEL = "Microsoft-Exchange-HighAvailability/Operational"
PROVIDER = "Microsoft-Exchange-HighAvailability"
WORDS = (
    "At '{}' the Exchange store database '{}' copy on this server encountered an error that caused"
    " the database to be dismounted. A successful failover restored service."
)


def with_failovers(
    made: History,
    seed: int,
    names: Sequence[Sequence[str]],
    groups: Sequence[Sequence[Place]],
    moves: Iterable[Move],
) -> History:
    """The history with what was logged of its moves, and with some that nothing else shows.

    `names` are those of each server.
    """
    rng = Random(f"failovers of {seed}")
    exchange = [group for group in groups if group[0].provider == "ESE"]
    if not exchange or rng.random() < 0.4:
        return made
    times = [each.time for each in made.records if isinstance(each, Logged)]
    told = [move for move in moves if rng.random() < 0.7]
    for _ in range(rng.choice([0, 1, 1, 3])):
        group = rng.choice(exchange)
        time = rng.uniform(min(times, default=made.now), max(times, default=made.now))
        told.append(Move(time, rng.choice(group), rng.choice(group)))
    bare = any(each.record_id is None for each in made.records if isinstance(each, Logged))
    writer = Writer(rng, names, bare=bare)
    for move in sorted(told, key=lambda each: each.time):
        if move.time + 60 < made.now:
            writer.write(move)
    records = [*writer.records, *made.records]
    if rng.random() < 0.5:
        records = [*made.records, *writer.records]
    return made._replace(records=tuple(records))


class Writer:
    """Writes the events of moves, as the different programs do."""

    def __init__(self, rng: Random, names: Sequence[Sequence[str]], *, bare: bool) -> None:
        self.rng = rng
        self.names = names
        self.records: list[Logged] = []
        self.manager = rng.randrange(len(names))
        """The server that moves active copies."""
        self.bare = bare
        """Records have no numbers."""
        self.number = 10

    def write(self, move: Move) -> None:
        """What one move left in the logs."""
        rng = self.rng
        time = round(move.time + rng.uniform(-30, 30), 3)
        place = move.before
        name = place.instance if rng.random() < 0.9 else "DB99"
        here = Logged(time, self.name(place.server), "Application", "MSExchangeRepl", 2093, None,
                      (name,), "warning")  # fmt: skip
        if place.generation == "old" and rng.random() < 0.5:
            self.records.append(here)
        elif rng.random() < 0.4:
            text = WORDS.format("8/24/2015", name)
            event_id = rng.choice([126, 126, 117])
            self.records.append(
                here._replace(provider="ExchangeStoreDB", event_id=event_id, strings=(text,))
            )
        else:
            self.move(time, move, name)

    def move(self, time: float, move: Move, name: str) -> None:
        """306 and 308, or only the latter, with all names or not all of them."""
        rng = self.rng
        operation = f"2024-{rng.randrange(10**6)}.{rng.randrange(10**6)}"
        before, after = (self.name(each.server) for each in (move.before, move.after))
        named = rng.random() < 0.5
        if not named or rng.random() < 0.3:
            servers = [before] if rng.random() < 0.7 else []
            self.high(time - rng.uniform(5, 90), 306, operation, "guid", name.lower(), *servers)
        servers = [after, before][: rng.randrange(3)]
        self.high(time, 308, operation, *([name] if named else []), "Move", *servers)

    def high(self, time: float, event_id: int, *strings: str) -> None:
        """An event of the channel of high availability, which numbers its records."""
        self.number += 1
        number = None if self.bare else self.number
        name = self.name(self.manager)
        self.records.append(
            Logged(round(time, 3), name, CHANNEL, PROVIDER, event_id, number, strings)
        )

    def name(self, server: int) -> str:
        """One of the names of a server."""
        return self.rng.choice(self.names[server])
