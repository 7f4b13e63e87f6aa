"""Below a prefix, as behind a proxy: every link, form and redirect leads where it does at `/`."""

import pytest

from esewatch.expose.http.server import HttpServer
from tests.expose.crawl import Get, reached
from tests.expose.serving import FakeDaemon, ask, serving


def getting(server: HttpServer) -> Get:
    def get(path: str) -> tuple[int, str, str]:
        answer = ask(server, path)
        return answer.status, answer.headers["content-type"], answer.text

    return get


def test_every_link_leads_to_the_same_page_below_a_prefix() -> None:
    prefix = "/deep/esewatch"
    with serving() as plain, serving(prefix=prefix) as below:
        expected = reached(getting(plain), "/")
        found = reached(getting(below), f"{prefix}/")
    assert {f"{prefix}{path}" for path in expected} == set(found)
    assert {"/", "/databases", "/databases.csv", "/api/v1/databases", "/metrics"} <= set(expected)
    assert len([path for path in expected if path.startswith("/runbooks/Ese")]) > 30
    assert [path for path in expected if path.startswith("/databases?")]
    assert [path for path in expected if path.startswith("/database?")]


@pytest.mark.parametrize(
    ("prefix", "path", "to"),
    [
        ("/a", "/", "a/"),
        ("/a", "/a", "a/"),
        ("/a", "/a/runbooks", "runbooks/"),
        ("/a/b", "/", "a/b/"),
        ("/a/b", "/a/b", "b/"),
        ("", "/runbooks", "runbooks/"),
    ],
)
def test_a_redirect_is_relative(prefix: str, path: str, to: str) -> None:
    with serving(prefix=prefix) as server:
        answer = ask(server, path)
    assert (answer.status, answer.headers["location"]) == (302, to)


@pytest.mark.parametrize("path", ["/metrics", "/ab/metrics", "/a/b", "/-/healthy", "/b/", "/a//"])
def test_nothing_is_beside_the_prefix(path: str) -> None:
    with serving(prefix="/a") as server:
        answer = ask(server, path)
    assert answer.status == 404
    assert b"ese_" not in answer.body
    if not path.startswith("/a/"):
        assert answer.text == "404 Not Found: This esewatch is at /a/\n"


def test_what_changes_something_is_below_the_prefix_too() -> None:
    view = FakeDaemon()
    with serving(view, prefix="/a") as server:
        assert ask(server, "/-/reload", method="POST").status == 404
        assert ask(server, "/a/-/reload", method="POST").status == 200
    assert view.reloads == 1
