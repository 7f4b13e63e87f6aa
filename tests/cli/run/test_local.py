"""What a command says when the running esewatch does not let it in."""

import argparse
from pathlib import Path

import bcrypt
import pytest

from esewatch.cli import main
from esewatch.cli.run.local import post
from esewatch.expose.http.app import App
from esewatch.expose.http.requests import Response
from esewatch.expose.http.web import WebConfiguration
from esewatch.journal import Journal
from esewatch.journal.files import identity
from esewatch.model import EsewatchError
from tests.expose.examples import PRIV03
from tests.expose.serving import FakeDaemon, serving
from tests.support.certificates import self_signed
from tests.support.ports import free_address

BODY = {"computer": PRIV03[0], "database": PRIV03[1]}


def refused(address: str, **more: str) -> str:
    options = {"address": address, "web_config": None, "login_file": None} | more
    with pytest.raises(EsewatchError) as caught:
        post(argparse.Namespace(**options), "forget", BODY)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_request_reaches_the_daemon() -> None:
    view = FakeDaemon()
    with serving(view) as server:
        options = argparse.Namespace(address=server.address, web_config=None, login_file=None)
        assert post(options, "forget", BODY) == {"forgotten": True}
    assert view.forgotten == [PRIV03]


def test_a_request_that_means_the_journal_of_another_daemon_changes_nothing(
    tmp_path: Path,
) -> None:
    """By device and number, so that it may be reached by another path, as in a container."""
    mine, other = tmp_path / "a.db", tmp_path / "b.db"
    mine.touch()
    other.touch()
    (tmp_path / "link.db").symlink_to(mine)
    view = FakeDaemon()
    with serving(view) as server:
        options = argparse.Namespace(address=server.address, web_config=None, login_file=None)
        view.journal = identity(mine)
        with pytest.raises(EsewatchError) as caught:
            post(options, "forget", BODY, other)
        assert view.forgotten == []
        assert f"at {server.address} has another journal than {other}: " in str(caught.value)
        for named in (mine, tmp_path / "link.db", tmp_path / "gone.db", None):
            assert post(options, "forget", BODY, named) == {"forgotten": True}
    assert view.forgotten == 4 * [PRIV03]


@pytest.mark.parametrize("command", ["ack", "forget"])
def test_an_address_that_is_named_is_asked_and_no_other_journal_is_changed(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where an unlocked journal is at hand, which may be that of another esewatch."""
    mine, other = tmp_path / "a.db", tmp_path / "journal.db"
    mine.touch()
    Journal(other).close()
    was = other.read_bytes()
    view = FakeDaemon()
    view.journal = identity(mine)
    words = [command, PRIV03[1], "--computer", PRIV03[0], "--web.address"]
    with serving(view) as server:
        assert main([*words, server.address]) == 0
        changed = view.forgotten + [each[:2] for each in view.acknowledged]
        assert changed == [PRIV03]
        assert main([*words, server.address, "--storage.path", str(tmp_path)]) == 2
        assert f"has another journal than {other}: " in capsys.readouterr().err
    nobody = free_address()
    assert main([*words, nobody, "--storage.path", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"esewatch does not answer at {nobody}: " in said
    assert "leave the address out" in said
    assert main([*words, "", "--storage.path", str(tmp_path)]) == 2
    assert "is not host:port" in capsys.readouterr().err
    assert other.read_bytes() == was
    assert view.forgotten + [each[:2] for each in view.acknowledged] == [PRIV03]


def test_a_wrong_password_is_told_as_one(tmp_path: Path) -> None:
    login = tmp_path / "login"
    login.write_text("admin:wrong\n")
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    (tmp_path / "web.yml").write_text(f"basic_auth_users: {{admin: '{hashed}'}}\n")
    with serving(FakeDaemon(), web=WebConfiguration(str(tmp_path / "web.yml"))) as server:
        assert "wants a name and a password" in refused(server.address)
        said = refused(server.address, login_file=str(login))
    assert said.startswith(f"{login}: the running esewatch knows no such name and password; ")


def test_a_login_file_must_hold_a_login(tmp_path: Path) -> None:
    file = tmp_path / "login"
    said = refused("127.0.0.1:1", login_file=str(file))
    assert said == f"{file}: cannot be read: No such file or directory"
    file.write_text("planted-password\n")
    said = refused("127.0.0.1:1", login_file=str(file))
    assert said == f"{file}: the first line is not NAME:PASSWORD"


def test_a_certificate_behind_its_key_in_one_file_is_compared(tmp_path: Path) -> None:
    pair = self_signed("one")
    (tmp_path / "both.pem").write_bytes(pair.key + pair.certificate)
    text = "tls_server_config: {cert_file: both.pem, key_file: both.pem}\n"
    (tmp_path / "web.yml").write_text(text)
    view, web = FakeDaemon(), str(tmp_path / "web.yml")
    with serving(view, web=WebConfiguration(web)) as server:
        options = argparse.Namespace(address=server.address, web_config=web, login_file=None)
        assert post(options, "forget", BODY) == {"forgotten": True}


def test_what_is_no_esewatch_is_told_with_what_to_try() -> None:
    address = free_address()
    said = refused(address)
    assert f"does not answer at {address}: " in said
    assert "--web.address HOST:PORT" in said
    assert "is not host:port" in refused("nowhere")


@pytest.mark.parametrize(
    "body",
    [
        b"OK",
        b"{}",
        b"null",
        b'{"acknowledged": 1}',
        b'{"forgotten": "yes"}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_another_program_that_answers_200_is_not_believed(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(App, "_forget", lambda *_: Response(body=body))
    with serving(FakeDaemon()) as server:
        said = refused(server.address)
    assert f"does not answer at {server.address}: what answers there is not esewatch; " in said
    assert "--web.address HOST:PORT" in said
