"""The pages of the HTTP side, asked of a real server."""

import gzip
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import pytest

from esewatch.advice.advise import advise
from esewatch.config import default_settings
from esewatch.expose.advice_json import advice_object
from esewatch.expose.http.app import PAGES_AT_ONCE
from esewatch.expose.http.connection import Limits
from esewatch.expose.http.requests import DROPPED, MAX_BODY
from esewatch.expose.http.server import HttpServer
from esewatch.expose.pages.overview import Overview
from esewatch.expose.pages.rendering import computer_link, database_link
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from esewatch.model import JournalError
from tests.expose.examples import NOW, PRIV03, PRIV06, STRANGE, example, many
from tests.expose.html import Page, assert_self_contained
from tests.expose.serving import FakeDaemon, ask, connect, port_of, serving, wait_until
from tests.support.calls import Calls
from tests.support.patience import PATIENCE

KEY = ("computer", "database")
LOCAL = {"X-Esewatch": "1", "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def view() -> FakeDaemon:
    return FakeDaemon()


@pytest.fixture(scope="module")
def server(view: FakeDaemon, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    folder = tmp_path_factory.mktemp("runbooks")
    (folder / "EseKnownBadPage.md").write_text(
        "# EseKnownBadPage\n\nSeverity: critical. Subject: pages.\n\n## Meaning\n\nA <b>page</b>.\n"
        "\n    esewatch ack 'e:\\x.edb'\n    curl http://127.0.0.1:19703/-/healthy\n"
    )
    (folder / "EseSlowIo.md").write_text("# EseSlowIo\n\nSeverity: info. Subject: io.\n")
    (folder / "EseHungIo.md").write_text("# EseHungIo\n\nSeverity: warning. Subject: io.\n")
    (folder.parent / "secret.md").write_text("secret")
    with serving(view, runbooks=Runbooks([folder])) as running:
        yield running


def test_metrics_come_as_text_unless_openmetrics_is_preferred(server: HttpServer) -> None:
    text = ask(server, "/metrics")
    assert text.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b'ese_known_bad_pages{computer="ex02"' in text.body
    accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
    openmetrics = ask(server, "/metrics", headers={"Accept": accept})
    assert openmetrics.headers["content-type"].startswith("application/openmetrics-text")
    assert openmetrics.body.endswith(b"# EOF\n")


def test_metrics_are_compressed_for_who_can_read_it(server: HttpServer) -> None:
    plain = ask(server, "/metrics")
    packed = ask(server, "/metrics", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert "content-encoding" not in plain.headers
    assert packed.headers["vary"] == "Accept, Accept-Encoding"


@pytest.mark.parametrize(
    "headers",
    [
        {"Accept": "image/png"},
        {"Accept": ";;;q=,,\t"},
        {"Accept-Encoding": "gzip;q=banana, br"},
        {"Accept": "\xff\xfe"},
    ],
)
def test_a_strange_accept_header_gets_plain_text(
    server: HttpServer, headers: dict[str, str]
) -> None:
    answer = ask(server, "/metrics", headers=headers)
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain")
    assert b"# HELP" in answer.body


def test_the_status_page_is_html_that_may_load_nothing(server: HttpServer) -> None:
    answer = ask(server, "/")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "SG03" in answer.text


def test_health_says_that_the_program_lives(server: HttpServer) -> None:
    assert ask(server, "/-/healthy")[::2] == (200, b"Healthy.\n")


def test_ready_waits_for_the_first_reading_and_says_why() -> None:
    view = FakeDaemon()
    with serving(view) as server:
        assert ask(server, "/-/ready").status == 200
        view.state_of_readiness = (False, "first reading of evtx-1")
        answer = ask(server, "/-/ready")
        assert answer.status == 503
        assert answer.text == "Not ready: first reading of evtx-1\n"
        assert "first reading of evtx-1" in ask(server, "/").text


def test_the_databases_come_as_json_worst_first(server: HttpServer) -> None:
    answer = ask(server, "/api/v1/databases")
    assert answer.headers["content-type"] == "application/json"
    decoded = json.loads(answer.body)
    first = decoded["databases"][0]
    assert decoded["time"] == "2007-06-26T23:20:00.000Z"
    assert (first["computer"], first["database"]) == PRIV03
    assert first["status"] == "bad"
    assert first["known_bad_pages"] == {"corrected": 1, "lost_flush": 1, "uncorrectable": 2}
    listed = first["bad_pages"]
    assert sorted(bad["kind"] for bad in listed) == [
        "corrected",
        "lost_flush",
        "uncorrectable",
        "uncorrectable",
    ]
    assert [bad["last"] for bad in listed] == sorted((bad["last"] for bad in listed), reverse=True)
    assert first["ratio"]["pages_read"] == 900_000
    assert "last_defrag_completed" not in first
    assert first["interrupted"] == {"defrag": 1}
    assert first["collisions"] == []


def test_the_advice_names_a_database_as_its_label_does_however_long() -> None:
    advice = next(iter(advise(example(), default_settings(), NOW)))
    label = f"e:\\{'x' * 900}.edb"

    assert advice_object(msgspec.structs.replace(advice, database=label))["database"] == label


def test_the_advice_comes_as_the_objects_of_the_command(server: HttpServer) -> None:
    answer = ask(server, "/api/v1/advice")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    found = json.loads(answer.text)
    assert found.keys() == {"time", "advice"}
    assert found["time"] == "2007-06-26T23:20:00.000Z"
    assert found["advice"] == json.loads(
        json.dumps([advice_object(each) for each in advise(example(), default_settings(), NOW)])
    )
    places = [(each["computer"], each["database"]) for each in found["advice"]]
    assert places == sorted(places)
    assert PRIV03 in places
    damaged = found["advice"][places.index(PRIV03)]
    assert damaged["action"] == "insufficient_evidence"
    assert "investigate" in {each["finding"] for each in damaged["findings"]}


def test_a_database_is_found_by_the_labels_of_its_link(server: HttpServer) -> None:
    for label in (PRIV03, STRANGE):
        answer = ask(server, database_link(*label))
        assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert f'href=".{computer_link(label[0])}"' in answer.text
    assert "4711" in ask(server, database_link(*PRIV03)).text


def test_a_computer_is_found_and_all_are_listed(server: HttpServer) -> None:
    answer = ask(server, computer_link(PRIV03[0]))
    assert answer.status == 200
    assert "SG03" in answer.text
    listed = ask(server, "/computer").text
    for computer in ("ex01", "ex02", "dc01", "ex19", "ws07"):
        assert computer_link(computer) in listed


@pytest.mark.parametrize(
    "path",
    [
        "/database",
        "/database?",
        "/database?computer=ex02",
        "/database?computer=ex02&database=nothing",
        "/database?computer=%00%ff&database=%F0%9F%92%A9%",
        "/database?database=%3Cscript%3Ealert(1)%3C/script%3E&computer=x",
        "/database?" + "A" * 5000,
        "/computer?name=",
        "/computer?name=nobody",
        "/computer?name=a&name=%22%3E%3Cscript%3E",
    ],
)
def test_what_is_not_known_is_a_page_of_one_sentence(server: HttpServer, path: str) -> None:
    answer = ask(server, path)
    assert answer.status == 404
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    page = Page(answer.text)
    assert_self_contained(page)
    assert "is known here; the status page lists those that are." in page.text


def test_an_address_with_hundreds_of_fields_is_refused(server: HttpServer) -> None:
    answer = ask(server, "/database?" + "&".join(f"a{number}=1" for number in range(500)))
    assert answer.status == 400
    assert answer.text == "400 Bad Request: The address has too many parameters.\n"


def test_the_page_of_a_thousand_databases_costs_little_more_than_their_figures() -> None:
    view = FakeDaemon(*many(1000, 40))
    with Calls() as calls, serving(view) as server:
        assert ask(server, "/").status == ask(server, "/api/v1/advice").status == 200
        page = calls.of(lambda: ask(server, "/"))
        figures = calls.of(lambda: ask(server, "/api/v1/advice"))
    # In calls; those of the figures take longer, as they write numbers.
    assert 0 < page < 6 * figures


def test_pages_wait_for_their_turn_also_at_a_server_that_began_again() -> None:
    go = threading.Event()
    made = threading.Semaphore(0)

    class Busy(FakeDaemon):
        def overview(self) -> Overview:
            made.release()
            assert go.wait(PATIENCE)
            return super().overview()

    with serving(Busy()) as server, ThreadPoolExecutor(32) as browsers:
        for _ in range(2):
            go.clear()
            pages = [browsers.submit(ask, server, "/computer") for _ in range(32)]
            assert all(made.acquire(timeout=PATIENCE) for _ in range(PAGES_AT_ONCE))
            assert wait_until(lambda: server.connections == 32)
            go.set()
            assert {each.result(20).status for each in pages} == {200}
            while made.acquire(blocking=False):
                pass
            server.stop()
            server.start()


def test_pages_that_wait_for_the_state_hold_up_no_scrape() -> None:
    go, waiting = threading.Event(), threading.Semaphore(0)

    class Busy(FakeDaemon):
        def overview(self) -> Overview:
            waiting.release()
            assert go.wait(PATIENCE)
            return super().overview()

    with serving(Busy()) as server, ThreadPoolExecutor(67) as browsers:
        pages = [browsers.submit(ask, server, "/computer") for _ in range(64)]
        assert waiting.acquire(timeout=PATIENCE)
        scrapes = [browsers.submit(ask, server, "/metrics") for _ in range(3)]
        try:
            assert [each.result(5).status for each in scrapes] == [200] * 3
        finally:
            go.set()
        assert {each.result(20).status for each in pages} == {200}


def test_head_answers_as_get_without_the_body(server: HttpServer) -> None:
    for path in ("/", "/metrics", "/-/healthy", "/api/v1/databases", "/nothing"):
        whole, head = ask(server, path), ask(server, path, method="HEAD")
        assert (head.status, head.body) == (whole.status, b"")
        assert head.headers["content-length"] == str(len(whole.body))


@pytest.mark.parametrize("path", ["/nothing", "/metrics/", "/-/", "/api/v1/nothing"])
def test_a_page_that_is_not_there_is_a_plain_sentence(server: HttpServer, path: str) -> None:
    answer = ask(server, path)
    assert answer.status == 404
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text.startswith("404 Not Found: ")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/metrics", "GET, HEAD"),
        ("DELETE", "/", "GET, HEAD"),
        ("PUT", "/-/ready", "GET, HEAD"),
        ("OPTIONS", "/runbooks/", "GET, HEAD"),
        ("GET", "/api/v1/ack", "POST"),
    ],
)
def test_a_wrong_method_names_the_right_ones(
    server: HttpServer, method: str, path: str, allowed: str
) -> None:
    answer = ask(server, path, method=method)
    assert answer.status == 405
    assert answer.headers["allow"] == allowed


def test_a_runbook_is_shown_with_its_text_escaped(server: HttpServer) -> None:
    assert '<a href="../runbooks/EseKnownBadPage">' in ask(server, "/runbooks/").text
    page = ask(server, "/runbooks/EseKnownBadPage").text
    assert "<h2>Meaning</h2>" in page
    assert "A &lt;b&gt;page&lt;/b&gt;." in page


def test_the_list_of_runbooks_says_subject_severity_and_meaning(server: HttpServer) -> None:
    text = Page(ask(server, "/runbooks/").text).text
    assert "critical pages EseKnownBadPage A <b>page</b>." in text
    names = [text.index(name) for name in ("EseKnownBadPage", "EseHungIo", "EseSlowIo")]
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("ex01.example.com:29703", "http://ex01.example.com:29703"),
        ("[2001:db8::1]:80", "http://[2001:db8::1]:80"),
        ("ex01';rm -rf /;'", "http://127.0.0.1:19703"),
    ],
)
def test_a_runbook_has_the_address_that_its_reader_asked(
    server: HttpServer, host: str, address: str
) -> None:
    page = ask(server, "/runbooks/EseKnownBadPage", headers={"Host": host})
    assert f"curl {address}/-/healthy" in unescape(page.text)


def test_a_runbook_opened_for_a_database_names_it_in_its_commands(server: HttpServer) -> None:
    fields = urlencode(dict(zip(KEY, PRIV06, strict=True)))
    bad = urlencode(dict(zip(KEY, PRIV03, strict=True)))
    linked = unescape(ask(server, f"/database?{bad}").text)
    assert f"/runbooks/EseKnownBadPage?{bad}" in linked
    page = Page(ask(server, f"/runbooks/EseKnownBadPage?{fields}").text).text
    assert f"esewatch ack --computer ex01 '{PRIV06[1]}'" in page
    assert "Opened for" in page
    unknown = Page(ask(server, "/runbooks/EseKnownBadPage?computer=x&database=y").text).text
    assert "esewatch ack 'e:\\x.edb'" in unknown
    assert "Opened for" not in unknown


@pytest.mark.parametrize(
    "path",
    [
        "/runbooks/../../etc/passwd",
        "/runbooks/..%2f..%2fetc%2fpasswd",
        "/runbooks/%2e%2e/secret",
        "/runbooks/../secret",
        "/runbooks/..\\secret",
        "/runbooks/EseKnownBadPage.md",
        "/runbooks/EseKnownBadPage%00",
        "/runbooks//etc/passwd",
        "/runbooks/NoSuchAlert",
        "/runbooksEseKnownBadPage",
        "/runbooks/" + "A" * 5000,
    ],
)
def test_no_path_leads_out_of_the_runbooks(server: HttpServer, path: str) -> None:
    answer = ask(server, path)
    assert answer.status == 404
    assert b"secret" not in answer.body
    assert b"root:" not in answer.body


def test_the_runbooks_of_a_checkout_are_found() -> None:
    folder = Path(__file__).resolve().parents[3] / "docs" / "runbooks"
    expected = sorted(path.stem for path in folder.glob("*.md") if path.stem.isalnum())
    assert Runbooks().names() == expected


def test_forget_and_ack_reach_the_daemon() -> None:
    view = FakeDaemon()
    computer, database = PRIV03
    with serving(view) as server:
        body = json.dumps({"computer": computer, "database": database}).encode()
        answer = ask(server, "/api/v1/forget", method="POST", headers=LOCAL, body=body)
        assert (answer.status, json.loads(answer.body)) == (200, {"forgotten": True})
        body = json.dumps(
            {"computer": computer, "database": database, "pages": [17, 4711]}
        ).encode()
        answer = ask(server, "/api/v1/ack", method="POST", headers=LOCAL, body=body)
        counts = {"acknowledged": 2, "damage": 0, "errors": 0, "others": False}
        assert (answer.status, json.loads(answer.body)) == (200, counts)
    assert view.forgotten == [PRIV03]
    assert view.acknowledged == [(*PRIV03, [17, 4711])]


@pytest.mark.parametrize("command", ["ack", "forget"])
def test_what_is_not_stored_is_no_success(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise JournalError("j.db: cannot write the journal: database or disk is full")

    monkeypatch.setattr(FakeDaemon, command, full)
    body = json.dumps({"computer": PRIV03[0], "database": PRIV03[1]}).encode()
    with serving(FakeDaemon()) as server:
        answer = ask(server, f"/api/v1/{command}", method="POST", headers=LOCAL, body=body)
    assert answer.status == 503
    assert "This is not stored, try again: j.db: cannot write the journal" in answer.text


def test_an_unknown_database_is_named_in_the_refusal(server: HttpServer) -> None:
    body = b'{"computer": "ex01", "database": "x:\\\\y.edb"}'
    answer = ask(server, "/api/v1/forget", method="POST", headers=LOCAL, body=body)
    assert answer.status == 404
    assert "no database x:\\y.edb is known on ex01" in answer.text


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"X-Esewatch": "0"}, 403),
        ({"Origin": "http://127.0.0.1:19703"}, 403),
        ({"Origin": "null"}, 403),
        ({"X-Forwarded-For": "10.0.0.1"}, 403),
        ({"Forwarded": "for=10.0.0.1"}, 403),
        ({"X-Forwarded-Proto": "https"}, 403),
        ({"Via": "1.1 proxy"}, 403),
        ({"X-Real-IP": "10.0.0.1"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 403),
        ({"Host": "rebound.example"}, 403),
        ({"Host": "127.0.0.1.rebound.example:19703"}, 403),
        ({"Host": "[2001:db8::1]:19703"}, 403),
        ({"Host": ""}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Encoding": "gzip"}, 415),
    ],
)
def test_what_a_web_page_or_a_proxy_sends_changes_nothing(
    server: HttpServer, view: FakeDaemon, changed: dict[str, str], status: int
) -> None:
    body = json.dumps({"computer": PRIV03[0], "database": PRIV03[1]}).encode()
    answer = ask(server, "/api/v1/ack", method="POST", headers=LOCAL | changed, body=body)
    assert answer.status == status
    assert answer.headers["content-type"].startswith("text/plain")
    assert view.acknowledged == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"computer": 1, "database": "x"}',
        b'{"computer": "ex01"}',
        b'{"computer": "ex01", "database": "x", "pages": ["17"]}',
        b'{"computer": "ex01", "database": "x", "pages": [1e400]}',
        b'{"computer": "ex01", "database": "x", "all": true}',
        b'{"computer": "ex01", "database": "\\ud800"}',
        b"[" * 60_000,
        b'{"computer": "ex01", "database": "x", "pages": ' + b"[" * 60_000,
    ],
)
def test_a_body_that_is_not_what_is_asked_for_is_refused(
    server: HttpServer, view: FakeDaemon, body: bytes
) -> None:
    answer = ask(server, "/api/v1/ack", method="POST", headers=LOCAL, body=body)
    assert answer.status in (400, 404)
    assert b"Traceback" not in answer.body
    assert view.acknowledged == []


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.:19703", "127.0.0.1:1", "127.1.2.3", "[::1]:19703", "[::1]"]
)
def test_who_asks_by_a_name_of_this_machine_is_answered(
    server: HttpServer, view: FakeDaemon, host: str
) -> None:
    before = view.reloads
    assert ask(server, "/-/reload", method="POST", headers={"Host": host}).status == 200
    assert view.reloads == before + 1


def test_a_body_that_nobody_wants_is_not_waited_for() -> None:
    head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n%b\r\n"
    refused = {
        (b"/metrics", b""): b"405",
        (b"/nothing", b""): b"404",
        (b"/api/v1/ack", b""): b"403",
        (b"/api/v1/ack", b"X-Esewatch: 1\r\n"): b"415",
        (b"/api/v1/ack", b"X-Esewatch: 1\r\nOrigin: null\r\n"): b"403",
    }
    with serving(limits=Limits(body_seconds=1000.0)) as running:
        for (path, more), status in refused.items():
            with connect(running) as client:
                client.sendall(head % (path, more))
                assert client.recv(12) == b"HTTP/1.1 " + status
        with connect(running) as client:
            client.sendall(
                b"POST /api/v1/ack HTTP/1.1\r\nHost: localhost\r\nX-Esewatch: 1\r\n"
                b"Content-Type: application/json\r\nContent-Length: 65537\r\n\r\n"
            )
            assert client.recv(12) == b"HTTP/1.1 413"


@pytest.mark.parametrize("size", [MAX_BODY + 1, DROPPED])
def test_a_large_body_is_refused_before_it_comes(server: HttpServer, size: int) -> None:
    """Who sends all of it before it reads the answer gets that answer too."""
    body = b" " * size
    answer = ask(server, "/api/v1/ack", method="POST", headers=LOCAL, body=body)
    assert answer.status == 413


@pytest.mark.parametrize(
    ("path", "status"), [("/nothing", 404), ("/metrics", 405), ("/api/v1/ack", 403)]
)
def test_a_refused_body_is_dropped_and_the_connection_stays(
    server: HttpServer, path: str, status: int
) -> None:
    with closing(HTTPConnection("127.0.0.1", port_of(server), timeout=PATIENCE)) as client:
        for _ in range(2):
            client.request("POST", path, body=b" " * DROPPED)
            answer = client.getresponse()
            answer.read()
            assert answer.status == status
            first = client.sock.getsockname()
        client.request("GET", "/-/healthy")
        assert client.getresponse().status == 200
        assert client.sock.getsockname() == first


def test_no_more_than_1_mib_of_a_refused_body_is_dropped(server: HttpServer) -> None:
    head = b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99000000\r\n\r\n"
    sent = 0
    with connect(server) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 10)
        client.sendall(head)
        with pytest.raises(ConnectionError):
            while sent < 99_000_000:
                sent += client.send(b" " * 4096)
    assert DROPPED <= sent < 2 * DROPPED


def test_a_refused_body_that_stops_is_waited_for_no_longer_than_any() -> None:
    with serving(limits=Limits(body_seconds=0.2)) as running, connect(running) as client:
        client.sendall(b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n{")
        answer = b""
        while part := client.recv(65536):
            answer += part
        assert answer.startswith(b"HTTP/1.1 404")


def test_a_page_that_fails_says_so_and_hides_how(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = FakeDaemon()

    def fail() -> None:
        raise RuntimeError("hush")

    monkeypatch.setattr(view, "overview", fail)
    with serving(view) as server:
        answer = ask(server, "/")
        assert answer.status == 500
        assert b"hush" not in answer.body
        assert b"Traceback" not in answer.body
        assert ask(server, "/metrics").status == 200
    assert "hush" in caplog.text


def test_requests_are_not_logged_at_info_level(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"), serving() as server:
        ask(server, "/metrics")
        ask(server, "/nothing")
    assert caplog.records == []


def test_the_configuration_is_taken_up_with_a_plain_post() -> None:
    view = FakeDaemon()
    with serving(view) as server:
        answer = ask(server, "/-/reload", method="POST")
        assert (answer.status, answer.text) == (200, "Reloaded.\n")
        assert ask(server, "/-/reload").status == 405
        view.refusal = "esewatch.yml:1: polcy: unknown\nesewatch.yml:2: x"
        answer = ask(server, "/-/reload", method="POST")
        assert answer.status == 500
        assert answer.text.endswith("esewatch.yml:1: polcy: unknown esewatch.yml:2: x\n")
    assert view.reloads == 1


@pytest.mark.parametrize("name", ["Origin", "Forwarded", "X-Forwarded-For"])
def test_the_configuration_is_not_taken_up_for_a_web_page_or_a_proxy(name: str) -> None:
    view = FakeDaemon()
    with serving(view) as server:
        assert ask(server, "/-/reload", method="POST", headers={name: "null"}).status == 403
    assert view.reloads == 0
