"""One broken array: the messages that people get, in order. tests/e2e/test_array.py proves each row
with real servers, and docs/reference/alerts.md shows them."""

from typing import NamedTuple

DATABASES = 10


class Told(NamedTuple):
    """One message: when it is sent, to whom, and the alerts in it with their number."""

    when: str
    receiver: str
    status: str
    alerts: dict[str, int]


TOLD = (
    Told(
        "the array dies",
        "page",
        "firing",
        dict.fromkeys(("EseIoError", "EseLogSequenceHalted", "EseRecoveryFailed"), DATABASES),
    ),
    Told(
        "the agent has been dead for 10 to 20 minutes",
        "ticket",
        "firing",
        {"EsewatchDown": 1, "EsewatchGone": 1},
    ),
    Told("it has been dead for 4 hours", "page", "firing", {"EsewatchDown": 1}),
    Told(
        "it is back after a day, on another host, with its journal",
        "ticket",
        "resolved",
        {"EsewatchGone": 1},
    ),
    Told("the same", "page", "resolved", {"EsewatchDown": 1}),
    Told(
        "the instances have come up, on another array",
        "page",
        "resolved",
        dict.fromkeys(("EseIoError", "EseLogSequenceHalted", "EseRecoveryFailed"), DATABASES),
    ),
    Told(
        "the same: the passes that failed have not completed yet",
        "ticket",
        "firing",
        {"EseMaintenanceError": DATABASES},
    ),
    Told("those passes have completed", "ticket", "resolved", {"EseMaintenanceError": DATABASES}),
)


EITHER = {("ticket", "resolved", "EsewatchDown", 1): ("page", "resolved", "EsewatchDown", 1)}
"""A message that is sent or not, by which alert ends first; and one without which it is wrong."""


def trial_part() -> str:
    """The section of the page."""
    rows = "".join(
        f"| {told.when} | {told.receiver} | {told.status} | "
        + ", ".join(
            f"{name} ({count})" if count > 1 else name for name, count in told.alerts.items()
        )
        + " |\n"
        for told in TOLD
    )
    return f"""\
## One broken array

tests/e2e/test_array.py asserts it with real servers and the example of Alertmanager, an hour in 6
seconds: {DATABASES} databases on one array, each in its instance. The array dies (requests hang,
are slow, fail; a pass fails, the log is halted, the instance stops); an hour later the agent too.
One page reports the array, however many databases are on it, and none of its alerts is resolved
before the instances have come up. An agent that is dead for 4 hours is a page of its own, because
nothing else that happens to its computers is seen. Where EsewatchDown ends before EsewatchGone or
with it, the ticket says that it is resolved, too. Repetitions (every 4 hours, every day) are left
out.

| when | receiver | status | alerts |
| --- | --- | --- | --- |
{rows}"""
