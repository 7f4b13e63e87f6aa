"""Settings of single databases, as lines for `databases` that can all be taken over together."""

from collections import Counter
from typing import Any

import msgspec

from esewatch.config import DatabaseRule, Settings, rule_for
from esewatch.config.files import dump_keys
from esewatch.expose.pages.problems.problem import ProblemName, quoted
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import Database, State

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

    def setting(self, database: Database, problem: ProblemName, **changes: Any) -> str:
        """The line that sets `changes` for this database, and for no other.

        The first rule that fits wins. One of this database alone gets the keys. Otherwise the first
        problem of the database has a rule, with what a rule of several says, and further ones say
        what to add to it. Empty where a name cannot stand on one line or would be a pattern.
        """
        key = (database.computer, database.database)
        rule = rule_for(self._settings, *key)
        if rule is not None and self._is_of_one(rule):
            return (
                f"{self._keys(rule, problem, changes)}   # in its rule, match: {quoted(rule.match)}"
            )
        if not "".join(key).isprintable() or _WILDCARDS.intersection("".join(key)):
            return ""
        first = self._given.setdefault(key, problem)
        if first != problem:
            return f"{self._keys(rule, problem, changes)}   # in the rule that {first} has for it"
        before = f"   # before the rule with match: {quoted(rule.match)}" if rule else ""
        of = f"match: {quoted(database.database)}, computer: {quoted(database.computer)}"
        return f"databases: [{{{of}, {self._keys(rule, problem, changes, whole=True)}}}]{before}"

    def _is_of_one(self, rule: DatabaseRule) -> bool:
        pattern = _WILDCARDS.intersection(rule.match + (rule.computer or ""))
        return not pattern and self._fits[id(rule)] == 1

    def _keys(
        self,
        rule: DatabaseRule | None,
        problem: ProblemName,
        changes: dict[str, Any],
        *,
        whole: bool = False,
    ) -> str:
        """The keys of `changes` as they stand in the rule afterwards; `whole`: with its others."""
        place = (id(rule), problem, whole)
        if place not in self._dumped:
            known = rule or DatabaseRule(match="")
            policy = {**known.policy, **changes.get("policy", {})}
            changed = msgspec.structs.replace(known, **{**changes, "policy": policy})
            self._dumped[place] = dump_keys(changed, _SHARED if whole else changes)
        return self._dumped[place]
