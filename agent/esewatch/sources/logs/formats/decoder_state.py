"""The state with which a decoder continues in the middle of a file."""

from typing import Literal

import msgspec

from esewatch.sources.logs.formats.columns import ColumnNames
from esewatch.sources.logs.formats.console import Table
from esewatch.sources.logs.formats.event_builder import MakerState

Format = Literal["json", "xml", "csv", "text"]


class DecoderState(msgspec.Struct, omit_defaults=True):
    """Context of a position: choices and facts learnt before it."""

    format: Format
    maker: MakerState
    layout: ColumnNames | None = None
    """Columns of the running table of separated values."""
    table: Table | None = None
    """Columns of the console table the position is in."""
    heading: str = ""
    """Provider that a heading named for the next console table."""

    broken_at: int | None = None
    """Indent of a broken JSON object, of which deeper lines are still a part."""

    taken: int = 0
    """Bytes of the next line that are already taken."""

    def encoded(self) -> bytes:
        return msgspec.json.encode(self)


def read_decoder_state(saved: bytes) -> DecoderState | None:
    """The context kept by `encoded`; None when there is none to be read."""
    try:
        return msgspec.json.decode(saved, type=DecoderState)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
