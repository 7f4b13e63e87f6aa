"""Name of a file, and its part in a series of transaction logs.

`edb.log` is written to, `edb00A1B.log` is complete (5 hex digits, 8 of current engines),
`edbtmp.log` the next one in the making, `edbres00001.jrs`, `res1.log` and `res2.log` hold space
for a full disk. A newer ending is `.jtx`; the checkpoint beside such logs is `edb.jcp`, beside
`.log` it is `edb.chk`. Source: the naming in logstream.cxx and logutil.cxx of the published engine.
"""

import re
from typing import Final, Literal

import msgspec

CHECKPOINT_ENDINGS: Final = (".chk", ".jcp")
"""The older one and the newer one."""
NEWER_LOG_ENDING: Final = ".jtx"

NameKind = Literal["current", "complete", "temporary", "reserved"]

_RESERVED = re.compile(r"(?:(.+)res[0-9a-f]{5}\.jrs|res[12]\.log)", re.IGNORECASE)
_LOG = re.compile(r"(.+)\.(?:log|jtx)", re.IGNORECASE)
_COMPLETE = re.compile(r"(.+?)([0-9a-f]{8}|[0-9a-f]{5})", re.IGNORECASE)
_BASE = 3
"""Characters of a base name (`edb`, `E00`): a complete log has them before its digits."""


class LogName(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The parts of a name. `base` is in lower case; `generation` 0: the name does not tell."""

    kind: NameKind
    base: str = ""
    generation: int = 0


def parse_log_name(name: str) -> LogName | None:
    """The parts of a file's name; None: it is no log's."""
    if found := _RESERVED.fullmatch(name):
        return LogName(kind="reserved", base=(found[1] or "").lower())
    found = _LOG.fullmatch(name)
    if found is None:
        return None
    stem = found[1]
    if len(stem) == _BASE:
        return LogName(kind="current", base=stem.lower())
    if stem[_BASE:].lower() == "tmp":
        return LogName(kind="temporary", base=stem[:_BASE].lower())
    complete = _COMPLETE.fullmatch(stem)
    if complete is None or len(complete[1]) != _BASE:
        return LogName(kind="current", base=stem.lower())
    return LogName(kind="complete", base=complete[1].lower(), generation=int(complete[2], 16))
