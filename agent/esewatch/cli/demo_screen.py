"""The one screen of the demo: what to open, five stories, the last events.

`draw` is a pure function; `Terminal` puts its lines on a terminal, in place.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from esewatch.cli.demo_stories import STORIES, Seen

_ENTER = "\x1b[?1049h\x1b[?25l"
"""A screen of its own, without cursor; what was on the terminal comes back with _LEAVE."""
_LEAVE = "\x1b[?25h\x1b[?1049l"
_HOME, _REST_OF_LINE, _REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


class View(NamedTuple):
    """What is shown. `trouble` is why nothing is known of the stories, empty when it is."""

    elapsed: float
    folder: Path
    open: Sequence[tuple[str, str]]
    """What to open: what it is, and its address."""
    seen: Sequence[Seen]
    events: Sequence[str]
    trouble: str = ""


class Line(NamedTuple):
    """One line of the screen."""

    text: str
    bold: bool = False


def draw(view: View, width: int, height: int) -> list[Line]:
    """At most `height` lines of at most `width` characters, the most useful ones.

    Where it is low, the empty lines go first, then the older events, then what is to be seen.
    """
    head = _head(view)
    events = [Line("Last events, as the agent reads them (UTC)", bold=True)]
    events += [Line(f"  {line}") for line in view.events]
    for gaps, expect in ((True, True), (False, True), (False, False)):
        lines = [*head, *_stories(view, gaps=gaps, expect=expect)]
        if len(lines) + 2 <= height:
            break
    room = height - len(lines)
    if room >= 2:
        lines += [events[0], *events[1:][-(room - 1) :]]
    return [Line(_cut(line.text, width), line.bold) for line in lines[:height]]


def _head(view: View) -> list[Line]:
    minutes, seconds = divmod(int(view.elapsed), 60)
    visible = sum(seen.visible for seen in view.seen)
    title = f"esewatch demo  {minutes}:{seconds:02}  {visible} of {len(STORIES)} stories visible"
    return [
        Line(f"{title}  Ctrl-C ends it", bold=True),
        Line("  A small storage engine at work, and what the agent says of its five databases."),
        *(Line(f"  {name:<13}{url}") for name, url in view.open),
        Line(f"  {'folder':<13}{view.folder}"),
        *([Line(f"  {view.trouble}")] if view.trouble else []),
    ]


def _stories(view: View, *, gaps: bool, expect: bool) -> Iterator[Line]:
    for story, seen in zip(STORIES, view.seen, strict=True):
        if gaps:
            yield Line("")
        sign = "[x]" if seen.visible else "[ ]"
        work = f"  ({seen.work})" if seen.work else ""
        yield Line(f"{sign} {story.database}: {story.title}{work}", bold=True)
        if expect:
            yield Line(f"    see  {story.expect}")
        yield Line(f"    now  {seen.now}")


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
    def taken(cls) -> Iterator["Terminal"]:
        """The terminal, given back as it was when the block ends."""
        sys.stdout.write(_ENTER)
        try:
            yield cls()
        finally:
            sys.stdout.write(_LEAVE)
            sys.stdout.flush()
