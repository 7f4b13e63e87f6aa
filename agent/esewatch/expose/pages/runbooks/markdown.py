"""The part of markdown that the runbooks use, as HTML.

Headings, paragraphs, lists whose items hold blocks of their own, tables, code that is
fenced or indented; in a line `code`, **strong** and links. Anything else stays the text
it is. All text is escaped, and a link leads to http, https or this server.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from markupsafe import Markup, escape

MAX_DEPTH = 6
"""Lists within lists beyond this stay text."""

_HEADING = re.compile(r" {0,3}(#{1,6}) +(.+)")
_FENCE = re.compile(r" {0,3}```")
_ITEM = re.compile(r" {0,3}(?:[-*+]|(\d{1,9})[.)]) +")
_CODE = re.compile(r" {4}")
_RULE = re.compile(r"\|?[ :|-]+\|?")
_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\[([^\[\]]+)\]\(([^()\s]+)\)")
_DOCUMENT = re.compile(r"\.\./([a-z-]+\.md)(?:#|$)")
"""A page of the documentation, which an agent does not serve: it is named."""
_LINK = re.compile(r"https?://|/(?!/)|#|[A-Za-z0-9_-]+(?:\.md)?(?:#|$)")


class _Item(NamedTuple):
    """One item of a list; `number` is None in a list without numbers."""

    number: int | None
    lines: list[str]


def to_html(text: str, below: int = 0) -> Markup:
    """HTML of a markdown text; its headings stand `below` so many levels."""
    lines = [line.expandtabs(4).rstrip() for line in text.splitlines()]
    if below:
        lines = [_HEADING.sub("#" * below + r"\g<0>", line) for line in lines]
    return Markup("\n").join(_blocks(lines, 0))


def _blocks(lines: list[str], depth: int) -> list[Markup]:
    blocks: list[Markup] = []
    at, title = 0, ""
    while at < len(lines):
        line = lines[at]
        if not line:
            end = at + 1
        elif _FENCE.match(line):
            end = _next(lines, at + 1, lambda text: bool(_FENCE.match(text)))
            blocks.append(_code(lines[at + 1 : end]))
            end += 1
        elif _CODE.match(line):
            end = _next(lines, at, lambda text: bool(text) and not _CODE.match(text))
            blocks.append(_code([text[4:] for text in lines[at:end]]))
        elif heading := _HEADING.fullmatch(line):
            level = len(heading[1])
            title = heading[2].rstrip("# ")
            inner = _inline(title)
            blocks.append(Markup("<h{}>{}</h{}>").format(level, inner, level))
            end = at + 1
        elif depth < MAX_DEPTH and _ITEM.match(line):
            end, items = _items(lines, at)
            blocks.append(_list(items, depth))
        else:
            end = _next(lines, at + 1, _ends_paragraph)
            text = [part.strip() for part in lines[at:end]]
            blocks.append(_paragraph_or_table(text, title))
        at = end
    return blocks


def _next(lines: list[str], start: int, ends: Callable[[str], bool]) -> int:
    return next((at for at in range(start, len(lines)) if ends(lines[at])), len(lines))


def _ends_paragraph(line: str) -> bool:
    return not line or any(form.match(line) for form in (_FENCE, _HEADING, _ITEM))


def _code(lines: list[str]) -> Markup:
    text = "\n".join(lines).strip("\n")
    return Markup('<pre tabindex="0"><code>{}</code></pre>').format(text)


def _items(lines: list[str], at: int) -> tuple[int, list[_Item]]:
    """The items of one kind from `at` on, each with its lines moved to the left."""
    items: list[_Item] = []
    while at < len(lines) and (marker := _ITEM.match(lines[at])):
        number = int(marker[1]) if marker[1] else None
        if items and (items[-1].number is None) != (number is None):
            break
        width = marker.end()
        body = [lines[at][width:]]
        at += 1
        while at < len(lines) and _continues(lines[at], body[-1], width):
            body.append(lines[at][min(width, _indent(lines[at])) :])
            at += 1
        while len(body) > 1 and not body[-1]:
            body.pop()
        items.append(_Item(number, body))
    return at, items


def _continues(line: str, before: str, width: int) -> bool:
    """True if a line belongs to an item: blank, as far in as its text, or a line broken in two."""
    if not line or _indent(line) >= width:
        return True
    return bool(before) and not _ends_paragraph(line)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _list(items: list[_Item], depth: int) -> Markup:
    inner = Markup("").join(_list_item(item, depth) for item in items)
    first = items[0].number
    if first is None:
        return Markup("<ul>{}</ul>").format(inner)
    start = Markup("") if first == 1 else Markup(' start="{}"').format(first)
    return Markup("<ol{}>{}</ol>").format(start, inner)


def _list_item(item: _Item, depth: int) -> Markup:
    if any(_ends_paragraph(line) or _CODE.match(line) for line in item.lines):
        return Markup("<li>{}</li>").format(Markup("\n").join(_blocks(item.lines, depth + 1)))
    return Markup("<li>{}</li>").format(_inline(" ".join(item.lines)))


def _paragraph_or_table(lines: list[str], title: str) -> Markup:
    if lines[0].startswith("|") and len(lines) > 1 and _RULE.fullmatch(lines[1]):
        return _table(lines, title)
    return Markup("<p>{}</p>").format(_inline(" ".join(lines)))


def _table(lines: list[str], title: str) -> Markup:
    """A table; its caption is the heading above it."""
    head, *rows = [_cells(line) for at, line in enumerate(lines) if at != 1]
    body = Markup("").join(_row("td", row) for row in rows)
    return Markup(
        '<div class="scroll" tabindex="0"><table><caption>{}</caption>'
        "<thead>{}</thead><tbody>{}</tbody></table></div>"
    ).format(_inline(title), _row('th scope="col"', head), body)


def _cells(line: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _row(tag: str, cells: list[str]) -> Markup:
    begin, end = Markup(tag), Markup(tag.partition(" ")[0])
    inner = Markup("").join(Markup("<{}>{}</{}>").format(begin, _inline(c), end) for c in cells)
    return Markup("<tr>{}</tr>").format(inner)


def _inline(text: str) -> Markup:
    parts: list[Markup] = []
    at = 0
    for found in _INLINE.finditer(text):
        parts.append(escape(text[at : found.start()]))
        parts.append(_span(found))
        at = found.end()
    parts.append(escape(text[at:]))
    return Markup("").join(parts)


def _span(found: re.Match[str]) -> Markup:
    code, strong, label, target = found.groups()
    if code is not None:
        return Markup("<code>{}</code>").format(code)
    if strong is not None:
        return Markup("<strong>{}</strong>").format(strong)
    if document := _DOCUMENT.match(target):
        return Markup("{} (<code>docs/{}</code>)").format(label, document[1])
    if not _LINK.match(target):
        return escape(found[0])
    return Markup('<a href="{}">{}</a>').format(target.replace(".md", ""), label)
