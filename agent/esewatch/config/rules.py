"""Lookup of the configured rule and the thresholds for a database."""

import functools
import re

import msgspec

from esewatch.config.settings import DatabaseRule, Policy, Settings, Window


def rule_for(settings: Settings, computer: str, database_label: str) -> DatabaseRule | None:
    """The first rule that fits the computer label and the database label, None without one."""
    for rule in settings.databases:
        if rule.computer is not None and not glob_matches(rule.computer, computer):
            continue
        if glob_matches(rule.match, database_label):
            return rule
    return None


def policy_for(settings: Settings, database_label: str, computer: str = "") -> Policy:
    """The thresholds of a database: the general ones with its rule's changes."""
    rule = rule_for(settings, computer, database_label)
    if rule is None or not rule.policy:
        return settings.policy
    return msgspec.structs.replace(settings.policy, **rule.policy)


def window_for(settings: Settings, database_label: str, computer: str = "") -> Window | None:
    """The maintenance window of a database, None where none is configured."""
    rule = rule_for(settings, computer, database_label)
    return settings.windows.get(rule.window) if rule is not None and rule.window else None


def glob_matches(pattern: str, text: str) -> bool:
    """True if all of `text` fits `pattern`, without case.

    `*` is any run of characters, path separators included, `?` is one character,
    everything else is itself.
    """
    return _compiled(pattern.lower()).fullmatch(text.lower()) is not None


@functools.lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    """The first place that fits each piece is final (atomic groups): time stays linear."""
    first, *rest = (
        "".join("." if c == "?" else re.escape(c) for c in piece) for piece in pattern.split("*")
    )
    if not rest:
        return re.compile(first, re.DOTALL)
    *middle, last = rest
    groups = "".join(f"(?>.*?{piece})" for piece in middle if piece)
    return re.compile(f"{first}{groups}.*{last}", re.DOTALL)
