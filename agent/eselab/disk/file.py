"""Operations of every file of the engine, real or simulated, counted or spoiled."""

from typing import Protocol


class File(Protocol):
    def read(self, offset: int, length: int) -> bytes:
        """The bytes there, fewer at the end of the file. Raises OSError."""

    def write(self, offset: int, data: bytes) -> None:
        """Write; beyond the end the file grows, with zeros in between. Raises OSError."""

    def sync(self) -> None:
        """All writes so far are durable when this returns."""

    def size(self) -> int:
        """Length."""

    def truncate(self, size: int) -> None:
        """Make it `size` long."""

    def close(self) -> None:
        """Close it. Unsynced writes stay undurable."""
