"""Markdown of the runbooks as HTML: CommonMark and tables, without HTML of its own.

A link leads to http, https or this server; a page of the documentation, which an agent does not
serve, is named.
"""

import re
from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

_DOCUMENT = re.compile(r"\.\./([a-z-]+\.md)(?:#|$)")
_LINK = re.compile(r"https?://|/(?!/)|#|[A-Za-z0-9_-]+(?:\.md)?(?:#|$)")


class _Renderer(RendererHTML):
    """Tables and code scroll by keyboard, a table has the heading above it as its caption."""

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        text = tokens[idx].content.strip("\n")
        return Markup('<pre tabindex="0"><code>{}</code></pre>\n').format(text)

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return self.code_block(tokens, idx, options, env)

    def table_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        titles = [before for before in tokens[:at] if before.type == "heading_open"]
        title = tokens[tokens.index(titles[-1]) + 1].children or [] if titles else []
        caption = self.renderInline(title, options, env)
        return f'<div class="scroll" tabindex="0"><table><caption>{caption}</caption>\n'

    def table_close(self, *_: Any) -> str:
        return "</table></div>\n"

    def th_open(self, *_: Any) -> str:
        return '<th scope="col">'

    def td_open(self, *_: Any) -> str:
        return "<td>"

    def softbreak(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return " "

    def link_open(self, tokens: Sequence[Token], at: int, *_: Any) -> str:
        target = str(tokens[at].attrs["href"])
        if _DOCUMENT.match(target):
            return ""
        return Markup('<a href="{}">').format(target.replace(".md", ""))

    def link_close(self, tokens: Sequence[Token], at: int, *_: Any) -> str:
        begin = next(it for it in reversed(tokens[:at]) if it.type == "link_open")
        document = _DOCUMENT.match(str(begin.attrs["href"]))
        return f" (<code>docs/{document[1]}</code>)" if document else "</a>"


class _Markdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - the name of the library
        return bool(_DOCUMENT.match(url) or _LINK.match(url))


def to_html(text: str, below: int = 0) -> Markup:
    """HTML of a markdown text; its headings stand `below` so many levels."""
    markdown = _Markdown("commonmark", {"html": False}, renderer_cls=_Renderer)
    markdown.enable("table").disable(["image", "autolink", "html_inline", "html_block"])
    tokens = markdown.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + below)}"
    return Markup(markdown.renderer.render(tokens, markdown.options, {}).rstrip("\n"))
