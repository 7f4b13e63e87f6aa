"""The lines that `esewatch events --format json` prints, read back as the same events."""

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from esewatch.model import Event, FieldValue, Level, Stage, Task

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Line(msgspec.Struct, forbid_unknown_fields=True):
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
    fields: dict[str, FieldValue] = {}
    strings: tuple[str, ...] = ()
    companion: bool = False


_KEYS = frozenset(_Line.__struct_fields__)


def esewatch_event(value: object) -> Event | None:
    """The event of an object in esewatch's own form (contract, `events --format json`),
    else None.
    """
    if not isinstance(value, dict) or not {"event_id", "provider"} <= value.keys() <= _KEYS:
        return None
    try:
        line = msgspec.convert(value, _Line)
    except (msgspec.ValidationError, OverflowError):
        return None
    if line.time is not None and line.time.tzinfo is None:
        return None
    fields: dict[str, Any] = msgspec.structs.asdict(line)
    fields["time"] = None if line.time is None else (line.time - _EPOCH).total_seconds()
    return Event(**fields)
