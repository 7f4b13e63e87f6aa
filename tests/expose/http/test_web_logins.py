"""Basic authentication: who is let in, at what cost, and whom a flood of passwords holds up."""

import asyncio
import base64
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bcrypt
import pytest

from esewatch.config.web import RateLimit
from esewatch.expose.http import web as web_module
from esewatch.expose.http.requests import RefusedError
from esewatch.expose.http.web import MAX_KNOWN, Bucket, Logins, WebConfiguration
from esewatch.model import ConfigError
from tests.expose.serving import Answer, FakeDaemon, ask, serving
from tests.support.patience import PATIENCE

LONG = "p" * 100
HEADERS = "http_server_config: {headers: {Content-Security-Policy: img-src 'none'}}\n"


def hashed(password: str, cost: int = 4) -> str:
    return bcrypt.hashpw(password.encode()[:72], bcrypt.gensalt(cost)).decode()


def basic(name: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


def configured(folder: Path, users: dict[str, str], more: str = "") -> WebConfiguration:
    lines = "".join(f"  {name}: {text}\n" for name, text in users.items())
    (folder / "web.yml").write_text(f"{more}basic_auth_users:\n{lines}")
    return WebConfiguration(folder / "web.yml")


def counting(
    monkeypatch: pytest.MonkeyPatch, held_up: Callable[[bytes], object] = lambda password: None
) -> list[tuple[bytes, bytes]]:
    """The calls of bcrypt, each of which is `held_up` before it answers."""
    calls: list[tuple[bytes, bytes]] = []

    def check(password: bytes, hashed_password: bytes) -> bool:
        calls.append((password, hashed_password))
        held_up(password)
        return bcrypt.checkpw(password, hashed_password)

    monkeypatch.setattr(web_module, "bcrypt_check", lambda: check)
    return calls


def test_every_address_asks_for_a_login(tmp_path: Path) -> None:
    view = FakeDaemon()
    with serving(view, web=configured(tmp_path, {"alice": hashed("wonder")})) as server:
        for path in ("/", "/metrics", "/-/healthy", "/-/ready", "/runbooks/", "/nothing"):
            answer = ask(server, path)
            assert answer.status == 401
            assert answer.headers["www-authenticate"].startswith("Basic ")
            assert b"ese_" not in answer.body
            assert ask(server, path, headers=basic("alice", "wonder")).status != 401
        for path in ("/-/reload", "/api/v1/ack", "/api/v1/forget"):
            local = {"X-Esewatch": "1", "Content-Type": "application/json"}
            assert ask(server, path, method="POST", headers=local).status == 401
    assert view.reloads == 0


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Basic",
        "Basic ",
        "Basic !!!",
        "Basic YWxpY2U=",
        "Basic /////w==",
        "Bearer wonder",
        "Digest username=alice",
        "Basic " + "A" * 9000,
        basic("alice", "wrong")["Authorization"],
        basic("alice", "")["Authorization"],
        basic("alice", "wonder\0")["Authorization"],
        basic("", "wonder")["Authorization"],
        basic("ALICE", "wonder")["Authorization"],
        basic("bob", "wonder")["Authorization"],
        basic("alice", "wonder")["Authorization"] + ", " + basic("a", "b")["Authorization"],
    ],
)
def test_what_is_no_login_of_a_user_is_refused(tmp_path: Path, header: str) -> None:
    with serving(web=configured(tmp_path, {"alice": hashed("wonder")})) as server:
        answer = ask(server, "/metrics", headers={"Authorization": header})
        assert answer.status == 401


def test_names_and_passwords_may_be_any_text(tmp_path: Path) -> None:
    users = {"jürgen": hashed("schlüssel:mit:punkt"), "long": hashed(LONG)}
    with serving(web=configured(tmp_path, users)) as server:
        for name, password in (("jürgen", "schlüssel:mit:punkt"), ("long", LONG)):
            assert ask(server, "/metrics", headers=basic(name, password)).status == 200


def test_a_scrape_with_a_known_login_costs_no_bcrypt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = counting(monkeypatch)
    with serving(web=configured(tmp_path, {"alice": hashed("wonder")})) as server:
        for _ in range(5):
            assert ask(server, "/metrics", headers=basic("alice", "wonder")).status == 200
        assert len(calls) == 1
        for _ in range(2):
            assert ask(server, "/metrics", headers=basic("alice", "wrong")).status == 401
        assert len(calls) == 3


def test_a_changed_password_holds_at_once_and_the_old_one_no_more(tmp_path: Path) -> None:
    web = configured(tmp_path, {"alice": hashed("old"), "bob": hashed("bob")})
    with serving(web=web) as server:
        assert ask(server, "/metrics", headers=basic("alice", "old")).status == 200
        assert ask(server, "/metrics", headers=basic("bob", "bob")).status == 200
        (tmp_path / "web.yml").write_text(f"basic_auth_users: {{alice: {hashed('new')}}}\n")
        assert ask(server, "/metrics", headers=basic("alice", "old")).status == 401
        assert ask(server, "/metrics", headers=basic("bob", "bob")).status == 401
        assert ask(server, "/metrics", headers=basic("alice", "new")).status == 200
        (tmp_path / "web.yml").write_text("basic_auth_users: {alice: plain-text}\n")
        assert ask(server, "/metrics").status == 401
        assert not web.successful


def test_users_that_are_emptied_while_it_runs_stay_asked_for(tmp_path: Path) -> None:
    web = configured(tmp_path, {"alice": hashed("wonder")})
    with serving(web=web) as server:
        for text in ("", "http_server_config: {}\n", "basic_auth_users: {}\n"):
            (tmp_path / "web.yml").write_text(text)
            assert ask(server, "/metrics").status == 401
            assert ask(server, "/metrics", headers=basic("alice", "wonder")).status == 200
            assert not web.successful


def test_a_change_that_keeps_size_and_time_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "web.yml"
    with serving(web=configured(tmp_path, {"alice": hashed("old")})) as server:
        assert ask(server, "/metrics", headers=basic("alice", "old")).status == 200
        before = file.stat()
        text = f"basic_auth_users:\n  alice: {hashed('new')}\n"
        while file.stat().st_ctime_ns == before.st_ctime_ns:
            file.write_text(text)
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert (file.stat().st_ino, file.stat().st_size) == (before.st_ino, before.st_size)
        assert ask(server, "/metrics", headers=basic("alice", "old")).status == 401
        assert ask(server, "/metrics", headers=basic("alice", "new")).status == 200


def test_an_unknown_name_takes_as_long_as_a_wrong_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = counting(monkeypatch)
    users = {"alice": hashed("wonder", 5), "cheap": hashed("x")}
    with serving(web=configured(tmp_path, users)) as server:
        assert ask(server, "/metrics", headers=basic("alice", "wrong")).status == 401
        assert ask(server, "/metrics", headers=basic("mallory", "wrong")).status == 401
        assert ask(server, "/metrics", headers=basic("mallory", "wonder")).status == 401
        assert ask(server, "/metrics", headers=basic("mallory", "wonder")).status == 401
    assert [each for _, each in calls] == [users["alice"].encode()] * 4


def test_each_wrong_login_is_the_same_work_whatever_the_cost_of_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """bcrypt of a cost is 2 ** cost rounds, and all that differs is who does them."""
    calls = counting(monkeypatch)
    users = {"alice": hashed("a", 8), "bob": hashed("b", 4), "carol": hashed("c", 6)}
    with serving(web=configured(tmp_path, users)) as server:
        for name in (*users, "mallory"):
            assert ask(server, "/metrics", headers=basic(name, "wrong")).status == 401
            assert rounds(calls) == 2**8
            calls.clear()
        # Of one that is let in there is nothing to hide.
        assert ask(server, "/metrics", headers=basic("bob", "b")).status != 401
        assert rounds(calls) == 2**4


def rounds(calls: list[tuple[bytes, bytes]]) -> int:
    return sum(2 ** int(each.split(b"$")[2]) for _, each in calls)


def test_a_flood_of_wrong_passwords_holds_up_no_scrape_and_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No check ends before the scrapes are over; each of a known login waits for none of them."""
    stop = threading.Event()
    calls = counting(monkeypatch, lambda password: password == b"wonder" or stop.wait(PATIENCE))
    good = basic("alice", "wonder")
    with serving(web=configured(tmp_path, {"alice": hashed("wonder")})) as server:
        assert ask(server, "/metrics", headers=good).status == 200
        answers: list[Answer] = []

        def flood(number: int) -> None:
            while not stop.is_set():
                answers.append(ask(server, "/metrics", headers=basic("alice", f"x{number}")))

        with ThreadPoolExecutor(12) as floods:
            for number in range(12):
                floods.submit(flood, number)
            try:
                while len(calls) < 2 or not answers:
                    time.sleep(0.01)
                statuses = [ask(server, "/metrics", headers=good).status for _ in range(20)]
            finally:
                stop.set()
    assert {each.status for each in answers} == {401, 429}
    assert all(each.headers["retry-after"] for each in answers if each.status == 429)
    assert statuses == [200] * 20


async def at_once(tasks: Sequence["asyncio.Task[None]"], count: int) -> "set[asyncio.Task[None]]":
    """Those that are done while the others wait: so many, and no more a moment later."""
    async with asyncio.timeout(10):
        while sum(each.done() for each in tasks) < count:
            await asyncio.sleep(0.01)
    done, _ = await asyncio.wait(tasks, timeout=0.2)
    return done


def test_one_address_leaves_places_to_others() -> None:
    go = threading.Event()

    def check(password: bytes, hashed_password: bytes) -> bool:
        go.wait(PATIENCE)
        return password == hashed_password

    users = {"a": "$2b$04$"}

    async def work(logins: Logins) -> None:
        header = basic("a", "wrong")["Authorization"]
        waiting = [
            asyncio.create_task(logins.admit(header, client, users, check))
            for client in ("10.0.0.1",) * 6 + ("10.0.0.2",) * 2
        ]
        done = await at_once(waiting, 2)
        assert sorted(waiting.index(each) for each in done) == [4, 5]
        assert {_status(each) for each in done} == {429}
        crowd = [
            asyncio.create_task(logins.admit(header, f"10.1.0.{number}", users, check))
            for number in range(20)
        ]
        full = await at_once(crowd, 10)
        assert len(full) == 10
        go.set()
        await asyncio.wait([*waiting, *crowd])
        assert {_status(each) for each in (*waiting, *crowd)} == {401, 429}
        with pytest.raises(RefusedError) as caught:
            await logins.admit(header, "10.0.0.1", users, check)
        assert caught.value.status == 401

    asyncio.run(work(Logins()))


def test_a_client_that_goes_keeps_its_place_until_its_login_is_checked() -> None:
    go = threading.Event()

    def check(password: bytes, hashed_password: bytes) -> bool:
        return go.wait(PATIENCE)

    async def work(logins: Logins) -> None:
        header = basic("a", "wrong")["Authorization"]
        for status in (None, None, None, None, 429):
            login = logins.admit(header, "10.0.0.1", {"a": "$2b$04$"}, check)
            waiting = asyncio.create_task(login)
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            assert (None if waiting.cancelled() else _status(waiting)) == status
        go.set()

    asyncio.run(work(Logins()))


def _status(task: "asyncio.Task[None]") -> int:
    error = task.exception()
    assert isinstance(error, RefusedError)
    return error.status


def test_a_login_is_remembered_though_its_client_did_not_wait() -> None:
    """A scrape that gives up before bcrypt is done is let in the next time."""
    calls: list[bytes] = []
    go = threading.Event()

    def check(password: bytes, hashed_password: bytes) -> bool:
        calls.append(password)
        return go.wait(PATIENCE)

    async def work(logins: Logins) -> None:
        async def admit() -> None:
            users = {"a": "$2b$04$"}
            await logins.admit(basic("a", "right")["Authorization"], "10.0.0.1", users, check)

        waiting = asyncio.create_task(admit())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        go.set()
        async with asyncio.timeout(PATIENCE):
            while not logins._known:
                await asyncio.sleep(0.01)
        await admit()
        assert calls == [b"right"]

    asyncio.run(work(Logins()))


def test_only_so_many_logins_are_remembered_and_no_wrong_one() -> None:
    calls: list[bytes] = []

    def check(password: bytes, hashed_password: bytes) -> bool:
        calls.append(password)
        return password != b"wrong"

    users = {f"u{number}": "$2b$04$" for number in range(MAX_KNOWN + 1)}

    async def work(logins: Logins) -> None:
        async def admit(name: str, password: str = "right") -> None:
            await logins.admit(basic(name, password)["Authorization"], "10.0.0.1", users, check)

        for name in users:
            await admit(name)
        for _ in range(2 * MAX_KNOWN):
            with pytest.raises(RefusedError):
                await admit("u5", "wrong")
        calls.clear()
        await admit("u5")
        assert calls == []
        await admit("u0")
        assert calls == [b"right"]

    asyncio.run(work(Logins()))


def test_users_without_bcrypt_are_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = {"alice": hashed("wonder")}
    monkeypatch.setitem(sys.modules, "bcrypt", None)
    with pytest.raises(ConfigError) as caught:
        configured(tmp_path, users)
    assert str(caught.value) == (
        f"{tmp_path}/web.yml: basic_auth_users needs the package bcrypt: "
        "pip install 'esewatch[web]'"
    )
    (tmp_path / "web.yml").write_text("http_server_config: {}\n")
    assert not WebConfiguration(tmp_path / "web.yml").asks_for_passwords


def test_headers_are_added_and_of_two_content_policies_both_hold(tmp_path: Path) -> None:
    web = configured(tmp_path, {"alice": hashed("wonder")}, HEADERS)
    with serving(web=web) as server:
        page = ask(server, "/", headers=basic("alice", "wonder"))
        assert page.headers["content-security-policy"].startswith("default-src 'none'; ")
        assert page.headers["content-security-policy"].endswith(", img-src 'none'")
        assert ask(server, "/metrics").headers["content-security-policy"] == "img-src 'none'"


def test_http_2_is_ignored_with_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "web.yml").write_text("http_server_config: {http2: true}\n")
    with caplog.at_level("INFO"):
        WebConfiguration(tmp_path / "web.yml")
    assert "http2 is ignored: HTTP/1.1 is served" in caplog.text


def test_more_requests_than_the_rate_limit_allows_are_told_when_to_come_again(
    tmp_path: Path,
) -> None:
    text = f"rate_limit: {{interval: 1h, burst: 3}}\n{HEADERS}"
    web = configured(tmp_path, {"alice": hashed("wonder")}, text)
    with serving(web=web) as server:
        good = basic("alice", "wonder")
        assert [ask(server, "/metrics", headers=good).status for _ in range(3)] == [200] * 3
        answer = ask(server, "/metrics", headers=good)
        assert (answer.status, answer.headers["retry-after"]) == (429, "3600")
        assert answer.headers["content-security-policy"] == "img-src 'none'"
        (tmp_path / "web.yml").write_text(f"basic_auth_users: {{alice: {hashed('wonder')}}}\n")
        assert ask(server, "/metrics", headers=good).status == 429
        assert not web.successful


def test_the_bucket_of_the_rate_limit_fills_by_one_each_interval() -> None:
    bucket = Bucket(RateLimit(interval=2.0, burst=2))
    taken = [bucket.takes(now) for now in (1000.0, 1000.0, 1000.0, 1001.0, 1002.0, 1002.0, 1099.0)]
    assert taken == [True, True, False, False, True, False, True]
    assert (bucket.takes(1099.0), bucket.takes(1099.0)) == (True, False)
    free = Bucket(RateLimit())
    assert all(free.takes(0.0) for _ in range(1000))
