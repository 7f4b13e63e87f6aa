"""One partition: its state, its folder and its journal."""

import contextlib
import logging
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from esewatch.config import Settings
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.journal import Journal
from esewatch.journal.files import last_set_aside
from esewatch.model import Batch, JournalError
from esewatch.sources.kafka.changelog import Changelog

log = logging.getLogger(__name__)


def partition_journal(journal: Path, source: str, number: int) -> Path:
    """That of a partition of the source, beside the daemon's own."""
    return journal.with_name(f"{journal.stem}-{source}-{number}.db")


def every_journal(settings: Settings) -> list[Path]:
    """The daemon's own journal, then those of partitions that lie beside it. Raises PermissionError
    where the folder may not be read."""
    own = Path(settings.journal)
    names = "|".join(re.escape(each.name) for each in settings.sources if each.type == "kafka")
    name = re.compile(rf"{re.escape(own.stem)}-({names})-\d+\.db", re.ASCII)
    found: list[Path] = []
    if names:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            found = sorted(each for each in own.parent.iterdir() if name.fullmatch(each.name))
    return [own, *found]


def last_partition_set_aside(settings: Settings) -> float | None:
    """Last time a journal of a partition was set aside (epoch seconds), if it still lies there.
    None: there is none, or the folder cannot be read."""
    with contextlib.suppress(PermissionError):
        times = [last_set_aside(path) for path in every_journal(settings)[1:]]
        return max((each for each in times if each is not None), default=None)
    return None


class PartitionPosition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Position up to which a topic was read in this partition; committed with the state."""

    topic_id: str
    """Of the topic: one that is made anew under its name has another."""
    offset: int
    """The next message."""
    leader_epoch: int | None = None
    partitions: int
    """Partitions that the topic had: with more of them a computer may be in another one."""


def next_positions(
    messages: Iterable[Any], ids: Mapping[str, str], partitions: int
) -> dict[str, PartitionPosition]:
    """Behind the last message of each topic; `ids` are those of the topics."""
    return {
        each.topic(): PartitionPosition(
            topic_id=ids[each.topic()],
            offset=each.offset() + 1,
            leader_epoch=each.leader_epoch(),
            partitions=partitions,
        )
        for each in messages
    }


class Partition:
    """A State, a Folder and a journal. To be changed with the lock of the views held. Raises
    JournalError when the journal cannot be opened, or is another process's."""

    def __init__(
        self,
        name: str,
        number: int,
        path: Path,
        settings: Settings,
        now: float,
        *,
        changelog: Changelog | None = None,
    ) -> None:
        self.name = f"{name}/{number}"
        self.number = number
        self.journal = Journal(path)
        self._changelog = changelog
        try:
            state, positions = self._load()
            newer = changelog is not None and changelog.is_newer(self.journal.every_row())
            if changelog is not None and newer:
                self.journal.replace(changelog.rows)
                log.info("%s: the state of the former owner is in use", self.name)
                state, positions = self._load()
            if changelog is not None:
                changelog.claim(self.journal.every_row())
                self.journal.written = {}
        except BaseException:
            self.journal.close()
            raise
        self.folder = Folder(state, settings)
        opened = self.folder.open_source(self.name, now)
        if (aside := self.journal.set_aside) is not None:
            instead = "taking the changelog" if newer else "reading everything again"
            what = "the journal was damaged and is set aside as"
            log.error("%s: %s %s: %s", self.name, what, aside, instead)
            if not newer:
                opened.begin_rebuilding(self.journal.salvaged.get(self.name))
        stored = positions.get(self.name, {})
        self.positions = {
            topic: msgspec.msgpack.decode(value, type=PartitionPosition)
            for topic, value in stored.items()
        }
        self.at_end: set[str] = set()
        """Topics that were read to their end."""
        self._pending: dict[str, bytes | None] = {}

    def _load(self) -> tuple[State, Mapping[str, Mapping[str, bytes]]]:
        try:
            return self.journal.load()
        except JournalError as error:
            log.error("%s: %s", self.name, error)
            self.journal.rebuild()
            return State(), {}

    def fold(self, batch: Batch, positions: Mapping[str, PartitionPosition], now: float) -> None:
        """Fold the records of these messages; the next commit has the positions behind them."""
        self.folder.fold(self.name, batch, now)
        self.positions.update(positions)
        for topic, position in positions.items():
            self._pending[topic] = msgspec.msgpack.encode(position)

    def lost(self, topic: str, missed: int) -> None:
        """Forget how far the topic was read: `missed` messages behind that are lost."""
        self.folder.state.sources[self.name].missed += missed
        del self.positions[topic]
        self._pending[topic] = None

    def commit(self) -> None:
        """Store what has changed and the positions in one transaction. Raises JournalError."""
        if not self.folder.changed and not self._pending:
            return
        positions: dict[str, dict[str, bytes | None]] = {self.name: self._pending}
        if self._changelog is not None:
            source, file, stamp = self._changelog.next_stamp()
            positions[source] = {file: stamp}
        left = self.journal.commit(self.folder.state, self.folder.changed, positions)
        self.folder.stored()
        self._pending.clear()
        for entity, error in left.items():
            log.error("%s: %s cannot be stored, its old row stays: %s", self.name, entity, error)

    def fill_changelog(self) -> None:
        """Pass on what was committed, commands too; not while the changelog is written."""
        if self._changelog is not None and self.journal.written is not None:
            self._changelog.note(self.journal.written)

    def write_changelog(self) -> None:
        """Write what `fill_changelog` passed on. Raises FencedError when the partition has another
        owner, BehindError to be tried again."""
        if self._changelog is not None:
            self._changelog.write()

    def close(self) -> None:
        """Let go of the journal; what is not committed is read again by the next owner."""
        self.journal.close()
