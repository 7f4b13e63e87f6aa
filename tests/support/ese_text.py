"""Rendered English event text for tests and the demo, in own words around the key phrases.

`render(703, strings)` gives what an event viewer would show of these insertion strings,
as far as the agent looks at it.
"""

from collections.abc import Sequence

_STARTED = "This pass started on {6} and ran for a total of {7} seconds"
_FREED = (
    "'{4}', freeing {5} pages. "
    + _STARTED
    + ", requiring {8} invocations over {9} days. "
    + "Since its creation it has been fully defragmented {10} times"
)
_SCANNED = (
    "This pass started on {5} and ran for a total of {6} seconds, requiring {7} invocations"
    " over {8} days. Operation summary:\n{9} pages seen\n{10} bad checksums\n"
    "{11} uninitialized pages"
)
_RUNNING = "This pass started on {5} and has been running for {6} days."
_CHECKSUMMING = "Online Maintenance Database Checksumming background task"
_ZEROING = "Online Maintenance Database Zeroing background task"
_READ = 'The database page read from the file "{4}" at offset {5} '
_STOPPED = "was interrupted and terminated. It will go on from there."

_TEXTS: dict[int, str] = {
    399: _READ + "(database page {8}) for {6} bytes failed verification. "
    "Bit {7} was corrupted and has been corrected. Look at the hardware.",
    474: _READ + "(database page {10}) for {6} bytes failed verification due to a page checksum "
    "mismatch. The stored checksum was {8} and the computed checksum was {9}. "
    "The read operation will fail with error {7}. Look at the hardware.",
    475: _READ + "for {6} bytes failed verification due to a page number mismatch. "
    "The expected page number was {8} and the stored page number was {9}. "
    "The read operation will fail with error {7}. Look at the hardware.",
    476: _READ + "(database page {8}) for {6} bytes failed verification because it contains no "
    "page data. The read operation will fail with error {7}. Look at the hardware.",
    507: 'A request to read from the file "{4}" at offset {5} for {6} bytes succeeded, but took '
    "an abnormally long time ({7} seconds). Look at the hardware.",
    508: 'A request to write to the file "{4}" at offset {5} for {6} bytes succeeded, but took '
    "an abnormally long time ({7} seconds). Look at the hardware.",
    509: 'A request to read from the file "{4}" at offset {5} for {6} bytes succeeded, but took '
    "an abnormally long time ({7} seconds). In addition, {8} other I/O requests to this file "
    "were slow since the last message was posted {9} seconds ago.",
    510: 'A request to write to the file "{4}" at offset {5} for {6} bytes succeeded, but took '
    "an abnormally long time ({7} seconds). In addition, {8} other I/O requests to this file "
    "were slow since the last message was posted {9} seconds ago.",
    700: "Online defragmentation is beginning a full pass on database '{4}'.",
    701: "Online defragmentation has completed a full pass on database " + _FREED,
    702: "Online defragmentation is resuming its pass on database '{4}'. " + _RUNNING,
    703: "Online defragmentation has completed the resumed pass on database " + _FREED,
    704: "Online defragmentation of database '{4}' " + _STOPPED,
    705: "Online defragmentation of database '{4}' terminated prematurely after encountering "
    "unexpected error {5}. It will go on from there.",
    717: "Online Maintenance is starting Database Checksumming background task for database "
    "'{4}'.",
    718: "Online Maintenance is starting Database Page Zeroing background task for database "
    "'{4}'.",
    719: "Online Maintenance is resuming Database Checksumming background task for database "
    "'{4}'. " + _RUNNING,
    720: "Online Maintenance is resuming Database Zeroing background task for database '{4}'. "
    + _RUNNING,
    721: _CHECKSUMMING + " has completed for database '{4}'. " + _SCANNED,
    722: _ZEROING + " has completed for database '{4}'. " + _SCANNED + "\n{12} pages unchanged "
    "since last zero\n{13} unused pages zeroed\n{14} used pages seen\n{15} deleted records "
    "zeroed\n{16} unreferenced data chunks zeroed",
    723: _CHECKSUMMING + " for database '{4}' encountered error {5} after {6} seconds.",
    724: _ZEROING + " for database '{4}' encountered error {5} after {6} seconds.",
    725: _CHECKSUMMING + " for database '{4}' " + _STOPPED,
    726: _ZEROING + " for database '{4}' " + _STOPPED,
    732: _CHECKSUMMING + " has completed for database '{4}'. This pass started on {5} and ran for "
    "a total of {6} seconds (over {7} days) on {8} pages.\nLast Runtime Scan Stats: {9}",
    733: _CHECKSUMMING + " is not finishing on time for database '{4}'. This pass started on {5} "
    "and has been running for {6} seconds (over {7} days) so far.",
    734: "Database Maintenance background task for database '{4}' failed to start with error {5}.",
    # One place off in the free-space values, as the real one.
    735: "Database Maintenance has completed a full pass on database '{4}'. This pass started on "
    "{5} and ran for a total of {6} seconds ({7} days). It exceeded the {8} day maintenance "
    "completion threshold.\n{9} pages seen\nAverage free space on Record pages: {10} ({11} pages "
    "scanned)\nAverage free space on LV pages: {12} ({13} pages scanned)\n"
    "Last Runtime Scan Stats: {10}",
    736: "Database Maintenance is starting for database '{4}'.",
    737: "Database Maintenance has completed a full pass on database '{4}'. This pass started on "
    "{5} and ran for a total of {6} seconds.\n{7} pages seen\nAverage free space on Record "
    "pages: {9} ({10} pages scanned)\nAverage free space on LV pages: {11} ({12} pages scanned)\n"
    "Last Runtime Scan Stats: {8}",
    738: "Database Maintenance is resuming for database '{4}', starting from page {5}. "
    "This pass started on {6} and has been running for {7} days.",
    744: "Database Maintenance is running on database '{4}'. This pass started on {5} and has "
    "been running for {6} hours.\n{7} pages seen",
    745: _CHECKSUMMING + " is aborted for database '{4}' at page {5}, as the client asked.\n"
    "The last properly completed checksumming task was on {6}.\nLast Runtime Scan Stats: {7}",
    746: _CHECKSUMMING + " finished an interrupted and incomplete scan for database '{4}'.\n"
    "The last fully completed checksumming scan was on {5}.",
    747: "Online Maintenance is resuming Database Checksumming background task for database "
    "'{4}', and in doing so has skipped {5} pages ({6}%). prev stop: {7}, this start: {8}.",
}  # fmt: skip

RENDERED: tuple[int, ...] = tuple(_TEXTS)
"""The ids that `render` knows."""


def render(event_id: int, strings: Sequence[str]) -> str:
    """The text of these insertion strings (`strings[0]` is `%1`); missing ones are empty.

    701 and 703 with no more than a database render as before Exchange 2007 SP1.
    Raises KeyError for an id not in `RENDERED`.
    """
    text = _TEXTS[event_id]
    if event_id in (701, 703):
        text = _defragmented(text, len(strings))
    values = ["", *strings, *[""] * 24]
    return f"{values[1]} ({values[2]}) {values[3]}" + text.format(*values)


def _defragmented(text: str, given: int) -> str:
    if given <= 4:
        return text.partition(", freeing")[0] + "."
    return text + (" over {11} days." if given >= 11 else ".")
