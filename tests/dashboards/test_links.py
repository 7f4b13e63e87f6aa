"""Links of the dashboards as Grafana makes addresses of them.

What is said of the format of a value is Grafana's: applyFieldOverrides.ts of grafana/grafana 11
(values in a link are `uriencode` where the link names no format), formatRegistry.ts and
encodeURIStrict of grafana/scenes. The latter takes the brackets of an IPv6 address for text.
"""

import json
import re
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, quote, urlsplit

from tests.dashboards.boards import loaded
from tests.support.each import of_each

VALUE = re.compile(r"\$\{__(?:field\.labels|data\.fields)\.(\w+)(?::(\w+))?\}")
FORMATS: dict[str, Callable[[str], str]] = {
    "": lambda value: quote(value, safe=";,/?:@&=+$-_.~#"),
    "percentencode": lambda value: quote(value, safe=""),
    "raw": str,
}
SUBJECT = {"computer": "ex01 [a]&b", "database": r"e:\mdb06\priv06.edb"}


def shown() -> list[str]:
    """Addresses of links that lead to an agent, without repetition."""
    text = json.dumps(loaded())
    return sorted(set(re.findall(r'"url": "(http://[^"]*\$\{__(?:[^"]*))"', text)))


def followed(url: str, labels: dict[str, str]) -> str:
    """Where it leads from a value with these labels."""
    return VALUE.sub(lambda match: FORMATS[match[2] or ""](labels[match[1]]), url)


def agents() -> Iterator[tuple[str, str, int]]:
    """`instance`, and host and port in it."""
    yield "ex01.corp.example:19703", "ex01.corp.example", 19703
    yield "[::1]:19703", "::1", 19703
    yield "[2001:db8::17]:80", "2001:db8::17", 80


@of_each(shown())
def test_a_link_leads_to_the_agent_whatever_its_address(url: str) -> None:
    for instance, host, port in agents():
        found = urlsplit(followed(url, {**SUBJECT, "instance": instance}))
        assert "%" not in found.netloc
        assert (found.hostname, found.port) == (host, port)
        for name, (value,) in parse_qs(found.query).items():
            assert value == SUBJECT["computer" if name == "name" else name]


def test_there_are_links_to_agents_of_each_kind() -> None:
    paths = {urlsplit(followed(url, {**SUBJECT, "instance": "a"})).path for url in shown()}
    assert {"/database", "/computer"} < paths
    assert any(path.startswith("/runbooks/") for path in paths)
