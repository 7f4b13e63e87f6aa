"""What a decoder must know to continue in the middle of a file."""

from typing import Literal

import msgspec

from esewatch.sources.formats.console import Table
from esewatch.sources.formats.found import MakerState
from esewatch.sources.formats.layout import Layout

Format = Literal["json", "xml", "csv", "text"]


class Context(msgspec.Struct, omit_defaults=True):
    """Context of a position: what was chosen and learnt before it."""

    format: Format
    maker: MakerState
    layout: Layout | None = None
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
        """The context as it is kept with the position."""
        return msgspec.json.encode(self)


def read_context(saved: bytes) -> Context | None:
    """The context kept by `Context.encoded`; None when there is none to be read."""
    try:
        return msgspec.json.decode(saved, type=Context)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
