"""The one screen of the demo: what to open, the stories, the keys, the last events.

`draw` is a pure function; `Terminal` puts its lines on a terminal, in place, and reads keys.
"""

import contextlib
import os
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from esewatch.cli.demo.stories import FORECAST, STORIES

if sys.platform != "win32":
    import termios
    import tty

_ENTER = "\x1b[?1049h\x1b[?25l"
"""A screen of its own, without cursor; what was on the terminal comes back with _LEAVE."""
_LEAVE = "\x1b[?25h\x1b[?1049l"
_HOME, _REST_OF_LINE, _REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_BAR = 40

KEYS = {
    "f": "flip bit",
    "d": "damage page",
    "s": "slow disk",
    "n": "skip night",
    "a": "agent off/on",
    "q": "end",
}
"""What a key does."""


class View(NamedTuple):
    """What is shown."""

    elapsed: float
    folder: Path
    open: Sequence[tuple[str, str]]
    """What to open: what it is, and its address."""
    past: float
    """Share of the nights behind the demo that are done, 1: the agent is at work."""
    seen: set[str]
    """Titles of the stories that were seen."""
    sentences: Sequence[str]
    """Of each story, what its page says now."""
    forecast: str
    events: Sequence[str]
    said: str = ""
    """What a key did, or why nothing is known of the stories."""


class Line(NamedTuple):
    """One line of the screen."""

    text: str
    bold: bool = False


def draw(view: View, width: int, height: int) -> list[Line]:
    """At most `height` lines of at most `width` characters, the most useful ones.

    Where it is low, the older events go first, then what the pages say beyond their first line.
    """
    head = list(_head(view))
    events = [Line("Last events, as the agent reads them (UTC)", bold=True)]
    events += [Line(f"  {line}") for line in view.events]
    for rows in (3, 2, 1, 0):
        lines = [*head, *_stories(view, width, rows)]
        if len(lines) + 2 <= height:
            break
    room = height - len(lines)
    if room >= 2:
        lines += [events[0], *events[1:][-(room - 1) :]]
    return [Line(_cut(line.text, width), line.bold) for line in lines[:height]]


def _head(view: View) -> Iterator[Line]:
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
        yield Line("  " + "  ".join(f"{key} {what}" for key, what in KEYS.items()))
    if view.said:
        yield Line(f"  {view.said}")


def _stories(view: View, width: int, rows: int) -> Iterator[Line]:
    for story, sentence in zip(STORIES, view.sentences, strict=True):
        where = f"{story.database} on {story.computer}: {story.title}"
        yield Line(f"{_sign(story.title, view)} {where} ({story.look_at})", bold=True)
        told = textwrap.wrap(sentence, max(20, width - 4))
        if len(told) > rows > 0:
            told = [*told[: rows - 1], f"{told[rows - 1]} .."]
        yield from (Line(f"    {part}") for part in told[:rows])
    yield Line(f"{_sign(FORECAST, view)} {FORECAST}", bold=True)
    if rows and view.forecast:
        yield Line(f"    {view.forecast}")


def _sign(title: str, view: View) -> str:
    return "[x]" if title in view.seen else "[ ]"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else (text[: max(0, width - 2)] + "..")[:width]


class Terminal:
    """Draws on stdout, over what it drew before."""

    def show(self, lines: Sequence[Line]) -> None:
        """Put the lines on the screen."""
        drawn = [
            (f"{_BOLD}{line.text}{_PLAIN}" if line.bold else line.text) + _REST_OF_LINE
            for line in lines
        ]
        sys.stdout.write(_HOME + "\n".join(drawn) + _REST_OF_SCREEN)
        sys.stdout.flush()

    @classmethod
    @contextmanager
    def taken(cls, pressed: Callable[[str], None]) -> Iterator["Terminal"]:
        """The terminal, given back as it was when the block ends; `pressed` is told of keys."""
        with _keys(pressed):
            sys.stdout.write(_ENTER)
            try:
                yield cls()
            finally:
                sys.stdout.write(_LEAVE)
                sys.stdout.flush()


@contextmanager
def _keys(pressed: Callable[[str], None]) -> Iterator[None]:
    """Keys are told one by one and not shown, where stdin is a terminal; Ctrl-C stays Ctrl-C."""
    if sys.platform == "win32" or not sys.stdin.isatty():
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
