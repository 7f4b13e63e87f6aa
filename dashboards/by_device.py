"""Databases by their devices: expressions of what is selected, scanned and shared.

A database lies on one device as a rule, on several where somebody says so, and on none that is
known where neither the configuration nor its computer tells. Each join keeps to one side that has
one element for each database or device.
"""

from grafana_foundation_sdk.builders import dashboard as builder

from dashboards.parts import (
    AGENT,
    COMPUTER,
    DATABASE,
    DEVICE,
    ON_COPY,
    ON_DATABASE,
    ON_DEVICE,
    ON_INSTANCE,
    variable,
)

ON_PLACE = f"{ON_DATABASE}, device"
SCANS = 'task=~"checksum|zeroing"'


def of_one_computer() -> tuple[builder.QueryVariable, ...]:
    """A computer, at first one of them: of thousands of databases nobody could read lines."""
    info = "ese_database_info"
    at = f"label_values({info}{{{AGENT}}}, computer)"
    on = f"label_values(ese_database_device_info{{{COMPUTER}}}, device)"
    of = f"label_values({info}{{{COMPUTER}}}, database)"
    return (
        variable("computer", "Computer", at, all_first=False),
        variable("device", "Device", on),
        variable("database", "Database", of),
    )


def _on_devices(selection: str) -> str:
    return f"max by ({ON_PLACE}) (ese_database_device_info{{{selection}}})"


PLACED = f'database:ese_database_device_info:placed{{{DEVICE},database=~"$database"}}'
"""1 for each selected database and device that it lies on, "unknown" where none is known.

What matches "All" matches that, too; what is chosen by name does not.
"""


def of_databases(expression: str) -> str:
    """What belongs to a selected database; the expression has ON_DATABASE among its labels."""
    return f"{expression} and on ({ON_DATABASE}) {PLACED}"


def of_instances(expression: str) -> str:
    """What belongs to the instance of a selected database; it has ON_INSTANCE as labels."""
    chosen = f"(ese_database_info{{{DATABASE}}} and on ({ON_DATABASE}) {PLACED})"
    return f"{expression} and on ({ON_INSTANCE}) {chosen}"


def on_devices(expression: str, places: str = PLACED) -> str:
    """A series of each database, with ON_DATABASE as labels, on each device it lies on."""
    return f"({expression} * on ({ON_DATABASE}) group_right () {places})"


def copies(expression: str) -> str:
    """How many copies of databases: the sum of 0 and 1, each once, however many agents read it."""
    return f"sum(max by ({ON_COPY}) ({expression}))"


NEIGHBOURS = _on_devices(DEVICE)
"""1 for each database of the selected devices, selected or not."""
SHARED_BY = f"count by ({ON_DEVICE}) (ese_database_device_info{{{DEVICE}}})"
"""How many databases lie on each device."""
_ALL_SCANS = f"max by ({ON_DATABASE}) (ese_pass_running{{{COMPUTER},{SCANS}}})"
AT_ONCE = f"(sum by ({ON_DEVICE}) ({on_devices(_ALL_SCANS, NEIGHBOURS)}) > bool 1)"
"""1 for each device of which several databases are scanned, 0 for others."""
_SCAN = f"max by ({ON_DATABASE}) (ese_pass_running{{{DATABASE},{SCANS}}})"
SCANNED_AT_ONCE = f"{on_devices(_SCAN)} * on ({ON_DEVICE}) group_left () {AT_ONCE}"
"""Of each selected database on a known device 1 while it and others of it are scanned, else 0."""
_TASK = (
    f"max by ({ON_DATABASE}) (2 * ese_pass_running{{{DATABASE},{SCANS}}}"
    f' or ese_pass_running{{{DATABASE},task="defrag"}})'
)
AT_WORK = on_devices(_TASK)
"""Of each selected database: 0 rest, 1 defragmentation, 2 scan."""


def by_device(expression: str) -> str:
    """In the order of computers and devices: Prometheus sorts by labels, the first by its name."""
    return f'label_join({expression}, "at", " ", "computer", "device")'
