"""Reads a page back as a browser would: what is in it, and whether its tags close."""

from html.parser import HTMLParser
from urllib.parse import urljoin

VOID = {"meta", "link", "br", "hr", "img", "input"}
INLINE = {"a", "bdi", "code", "data", "span", "strong", "time"}
URL_ATTRIBUTES = {"src", "href", "action", "data", "poster", "srcset", "formaction"}


class Page(HTMLParser):
    """`text` is what a person reads, `elements` the tags with their attributes in order, `urls`
    where it leads from its own address `at`."""

    def __init__(self, html: str, at: str = "/") -> None:
        super().__init__(convert_charrefs=True)
        self._at = at
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.urls: list[str] = []
        self.unclosed: list[str] = []
        self._parts: list[str] = []
        self.feed(html)
        self.close()

    @property
    def text(self) -> str:
        return " ".join("".join(self._parts).split())

    def names(self) -> list[str]:
        return [name for name, _ in self.elements]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.elements.append((tag, found))
        self.urls += [self._led(value) for name, value in found.items() if name in URL_ATTRIBUTES]
        self._space(tag)
        if tag not in VOID:
            self.unclosed.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._space(tag)
        assert self.unclosed, f"</{tag}> without its start"
        assert self.unclosed.pop() == tag, f"</{tag}> closes something else"

    def _led(self, url: str) -> str:
        assert not url.startswith("/"), f"{url} does not hold below a prefix"
        return url if url.startswith("#") else urljoin(self._at, url)

    def _space(self, tag: str) -> None:
        if tag not in INLINE:
            self._parts.append(" ")

    def handle_data(self, data: str) -> None:
        if "style" not in self.unclosed[-1:]:
            self._parts.append(data)


def assert_self_contained(page: Page) -> None:
    """Well-formed, accessible in outline, and nothing that runs or is fetched from elsewhere."""
    assert page.unclosed == []
    assert not {"script", "iframe", "object", "embed", "form", "base"} & set(page.names())
    for url in page.urls:
        assert url == "data:," or url[0] in "/#", url
    for name, attributes in page.elements:
        assert not [key for key in attributes if key.startswith("on") or key == "style"], name
    assert page.elements[0] == ("html", {"lang": "en"})
    assert page.names().count("h1") == 1
    assert page.names().count("main") == 1
    assert page.names().count("caption") == page.names().count("table")
    headers = [attributes for name, attributes in page.elements if name == "th"]
    assert all(attributes.get("scope") in ("col", "row") for attributes in headers)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {url[1:] for url in page.urls if url.startswith("#")} <= set(ids)
