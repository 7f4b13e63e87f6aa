"""Which computers have missing data: a source cannot be read or has gaps, or the agent is gone.

What an agent reported is remembered for a day after it was gone (rules/fleet.rules.yml).
"""

from dashboards.parts import AGENT, COMPUTER

REMEMBERED = "[1d:5m]"
"""Read every five minutes: what came last is exact enough, and a day of samples is not."""

_UP = f"esewatch_host_up{{{COMPUTER}}}"
_SEEN = f"esewatch_host_caught_up{{{COMPUTER}}}"
_LOST = f"computer:esewatch_host_caught_up:gone{{{COMPUTER}}}"
BEHIND = f"({_UP} == 0 or {_SEEN} == 0)"
"""Computers with a source that cannot be read or is not read to its end."""
_GAPS = f'(ese_finding{{{COMPUTER},finding="unknown_since"}} > 0)'
_DOWN = f"up{{{AGENT}}} == 0"

_REASONS = {
    "a source cannot be read": f"max by (job, instance, computer) ({_UP} == 0)",
    "a source is not read to its end": (
        f"max by (job, instance, computer) ({_SEEN} == 0)"
        f" unless on (job, instance, computer) {_UP} == 0"
    ),
    "events are missing": f"max by (job, instance, computer) ({_GAPS})",
    # Of a computer that another agent reports, only while the first is still to be scraped.
    "its agent is gone": (
        "max by (job, instance, computer)"
        f" ({_LOST} unless on (job, computer) {_SEEN}"
        f" or {_LOST} and on (job, instance) {_DOWN})"
    ),
}
COMPUTERS = " or ".join(
    f'label_replace({blind}, "reason", "{why}", "", "")' for why, blind in _REASONS.items()
)
"""A series for each computer and reason."""


def everywhere(labels: str) -> str:
    """Matchers that hold only where all computers are chosen, of a metric without computers."""
    return f'{labels},computer=~"$computer"'


SOURCES = (
    f"max by (job, instance, source) (esewatch_source_up{{{everywhere(AGENT)}}} == 0"
    " and on (job, instance, source)"
    f" esewatch_source_computers{{{everywhere(AGENT)}}} == 0)"
)
"""Sources that are down and never had a record of a computer: that of some computers is missing."""
_RUNNING = f"esewatch_build_info{{{AGENT}}}"
KNOWN = f"({_RUNNING} or last_over_time({_RUNNING}{REMEMBERED}))"
"""The agents that answered within the last day, and so the jobs that are ours."""
AGENTS = (
    f"max by (job, instance) (up{{{everywhere(AGENT)}}} == 0 and on (job) {KNOWN})"
    f" unless on (job, instance) {_LOST}"
)
"""Agents that do not answer and of whose computers nothing is remembered."""
EVERYTHING = (
    f"{COMPUTERS} or "
    f'label_replace({SOURCES}, "reason", "cannot be read; its computers are not known", "", "")'
    f' or label_replace({AGENTS}, "reason", "does not answer; its computers are not known", "", "")'
)
"""A series for each that misses data, and why; labels computer and source where there is one."""
NUMBER = (
    f"count(count by (job, computer) ({COMPUTERS}) or {SOURCES} or {AGENTS}) or 0 * count({_SEEN})"
)
"""How many miss data; a computer that two agents report is one."""
