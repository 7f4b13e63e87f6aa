"""Which alerts a month raised, held against what it is to raise."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tests.rules.quality.backfill import STEP, Fired
from tests.rules.quality.month import Month

WAKING = ("warning", "critical")


class Verdict(NamedTuple):
    """What came of one month."""

    kind: str
    fault: str
    alert: str
    """Of the fault; empty for a healthy month."""
    bound: float
    """Seconds after the fault in which it must fire."""
    after: float | None
    """Seconds after the fault at which it fired, None: it did not."""
    others: tuple[str, ...]
    """Other warnings and criticals."""
    infos: tuple[str, ...]

    def problems(self) -> list[str]:
        """What should not be so."""
        where = f"{self.kind}, {self.fault or 'healthy'}"
        if not self.alert:
            return [f"{where}: {name} fires" for name in self.others]
        found = []
        if self.after is None:
            found.append(f"{where}: {self.alert} does not fire")
        elif not 0.0 <= self.after <= self.bound:
            found.append(
                f"{where}: {self.alert} fires {self.after / 3600:.2f} h after the fault,"
                f" not within {self.bound / 3600:.2f} h"
            )
        if len(self.others) > 1:
            found.append(f"{where}: others fire: {', '.join(self.others)}")
        return found


def verdict(month: Month, all_fired: Iterable[Fired]) -> Verdict:
    """Of one month, of all that fired."""
    mine = [fired for fired in all_fired if _is_of(fired, month)]
    expected = month.expected
    names = {fired.alert for fired in mine if fired.severity in WAKING}
    infos = {fired.alert for fired in mine if fired.severity == "info"}
    if expected is None:
        return Verdict(month.kind, "", "", 0.0, None, _sorted(names), _sorted(infos - names))
    starts = [
        fired.when.start
        for fired in mine
        if (fired.alert, fired.severity) == (expected.alert, expected.severity)
    ]
    return Verdict(
        kind=month.kind,
        fault=month.fault,
        alert=f"{expected.alert} ({expected.severity})",
        # promtool evaluates recordings at a moment of its own in each step, alerts ask at its end.
        bound=expected.within + 2 * STEP,
        after=min(starts) - expected.fault if starts else None,
        others=_sorted(names - {expected.alert}),
        infos=_sorted(infos - names - {expected.alert}),
    )


def verdicts(months: Sequence[Month], all_fired: Sequence[Fired]) -> list[Verdict]:
    """One each. AssertionError: an alert is of none of them."""
    strangers = [fired for fired in all_fired if not any(_is_of(fired, month) for month in months)]
    assert strangers == []
    return [verdict(month, all_fired) for month in months]


def _is_of(fired: Fired, month: Month) -> bool:
    """Alerts of an agent have its address, those of what it watches the computer."""
    labels = fired.labels
    return labels.get("instance", month.instance) == month.instance and (
        labels.get("computer", month.computer) == month.computer
    )


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names))
