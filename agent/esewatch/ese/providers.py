"""Event sources of ESE: the provider names that are accepted."""

import re
from collections.abc import Sequence
from functools import lru_cache

ESE_PROVIDERS: tuple[str, ...] = ("ESE", "ESENT", "NTDS ISAM", "ADAM [*] ISAM", "ESE BACKUP")
"""Names as logged; `*` stands for what each installation names for itself.

AD LDS has an event source for each of its instances.
"""

_ANY = r"[^\[\]\r\n]{1,128}"

PATTERNS: tuple[str, ...] = tuple(
    _ANY.join(map(re.escape, name.split("*"))) for name in ESE_PROVIDERS
)
"""Regular expressions, each for one of the names."""
WORDS: tuple[str, ...] = ("ESE", "ESENT", "ESE BACKUP", "ISAM")
"""Words of which every name has one: for cheap filters."""

_OURS = re.compile("|".join(PATTERNS), re.IGNORECASE)


_LONGEST_KEPT = 256


def is_ese_provider(name: str, extra: Sequence[str] = ()) -> bool:
    """True if `name` is an event source of ESE, or one of the operator's `extra`; without case."""
    kept = len(name) <= _LONGEST_KEPT
    return _is_kept(name, tuple(extra)) if kept else _is_ours(name, extra)


def _is_ours(name: str, extra: Sequence[str]) -> bool:
    bare = name.strip()
    if _OURS.fullmatch(bare):
        return True
    folded = bare.lower()
    return bool(extra) and any(folded == other.strip().lower() for other in extra)


_is_kept = lru_cache(maxsize=1024)(_is_ours)
