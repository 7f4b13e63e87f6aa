"""Settings of single databases, as lines for `databases` that can all be taken over together."""

from collections import Counter
from typing import Any

import msgspec

from esewatch.config import DatabaseRule, Settings, dump_rule, rule_for
from esewatch.expose.pages.problems.problem import ProblemName, quoted
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import Database, State

_WILDCARDS = frozenset("*?")


class RuleSettings:
    """The rules of the known databases, and the lines that were given for them so far."""

    def __init__(self, settings: Settings, state: State) -> None:
        self._settings = settings
        keys = [*state.databases, *state.sql_databases]
        self._fits = Counter(id(rule_for(settings, *key)) for key in keys)
        self._given: dict[DatabaseKey, ProblemName] = {}

    def is_used(self, rule: DatabaseRule) -> bool:
        """True if a known database has this rule."""
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
            return f"{_added(rule, changes)}   # in its rule, match: {quoted(rule.match)}"
        if not "".join(key).isprintable() or _WILDCARDS.intersection("".join(key)):
            return ""
        own = msgspec.structs.replace(
            rule or DatabaseRule(match=""), match=database.database, computer=database.computer
        )
        first = self._given.setdefault(key, problem)
        if first != problem:
            return f"{_added(own, changes)}   # in the rule that {first} has for it"
        before = f"   # before the rule with match: {quoted(rule.match)}" if rule else ""
        return f"databases: [{dump_rule(_changed(own, changes))}]{before}"

    def _is_of_one(self, rule: DatabaseRule) -> bool:
        pattern = _WILDCARDS.intersection(rule.match + (rule.computer or ""))
        return not pattern and self._fits[id(rule)] == 1


def _changed(rule: DatabaseRule, changes: dict[str, Any]) -> DatabaseRule:
    policy = {**rule.policy, **changes.get("policy", {})}
    return msgspec.structs.replace(rule, **{**changes, "policy": policy})


def _added(rule: DatabaseRule, changes: dict[str, Any]) -> str:
    """The keys of `changes`, as they stand in the rule afterwards."""
    return dump_rule(_changed(rule, changes), changes)[1:-1]
