"""A running agent with TLS, users and secrets: who gets in, and what never comes out."""

import base64
import http.client
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import bcrypt
import pytest
import yaml

from tests.e2e.harness import Server, ended, wait_for
from tests.support.certificates import authority, client, self_signed, trusting
from tests.support.metrics_server import MetricsServer, says
from tests.support.patience import PATIENCE
from tests.support.ports import free_port

pytestmark = pytest.mark.e2e

PASSWORD = "planted-password"
HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
LOGIN = base64.b64encode(f"alice:{PASSWORD}".encode()).decode()
EVENT = '{"TimeCreated":"2007-06-01T00:00:00Z","EventID":700,"Computer":"ex01"}\n'


class Guarded:
    """An agent that asks for everything a web configuration can ask for."""

    def __init__(self, folder: Path, exporter: MetricsServer) -> None:
        self.folder = folder
        self.exporter = exporter
        self.port = free_port()
        self_signed("one").put(folder, "server")
        authority().put(folder, "ca")
        (folder / "exporter-login").write_text("planted-exporter-password\n")
        (folder / "login").write_text(f"alice:{PASSWORD}\n")
        (folder / "a.json").write_text(EVENT)
        self.configure()
        self.guard("NoClientCert")
        self.context = trusting(folder)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def configure(self, **more: object) -> None:
        """Write the configuration."""
        exporters = [
            {
                "type": "prometheus",
                "url": f"{self.exporter.url}{path}?token=planted-token&planted-bare",
                "basic_auth": {"username": "scraper", "password_file": "exporter-login"},
            }
            for path in ("", "/redirect")
        ]
        sources = [*exporters, {"type": "event_stream", "path": "a.json"}]
        settings = {"journal": "journal.db", "sources": sources, **more}
        (self.folder / "esewatch.yml").write_text(yaml.safe_dump(settings))

    def guard(self, clients: str, user: str = HASH) -> None:
        """Write the web configuration."""
        authority_file = {} if clients == "NoClientCert" else {"client_ca_file": "ca.pem"}
        tls = {"cert_file": "server.pem", "key_file": "server.key", "client_auth_type": clients}
        web = {"tls_server_config": tls | authority_file, "basic_auth_users": {"alice": user}}
        (self.folder / "web.yml").write_text(yaml.safe_dump(web))

    def get(self, path: str, login: str = LOGIN, method: str = "GET") -> tuple[int, str]:
        """Status and body."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=PATIENCE, context=self.context
        )
        with closing(connection):
            connection.request(method, path, headers={"Authorization": f"Basic {login}"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def ready(self) -> bool:
        """Whether it has read everything once."""
        try:
            return self.get("/-/ready")[0] == 200
        except OSError:
            return False

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Another command with the same configuration."""
        return subprocess.run(
            [sys.executable, "-m", "esewatch", *words],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def local(self, *more: str) -> str:
        """What `forget` of a database that is not known says."""
        config = ("--config.file", str(self.folder / "esewatch.yml"))
        done = self.command("forget", *config, "--web.address", self.address, *more, "none.edb")
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        return done.stderr.strip()


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    exporter = MetricsServer()
    elsewhere = {"Location": "http://u:planted-x@127.0.0.9/?t=planted-y"}
    redirect, refusal = says("", status=302, headers=elsewhere), says("no", status=401)
    exporter.answer(lambda each: (redirect if "redirect" in each.path else refusal)(each))
    agent = Guarded(tmp_path, exporter)
    command: list[str | Path] = [
        *(sys.executable, "-m", "esewatch", "run", "--log.level", "debug"),
        *("--config.file", tmp_path / "esewatch.yml", "--web.config.file", tmp_path / "web.yml"),
        *("--web.listen-address", agent.address),
    ]
    try:
        with ended(Server(command, f"https://{agent.address}", tmp_path / "agent.log")):
            wait_for("the first reading", agent.ready)
            yield agent
    finally:
        exporter.close()


def test_nothing_the_agent_says_holds_a_secret(guarded: Guarded) -> None:
    folder = guarded.folder
    log = folder / "agent.log"
    said = [
        guarded.get(path)[1]
        for path in (
            *("/", "/metrics", "/computer", "/computer?name=127.0.0.1", "/-/ready", "/nothing"),
            *("/api/v1/databases", "/api/v1/advice", "/database?computer=a&database=b"),
        )
    ]
    wrong = base64.b64encode(b"alice:planted-wrong").decode()
    assert guarded.get("/metrics?key=planted-query", wrong)[0] == 401
    wait_for("the exporter's refusal", lambda: "check basic_auth" in log.read_text())
    config = ("--config.file", str(folder / "esewatch.yml"))
    shown = guarded.command("config", "show", *config).stdout
    assert "?token=***&***" in shown
    wait_for("the redirect's refusal", lambda: "redirects to another" in log.read_text())
    guarded.configure(sources=[{"type": "prometheus", "url": "http://a:planted-url@b/metrics"}])
    guarded.guard("NoClientCert", user="planted-plain")
    status, answer = guarded.get("/-/reload", method="POST")
    assert status == 500
    assert "http://***@b/metrics" in answer
    check = guarded.command("config", "check", *config)
    web = ("--web.config.file", str(folder / "web.yml"))
    guarded.configure()
    wrong_web = guarded.command("config", "check", *config, *web)
    assert "basic_auth_users.alice: found something else" in wrong_web.stderr
    said += [shown, answer, check.stderr, wrong_web.stderr, guarded.get("/metrics")[1]]
    said += [log.read_text()]
    said += [path.read_bytes().decode("latin-1") for path in folder.glob("journal.db*")]
    assert len(said[-1]) > 1000
    for text in said:
        assert "planted" not in text
        assert HASH[7:] not in text
        assert LOGIN not in text


def test_local_commands_get_in_or_say_what_to_do(guarded: Guarded) -> None:
    web = ("--web.config.file", str(guarded.folder / "web.yml"))
    login = ("--web.login-file", str(guarded.folder / "login"))
    known = "404 Not Found: no database 'none.edb' is known on any computer"
    assert guarded.local(*web, *login) == f"esewatch: {known}"
    assert "--web.login-file F" in guarded.local(*web)
    assert "--web.config.file F" in guarded.local()
    other = guarded.folder / "other"
    other.mkdir()
    self_signed("two").put(other, "server")
    (other / "web.yml").write_text((guarded.folder / "web.yml").read_text())
    refused = guarded.local("--web.config.file", str(other / "web.yml"), *login)
    assert refused.endswith(
        f"does not carry the certificate of {other}/server.pem: nothing is sent"
    )
    guarded.guard("RequireAndVerifyClientCert")
    assert guarded.local(*web, *login).endswith("stop it, run this command again, and start it")


@pytest.mark.fault(
    "the web configuration becomes invalid while it is in use",
    provoked="a password that is not a hash",
    lost="nothing: the old one stays, a metric reports it",
    again="the next connection after the repair",
)
def test_a_web_configuration_is_taken_up_while_it_runs_and_a_broken_one_is_a_metric(
    guarded: Guarded,
) -> None:
    def value() -> str:
        name = "esewatch_web_config_last_reload_successful "
        return guarded.get("/metrics")[1].partition(f"\n{name}")[2].partition("\n")[0]

    assert value() == "1.0"
    assert guarded.get("/-/reload", method="POST") == (200, "Reloaded.\n")
    guarded.guard("NoClientCert", user="not-a-hash")
    assert guarded.get("/metrics")[0] == 200
    assert guarded.get("/-/reload", method="POST")[0] == 200  # makes the figures anew
    assert value() == "0.0"
    guarded.guard("RequireAndVerifyClientCert")
    with pytest.raises((OSError, http.client.HTTPException)):
        guarded.get("/metrics")
    guarded.context = trusting(guarded.folder, own=client("DNS:prometheus"))
    assert guarded.get("/-/reload", method="POST")[0] == 200
    assert value() == "1.0"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tls_server_config: {cert_file: none.pem, key_file: none.key}", "none.pem: not there"),
        ("tls_server_confg: {}", 'did you mean "tls_server_config"?'),
    ],
)
def test_a_wrong_web_configuration_ends_the_start_in_one_line(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "web.yml").write_text(text)
    (tmp_path / "esewatch.yml").write_text("journal: journal.db\nsources: []\n")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "esewatch", "run", "--web.listen-address", "127.0.0.1:0"),
            *("--config.file", tmp_path / "esewatch.yml"),
            *("--web.config.file", tmp_path / "web.yml"),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert not (tmp_path / "journal.db").exists()
