"""A problem: something that esewatch cannot see, or not see right, and its fix. Settings of single
databases are lines for `databases` that can all be taken over together."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec

from esewatch.config import (
    DatabaseRule,
    Settings,
    rule_for,
)
from esewatch.config.files import dump_keys
from esewatch.expose.formatting import tidy
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import Database, State

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


class ProblemGroup(NamedTuple):
    """Problems of one cause, at several sources, computers or databases, with the first fix."""

    first: Problem
    problems: tuple[Problem, ...]


def by_cause(problems: Iterable[Problem]) -> list[ProblemGroup]:
    """The problems, in their order, one group for each cause."""
    found: dict[tuple[object, ...], list[Problem]] = {}
    for each in problems:
        found.setdefault((each.needs_person, each.problem, each.sentence), []).append(each)
    return [ProblemGroup(alike[0], tuple(alike)) for alike in found.values()]


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


_WILDCARDS = frozenset("*?")
_SHARED = frozenset(DatabaseRule.__struct_fields__) - {"match", "computer"}
"""Keys that a rule of its own takes over from one of several databases."""


class RuleSettings:
    def __init__(self, settings: Settings, state: State) -> None:
        self._settings = settings
        keys = [*state.databases, *state.sql_databases]
        self._fits = Counter(id(rule_for(settings, *key)) for key in keys)
        self._given: dict[DatabaseKey, ProblemName] = {}
        self._dumped: dict[tuple[int, ProblemName, bool], str] = {}
        """Text of keys by rule and problem, which changes the same for every database. YAML is
        slow, and databases may be thousands."""

    def is_used(self, rule: DatabaseRule) -> bool:
        return self._fits[id(rule)] > 0

    def setting(
        self, database: Database, problem: ProblemName, *, unknown: str = "", **changes: Any
    ) -> str:
        """The line that sets `changes` for this database, and for no other. `unknown`: a key whose
        value is to be put in the place of what stands for it.

        The first rule that fits wins. One of this database alone gets the keys. Otherwise the first
        problem of the database has a rule, with what a rule of several says, and further ones say
        what to add to it. Empty where a name cannot stand on one line or would be a pattern.
        """
        key = (database.computer, database.database)
        rule = rule_for(self._settings, *key)
        keys = partial(self._keys, rule, problem, changes, unknown)
        wild = rule is not None and _WILDCARDS.intersection(rule.match + (rule.computer or ""))
        if rule is not None and not wild and self._fits[id(rule)] == 1:
            return f"{keys()}   # in its rule, match: {quoted(rule.match)}"
        if not "".join(key).isprintable() or _WILDCARDS.intersection("".join(key)):
            return ""
        first = self._given.setdefault(key, problem)
        if first != problem:
            return f"{keys()}   # in the rule that {first} has for it"
        before = f"   # before the rule with match: {quoted(rule.match)}" if rule else ""
        of = f"match: {quoted(database.database)}, computer: {quoted(database.computer)}"
        return f"databases: [{{{of}, {keys(whole=True)}}}]{before}"

    def _keys(
        self,
        rule: DatabaseRule | None,
        problem: ProblemName,
        changes: dict[str, Any],
        unknown: str,
        *,
        whole: bool = False,
    ) -> str:
        """The keys of `changes` as they stand in the rule afterwards; `whole`: with its others."""
        place = (id(rule), problem, whole)
        if place not in self._dumped:
            known = rule or DatabaseRule(match="")
            policy = {**known.policy, **changes.get("policy", {})}
            changed = msgspec.structs.replace(known, **{**changes, "policy": policy})
            known_keys = dump_keys(changed, _SHARED if whole else changes)
            self._dumped[place] = ", ".join(part for part in (known_keys, unknown) if part)
        return self._dumped[place]
