"""Reads a picture back: its bars as shares of the width, its table, its text."""

import re
from xml.etree import ElementTree

from markupsafe import Markup

SVG = "svg"
_BAR = re.compile(r"M(-?\d+) (-?\d+)H(-?\d+)")
_TICK = re.compile(r"M(-?\d+) (-?\d+)v(-?\d+)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?|nan|inf", re.IGNORECASE)


def parse(picture: Markup | None) -> ElementTree.Element:
    """The picture as XML. Fails where it is not well-formed."""
    assert picture is not None
    return ElementTree.fromstring(picture)


def shapes(picture: Markup | None, kind: str) -> str:
    """The paths of one kind, those of the key left out."""
    root = parse(picture)
    keys = {id(each) for swatch in root.iter("li") for each in swatch.iter("path")}
    found = [
        each.get("d", "")
        for each in root.iter("path")
        if each.get("class") == f"p-{kind}" and id(each) not in keys
    ]
    return "".join(found)


def bars(picture: Markup | None, kind: str) -> list[tuple[int, int, int]]:
    """(y, from, to) of each bar or box, in thousandths of the width."""
    found = _BAR.findall(shapes(picture, kind))
    return [(int(y), int(left), int(right)) for left, y, right in found]


def ticks(picture: Markup | None, kind: str) -> list[tuple[int, int]]:
    """(y, place) of each tick, in thousandths of the width."""
    return [(int(y), int(at)) for at, y, _ in _TICK.findall(shapes(picture, kind))]


def table(picture: Markup | None) -> list[list[str]]:
    """The rows of its table, the head first."""
    return [[text(cell) for cell in row] for row in parse(picture).iter("tr")]


def text(element: ElementTree.Element) -> str:
    """What a person reads."""
    return " ".join("".join(element.itertext()).split())


def words(picture: Markup | None) -> str:
    """All text of the picture."""
    return text(parse(picture))


def names(picture: Markup | None) -> list[str]:
    """The names of its images, as a screen reader says them."""
    images = [each for each in parse(picture).iter(SVG) if each.get("role") == "img"]
    return [text(title) for image in images for title in image.iter("title")]


def check_sound(picture: Markup) -> None:
    """Well-formed, nothing that runs or is fetched, nothing outside of the width."""
    root = parse(picture)
    for element in root.iter():
        assert element.tag in {
            "figure", "figcaption", "svg", "title", "g", "text", "path", "ul", "li", "details",
            "summary", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p", "span",
            "strong", "time",
        }  # fmt: skip
        assert not {"style", "id", "href", "onload"} & set(element.keys())
        if element.tag == "path":
            for number in _NUMBER.findall(element.get("d", "")):
                assert 0 <= float(number) <= 1000, element.get("d")
        if "viewBox" in element.keys():  # noqa: SIM118 -- an element has no "in" of its own
            assert element.get("viewBox", "").split()[2] == "1000"
    assert names(picture)
