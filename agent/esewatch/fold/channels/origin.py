"""The origin of events: what those with the same names have in common, looked up once a batch.

Within a batch nothing known is dropped, so what was found for one event holds for the next one of
the same names. What was not found, for want of room, is looked for again.
"""

import math

from esewatch.fold.channels import overlaps
from esewatch.fold.channels.deduplication import Neighbours
from esewatch.fold.identity.identity import is_snapshot, label_kept
from esewatch.fold.identity.owners import instance_name
from esewatch.fold.state.state import Channel, Database, Host, Instance
from esewatch.model import Event

Names = tuple[str, str, str, str, str, str]
"""Computer, channel, provider, process, instance and path of a database, as logged."""


class Origin:
    """The entities of events that have the same names; None where they were not met yet."""

    __slots__ = (
        "channel",
        "computer",
        "database",
        "event_ids",
        "host",
        "hour",
        "identity",
        "instance",
        "instance_name",
        "is_snapshot",
        "neighbours",
        "oldest",
    )

    def __init__(self, computer: str, event: Event) -> None:
        self.computer = computer
        self.instance_name = instance_name(event.ese_instance, event.process)
        self.is_snapshot = is_snapshot(event.database)
        label = label_kept(event.database, bad=True) if event.database else ""
        self.identity = overlaps.identity(event, label or "")
        self.oldest = math.inf
        """The oldest time of these events that was passed to the computer."""
        self.host: Host | None = None
        """Known as changed, once it stands here; the others too."""
        self.event_ids: dict[int, int] = {}
        """Ids of the provider on the computer that have a count of their own."""
        self.channel: Channel | None = None
        self.neighbours: Neighbours | None = None
        """Of the ranges of the channel."""
        self.instance: Instance | None = None
        self.hour = math.nan
        """The last hour since the epoch that was noted of the instance."""
        self.database: Database | None = None
