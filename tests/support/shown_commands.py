"""What a page of the guide shows in blocks of code: command lines, and all else."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_FENCE = re.compile(r"^ *```(\w*)$")
_ITEM = re.compile(r"^ *(?:[-*]|\d+\.) +")


class Block(NamedTuple):
    """A block of code, its lines without indentation; `language` is that of a fence."""

    language: str
    lines: tuple[str, ...]


def blocks(text: str) -> Iterator[Block]:
    """Fenced and indented blocks of a page, in their order; those in items of lists too."""
    found: list[str] = []
    fence: str | None = None
    margin, after_blank = 0, True
    for line in [*text.splitlines(), "end"]:
        mark = _FENCE.match(line)
        if fence is not None:
            if mark:
                yield Block(fence, tuple(found))
                found, fence = [], None
            else:
                found.append(line)
            continue
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent >= margin + 4 and (found or after_blank):
            found.append(line[margin + 4 :])
        elif line.strip():
            if found:
                yield Block("", tuple(found))
                found = []
            if mark:
                fence = mark[1]
            item = _ITEM.match(line)
            if item or after_blank or indent < margin:
                margin = len(item[0]) if item else indent
        elif found:
            found.append("")
        after_blank = not line.strip()


def command_lines(lines: tuple[str, ...], shown: tuple[str, ...]) -> Iterator[str]:
    """The commands of a block, without prompts and comments, each on one line.

    What a command prints begins with a line that begins with one of `shown`, or after a prompt.
    """
    whole = re.sub(r"\\\n *", "", "\n".join(lines)).splitlines()
    prompted = whole[0].startswith("$ ")
    for line in whole:
        command = re.sub(r"(?:^| +)# .*", "", line.removeprefix("$ ")).strip()
        if command.startswith(shown) or (prompted and not line.startswith("$ ")):
            return
        if command:
            yield command
