"""A file as a source; a decoder of lines and a clock by hand, to follow files in tests."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from esewatch.model import Batch, Reading, Source, Unreadable
from esewatch.sources.detect_input import open_inputs
from esewatch.sources.files.decoder import Decoder, Fed, OrderKey
from esewatch.sources.files.follow import FollowedFiles


def open_input(path: str, **asked: Any) -> Source:
    """The source that reads one file. Raises the SourceError of `open_inputs`."""
    sources, errors, _ = open_inputs([path], **asked)
    if errors:
        raise errors[0]
    return sources[0]


class LineDecoder:
    """Every line is a record named by its text."""

    def __init__(self, path: str, head: bytes, saved: bytes) -> None:
        self.head = head
        self.saved = saved

    def feed(self, data: bytes, *, final: bool) -> Fed:
        lines = data.decode("utf-8", "surrogateescape").splitlines()
        return Fed(records=[named(line) for line in lines], consumed=len(data))

    def save(self) -> bytes:
        return self.saved


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def named(name: str) -> Reading:
    return Reading(
        time=0.0, computer="", object="", counter=name, instance="", value=0.0, kind="level"
    )


def line_source(
    *paths: Path | str,
    clock: Clock | None = None,
    order: OrderKey | None = None,
    decoder: type[Decoder] = LineDecoder,
) -> FollowedFiles:
    source = FollowedFiles(
        "files", [str(path) for path in paths], decoder, clock=clock or Clock(), order=order
    )
    _made.append(source)
    return source


_made: list[FollowedFiles] = []


def close_sources() -> None:
    """Close the sources that a test has made."""
    while _made:
        _made.pop().close()


class Journal:
    """What the daemon keeps: the records taken in and the positions that belong to them."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.unreadable: list[Unreadable] = []
        self.positions: dict[str, bytes] = {}

    def commit(self, batch: Batch) -> None:
        self.names += [record.counter for record in batch.records if isinstance(record, Reading)]
        self.unreadable += batch.unreadable
        for key, value in batch.positions.items():
            if value is None:
                self.positions.pop(key, None)
            else:
                self.positions[key] = value

    def take(self, batches: Iterable[Batch]) -> list[str]:
        """Commit all batches; the names that were new."""
        before = len(self.names)
        for batch in batches:
            self.commit(batch)
        return self.names[before:]

    @property
    def told(self) -> list[str]:
        return [f"{Path(item.path).name}: {item.place}: {item.reason}" for item in self.unreadable]
