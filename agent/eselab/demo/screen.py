"""The one screen of the demo: addresses, the stories, the keys, the last events. `draw` is a pure
function; `Terminal` puts its lines on a terminal, in place, and reads keys."""

import contextlib
import os
import sys
import termios
import textwrap
import threading
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from esefiles.base.command_line import write_out
from eselab.demo.stories import FORECAST, STORIES
from esewatch.ese.dates import iso_time
from esewatch.ese.events.from_strings import event_from_strings
from esewatch.ese.raw_event import RawEvent

_ENTER = "\x1b[?1049h\x1b[?25l"
"""The alternate screen, without cursor; _LEAVE brings the previous content back."""
_LEAVE = "\x1b[?25h\x1b[?1049l"
_HOME, _REST_OF_LINE, _REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_BAR = 40
_TURN_SECONDS = 8.0
"""The time that each sentence is shown where there is room for one."""

_BAD_PAGES = {399: "bad page: corrected", 474: "bad page: uncorrectable"}
_TAIL_BYTES = 16_384
"""Read of the end of each log: more events than there is room for."""
_RECENT = timedelta(hours=1)
"""Before the newest: what is older is the past of the demo."""

Action = Literal["stop", "draw", "flip", "damage", "slow", "skip", "agent"]
KEYS: dict[str, tuple[str, Action]] = {
    "f": ("flip bit", "flip"),
    "d": ("damage page", "damage"),
    "s": ("slow disk", "slow"),
    "n": ("skip night", "skip"),
    "a": ("agent off/on", "agent"),
    "q": ("end", "stop"),
}


class ScreenView(NamedTuple):
    elapsed: float
    folder: Path
    open: Sequence[tuple[str, str]]
    """Addresses to open: description and address."""
    past: float
    """Share of the nights behind the demo that are done, 1: the agent is at work."""
    seen: set[str]
    sentences: Sequence[str]
    """The present text of the page of each story."""
    forecast: str
    events: Sequence[str]
    said: str = ""
    """The result of a key, or why nothing is known of the stories."""


class Line(NamedTuple):
    text: str
    bold: bool = False


class _Entry(NamedTuple):
    seen: bool
    head: str
    sentence: str


def draw(view: ScreenView, width: int, height: int) -> list[Line]:
    """At most `height` lines of at most `width` characters, the most useful ones.

    Where it is low, the older events go first, then what the pages say beyond their first line,
    then all sentences but that of the story under work.
    """
    head = list(_head(view))
    entries = list(_entries(view))
    for rows in (3, 2, 1):
        lines = [*head, *_all_told(entries, width, rows)]
        if len(lines) + 2 <= height:
            break
    else:
        lines = [*head, *_one_told(entries, view.elapsed, width, height - len(head))]
    room = height - len(lines)
    if room >= 2:
        lines.append(Line("Last events, as the agent reads them (UTC)", bold=True))
        lines += [Line(f"  {line}") for line in list(view.events)[-(room - 1) :]]
    return [Line(_cut(line.text, width), line.bold) for line in lines[:height]]


def _head(view: ScreenView) -> Iterator[Line]:
    minutes, seconds = divmod(int(view.elapsed), 60)
    total = len(STORIES) + 1
    yield Line(
        f"esewatch demo  {minutes}:{seconds:02}  {len(view.seen)} of {total} stories seen",
        bold=True,
    )
    yield from (Line(f"  {name:<13}{url}") for name, url in view.open)
    yield Line(f"  {'folder':<13}{view.folder}")
    if view.past < 1.0:
        done = round(view.past * _BAR)
        bar = "#" * done + "." * (_BAR - done)
        yield Line(f"  30 nights first: [{bar}] {view.past:.0%}")
    else:
        yield Line("  " + "  ".join(f"{key} {what}" for key, (what, _) in KEYS.items()))
    if view.said:
        yield Line(f"  {view.said}")


def _entries(view: ScreenView) -> Iterator[_Entry]:
    for story, sentence in zip(STORIES, view.sentences, strict=True):
        where = f"{story.database} on {story.computer}: {story.title}"
        yield _entry(view, story.title, f"{where} ({story.look_at})", sentence)
    yield _entry(view, FORECAST, FORECAST, view.forecast)


def _entry(view: ScreenView, title: str, text: str, sentence: str) -> _Entry:
    seen = title in view.seen
    return _Entry(seen, f"[{'x' if seen else ' '}] {text}", sentence)


def _all_told(entries: Sequence[_Entry], width: int, rows: int) -> Iterator[Line]:
    for entry in entries:
        yield Line(entry.head, bold=True)
        told = _wrapped(entry.sentence, width)
        if len(told) > rows:
            told = [*told[: rows - 1], f"{told[rows - 1]} .."]
        yield from (Line(f"    {part}") for part in told)


def _one_told(entries: Sequence[_Entry], elapsed: float, width: int, room: int) -> list[Line]:
    """A line each, and the whole sentence of one; at most `room`, with that one among them."""
    shown = _under_work(entries, elapsed)
    lines: list[Line] = []
    end = 0
    for place, entry in enumerate(entries):
        lines.append(Line(entry.head, bold=place == shown))
        if place == shown:
            lines += [Line(f"    {part}") for part in _wrapped(entry.sentence, width)]
            end = len(lines)
    first = max(0, end - room)
    return lines[first : first + max(0, room)]


def _under_work(entries: Sequence[_Entry], elapsed: float) -> int | None:
    """The first story that was begun and not seen yet; when all were seen, each has its turn."""
    told = [place for place, entry in enumerate(entries) if entry.sentence]
    waiting = [place for place in told if not entries[place].seen]
    if waiting or not told:
        return waiting[0] if waiting else None
    return told[int(elapsed / _TURN_SECONDS) % len(told)]


def _wrapped(sentence: str, width: int) -> list[str]:
    return textwrap.wrap(sentence, max(20, width - 4))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else (text[: max(0, width - 2)] + "..")[:width]


class Terminal:
    """Draws on stdout, over the previous content."""

    def show(self, lines: Sequence[Line]) -> None:
        drawn = [
            (f"{_BOLD}{line.text}{_PLAIN}" if line.bold else line.text) + _REST_OF_LINE
            for line in lines
        ]
        write_out(_HOME + "\n".join(drawn) + _REST_OF_SCREEN)

    @classmethod
    @contextmanager
    def taken(cls, pressed: Callable[[str], None]) -> Iterator["Terminal"]:
        """Take over the terminal, and restore it when the block ends; `pressed` gets the keys."""
        with _keys(pressed):
            sys.stdout.write(_ENTER)
            try:
                yield cls()
            finally:
                write_out(_LEAVE)


@contextmanager
def _keys(pressed: Callable[[str], None]) -> Iterator[None]:
    """Keys are read one by one and not echoed, where stdin is a terminal; Ctrl-C stays Ctrl-C."""
    if not sys.stdin.isatty():
        yield
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    # It waits in a read for as long as the process lives.
    threading.Thread(target=_read_keys, args=(descriptor, pressed), daemon=True).start()
    tty.setcbreak(descriptor)
    try:
        yield
    finally:
        # The terminal may be gone.
        with contextlib.suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _read_keys(descriptor: int, pressed: Callable[[str], None]) -> None:
    with contextlib.suppress(OSError):
        while keys := os.read(descriptor, 64):
            for key in keys.decode("ascii", "replace"):
                pressed(key)


def last_events(folder: Path) -> list[str]:
    """The last events of the logs in `folder`, that of the demo, oldest first. Raises OSError."""
    found = []
    for path in (*folder.glob("*/events.jsonl"), *folder.glob("*/*/events.jsonl")):
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            for line in file.read().splitlines():
                with contextlib.suppress(msgspec.DecodeError):  # half of a line
                    found.append(_event(line))
    found.sort()
    return [text for time, text in found if time >= found[-1][0] - _RECENT]


def _event(line: bytes) -> tuple[datetime, str]:
    """Its time and `03:14:15  healthy  703  defrag completed`, UTC."""
    event = msgspec.json.decode(line)["Event"]
    system, strings = event["System"], event["EventData"]["Data"]["#text"]
    provider, number = system["Provider"]["#attributes"]["Name"], system["EventID"]
    time = iso_time(system["TimeCreated"]["#attributes"]["SystemTime"])
    told = event_from_strings(RawEvent(provider, number, strings=tuple(strings)))
    assert told is not None
    name = Path(told.database).stem or told.ese_instance
    what = " ".join(part for part in (told.task, told.stage) if part)
    what = what or _BAD_PAGES.get(number) or told.level or ""
    return time, f"{time:%H:%M:%S}  {name:<12} {number:>4}  {what}".rstrip()
