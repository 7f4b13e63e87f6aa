"""Every page that a person reaches by following links from one."""

from collections.abc import Callable
from urllib.parse import urldefrag

from tests.expose.html import Page

Get = Callable[[str], tuple[int, str, str]]
"""Status, content type and text of an address."""


def reached(get: Get, start: str) -> dict[str, str]:
    """Content type of each address that the links, forms and pages from `start` on lead to, of
    which none may fail."""
    found: dict[str, str] = {}
    waiting = [start]
    while waiting:
        at = waiting.pop()
        if at in found:
            continue
        status, found[at], text = get(at)
        assert status == 200, at
        if found[at].startswith("text/html"):
            urls = [urldefrag(url).url for url in Page(text, at).urls]
            waiting += [url for url in urls if url and not url.startswith("data:")]
    return found
