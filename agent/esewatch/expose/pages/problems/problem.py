"""A problem: something that esewatch cannot see, or not see right, and its fix."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from esewatch.expose.formatting import tidy
from esewatch.fold.state.state import Database

MAX_NAMED = 3

ProblemName = Literal[
    "clock_skew", "computer_ambiguous", "computer_silent", "configuration_wrong",
    "copy_role_unknown",
    "counters_foreign", "counters_hidden", "counters_missing", "daemon_silent", "databases_dropped",
    "device_unknown", "disk_counters_missing", "event_level_low", "journal_damaged",
    "journal_missing", "journal_unwritable", "log_folder_unknown", "log_short", "mailboxes_unknown",
    "never_verified", "no_permission", "nothing_configured", "path_hangs", "path_matches_nothing",
    "records_missed", "rule_unused", "snapshot_never", "snapshot_old", "source_behind",
    "source_down", "source_empty", "source_not_taken_up", "time_zone_assumed",
    "time_zone_contradicted",
    "date_order_assumed", "unreadable_input", "window_unknown",
]  # fmt: skip


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Missing data, their place, and the fix. Text that is empty is unknown or does not apply.

    `sentence` is one line. `command` is exact, for the shell of the machine that it concerns
    (PowerShell for Windows); `setting` is a line of the configuration where that is the fix.
    Without `needs_person` it is for information: no check waits for it.
    """

    problem: ProblemName
    source: str = ""
    computer: str = ""
    database: str = ""
    sentence: str
    command: str = ""
    setting: str = ""
    needs_person: bool = msgspec.field(default_factory=lambda: True)
    """By a factory, so that it is written where it is true, too."""

    @property
    def whose(self) -> str:
        return " ".join(part for part in (self.source, self.computer, self.database) if part)


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems that need a person first, each once, fit to be shown."""
    found = {
        (each.problem, each.whose, each.sentence, each.command): _shown(each) for each in problems
    }
    return tuple(
        sorted(found.values(), key=lambda each: (not each.needs_person, each.problem, each.whose))
    )


def _shown(problem: Problem) -> Problem:
    return msgspec.structs.replace(
        problem,
        source=tidy(problem.source),
        computer=tidy(problem.computer),
        database=tidy(problem.database),
        sentence=" ".join(tidy(problem.sentence).split()),
        command=_encodable(problem.command),
        setting=_encodable(problem.setting),
    )


def _encodable(text: str) -> str:
    """`text`, with what no page can hold replaced: a path may be any bytes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def quoted(text: str) -> str:
    """A YAML scalar in single quotes, or plain where that is safe."""
    if re.fullmatch(r"(?!(?i:null)\Z)[A-Za-z][A-Za-z0-9_.-]*", text):
        return text
    return "'" + text.replace("'", "''") + "'"


def about(
    database: Database,
    problem: ProblemName,
    sentence: str,
    *,
    command: str = "",
    setting: str = "",
    needs_person: bool = False,
) -> Problem:
    return Problem(
        problem=problem,
        computer=database.computer,
        database=database.database,
        sentence=sentence,
        command=command,
        setting=setting,
        needs_person=needs_person,
    )


def endpoint_setting(computer: str) -> str:
    """The entry of `sources` for the exporter of a computer, empty where that is no host name."""
    if re.fullmatch(r"[A-Za-z0-9._-]{1,253}", computer) is None:
        return ""
    url = f"http://{computer}:9182/metrics"
    return f"sources: [{{type: prometheus, url: '{url}', computer: {quoted(computer)}}}]"


def listed_names(names: Sequence[str]) -> str:
    """`a, b, c and 4 more`."""
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
