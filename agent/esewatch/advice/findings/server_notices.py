"""Notices of other programs of a server about a database: a failed copy, a directory.

No event reports that the problem is over (docs/inputs.md): an acknowledgement ends it, or a
restore.
"""

from collections.abc import Mapping, Sequence

from esewatch.advice.base.finding import Finding, FindingName, counted, listed, moment
from esewatch.fold.state.state import Notice

WORDS: Mapping[str, str] = {
    "failed": "this copy has failed",
    "suspended": "this copy was suspended",
    "seeding_failed": "this copy could not be seeded",
    "database_error": "its database reported an error",
    "usn_rollback": "its database is older than its replication partners expect (USN rollback)",
    "replication_stopped": "replication from a partner has stopped",
}
"""The field `state` of an event -> its text."""
_OF: Mapping[FindingName, tuple[str, str, Sequence[str]]] = {
    "copy_failed": (
        "Exchange",
        "for its current state, run Get-MailboxDatabaseCopyStatus",
        ("failed", "suspended", "seeding_failed"),
    ),
    "directory_error": (
        "the directory service",
        "for its current state, run repadmin /showrepl and dcdiag",
        ("database_error", "usn_rollback", "replication_stopped"),
    ),
}
"""Finding -> the reporting program, the command to run, and the states that it covers."""


def server_notices(notices: Sequence[Notice]) -> list[Finding]:
    """The findings of unresolved notices; the latest comes first."""
    made = []
    for finding, (who, command, states) in _OF.items():
        parts = [_part(each) for each in reversed(notices) if each.state in states]
        if parts:
            made.append(Finding(finding, f"{who} logged that {listed(parts)}; {command}"))
    return made


def _part(notice: Notice) -> str:
    times = f"{counted(notice.count, 'time', 'times')}, last " if notice.count > 1 else ""
    why = f": {notice.text}" if notice.text else ""
    return f"{WORDS[notice.state]} (event {notice.event_id}, {times}{moment(notice.last)}{why})"
