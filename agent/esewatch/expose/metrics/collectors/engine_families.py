"""Errors of the engine by instance, for instances with a database that is exposed.

An instance with a watched or an observed database exposes the kinds that it logged. An instance
with ignored databases alone, or with none that is known, exposes nothing but damaged memory: that
concerns all databases of the computer.
"""

from esewatch.config import Settings
from esewatch.expose.metrics.collectors.samples import Samples
from esewatch.fold.identity.identity import tier
from esewatch.fold.instances.engine_errors import OF_COMPUTER, acknowledgements, open_errors
from esewatch.fold.state.state import State
from esewatch.names import printable


def add_engine_errors(out: Samples, state: State, settings: Settings) -> None:
    """Add the errors of the instances of the state's databases."""
    shown = [each for each in state.databases.values() if tier(each, settings) != "ignored"]
    instances = acknowledgements(shown)
    computers: dict[str, float] = {}
    for (computer, _), time in instances.items():
        computers[computer] = max(computers.get(computer, 0.0), time)
    for key, instance in sorted(state.instances.items()):
        for kind, (count, last) in sorted(instance.errors.items()):
            whole = kind == OF_COMPUTER
            dealt_with = computers.get(instance.computer) if whole else instances.get(key)
            if dealt_with is None:
                continue
            still = open_errors(instance, dealt_with)
            labels = {
                "computer": printable(instance.computer),
                "ese_instance": printable(instance.ese_instance),
                "kind": kind,
            }
            out.add("ese_engine_errors_total", labels, count)
            out.add("ese_engine_error_last_timestamp_seconds", labels, last)
            out.add("ese_engine_errors_open", labels, still[kind])
