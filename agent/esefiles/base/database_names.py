"""Names of files that only databases have, and those of temporary ones."""

import re
from functools import lru_cache
from typing import Final

AMBIGUOUS: Final = (".mdb", ".dat")
"""Endings of databases of ESE and of much else."""
_DATABASE = re.compile(r"\.(?:edb|dit|que)$", re.IGNORECASE)
_TEMPORARY = re.compile(r"(?:^|[\\/])(?:te?mp|tempchksum[^\\/]*)\.edb$", re.IGNORECASE)


def is_called_database(path: str) -> bool:
    """True if only databases have such a name: none of AMBIGUOUS."""
    return _DATABASE.search(path) is not None


@lru_cache(maxsize=4096)
def is_called_temporary(path: str) -> bool:
    """True if it is called as the temporary databases of the engine and of eseutil are: no copy of
    anything, of which the engine neither stamps nor verifies a page (bf.cxx, FBFIDatabasePage)."""
    return _TEMPORARY.search(path) is not None
