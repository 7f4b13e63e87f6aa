"""One file that is followed: its position and its known state."""

from esewatch.sources.files.decoder import Decoder
from esewatch.sources.files.file_identity import FilePosition
from esewatch.sources.files.file_search import Seen, Stat
from esewatch.sources.files.text_file import TextFile

FIRST_BLOCK = 64 << 10


class FollowedFile:
    """One file being followed."""

    def __init__(self, seen: Seen, position: FilePosition, now: float) -> None:
        self.key = seen.key
        self.path = seen.path
        self.literal = seen.literal
        self.position = position
        self.stat: Stat = seen.stat
        self.changed = now
        """Last time at which it was seen to have changed (monotonic)."""
        self.text: TextFile | None = None
        self.decoder: Decoder | None = None
        self.known = False
        """The state of the file described by `stat` has been read."""
        self.detached = False
        """No longer found by any path; read through the open handle."""
        self.refused = ""
        """Reason why its format cannot be read."""
        self.done: tuple[Stat, int] | None = None
        """State in which it was read as far as possible."""
        self.read_at = now
        self.compressed = False
        self.order: float | None = None
        self.block = FIRST_BLOCK

    @property
    def moved(self) -> bool:
        """It has another name than when it was first seen: its writer has left it."""
        return self.path != self.position.path

    @property
    def unread(self) -> bool:
        """True if it never had text to decode."""
        return self.decoder is None and not self.position.context

    def note(self, new: Stat, now: float) -> None:
        """Apply the result of stat."""
        if new != self.stat:
            self.stat, self.changed = new, now

    def snapshot(self) -> FilePosition:
        """The position as it is now."""
        if self.text is not None:
            self.text.mark(self.position)
        if self.decoder is not None:
            self.position.context = self.decoder.save()
        return self.position

    def close(self) -> None:
        """Close the file; reading can go on from the position."""
        self.snapshot()
        if self.text is not None:
            self.text.raw.close()
        self.text = self.decoder = None
