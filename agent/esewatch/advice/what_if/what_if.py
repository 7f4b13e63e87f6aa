"""Maintenance of a database with another window, throttle or size.

Every range is computed from this database's own passes, nights, logs and latencies, or says that it
is published and not measured here.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from esewatch.advice.base.estimate import Estimate, Fit, WhatIfChange, fit
from esewatch.advice.base.finding import span
from esewatch.advice.base.staleness import stale_seconds
from esewatch.advice.findings.scan_collisions import Loss, scans_in, throughput_lost
from esewatch.advice.history.history import History, as_copy, histories
from esewatch.advice.history.ledger import verification_deadline
from esewatch.advice.what_if.days_per_pass import pass_time
from esewatch.advice.what_if.log_volume import defrag_log, zeroing_log
from esewatch.advice.what_if.rpc_latency import added_rpc_latency
from esewatch.config import Policy, Settings, policy_for
from esewatch.fold.passes.passes import views_in
from esewatch.fold.state import rollups
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.rollups import DAY_SECONDS, Hour
from esewatch.fold.state.state import State

WITHOUT_WINDOW = {
    "garbage_collection": "its maintenance is part of garbage collection, every 12 hours",
    "background": "it is scanned in the background at the engine's own pace, without a window"
    " or throttle",
    "application": "the application decides when it is maintained",
}
NO_CHANGE = WhatIfChange()


class Environment(NamedTuple):
    """Facts from outside the database."""

    rpc_latency: Sequence[Hour] = ()
    """Of its computer, oldest first."""
    loss: Loss | None = None
    """The cost of scanning beside others; None where no other shares its disks."""


ALONE = Environment()


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """The answers for one database. None: the change does not ask for it, or it does not apply."""

    change: WhatIfChange
    not_applicable: str = ""
    """The parts of the change that cannot apply to it: a sentence without a full stop."""
    defrag_days: Estimate | None = None
    """Days from the start of a pass of online defragmentation to the start of the next."""
    defrag_days_now: Estimate | None = None
    scan_days: Estimate | None = None
    scan_days_now: Estimate | None = None
    scan_in_window: Fit | None = None
    """Fit of a whole scan within one opening's half."""
    scan_in_time: Fit | None = None
    """Fit of the verification of every page within the deadline."""
    rpc_latency: Estimate | None = None
    """Share of the RPC latency that is added during maintenance."""
    defrag_log_bytes: Estimate | None = None
    """A night."""
    zeroing_log_bytes: Estimate | None = None
    """A night, beside those of online defragmentation."""

    @property
    def applies(self) -> bool:
        """True if any part of the change applies to the database."""
        return self.scan_days is not None


def what_ifs(
    state: State, settings: Settings, change: WhatIfChange, now: float
) -> dict[DatabaseKey, WhatIf]:
    """The answers as of `now` (epoch seconds) for each database but the ignored ones."""
    losses = _losses(state, settings, now)
    found = {}
    for key, each in histories(state, settings).items():
        host = state.hosts.get(each.computer)
        hours = list(rollups.hours(host.rpc_latency)) if host is not None else []
        policy = policy_for(settings, each.database, each.computer)
        found[key] = what_if(each, policy, change, now, Environment(hours, losses.get(key)))
    return found


def what_if(
    history: History, policy: Policy, change: WhatIfChange, now: float, around: Environment = ALONE
) -> WhatIf:
    """The answers for one database as of `now` (epoch seconds)."""
    if history.model == "window":
        return _windowed(history, policy, change, now, around)
    about = WITHOUT_WINDOW[history.model]
    if history.model != "background" or change.growth is None:
        return WhatIf(change=change, not_applicable=about)
    grown = WhatIfChange(growth=change.growth)
    scan = pass_time("checksum", history, grown, now)
    return WhatIf(
        change=change,
        not_applicable="" if grown == change else about,
        scan_days=scan.days,
        scan_days_now=pass_time("checksum", history, NO_CHANGE, now).days,
        scan_in_time=_in_time(history, policy, scan.days, change),
    )


def _windowed(
    history: History, policy: Policy, change: WhatIfChange, now: float, around: Environment
) -> WhatIf:
    scan = pass_time("checksum", history, change, now, around.loss)
    return WhatIf(
        change=change,
        defrag_days=pass_time("defrag", history, change, now).days,
        defrag_days_now=pass_time("defrag", history, NO_CHANGE, now).days,
        scan_days=scan.days,
        scan_days_now=pass_time("checksum", history, NO_CHANGE, now).days,
        scan_in_window=_in_window(history, scan.seconds, change),
        scan_in_time=_in_time(history, policy, scan.days, change),
        rpc_latency=added_rpc_latency(history, around.rpc_latency, change, now),
        defrag_log_bytes=defrag_log(history, change, now),
        zeroing_log_bytes=zeroing_log(history, change, now) if change.zeroing else None,
    )


def _in_window(history: History, needed: Estimate, change: WhatIfChange) -> Fit:
    length = change.window
    if length is None and history.window is not None:
        length = history.window.duration
    if length is None:
        return Fit(answer="unknown", sentence="no window is configured")
    if needed.values is None:
        return fit(needed, length / 2, "")
    low, _, high = needed.values
    takes = span(low) if span(low) == span(high) else f"{span(low)} to {span(high)}"
    return fit(needed, length / 2, f"it takes {takes}; half of the window is {span(length / 2)}")


def _in_time(history: History, policy: Policy, needed: Estimate, change: WhatIfChange) -> Fit:
    copy = as_copy(history, policy)
    if copy.size_bytes is not None and change.growth is not None:
        copy = msgspec.structs.replace(copy, size_bytes=copy.size_bytes * (1 + change.growth))
    allowed = verification_deadline(copy)
    return fit(
        needed,
        allowed.seconds / DAY_SECONDS,
        f"the deadline is {span(allowed.seconds)}",
    )


def _losses(state: State, settings: Settings, now: float) -> Mapping[DatabaseKey, Loss]:
    scans = scans_in(state, settings, stale_seconds)
    passes = {
        each.key: views_in(state, state.databases[each.key])["checksum"].passes for each in scans
    }
    return throughput_lost(scans, passes, now)
