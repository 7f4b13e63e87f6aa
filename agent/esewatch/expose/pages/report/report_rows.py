"""Rows of a report that belong to no database: missing records, counters of unknown databases."""

import msgspec

from esewatch.expose.formatting import tidy
from esewatch.expose.pages.ratio import FREED, READ
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.state.state import State


class GapRow(msgspec.Struct, frozen=True, kw_only=True):
    """Records missing from a channel."""

    computer: str
    channel: str
    begin: float
    end: float
    records: int


class InstanceRow(msgspec.Struct, frozen=True, kw_only=True):
    """Counters of an instance of which no database is known."""

    computer: str
    ese_instance: str
    pages_read: float | None
    pages_freed: float | None


def lone_instance_rows(state: State) -> tuple[InstanceRow, ...]:
    """Instances with counters of which no event names a database."""
    known = {instance_key(each) for each in state.databases.values()}
    return tuple(
        InstanceRow(
            computer=tidy(instance.computer),
            ese_instance=tidy(instance.ese_instance),
            pages_read=instance.totals.get(READ),
            pages_freed=instance.totals.get(FREED),
        )
        for key, instance in sorted(state.instances.items())
        if key not in known and instance.totals
    )


def gap_rows(state: State) -> tuple[GapRow, ...]:
    """All gaps, by channel."""
    return tuple(
        GapRow(
            computer=tidy(channel.computer),
            channel=tidy(channel.channel),
            begin=begin,
            end=end,
            records=records,
        )
        for _, channel in sorted(state.channels.items())
        for begin, end, records in channel.gaps
    )
