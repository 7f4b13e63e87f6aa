"""Selection of the events that `events` prints: `--since`, `--until`, `--id`."""

import argparse
import math
import re

from esewatch.model import Event

LARGEST_ID = 65_535


def event_ids(text: str) -> list[int]:
    """The ids of `703` or `700-705,717`."""
    found: list[int] = []
    for part in text.split(","):
        numbers = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", part.strip())
        first, last = map(int, (numbers[1], numbers[2] or numbers[1])) if numbers else (1, 0)
        if not first <= last <= LARGEST_ID:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not an event id such as 703 or 700-705,717"
            )
        found += range(first, last + 1)
    return found


class EventSelection:
    """The events asked for; `untimed` counts those left out because their time is unknown."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.untimed = 0
        self._ids = frozenset(options.id or ())
        self._dated = options.since is not None or options.until is not None
        self._since = -math.inf if options.since is None else options.since
        self._until = math.inf if options.until is None else options.until

    def __contains__(self, event: Event) -> bool:
        if self._ids and event.event_id not in self._ids:
            return False
        if event.time is None:
            self.untimed += self._dated
            return not self._dated
        return bool(self._since <= event.time <= self._until)
