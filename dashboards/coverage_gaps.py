"""Which computers have missing data: a source cannot be read or has gaps, or the agent is gone.

What an agent reported is remembered for a day after it was gone (rules/fleet.rules.yml).
"""

from dashboards.parts import AGENT, COMPUTER

_UP = f"esewatch_host_up{{{COMPUTER}}} == 0"
_SEEN = f"esewatch_host_caught_up{{{COMPUTER}}}"
_LOST = f"computer:esewatch_host_caught_up:gone{{{COMPUTER}}}"
_GONE = f"{_LOST} unless on (job, computer) {_SEEN}"
"""What another agent reports is not missing."""


def _found(finding: str) -> str:
    return f'ese_finding{{{COMPUTER},finding=~"{finding}"}} > 0'


_REASONS = {
    "a source cannot be read": _UP,
    "a source is not read to its end": f"{_SEEN} == 0 unless on (job, instance, computer) {_UP}",
    "nothing is read of it": _found("not_heard"),
    "events are missing": _found("unknown_since"),
    "its agent is gone": _GONE,
}


def everywhere(labels: str) -> str:
    """Matchers that hold only where all computers are chosen, of a metric without computers."""
    return f'{labels},computer=~"$computer"'


_SOURCES = (
    f"esewatch_source_up{{{everywhere(AGENT)}}} == 0 and on (job, instance, source)"
    f" esewatch_source_computers{{{everywhere(AGENT)}}} == 0"
)
"""Sources that are down and never had a record of a computer: that of some computers is missing."""
_RUNNING = f"esewatch_build_info{{{AGENT}}}"
KNOWN = f"({_RUNNING} or last_over_time({_RUNNING}[1d:5m]))"
"""The agents that answered within the last day, and so the jobs that are ours. Read every five
minutes: what came last is exact enough, and a day of samples is not."""
_AGENTS = (
    f"up{{{everywhere(AGENT)}}} == 0 and on (job) last_over_time({_RUNNING}[1d:5m])"
    f" unless on (job, instance) {_LOST}"
)
"""Agents that do not answer and of whose computers nothing is remembered."""
COMPUTERS = (
    "max by (job, instance, computer, reason) ("
    + " or ".join(
        f'label_replace({blind}, "reason", "{why}", "", "")' for why, blind in _REASONS.items()
    )
    + ")"
)
"""A series for each computer and reason."""
ELSEWHERE = (
    "max by (job, instance, source, reason) ("
    f'label_replace({_SOURCES}, "reason", "its computers are not known", "", "") or '
    f'label_replace({_AGENTS}, "reason", "does not answer; its computers are not known", "", ""))'
)
"""A series for each source or agent that misses data and whose computers are not known."""
NUMBER = (
    f"count(count by (job, computer) ({_UP} or {_SEEN} == 0 or {_found('not_heard|unknown_since')}"
    f" or {_GONE}) or {_SOURCES} or {_AGENTS}) or 0 * count({_SEEN})"
)
"""How many miss data; a computer that two agents report is one."""
