"""The list of databases: search, filter, sort and pages, by the address alone."""

import csv
import io
import json
from collections.abc import Iterator
from functools import cache

import pytest

from esewatch.advice.advise import advise
from esewatch.config import default_settings
from esewatch.expose.http.database_list import (
    COLUMNS,
    ROWS,
    ListQuery,
    list_csv,
    list_page,
    listing,
    wanted,
)
from esewatch.expose.http.server import HttpServer
from esewatch.expose.pages.overview import Overview, overview
from esewatch.fold.state.state import State
from tests.expose.examples import NOW, example, many
from tests.expose.html import Page
from tests.expose.serving import FakeDaemon, ask, serving


@cache
def thousand() -> Overview:
    state, advice = many(1000, 40)
    return overview(state, default_settings(), NOW, tuple(advice))


@cache
def few() -> Overview:
    settings = default_settings()
    return overview(example(), settings, NOW, tuple(advise(example(), settings, NOW)))


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with serving(FakeDaemon()) as running:
        yield running


def test_a_page_of_a_thousand_databases_is_below_300_kb_and_all_are_reached() -> None:
    seen: list[str] = []
    address = "/databases"
    for _ in range(1000 // ROWS):
        fields = dict(part.split("=") for part in address.partition("?")[2].split("&") if part)
        html = list_page(thousand(), wanted(fields))
        page = Page(html)
        assert page.unclosed == []
        assert not {"script", "iframe"} & set(page.names())
        assert len(html.encode()) < 300_000
        seen += [url for url in page.urls if url.startswith("/database?")]
        further = [found for name, found in page.elements if found.get("rel") == "next"]
        address = further[0]["href"] if further else ""
    assert address == ""
    assert len(seen) == len(set(seen)) == 1000


@pytest.mark.parametrize("verdict", ["bad_pages", "unverified", "writes_at_risk"])
def test_a_tile_leads_to_as_many_databases_as_it_counts(verdict: str) -> None:
    for view in (few(), thousand()):
        fleet = view.fleet
        counts = {
            "bad_pages": fleet.bad,
            "unverified": fleet.unverified,
            "writes_at_risk": fleet.writes_at_risk,
        }
        judged = [each for each in listing(view, ListQuery(verdict=verdict)).found if each.verdict]
        assert len(judged) == counts[verdict]


def test_search_and_filters_hold_together() -> None:
    everything = few().databases
    one = everything[0]
    found = listing(few(), ListQuery(q=one.name.upper(), computer=one.computer)).found
    assert one in found
    assert {each.computer for each in found} == {one.computer}
    assert all(one.name.lower() in (each.name + each.path).lower() for each in found)
    finding = next(
        said.finding for each in everything if each.advice for said in each.advice.findings
    )
    having = listing(few(), ListQuery(finding=finding)).found
    assert having
    for each in having:
        assert each.advice is not None
        assert finding in {said.finding for said in each.advice.findings}
    assert listing(few(), ListQuery(q="no such database")).found == ()
    assert "No database matches." in Page(list_page(few(), ListQuery(q="no such database"))).text


def test_each_order_holds_all_databases() -> None:
    everything = few().databases
    assert listing(few(), ListQuery()).found == everything
    for sort in ("name", "computer", "verified", "size"):
        assert sorted(listing(few(), ListQuery(sort=sort)).found, key=id) == sorted(
            everything, key=id
        )
    sizes = [each.size_bytes or 0.0 for each in listing(few(), ListQuery(sort="size")).found]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(
    "fields",
    [
        {"page": "0"},
        {"page": "-3"},
        {"page": "\u0663"},
        {"page": "9" * 5000},
        {"verdict": "fine", "sort": "colour"},
    ],
)
def test_nonsense_in_an_address_asks_for_nothing(fields: dict[str, str]) -> None:
    assert wanted(fields) == ListQuery()


def test_a_page_beyond_the_end_is_the_last_one() -> None:
    assert listing(thousand(), ListQuery(page=99)).page == 10
    assert listing(few(), ListQuery(page=99)).page == 1


def test_csv_and_json_hold_what_the_page_shows(server: HttpServer) -> None:
    query = "?sort=name&q=d"
    csv_rows = list(csv.DictReader(io.StringIO(ask(server, f"/databases.csv{query}").text)))
    told = json.loads(ask(server, f"/api/v1/databases{query}").text)["databases"]
    page = Page(ask(server, f"/databases{query}").text)
    assert csv_rows
    assert tuple(csv_rows[0]) == COLUMNS
    assert [row["name"] for row in csv_rows] == [each["name"] for each in told]
    shown = [url for url in page.urls if url.startswith("/database?")]
    assert len(shown) == len(told)


def test_corrected_pages_have_a_column_of_their_own(server: HttpServer) -> None:
    rows = list(csv.DictReader(io.StringIO(ask(server, "/databases.csv").text)))
    told = json.loads(ask(server, "/api/v1/databases").text)["databases"]
    expected = []
    for each in told:
        kinds = dict(each.get("known_bad_pages", {}))
        corrected = kinds.pop("corrected", 0)
        expected.append((str(sum(kinds.values())), str(corrected)))

    assert [(row["known_bad_pages"], row["corrected_pages"]) for row in rows] == expected
    assert ("3", "1") in expected
    assert list(rows[0])[-1] == "corrected_pages"


def test_the_form_may_only_ask_this_server(server: HttpServer) -> None:
    policy = ask(server, "/databases").headers["content-security-policy"]
    assert "form-action 'self'" in policy
    assert "default-src 'none'" in policy
    assert "form-action 'none'" in ask(server, "/").headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/", "/databases"])
def test_a_page_refreshes_only_where_the_address_says_so(server: HttpServer, path: str) -> None:
    assert "refresh" not in ask(server, path).headers
    assert ask(server, f"{path}?refresh=60").headers["refresh"] == "60"
    for nonsense in ("0", "9", "1;url=http://evil", "99999"):
        assert "refresh" not in ask(server, f"{path}?refresh={nonsense}").headers


def test_a_hostile_name_is_text_on_the_page_and_no_formula_in_a_table() -> None:
    state = example()
    database = next(iter(state.databases.values()))
    database.computer, database.database = "=1+1", "<script>x.edb"
    hostile = State(databases={(database.computer, database.database): database})
    view = overview(hostile, default_settings(), NOW)
    html = list_page(view, ListQuery(q='"><script>'))
    assert "<script" not in html
    (row,) = csv.DictReader(io.StringIO(list_csv(view.databases)))
    assert row["computer"] == "'=1+1"
