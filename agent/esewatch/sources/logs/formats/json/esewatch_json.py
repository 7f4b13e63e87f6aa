"""The lines that `esewatch events --format json` prints, read back as the same events."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec

from esewatch.model import Level, Stage, Task

_Number = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class OwnLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    event_id: Annotated[int, msgspec.Meta(ge=0, le=0xFFFFFFFF)]
    provider: str
    time: datetime | None = None
    computer: str = ""
    channel: str = ""
    record_id: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None
    level: Level | None = None
    process: str = ""
    instance_state: str = ""
    engine_version: str = ""
    ese_instance: str = ""
    database: str = ""
    task: Task | None = None
    stage: Stage | None = None
    fields: dict[str, _Number | float | str] = {}
    strings: tuple[str, ...] = ()
    companion: bool = False

    @property
    def epoch(self) -> float | None:
        """Its time in epoch seconds."""
        return None if self.time is None else (self.time - _EPOCH).total_seconds()


_OWN_KEYS = frozenset(OwnLine.__struct_fields__)
_decode = msgspec.json.Decoder(OwnLine).decode


def own_line(line: bytes) -> OwnLine | None:
    """Content of a line in esewatch's own form (contract, `events --format json`), else None."""
    try:
        return _checked(_decode(line))
    except (msgspec.DecodeError, UnicodeError, RecursionError, OverflowError):
        return None


def own_object(value: object) -> OwnLine | None:
    """The same of a line that is decoded already."""
    if not isinstance(value, dict) or not {"event_id", "provider"} <= value.keys() <= _OWN_KEYS:
        return None
    try:
        msgspec.json.encode(value)  # half a character raises
        return _checked(msgspec.convert(value, OwnLine))
    except (msgspec.ValidationError, OverflowError, UnicodeError):
        return None


def _checked(line: OwnLine) -> OwnLine | None:
    return line if line.time is None or line.time.tzinfo is not None else None
