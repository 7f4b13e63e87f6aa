"""Read problems of the engine, reported to a Watcher: bad pages and slow requests."""

from typing import Final, Literal, Protocol

import msgspec

Kind = Literal["corrected", "correction_failed", "checksum", "wrong_page", "no_data", "lost_flush"]

ERRORS: Final[dict[Kind, int]] = {
    "corrected": 0,
    "correction_failed": -1018,
    "checksum": -1018,
    "wrong_page": -1118,
    "no_data": -1019,
    "lost_flush": -1119,
}
"""The engine's error of each kind (jethdr.w of the published engine), 0: none."""

Operation = Literal["read", "write"]


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """A page that differs from what was written. `offset` and `bytes` are those of the page."""

    number: int
    kind: Kind
    offset: int
    bytes: int
    bit: int | None = None
    """Of `corrected` and `correction_failed`: the flipped bit, counted within the page."""
    stored: tuple[int, ...] = ()
    """Of `checksum`: the checksums in the page, one a block."""
    computed: tuple[int, ...] = ()
    """Of `checksum`: those that its content has."""
    written_as: int | None = None
    """Of `wrong_page`: the number in the page."""
    flush_type: int = 0
    """Of `lost_flush`: that of the page, 0 to 3."""
    expected_type: int = 0
    """Of `lost_flush`: that of the flush map."""


class SlowRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that took abnormally long and is to be reported (4.5 of the engine's rules).

    `others` and `since` (seconds) are None in the first report of a file, else how many
    others were passed over since the last report, and how long that is ago.
    """

    file: str
    operation: Operation
    offset: int
    bytes: int
    seconds: float
    others: int | None = None
    since: float | None = None


class Watcher(Protocol):
    """Receives the reports."""

    def page_error(self, trouble: Trouble) -> None:
        """A page was read and is not what was written."""

    def slow_request(self, slow: SlowRequest) -> None:
        """A request came back abnormally late."""


class Nobody:
    """A Watcher that is not interested."""

    def page_error(self, trouble: Trouble) -> None:
        """See Watcher."""

    def slow_request(self, slow: SlowRequest) -> None:
        """See Watcher."""
