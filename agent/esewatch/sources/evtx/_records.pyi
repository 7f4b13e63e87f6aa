from esewatch.ese.events.from_strings import Around
from esewatch.model import Level
from esewatch.sources.evtx.record_plans import RecordPlan

def alike(
    data: bytes,
    offsets: list[int],
    index: int,
    after: int,
    plans: dict[int, tuple[RecordPlan, ...] | None],
    levels: tuple[Level | None, ...],
    /,
) -> tuple[list[tuple[Around, list[str]]], int]: ...
